"""Resamples: those of a plain loop over repeated rows, whatever they lack and wherever they are fitted."""

import itertools
import signal
from dataclasses import replace

import joblib
import numpy as np
import polars as pl
import pytest
from scipy import stats

import sparsefield as sf
from sparsefield import Domain, Table
from sparsefield.data import MISSING
from sparsefield.gradients import BestDraws
from sparsefield.resampling import Ends, Stability, stability
from support.noise import covariance, enumerate_statistics
from support.problems import make_table, theta_of
from support.statistics_ import FALSE_ALARM

TABLE = make_table(5, 200)
TIGHT = {"tol": 1e-8, "max_iter": 500}
STEPS = {"solver": sf.Newton(**TIGHT)}
# Fits have a gradient of at most TIGHT's tol, and no curvature here is below 2e-8 / 1e-5.
CLOSE = 1e-5


def rows_of(table, seed, key, share=None, weights=None):
    """Return the rows of a resample, each as often as it was drawn."""
    codes = table.codes if weights is None else np.repeat(table.codes, weights.astype(int), axis=0)
    rows, times = np.unique(codes, axis=0, return_counts=True)
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))
    if share is None:
        counts = rng.multinomial(len(codes), times / len(codes))
    else:
        counts = rng.multivariate_hypergeometric(times, round(share * len(codes)))
    return Table(table.domain, np.asfortranarray(np.repeat(rows, counts, axis=0)))


def resamples_of(table, n, seed=0, share=None, weights=None):
    return [rows_of(table, seed, (0, k), share, weights) for k in range(n)]


def spread(found):
    """Return the weights of the resamples as matrices."""
    p = found.fit.model.domain.n_variables
    whole = np.zeros((found.n_resamples, p, p))
    whole[:, found.pairs[:, 0], found.pairs[:, 1]] = found.weights
    return whole + whole.transpose(0, 2, 1)


def assert_same(found, other):
    assert np.array_equal(found.pairs, other.pairs)
    assert found.weights.tobytes() == other.weights.tobytes()
    assert found.ends.statuses == other.ends.statuses
    assert theta_of(found.fit).tobytes() == theta_of(other.fit).tobytes()


@pytest.mark.parametrize("share", [None, 0.5])
@pytest.mark.parametrize("objective", ["likelihood", "pseudolikelihood"])
def test_resamples_are_those_of_a_plain_loop(objective, share):
    n, alpha = 12, 0.03
    found = sf.resampling.bootstrap(TABLE, alpha=alpha, n=n, seed=3, share=share, objective=objective, **STEPS)
    resamples = resamples_of(TABLE, n, 3, share)
    assert {len(rows) for rows in resamples} == {200 if share is None else 100}
    if objective == "likelihood":
        fits = [sf.learn(rows, alpha, **STEPS) for rows in (TABLE, *resamples)]
    else:
        fits = [sf.PseudoLikelihood(alpha, **TIGHT).fit(rows) for rows in (TABLE, *resamples)]
    own, *weights = [theta_of(fit) - np.diag(np.diagonal(theta_of(fit))) for fit in fits]
    np.testing.assert_allclose(spread(found), weights, atol=CLOSE)
    np.testing.assert_allclose(found.fit.model.interactions, own, atol=CLOSE)

    weights = np.array(weights)
    index = {name: i for i, name in enumerate(TABLE.domain.names)}
    is_listed = np.zeros(own.shape, dtype=bool)
    for row in found.table.iter_rows(named=True):
        i, j = index[row["first"]], index[row["second"]]
        is_listed[i, j] = True
        values = weights[:, i, j]
        edges = values[values != 0]
        assert row["weight"] == pytest.approx(own[i, j], abs=CLOSE)
        assert row["selected"] == len(edges) / n
        assert (row["low"], row["high"]) == pytest.approx(np.percentile(values, [2.5, 97.5]), abs=CLOSE)
        if own[i, j] and len(edges):
            assert row["same_sign"] == np.mean(np.sign(edges) == np.sign(own[i, j]))
        else:
            assert row["same_sign"] is None
    assert np.array_equal(is_listed, np.triu((own != 0) | (weights != 0).any(axis=0), 1))
    assert np.abs(found.table["weight"]).is_sorted(descending=True)
    assert found.ends.statuses == ("converged",) * n
    assert found.ends.is_moved.all()
    how = "drawn with replacement" if share is None else "a share of 0.5 of which is kept"
    assert str(found) == f"12 resamples of 200 rows, {how}."


