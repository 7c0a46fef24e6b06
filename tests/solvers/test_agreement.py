"""How many draws it takes until other seeds find the same edges: against the exact law, and against other seeds."""

import numpy as np
import pytest
from scipy import stats

import sparsefield as sf
from noise import covariance, enumerate_statistics
from problems import make_problem, theta_of
from sparsefield import PairwiseMRF
from sparsefield.gradients import BestDraws, ExactMoments, PerfectDraws, Point, Simulation
from sparsefield.objective import Problem
from sparsefield.solvers import _newton, find_move, solve_newton
from sparsefield.solvers._agreement import draws_for_agreement
from sparsefield.solvers._fall import Stand
from statistics_ import FALSE_ALARM


def look(problem, theta, schedule, simulation):
    """Return draws at some parameters, and the step that they suggest."""
    point = Point(1, theta, problem.model(theta), 1.0)
    estimate = schedule.estimate(problem, point, simulation)
    here = Stand(theta, problem, estimate, estimate.draws(point, simulation), simulation.n_chains)
    return here, find_move(problem, here.draws, theta, estimate.moments)


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
        theta = theta_of(solve_newton(problem, ExactMoments(), tol=1e-10))
        here, move = look(problem, theta, ExactMoments(), Simulation())
        n = draws_for_agreement(here, move, share)
        sizes = sizes_of_edges(problem, theta)
        # It is found to a hundredth of a power of two, and rounded up. A ridge of 1e-12 is far below that.
        enough, fewer = (stats.norm.cdf(-sizes * np.sqrt(k / 2)).mean() for k in (n, (n - 1) / 2**0.01))
        assert enough <= (1 - share) * (1 + 1e-6)
        assert fewer >= (1 - share) * (1 - 1e-6)


def test_a_fit_without_edges_needs_no_draws():
    problem = make_problem(5, 1.0, penalize_main=False)
    theta = theta_of(solve_newton(problem, ExactMoments(), tol=1e-8))
    assert draws_for_agreement(*look(problem, theta, ExactMoments(), Simulation()), 0.99) == 1


def test_edges_are_lost_as_often_as_the_law_says_and_no_more_often_than_was_asked_for():
    field = make_pairs((0.9, 0.92, 0.94, 0.96))  # covariances of 0.055 to 0.059
    problem = Problem.with_l1(field.moments(), field.domain, 0.05, penalize_main=False)
    optimum = theta_of(solve_newton(problem, ExactMoments(), tol=1e-10))
    is_edge = np.triu(optimum != 0, 1)
    assert is_edge.sum() == 4
    share = 0.8
    n = draws_for_agreement(*look(problem, optimum, ExactMoments(), Simulation()), share)
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
    fits = [sf.learn(table, 0.02, schedule=BestDraws(max_states=0), n_chains=500, seed=seed) for seed in range(40)]
    edges = [np.sign(np.triu(fit.model.interactions, 1)) for fit in fits]
    assert {fit.status.code for fit in fits} == {"converged"}
    n_found = sum(np.count_nonzero(one) for one in edges[::2])
    n_lost = sum(
        np.count_nonzero((one != 0) & (one != other)) for one, other in zip(edges[::2], edges[1::2], strict=True)
    )
    assert n_found >= 20 * 3
    assert n_lost <= stats.binom.isf(FALSE_ALARM, n_found, 0.01)
    # There were as many draws as that takes at the end of each, or nine tenths of them.
    problem = Problem.with_l1(sf.moments_of_table(table), table.domain, 0.02, penalize_main=False)
    for fit in fits[:5]:
        here, move = look(problem, theta_of(fit), ExactMoments(), Simulation())
        n = fit.steps[-1].n_chains
        # Their own covariance, over n draws of m statistics, is right to a factor of 1 +- 2 sqrt(m / n).
        slack = 1 + 2 * np.sqrt(36 / n)
        assert n >= _newton._ENOUGH * draws_for_agreement(here, move, 0.99) / slack


def test_a_gap_that_is_given_asks_for_no_agreement():
    table = make_pairs((0.9, 1.0, 1.1, 1.2)).sample(1000, method="perfect", seed=1)
    options = {"schedule": "perfect", "n_chains": 500, "seed": 1}
    given, automatic = (sf.learn(table, 0.05, gap=gap, **options) for gap in (0.05, "auto"))
    assert given.steps[-1].n_chains < automatic.steps[-1].n_chains
