"""The network as one value: the same numbers for tables, graphs, pages and files."""

import json

import networkx as nx
import numpy as np
import polars as pl
import pytest

import sparsefield as sf
from sparsefield.datasets import make_field
from sparsefield.fits import Fit, Status
from sparsefield.network import Network
from support.problems import make_table
from support.zoo import LEVELS


def test_a_network_counts_what_its_table_lists():
    fit = sf.learn(make_table(8, 600, seed=4), 0.025, solver=sf.Newton(schedule="perfect"), gap=0.02, seed=1)
    network = Network.of(fit)
    edges = network.edges
    assert edges.equals(sf.edge_table(fit))
    is_edge, is_open = edges["weight"] != 0, edges["undecided"]
    assert network.n_edges == is_edge.sum()
    assert network.n_undecided == (is_edge & is_open).sum() > 0
    assert network.n_open_pairs == (~is_edge & is_open).sum() > 0
    assert network.n_pairs == 28
    graph = sf.make_graph(network)
    assert graph.number_of_edges() == network.n_edges
    assert Network.of(network) is network
    assert not np.diagonal(network.undecided).any()


def test_a_model_has_no_marks():
    network = Network.of(make_field(5, seed=1))
    assert network.undecided is network.n_undecided is network.n_open_pairs is None
    assert network.edges.columns == ["first", "second", "weight"]
    assert network.index == {f"x{i}": i for i in range(5)}


@pytest.mark.parametrize(
    ("spread", "written"),
    [(None, "+0.346"), (0.0, "+0.346"), (1e-5, "+0.346"), (0.009, "+0.35"), (0.05, "+0.3"), (0.4, "+0.3")],
)
def test_weights_have_no_decimals_that_another_seed_would_change(spread, written):
    model = sf.PairwiseMRF.binary(np.zeros(2), np.array([[0.0, 0.3456], [0.3456, 0.0]]))
    network = Network.of(Fit(model, Status("converged", "It ended."), (), spread=spread))
    assert network.write("x0", "x1", 0.3456) == written


def test_edges_of_levels_have_norms_without_sign():
    model = LEVELS["mixed, no reference"]
    network = Network.of(model)
    variables = model.domain.slot_variables
    for row in network.edges.iter_rows(named=True):
        i, j = network.index[row["first"]], network.index[row["second"]]
        block = model.interactions[np.ix_(variables == i, variables == j)]
        centred = block - block.mean(axis=0) - block.mean(axis=1, keepdims=True) + block.mean()
        assert not network.is_signed[i, j]
        assert row["signed"] is False
        assert row["weight"] == pytest.approx(4 * np.sqrt((centred**2).mean()), rel=1e-12)
        assert network.mains[i] is None


@pytest.mark.parametrize("reference", [(0, 0, 0), (1, 0, 2), (0, 1, 1), None])
def test_signs_do_not_depend_on_references(reference):
    """Two levels, or ordered ones: a weight is positive where higher levels go together."""
    levels, scores = ((0, 1), ("no", "yes"), (1, 2, 3)), (None, None, (0, 1, 3))
    domain = sf.Domain(("a", "b", "c"), levels, reference, scores)
    size = domain.n_slots
    values = [np.array([0.0, 1.0]), np.array([0.0, 1.0]), np.array([0.0, 1.0, 3.0])]
    interactions = np.zeros((size, size))
    for (i, j), weight in {(0, 1): -0.7, (1, 2): 0.4, (0, 2): -0.2}.items():
        own, other = domain.slot_variables == i, domain.slot_variables == j
        first, second = values[i][domain.slot_levels[own]], values[j][domain.slot_levels[other]]
        at = (0, 0) if reference is None else (values[i][reference[i]], values[j][reference[j]])
        interactions[np.ix_(own, other)] = weight * np.outer(first - at[0], second - at[1])
    model = sf.PairwiseMRF(domain, np.zeros(size), interactions + interactions.T)
    network = Network.of(model)
    assert network.is_signed.all()
    # Scores 0, 1, 3 have a standard deviation of sqrt(14) / 3, and those of two levels one of 1/2.
    wide = 4 * np.sqrt(14) / 3 / 2
    expected = {("a", "b"): -0.7, ("b", "c"): 0.4 * wide, ("a", "c"): -0.2 * wide}
    found = {(row["first"], row["second"]): row["weight"] for row in network.edges.iter_rows(named=True)}
    assert found == pytest.approx(expected, rel=1e-12)


def test_exports_of_a_network_are_those_of_its_fit(tmp_path):
    fit = sf.learn(make_table(), 0.05, seed=1)
    names = fit.model.domain.names
    expected = {
        (names[i], names[j]): fit.model.interactions[i, j] for i, j in np.argwhere(np.triu(fit.model.interactions))
    }
    for given in (fit, Network.of(fit)):
        sf.export(given, tmp_path / "net.csv")
        edges = pl.read_csv(tmp_path / "net.csv").filter(pl.col("weight") != 0)
        assert dict(zip(zip(edges["first"], edges["second"], strict=True), edges["weight"], strict=True)) == expected
        sf.export(given, tmp_path / "net.graphml")
        graph = nx.read_graphml(tmp_path / "net.graphml")
        assert {tuple(sorted(edge[:2])): edge[2] for edge in graph.edges(data="weight")} == expected
        sf.export(given, tmp_path / "matrix.csv", format="adjacency")
        matrix = pl.read_csv(tmp_path / "matrix.csv").drop("").to_numpy()
        np.testing.assert_array_equal(matrix, fit.model.interactions)
    sf.export(fit, tmp_path / "net.json")
    found = json.loads((tmp_path / "net.json").read_text())
    assert found["fit"]["status"] == "converged"
    assert len(found["edges"]) == pl.read_csv(tmp_path / "net.csv").filter(pl.col("weight") != 0).height
