import networkx as nx
import numpy as np
import pytest

import sparsefield as sf
from sparsefield.datasets import make_chain, make_field, make_star
from zoo import LEVELS


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


@pytest.mark.parametrize("name", ["", "variable", 'a "quoted", name', "<b>&amp;</b>"])
@pytest.mark.parametrize("kind", ["gexf", "graphml", "edges", "adjacency", "json"])
def test_odd_names_survive_every_format(tmp_path, name, kind):
    names = ("x", name or "y", "z")
    model = sf.PairwiseMRF.binary(np.zeros(3), make_chain(3, seed=1).interactions, names=names)
    path = tmp_path / "out"
    sf.export(model, path, format=kind)
    text = path.read_text(encoding="utf-8")
    if kind == "gexf":
        assert set(nx.read_gexf(path)) == set(names)
    elif kind == "graphml":
        assert set(nx.read_graphml(path)) == set(names)
    elif kind == "json":
        import json

        assert [node["name"] for node in json.loads(text)["nodes"]] == list(names)
    else:
        import polars as pl

        frame = pl.read_csv(path)
        first = frame.columns[0]
        assert names[1] in (frame[first].to_list() + frame["second"].to_list() if kind == "edges" else frame[first])


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
