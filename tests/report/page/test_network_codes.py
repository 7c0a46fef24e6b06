"""What colours, widths, dashes and shapes of the interactive network say, in either theme, and its legend."""

import numpy as np
import pytest

import sparsefield as sf
from sparsefield.network import Clusters
from sparsefield.plotting import PALETTE, as_percent
from support.views import along, as_rgb, describe, entries, locate, make_few, pixels, rest, until, write_view


def nearest(colors, pixel, background):
    """Return which colour a pixel has most of, whatever its opacity over the background."""
    shade = pixel - background

    def away(name):
        wanted = as_rgb(colors[name]) - background
        return np.linalg.norm(shade / np.linalg.norm(shade) - wanted / np.linalg.norm(wanted))

    return min(("positive", "negative", "unsigned", "text"), key=away)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_selection_keeps_the_colours_of_signs_and_fades_the_rest(few, visit, theme):
    page = visit(few)
    page.evaluate("(theme) => { document.documentElement.dataset.theme = theme; }", theme)
    colors = PALETTE[theme]
    background = as_rgb(colors["background"])
    state = rest(page)

    def look():
        """Return the strongest pixel near the middle of each edge: dashes leave gaps."""
        found = {}
        for name, end in (("positive", 1), ("negative", 2)):
            drawn = pixels(page, along(state, 0, end, np.linspace(0.45, 0.55, 40)))
            found[name] = drawn[np.argmax(np.abs(drawn - background).sum(axis=1))]
        return found

    plain = look()
    assert {name: nearest(colors, pixel, background) for name, pixel in plain.items()} == {
        "positive": "positive",
        "negative": "negative",
    }
    page.evaluate("view.select({ node: 0 })")
    rest(page)
    picked = look()
    assert {name: nearest(colors, pixel, background) for name, pixel in picked.items()} == {
        "positive": "positive",
        "negative": "negative",
    }
    page.evaluate("view.select({ edge: view.edges.find((edge) => edge.weight > 0).index })")
    rest(page)
    alone = look()
    assert nearest(colors, alone["positive"], background) == "positive"
    strength = {name: np.abs(pixel - background).sum() for name, pixel in alone.items()}
    assert strength["negative"] < 0.4 * np.abs(plain["negative"] - background).sum()
    assert strength["positive"] >= 0.95 * np.abs(plain["positive"] - background).sum()


def test_picked_edges_are_wider(few, visit):
    page = visit(few)
    state = rest(page)
    middle = along(state, 0, 1, [0.5])[0]
    across = [middle + np.array([0, dy]) for dy in np.arange(-9, 9.5, 0.5)]
    before = np.count_nonzero(np.any(pixels(page, across) != 255, axis=1))
    page.evaluate("view.select({ node: 1 })")
    rest(page)
    assert np.count_nonzero(np.any(pixels(page, across) != 255, axis=1)) > before > 0


def test_undecided_edges_are_dashed(few, visit):
    page = visit(few)
    state = rest(page)
    parts = np.linspace(0.2, 0.6, 150)
    solid, dashed = (pixels(page, along(state, 0, end, parts)) for end in (1, 2))
    assert not np.any(np.all(solid == 255, axis=1))
    gaps = np.all(dashed == 255, axis=1)
    assert 0.15 < gaps.mean() < 0.85
    assert np.count_nonzero(np.diff(gaps.astype(int)) == 1) >= 3  # several gaps
    assert "dashed: undecided (simulation error)" in page.inner_text("#legend")


def test_the_legend_has_the_codes_in_use_and_no_other(few, folder, visit):
    page = visit(few)
    assert entries(page) == ["positive edge", "negative edge", "dashed: undecided (simulation error)"]
    page.evaluate("view.showEdges((edge) => edge.weight > 0)")
    assert entries(page) == ["positive edge"]
    page.evaluate("view.colorNodes('strength')")
    assert entries(page) == ["strength 02", "positive edge"]
    assert page.get_attribute("#legend .network-entry", "aria-label") == "strength from 0 to 2"

    unsigned = {**make_few()}
    unsigned["edges"] = [[a, b, weight, None, False, 0.5] for a, b, weight, *_ in unsigned["edges"]]
    for node in unsigned["nodes"]:
        node["strength"] = 1.0
    page = visit(write_view(folder / "unsigned.html", unsigned))
    assert entries(page) == ["edge", "fainter: in fewer resamples"]
    page.evaluate("view.colorNodes('strength')")  # all are as strong: no bar
    assert entries(page) == ["edge", "fainter: in fewer resamples"]


