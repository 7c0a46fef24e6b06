"""Fits whose edges are those that tests of pairs find at a false discovery rate."""

import time

import numpy as np
import pytest

import sparsefield as sf
from sparsefield.fitting import Learner, Options
from sparsefield.objective import Ridge
from sparsefield.structure import EdgePrior
from sparsefield.tables import read_rows


def make_table(kind, n=500):
    rng = np.random.default_rng(1)
    rows = rng.integers(0, 2 if kind in ("binary", "missing") else 3, (n, 9)).astype(float)
    for j in range(1, 9):
        follows = rng.random(n) < 0.12
        rows[follows, j] = rows[follows, j - 1]
    if kind == "missing":
        rows[rng.random(rows.shape) < 0.1] = np.nan
    return sf.encode(rows, ordinal=True if kind == "ordinal" else None)


def edges_of(fit):
    return {frozenset(pair) for pair in sf.edge_table(fit).select("first", "second").rows()}


@pytest.mark.parametrize("kind", ["binary", "nominal", "ordinal", "missing"])
@pytest.mark.parametrize("fdr", [0.02, 0.3])
def test_edges_are_those_at_the_rate(kind, fdr):
    table = make_table(kind)
    found = sf.infer(table, fdr=fdr)
    fit = sf.learn(table, sf.FalseDiscovery(fdr))
    assert edges_of(fit) == {frozenset(pair) for pair in found.edges.select("first", "second").rows()}
    assert fit.status.code == "converged"
    assert fit.settings["choice"] == str(found)


def test_few_and_many_edges_are_told_apart_by_the_rate():
    few, many = (edges_of(sf.learn(make_table("binary"), sf.FalseDiscovery(fdr))) for fdr in (0.001, 0.5))
    assert len(few) < len(many)


def test_weights_are_the_most_probable_ones_with_the_prior_of_the_edges():
    table = make_table("binary", n=4000)
    mrf = sf.SparseMRF(sf.FalseDiscovery(0.1)).fit(table)
    own = mrf.choice_
    assert mrf.alpha_ is None
    assert own.ridge == pytest.approx(1 / (4000 * own.prior.variance))
    best = Learner(read_rows(table), Options(solver=sf.Newton(tol=1e-9))).learn(
        own.ridge, penalty=Ridge(table.domain, own.ridge, own.support)
    )
    np.testing.assert_allclose(mrf.interactions_, best.model.interactions, atol=1e-3)
    # Their squares, less what their errors add, are what the prior is made of, with one more edge of weight 1.
    weights = mrf.interactions_[np.triu(own.is_edge, 1)]
    assert own.prior.variance == pytest.approx((np.sum(weights**2) + 1) / (len(weights) + 1), rel=0.1)


def test_the_prior_of_edges_that_are_known_is_the_mean_of_their_squares_but_for_errors():
    rng = np.random.default_rng(2)
    n, variance, error = 20_000, 1.5, 0.3
    weights = rng.normal(0, np.sqrt(variance), n) + rng.normal(0, np.sqrt(error), n)
    found = EdgePrior.of_edges(weights**2, np.ones(n), np.full(n, error), 10 * n)
    # Squares below their errors count as none, which adds a little.
    assert variance <= found.variance == pytest.approx(variance, rel=0.05)
    assert found.share == pytest.approx(0.1, rel=0.01)


def test_weights_of_a_survey_make_rows_tell_less_and_counts_do_not():
    table, rng = make_table("binary"), np.random.default_rng(3)
    weights = rng.lognormal(0, 1.2, len(table))
    counts = rng.integers(1, 4, len(table)).astype(float)
    survey = sf.infer(table, sample_weight=weights)
    repeated = sf.infer(table, sample_weight=counts, frequency=True)
    for given, found in ((weights, survey), (counts, repeated)):
        fit = sf.learn(table, sf.FalseDiscovery(0.1), sample_weight=given)
        assert fit.model.n_edges == found.n_edges
    assert survey.n_edges < repeated.n_edges


def test_what_makes_no_sense_with_a_rate_is_refused():
    table = make_table("binary")
    for fdr in (0, 1, -0.1, "many"):
        with pytest.raises(ValueError, match="between zero and one"):
            sf.learn(table, sf.FalseDiscovery(fdr))
    with pytest.raises(TypeError, match=r"learn has no parameter 'fdr': give alpha=FalseDiscovery\(fdr=\.\.\.\)"):
        sf.learn(table, 0.1, fdr=0.1)
    with pytest.raises(ValueError, match="leave penalty and penalize_main out"):
        sf.SparseMRF(sf.FalseDiscovery(0.1), penalty="l1").fit(table)
    with pytest.raises(ValueError, match="leave penalty and penalize_main out"):
        sf.SparseMRF(sf.FalseDiscovery(0.1), penalize_main=True).fit(table)


def test_kinds_of_rates_that_there_are_none_of_are_refused():
    with pytest.raises(ValueError, match="rate is 'fdr': use 'bh', 'by' or 'holm'"):
        sf.learn(make_table("binary"), sf.FalseDiscovery(0.1, rate="fdr"))


@pytest.mark.parametrize("rate", ["by", "holm"])
def test_edges_are_those_at_other_kinds_of_rates(rate):
    table = make_table("binary")
    found = sf.infer(table, fdr=0.2, rate=rate)
    fit = sf.learn(table, sf.FalseDiscovery(0.2, rate=rate))
    assert edges_of(fit) == {frozenset(pair) for pair in found.edges.select("first", "second").rows()}
    assert fit.settings["choice"] == str(found)


def test_where_there_is_no_time_there_is_no_edge():
    began = time.perf_counter()
    fit = sf.learn(make_table("ordinal", n=2000), sf.FalseDiscovery(0.1), max_seconds=1e-4)
    assert fit.model.n_edges == 0
    assert "no time to look for edges" in fit.settings["choice"]
    assert time.perf_counter() - began < 10
