import datetime
import json

import networkx as nx
import numpy as np
import polars as pl
import pytest
from sklearn.metrics import roc_auc_score

import sparsefield as sf
from sparsefield.datasets import make_chain, make_field, make_star
from sparsefield.network import edge_auc
from support.zoo import LEVELS


def test_graphs_have_signed_weights_and_attributes():
    model = sf.PairwiseMRF.binary([0.5, 0.0, -1.0], [[0, 2.0, 0], [2.0, 0, -1.0], [0, -1.0, 0]], names=["a", "b", "c"])
    graph = sf.make_graph(model, nodes={"a": {"kind": "x"}})
    assert dict(graph.edges) == {("a", "b"): {"weight": 2.0}, ("b", "c"): {"weight": -1.0}}
    assert dict(graph.nodes) == {"a": {"main": 0.5, "kind": "x"}, "b": {"main": 0.0}, "c": {"main": -1.0}}


def test_edges_of_a_fit_say_whether_they_are_decided():
    table = make_field(8, seed=1).sample(500, method="perfect", seed=1)
    fit = sf.SparseMRF(0.03, random_state=1).fit(table).fit_
    graph = sf.make_graph(fit)
    assert graph.number_of_edges() == np.count_nonzero(np.triu(fit.model.interactions))
    for a, b, mark in graph.edges(data="undecided"):
        i, j = (fit.model.domain.names.index(name) for name in (a, b))
        assert mark == fit.undecided[i, j]


def test_variables_with_many_levels_have_one_node_each():
    model = next(iter(LEVELS.values()))
    graph = sf.make_graph(model)
    assert list(graph) == list(model.domain.names)
    assert all(weight > 0 for _, _, weight in graph.edges(data="weight"))


def test_centralities_are_those_of_networkx_where_all_are_joined():
    graph = sf.make_graph(make_field(9, edge_probability=0.8, seed=2))
    assert nx.is_connected(graph)
    lengths = {edge: 1 / abs(graph.edges[edge]["weight"]) for edge in graph.edges}
    nx.set_edge_attributes(graph, lengths, "length")
    table = sf.centrality_table(graph)
    closeness = nx.closeness_centrality(graph, distance="length")
    betweenness = nx.betweenness_centrality(graph, weight="length")
    assert table["closeness"].to_list() == pytest.approx([closeness[name] for name in table["node"]])
    assert table["betweenness"].to_list() == pytest.approx([betweenness[name] for name in table["node"]])
    matrix = make_field(9, edge_probability=0.8, seed=2).interactions
    np.testing.assert_allclose(table["strength"], np.abs(matrix).sum(axis=1))
    np.testing.assert_allclose(table["influence"], matrix.sum(axis=1))
    assert table["degree"].to_list() == (matrix != 0).sum(axis=1).tolist()


def test_isolated_nodes_are_not_central_and_break_nothing():
    graph = sf.make_graph(make_star(4, seed=1))
    graph.add_node("alone")
    row = sf.centrality_table(graph).row(-1, named=True)
    assert row == {"node": "alone", "degree": 0, "strength": 0, "influence": 0, "closeness": 0, "betweenness": 0}
    for empty in (nx.Graph(), sf.make_graph(make_field(3, 0.0, seed=1))):
        assert len(sf.centrality_table(empty)) == len(empty)


@pytest.mark.filterwarnings("ignore:Column 'same' is constant")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_edges_between_two_levels_keep_their_sign_beside_more():
    rng = np.random.default_rng(1)
    chain = np.diag([-2.0, 1.5, -1.0], 1)
    two = sf.PairwiseMRF.binary(np.zeros(4), chain + chain.T).sample(500, method="perfect", seed=1).to_frame()
    more = two.with_columns(three=rng.integers(0, 3, 500), same=np.zeros(500, dtype=int))
    pairs = [(a, b) for k, a in enumerate(two.columns) for b in two.columns[k + 1 :]]
    mrf = sf.SparseMRF(0.01, random_state=1).fit(more)
    graph, model = mrf.graph(), mrf.model_
    slots = [int(np.flatnonzero(model.domain.slot_variables == k)[0]) for k in range(4)]
    for a, b in pairs:
        expected = model.interactions[slots[two.columns.index(a)], slots[two.columns.index(b)]]
        if graph.has_edge(a, b):
            assert graph.edges[a, b]["weight"] == pytest.approx(expected)
            assert "signed" not in graph.edges[a, b]
        else:
            assert expected == 0
    assert any(weight < 0 for _, _, weight in graph.edges(data="weight"))
    assert all(not own["signed"] for *_, own in graph.edges("three", data=True))


