"""The interactive page, in a real browser that has no network."""

import csv
import io
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

import sparsefield as sf
from sparsefield import Fit, PairwiseMRF, Table
from sparsefield.fits import Status
from sparsefield.report import write_report
from support.pages import ARTEFACTS, HOSTILE, settle


def make_fit(n_variables=8, names=None, seed=1):
    truth = sf.datasets.make_field(n_variables, degree=3, strength=(0.8, 1.2), seed=seed)
    table = truth.sample(2000, method="perfect", seed=seed)
    if names is not None:
        table = Table(replace(table.domain, names=tuple(names)), table.codes)
    return sf.SparseMRF(0.02, random_state=1).fit(table).fit_, table


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    fit, table = make_fit(names=HOSTILE)
    codes = table.codes.copy()
    codes[:5, 0] = 255
    path = tmp_path_factory.mktemp("report") / "hostile.html"
    groups = {name: f"<i>group {k % 2}</i>" for k, name in enumerate(HOSTILE)}
    write_report(fit, path, table=Table(table.domain, codes), groups=groups, title="<script>window.hit = 1</script>")
    return path, fit


def test_hostile_names_are_shown_and_not_run(hostile, visit):
    path, fit = hostile
    page = visit(path)
    for name in HOSTILE:
        page.fill("#search", name.replace("\n", " ") if "\n" in name else name)
    page.wait_for_timeout(100)
    assert page.evaluate("window.hit") is None
    assert page.inner_text("h1") == "<script>window.hit = 1</script>"
    shown = page.eval_on_selector_all("#edges tbody td", "cells => cells.map(cell => cell.textContent)")
    joined = set(sf.edge_table(fit.model)["first"]) | set(sf.edge_table(fit.model)["second"])
    assert joined <= set(shown)
    assert len(joined) >= 6
    assert (
        page.eval_on_selector_all("img, a", "found => found.filter(e => e.getAttribute('href') === null).length") == 0
    )
    assert page.eval_on_selector_all("#network b, #network i, #legend i", "found => found.length") == 0
    assert "{{ 7 * 7 }}" in page.content()


def test_the_slider_changes_the_number_of_edges(hostile, visit):
    path, fit = hostile
    page = visit(path)
    weights = np.abs(sf.edge_table(fit.model)["weight"].to_numpy())
    assert int(page.inner_text("#edge-count")) == len(weights)
    page.evaluate("document.getElementById('strength').value = 500")
    page.dispatch_event("#strength", "input")
    expected = int((weights >= weights.max() / 2).sum())
    settle(page, "#edge-count", str(expected))
    assert page.evaluate("Page.view.state().shown.length") == expected < len(weights)
    assert page.locator("#edges tbody tr:not([hidden])").count() == expected
    assert page.text_content("#table-count") == f"{expected} of {len(weights)} rows"


def test_search_finds_a_node_and_its_edges(hostile, visit):
    path, fit = hostile
    page = visit(path)
    table = sf.edge_table(fit.model)
    name = table["first"][0]
    page.fill("#search", name[:8])
    settle(page, "#found h3", name)
    own = table.filter((table["first"] == name) | (table["second"] == name))
    assert page.locator("#found li").count() == len(own)
    assert page.locator("#edges tbody tr:not([hidden])").count() == len(own)  # the table has them alone
    page.fill("#search", "no such variable")
    assert page.inner_text("#found h3") == "Nothing found"
    assert page.locator("#edges tbody tr:not([hidden])").count() == 0
    page.fill("#search", "")
    assert page.locator("#edges tbody tr:not([hidden])").count() == len(table)
    assert not page.is_visible("#found")


def test_the_table_sorts(hostile, visit):
    path, fit = hostile
    page = visit(path)

    def weights():
        texts = page.eval_on_selector_all("#edges td:nth-child(3)", "all => all.map(e => e.textContent)")
        return [float(text.replace("\N{MINUS SIGN}", "-")) for text in texts]

    sizes = np.abs(weights())
    assert np.all(np.diff(sizes) <= 0)  # strongest first
    page.click("#edges th[data-key=weight]")
    assert np.all(np.diff(weights()) <= 0)
    page.click("#edges th[data-key=weight]")
    assert np.all(np.diff(weights()) >= 0)
    assert page.get_attribute("#edges th[data-key=weight]", "aria-sort") == "ascending"
    page.click("#edges th[data-key=first]")
    first = page.eval_on_selector_all("#edges tr td:first-child", "all => all.map(e => e.textContent)")
    assert first == page.evaluate("names => [...names].sort((a, b) => a.localeCompare(b))", first)
    assert len(first) == len(sf.edge_table(fit.model))


