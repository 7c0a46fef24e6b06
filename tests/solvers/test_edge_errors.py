"""How many draws it takes until other seeds find the same edges: against the exact law, and against other seeds."""

import numpy as np
import pytest
from scipy import stats

import sparsefield as sf
from sparsefield import PairwiseMRF
from sparsefield.fitting import Learner, Options
from sparsefield.gradients import BestDraws, ExactMoments, PerfectDraws, Simulation
from sparsefield.marks import fit_newton
from sparsefield.objective import Group, Observed, Problem, Ridge
from sparsefield.solvers import NEWTON, find_move
from sparsefield.solvers._draw_budget import draws_for_agreement, draws_for_penalty
from sparsefield.solvers._edge_errors import find_edge_errors, find_spread
from sparsefield.structure import find_structure
from sparsefield.tables import read_rows
from support.noise import covariance, enumerate_statistics
from support.problems import look_at, make_problem, theta_of
from support.statistics_ import FALSE_ALARM


def look(problem, theta, schedule, simulation):
    """Return draws at some parameters, and the step that they suggest."""
    here = look_at(problem, theta, schedule, simulation)
    return here, find_move(here)


def sizes_of_edges(problem, theta):
    """Return edges over their standard errors on one draw: parameters that are not zero have the inverse curvature."""
    probabilities, statistics, (a, b) = enumerate_statistics(problem.model(theta))
    own = theta[a, b] != 0
    errors = np.sqrt(np.diagonal(np.linalg.inv(covariance(probabilities, statistics[:, own]))))
    return (np.abs(theta[a, b][own]) / errors)[(a != b)[own]]


def make_pairs(weights):
    """Return a field of pairs that have nothing to do with each other, so that their noise is independent.

    Each variable is on as often as off. The covariance of a pair is then tanh(weight / 4) / 4.
    """
    p = 2 * len(weights)
    interactions = np.zeros((p, p))
    for k, weight in enumerate(weights):
        interactions[2 * k, 2 * k + 1] = interactions[2 * k + 1, 2 * k] = weight
    return PairwiseMRF.binary(-np.repeat(weights, 2) / 2, interactions)


@pytest.mark.parametrize("share", [0.8, 0.99, 0.9999])
@pytest.mark.parametrize("penalize_main", [False, True])
def test_draws_are_as_many_as_the_law_of_two_fits_asks_for(share, penalize_main):
    for seed in range(3):
        problem = make_problem(6, 0.03, seed=seed, penalize_main=penalize_main)
        theta = theta_of(fit_newton(problem, ExactMoments(), tol=1e-10))
        here, move = look(problem, theta, ExactMoments(), Simulation())
        n = draws_for_agreement(find_edge_errors(here, move), share)
        sizes = sizes_of_edges(problem, theta)
        # It is found to a hundredth of a power of two, and rounded up. A ridge of 1e-12 is far below that.
        enough, fewer = (stats.norm.cdf(-sizes * np.sqrt(k / 2)).mean() for k in (n, (n - 1) / 2**0.01))
        assert enough <= (1 - share) * (1 + 1e-6)
        assert fewer >= (1 - share) * (1 - 1e-6)


def test_a_fit_without_edges_needs_no_draws():
    problem = make_problem(5, 1.0, penalize_main=False)
    theta = theta_of(fit_newton(problem, ExactMoments(), tol=1e-8))
    assert draws_for_agreement(find_edge_errors(*look(problem, theta, ExactMoments(), Simulation())), 0.99) == 1


def test_edges_are_lost_as_often_as_the_law_says_and_no_more_often_than_was_asked_for():
    field = make_pairs((0.9, 0.92, 0.94, 0.96))  # covariances of 0.055 to 0.059
    problem = Problem.with_l1(field.moments(), field.domain, 0.05, penalize_main=False)
    optimum = theta_of(fit_newton(problem, ExactMoments(), tol=1e-10))
    is_edge = np.triu(optimum != 0, 1)
    assert is_edge.sum() == 4
    share = 0.8
    n = draws_for_agreement(find_edge_errors(*look(problem, optimum, ExactMoments(), Simulation())), share)
    assert n > 1000  # enough for normal noise
    n_fits, n_lost, n_found, n_both = 300, 0, 0, 0
    last = None
    for seed in range(n_fits):
        # What n draws lead to, to leading order: a Newton step from the optimum.
        _, move = look(problem, optimum, PerfectDraws(), Simulation(n, seed))
        has = ((optimum + move.whole) * optimum)[is_edge] > 0
        n_lost += (~has).sum()
        if last is not None and seed % 2:
            n_found += last.sum()
            n_both += (last & has).sum()
        last = has
    # A fit loses an edge where its noise is larger than the edge. Edges are independent, so that their sum varies less
    # than a binomial count with the mean probability.
    rate = stats.norm.cdf(-sizes_of_edges(problem, optimum) * np.sqrt(n)).mean()
    low, high = stats.binom.isf([1 - FALSE_ALARM / 2, FALSE_ALARM / 2], 4 * n_fits, rate)
    assert low <= n_lost <= high
    # Of the edges of one fit, another one has the share that was asked for, or more.
    assert n_found - n_both <= stats.binom.isf(FALSE_ALARM, n_found, 1 - share)


