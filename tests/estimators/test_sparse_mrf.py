"""The estimator: what it promises, finds, refuses and shows."""

import numpy as np
import polars as pl
import pytest
from scipy import stats
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import sparsefield as sf
from sparsefield import PairwiseMRF, PseudoLikelihood, SparseMRF
from sparsefield.datasets import make_field
from sparsefield.gradients import BestDraws, Fixed, ProximalStep
from sparsefield.inference import OutOfReachError
from sparsefield.model import norm
from sparsefield.objective import Problem
from sparsefield.progress import ProgressBar
from support import exact_chains
from support.noise import (
    assert_end_is_measured,
    assert_gaps_are_noise,
    curvature,
    enumerate_statistics,
    largest_floor,
    largest_norm,
    step_to_end,
)
from support.problems import QUICK, make_table, quick, theta_of
from support.statistics_ import FALSE_ALARM
from support.zoo import LEVELS

# Most fits here are short on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:Stopped after max_iter")


def test_a_fit_has_what_it_promises():
    frame = make_table().to_frame()
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
        SparseMRF(0.005, solver=sf.Newton(max_iter=1)).fit(make_table())
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        SparseMRF(0.05, **quick(sf.Proximal)).fit(make_table())
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        PseudoLikelihood(0.001, max_iter=1).fit(make_table())
    with pytest.warns(ConvergenceWarning, match="before the first iteration"):
        short = SparseMRF(0.05, max_seconds=0.0, random_state=1).fit(make_table())
    assert short.status_.code == "max_seconds"
    assert short.n_iter_ == 0
    assert short.certificate_ is None
    with pytest.warns(ConvergenceWarning, match="The gap asked for, 0.05, is not certified: there was no time for it"):
        SparseMRF(0.05, max_seconds=0.0, certify=True, random_state=1).fit(make_table())
    with pytest.raises(ValueError, match="max_seconds is -1: use a number from zero on"):
        SparseMRF(max_seconds=-1).fit(make_table())


def test_any_table_gives_the_same_fit():
    observed = make_table()
    fits = [
        SparseMRF(0.05, **QUICK).fit(data)
        for data in (observed, observed.codes.astype(int), observed.to_frame(), observed.to_frame().to_pandas())
    ]
    for other in fits[1:]:
        np.testing.assert_array_equal(theta_of(fits[0]), theta_of(other))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("options", [{}, {"penalize_main": True}], ids=str)
