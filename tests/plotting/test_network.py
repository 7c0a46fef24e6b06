"""The picture of a network: its colours, lines, names, legend, and what it says where there is nothing to see."""

import io
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import sparsefield as sf
from sparsefield.datasets import load_senate, make_field
from sparsefield.fits import Fit, Status
from sparsefield.network import make_graph
from sparsefield.plotting import PALETTE, NetworkDisplay, plot_network
from support.pages import ARTEFACTS, HOSTILE

LIGHT = PALETTE["light"]


def with_weights(graph, name="v{}"):
    rng = np.random.default_rng(1)
    for a, b in graph.edges:
        graph.edges[a, b]["weight"] = float(rng.uniform(0.1, 3) * rng.choice([-1, 1]))
    return nx.relabel_nodes(graph, {node: name.format(node) for node in graph})


def senate():
    """Two parties as dense as those of the votes, and senators without edges."""
    members = load_senate().members
    groups = dict(members.select("name", "party").iter_rows())
    rng = np.random.default_rng(1)
    graph = nx.empty_graph(groups)
    for a, b in combinations(list(groups)[10:], 2):
        if rng.random() < (0.35 if groups[a] == groups[b] else 0.003):
            weight = float(rng.uniform(0.1, 1.5) * (1 if groups[a] == groups[b] else -0.3))
            graph.add_edge(a, b, weight=weight, undecided=bool(rng.random() < 0.05))
    return graph, groups


def unsigned():
    graph = with_weights(nx.cycle_graph(5))
    nx.set_edge_attributes(graph, False, "signed")
    return graph


SENATE, PARTIES = senate()
MANY = with_weights(nx.gnm_random_graph(26, 40, seed=1))
PICTURES = {
    "senate": (SENATE, {"groups": PARTIES}),
    "five components": (with_weights(nx.disjoint_union_all([nx.complete_graph(k) for k in (3, 3, 4, 5, 8)])), {}),
    "empty": (nx.empty_graph([f"variable {k}" for k in range(12)]), {"alpha": 0.25}),
    "isolated": (nx.compose(with_weights(nx.path_graph(4)), nx.empty_graph([f"alone {k}" for k in range(30)])), {}),
    "long names": (
        with_weights(nx.gnm_random_graph(20, 40, seed=2), "a name that is longer than a picture has room {}"),
        {},
    ),
    "unsigned edges": (unsigned(), {}),
    "many groups": (MANY, {"groups": {node: f"group {k:02}" for k, node in enumerate(MANY)}}),
    "dense": (with_weights(nx.gnm_random_graph(60, 900, seed=1)), {}),
    "one edge": (with_weights(nx.path_graph(2)), {}),
}


@pytest.fixture(scope="module")
def drawn():
    """Draw each picture once, keep it for people to look at, and return the displays."""
    folder = ARTEFACTS / "pictures"
    folder.mkdir(parents=True, exist_ok=True)
    displays = {}
    for name, (graph, options) in PICTURES.items():
        displays[name] = NetworkDisplay(graph, **options)
        displays[name].save(folder / f"{name.replace(' ', '-')}.png", dpi=100)
    return displays


def lines_of(ax):
    return next((own for own in ax.collections if isinstance(own, LineCollection)), None)


def boxes_of(display):
    return [text.get_window_extent() for text in display.ax_.texts]


def dots_of(display):
    points = np.array([display.positions[node] for node in display.graph])
    return display.ax_.transData.transform(points)