def test_fits_with_other_seeds_have_the_same_edges():
    table = make_pairs((0.6, 0.8, 1.0, 1.2)).sample(2000, method="perfect", seed=1)
    fits = [
        sf.learn(table, 0.02, solver=sf.Newton(schedule=BestDraws(max_states=0), n_chains=500), seed=seed)
        for seed in range(40)
    ]
    edges = [np.sign(np.triu(fit.model.interactions, 1)) for fit in fits]
    assert {fit.status.code for fit in fits} == {"converged"}
    n_found = sum(np.count_nonzero(one) for one in edges[::2])
    n_lost = sum(
        np.count_nonzero((one != 0) & (one != other)) for one, other in zip(edges[::2], edges[1::2], strict=True)
    )
    assert n_found >= 20 * 3
    assert n_lost <= stats.binom.isf(FALSE_ALARM, n_found, 0.01)
    # There were as many draws as that takes at the end of each, or nine tenths of them.
    problem = Problem.with_l1(sf.data.moments_of_table(table), table.domain, 0.02, penalize_main=False)
    for fit in fits[:5]:
        here, move = look(problem, theta_of(fit), ExactMoments(), Simulation())
        n = fit.steps[-1].n_chains
        # Their own covariance, over n draws of m statistics, is right to a factor of 1 +- 2 sqrt(m / n).
        slack = 1 + 2 * np.sqrt(36 / n)
        assert n >= NEWTON.enough * draws_for_agreement(find_edge_errors(here, move), 0.99) / slack


def test_weights_of_other_seeds_differ_by_no_more_than_is_said():
    table = make_pairs((0.6, 0.8, 1.0, 1.2)).sample(2000, method="perfect", seed=1)
    solver = sf.Newton(schedule=BestDraws(max_states=0), n_chains=500)
    # Pairs alone would start right.
    fits = [sf.learn(table, 0.02, solver=solver, init="zero", seed=seed) for seed in range(40)]
    weights = [fit.model.interactions[np.triu(fit.model.interactions != 0, 1)] for fit in fits]
    differ = np.array([np.abs(one - other) for one, other in zip(weights[::2], weights[1::2], strict=True)])
    spreads = np.array([max(one.spread, other.spread) for one, other in zip(fits[::2], fits[1::2], strict=True)])
    # Each of them once in a hundred times at most, the worst one too.
    assert np.all((differ > spreads[:, None]).sum(axis=0) <= stats.binom.isf(FALSE_ALARM, len(differ), 0.01))
    # By not much less either: the largest of as many differences is a few standard errors, of the 2.6 of a spread.
    assert differ.max() > spreads.min() / 2.6
    assert all(fit.spread <= NEWTON.spread / NEWTON.enough for fit in fits)
    # From the exact moments at the end, on the draws that there were; see above for the slack.
    problem = Problem.with_l1(sf.data.moments_of_table(table), table.domain, 0.02, penalize_main=False)
    for fit in fits[:5]:
        n = fit.steps[-1].n_chains
        exact = find_edge_errors(*look(problem, theta_of(fit), ExactMoments(), Simulation()))
        wanted = stats.norm.isf(0.005) * exact.errors.max() / np.sqrt(n)
        assert fit.spread == pytest.approx(wanted, rel=np.sqrt(36 / n) + 0.01)


def test_simulation_error_is_said_where_nothing_is_certified():
    table = sf.datasets.make_field(9, degree=3, strength=(1.0, 1.5), seed=2).sample(1000, method="perfect", seed=1)
    support = find_structure(read_rows(table)).support
    penalty = Ridge(table.domain, 0.001, support)
    schedule = BestDraws(max_sweeps=1, gibbs_sweeps=5, max_states=0)
    fits = []
    for seed in range(40):
        learner = Learner(read_rows(table), Options(solver=sf.Newton(schedule=schedule), gap=0.01, seed=seed))
        fits.append(learner.learn(penalty.alpha, penalty=penalty))
    assert not any(fit.steps[-1].is_certified for fit in fits)
    weights = [fit.model.interactions[np.triu(support, 1)] for fit in fits]
    differ = np.array([np.abs(one - other) for one, other in zip(weights[::2], weights[1::2], strict=True)])
    spreads = np.array([max(one.spread, other.spread) for one, other in zip(fits[::2], fits[1::2], strict=True)])
    assert np.all((differ > spreads[:, None]).sum(axis=0) <= stats.binom.isf(FALSE_ALARM, len(differ), 0.01))
    assert differ.max() > spreads.min() / 2.6
    assert all("weights of another seed and as many draws differ by" in fit.status.sentence for fit in fits)