def test_the_fit_of_the_whole_table_is_that_of_learn():
    found = sf.resampling.bootstrap(TABLE, alpha=0.03, n=2, seed=5)
    alone = sf.learn(TABLE, 0.03, seed=5)
    np.testing.assert_allclose(theta_of(found.fit), theta_of(alone), rtol=1e-12)  # BLAS has one thread there
    assert found.fit.settings == alone.settings
    assert found.fit.undecided is not None


def test_differences_are_those_of_a_plain_loop():
    found = sf.resampling.bootstrap(TABLE, alpha=0.03, n=15)
    edges = [tuple(row[:2]) for row in found.table.filter(pl.col("weight") != 0).iter_rows()]
    weights, fitted = spread(found), found.fit.model.interactions
    index = {name: i for i, name in enumerate(TABLE.domain.names)}
    table = found.differences()
    assert len(table) == len(edges) * (len(edges) - 1) // 2 > 0
    for row, (one, other) in zip(table.iter_rows(named=True), itertools.combinations(edges, 2), strict=True):
        assert (row["first"], row["second"], row["other_first"], row["other_second"]) == (*one, *other)
        (a, b), (c, d) = ((index[first], index[second]) for first, second in (one, other))
        apart = weights[:, a, b] - weights[:, c, d]
        low, high = np.percentile(apart, [2.5, 97.5])
        assert (row["low"], row["high"]) == pytest.approx((low, high))
        assert row["difference"] == pytest.approx(fitted[a, b] - fitted[c, d])
        assert row["greater"] == np.mean(apart > 0)
        assert row["differs"] == (not low <= 0 <= high)
    assert table["differs"].n_unique() == 2

    turned = found.differences([edges[1][::-1], edges[0]])
    assert turned["difference"].to_list() == pytest.approx([-table["difference"][0]])
    with pytest.raises(ValueError, match="no variable named 'nobody'"):
        found.differences([("nobody", "x1")])
    with pytest.raises(ValueError, match="two different variables"):
        found.differences([("x1", "x1")])


def test_without_an_edge_there_is_nothing_to_tell():
    found = sf.resampling.bootstrap(TABLE, alpha=0.3, n=3)
    assert found.table.height == 0
    assert found.differences().height == 0
    assert found.differences([("x0", "x1"), ("x1", "x2")])["differs"].to_list() == [False]


@pytest.mark.parametrize("objective", ["likelihood", "pseudolikelihood"])
@pytest.mark.parametrize("penalize_main", [False, True])
def test_a_level_that_resamples_lack_does_not_stop_the_run(objective, penalize_main):
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 2, (60, 4)).astype(np.uint8)
    codes[:, 1] = np.where(rng.random(60) < 0.7, codes[:, 0], codes[:, 1])
    codes[7, 2] = 2  # a level of one row
    codes[:, 3] = 0
    codes[11, 3] = 1  # a column that is constant but for one row
    domain = Domain(tuple("abcd"), ((0, 1), (0, 1), (0, 1, 2), (0, 1)), (0, 0, 0, 0))
    table = Table(domain, np.asfortranarray(codes))
    n = 20
    found = sf.resampling.bootstrap(table, alpha=0.02, n=n, objective=objective, penalize_main=penalize_main)
    resamples = [rows.codes for rows in resamples_of(table, n)]
    lacks = np.array([[not (rows[:, 2] == 2).any(), not (rows[:, 3] == 1).any()] for rows in resamples])
    assert np.array_equal(found.ends.n_unseen, lacks.sum(axis=1))
    assert np.array_equal(found.ends.n_constant, lacks[:, 1])
    assert 0 < lacks[:, 1].sum() < lacks.any(axis=1).sum() < n
    assert np.isfinite(found.weights).all()
    assert set(found.ends.statuses) == {"converged"}
    assert str(found) == (
        f"20 resamples of 60 rows, drawn with replacement. A level that the table shows is lacking in "
        f"{lacks.any(axis=1).sum()}; in {lacks[:, 1].sum()}, a column that varies in the table is constant."
    )
    # The weight of a pair with three levels is four times the root mean square of what its interactions, those with
    # reference levels among them, differ from the means over the levels of either variable; it has no sign.
    row = found.table.filter((pl.col("first") == "a") & (pl.col("second") == "c")).row(0, named=True)
    assert row["same_sign"] is None
    block = np.zeros((2, 3))
    block[1, 1:] = found.fit.model.interactions[0, 2:4]
    block -= block.mean(axis=0)
    block -= block.mean(axis=1, keepdims=True)
    assert row["weight"] == pytest.approx(4 * np.sqrt((block**2).mean()))