def test_the_estimator_finds_the_optimum(options):
    observed = make_table(7, 2000)
    paper = sf.Proximal(schedule="exact", step_size=0.5, max_iter=5000, tol=1e-8)
    exactly = SparseMRF(0.03, solver=paper, **options).fit(observed)
    assert exactly.status_.code == "converged"
    newton = SparseMRF(0.03, solver=sf.Newton(tol=1e-10), **options).fit(observed)
    assert "without simulation error" in newton.status_.sentence
    assert not newton.fit_.undecided.any()
    np.testing.assert_allclose(theta_of(newton), theta_of(exactly), atol=1e-6)
    # With draws, both solvers end above it by what noise costs.
    main = options.get("penalize_main", False)
    problem = Problem.with_l1(sf.data.moments_of_table(observed), observed.domain, 0.03, main)
    lowest = problem.objective(theta_of(newton))
    many = {"schedule": "perfect", "n_chains": 50_000}
    drawn = SparseMRF(0.03, init="zero", solver=sf.Newton(**many), random_state=1, **options).fit(observed)
    gap = assert_end_is_measured(problem, drawn.fit_, theta_of(newton))
    assert_gaps_are_noise(gap, [step_to_end(drawn.fit_)], 7 * 8 // 2)
    drawn = SparseMRF(0.03, solver=sf.Proximal(max_iter=500, **many), random_state=1, **options).fit(observed)
    assert drawn.status_.code == "simulation_error"
    assert problem.objective(theta_of(drawn)) - lowest < largest_floor([drawn.fit_], 50_000)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("solver", [sf.Proximal, sf.Newton])
@pytest.mark.parametrize("schedule", ["tay", "conservative", "increasing", 5, Fixed(5)], ids=str)
def test_every_schedule_is_as_near_to_the_optimum_as_its_trace_says(schedule, solver):
    observed = make_table(7, 2000)
    problem = Problem.with_l1(sf.data.moments_of_table(observed), observed.domain, 0.03, penalize_main=False)

    def learn(max_iter):
        steps = solver(schedule=schedule, n_chains=20_000, max_iter=max_iter)
        return SparseMRF(0.03, solver=steps, init="zero", random_state=1).fit(observed)

    fit = learn(30)
    last = fit.fit_.steps[-1]
    # The point where the last gradient was taken: that of the same fit with an iteration less, or the end itself, where
    # draws judge the last Newton step. And the exact law of the chains behind that.
    before = fit.model_
    if solver is sf.Proximal:
        before = learn(last.iteration - 1).model_
    probabilities, statistics, _ = enumerate_statistics(before)
    law = np.full((1, 2**7), 2.0**-7)
    for _ in range(int(last.n_sweeps)):
        law = exact_chains.sweep(law, before.main, before.interactions)
    bias = (law[0] - probabilities) @ statistics
    if last.certificate is not None:
        assert np.linalg.norm(bias) <= last.certificate
    # Violations follow gradients, which are off by the bias and the noise, and no further than these: soft thresholds
    # bring points nearer to each other. TAY chooses among 100 sweeps, and 10 numbers of chains where conservative.
    if solver is sf.Proximal:
        violation = ProximalStep(problem, theta_of(before), last.step_size).take(before.moments())[1]
    else:
        violation = problem.subgradient(theta_of(before), problem.gradient(before.moments()))
    noise = largest_norm(law[0], statistics, last.n_chains, n_checks=1000)
    assert abs(norm(violation) - last.violation) <= np.linalg.norm(bias) + noise
    optimum, lowest = exact_chains.penalised_optimum(problem.data.moments.pair, problem.penalty.weights)
    gap = problem.objective(theta_of(fit)) - lowest
    if solver is sf.Newton:
        assert_end_is_measured(problem, fit.fit_, optimum, law=law[0])
    assert gap < problem.objective(np.zeros((7, 7))) - lowest


@pytest.mark.parametrize("solver", [sf.Newton, sf.Proximal])
@pytest.mark.parametrize("schedule", ["tay", 3, "perfect", "exact"])
def test_same_seed_same_fit_whatever_the_threads(solver, schedule, cut_work):
    cut_work()
    observed = make_table(8)
    options = quick(solver, schedule=schedule)
    one, two = (SparseMRF(n_threads=n, **options).fit(observed) for n in (1, 2))
    np.testing.assert_array_equal(theta_of(one), theta_of(two))
    again = clone(one).fit(observed)
    np.testing.assert_array_equal(theta_of(one), theta_of(again))


def test_the_score_is_the_likelihood_or_says_that_it_is_not():
    observed = make_table(6, 300)
    mrf = SparseMRF(0.05, **QUICK).fit(observed)
    assert mrf.score_kind_ == "log-likelihood"
    assert mrf.score(observed) == pytest.approx(mrf.model_.log_prob(observed.codes).mean())
    with pytest.raises(NotFittedError):
        SparseMRF().score(observed)


def test_the_score_of_a_large_field_is_the_likelihood_by_draws_and_the_same_each_time(limit_sums):
    wide = make_field(40, degree=2, strength=(0.5, 1.0), seed=1).sample(200, n_sweeps=50, seed=1)
    large = SparseMRF(0.05, **QUICK).fit(wide)
    assert large.score_kind_ == "log-likelihood"  # its graph is sparse
    limit_sums()  # as if it were not
    large = clone(large).fit(wide)
    assert large.score_kind_ == "log-likelihood by draws"
    normaliser = large.model_.log_partition("draws")
    expected = -large.model_.energy(wide.codes).mean() - normaliser.value
    assert large.score(wide) == clone(large).fit(wide).score(wide) == pytest.approx(expected, rel=1e-12)
    large.model_ = make_field(40, degree=2, strength=(0.5, 1.0), seed=2)
    assert large.score(wide) == pytest.approx(
        -large.model_.energy(wide.codes).mean() - large.model_.log_partition().value, rel=1e-12
    )


def test_the_score_is_the_pseudo_likelihood_where_no_other_can_be_had(monkeypatch):
    wide = make_field(40, degree=2, strength=(0.5, 1.0), seed=1).sample(200, n_sweeps=50, seed=1)
    large = SparseMRF(0.1, **QUICK).fit(wide)

    def refuse(*_, **__):
        raise OutOfReachError("too strong")

    monkeypatch.setattr("sparsefield.model._pairwise.find_log_partition", refuse)
    assert large.score_kind_ == "pseudo-log-likelihood"
    expected = sum(
        np.log(large.model_.conditional(i, wide.codes)[np.arange(200), wide.codes[:, i]]).mean() for i in range(40)
    )
    assert large.score(wide) == pytest.approx(expected)


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
    everything = SparseMRF(5.0, penalize_main=True, **QUICK).fit(make_table())
    assert not theta_of(everything).any()
    # Free main effects are what they are: those of independent variables.
    means = make_table().codes.mean(axis=0)
    free = SparseMRF(5.0, **QUICK).fit(make_table())
    assert not free.interactions_.any()
    # A gradient of 1e-4 moves them by that over the variance, and by half as much again in terms of higher order.
    allowed = 1.5e-4 / (means * (1 - means))
    assert np.all(np.abs(free.main_effects_ - np.log(means / (1 - means))) <= allowed)


def test_a_model_to_start_from():
    observed = make_table()
    first = SparseMRF(0.05, solver=sf.Newton(schedule="exact", max_iter=2000, tol=1e-7)).fit(observed)
    again = SparseMRF(0.05, solver=sf.Newton(schedule="exact", max_iter=1), init=first.model_).fit(observed)
    np.testing.assert_allclose(theta_of(again), theta_of(first), atol=1e-6)
    with pytest.raises(ValueError, match="init is a model over other variables"):
        SparseMRF(0.05, solver=sf.Newton(schedule="exact"), init=make_field(5, seed=1)).fit(observed)


def test_serious_endings_are_warned_of():
    with pytest.warns(ConvergenceWarning, match="too long"):
        SparseMRF(0.001, solver=sf.Proximal(schedule="exact", step_size=50.0, max_iter=20)).fit(make_table(8))


def test_levels_are_learned_too():
    truth = LEVELS["three levels"]
    observed = sf.Table(truth.domain, truth.sample(20_000, n_sweeps=50, seed=1).codes)
    mrf = SparseMRF(0.0, solver=sf.Newton(schedule="exact", max_iter=3000, tol=1e-7)).fit(observed)
    # Estimates are normal, with the inverse of Fisher's information for their covariance: each by itself, and together.
    _, _, slots = enumerate_statistics(truth)
    information = 20_000 * curvature(truth)
    off = (theta_of(mrf) - theta_of(truth))[slots]
    errors = np.sqrt(np.diagonal(np.linalg.inv(information)))
    assert np.all(np.abs(off) <= stats.norm.isf(FALSE_ALARM / (2 * len(off))) * errors)
    assert off @ information @ off <= stats.chi2.isf(FALSE_ALARM, len(off))
    for solver in (sf.Newton(max_iter=20), sf.Newton(BestDraws(max_states=0), max_iter=20), sf.Proximal(max_iter=20)):
        certified = SparseMRF(0.05, solver=solver, random_state=1).fit(observed)
        assert certified.trace_["is_certified"].all()


def test_bad_requests_are_refused():
    observed = make_table()
    for options, message in (
        ({"solver": sf.Newton(schedule="fast")}, "schedule is 'fast'"),
        ({"solver": "fast"}, "solver is 'fast'"),
        ({"gap": 0.0}, "gap is 0"),
        ({"init": None}, "init is None"),
        ({"solver": sf.Newton(schedule=0)}, "n_sweeps is 0"),
        ({"solver": sf.Proximal(bound="best")}, "bound is 'best'"),
        ({"solver": sf.Proximal(chains="anew")}, "chains is 'anew'"),
        ({"alpha": -1.0}, "alpha is -1"),
        ({"solver": sf.Proximal(step_size=-1.0)}, "step_size is -1"),
        ({"solver": sf.Newton(n_chains=0)}, "n_chains is 0"),
        ({"solver": sf.Proximal(n_chains=0)}, "n_chains is 0"),
        ({"solver": sf.Newton(max_iter=0)}, "max_iter is 0"),
        (
            {
                "solver": sf.Newton(schedule="perfect", max_sweeps=1),
                "init": make_field(6, strength=(3.0, 4.0), seed=1),
            },
            "within 1 sweep",
        ),
        ({"solver": sf.Proximal(schedule="conservative", chains="persistent")}, "chains='restart'"),
    ):
        with pytest.raises(ValueError, match=message):
            SparseMRF(**options).fit(observed)
    with pytest.raises(TypeError, match="Sparse data are not supported"):
        SparseMRF().fit(csr_array(observed.codes))


def test_progress_is_shown_where_it_is_wanted(capsys):
    SparseMRF(progress=True, **QUICK).fit(make_table())
    shown = capsys.readouterr()
    assert "fitting" in shown.out + shown.err
    SparseMRF(**QUICK).fit(make_table())
    quiet = capsys.readouterr()
    assert quiet.out + quiet.err == ""


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, 200),
        ({"solver": "proximal"}, 1200),
        ({"missing": "zero"}, 50),
        ({"missing": "drop", "solver": "proximal"}, 300),
        ({"solver": sf.Newton(max_iter=7)}, 7),
    ],
    ids=str,
)
def test_progress_counts_to_the_limit_of_the_fit(options, expected, monkeypatch):
    limits = []

    class Bar(ProgressBar):
        def __init__(self, wanted, n):
            limits.append(n)
            super().__init__(wanted, n)

    monkeypatch.setattr("sparsefield.progress._bars.ProgressBar", Bar)
    codes = make_table().codes.copy()
    codes[0, 0] = 255
    SparseMRF(max_seconds=0.0, **options).fit(sf.Table(make_table().domain, codes))
    assert limits == [expected]


