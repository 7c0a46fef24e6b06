"""Clusters are found where they were planted, and not where chance alone made them."""

import networkx as nx
import numpy as np
import polars as pl
import pytest
from scipy.stats import binom

import sparsefield as sf
from sparsefield import PairwiseMRF
from sparsefield.network import find_clusters
from sparsefield.network._clusters import _rewire


def named(graph, weights=None):
    """Give the nodes of a graph names, and its edges weights of one unless some are given."""
    graph = nx.relabel_nodes(graph, lambda node: f"v{node:03d}")
    values = np.ones(graph.number_of_edges()) if weights is None else weights
    nx.set_edge_attributes(graph, {e: {"weight": float(w)} for e, w in zip(graph.edges, values, strict=True)})
    return graph


def make_planted(seed=1):
    """Four clusters of twelve, six of ten pairs within joined and three of a hundred between."""
    return named(nx.planted_partition_graph(4, 12, 0.6, 0.03, seed=seed))


def test_planted_clusters_are_found():
    found = find_clusters(make_planted())
    assert found.members == tuple(tuple(f"v{k:03d}" for k in range(start, start + 12)) for start in range(0, 48, 12))
    assert found.cluster_of["v013"] == 1
    assert "4 clusters (modularity 0.6" in found.sentence
    assert "39 random networks with the same degrees are all less modular" in found.sentence


def test_modularity_is_that_of_the_members():
    found = find_clusters(make_planted())
    assert found.modularity == pytest.approx(nx.community.modularity(make_planted(), map(set, found.members)))


def test_chance_seldom_makes_clusters():
    """Random networks are as modular as rewired ones but for 1 in 40; false alarm 1e-6."""
    rng = np.random.default_rng(1)
    graphs = [named(nx.gnm_random_graph(40, 60, seed=seed), rng.exponential(size=60)) for seed in range(60)]
    found = [find_clusters(graph, seed=k) for k, graph in enumerate(graphs)]
    assert np.mean([own.modularity for own in found]) > 0.5  # which many would call clusters
    assert sum(bool(own.members) for own in found) <= binom.isf(1e-6, len(graphs), 1 / 40)
    assert sum("are as modular" in own.sentence for own in found) >= len(graphs) / 2


def test_the_order_of_variables_does_not_matter():
    graph = make_planted()
    other = nx.Graph()
    order = np.random.default_rng(1).permutation(list(graph)).tolist()
    other.add_nodes_from(order)
    other.add_edges_from((b, a, own) for a, b, own in reversed(list(graph.edges(data=True))))
    first, second = find_clusters(graph, seed=3), find_clusters(other, seed=3)
    assert (first.members, first.modularity) == (second.members, second.modularity)


def test_variables_that_nothing_joins_are_in_none():
    graph = make_planted()
    graph.add_node("alone")
    graph.add_edge("only negative", "v000", weight=-2.0)
    graph.add_edge("a pair", "of two", weight=1.0)
    found = find_clusters(graph)
    assert len(found.cluster_of) == 48
    assert set(found.cluster_of) == {f"v{k:03d}" for k in range(48)}


def test_negative_edges_do_not_make_clusters():
    graph = make_planted()
    nx.set_edge_attributes(graph, -1.0, "weight")
    assert find_clusters(graph).sentence == "There are no clusters, because no edge is positive."


@pytest.mark.parametrize("graph", [nx.complete_graph(12), nx.star_graph(8), nx.empty_graph(5), nx.Graph()])
def test_one_part_or_none_is_no_cluster(graph):
    found = find_clusters(named(graph))
    assert (found.members, found.cluster_of) == ((), {})
    assert found.sentence.startswith("There are no clusters")


def test_fields_and_their_networks_have_clusters():
    interactions = nx.to_numpy_array(make_planted(), weight="weight")
    model = PairwiseMRF.binary(np.zeros(48), interactions)
    found = find_clusters(model)
    assert [len(own) for own in found.members] == [12, 12, 12, 12]
    assert found.members == find_clusters(sf.make_graph(model)).members
    assert set(found.members[0]) <= set(pl.Series(model.domain.names))


def test_clusters_of_too_many_edges_are_not_looked_for():
    found = find_clusters(named(nx.complete_graph(80)))
    assert found.members == ()
    assert (
        found.sentence == "Clusters were not looked for, because there are more than 3000 edges that are not negative."
    )


@pytest.mark.parametrize("power", [-1000, 1000])
def test_the_unit_of_weights_does_not_matter(power):
    graph, other = make_planted(), make_planted()
    for *_, own in other.edges(data=True):
        own["weight"] *= 2.0**power  # squares of these are no numbers
    found = find_clusters(other)
    assert (found.members, found.modularity) == (find_clusters(graph).members, find_clusters(graph).modularity)


def test_rewiring_keeps_degrees_and_no_edge_twice():
    graph = make_planted()
    pairs = _rewire(list(graph.edges), np.random.default_rng(1))
    other = nx.Graph(pairs)
    assert dict(other.degree) == dict(graph.degree)
    assert other.number_of_edges() == graph.number_of_edges() == len(pairs)
    shared = {frozenset(pair) for pair in pairs} & {frozenset(pair) for pair in graph.edges}
    assert len(shared) < len(pairs) / 2