def test_edges_of_fewer_resamples_are_fainter(folder, visit):
    data = make_few()
    data["edges"] = [[*own[:5], share] for own, share in zip(data["edges"], (1.0, 0.3), strict=True)]
    page = visit(write_view(folder / "shares.html", data))
    often, seldom = rest(page)["styles"]
    assert often["opacity"] > 2 * seldom["opacity"] > 0
    assert often["width"] == seldom["width"]


def test_edges_that_may_be_noise_are_dotted_and_told(folder, visit):
    """The edge of ann and bob is at the rate; that of ann and cat, which the draws leave open as well, is not."""
    data = {**make_few(), "level": "95%", "fdr": 0.1}
    told = ([1.25, 0.8, 1.7, 0.0004, True], [-0.4, -1.1, 0.3, 0.234, False])
    data["edges"] = [[*own[:5], None, *sureness] for own, sureness in zip(data["edges"], told, strict=True)]
    page = visit(write_view(folder / "sure.html", data))
    state = rest(page)
    assert [(style["dotted"], style["dashed"]) for style in state["styles"]] == [(False, False), (True, False)]
    parts = np.linspace(0.2, 0.6, 300)
    solid, dotted = (pixels(page, along(state, 0, end, parts)) for end in (1, 2))
    assert not np.any(np.all(solid == 255, axis=1))
    assert np.count_nonzero(np.diff(np.all(dotted == 255, axis=1).astype(int)) == 1) >= 8  # many short gaps
    assert entries(page) == ["positive edge", "negative edge", "dotted: q above 0.1"]
    said = page.evaluate(
        "view.edges.map((edge) => NetworkView.parts.describeEdge(edge, view.nodes, { level: '95%', fdr: 0.1 }))"
    )
    assert "estimate +1.25 (95% interval 0.80 to 1.70), q < 0.001" in said[0]
    assert (
        "estimate \N{MINUS SIGN}0.40 (95% interval \N{MINUS SIGN}1.10 to 0.30), q = 0.23, above 0.1: "
        "it may be due to sampling error" in said[1]
    )


def test_tooltips_round_shares_down_as_tables_and_pictures_do(folder, visit):
    data = make_few()
    data["edges"] = [[*own[:5], 0.996] for own in data["edges"]]
    page = visit(write_view(folder / "nearly_all.html", data))
    x, y = locate(page, along(rest(page), 0, 1, [0.5])[0])
    page.mouse.move(x, y)
    page.wait_for_selector(".network-tooltip:visible")
    assert f"found in {as_percent(0.996)} of the resamples" in page.inner_text(".network-tooltip").split("\n")


def test_groups_and_clusters_have_colours_and_shapes(folder, visit):
    names = [f"v{k}" for k in range(16)]
    model = sf.PairwiseMRF.binary(np.zeros(16), np.ones((16, 16)) - np.eye(16), names=names)
    groups = {name: f"group {k % 8}" for k, name in enumerate(names)}
    clusters = Clusters((tuple(names[:8]), tuple(names[8:])), 0.5, "")
    data = describe(model, groups=groups, clusters=clusters)
    page = visit(write_view(folder / "groups.html", data))
    assert entries(page)[:8] == [f"group {k}" for k in range(8)]
    assert {style["shape"] for style in data["groups"].values()} == {"circle", "square"}
    state = rest(page)
    shown = pixels(page, state["positions"])
    for k, node in enumerate(data["nodes"]):
        assert tuple(shown[k]) == tuple(as_rgb(data["groups"][node["group"]]["light"]))
    page.evaluate("view.colorNodes('cluster')")
    rest(page)
    shown = pixels(page, state["positions"])
    assert entries(page)[:2] == ["cluster 1", "cluster 2"]
    assert tuple(shown[0]) == tuple(as_rgb(data["clusters"][0]["light"])) != tuple(shown[8])


