"""Where the nodes of a network are."""

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from scipy.spatial import KDTree
from scipy.spatial.distance import pdist, squareform

from sparsefield.datasets import make_field
from sparsefield.network import make_graph
from sparsefield.plotting import place_nodes
from sparsefield.plotting._layout import _CLOSEST
from sparsefield.plotting._packing import pack

ASPECT = 4 / 3


def with_weights(graph, share_negative=0.3):
    rng = np.random.default_rng(1)
    for a, b in graph.edges:
        graph.edges[a, b]["weight"] = float(rng.uniform(0.1, 3) * (-1 if rng.random() < share_negative else 1))
    return nx.relabel_nodes(graph, {node: f"v{node:03}" for node in graph})


def alone(n):
    return nx.empty_graph([f"alone {k}" for k in range(n)])


NETWORKS = {
    "chain": with_weights(nx.path_graph(20)),
    "star": with_weights(nx.star_graph(15)),
    "grid": with_weights(nx.convert_node_labels_to_integers(nx.grid_2d_graph(5, 5))),
    "five triangles": with_weights(nx.disjoint_union_all([nx.complete_graph(3)] * 5)),
    "dense": with_weights(nx.gnm_random_graph(300, 5000, seed=1)),
    "sparse": with_weights(nx.gnm_random_graph(300, 250, seed=1)),
    "negative only": with_weights(nx.gnm_random_graph(12, 20, seed=1), share_negative=1.1),
    "clique": with_weights(nx.complete_graph(30)),
    "one edge": with_weights(nx.path_graph(2)),
    "one edge and many alone": nx.compose(with_weights(nx.path_graph(2)), alone(30)),
    "alone": alone(24),
    "one node": alone(1),
    "nothing": nx.Graph(),
}


def points_of(graph, nodes=None, seed=1):
    places = place_nodes(graph, seed=seed)
    return np.array([places[node] for node in (graph if nodes is None else nodes)]).reshape(-1, 2)


@pytest.mark.parametrize("name", NETWORKS)
def test_nodes_are_in_the_picture_and_apart(name):
    graph = NETWORKS[name]
    places = place_nodes(graph, seed=1)
    points = np.array(list(places.values())).reshape(-1, 2)
    assert len(points) == len(graph)
    assert (np.abs(points) <= [ASPECT + 1e-9, 1 + 1e-9]).all()
    if len(points) < 3:
        return
    nearest = KDTree(points).query(points, k=2)[0][:, 1]
    # The unit is the median of each component, so that of all is at most the largest of these.
    medians = [
        np.median(KDTree(own).query(own, k=2)[0][:, 1])
        for part in nx.connected_components(graph)
        if len(own := [places[node] for node in part]) > 1
    ]
    assert nearest.min() >= 0.999 * _CLOSEST * min(medians, default=nearest.min())


@pytest.mark.parametrize("name", ["five triangles", "sparse"])
def test_components_stand_side_by_side(name):
    graph = NETWORKS[name]
    places = place_nodes(graph, seed=1)
    boxes = [np.array([places[node] for node in part]) for part in nx.connected_components(graph) if len(part) > 1]
    assert len(boxes) >= 5
    corners = [(own.min(axis=0), own.max(axis=0)) for own in boxes]
    for (low, high), (other_low, other_high) in combinations(corners, 2):
        assert (high < other_low).any() or (other_high < low).any()


def test_components_have_room_in_proportion_to_their_nodes():
    """A grid of 5 x 5 and one of 10 x 10 have the same distances between neighbours: areas of 4 x 4 and of 9 x 9."""
    grids = [nx.convert_node_labels_to_integers(nx.grid_2d_graph(k, k)) for k in (5, 10)]
    graph = nx.disjoint_union(*grids)
    parts = [points_of(graph, range(25)), points_of(graph, range(25, 125))]
    small, large = (np.prod(np.ptp(own, axis=0)) for own in parts)
    assert large / small == pytest.approx((9 / 4) ** 2, rel=0.2)


@pytest.mark.parametrize("name", ["one edge and many alone", "sparse"])
def test_nodes_without_edges_are_in_rows_below_the_others(name):
    graph = NETWORKS[name]
    places = place_nodes(graph, seed=1)
    below = np.array([places[node] for node in graph if not graph.degree(node)])
    lowest = min(places[node][1] for node in graph if graph.degree(node))
    assert below[:, 1].max() < lowest
    rows = np.unique(below[:, 1].round(9))
    lengths = [int(np.sum(np.isclose(below[:, 1], row))) for row in rows[::-1]]
    assert len(set(lengths[:-1])) <= 1
    assert len(rows) == 1 or lengths[-1] <= lengths[0]
    columns = np.unique(below[:, 0].round(9))
    assert len(columns) == lengths[0]
    np.testing.assert_allclose(np.diff(columns), np.diff(columns)[0])


