"""One linked page: network, table, intervals and two penalties; themes, phones, and pictures to look at."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sparsefield as sf
from sparsefield import Fit, PairwiseMRF
from sparsefield.fits import Status
from sparsefield.network import Network
from sparsefield.report import write_report
from sparsefield.report._alternatives import describe_alternatives
from sparsefield.resampling import Bootstrap, Ends, Stability
from sparsefield.selection import Choice, PathWeights
from support.inferences import make_inference
from support.pages import ARTEFACTS, HOSTILE, settle, visiting

ENDS = Ends((), np.ones(0, dtype=bool), np.zeros(0, dtype=int), np.zeros(0, dtype=int))
SYMPTOMS = ["sad mood", "loss of interest", "sleep problems", "fatigue", "appetite", "worthlessness", "worry",
            "nervousness", "panic", "restlessness", "avoids people", "tension headaches nearly every day"]  # fmt: skip
ALPHAS = (0.2, 0.1, 0.05)
PHONE = 390  # pixels: the width of a common phone


def make_survey(names=SYMPTOMS):
    """Two triangles and a chain with edges of both signs; one variable alone; all that can be known of many fits."""
    p = len(names)
    interactions = np.zeros((p, p))
    joined = [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5), (2, 3), (5, 6), (0, 6)]
    for k, (a, b) in enumerate(joined):
        interactions[a, b] = interactions[b, a] = (1.5 - 0.12 * k) * (-1 if k % 4 == 3 else 1)
    model = PairwiseMRF.binary(np.zeros(p), interactions, names=list(names))
    fit = Fit(model, Status("converged", "Made up."), (), alpha=0.1, settings={"alpha": 0.1, "n_rows": 400})
    pairs = np.array(joined)
    own = interactions[tuple(pairs.T)]
    # At the largest penalty the first three; then all; then all but the first, and one that only the smallest has.
    kept = [own * (np.arange(9) < 3) / 2, own, own * (np.arange(9) > 0)]
    tried = np.column_stack([kept, [0.0, 0.0, -0.4]])
    weights = PathWeights(ALPHAS, tuple(names), np.array([*joined, (7, 8)]), tried)
    table = pl.DataFrame(
        {"alpha": ALPHAS, "edges": [3, 9, 9], "ebic": [900.0, 850.0, 880.0], "standard_error": [1.0, 2.0, 3.0]}
    )
    choice = Choice(1, 0.1, table, "alpha = 0.1 has the least EBIC.", None, weights)
    rng = np.random.default_rng(1)
    drawn = own * rng.uniform(0.6, 1.4, (40, len(own))) * (rng.random((40, len(own))) < np.linspace(1.0, 0.6, len(own)))
    bootstrap = Bootstrap(fit, pairs, drawn, ENDS, 400)
    shares = rng.uniform(0.72, 1.0, (3, 20))
    stability = Stability(fit, (0.75, 0.5, 0.25), shares, shares - [[0.0], [0.1], [0.4]], ENDS)
    return fit, choice, bootstrap, stability


def make_sure(fit):
    """Estimates of the edges but the last, an edge that the fit lacks, and two pairs that cannot be told."""
    edges = np.argwhere(np.triu(fit.model.interactions)).tolist()
    weights = {(a, b): 1.1 * fit.model.interactions[a, b] for a, b in edges[:-1]}
    return make_inference(fit.model.domain.names, {**weights, (7, 9): -0.7}, untold=[(8, 9), (10, 11)])


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    fit, choice, bootstrap, stability = make_survey()
    path = tmp_path_factory.mktemp("linked") / "survey.html"
    more = {"choice": choice, "bootstrap": bootstrap, "stability": stability, "inference": make_sure(fit)}
    write_report(fit, path, title="Symptoms of 400 people", **more)
    return path, fit


@pytest.fixture
def page(survey, visit):
    return visit(survey[0])


def picked(page):
    return page.eval_on_selector_all(
        "#edges tr.picked", "rows => rows.map(r => [...r.cells].map(c => c.textContent).slice(0, 2))"
    )


def in_window(page, selector):
    """Say whether an element lies within the window, at least in part."""
    box = page.locator(selector).bounding_box()
    height = page.evaluate("window.innerHeight")
    return box["y"] < height and box["y"] + box["height"] > 0


# --- Links ---


def test_a_row_of_the_table_is_shown_in_the_network(page):
    page.locator("#edges-section").scroll_into_view_if_needed()
    row = page.locator("#edges tbody tr").nth(4)
    names = row.locator("td").all_text_contents()[:2]
    page.evaluate("window.scrollTo(0, document.getElementById('edges-section').offsetTop)")
    row.click()
    selection = page.evaluate("Page.view.state().selection")
    ends = page.evaluate(f"(({{ a, b }}) => [a, b])(Page.view.edges[{selection['edge']}])")
    assert [SYMPTOMS[k] for k in ends] == names
    assert picked(page) == [names]
    page.wait_for_timeout(800)  # it scrolls softly
    assert in_window(page, "#network")
    assert page.text_content("#found h3") == " \N{EN DASH} ".join(names)


def test_a_row_is_reached_by_the_keyboard(page):
    page.locator("#edges tbody tr[tabindex='0']").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    names = page.locator("#edges tbody tr").nth(1).locator("td").all_text_contents()[:2]
    assert picked(page) == [names]


def test_an_interval_is_shown_in_the_network(page):
    own = page.locator(".interval").nth(2)
    names = own.locator(".interval-name").text_content().split(" \N{EN DASH} ")
    own.click()
    assert picked(page) == [names]
    assert page.locator(".interval.picked").count() == 1
    assert page.evaluate("Page.view.state().selection.edge") == int(own.get_attribute("data-edge"))


def test_a_node_of_the_network_is_shown_in_the_table(page):
    """A click on the canvas, where the view says that the node is."""
    page.evaluate("document.getElementById('edges-scroll').style.maxHeight = '130px'")  # so that it has to scroll
    page.locator("#network").scroll_into_view_if_needed()
    k = SYMPTOMS.index("worry")
    page.wait_for_timeout(300)
    x, y = page.evaluate(f"Page.view.state().positions[{k}]")
    page.locator("#network canvas").click(position={"x": x, "y": y})
    assert page.evaluate("Page.view.state().selection") == {"node": k}
    rows = picked(page)
    assert len(rows) == 2
    assert all("worry" in row for row in rows)
    assert page.text_content("#found h3") == "worry"
    assert page.locator("#found li").count() == 2
    first = page.locator("#edges tr.picked").first
    box, inner = page.locator("#edges-scroll").bounding_box(), first.bounding_box()
    assert box["y"] <= inner["y"] <= box["y"] + box["height"]
    page.keyboard.press("Escape")
    assert picked(page) == []


def test_a_neighbour_in_the_list_selects_its_edge(page):
    page.fill("#search", "sad mood")
    settle(page, "#found h3", "sad mood")
    page.locator("#found li button").first.click()
    assert page.text_content("#found h3") == "sad mood \N{EN DASH} loss of interest"
    assert picked(page) == [["sad mood", "loss of interest"]]


def test_the_list_of_neighbours_does_not_hide_what_is_selected(page):
    for k, name in enumerate(SYMPTOMS):
        page.fill("#search", name)
        settle(page, "#found h3", name)
        x, _ = page.evaluate(f"Page.view.state().positions[{k}]")
        stage, panel = (page.locator(own).bounding_box() for own in ("#network", "#found"))
        assert not panel["x"] <= stage["x"] + x <= panel["x"] + panel["width"]


# --- Any pair ---


def choose_pair(page, a, b):
    for side, k in (("first", a), ("second", b)):
        page.select_option(f"#pair-{side}", str(k))
    return page.text_content("#pair-said")


def test_any_pair_is_looked_up_as_the_library_tells_it(survey, page):
    _, fit = survey
    inference = make_sure(fit)
    for a, b in ((0, 1), (9, 7), (10, 4), (8, 9), (11, 10)):
        expected = inference.describe(*(SYMPTOMS[k] for k in sorted((a, b))))
        for pair in ((a, b), (b, a)):
            said = choose_pair(page, *pair).replace("\N{MINUS SIGN}", "-")
            names = [SYMPTOMS[k] for k in pair]
            wanted = expected if pair[0] < pair[1] else inference.describe(*names)
            # Where no edge was found, the page adds the interval.
            assert said.replace("; 95% interval -0.45 to 0.55)", ")") == wanted
    kinds = [choose_pair(page, a, b).split(" ")[0] for a, b in ((0, 1), (10, 4), (8, 9))]
    assert kinds == ["sad", "No", "Whether"]
    assert choose_pair(page, 3, 3) == ""


def test_a_pair_that_is_looked_up_is_shown_in_the_network(page):
    choose_pair(page, 1, 0)
    assert picked(page) == [["sad mood", "loss of interest"]]
    choose_pair(page, 1, 9)  # which has no edge
    assert picked(page) == []
    assert page.evaluate("Page.view.state().selection") is None


def test_the_last_two_nodes_that_were_selected_are_looked_up(page):
    for k, wanted in ((4, ["4", ""]), (8, ["4", "8"]), (10, ["8", "10"])):
        page.fill("#search", SYMPTOMS[k])
        settle(page, "#found h3", SYMPTOMS[k])
        assert [page.input_value(f"#pair-{side}") for side in ("first", "second")] == wanted
    assert page.text_content("#pair-said").startswith(
        "No edge was found between worthlessness".replace("worthlessness", SYMPTOMS[8])
    )
    page.locator(".interval").nth(0).click()
    assert [page.input_value(f"#pair-{side}") for side in ("first", "second")] == ["0", "1"]


def test_another_node_is_told_with_the_selected_one(page):
    page.fill("#search", "fatigue")
    settle(page, "#found h3", "fatigue")
    page.locator("#network").scroll_into_view_if_needed()
    page.wait_for_timeout(300)
    x, y = page.evaluate(f"Page.view.state().positions[{SYMPTOMS.index('avoids people')}]")
    box = page.locator("#network canvas").bounding_box()
    page.mouse.move(box["x"] + x, box["y"] + y)
    page.wait_for_selector(".network-tooltip:visible")
    assert "No edge was found between fatigue and avoids people (q = 0.6;" in page.inner_text(".network-tooltip")


def test_a_selected_edge_is_told_with_its_interval(survey, page):
    inference = make_sure(survey[1])
    page.locator(".interval").nth(0).click()
    assert page.text_content("#found h3") == "sad mood \N{EN DASH} loss of interest"
    estimate = inference.estimate[inference.index[frozenset(SYMPTOMS[:2])]]
    interval = f"{estimate - 0.5:.2f} to {estimate + 0.5:.2f}"
    assert f"Estimate +{estimate:.2f} (95% interval {interval}), q = 0.004." in page.inner_text("#found")


def test_hostile_names_are_looked_up_and_not_run(tmp_path, visit):
    make_hostile(tmp_path)
    page = visit(tmp_path / "hostile.html")
    assert choose_pair(page, 0, 4).startswith(
        "No edge was found between <script>window.hit = 1</script> and {{ 7 * 7 }}"
    )
    assert page.evaluate("window.hit") is None
    assert page.locator("#lookup img, #lookup b").count() == 0


# --- Controls ---


def test_variables_without_edges_can_be_hidden(survey, page):
    n = len(SYMPTOMS)
    joined = set(np.flatnonzero(Network.of(survey[1]).strengths.any(axis=0)).tolist())
    assert page.evaluate("Page.view.state().visible.length") == n
    page.check("#hide-isolated")
    assert set(page.evaluate("Page.view.state().visible")) == joined
    assert len(joined) < n
    page.uncheck("#hide-isolated")
    assert page.evaluate("Page.view.state().visible.length") == n


def test_the_network_can_be_laid_out_again(page):
    before = page.evaluate("Page.view.state().positions")
    page.evaluate("document.getElementById('strength').value = 700")
    page.dispatch_event("#strength", "input")
    page.check("#hide-isolated")
    page.click("#relayout")
    page.wait_for_timeout(500)
    assert page.evaluate("Page.view.state().positions") != before


def test_nodes_are_coloured_as_chosen(page):
    for by, text in (("strength", "strength"), ("none", "positive edge")):
        page.select_option("#color", by)
        assert text in page.text_content("#legend")


def test_names_can_be_left_out(page):
    page.wait_for_timeout(200)
    assert page.evaluate("Page.view.state().names.length") > 0
    page.uncheck("#show-names")
    page.wait_for_timeout(200)
    assert page.evaluate("Page.view.state().names.length") == 0


def test_the_picture_is_saved_as_png(page):
    with page.expect_download() as download:
        page.click("#picture")
    assert download.value.suggested_filename == "network.png"
    assert Path(download.value.path()).read_bytes().startswith(b"\x89PNG")


def test_the_theme_follows_the_system_until_a_reader_chooses(survey, browser):
    with visiting(browser) as visit:
        page = visit(survey[0])
        paper = "getComputedStyle(document.body).backgroundColor"
        light = page.evaluate(paper)
        page.emulate_media(color_scheme="dark")
        dark = page.evaluate(paper)
        assert light == "rgb(255, 255, 255)" != dark
        seen = []
        for _ in range(3):
            page.click("#theme")
            seen.append(
                (
                    page.text_content("#theme"),
                    page.evaluate(paper),
                    page.evaluate("document.documentElement.dataset.theme ?? null"),
                )
            )
        assert seen == [("Theme: light", light, "light"), ("Theme: dark", dark, "dark"), ("Theme: auto", dark, None)]


# --- Two penalties ---


def edges_at(page, side):
    """Return the pairs that one of the two views shows."""
    return {
        frozenset(pair)
        for pair in page.evaluate(
            f"Page.compared.{side}.state().shown.map(k => Page.compared.{side}.edges[k]).map(e => [e.a, e.b])"
        )
    }


def test_two_penalties_are_compared(page):
    _, choice, _, _ = make_survey()
    pairs, values = choice.weights.pairs, choice.weights.values
    known = [{frozenset(pair.tolist()) for pair, value in zip(pairs, row, strict=True) if value} for row in values]
    options = page.eval_on_selector_all("#alpha-first option", "all => all.map(own => own.textContent)")
    assert options == ["0.2 (3 edges)", "0.1 (9 edges)", "0.05 (9 edges)"]
    assert page.input_value("#alpha-first") == "0"
    assert page.input_value("#alpha-second") == "1"  # that of the fit
    for first, second in ((0, 1), (1, 2), (2, 0)):
        page.select_option("#alpha-first", str(first))
        page.select_option("#alpha-second", str(second))
        assert edges_at(page, "first") == known[first]
        assert edges_at(page, "second") == known[second]
        both = len(known[first] & known[second])
        only, other = len(known[first] - known[second]), len(known[second] - known[first])
        assert page.text_content("#compare-count") == (
            f"{both} edges in both, {only} only at {ALPHAS[first]}, {other} only at {ALPHAS[second]}."
        )
        assert page.locator("#only-first li").count() == 1 + only
        assert page.locator("#only-second li").count() == 1 + other
        page.check("#only-different")
        assert edges_at(page, "first") == known[first] - known[second]
        if not only:
            assert page.inner_text("#network-first .network-empty") == "At this penalty there is no such edge."
        page.uncheck("#only-different")


def test_strengths_of_both_penalties_are_within_their_bar(tmp_path, visit):
    names = ("a", "b", "c")
    model = sf.PairwiseMRF.binary(np.zeros(3), [[0, 1.0, 0], [1.0, 0, 0], [0, 0, 0]], names=list(names))
    fit = Fit(model, Status("converged", "Made up."), (), alpha=0.2)
    weights = PathWeights((0.2, 0.1), names, np.array([[0, 1], [1, 2]]), np.array([[1.0, 0.0], [3.0, -2.0]]))
    write_report(fit, tmp_path / "page.html", alternatives=weights)
    page = visit(tmp_path / "page.html")
    page.select_option("#color", "strength")
    bars = [page.get_attribute(f"#{key} .network-entry", "aria-label") for key in ("legend", "compare-legend")]
    assert bars == ["strength from 0 to 1", "strength from 0 to 5"]


def test_two_networks_move_together(page):
    page.locator("#network-first").scroll_into_view_if_needed()
    page.wait_for_timeout(300)
    page.locator("#network-first").focus()
    for _ in range(3):
        page.keyboard.press("+")
    page.wait_for_timeout(500)
    first, second = (page.evaluate(f"Page.compared.{side}.state()") for side in ("first", "second"))
    assert first["zoom"] == pytest.approx(second["zoom"])
    assert np.array(first["positions"]) == pytest.approx(np.array(second["positions"]), abs=1.0)


def test_alternatives_are_few_and_have_the_penalty_of_the_fit():
    fit = make_survey()[0]
    rng = np.random.default_rng(1)
    pairs = np.array([(a, b) for a in range(12) for b in range(a + 1, 12)])
    alphas = tuple(np.geomspace(1.0, 0.01, 40).tolist())
    values = np.array([rng.normal(size=66) * (np.arange(66) < k) for k in range(40)])
    path = PathWeights(alphas, tuple(SYMPTOMS), pairs, values)
    near = replace(fit, penalty="L1", alpha=alphas[17])
    found = describe_alternatives(path, near)
    assert len(found["alphas"]) == 12
    assert found["alphas"][found["second"]] == float(f"{alphas[17]:.3g}")
    assert found["first"] == found["second"] - 1
    assert sorted(found["alphas"], reverse=True) == found["alphas"]
    assert all(float(f"{edge[2]:.3g}") == edge[2] for own in found["edges"] for edge in own)


def test_alternatives_are_matched_by_names_whatever_their_order():
    fit, choice, _, _ = make_survey()
    own, p = choice.weights, len(SYMPTOMS)
    turned = PathWeights(own.alphas, own.names[::-1], p - 1 - own.pairs, own.values)
    assert describe_alternatives(turned, fit) == describe_alternatives(own, fit)


def test_alternatives_without_a_difference_are_none():
    fit = make_survey()[0]
    same = PathWeights((0.2, 0.1), tuple(SYMPTOMS), np.array([[0, 1]]), np.array([[1.0], [1.1]]))
    assert describe_alternatives(same, fit) is None
    assert (
        describe_alternatives(PathWeights((), (*SYMPTOMS,), np.zeros((0, 2), dtype=int), np.zeros((0, 0))), fit) is None
    )


def test_alternatives_of_other_variables_are_refused(tmp_path):
    fit = make_survey()[0]
    other = PathWeights((0.2, 0.1), ("a", "b"), np.array([[0, 1]]), np.array([[0.0], [1.1]]))
    with pytest.raises(ValueError, match="alternatives are about other variables than the fit"):
        write_report(fit, tmp_path / "a.html", alternatives=other)


def test_a_path_is_compared_where_it_is_given(tmp_path, visit):
    table = sf.datasets.make_field(5, strength=(1.0, 1.5), seed=3).sample(500, method="perfect", seed=1)
    path = sf.path(table, [0.2, 0.1, 0.03, 0.01])
    write_report(path.fits[2], tmp_path / "a.html", alternatives=path)
    page = visit(tmp_path / "a.html")
    assert page.locator("#path-plot polyline").count() > 0
    assert page.locator("#choice-plot").count() == 0
    assert page.text_content("#compare-count").endswith(".")


def test_an_estimator_brings_its_path(tmp_path):
    table = sf.datasets.make_field(5, strength=(1.0, 1.5), seed=3).sample(500, method="perfect", seed=1)
    write_report(sf.SparseMRF(sf.EBIC(), random_state=1).fit(table), tmp_path / "a.html")
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert 'id="compare"' in text
    assert 'id="path-plot"' in text


# --- Widths, sizes, and pictures to look at ---


def make_senate(tmp_path, n_variables=100, n_edges=1000):
    """A network of the size of the Senate's, with its parties."""
    senate = sf.datasets.load_senate()
    rng = np.random.default_rng(1)
    first, second = np.triu_indices(n_variables, 1)
    some = rng.choice(len(first), n_edges, replace=False)
    interactions = np.zeros((n_variables, n_variables))
    parties = dict(zip(senate.members["name"], senate.members["party"], strict=True))
    names = list(senate.votes.domain.names)
    same = np.array([parties[names[a]] == parties[names[b]] for a, b in zip(first[some], second[some], strict=True)])
    interactions[first[some], second[some]] = np.where(same, 1, -0.4) * rng.exponential(0.4, n_edges)
    model = PairwiseMRF.binary(np.zeros(n_variables), interactions + interactions.T, names=names)
    fit = Fit(model, Status("converged", "Made up."), (), alpha=0.1, settings={"alpha": 0.1})
    weights = {(a, b): interactions[a, b] for a, b in zip(first[some].tolist(), second[some].tolist(), strict=True)}
    more = {"groups": parties, "title": "The Senate of 2006", "inference": make_inference(names, weights)}
    write_report(fit, tmp_path / "senate.html", table=senate.votes, **more)