@pytest.mark.parametrize("by", ["system", "button"])
def test_the_theme_changes_background_and_ink(few, visit, by):
    page = visit(few)

    def set_theme(theme):
        if by == "system":
            page.emulate_media(color_scheme=theme)
        else:
            page.evaluate("(theme) => { document.documentElement.dataset.theme = theme; }", theme)
        until(page, f"view.state().theme === '{theme}'")
        state = rest(page)
        box = state["boxes"][0]
        grid = [(x, y) for x in np.arange(box["left"], box["right"]) for y in np.arange(box["top"], box["bottom"])]
        background, text = (as_rgb(PALETTE[theme][key]) for key in ("background", "text"))
        assert np.all(pixels(page, [(3, 3)]) == background)
        # Thin strokes of letters are mixed with the halo: most of the way to the colour of the text.
        reached = np.abs(pixels(page, grid) - background).sum(axis=1).max() / np.abs(text - background).sum()
        assert reached > 0.6

    for theme in ("light", "dark", "light"):
        set_theme(theme)


def test_odds_are_said_of_two_levels_alone(visit, folder):
    table = sf.encode({"a": ["x", "y", "z"] * 40, "b": ["n", "n", "y"] * 40, "c": ["n", "y", "y", "y"] * 30})
    weights = np.zeros((4, 4))
    weights[0, 2] = weights[2, 0] = weights[2, 3] = weights[3, 2] = 0.5
    model = sf.PairwiseMRF(table.domain, np.zeros(4), weights)
    page = visit(write_view(folder / "odds.html", describe(model)))
    said = page.evaluate("view.edges.map((edge) => NetworkView.parts.describeEdge(edge, view.nodes).join('; '))")
    (binary,) = (text for text in said if {text[0], text[4]} == {"b", "c"})
    (other,) = (text for text in said if {text[0], text[4]} == {"a", "b"})
    assert f"odds ratio {np.exp(0.5):.3g}, all other variables fixed" in binary  # log-odds of b by c
    assert "odds" not in other


def test_shares_and_strengths_are_said_as_they_are(visit, folder):
    data = describe(sf.PairwiseMRF.binary(np.zeros(4), 1e-6 * (1 - np.eye(4))))
    shares = [1.0, 0.996, 0.29, 0.004, 0.0, 0.5]
    data["edges"] = [[*edge[:5], share] for edge, share in zip(data["edges"], shares, strict=True)]
    page = visit(write_view(folder / "shares.html", data))
    said = page.evaluate("view.edges.map((edge) => NetworkView.parts.describeEdge(edge, view.nodes).at(-1))")
    # Rounded down: 100% is all of them.
    assert said == [f"found in {share} of the resamples" for share in ("100%", "99%", "29%", "<1%", "0%", "50%")]
    assert page.evaluate("NetworkView.parts.describeNode(view.nodes[0]).at(-1)") == "3 edges, strength 0.000003"


@pytest.mark.parametrize(("share", "is_told"), [(1.0, False), (0.5, True)])
def test_faint_lines_are_explained_where_there_are_some(visit, folder, share, is_told):
    data = make_few()
    data["edges"] = [[*edge[:5], share] for edge in data["edges"]]
    page = visit(write_view(folder / f"faint{share}.html", data))
    assert ("fainter: in fewer resamples" in entries(page)) == is_told


def test_a_selection_fades_other_nodes(few, visit):
    page = visit(few)
    state = rest(page)
    paper = as_rgb(PALETTE["light"]["background"])

    def ink():
        """Return how far the middles of bob, a neighbour, and dan, who has none, are from the paper."""
        return np.abs(pixels(page, [state["positions"][k] for k in (1, 3)]) - paper).sum(axis=1)

    before = ink()
    page.evaluate("view.select({ node: 0 })")
    rest(page)
    bob, dan = ink() / before
    assert bob == 1
    assert dan < 0.5