def test_missing_values_are_left_to_the_model():
    codes = TABLE.codes.copy()
    codes[np.random.default_rng(2).random(codes.shape) < 0.05] = MISSING
    codes[:, 4] = MISSING
    codes[:2, 4] = 0, 1  # a column with two cells, which some resamples lack altogether
    table, n = Table(TABLE.domain, codes), 8
    found = sf.resampling.bootstrap(table, alpha=0.03, n=n, seed=5, solver=sf.Newton(tol=1e-7))
    resamples = resamples_of(table, n, 5)
    is_empty = np.array([(rows.codes[:, 4] == MISSING).all() for rows in resamples])
    assert is_empty.any()
    assert np.array_equal(found.ends.n_constant > 0, [len(np.unique(rows.codes[:, 4])) <= 2 for rows in resamples])
    for rows, weights in zip(resamples, spread(found), strict=True):
        alone = sf.learn(rows, 0.03, solver=sf.Newton(tol=1e-7))
        # Where the gradient is at most 1e-7 and no curvature is below 2e-7 / 1e-3.
        np.testing.assert_allclose(weights, alone.model.interactions, atol=1e-3)
    filled = sf.resampling.bootstrap(table, alpha=0.03, n=2, missing="zero", **STEPS)
    for rows, weights in zip(resamples_of(table.fill_first(), 2), spread(filled), strict=True):
        np.testing.assert_allclose(weights, sf.learn(rows, 0.03, **STEPS).model.interactions, atol=CLOSE)


def test_weights_are_rows():
    weights = np.random.default_rng(1).integers(0, 3, len(TABLE)).astype(float)
    for share in (None, 0.5):
        found = sf.resampling.bootstrap(TABLE, alpha=0.03, n=5, share=share, sample_weight=weights, **STEPS)
        assert found.n_rows == weights.sum()
        for rows, own in zip(resamples_of(TABLE, 5, 0, share, weights), spread(found), strict=True):
            np.testing.assert_allclose(own, sf.learn(rows, 0.03, **STEPS).model.interactions, atol=CLOSE)
    shares = sf.resampling.bootstrap(TABLE, alpha=0.03, n=2, sample_weight=weights / weights.sum())
    assert shares.n_rows == np.count_nonzero(weights)
    with pytest.raises(ValueError, match="not whole numbers"):
        sf.resampling.bootstrap(TABLE, alpha=0.03, n=2, share=0.5, sample_weight=weights / 2)


def test_resamples_have_the_same_bits_in_other_processes():
    options = {"n": 4, "solver": sf.Newton(schedule=BestDraws(max_states=0), n_chains=500), "gap": 0.05}
    alone = sf.resampling.bootstrap(TABLE, alpha=0.03, n_jobs=1, **options)
    with joblib.parallel_config(backend="loky", inner_max_num_threads=2):  # as the workers of other tests
        assert_same(sf.resampling.bootstrap(TABLE, alpha=0.03, n_jobs=2, **options), alone)
    assert_same(sf.resampling.bootstrap(TABLE, alpha=0.03, n_threads=2, **options), alone)


def test_a_run_goes_on_after_an_interrupt(tmp_path):
    def interrupt(n_done, _n_all, _seconds_left):
        if n_done == 3:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        sf.resampling.bootstrap(TABLE, alpha=0.03, n=6, checkpoint=tmp_path, watch=interrupt)
    assert len(list(tmp_path.glob("*.npz"))) == 3
    seen = []
    found = sf.resampling.bootstrap(
        TABLE, alpha=0.03, n=6, checkpoint=tmp_path, watch=lambda *told: seen.append(told[:2])
    )
    assert seen == [(3, 6), (4, 6), (5, 6), (6, 6)]
    assert_same(found, sf.resampling.bootstrap(TABLE, alpha=0.03, n=6))
    steps = {"solver": sf.Newton(tol=1e-5)}
    for change in ({"alpha": 0.02}, {"seed": 1}, {"share": 0.5}, {"n": 7}, {"gap": 0.01}, steps):
        with pytest.raises(ValueError, match="pieces of another run"):
            sf.resampling.bootstrap(TABLE, **{"alpha": 0.03, "n": 6, "checkpoint": tmp_path, **change})
    with pytest.raises(ValueError, match="pieces of another run"):
        sf.resampling.bootstrap(TABLE[:199], alpha=0.03, n=6, checkpoint=tmp_path)


