"""The estimators: scikit-learn's contract, holes, weights, and what a user sees."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

import naive
import sparsefield as sf
from sparsefield import PairwiseMRF, PseudoLikelihood, SparseMRF
from sparsefield._kernels._target import HAS_AVX2
from sparsefield._moments import moments_of_table
from sparsefield._problem import Problem
from sparsefield._pseudolikelihood import PseudoLikelihoodLoss, solve_pseudo_likelihood
from sparsefield._schedule import fixed
from sparsefield.datasets import make_field
from sparsefield.inference import ClampedChains, Scan
from statistics_ import assert_counts_agree
from zoo import LEVELS, ZOO, parts, random_field


def expected_failures(estimator):
    """Name the checks that feed what is not a table of levels."""
    found = {"check_sample_weight_equivalence_on_dense_data": "its columns are continuous"}
    if isinstance(estimator, SparseMRF):  # takes NaN, so that it is given floats
        found["check_positive_only_tag_during_fit"] = "it centres whole numbers, which makes them continuous"
    return found


# Most fits here are short on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:Stopped after max_iter")

QUICK = {"max_iter": 5, "n_chains": 200, "random_state": 0}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:.*constant")
@parametrize_with_checks([SparseMRF(**QUICK), PseudoLikelihood(max_iter=20)], expected_failed_checks=expected_failures)
def test_scikit_learns_contract(estimator, check):
    check(estimator)


def table(p=6, n=1000, seed=1, strength=(0.7, 1.3)):
    return make_field(p, strength=strength, seed=seed).sample(n, method="perfect", seed=seed)


def theta_of(mrf):
    return mrf.interactions_ + np.diag(mrf.main_effects_)


def test_a_fit_has_what_it_promises():
    frame = table().to_frame()
    mrf = SparseMRF(0.05, random_state=1).fit(frame)
    assert mrf.n_features_in_ == 6
    assert list(mrf.feature_names_in_) == frame.columns
    assert mrf.n_iter_ == len(mrf.trace_)
    assert mrf.status_.code == "converged"
    assert mrf.certificate_ == 0
    assert mrf.model_.domain.names == tuple(frame.columns)
    assert mrf.sample(50, seed=1).codes.shape == (50, 6)
    graph = mrf.graph()
    assert set(graph.nodes) == set(frame.columns)
    for first, second, weight in sf.edge_table(mrf.model_).iter_rows():
        i, j = mrf.model_.domain.index_of(first), mrf.model_.domain.index_of(second)
        assert weight == mrf.interactions_[i, j] == graph[first][second]["weight"]
    assert graph.number_of_edges() == np.count_nonzero(np.triu(mrf.interactions_))


@pytest.mark.filterwarnings("default:Stopped after max_iter")
def test_a_fit_that_ends_early_says_so():
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        SparseMRF(0.05, max_iter=1).fit(table())
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        SparseMRF(0.05, solver="spg", **QUICK).fit(table())
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        PseudoLikelihood(0.01, max_iter=2).fit(table())
    short = SparseMRF(0.05, max_seconds=1e-3, random_state=1).fit(table())
    assert short.status_.code == "time"
    assert short.n_iter_ == 1
    with pytest.raises(ValueError, match="max_seconds is -1: use a number from zero on"):
        SparseMRF(max_seconds=-1).fit(table())


def test_any_table_gives_the_same_fit():
    observed = table()
    fits = [
        SparseMRF(0.05, **QUICK).fit(data)
        for data in (observed, observed.codes.astype(int), observed.to_frame(), observed.to_frame().to_pandas())
    ]
    for other in fits[1:]:
        np.testing.assert_array_equal(theta_of(fits[0]), theta_of(other))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_estimator_finds_the_optimum():
    observed = table(7, 2000)
    exactly = SparseMRF(0.03, solver="spg", schedule="exact", step_size=0.5, max_iter=5000, tol=1e-8).fit(observed)
    assert exactly.status_.code == "converged"
    newton = SparseMRF(0.03, schedule="exact", tol=1e-10).fit(observed)
    np.testing.assert_allclose(theta_of(newton), theta_of(exactly), atol=1e-6)
    many = {"schedule": "perfect", "n_chains": 50_000, "random_state": 1}
    drawn = SparseMRF(0.03, solver="spg", max_iter=500, **many).fit(observed)
    np.testing.assert_allclose(theta_of(SparseMRF(0.03, **many).fit(observed)), theta_of(exactly), atol=0.2)
    # 50,000 draws leave a noise of a few thousandths in a gradient, and curvatures are above 0.02 here.
    np.testing.assert_allclose(theta_of(drawn), theta_of(exactly), atol=0.2)
    for schedule in ("tay", "conservative", "increasing", 5, fixed(5)):
        for solver in ("spg", "newton"):
            options = {"solver": solver, "schedule": schedule, "n_chains": 2000, "max_iter": 30, "random_state": 1}
            fit = SparseMRF(0.03, **options).fit(observed)
            assert np.corrcoef(theta_of(fit).ravel(), theta_of(exactly).ravel())[0, 1] > 0.9


def test_weights_are_repeated_rows():
    observed = table(5, 60)
    weights = np.random.default_rng(1).integers(0, 4, 60)
    options = {"alpha": 0.05, "schedule": "exact", "step_size": 0.5, "max_iter": 50}
    weighted = SparseMRF(**options).fit(observed, sample_weight=weights)
    repeated = sf.Table(observed.domain, np.repeat(observed.codes, weights, axis=0))
    np.testing.assert_allclose(theta_of(weighted), theta_of(SparseMRF(**options).fit(repeated)), atol=1e-12)
    for bad in (np.ones(59), -np.ones(60), np.full(60, np.nan)):
        with pytest.raises(ValueError, match="Weights must be 60 numbers"):
            SparseMRF(**options).fit(observed, sample_weight=bad)
    with pytest.raises(ValueError, match="add up to zero"):
        SparseMRF(**options).fit(observed, sample_weight=np.zeros(60))


@pytest.mark.parametrize("solver", ["newton", "spg"])
@pytest.mark.parametrize("schedule", ["tay", 3, "perfect"])
def test_same_seed_same_fit_whatever_the_threads(solver, schedule, monkeypatch):
    monkeypatch.setattr("sparsefield._threads.SMALLEST_SHARE", 1e-15)
    observed = table(8)
    options = {"solver": solver, "schedule": schedule, **QUICK}
    one, two = (SparseMRF(n_threads=n, **options).fit(observed) for n in (1, 2))
    np.testing.assert_array_equal(theta_of(one), theta_of(two))
    again = clone(one).fit(observed)
    np.testing.assert_array_equal(theta_of(one), theta_of(again))


@pytest.mark.parametrize(
    "model", [make_field(4, strength=(0.5, 1.0), seed=1), random_field([3, 2, 3], seed=2, scale=0.7)]
)
def test_holes_are_drawn_given_the_observed_cells(model):
    # One row with two holes, many times: the law of the holes is the conditional one.
    n_levels = model.domain.n_levels
    row = np.array([1] * len(n_levels), dtype=np.uint8)
    row[[0, 2]] = 255
    chains = ClampedChains(model.domain, np.tile(row, (60_000, 1)), seed=1)
    chains.sweep(Scan(model), 30)
    assert chains.n_sweeps == 30
    codes = chains.codes()
    observed = np.flatnonzero(row != 255)
    assert np.all(codes[:, observed] == 1)
    states, probabilities, _ = naive.distribution(*parts(model))
    given = np.array(
        [q if all(s[i] == 1 for i in observed) else 0.0 for s, q in zip(states, probabilities, strict=True)]
    )
    law = given.reshape(n_levels).sum(axis=tuple(observed))
    counts = np.bincount(codes[:, 0] * n_levels[2] + codes[:, 2], minlength=law.size)
    assert_counts_agree(counts, (law / law.sum()).ravel())


@pytest.mark.skipif(not HAS_AVX2, reason="there is only one storage without AVX2")
@pytest.mark.parametrize("form", ["product", "sum", "dense"])
def test_packed_chains_keep_what_byte_chains_keep(form, monkeypatch):
    model = make_field(21, edge_probability=0.5, strength=(0.1, 0.6), seed=1)
    rng = np.random.default_rng(1)
    codes = np.where(rng.random((700, 21)) < 0.4, 255, rng.integers(0, 2, (700, 21))).astype(np.uint8)
    packed = ClampedChains(model.domain, codes, seed=1)
    copy = packed.copy()
    monkeypatch.setattr("sparsefield.inference._scan.HAS_AVX2", False)
    plain = ClampedChains(model.domain, codes, seed=1)
    plain.sweep(Scan(model, form=form, storage="bytes"), 3)
    monkeypatch.undo()
    for chains in (packed, copy):
        chains.sweep(Scan(model, form=form), 3)
        np.testing.assert_array_equal(chains.codes(), plain.codes())
    seen = codes != 255
    np.testing.assert_array_equal(plain.codes()[seen], codes[seen])
    assert (plain.codes()[~seen] == 0).any()
    assert (plain.codes()[~seen] == 1).any()


def test_modelled_holes_cost_less_than_filled_or_dropped_ones():
    observed = table(8, 2000, seed=2)
    whole = observed.codes.astype(float)
    holed = whole.copy()
    holed[np.random.default_rng(0).random(holed.shape) < 0.3] = np.nan
    options = {"alpha": 0.02, "schedule": "perfect", "n_chains": 20_000, "random_state": 1, "max_iter": 150}
    full = theta_of(SparseMRF(**options).fit(whole))
    far = {
        m: np.linalg.norm(theta_of(SparseMRF(missing=m, **options).fit(holed)) - full)
        for m in ("model", "zero", "drop")
    }
    assert far["model"] < min(far["zero"], far["drop"]) / 1.5


def test_nothing_hidden_is_the_same_fit_bit_for_bit():
    observed = table()
    fits = [theta_of(SparseMRF(missing=m, **QUICK).fit(observed)) for m in ("model", "zero", "drop", "error")]
    for other in fits[1:]:
        np.testing.assert_array_equal(fits[0], other)


def test_gradients_with_filled_holes_are_not_certified():
    holed = table().codes.astype(float)
    holed[0, 0] = np.nan
    for schedule in ("tay", "perfect", "exact"):
        mrf = SparseMRF(schedule=schedule, **QUICK).fit(holed)
        assert mrf.certificate_ is None
        assert not mrf.trace_["is_certified"].any()
        assert "without certificate" in mrf.trace_["reason"][0]


def test_weights_of_zero_are_rows_that_are_not_there():
    observed = table(5, 300)
    holed = sf.Table(observed.domain, observed.codes.copy())
    holed.codes[:100, 0] = 255
    for counted in (slice(0, 100), slice(100, 300), slice(50, 150)):
        weights = np.zeros(300)
        weights[counted] = 0.3
        weighted = SparseMRF(solver="spg", **QUICK).fit(holed, sample_weight=weights)
        alone = SparseMRF(solver="spg", **QUICK).fit(sf.Table(holed.domain, holed.codes[counted]))
        np.testing.assert_allclose(theta_of(weighted), theta_of(alone), atol=1e-9)


def test_holes_with_weights_and_in_every_row():
    rng = np.random.default_rng(1)
    codes = table(5, 400).codes.astype(float)
    codes[np.arange(400), rng.integers(0, 5, 400)] = np.nan
    mrf = SparseMRF(0.05, **QUICK).fit(codes, sample_weight=rng.random(400))
    assert np.isfinite(theta_of(mrf)).all()
    with pytest.raises(ValueError, match="Every row has a hole"):
        SparseMRF(missing="drop", **QUICK).fit(codes)
    with pytest.raises(ValueError, match=r"contains NaN.*missing='model'"):
        SparseMRF(missing="error", **QUICK).fit(codes)
    frame = pd.DataFrame({"a": ["x", None, "y"], "b": ["u", "v", "v"]})
    with pytest.raises(ValueError, match=r"1 hole\(s\).*column 'a'"):
        SparseMRF(missing="error", **QUICK).fit(frame)
    with pytest.raises(ValueError, match="missing is 'guess'"):
        SparseMRF(missing="guess", **QUICK).fit(frame)


def test_the_score_is_the_likelihood_or_says_that_it_is_not():
    observed = table(6, 300)
    mrf = SparseMRF(0.05, **QUICK).fit(observed)
    assert mrf.score_kind_ == "log-likelihood"
    assert mrf.score(observed) == pytest.approx(mrf.model_.log_prob(observed.codes).mean())
    wide = make_field(40, degree=2, strength=(0.5, 1.0), seed=1).sample(200, n_sweeps=50, seed=1)
    large = SparseMRF(0.1, **QUICK).fit(wide)
    assert large.score_kind_ == "pseudo-log-likelihood"
    expected = sum(
        np.log(large.model_.conditional(i, wide.codes)[np.arange(200), wide.codes[:, i]]).mean() for i in range(40)
    )
    assert large.score(wide) == pytest.approx(expected)
    with pytest.raises(ValueError, match="has holes"):
        mrf.score(np.where(observed.codes[:5] == 1, np.nan, 0.0))
    with pytest.raises(NotFittedError):
        SparseMRF().score(observed)


@pytest.mark.filterwarnings("ignore:.*constant")
def test_odd_tables():
    for rows in (
        np.array([[0, 1, 1]]),  # one row
        np.array([[0], [1], [1]]),  # one column
        np.array([[0, 1], [0, 0], [0, 1]]),  # a constant column
        np.random.default_rng(1).integers(0, 2, (5, 30)),  # more columns than rows
        np.random.default_rng(1).integers(0, 3, (50, 4)),  # three levels
    ):
        mrf = SparseMRF(0.1, **QUICK).fit(rows)
        assert np.isfinite(theta_of(mrf)).all()
        assert mrf.status_.sentence
    everything = SparseMRF(5.0, **QUICK).fit(table())
    assert not theta_of(everything).any()


def test_a_model_to_start_from():
    observed = table()
    options = {"alpha": 0.05, "schedule": "exact", "step_size": 0.5}
    first = SparseMRF(max_iter=2000, tol=1e-7, **options).fit(observed)
    again = SparseMRF(max_iter=1, init=first.model_, **options).fit(observed)
    np.testing.assert_allclose(theta_of(again), theta_of(first), atol=1e-6)
    with pytest.raises(ValueError, match="init is a model over other variables"):
        SparseMRF(init=make_field(5, seed=1), **options).fit(observed)


def test_serious_endings_are_warned_of():
    with pytest.warns(ConvergenceWarning, match="too long"):
        SparseMRF(0.001, solver="spg", schedule="exact", step_size=50.0, max_iter=20).fit(table(8))


def test_levels_are_learned_too():
    truth = LEVELS["three levels"]
    observed = sf.Table(truth.domain, truth.sample(20_000, n_sweeps=50, seed=1).codes)
    mrf = SparseMRF(0.0, schedule="exact", step_size=0.5, max_iter=3000, tol=1e-7).fit(observed)
    # 20,000 rows: parameters of size 1 are found to a tenth.
    np.testing.assert_allclose(mrf.interactions_, truth.interactions, atol=0.35)
    for solver in ("newton", "spg"):
        certified = SparseMRF(0.05, solver=solver, random_state=1, max_iter=20).fit(observed)
        assert certified.trace_["is_certified"].all()


def test_bad_requests_are_refused():
    observed = table()
    for options, message in (
        ({"schedule": "fast"}, "schedule is 'fast'"),
        ({"solver": "fast"}, "solver is 'fast'"),
        ({"gap": 0.0}, "gap is 0"),
        ({"init": None}, "init is None"),
        ({"schedule": 0}, "n_sweeps is 0"),
        ({"certificate": "best"}, "certificate is 'best'"),
        ({"chains": "anew"}, "chains is 'anew'"),
        ({"alpha": -1.0}, "alpha is -1"),
        ({"step_size": -1.0}, "step_size is -1"),
        ({"n_chains": 0}, "n_chains is 0"),
        ({"max_iter": 0}, "max_iter is 0"),
        (
            {"schedule": "perfect", "max_sweeps": 1, "init": make_field(6, strength=(3.0, 4.0), seed=1)},
            "within 1 sweeps",
        ),
        ({"schedule": "conservative", "chains": "persistent"}, "chains='restart'"),
    ):
        with pytest.raises(ValueError, match=message):
            SparseMRF(**options).fit(observed)
    with pytest.raises(TypeError, match="Sparse data are not supported"):
        SparseMRF().fit(csr_array(observed.codes))


def test_progress_is_shown_where_it_is_wanted(capsys):
    SparseMRF(progress=True, **QUICK).fit(table())
    shown = capsys.readouterr()
    assert "fitting" in shown.out + shown.err
    SparseMRF(**QUICK).fit(table())
    quiet = capsys.readouterr()
    assert quiet.out + quiet.err == ""


def test_strings_and_booleans_are_levels():
    rng = np.random.default_rng(1)
    wet = rng.random(500) < 0.4
    frame = pl.DataFrame({"rain": wet, "umbrella": np.where(wet ^ (rng.random(500) < 0.1), "yes", "no")})
    mrf = SparseMRF(0.02, random_state=1).fit(frame)
    assert mrf.interactions_[0, 1] > 1
    assert isinstance(mrf.model_, PairwiseMRF)


def test_pseudo_likelihood_of_two_variables_is_the_likelihood():
    # Two variables, no penalty: the log-odds ratio, by either.
    observed = sf.encode(np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], [40, 10, 20, 50], axis=0))
    mrf = PseudoLikelihood(0.0, tol=1e-10).fit(observed)
    ratio = np.log(40 * 50 / (10 * 20))
    np.testing.assert_allclose(mrf.interactions_[0, 1], ratio, atol=1e-4)  # single precision, curvature 0.1
    np.testing.assert_allclose(mrf.main_effects_, np.log([20 / 40, 10 / 40]), atol=1e-4)


def test_pseudo_likelihood_agrees_with_nodewise_logistic_regression():
    # Many rows and no penalty: every regression finds the same interaction from either side, and so does the joint fit.
    truth = make_field(5, edge_probability=0.6, strength=(0.4, 0.8), seed=1)
    observed = truth.sample(200_000, method="perfect", seed=1)
    mrf = PseudoLikelihood(0.0, tol=1e-5).fit(observed)
    x = observed.codes.astype(float)
    sides = np.zeros((5, 5))
    for i in range(5):
        others = [j for j in range(5) if j != i]
        sides[i, others] = LogisticRegression(C=np.inf, tol=1e-8).fit(x[:, others], x[:, i]).coef_[0]
    # Regressions differ from side to side by the sampling error of a coefficient, about 2 / sqrt(n p (1 - p)); the
    # joint fit lies between the two sides or near them.
    np.testing.assert_allclose(mrf.interactions_, (sides + sides.T) / 2, atol=6 * 2 / np.sqrt(200_000 * 0.1))
    np.testing.assert_allclose(mrf.interactions_, truth.interactions, atol=6 * 2 / np.sqrt(200_000 * 0.1))


@pytest.mark.parametrize("name", ZOO)
def test_pseudo_likelihood_of_the_zoo_is_optimal(name):
    model = ZOO[name]
    if model.domain.n_slots == 0:
        return
    observed = sf.Table(model.domain, model.sample(300, n_sweeps=20, seed=1).codes)
    weights = np.random.default_rng(1).random(300)
    fit = solve_pseudo_likelihood(observed, 0.05, weights=weights, tol=1e-9)
    assert fit.status.code == "converged"
    loss = PseudoLikelihoodLoss(observed, weights)
    theta = fit.model.interactions + np.diag(fit.model.main)
    # The loss is the mean of the log-probabilities of each value given the others, by the model's own conditionals.
    seen = [
        np.log(fit.model.conditional(i, observed.codes)[np.arange(300), observed.codes[:, i]])
        for i in range(model.domain.n_variables)
    ]
    value, gradient = loss.evaluate(theta)
    assert value == pytest.approx(-(np.sum(seen, axis=0) @ weights) / weights.sum() / 2, rel=1e-12)
    # Its gradient is balanced by the penalty: half of it for main effects.
    penalty = np.full(theta.shape, 0.05)
    np.fill_diagonal(penalty, 0.025)
    rest = np.where(theta != 0, np.abs(gradient + penalty * np.sign(theta)), np.maximum(np.abs(gradient) - penalty, 0))
    inside = (model.domain.slot_variables[:, None] == model.domain.slot_variables) & ~np.eye(len(theta), dtype=bool)
    assert rest[~inside].max() < 2e-5
    assert not gradient[inside].any()
    # And it is the gradient: against differences.
    direction = np.where(inside, 0.0, np.random.default_rng(2).normal(size=theta.shape))
    direction += direction.T
    ahead, behind = (loss.evaluate(theta + side * 1e-4 * direction)[0] for side in (1, -1))
    assert (ahead - behind) / 2e-4 == pytest.approx(np.triu(gradient * direction).sum(), abs=1e-6)


def test_large_tables_are_not_held_as_floats(monkeypatch):
    observed = table(6, 500)
    weights = np.ones(500)
    held = PseudoLikelihoodLoss(observed, weights)
    monkeypatch.setattr("sparsefield._pseudolikelihood._MOST_HELD", 0)
    monkeypatch.setattr("sparsefield._pseudolikelihood._ROWS_AT_ONCE", 64)
    streamed = PseudoLikelihoodLoss(observed, weights)
    assert streamed._held is None
    theta = make_field(6, seed=3).interactions
    for own, other in zip(streamed.evaluate(theta), held.evaluate(theta), strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-12)
    monkeypatch.setattr("sparsefield._pseudolikelihood._MOST_DOUBLE", 0)
    single = PseudoLikelihoodLoss(observed, weights)
    assert single.dtype == np.float32
    for own, other in zip(single.evaluate(theta), held.evaluate(theta), strict=True):
        np.testing.assert_allclose(own, other, atol=500 * 2**-24)  # sums of 500 terms up to 1


@pytest.mark.parametrize("name", ["dense", "three levels", "mixed, no reference"])
def test_blocks_of_curvature_are_the_hessian(name):
    model = ZOO[name]
    observed = sf.Table(model.domain, model.sample(300, n_sweeps=20, seed=1).codes)
    loss = PseudoLikelihoodLoss(observed, np.ones(300))
    inside = (model.domain.slot_variables[:, None] == model.domain.slot_variables) & ~np.eye(
        model.domain.n_slots, dtype=bool
    )
    theta = model.interactions + np.diag(model.main)
    blocks, starts = loss.curvatures(theta, ~inside)
    rng = np.random.default_rng(1)
    for _ in range(20):
        step = np.where(inside, 0.0, rng.normal(0, 1, theta.shape))
        step = np.triu(step) + np.triu(step, 1).T
        # Double precision: differences at 1e-4 are right to about 1e-7.
        change = loss.evaluate(theta + 1e-4 * step)[1] - loss.evaluate(theta - 1e-4 * step)[1]
        along = np.triu(change * step).sum() / 2e-4
        quadratic = 0.0
        for i in range(model.domain.n_variables):
            slots = model.domain.slot_variables == i
            own = step[slots][~inside[slots]]
            quadratic += own @ blocks[starts[i] : starts[i + 1]].reshape(len(own), -1) @ own / 2
        assert along == pytest.approx(quadratic, rel=1e-5)


@pytest.mark.parametrize("limit", [2**26, 60])
def test_any_working_set_leads_to_the_same_pseudo_likelihood(monkeypatch, limit):
    # A limit of 60 entries holds 8 variables with a few parameters each, out of 36.
    observed = table(8, 400)
    monkeypatch.setattr("sparsefield._pseudolikelihood._MOST_CURVATURES", limit)
    found = solve_pseudo_likelihood(observed, 0.01, tol=1e-8, max_iter=500)
    assert found.status.code == "converged"
    loss = PseudoLikelihoodLoss(observed, np.ones(400))
    problem = Problem(moments_of_table(observed), observed.domain, 0.01)
    np.fill_diagonal(problem.penalty, 0.005)

    # Plain proximal gradient, whose step is short enough for the trace of the Hessian.
    theta = np.zeros((8, 8))
    step_size = 1 / (0.25 * 9)
    for _ in range(20_000):
        theta = problem.update(theta, loss.evaluate(theta)[1], step_size)
    np.testing.assert_allclose(found.model.interactions + np.diag(found.model.main), theta, atol=1e-5)


def test_pseudo_likelihood_can_be_interrupted():
    def stop(info):
        if info.iteration == 2:
            raise KeyboardInterrupt

    fit = solve_pseudo_likelihood(table(8, 400), 0.01, watch=stop)
    assert fit.status.code == "interrupted"
    assert len(fit.steps) == 2
    assert fit.model.interactions.any()


def test_pseudo_likelihood_is_a_start():
    observed = table(7, 1500)
    quick = {"alpha": 0.03, "solver": "spg", "schedule": "exact", "step_size": 0.5, "max_iter": 3}
    cold, warm = (SparseMRF(init=init, **quick).fit(observed) for init in ("zero", "pseudolikelihood"))
    assert warm.trace_["objective"][0] < cold.trace_["objective"][0]
    with pytest.raises(ValueError, match="init is 'guess'"):
        SparseMRF(init="guess").fit(observed)
    holed = np.where(np.random.default_rng(1).random(observed.codes.shape) < 0.1, np.nan, observed.codes)
    assert SparseMRF(init="pseudolikelihood", solver="spg", **QUICK).fit(holed).n_iter_ == 5
    with pytest.raises(ValueError, match="missing is 'model': use 'zero', 'drop' or 'error'"):
        PseudoLikelihood(missing="model").fit(holed)
