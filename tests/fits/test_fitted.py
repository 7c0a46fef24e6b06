"""Estimators are taken wherever fits are, in all rooms."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline

import sparsefield as sf
from sparsefield.fits import as_fit, as_model
from sparsefield.network import Network
from sparsefield.plotting import (
    ChoiceDisplay,
    DifferencesDisplay,
    HeatmapDisplay,
    NetworkDisplay,
    PathDisplay,
    RocDisplay,
    SharesDisplay,
    StabilityDisplay,
    TraceDisplay,
    plot_agreement,
    plot_network,
)
from sparsefield.report import write_report
from support.problems import make_table

TABLE = make_table(5, 300)
TRUTH = sf.datasets.make_field(5, strength=(0.7, 1.3), seed=1)
DISPLAYS = {
    NetworkDisplay: lambda display: sorted(display.graph.edges(data="weight")),
    HeatmapDisplay: lambda display: display.strengths.tolist(),
    TraceDisplay: lambda display: display.fit.status,
    RocDisplay: lambda display: display.auc,
}


@pytest.fixture(scope="module")
def mrf():
    return sf.SparseMRF(0.03, random_state=1).fit(TABLE)


@pytest.mark.parametrize(
    "make", [sf.SparseMRF, sf.PseudoLikelihood, lambda alpha: sf.SparseMRF(sf.EBIC(alphas=[alpha]))]
)
def test_a_network_of_an_estimator_is_that_of_its_fit(make):
    mrf = make(0.03).fit(TABLE)
    assert sf.edge_table(mrf).equals(sf.edge_table(mrf.fit_))
    assert Network.of(mrf).n_edges == Network.of(mrf.fit_).n_edges > 0
    assert nx.utils.graphs_equal(sf.make_graph(mrf), sf.make_graph(mrf.fit_))
    assert sf.proteins.rank_contacts(mrf, min_separation=1).equals(
        sf.proteins.rank_contacts(mrf.model_, min_separation=1)
    )
    assert as_model(mrf) is as_model(mrf.fit_) is as_model(mrf.model_) is mrf.model_


def test_centralities_are_those_of_the_graph(mrf):
    expected = sf.centrality_table(sf.make_graph(mrf.fit_))
    for given in (mrf, mrf.fit_, mrf.model_, Network.of(mrf)):
        assert sf.centrality_table(given).equals(expected)


def test_an_exported_estimator_tells_how_its_fit_ended(mrf, tmp_path):
    for name, given in (("one", mrf), ("other", mrf.fit_)):
        sf.export(given, tmp_path / f"{name}.json")
    assert (tmp_path / "one.json").read_text() == (tmp_path / "other.json").read_text()
    assert '"status"' in (tmp_path / "one.json").read_text()


@pytest.mark.parametrize("kind", ["table", "array", "frame"])
def test_an_estimator_is_certified_with_the_table_as_it_was_given(kind):
    frame = TABLE.to_frame().to_pandas()
    data = {"table": TABLE, "array": TABLE.codes, "frame": frame}[kind]
    mrf = sf.SparseMRF(0.03, random_state=1).fit(data)
    assert sf.certify(mrf, data).optimality == sf.certify(mrf.fit_, data).optimality


def test_levels_are_those_of_the_model_and_not_of_the_rows():
    words = pd.DataFrame({"a": ["no", "yes"] * 50, "b": ["low", "mid", "high", "mid"] * 25})
    mrf = sf.SparseMRF(0.03, random_state=1).fit(words)
    assert sf.certify(mrf, words).optimality.kind == "exact"


def test_a_report_of_an_estimator_has_its_choice(tmp_path, mrf):
    chosen = sf.SparseMRF(sf.EBIC(), random_state=1).fit(TABLE)
    write_report(chosen, tmp_path / "one.html", table=TABLE.codes)
    write_report(chosen.fit_, tmp_path / "other.html", table=TABLE, choice=chosen.choice_)
    page = (tmp_path / "one.html").read_text(encoding="utf-8")
    assert page == (tmp_path / "other.html").read_text(encoding="utf-8")
    assert 'id="choice-plot"' in page
    write_report(mrf, tmp_path / "given.html")
    assert 'id="choice-plot"' not in (tmp_path / "given.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", DISPLAYS, ids=lambda kind: kind.__name__)
def test_displays_of_an_estimator_are_drawn_at_once_and_show_its_fit(kind, mrf):
    more = (TRUTH,) if kind is RocDisplay else ()
    display, other = kind.from_estimator(mrf, *more), kind.from_fit(mrf.fit_, *more)
    assert DISPLAYS[kind](display) == DISPLAYS[kind](other)
    assert display.ax_.get_figure() is display.figure_
    assert not hasattr(other, "ax_")
    again = kind.from_estimator(mrf, *more, ax=display.figure_.add_subplot())
    assert again.figure_ is display.figure_
    assert DISPLAYS[kind](kind.from_fit(mrf, *more)) == DISPLAYS[kind](other)


def test_a_choice_is_drawn_where_there_is_one(mrf):
    chosen = sf.SparseMRF(sf.EBIC(alphas=[0.1, 0.03]), random_state=1).fit(TABLE)
    assert ChoiceDisplay.from_estimator(chosen).choice is chosen.choice_
    with pytest.raises(ValueError, match="chose no penalty"):
        ChoiceDisplay.from_estimator(mrf)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (ChoiceDisplay.from_choice, r"no Choice: give what selection\.select\(X\) returns"),
        (SharesDisplay.from_bootstrap, r"no Bootstrap: give what sf\.bootstrap\(estimator, X\) returns"),
        (DifferencesDisplay.from_bootstrap, r"no Bootstrap: give what sf\.bootstrap\(estimator, X\) returns"),
        (StabilityDisplay.from_stability, r"no Stability: give what sf\.stability\(estimator, X\) returns"),
        (PathDisplay.from_path, r"no Path: give what sf\.path\(X\) returns"),
    ],
)
def test_displays_of_many_fits_say_what_makes_them(make, said, mrf):
    with pytest.raises(TypeError, match=f"This SparseMRF is {said}"):
        make(mrf)


def test_a_network_is_plotted_of_whatever_has_one(mrf):
    counts = {len(plot_network(given).texts) for given in (mrf, mrf.fit_, mrf.model_, sf.make_graph(mrf))}
    assert counts == {5}


def test_agreement_is_drawn_of_any_table():
    ours, theirs = plot_agreement(TABLE), plot_agreement(TABLE.to_frame().to_pandas())
    np.testing.assert_array_equal(ours.images[0].get_array(), theirs.images[0].get_array())


@pytest.mark.parametrize(
    "take",
    [
        sf.edge_table,
        sf.centrality_table,
        sf.make_graph,
        sf.proteins.rank_contacts,
        Network.of,
        lambda given: sf.export(given, "never.json"),
        lambda given: sf.certify(given, TABLE),
        lambda given: write_report(given, "never.html"),
        *(kind.from_estimator for kind in (NetworkDisplay, HeatmapDisplay, TraceDisplay, ChoiceDisplay)),
        lambda given: RocDisplay.from_estimator(given, TRUTH),
    ],
)
def test_an_unfitted_estimator_is_told_so(take, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="This SparseMRF is not fitted yet: call fit with a table first"):
        take(sf.SparseMRF())
    assert not list(tmp_path.iterdir())


def test_what_has_no_fit_is_told_what_to_give(mrf):
    with pytest.raises(TypeError, match="This dict has no fit"):
        sf.edge_table({})
    with pytest.raises(TypeError, match="This LogisticRegression has no fit"):
        sf.edge_table(LogisticRegression().fit(TABLE.codes[:, :3], TABLE.codes[:, 4]))
    with pytest.raises(TypeError, match="A PairwiseMRF has no fit"):
        as_fit(mrf.model_)
    with pytest.raises(TypeError, match=r"This Pipeline holds its estimator: give \[-1\] of it"):
        sf.edge_table(Pipeline([("mrf", mrf)]))