def test_the_download_has_the_rows(hostile, visit):
    path, fit = hostile
    page = visit(path)
    with page.expect_download() as download:
        page.click("#download")
    text = Path(download.value.path()).read_bytes().decode("utf-8")
    head, *rows = csv.reader(io.StringIO(text, newline=""))
    assert head == ["first", "second", "weight", "undecided", "estimate", "low", "high", "q"]
    expected = sf.edge_table(fit).filter(sf.edge_table(fit)["weight"] != 0)
    found = {(frozenset((a, b)), float(weight), mark) for a, b, weight, mark, *_ in rows}
    assert found == {
        (frozenset((a, b)), float(f"{weight:.5g}"), str(mark).lower()) for a, b, weight, mark in expected.iter_rows()
    }


def test_words_and_settings_are_there(hostile, visit):
    path, fit = hostile
    page = visit(path)
    assert page.inner_text("#status") == fit.status.sentence
    assert fit.certified in page.inner_text("#certificate")
    assert "Not certified yet" in page.inner_text("#optimality")
    settings = dict(
        page.eval_on_selector_all("#settings tr", "rows => rows.map(r => [...r.cells].map(c => c.textContent))")
    )
    assert settings["alpha"] == "0.02"
    assert settings["random_state"] == "1"
    assert settings["sparsefield"] == sf.__version__
    assert "2,000 rows, 5 missing values" in page.inner_text("#data-section")
    assert "This was learned from 2,000 rows, in which 5 values (0.0%) are missing." in page.inner_text("#words")


def test_bounds_of_the_trace_are_shown_rounded_up(visit, tmp_path):
    table = sf.datasets.make_field(5, strength=(0.3, 0.8), seed=1).sample(500, method="perfect", seed=1)
    fit = sf.learn(table, 0.05, solver=sf.Proximal(max_iter=5), seed=1)
    write_report(fit, tmp_path / "trace.html")
    page = visit(tmp_path / "trace.html")
    titles = page.eval_on_selector_all("#trace .dot title", "found => found.map(own => own.textContent)")
    shown = [text.split("at most: ")[1] for text in titles if "at most" in text]
    known = [step.certificate for step in fit.steps if step.certificate]  # zeros are not on a scale of powers
    assert len(shown) == len(known) >= 3
    assert any(float(said) != bound for said, bound in zip(shown, known, strict=True))
    for said, bound in zip(shown, known, strict=True):
        assert bound <= float(said) <= 1.01 * bound


def test_a_large_network_stays_usable(visit, tmp_path):
    """300 nodes and 5000 edges: the slider and the search answer."""
    rng = np.random.default_rng(1)
    interactions = np.zeros((300, 300))
    first, second = np.triu_indices(300, 1)
    some = rng.choice(len(first), 5000, replace=False)
    interactions[first[some], second[some]] = rng.normal(size=5000)
    model = PairwiseMRF.binary(np.zeros(300), interactions + interactions.T)
    path = tmp_path / "large.html"
    write_report(Fit(model, Status("converged", "Made up."), ()), path)
    page = visit(path)
    assert page.inner_text("#edge-count") == "5000"
    assert page.locator("#edges tbody tr").count() == 5000
    for change in (
        "document.getElementById('strength').value = 300; "
        "document.getElementById('strength').dispatchEvent(new Event('input'))",
        "document.getElementById('search').value = 'x123'; "
        "document.getElementById('search').dispatchEvent(new Event('input'))",
    ):
        took = page.evaluate(
            f"new Promise(done => {{ const start = performance.now(); {change}; "
            "requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - start))) })"
        )
        # Speed is no matter of tests; that a page does not hang is. Headless, without a graphics card, on busy cores.
        assert took < 10_000
    assert page.text_content("#found h3") == "x123"
    ARTEFACTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=ARTEFACTS / "report-large.png")


def test_a_screenshot_is_kept(hostile, visit):
    page = visit(hostile[0])
    ARTEFACTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=ARTEFACTS / "report.png", full_page=True)
    assert (ARTEFACTS / "report.png").stat().st_size > 20_000


# --- Without a browser ---


def test_the_page_needs_nothing_from_outside(hostile):
    text = hostile[0].read_text(encoding="utf-8")
    assert "default-src 'none'" in text
    assert "http://" not in text
    assert "https://" not in text


def test_pages_hold_the_licence_of_what_they_copy(hostile):
    """The licence of d3-force asks for its text in all copies, which pages are."""
    licence = files("sparsefield.report").joinpath("page", "vendor", "LICENSE").read_text(encoding="utf-8")
    assert licence.strip() in hostile[0].read_text(encoding="utf-8")


def test_groups_must_be_complete(tmp_path):
    fit, _ = make_fit()
    with pytest.raises(ValueError, match="no group for variable 'x1'"):
        write_report(fit, tmp_path / "a.html", groups={"x0": "a"})
    assert not list(tmp_path.iterdir())


def test_fields_that_are_too_large_are_refused(tmp_path):
    model = sf.datasets.make_chain(2001, seed=1)
    with pytest.raises(ValueError, match="pages are for up to 2000"):
        write_report(Fit(model, Status("converged", ""), ()), tmp_path / "a.html")
