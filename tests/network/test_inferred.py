"""What an inference says of the edges of a network, whatever the order of its variables."""

import json

import networkx as nx
import numpy as np
import polars as pl
import pytest

import sparsefield as sf
from sparsefield.network import Network
from support.inferences import make_inference

NAMES = ["a", "b", "c", "d"]
COLUMNS = ["estimate", "low", "high", "p", "q", "detectable"]


def make_model(weights, names=NAMES):
    """A field of binary variables that has these edges."""
    interactions = np.zeros((len(names),) * 2)
    for (first, second), weight in weights.items():
        i, j = names.index(first), names.index(second)
        interactions[i, j] = interactions[j, i] = weight
    return sf.PairwiseMRF.binary(np.zeros(len(names)), interactions, names=names)


def known(row, inference):
    """Check that a row has what the inference says of its pair."""
    k = inference.index[frozenset((row["first"], row["second"]))]
    assert row["estimate"] == inference.estimate[k]
    assert (row["low"], row["high"]) == (inference.low[k], inference.high[k])
    assert (row["p"], row["q"]) == (inference.p_value[k], inference.q_value[k])
    assert row["detectable"] == inference.detectable[k]


@pytest.mark.parametrize("names", [NAMES, ["d", "b", "a", "c"]])
def test_edges_have_what_the_inference_says_of_them(names):
    inference = make_inference(NAMES, {(0, 1): 1.5, (2, 3): -0.7, (1, 3): 0.9})
    model = make_model({("a", "b"): 1.0, ("b", "c"): 2.0}, names)
    edges = Network.of(model, inference).edges
    assert edges.columns == ["first", "second", "weight", *COLUMNS]
    for row in edges.iter_rows(named=True):
        known(row, inference)
    pairs = [frozenset(pair) for pair in edges.select("first", "second").iter_rows()]
    # Those of the field first, then those of the inference alone, the strongest first.
    assert pairs == [frozenset("bc"), frozenset("ab"), frozenset("bd"), frozenset("cd")]
    assert edges["weight"].to_list() == [2.0, 1.0, 0.0, 0.0]
    assert sf.edge_table(model, inference).equals(edges)


def test_the_network_itself_is_what_it_was():
    inference = make_inference(NAMES, {(0, 1): 1.5, (2, 3): -0.7})
    model = make_model({("a", "b"): 1.0})
    network, plain = Network.of(model, inference), Network.of(model)
    assert network.n_edges == plain.n_edges == 1
    assert network.inference is inference
    assert plain.inference is None
    assert Network.of(plain, inference).edges.equals(network.edges)
    assert Network.of(network) is network
    np.testing.assert_array_equal(network.strengths, plain.strengths)
    with pytest.raises(ValueError, match="has no inference"):
        _ = plain.places


def test_what_is_not_known_or_not_finite_is_null():
    inference = make_inference(
        NAMES, {(0, 1): 1.5}, low=np.full(6, np.nan), detectable=np.full(6, np.inf), p_value=np.full(6, np.nan)
    )
    edges = Network.of(make_model({("a", "b"): 1.0}), inference).edges
    assert edges.select("low", "detectable", "p").row(0) == (None, None, None)
    assert edges["q"].to_list() == [0.004]


def test_an_inference_about_other_variables_is_refused():
    inference = make_inference(["a", "b", "c", "e"], {})
    with pytest.raises(ValueError, match=r"about other variables than the fit \(it lacks 'd'\): give one of the same"):
        Network.of(make_model({}), inference)
    with pytest.raises(ValueError, match=r"it has 'd'"):
        Network.of(make_model({}, NAMES[:3]), make_inference(NAMES, {}))


def test_an_inference_about_weights_of_another_kind_is_refused():
    rows = np.random.default_rng(1).integers(0, 3, (60, 3))
    ordered, plain = sf.encode(rows, ordinal=True), sf.encode(rows)
    fit = sf.learn(ordered, 0.1, seed=1)
    assert sf.edge_table(fit, sf.infer(ordered)).columns[-6:] == COLUMNS
    with pytest.raises(ValueError, match="The weight of 'x0' and 'x1' has a sign in the fit or in the inference"):
        sf.edge_table(fit, sf.infer(plain))


def test_a_network_of_one_variable_has_no_pairs():
    model = sf.PairwiseMRF.binary(np.zeros(1), np.zeros((1, 1)), names=["a"])
    network = Network.of(model, make_inference(["a"], {}))
    assert network.edges.is_empty()
    assert network.edges.columns == ["first", "second", "weight", *COLUMNS]


def test_graphs_and_files_have_what_the_inference_says(tmp_path):
    inference = make_inference(NAMES, {(0, 1): 1.5, (2, 3): -0.7})
    model = make_model({("a", "b"): 1.0, ("b", "c"): -0.5})
    graph = sf.make_graph(Network.of(model, inference))
    assert graph.graph["fdr"] == 0.1
    assert sorted(map(sorted, graph.edges)) == [["a", "b"], ["b", "c"]]  # those of the field
    assert graph.edges["a", "b"]["q"] == 0.004
    assert graph.edges["b", "c"]["estimate"] == 0.05
    for ending in ("csv", "json", "graphml"):
        sf.export(model, tmp_path / f"n.{ending}", inference=inference)
    table = pl.read_csv(tmp_path / "n.csv")
    assert table.equals(sf.edge_table(model, inference))
    (first, *_) = json.loads((tmp_path / "n.json").read_text())["edges"]
    known(first, inference)
    again = nx.read_graphml(tmp_path / "n.graphml")
    assert again.edges["a", "b"]["high"] == 2.0


def test_the_edges_of_a_real_fit_are_those_of_its_table():
    table = sf.datasets.make_field(6, strength=(0.8, 1.2), seed=7).sample(400, method="perfect", seed=1)
    fit, inference = sf.learn(table, seed=1), sf.infer(table)
    edges = sf.edge_table(fit, inference)
    for row in edges.iter_rows(named=True):
        known(row, inference)
    listed = {frozenset(pair) for pair in edges.select("first", "second").iter_rows()}
    assert listed >= {frozenset(pair) for pair in inference.edges.select("first", "second").iter_rows()}
