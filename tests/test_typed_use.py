"""A program as users with a type checker write it: `make lint` checks its types, and the tests run it."""

from pathlib import Path
from typing import Any, assert_type

import networkx as nx
import numpy as np
import polars as pl
from numpy.typing import NDArray

import sparsefield as sf
from sparsefield.network import Network
from sparsefield.plotting import HeatmapDisplay, NetworkDisplay, RocDisplay, TraceDisplay
from sparsefield.report import write_report


def test_results_have_the_types_that_they_are_said_to_have(tmp_path: Path) -> None:
    truth = sf.datasets.make_field(4, seed=np.random.default_rng(1))
    assert_type(truth, sf.PairwiseMRF)
    table = truth.sample(200, method="perfect", seed=1)
    assert_type(table, sf.Table)
    assert_type(table.to_frame(), pl.DataFrame)
    assert_type(table.to_numpy(), NDArray[Any])
    assert_type(sf.encode({"a": [1, 0, 1], "b": ["x", "y", "x"]}), sf.Table)
    mrf = sf.SparseMRF(0.05, random_state=np.random.default_rng(1)).fit(table)
    assert_type(mrf, sf.SparseMRF)
    assert_type(mrf.fit_, sf.Fit)
    assert_type(mrf.sample(3, random_state=1), sf.Table)
    assert_type(sf.PseudoLikelihood(0.05).fit(table), sf.PseudoLikelihood)
    assert_type(sf.SparseMRF(sf.EBIC(alphas=[0.1, 0.05])).fit(table), sf.SparseMRF)
    for fitted in (mrf, mrf.fit_):
        assert_type(sf.edge_table(fitted), pl.DataFrame)
        assert_type(sf.centrality_table(fitted), pl.DataFrame)
        assert_type(sf.proteins.rank_contacts(fitted), pl.DataFrame)
        assert_type(sf.certify(fitted, table), sf.Fit)
        assert_type(Network.of(fitted), Network)
        graph: nx.Graph = sf.make_graph(fitted)
        assert len(graph) == 4
        sf.export(fitted, tmp_path / "network.graphml")
        write_report(fitted, tmp_path / "report.html", table=table)
    assert_type(NetworkDisplay.from_estimator(mrf), NetworkDisplay)
    assert_type(HeatmapDisplay.from_estimator(mrf), HeatmapDisplay)
    assert_type(TraceDisplay.from_estimator(mrf), TraceDisplay)
    assert_type(RocDisplay.from_estimator(mrf, truth), RocDisplay)
    assert_type(sf.learn(table, 0.05), sf.Fit)


def test_the_package_says_that_it_has_types() -> None:
    assert (Path(sf.__file__).parent / "py.typed").is_file()