def test_draws_add_little_to_what_the_rows_leave_open():
    table, n = make_table(6, 5000), 40
    exact = sf.resampling.bootstrap(table, alpha=0.005, n=n)
    drawn = sf.resampling.bootstrap(table, alpha=0.005, n=n, solver=sf.Newton(schedule=BestDraws(max_states=0)))
    assert drawn.ends.is_moved.all()
    probabilities, statistics, (a, b) = enumerate_statistics(exact.fit.model)
    is_free = theta_of(exact.fit)[a, b] != 0
    variances = np.zeros((6, 6))
    own = np.linalg.inv(covariance(probabilities, statistics[:, is_free])) / len(table)
    variances[a[is_free], b[is_free]] = np.diagonal(own)  # that the choice of rows makes, given the edges
    edges = np.nonzero(np.triu((spread(exact) != 0).all(axis=0), 1))
    assert len(edges[0]) >= 3
    noise = ((spread(drawn) - spread(exact))[:, *edges] ** 2).sum(axis=0) / variances[edges]
    # A tenth of the variance, from nine tenths of the draws at least; and a step that promises 1.5 times as much as
    # noise costs may be left unmade (`docs/design.md`).
    assert np.all(noise <= (0.1 / 0.9 + 0.15) * stats.chi2.isf(FALSE_ALARM / len(edges[0]), n))


def test_fits_that_end_early_or_where_they_began_are_counted():
    found = sf.resampling.bootstrap(
        TABLE, alpha=0.03, n=3, solver=sf.Newton(schedule=BestDraws(max_states=0), max_iter=1)
    )
    assert set(found.ends.statuses) == {"max_iter"}
    assert "The fits of 3 did not reach what was asked (max_iter: 3); they count all the same." in str(found)
    assert "The fits of 3 stayed where they started, at that of all rows." in str(found)


def test_intervals_cover_the_truth_as_often_as_they_say():
    truth = sf.PairwiseMRF.binary([0.3, -0.2, 0.1], [[0, 0.8, -0.5], [0.8, 0, 0], [-0.5, 0, 0]])
    n, n_tables, pairs = 10, 80, np.triu_indices(3, 1)
    is_inside = np.zeros((n_tables, 3), dtype=bool)
    for k in range(n_tables):
        found = sf.resampling.bootstrap(truth.sample(500, method="perfect", seed=k), alpha=1e-6, n=n, seed=k)
        low, high = np.quantile(spread(found), [0.025, 0.975], axis=0)
        is_inside[k] = ((low <= truth.interactions) & (truth.interactions <= high))[pairs]
    # Were the truth one more resample, all of its ranks among n would be as likely: percentiles of 95% that are
    # interpolated between n values hold it with probability 0.95 (n - 1) / (n + 1).
    expected = 0.95 * (n - 1) / (n + 1)
    for inside in is_inside.sum(axis=0):
        assert stats.binomtest(int(inside), n_tables, expected).pvalue > FALSE_ALARM / 3


def test_the_largest_share_that_can_be_dropped():
    fine, poor = np.full(20, 0.9), np.full(20, 0.5)
    edges = np.array([fine, np.append(fine[:19], 0.6), np.append(fine[:18], poor[:2])])
    ends = Ends(("converged",) * 60, np.ones(60, dtype=bool), np.zeros(60, dtype=int), np.zeros(60, dtype=int))
    found = Stability(sf.learn(TABLE, 0.03), (0.75, 0.5, 0.25), edges, np.array([poor] * 3), ends)
    assert found.coefficient("edges") == 0.5  # 19 of 20 are 95%, and 18 are not
    assert found.coefficient("edges", confidence=0.9) == 0.75
    assert found.coefficient("edges", correlation=0.9) == 0.5
    assert found.coefficient("edges", correlation=0.95) == 0
    assert found.coefficient("strength") == 0
    assert found.coefficient("strength", correlation=0.5) == 0.75
    assert found.table["edges_reached"].to_list() == [1.0, 0.95, 0.9]
    assert found.table["strength"].to_list() == [0.5] * 3
    assert str(found) == (
        "20 subsamples for each of 3 shares of the rows: 95% keep a correlation of 0.7 with the fit of all rows where "
        "up to 0.5 of the rows are dropped, for the weights of edges, and up to 0, for strengths."
    )
    odd = replace(found, ends=replace(ends, n_unseen=np.arange(60) % 2))
    assert str(odd).endswith("A level that the table shows is lacking in 30.")
    with pytest.raises(ValueError, match="statistic is 'closeness'"):
        found.coefficient("closeness")


