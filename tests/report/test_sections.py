"""Sections about many fits: the choice of the penalty, resamples, and fewer rows."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from sparsefield import Fit, PairwiseMRF
from sparsefield.fits import Status
from sparsefield.network import Network
from sparsefield.plotting import StabilityDisplay, as_percent
from sparsefield.report import write_report
from sparsefield.report._pairs import describe_intervals
from sparsefield.report._sections import describe_many, find_shares
from sparsefield.resampling import Bootstrap, Ends, Stability
from sparsefield.selection import Choice
from support.inferences import make_inference
from support.pages import ARTEFACTS, HOSTILE, settle, visiting

ENDS = Ends((), np.ones(0, dtype=bool), np.zeros(0, dtype=int), np.zeros(0, dtype=int))
SENTENCE = "alpha = 0.1 is <b>made up</b>."
TABLE = pl.DataFrame(
    {"alpha": [0.4, 0.2, 0.1], "edges": [0, 2, 4], "held_out": [-3.0, -2.0, -1.5], "standard_error": [0.5, 0.25, 1.0]}
)


def make_fit(names=HOSTILE, alpha=0.1):
    """A ring with weights of its own, and a sign that alternates."""
    p = len(names)
    interactions = np.zeros((p, p))
    for i in range(p):
        interactions[i, (i + 1) % p] = interactions[(i + 1) % p, i] = (2 - 0.2 * i) * (-1) ** i
    model = PairwiseMRF.binary(np.zeros(p), interactions, names=list(names))
    return Fit(model, Status("converged", "Made up."), (), settings={"alpha": alpha})


def make_bootstrap(fit):
    """The edges of the ring, each found in fewer resamples than the last, and twelve pairs that the fit lacks."""
    p = len(fit.model.domain.names)
    pairs = np.array([(i, j) for i in range(p) for j in range(i + 1, p)])
    own = fit.model.interactions[pairs[:, 0], pairs[:, 1]]
    is_edge, is_other = own != 0, np.cumsum(own == 0) * (own == 0)
    pairs, own = (
        pairs[is_edge | ((is_other > 0) & (is_other <= 12))],
        own[is_edge | ((is_other > 0) & (is_other <= 12))],
    )
    rng = np.random.default_rng(1)
    weights = np.where(own, own, 0.3) * rng.uniform(0.5, 1.5, (40, len(own)))
    for k in range(len(own)):
        weights[: (k if own[k] else 20 + k), k] = 0
    return Bootstrap(fit, pairs, weights, ENDS, 500)


def make_sure(fit):
    """Estimates a fifth larger than the weights of the ring, whose last edge is no edge, and an edge that it lacks."""
    weights, q_values = {}, {}
    for i, j in np.argwhere(np.triu(fit.model.interactions)).tolist():
        weights[i, j] = 1.2 * fit.model.interactions[i, j]
        q_values[i, j] = 0.004 if abs(weights[i, j]) > 0.8 else 0.3
    return make_inference(fit.model.domain.names, {**weights, (0, 2): -0.9}, q_values=q_values, untold=[(1, 3)])


def make_stability(fit):
    values = np.random.default_rng(2).uniform(0.72, 1.0, (3, 20))
    return Stability(fit, (0.75, 0.5, 0.25), values, values - [[0.0], [0.1], [0.4]], ENDS)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    fit = make_fit()
    bootstrap, stability, inference = make_bootstrap(fit), make_stability(fit), make_sure(fit)
    path = tmp_path_factory.mktemp("report") / "many.html"
    choice = Choice(1, 0.2, TABLE, SENTENCE, -2.5)
    write_report(fit, path, choice=choice, bootstrap=bootstrap, stability=stability, inference=inference)
    return path, bootstrap, stability, inference


@pytest.fixture(scope="module")
def page(whole, browser):
    """The page, opened once for all tests, which leave it as they found it."""
    with visiting(browser) as visit:
        yield visit(whole[0])


def said(page, name):
    """Return what the points of a chart say."""
    return page.eval_on_selector_all(f"#{name} .dot title", "found => found.map(own => own.textContent)")


def legend(page, name):
    return page.eval_on_selector_all(f"#{name} .legend li", "found => found.map(own => own.textContent)")


def heights(page, selector):
    """Return the heights of points of lines, from the top, in thousandths of the chart."""
    return page.eval_on_selector_all(
        selector, "found => found.map(own => own.getAttribute('points').split(' ').map(p => Number(p.split(',')[1])))"
    )


def test_the_choice_is_drawn_and_told(page):
    assert page.text_content("#choice").startswith(SENTENCE)
    assert "The choice is alpha = 0.2, but the fit of this page has alpha = 0.1." in page.text_content("#choice")
    assert said(page, "choice-plot") == [
        "alpha = 0.4: -3, 0 edges",
        "alpha = 0.2: -2, 2 edges",
        "alpha = 0.1: -1.5, 4 edges",
    ]
    assert legend(page, "choice-plot") == [
        "log-likelihood of rows held out, nats per row",
        "one standard error",
        "best less one standard error: -2.5",
        "chosen: 0.2",
    ]
    edges = page.eval_on_selector_all("#choice-plot .chart-above span", "found => found.map(own => own.textContent)")
    assert edges == ["0", "2", "4"]
    (line,) = heights(page, "#choice-plot polyline")
    (band,) = heights(page, "#choice-plot polygon")
    # A unit of the criterion is the same everywhere: the curve rises by 1 and 0.5, and the band is one error away.
    unit = line[0] - line[1]
    assert line[1] - line[2] == pytest.approx(unit / 2, abs=0.2)  # points are written to a tenth
    errors = np.array([0.5, 0.25, 1.0])
    assert np.array(band[:3]) - line == pytest.approx(unit * errors, abs=0.2)
    assert np.array(band[:2:-1]) - line == pytest.approx(-unit * errors, abs=0.2)
    level = page.get_attribute("#choice-plot line.dashed", "y1")
    assert float(level) == pytest.approx(line[1] + unit / 2, abs=0.2)
    cells = "rows => rows.map(row => [...row.cells].map(cell => cell.textContent))"
    rows = page.eval_on_selector_all("#choice-table tbody tr", cells)
    assert rows == [[f"{value:.6g}" for value in row] for row in TABLE.iter_rows()]
    assert page.eval_on_selector_all("#choice-table .chosen", cells) == [rows[1]]


def as_number(text):
    return float(text.replace("\N{MINUS SIGN}", "-"))


def test_edges_have_their_shares_and_intervals(whole, page):
    _, bootstrap, _, inference = whole
    rows = page.eval_on_selector_all("#edges tbody tr", "rows => rows.map(r => [...r.cells].map(c => c.textContent))")
    found = {frozenset(row[:2]): row[3:] for row in rows}
    edges = bootstrap.table.filter(pl.col("weight") != 0)
    assert len(found) == len(edges) == len(HOSTILE)
    for row in edges.iter_rows(named=True):
        pair = frozenset((row["first"], row["second"]))
        interval, q, share = found[pair]
        assert share == as_percent(row["selected"])
        k = inference.index[pair]
        numbers = [as_number(text) for text in interval.replace("[", "").replace("]", "").replace(",", "").split()]
        assert numbers == pytest.approx([inference.estimate[k], inference.low[k], inference.high[k]], abs=0.0051)
        assert float(q) == inference.q_value[k]
    assert len({share for *_, share in found.values()}) > 3
    assert len({q for _, q, _ in found.values()}) == 2


def test_the_download_has_shares_and_intervals(whole, page):
    _, bootstrap, _, inference = whole
    with page.expect_download() as download:
        page.click("#download")
    text = Path(download.value.path()).read_bytes().decode("utf-8")
    head, *rows = csv.reader(io.StringIO(text, newline=""))
    assert head == ["first", "second", "weight", "estimate", "low", "high", "q", "selected"]
    known = {
        frozenset(row[:2]): row[2:] for row in bootstrap.table.select(["first", "second", "weight", "selected"]).rows()
    }
    assert len(rows) == len(HOSTILE)
    for first, second, *values in rows:
        pair = frozenset((first, second))
        weight, share = known[pair]
        k = inference.index[pair]
        told = [own[k] for own in (inference.estimate, inference.low, inference.high, inference.q_value)]
        assert [float(value) for value in values] == pytest.approx([weight, *told, share], rel=1e-4)


def test_the_second_slider_hides_edges_that_are_seldom_found(whole, page):
    _, bootstrap, _, _ = whole
    shares = bootstrap.table.filter(pl.col("weight") != 0)["selected"]
    least = int(100 * sorted(shares)[3])
    page.evaluate(f"document.getElementById('found-in').value = {least}")
    page.dispatch_event("#found-in", "input")
    expected = int((shares * 100 >= least).sum())
    settle(page, "#edge-count", str(expected))
    assert 0 < expected < len(shares)
    assert page.text_content("#found-in-value") == f"{least}%"
    assert page.evaluate("Page.view.state().shown.length") == expected
    page.evaluate("document.getElementById('found-in').value = 0")
    page.dispatch_event("#found-in", "input")
    settle(page, "#edge-count", str(len(shares)))


def test_other_rows_have_a_section_that_certificates_point_to(whole, page):
    _, bootstrap, _, inference = whole
    assert page.text_content("#inference") == inference.sentence
    assert page.text_content("#bootstrap") == bootstrap.sentence
    assert "not probabilities" in page.inner_text("#other-rows")
    links = page.eval_on_selector_all("a", "links => links.map(link => link.getAttribute('href'))")
    assert links.count("#other-rows") == 3  # among the sections, below the table, and at the certificate


def test_intervals_of_edges_are_those_of_the_inference(whole, page):
    _, bootstrap, _, inference = whole
    edges = bootstrap.table.filter(pl.col("weight") != 0)
    places = [inference.index[frozenset(pair)] for pair in edges.select("first", "second").iter_rows()]
    ends = "found => found.map(own => ['x', 'width'].map(key => parseFloat(own.getAttribute(key))))"
    bars = np.array(page.eval_on_selector_all("#intervals rect", ends))
    dots = page.eval_on_selector_all(
        "#intervals circle", "found => found.map(own => parseFloat(own.getAttribute('cx')))"
    )
    zero = float(page.get_attribute("#intervals .zero", "x1").rstrip("%"))
    estimate, low, high, q = (
        own[places] for own in (inference.estimate, inference.low, inference.high, inference.q_value)
    )
    unit = (np.array(dots) - zero) @ estimate / (estimate @ estimate)  # percent of the width
    assert np.array(dots) - zero == pytest.approx(unit * estimate, abs=0.02)
    assert bars[:, 0] - zero == pytest.approx(unit * low, abs=0.02)
    assert bars[:, 1] == pytest.approx(unit * (high - low), abs=0.02)
    signs = page.eval_on_selector_all("#intervals svg", "found => found.map(own => own.getAttribute('class'))")
    assert signs == ["of-positive" if own > 0 else "of-negative" for own in estimate]
    texts = page.eval_on_selector_all(".interval-q", "found => found.map(own => own.textContent)")
    assert [float(text) for text in texts] == q.tolist()
    titles = page.eval_on_selector_all(".interval", "found => found.map(own => own.title)")
    assert all(
        text.endswith(f"q = {own:.2g}, found in {as_percent(share)} of resamples")
        for text, own, share in zip(titles, q, edges["selected"], strict=True)
    )


def test_edges_of_the_inference_that_the_fit_lacks_are_listed(page):
    rows = page.eval_on_selector_all(
        "#only-sure tbody tr", "rows => rows.map(r => [...r.cells].map(c => c.textContent))"
    )
    minus = "\N{MINUS SIGN}"
    assert rows == [[HOSTILE[0], HOSTILE[2], f"{minus}0.90 [{minus}1.40, {minus}0.40]", "0.004"]]
    assert "1 pair is an edge by q, but has none in the fit:" in page.inner_text("#other-rows")


def test_pairs_that_only_resamples_join_are_listed_most_often_found_first(whole, page):
    _, bootstrap, _, _ = whole
    rows = page.eval_on_selector_all("#only tbody tr", "rows => rows.map(r => [...r.cells].map(c => c.textContent))")
    others = bootstrap.table.filter(pl.col("weight") == 0).sort("selected", descending=True)
    assert len(others) == 12
    assert [row[2] for row in rows] == [as_percent(share) for share in others["selected"][:10]]
    assert [frozenset(row[:2]) for row in rows] == [
        frozenset(pair) for pair in others.head(10).select("first", "second").iter_rows()
    ]
    assert "12 pairs have an edge in some resample" in page.inner_text("#other-rows")


def test_stability_is_drawn_with_its_coefficients(whole, page):
    _, _, stability, _ = whole
    assert page.text_content("#stability") == stability.sentence
    display = StabilityDisplay.from_stability(stability)
    assert legend(page, "stability-plot") == [
        *(f"{curve.name} (CS coefficient {curve.coefficient:.3g})" for curve in display.curves),
        "0.7: what CS coefficients ask for",
    ]
    assert said(page, "stability-plot") == [
        f"{share:g} of the rows, {curve.name}: {mean:.3g}"
        for curve in display.curves
        for share, mean in zip((0.75, 0.5, 0.25), curve.mean, strict=True)
    ]
    told = page.inner_text("#other-rows")
    assert f"{stability.coefficient('edges'):.3g} for weights of edges" in told
    assert "more than 0.25" in told


def test_hostile_names_are_not_run_in_the_sections(page):
    page.wait_for_timeout(100)
    assert page.evaluate("window.hit") is None
    assert page.eval_on_selector_all("img", "found => found.length") == 0
    assert page.eval_on_selector_all("#only b, #intervals b, #choice b:not(:last-child)", "f => f.length") == 0
    ticks = page.eval_on_selector_all(".interval-name", "f => f.map(own => own.textContent)")
    for name in ("<script>", "<b>bold</b>"):
        assert sum(name in text for text in ticks) == 2  # each variable has two edges


def test_shares_are_rounded_as_in_pictures(page):
    for share in (0.0, 0.004, 0.29, 0.996, 1.0):
        assert page.evaluate(f"Page.percent({share})") == as_percent(share)


def test_a_screenshot_of_the_sections_is_kept(page):
    ARTEFACTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=ARTEFACTS / "report-sections.png", full_page=True)
    assert (ARTEFACTS / "report-sections.png").stat().st_size > 20_000


def test_a_choice_of_zero_alone_has_a_table_and_no_plot(tmp_path, visit):
    table = pl.DataFrame({"alpha": [0.0], "edges": [3], "ebic": [2.0], "standard_error": [0.1]})
    fit = make_fit(["a", "b", "c", "d"], alpha=0.0)
    write_report(fit, tmp_path / "a.html", choice=Choice(0, 0.0, table, SENTENCE), bootstrap=make_bootstrap(fit))
    page = visit(tmp_path / "a.html")
    assert page.locator("#choice-plot").count() == 0
    assert page.locator("#choice-table tbody tr").count() == 1


# --- Without a browser ---


def test_pages_without_many_fits_have_no_section_of_them(tmp_path):
    write_report(make_fit(), tmp_path / "a.html")
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    marks = (
        'id="penalty"',
        'id="other-rows"',
        'id="found-in"',
        'data-key="share"',
        'href="#other-rows"',
        'id="lookup"',
    )
    for mark in (*marks, 'data-key="estimate"'):
        assert mark not in text


def test_a_path_with_other_edges_than_the_fit_is_told(tmp_path):
    fit = make_fit(["a", "b", "c", "d"], alpha=0.1)
    n_edges = Network.of(fit).n_edges
    for edges, is_told in ((n_edges, False), (n_edges + 1, True)):
        table = pl.DataFrame({"alpha": [0.1], "edges": [edges], "ebic": [2.0]})
        write_report(fit, tmp_path / "a.html", choice=Choice(0, 0.1, table, SENTENCE))
        text = (tmp_path / "a.html").read_text(encoding="utf-8")
        assert (f"less exactly than the fit of this page, which has {n_edges} edges." in text) == is_told


def test_a_choice_without_time_has_its_sentence_alone(tmp_path):
    choice = Choice(0, 0.1, pl.DataFrame(schema={"alpha": pl.Float64}), "There was no time.")
    write_report(make_fit(), tmp_path / "a.html", choice=choice)
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert '<p id="choice">There was no time.</p>' in text
    assert 'id="choice-plot"' not in text
    assert 'id="choice-table"' not in text


def test_a_field_that_was_saved_still_says_why_it_has_its_penalty(tmp_path):
    fit = make_fit()
    write_report(replace(fit, settings={**fit.settings, "choice": SENTENCE}), tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert '<p id="choice">alpha = 0.1 is &lt;b&gt;made up&lt;/b&gt;.</p>' in page


def test_what_is_not_known_of_a_choice_stays_empty(tmp_path):
    table = TABLE.with_columns(standard_error=pl.lit(float("nan")), log_likelihood=pl.lit(None, dtype=pl.Float64))
    write_report(make_fit(), tmp_path / "a.html", choice=Choice(1, 0.2, table, SENTENCE, -2.5))
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert text.count('<td class="number"></td>') == 2 * len(table)
    json.loads(
        text.split('<script id="data" type="application/json">')[1].split("</script>")[0], parse_constant=pytest.fail
    )
    assert "polygon" not in text  # no band


def test_stability_alone_has_its_section(tmp_path):
    fit = make_fit(["a", "b", "c", "d"])
    write_report(fit, tmp_path / "a.html", stability=make_stability(fit))
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert 'id="stability-plot"' in text
    assert 'id="intervals"' not in text
    assert text.count('href="#other-rows"') == 2


def test_resamples_of_other_variables_are_refused(tmp_path):
    fit, other = make_fit(["a", "b", "c", "d"]), make_fit(["a", "b", "c", "other"])
    with pytest.raises(ValueError, match=r"bootstrap is about other variables than the fit [(]it lacks 'd'"):
        write_report(fit, tmp_path / "a.html", bootstrap=make_bootstrap(other))
    with pytest.raises(ValueError, match="stability is about other variables"):
        write_report(fit, tmp_path / "a.html", stability=make_stability(other))
    assert not list(tmp_path.iterdir())


def test_an_edge_of_another_fit_is_listed_where_its_share_belongs():
    """The resamples are of a fit with one edge more, the strongest, which is found least often."""
    other = make_fit(["a", "b", "c", "d", "e"])
    interactions = other.model.interactions.copy()
    interactions[0, 1] = interactions[1, 0] = 0.0
    fit = replace(other, model=PairwiseMRF.binary(np.zeros(5), interactions, names=list("abcde")))
    bootstrap = make_bootstrap(other)
    bootstrap.weights[:39, 0] = 0
    found = describe_many(fit, Network.of(fit), None, bootstrap, None)["bootstrap"]
    shares = [row["selected"] for row in found["only"]]
    assert shares == sorted(shares, reverse=True)
    assert (found["only"][-1]["first"], found["only"][-1]["second"]) == ("a", "b")
    intervals = describe_intervals(Network.of(fit), find_shares(bootstrap))["rows"]
    assert ("a", "b") not in [(row["first"], row["second"]) for row in intervals]
    assert len(intervals) == 4


def test_edges_are_matched_by_names_whatever_their_order(tmp_path):
    """A bootstrap of the same variables in another order, at another alpha, which lacks an edge of the fit."""
    fit = make_fit(["a", "b", "c", "d"])
    order = [2, 0, 3, 1]
    interactions = fit.model.interactions[np.ix_(order, order)].copy()
    interactions[0, 1] = interactions[1, 0] = 0.0
    model = PairwiseMRF.binary(np.zeros(4), interactions, names=[fit.model.domain.names[k] for k in order])
    bootstrap = make_bootstrap(replace(fit, model=model, settings={"alpha": 0.3}))
    write_report(fit, tmp_path / "a.html", bootstrap=bootstrap)
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "Resamples were fitted with alpha = 0.3, but the fit of this page has alpha = 0.1." in text
    data = json.loads(text.split('<script id="data" type="application/json">')[1].split("</script>")[0])
    known = {frozenset(row[:2]): row[2] for row in bootstrap.table.select("first", "second", "selected").iter_rows()}
    names = [node["name"] for node in data["network"]["nodes"]]
    for a, b, _, _, _, share in data["network"]["edges"]:
        assert share == known.get(frozenset((names[a], names[b])), 0.0)
    assert len(data["network"]["edges"]) == 4