def test_strings_and_booleans_are_levels():
    rng = np.random.default_rng(1)
    wet = rng.random(500) < 0.4
    frame = pl.DataFrame({"rain": wet, "umbrella": np.where(wet ^ (rng.random(500) < 0.1), "yes", "no")})
    mrf = SparseMRF(0.02, random_state=1).fit(frame)
    assert mrf.interactions_[0, 1] > 1
    assert isinstance(mrf.model_, PairwiseMRF)


def test_pseudo_likelihood_is_a_start():
    observed = make_table(7, 1500)
    steps = sf.Proximal(schedule="exact", step_size=0.5, max_iter=3)
    cold, warm = (SparseMRF(0.03, init=init, solver=steps).fit(observed) for init in ("zero", "pseudolikelihood"))
    assert warm.trace_["objective"][0] < cold.trace_["objective"][0]
    with pytest.raises(ValueError, match="init is 'guess'"):
        SparseMRF(init="guess").fit(observed)
    incomplete = np.where(np.random.default_rng(1).random(observed.codes.shape) < 0.1, np.nan, observed.codes)
    assert SparseMRF(init="pseudolikelihood", **quick(sf.Proximal)).fit(incomplete).n_iter_ == 5
    with pytest.raises(ValueError, match="missing is 'guess': use 'model', 'zero', 'drop' or 'error'"):
        PseudoLikelihood(missing="guess").fit(incomplete)
