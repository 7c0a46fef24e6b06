"""Networks written for other programs."""

import json
import xml.etree.ElementTree as ET

import networkx as nx
import numpy as np
import polars as pl
import pytest

import sparsefield as sf
from sparsefield import Fit
from support.program import run


def test_a_field_without_a_fit_can_be_exported_and_says_so_elsewhere(tmp_path):
    path = tmp_path / "plain.field"
    sf.datasets.make_chain(4, seed=1).save(path)
    run("export", path, "-o", tmp_path / "plain.graphml")
    assert nx.read_graphml(tmp_path / "plain.graphml").number_of_edges() == 3
    assert "holds a field without a fit" in run("report", path, code=2)


def test_networks_are_written_for_other_programs(field, tmp_path):
    nodes = tmp_path / "nodes.csv"
    names = Fit.load(field).model.domain.names
    nodes.write_text("name,kind\n" + "".join(f"{name},{name.split()[0]}\n" for name in names))
    model = Fit.load(field).model
    weights = sf.make_graph(model).edges(data="weight")
    for ending, read in (("gexf", nx.read_gexf), ("graphml", nx.read_graphml)):
        path = tmp_path / f"net.{ending}"
        run("export", field, "-o", path, "--nodes", nodes)
        ET.parse(path)
        graph = read(path)
        assert set(graph.nodes) == set(names)
        assert graph.nodes["item 0"]["kind"] == "item"
        assert {frozenset(e[:2]): pytest.approx(e[2]) for e in graph.edges(data="weight")} == {
            frozenset(e[:2]): e[2] for e in weights
        }
    run("export", field, "-o", tmp_path / "edges.csv")
    edges = pl.read_csv(tmp_path / "edges.csv")
    assert edges.columns[:3] == ["first", "second", "weight"]
    assert len(edges.filter(pl.col("weight") != 0)) == len(weights)
    run("export", field, "-o", tmp_path / "matrix.csv", "--format", "adjacency")
    matrix = pl.read_csv(tmp_path / "matrix.csv")
    np.testing.assert_allclose(matrix[:, 1:].to_numpy(), model.interactions)
    run("export", field, "-o", tmp_path / "net.json")
    found = json.loads((tmp_path / "net.json").read_text())
    assert [node["name"] for node in found["nodes"]] == list(names)
    assert found["fit"]["status"] == "converged"
    assert "does not end in .gexf" in run("export", field, "-o", tmp_path / "net.xyz", code=2)
    assert "use gexf, graphml" in run("export", field, "-o", tmp_path / "net.xyz", "--format", "dot", code=2)