def test_weights_of_enumerated_fits_have_no_spread():
    problem = make_problem(5, 0.03, penalize_main=False)
    fit = fit_newton(problem, ExactMoments(), tol=1e-8)
    assert fit.spread == 0
    assert "another seed" not in fit.status.sentence
    assert find_spread(None, None) == 0


def test_a_gap_that_is_given_asks_for_no_agreement():
    table = make_pairs((0.9, 1.0, 1.1, 1.2)).sample(1000, method="perfect", seed=1)
    options = {"solver": sf.Newton(schedule="perfect", n_chains=500), "seed": 1}
    given, automatic = (sf.learn(table, 0.05, gap=gap, **options) for gap in (0.05, "auto"))
    assert given.steps[-1].n_chains < automatic.steps[-1].n_chains


def test_noise_alone_is_expected_to_make_half_an_edge():
    # Of coins, (s - 1/2) (t - 1/2) is 1/4 or -1/4: its mean over n draws is a binomial count.
    p, alpha = 12, 0.02
    coins = PairwiseMRF.binary(np.zeros(p), np.zeros((p, p)))
    n = draws_for_penalty(Problem.with_l1(coins.moments(), coins.domain, alpha, penalize_main=False))
    count = n / 2 + 2 * alpha * n  # beyond it there is an edge
    expected = p * (p - 1) / 2 * 2 * stats.binom.sf(count, n, 0.5)
    # A count more or less is 2 / sqrt(n) of the z = 4 alpha sqrt(n) standard deviations: a factor exp(8 alpha). The
    # fourth cumulant adds z^4 / (12 n), and the number is found to a hundredth of a power of two.
    z = 4 * alpha * np.sqrt(n)
    slack = np.exp(8 * alpha) * (1 + z**4 / (12 * n)) * 2 ** (0.01 * z**2 / 2)
    assert 0.5 / slack <= expected <= 0.5 * slack


def test_noise_of_groups_is_a_chi_square():
    domain = sf.Domain(("a", "b", "c"), (("x", "y", "z"),) * 3, (0, 0, 0))
    even = PairwiseMRF(domain, np.zeros(6), np.zeros((6, 6)))
    problem = Problem(Observed(even.moments()), domain, Group(domain, 0.05, 0.0))
    n = draws_for_penalty(problem)
    # Two times two contrasts of variance 1/4 have products of variance 1/16; the penalty of a pair is 2 alpha.
    enough, fewer = (3 * stats.chi2.sf(16 * (2 * 0.05) ** 2 * k, 4) for k in (n, (n - 1) / 2**0.01))
    assert enough <= 0.5 <= fewer


def test_a_penalty_decides_how_many_draws_there_are_and_rows_do_not():
    table = make_pairs((0.9, 1.0, 1.1, 1.2)).sample(1000, method="perfect", seed=1)
    many = sf.Table(table.domain, np.asfortranarray(np.tile(table.codes, (20, 1))))
    fits = [sf.learn(own, 0.01, gap=0.05, solver=sf.Newton(schedule="perfect"), seed=1) for own in (table, many)]
    problem = Problem.with_l1(sf.data.moments_of_table(table), table.domain, 0.01, penalize_main=False)
    for fit in fits:
        assert min(step.n_chains for step in fit.steps) >= draws_for_penalty(problem) > 2000
    assert [step.n_chains for step in fits[0].steps] == [step.n_chains for step in fits[1].steps]
    # Frequencies are the same, but for how they are rounded.
    np.testing.assert_allclose(fits[0].model.interactions, fits[1].model.interactions, rtol=0, atol=1e-10)


def test_a_step_that_gained_no_more_than_its_noise_is_the_last():
    rng = np.random.default_rng(3)
    drive = rng.standard_normal((1000, 3))
    codes = (rng.random((1000, 30)) < 1 / (1 + np.exp(1.5 - 0.8 * drive[:, rng.integers(0, 3, 30)]))).astype(int)
    steps = sf.learn(codes, 0.35 / np.sqrt(1000), seed=3).steps
    for before, here, after in zip(steps, steps[1:], steps[2:], strict=False):
        is_alike = before.share == 1 and before.n_chains == here.n_chains == after.n_chains
        assert not (is_alike and 0 <= here.decrease <= here.n_nonzero / (2 * here.n_chains))


@pytest.mark.parametrize(("gap", "max_seconds"), [(0.05, None), ("auto", 1000.0)])
def test_a_small_penalty_asks_for_no_more_draws_than_the_gap_or_the_time_may(gap, max_seconds):
    table = make_pairs((0.9, 1.0, 1.1, 1.2)).sample(1000, method="perfect", seed=1)
    problem = Problem.with_l1(sf.data.moments_of_table(table), table.domain, 0.001, penalize_main=False)
    assert draws_for_penalty(problem) > 2 * NEWTON.most_unasked
    solver = sf.Newton(schedule="perfect", max_iter=1)
    fit = sf.learn(table, 0.001, solver=solver, gap=gap, max_seconds=max_seconds, seed=1)
    assert fit.steps[0].n_chains == NEWTON.most_unasked