def make_empty(tmp_path):
    table = sf.encode(np.random.default_rng(1).integers(0, 2, (300, 8)))
    write_report(sf.learn(table, 0.3), tmp_path / "empty.html", table=table)


def make_unsigned(tmp_path):
    rng = np.random.default_rng(1)
    town = rng.integers(0, 3, 1000)
    columns = {"town": town}
    for name in ("paper", "party", "sport"):
        town = np.where(rng.random(1000) < 0.5, town, rng.integers(0, 3, 1000))
        columns[name] = town
    table = sf.encode(pl.DataFrame(columns))
    write_report(sf.learn(table, 0.02), tmp_path / "unsigned.html", table=table)


def make_all(tmp_path):
    fit, choice, bootstrap, stability = make_survey()
    more = {"choice": choice, "bootstrap": bootstrap, "stability": stability, "inference": make_sure(fit)}
    write_report(fit, tmp_path / "survey.html", title="Symptoms of 400 people", **more)


def make_hostile(tmp_path):
    """Names that would break out of a page, and one that has no place to break a line at."""
    names = [*HOSTILE, "w" * 300, "b", "c", "d"]
    fit, choice, bootstrap, stability = make_survey(names)
    groups = {name: name for name in names}
    more = {"choice": choice, "bootstrap": bootstrap, "stability": stability, "groups": groups}
    more["inference"] = make_sure(fit)
    write_report(fit, tmp_path / "hostile.html", title="t" * 200, **more)


