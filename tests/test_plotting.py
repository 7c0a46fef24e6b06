import io

import networkx as nx
import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from sparsefield._graph import make_graph
from sparsefield.datasets import make_field
from sparsefield.plotting import Curve, place_nodes, plot_curves, plot_dots, plot_network


@pytest.fixture
def graph():
    """A dense network of 40 nodes and three without edges."""
    graph = make_graph(make_field(40, degree=12, seed=1))
    graph.add_nodes_from(["alone", "also alone", "alone too"])
    return graph


def test_names_do_not_cover_each_other(graph):
    ax = plot_network(graph, seed=1)
    boxes = [text.get_window_extent() for text in ax.texts]
    assert 20 < len(boxes) <= 43
    for k, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:k])


def test_names_asked_for_come_first(graph):
    ax = plot_network(graph, labels=["x3", "alone"], seed=1)
    assert [text.get_text() for text in ax.texts] == ["x3", "alone"]


def test_nodes_without_edges_are_in_sight_below_the_others(graph):
    places = place_nodes(graph, seed=1)
    assert set(places) == set(graph)
    alone = [places[name] for name in ("alone", "also alone", "alone too")]
    lowest = min(places[node][1] for node in graph if graph.degree(node))
    assert all(place[1] < lowest for place in alone)
    assert len({tuple(place) for place in alone}) == 3


def test_places_depend_on_the_seed_alone(graph):
    first, again, other = (place_nodes(graph, seed=seed) for seed in (1, 1, 2))
    assert all(np.array_equal(first[node], again[node]) for node in graph)
    assert any(not np.array_equal(first[node], other[node]) for node in graph)


def test_colours_say_sign_or_group():
    graph = nx.Graph()
    graph.add_weighted_edges_from([("a", "b", 2.0), ("b", "c", -1.0)])
    lines = next(c for c in plot_network(graph).collections if isinstance(c, LineCollection))
    first, second = lines.get_colors()
    assert first[2] > first[0]  # blue
    assert second[0] > second[2]  # orange
    assert lines.get_linewidths()[0] > lines.get_linewidths()[1]
    groups = {"a": "one", "b": "one", "c": "two"}
    ax = plot_network(graph, groups=groups, colors={"one": "#ff0000", "two": "#00ff00"})
    lines, dots = ax.collections
    np.testing.assert_allclose(lines.get_colors()[:, :3], [to_rgba("#ff0000")[:3], to_rgba("#111111")[:3]])
    np.testing.assert_allclose(
        dots.get_facecolors()[:, :3], [to_rgba(c)[:3] for c in ("#ff0000", "#ff0000", "#00ff00")]
    )


def test_networks_without_edges_or_nodes_can_be_drawn():
    for graph in (nx.empty_graph(3), nx.Graph()):
        picture = io.BytesIO()
        plot_network(graph).figure.savefig(picture)
        assert picture.getvalue().startswith(b"\x89PNG")


def test_curves_have_a_band_where_they_are_means():
    ax = plot_curves(Figure().subplots(), [Curve("mean", [1, 2], [3, 4], [0.5, 1.0]), Curve("exact", [1, 2], [2, 2])])
    assert [line.get_label() for line in ax.lines] == ["mean", "exact"]
    (band,) = ax.collections
    heights = band.get_paths()[0].vertices[:, 1]
    assert (heights.min(), heights.max()) == (2.5, 5.0)


def test_dots_stand_in_the_order_given_first_on_top():
    ax = plot_dots(Figure().subplots(), ["a", "b"], [[1, 2], [3, 4]], labels=["x", "y"], colors=["red", "blue"])
    assert [text.get_text() for text in ax.get_yticklabels()] == ["a", "b"]
    low, high = ax.get_ylim()
    assert low > high
    assert ax.lines[0].get_markerfacecolor() == "none"
    assert list(ax.lines[1].get_xdata()) == [3, 4]