def legend_of(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


@pytest.mark.parametrize("name", PICTURES)
def test_names_cover_neither_each_other_nor_nodes_nor_the_legend(drawn, name):
    display = drawn[name]
    display.figure_.dpi = 100
    display.figure_.draw_without_rendering()
    boxes = boxes_of(display)
    assert len(boxes) >= 0.8 * len(display.graph) or name in ("dense", "long names")
    assert not any(box.overlaps(other) for box, other in combinations(boxes, 2))
    assert not any(box.count_contains(dots_of(display)) for box in boxes)
    legend, whole = display.ax_.get_legend(), display.figure_.bbox
    assert all(whole.x0 <= box.x0 and box.x1 <= whole.x1 and whole.y0 <= box.y0 and box.y1 <= whole.y1 for box in boxes)
    if legend is not None:
        strip = legend.get_window_extent()
        assert not any(strip.overlaps(box) for box in boxes)
        assert strip.count_contains(dots_of(display)) == 0
        assert whole.x0 <= strip.x0
        assert strip.x1 <= whole.x1
        assert whole.y0 <= strip.y0


def test_names_asked_for_are_written_and_others_are_not():
    ax = plot_network(SENATE, labels=list(SENATE)[20:22])
    assert [text.get_text() for text in ax.texts] == list(SENATE)[20:22]


def test_the_most_important_names_come_first(drawn):
    """Where names were left out, the node with most edges has its own."""
    display = drawn["dense"]
    written = {text.get_text() for text in display.ax_.texts}
    most = max(display.graph, key=lambda node: display.graph.degree(node))
    assert most in written


def test_the_sign_is_the_colour_with_and_without_groups():
    graph = nx.Graph()
    graph.add_weighted_edges_from([("a", "b", 2.0), ("b", "c", -1.0), ("a", "c", 0.5)])
    graph.edges["a", "c"]["signed"] = False
    codes = [LIGHT["unsigned"], LIGHT["negative"], LIGHT["positive"]]  # the strongest is drawn last
    groups = {"a": "one", "b": "one", "c": "two"}
    for options in ({}, {"groups": groups, "colors": {"one": "#ff0000", "two": "#00ff00"}}):
        ax = plot_network(graph, **options)
        lines, dots = ax.collections
        assert [to_hex(color) for color in lines.get_colors()] == codes
        widths = lines.get_linewidths()
        assert list(widths) == sorted(widths)
        assert widths[2] > 2 * widths[0]
    assert [to_hex(color) for color in dots.get_facecolors()] == ["#ff0000", "#ff0000", "#00ff00"]


def test_edges_that_are_undecided_are_dashed(drawn):
    lines = lines_of(drawn["senate"].ax_)
    edges = sorted(SENATE.edges(data=True), key=lambda edge: abs(edge[2]["weight"]))
    dashes = [style[1] is not None for style in lines.get_linestyles()]
    assert dashes == [own["undecided"] for *_, own in edges]
    assert 0 < sum(dashes) < len(dashes)


def test_few_edges_are_bold_and_many_leave_the_paper_to_be_seen(drawn):
    few, many = (lines_of(drawn[name].ax_) for name in ("one edge", "dense"))
    assert few.get_linewidths()[0] > 2 * many.get_linewidths().max()
    assert few.get_colors()[0, 3] > 0.9
    assert many.get_colors()[:, 3].min() < 0.5


def test_legends_have_the_codes_in_use_and_no_others(drawn):
    assert legend_of(drawn["senate"])[:6] == ["D", "I", "R", "positive", "negative", "undecided by simulation error"]
    assert legend_of(drawn["unsigned edges"])[0] == "of unordered levels: no sign"
    for name, codes in (("senate", 7), ("five components", 3), ("unsigned edges", 2), ("many groups", 29)):
        assert len(legend_of(drawn[name])) == codes
        assert legend_of(drawn[name])[-1].startswith("widest line: weight")
    assert legend_of(drawn["one edge"]) in (["positive"], ["negative"])  # of one width
    assert drawn["empty"].ax_.get_legend() is None
    groups = {**PARTIES, "somebody else": "X"}  # who is not in the network
    display = NetworkDisplay(SENATE.subgraph([*SENATE][:3]), groups=groups).plot(
        Figure(layout="constrained").subplots()
    )
    assert legend_of(display) == sorted({PARTIES[node] for node in [*SENATE][:3]})


def test_the_legend_shows_the_widest_line_as_it_is(drawn):
    display = drawn["senate"]
    shown = display.ax_.get_legend().get_lines()[-1].get_linewidth()
    assert shown == pytest.approx(lines_of(display.ax_).get_linewidths().max())


def test_groups_beyond_the_colours_have_shapes(drawn):
    dots = [own for own in drawn["many groups"].ax_.collections if not isinstance(own, LineCollection)]
    assert len(dots) == 4
    assert sum(len(own.get_offsets()) for own in dots) == 26
    assert len({own.get_paths()[0].vertices.tobytes() for own in dots}) == 4


def test_a_network_without_edges_says_why_and_what_to_do(drawn):
    display = drawn["empty"]
    said = " ".join(display.ax_.get_title("left").split())
    assert said == display.absence
    assert said.startswith("No edges: at alpha = 0.25 the interactions of all pairs of variables are zero.")
    assert "chance" in said
    box, whole = display.ax_._left_title.get_window_extent(), display.figure_.bbox
    assert box.x1 <= whole.x1
    assert box.y1 <= whole.y1
    model = sf.PairwiseMRF.binary(np.zeros(3), np.zeros((3, 3)))
    assert NetworkDisplay.from_fit(Fit(model, Status("converged", ""), (), alpha=0.5)).alpha == 0.5
    assert "alpha =" not in NetworkDisplay.from_fit(model).absence
    for graph in (nx.empty_graph(1), nx.Graph()):
        assert "no two variables" in NetworkDisplay(graph).absence


@pytest.mark.parametrize("graph", [nx.empty_graph(3), nx.empty_graph(1), nx.Graph()])
def test_networks_without_edges_or_nodes_can_be_drawn(graph):
    picture = io.BytesIO()
    plot_network(graph).figure.savefig(picture)
    assert picture.getvalue().startswith(b"\x89PNG")
    NetworkDisplay(graph).plot(Figure(layout="constrained").subplots())


def test_long_and_hostile_names_are_one_line_each():
    names = [name for name in HOSTILE if name.isascii()] + ["$x_1$ and $y$", "x" * 200]
    graph = nx.cycle_graph(len(names))
    graph = nx.relabel_nodes(graph, dict(enumerate(names)))
    display = NetworkDisplay(graph).plot(Figure(figsize=(12, 6), layout="constrained").subplots())
    written = [text.get_text() for text in display.ax_.texts]
    assert "x" * 23 + "…" in written
    assert "$x_1$ and $y$" in written
    assert max(map(len, written)) <= 24
    assert not any("\n" in text for text in written)


def test_pictures_are_drawn_beside_others_without_a_layout():
    axes = Figure(figsize=(8, 4)).subplots(1, 2)
    model = make_field(8, seed=1)
    for ax in axes:
        assert NetworkDisplay.from_fit(model).plot(ax).ax_ is ax
        boxes = [text.get_window_extent() for text in ax.texts]
        assert len(boxes) >= 4
        assert not any(box.overlaps(other) for box, other in combinations(boxes, 2))


def test_positions_of_ones_own_are_kept():
    graph = make_graph(make_field(5, seed=1))
    places = {node: (10.0 * k, 3.0) for k, node in enumerate(graph)}
    display = NetworkDisplay(graph, positions=places).plot(Figure(layout="constrained").subplots())
    (dots,) = (own for own in display.ax_.collections if not isinstance(own, LineCollection))
    np.testing.assert_array_equal(dots.get_offsets(), list(places.values()))


def test_pictures_fit_parts_of_a_figure():
    figure = Figure(figsize=(8, 4))
    for part in figure.subfigures(1, 2):
        NetworkDisplay(MANY).plot(part.subplots())
    figure.savefig(io.BytesIO())
    assert all(len(part.axes[0].texts) > 10 for part in figure.subfigs)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"labels": ["zebra"]}, "labels has 'zebra', which is no node of the network"),
        ({"groups": {"v0": "a"}}, "There is no group for node 'v1'"),
        ({"positions": {"v0": (0.0, 0.0)}}, "There is no position for node 'v1'"),
        ({"positions": dict.fromkeys(MANY, (0.0, float("nan")))}, r"Node 'v0' has the position \[0.0, nan\]"),
    ],
)
def test_what_is_not_about_the_nodes_is_refused(options, said):
    with pytest.raises(ValueError, match=said):
        NetworkDisplay(MANY, **options)
    with pytest.raises(ValueError, match=said):
        plot_network(MANY, **options)


def test_nodes_at_one_place_and_groups_that_are_numbers_are_drawn():
    display = NetworkDisplay(
        MANY, positions=dict.fromkeys(MANY, (1.0, 1.0)), groups={node: k % 2 for k, node in enumerate(MANY)}
    ).plot()
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()][:2] == ["0", "1"]


def test_nodes_are_drawn_where_their_names_were_placed():
    display = NetworkDisplay(with_weights(nx.path_graph(9))).plot()
    points = np.array(list(display.positions.values()))
    placed = display.ax_.transData.transform(points)
    display.figure_.canvas.draw()
    np.testing.assert_allclose(display.ax_.transData.transform(points), placed, atol=1)  # pixels