def test_stability_is_that_of_a_plain_loop():
    shares, n = (0.75, 0.25), 4
    found = stability(TABLE, alpha=0.03, shares=shares, n=n, seed=2, **STEPS)
    whole, pairs = sf.learn(TABLE, 0.03, **STEPS).model.interactions, np.triu_indices(5, 1)
    for j, k in np.ndindex(2, n):
        part = sf.learn(rows_of(TABLE, 2, (j + 1, k), shares[j]), 0.03, **STEPS).model.interactions
        assert found.edges[j, k] == pytest.approx(np.corrcoef(whole[pairs], part[pairs])[0, 1], abs=CLOSE)
        strengths = np.abs(whole).sum(axis=0), np.abs(part).sum(axis=0)
        assert found.strength[j, k] == pytest.approx(np.corrcoef(*strengths)[0, 1], abs=CLOSE)
    empty = stability(TABLE, alpha=0.3, shares=shares, n=2)
    assert not empty.edges.any()
    assert empty.coefficient("strength") == 0


def test_what_makes_no_sense_is_refused():
    for n in (1, 0, 2.5):
        with pytest.raises(ValueError, match=f"n is {n}"):
            sf.resampling.bootstrap(TABLE, alpha=0.03, n=n)
    for share in (0.0, 1.0, -0.5, np.nan):
        with pytest.raises(ValueError, match="share is"):
            sf.resampling.bootstrap(TABLE, alpha=0.03, share=share)
        with pytest.raises(ValueError, match="share is"):
            stability(TABLE, alpha=0.03, shares=(0.5, share))
    with pytest.raises(ValueError, match=r"shares are \(\)"):
        stability(TABLE, alpha=0.03, shares=())
    with pytest.raises(ValueError, match="objective is 'posterior'"):
        sf.resampling.bootstrap(TABLE, alpha=0.03, objective="posterior")
    with pytest.raises(ValueError, match="three at least"):
        stability(make_table(2, 100), alpha=0.03)
    with pytest.raises(TypeError, match="has no parameter 'colour'"):
        sf.resampling.bootstrap(TABLE, alpha=0.03, colour="blue")


def test_by_default_each_resample_finds_its_edges_as_learn_does():
    table = make_table(8, 300)
    found = sf.resampling.bootstrap(table, n=6, seed=3)
    assert found.fit.penalty == "Ridge"
    assert found.fit.settings["choice"] == sf.learn(table, seed=3).settings["choice"]
    edges = []
    for k in range(6):
        model = sf.learn(rows_of(table, 3, (0, k))).model
        weights = model.interactions[found.pairs[:, 0], found.pairs[:, 1]]
        edges.append(weights != 0)
        assert np.array_equal(found.weights[k] != 0, edges[-1])
        # Newton steps end at a smallest subgradient of 1e-4, and the last one is made: its square is left.
        np.testing.assert_allclose(found.weights[k], weights, atol=1e-3)
    assert not np.array_equal(edges[0], edges[1])  # each has edges of its own
    for estimator in (sf.SparseMRF(), sf.SparseMRF().fit(table)):
        np.testing.assert_array_equal(sf.bootstrap(estimator, table, n=6, seed=3).weights, found.weights)


def test_a_penalty_that_is_to_be_chosen_is_that_of_the_whole_table():
    table = make_table(6, 300)
    found = sf.resampling.bootstrap(table, n=3, penalty="l1")
    assert found.fit.alpha == sf.learn(table, penalty="l1").alpha
    assert "has the least EBIC" in found.fit.settings["choice"]
    other = sf.resampling.bootstrap(table, alpha=found.fit.alpha, n=3, penalty="l1")
    np.testing.assert_array_equal(other.weights, found.weights)