def test_shapes_are_seen():
    """Distances in the plane go with those in the network: the chain is straight, the hub of a star in its middle."""
    places = points_of(NETWORKS["chain"], sorted(NETWORKS["chain"]))
    assert (np.diff(places[:, 0]) > 0).all() or (np.diff(places[:, 0]) < 0).all()
    hub, *leaves = points_of(NETWORKS["star"], sorted(NETWORKS["star"]))
    assert (np.min(leaves, axis=0) < hub).all()
    assert (hub < np.max(leaves, axis=0)).all()
    for name in ("chain", "grid"):
        graph = NETWORKS[name]
        nodes = sorted(graph)
        steps = squareform(nx.floyd_warshall_numpy(graph, nodes, weight=None), checks=False)
        assert np.corrcoef(steps, pdist(points_of(graph, nodes)))[0, 1] > 0.9


def test_clusters_stand_apart():
    graph = nx.disjoint_union(nx.complete_graph(20), nx.complete_graph(20))
    graph.add_edges_from([(k, 20 + k, {"weight": -1.0}) for k in range(10)])
    first, second = points_of(graph, range(20)), points_of(graph, range(20, 40))
    between = np.linalg.norm(first.mean(axis=0) - second.mean(axis=0))
    assert between > max(np.linalg.norm(own - own.mean(axis=0), axis=1).max() for own in (first, second))


def test_components_too_large_to_compare_all_pairs_are_placed_by_a_few(monkeypatch):
    monkeypatch.setattr("sparsefield.plotting._layout._MOST_NODES", 10)
    monkeypatch.setattr("sparsefield.plotting._layout._majorise", None)
    graph = NETWORKS["grid"]
    nodes = sorted(graph)
    steps = squareform(nx.floyd_warshall_numpy(graph, nodes, weight=None), checks=False)
    assert np.corrcoef(steps, pdist(points_of(graph, nodes)))[0, 1] > 0.9


def test_a_triangle_with_a_negative_edge_is_not_flat():
    graph = nx.Graph()
    graph.add_weighted_edges_from([("a", "b", 1.0), ("b", "c", 1.0), ("a", "c", -1.0)])
    assert np.ptp(points_of(graph), axis=0).min() > 0.3


def test_negative_edges_are_longer():
    graph = nx.Graph()
    graph.add_weighted_edges_from([("a", "b", 1.0), ("b", "c", 1.0), ("c", "a", -1.0)])
    places = place_nodes(graph, seed=1)
    near, far = (np.linalg.norm(places["b" if sign > 0 else "c"] - places["a"]) for sign in (1, -1))
    assert far > 1.2 * near  # of the 1.5 that were asked for


def test_places_depend_on_the_seed_and_not_on_the_order_of_nodes():
    graph = make_graph(make_field(40, degree=3, seed=1))
    shuffled = nx.Graph()
    shuffled.add_nodes_from(np.random.default_rng(1).permutation(list(graph)).tolist())
    shuffled.add_edges_from(sorted(graph.edges(data=True), key=lambda edge: edge[2]["weight"]))
    nodes = sorted(node for node in graph if graph.degree(node))
    first, again, other = points_of(graph, nodes), points_of(shuffled, nodes), points_of(graph, nodes, seed=2)
    # To rounding, as far as the majorisation carries it: sums are taken in another order.
    np.testing.assert_allclose(first, again, atol=1e-6)
    np.testing.assert_array_equal(first, points_of(graph, nodes))
    assert not np.array_equal(first, other)


def test_rectangles_do_not_overlap_and_fill_the_picture():
    rng = np.random.default_rng(1)
    sizes = [np.array([10.0, 8.0]), *rng.uniform(1, 4, (40, 2))]
    corners, width, height = pack(sizes, ASPECT)
    boxes = [(corner, corner + size) for corner, size in zip(corners, sizes, strict=True)]
    for (low, high), (other_low, other_high) in combinations(boxes, 2):
        assert (high <= other_low + 1e-9).any() or (other_high <= low + 1e-9).any()
    assert max(high[0] for _, high in boxes) <= width + 1e-9
    assert max(high[1] for _, high in boxes) <= height + 1e-9
    assert sum(np.prod(size) for size in sizes) > 0.6 * width * height
    assert 0.7 < width / height / ASPECT < 1.4
    assert pack([], ASPECT) == ([], 0.0, 0.0)


def test_nodes_that_are_joined_with_themselves_alone_are_placed():
    graph = nx.Graph([("a", "b"), ("b", "c"), ("loop", "loop")])
    places = place_nodes(graph, seed=1)
    assert set(places) == set(graph)
    assert places["loop"][1] < min(places[node][1] for node in "abc")


@pytest.mark.parametrize("graph", [nx.DiGraph([(0, 1)]), nx.MultiGraph([(0, 1), (0, 1)])])
def test_graphs_of_other_kinds_are_refused(graph):
    with pytest.raises(ValueError, match=r"directions or several edges for a pair: place networkx.Graph\(graph\)"):
        place_nodes(graph, seed=1)