@pytest.mark.parametrize("name", ["", "variable", 'a "quoted", name', "<b>&amp;</b>"])
@pytest.mark.parametrize("kind", ["gexf", "graphml", "edges", "adjacency", "json"])
def test_odd_names_survive_every_format(tmp_path, name, kind):
    names = ("x", name or "\N{SNOWMAN}", "z")
    model = sf.PairwiseMRF.binary(np.zeros(3), make_chain(3, seed=1).interactions, names=names)
    path = tmp_path / "out"
    sf.export(model, path, format=kind)
    text = path.read_text(encoding="utf-8")
    if kind == "gexf":
        assert set(nx.read_gexf(path)) == set(names)
    elif kind == "graphml":
        assert set(nx.read_graphml(path)) == set(names)
    elif kind == "json":
        assert [node["name"] for node in json.loads(text)["nodes"]] == list(names)
    else:
        frame = pl.read_csv(path)
        first = frame.columns[0]
        assert names[1] in (frame[first].to_list() + frame["second"].to_list() if kind == "edges" else frame[first])


def test_attributes_of_any_kind_and_name_are_exported_or_refused(tmp_path):
    model = sf.PairwiseMRF.binary(np.zeros(2), [[0, 1], [1, 0]], names=["a", "b"])
    nodes = {"a": {"name": "other", "main": "x", "since": datetime.date(2006, 1, 30)}}
    for ending in ("gexf", "graphml", "json"):
        sf.export(model, tmp_path / f"net.{ending}", nodes=nodes)
    found = json.loads((tmp_path / "net.json").read_text())
    assert [node["name"] for node in found["nodes"]] == ["a", "b"]
    assert nx.read_graphml(tmp_path / "net.graphml").nodes["a"]["since"] == "2006-01-30"
    assert sf.make_graph(model, {"a": {"node_for_adding": 1}}).nodes["a"]["node_for_adding"] == 1
    with pytest.raises(ValueError, match="control character"):
        sf.export(model, tmp_path / "bad.gexf", nodes={"a": {"kind": "\x01"}})
    assert not (tmp_path / "bad.gexf").exists()


def test_the_ending_tells_the_format(tmp_path):
    model = make_chain(3, seed=1)
    for ending, mark in ((".gexf", "<gexf"), (".graphml", "<graphml"), (".csv", "first,second"), (".json", '"nodes"')):
        sf.export(model, tmp_path / f"net{ending}")
        assert mark in (tmp_path / f"net{ending}").read_text()
    with pytest.raises(ValueError, match=r"does not end in \.gexf"):
        sf.export(model, tmp_path / "net.txt")
    with pytest.raises(ValueError, match="format is 'dot'"):
        sf.export(model, tmp_path / "net.gexf", format="dot")
    with pytest.raises(FileNotFoundError, match="There is no folder"):
        sf.export(model, tmp_path / "none" / "net.gexf")


def test_the_auc_is_that_of_scikit_learn():
    rng = np.random.default_rng(1)
    truth = make_field(12, seed=2)
    pairs = np.triu_indices(12, 1)
    values = rng.integers(-3, 4, size=(5, 12, 12)).astype(float)  # with ties
    values += values.transpose(0, 2, 1)
    found = edge_auc(values, truth)
    for own, value in zip(found, values, strict=True):
        expected = roc_auc_score(truth.interactions[pairs] != 0, np.abs(value[pairs]))
        assert own == pytest.approx(expected, abs=1e-12)
    with pytest.raises(ValueError, match="an edge and a pair without one"):
        edge_auc(values, make_field(12, 0.0, seed=1))