MAKERS = {
    "senate": make_senate,
    "empty": make_empty,
    "unsigned": make_unsigned,
    "survey": make_all,
    "hostile": make_hostile,
}


@pytest.mark.parametrize("name", MAKERS)
def test_pages_fit_desks_and_phones_in_both_themes(name, tmp_path, browser):
    MAKERS[name](tmp_path)
    ARTEFACTS.mkdir(parents=True, exist_ok=True)
    with visiting(browser) as visit:
        page = visit(tmp_path / f"{name}.html")
        for width, height in ((1280, 900), (PHONE, 844)):
            page.set_viewport_size({"width": width, "height": height})
            for theme in ("light", "dark"):
                page.emulate_media(color_scheme=theme)
                page.wait_for_timeout(150)
                assert page.evaluate("document.documentElement.scrollWidth") <= width
                page.screenshot(path=ARTEFACTS / f"page-{name}-{width}-{theme}.png", full_page=True)
        assert page.evaluate("window.hit") is None
        small = page.eval_on_selector_all(
            "button:not(.network-buttons button), select, input",
            "all => all.filter(own => own.checkVisibility() && "
            "Math.max(own.offsetHeight, own.closest('label')?.offsetHeight ?? 0) < 40).map(own => own.outerHTML)",
        )
        assert small == []  # large enough for fingers, on the phone


def test_the_page_of_the_senate_is_less_than_a_megabyte(tmp_path):
    make_senate(tmp_path)
    assert (tmp_path / "senate.html").stat().st_size < 1_000_000


def test_controls_have_labels(page):
    without = page.eval_on_selector_all(
        "input, select, button",
        "all => all.filter(own => !(own.labels?.length || own.textContent.trim() || own.ariaLabel))"
        ".map(own => own.outerHTML)",
    )
    assert without == []


def test_an_empty_network_says_why_and_what_to_do(tmp_path, visit):
    make_empty(tmp_path)
    page = visit(tmp_path / "empty.html")
    said = page.inner_text("#network")
    assert "No edge joins any two of the 8 variables." in said
    assert "sparsefield fit DATA --report page.html" in said
    assert not page.is_visible("#strength")
    assert page.inner_text("#edges-section").endswith("There are no edges to list.")


def test_nothing_is_called_positive_where_nothing_has_a_sign(tmp_path, visit):
    make_unsigned(tmp_path)
    page = visit(tmp_path / "unsigned.html")
    assert "positive" not in page.text_content("#legend")
    assert "without a sign" in page.text_content("#words")
