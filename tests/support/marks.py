"""Fits whose marks are counted: which parameters noise leaves open, and how often marks are wrong."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy import stats

import sparsefield as sf
from sparsefield.gradients import ExactMoments, PerfectDraws, Simulation
from sparsefield.marks import fit_newton
from sparsefield.objective import Problem
from sparsefield.solvers import UNDECIDED
from support.problems import look_at, theta_of
from support.statistics_ import FALSE_ALARM


def make_copies(seed):
    """Return a few rows, of which some columns are copies of others with a few errors."""
    rng = np.random.default_rng(seed)
    p, n = int(rng.integers(3, 6)), int(rng.choice([20, 50, 100, 300]))
    rows = (rng.random((n, p)) < rng.uniform(0.1, 0.9, p)).astype(np.uint8)
    for j in range(1, p):
        if rng.random() < 0.6:
            rows[:, j] = rows[:, rng.integers(0, j)] ^ (rng.random(n) < rng.choice([0.02, 0.05, 0.15]))
    rows[0], rows[1] = 0, 1
    return rows


class Counts(NamedTuple):
    """Of how many fits each parameter is zero, or not, where the optimum is not; also without a mark; and marked."""

    n_other: np.ndarray
    n_wrong: np.ndarray
    n_marked: np.ndarray


def count_errors(problem, n_fits, simulation, **options):
    """Hold the zeros of fits with draws against those of the optimum."""
    optimum = fit_newton(problem, ExactMoments(), tol=1e-10, max_iter=500)
    assert optimum.status.code == "converged"
    own = np.triu_indices(len(theta_of(optimum)))
    total = np.zeros((3, len(own[0])), dtype=int)
    for seed in range(n_fits):
        fit = fit_newton(problem, PerfectDraws(), replace(simulation, seed=seed), **options)
        is_other = (theta_of(fit) != 0) != (theta_of(optimum) != 0)
        total += np.array([is_other[own], (is_other & ~fit.undecided)[own], fit.undecided[own]])
    return Counts(*total)


def draw(problem, theta, n, seed):
    """Return exact draws at some parameters, and their codes."""
    here = look_at(problem, theta, PerfectDraws(), Simulation(n, seed))
    return here, here.estimate.chains.codes().astype(float)


def largest_count(n_wrong, n_fits):
    """Return how many of the fits each of several parameters may be wrong in, a binomial count."""
    return stats.binom.isf(FALSE_ALARM / len(n_wrong), n_fits, 1 - UNDECIDED)


def assert_each_is_rare(n_wrong, n_fits):
    """Check that no parameter is wrong and unmarked more often than the confidence allows."""
    assert n_wrong.max() <= largest_count(n_wrong, n_fits), n_wrong


def make_l1(rows, alpha, penalize_main):
    table = sf.encode(rows)
    return Problem.with_l1(sf.data.moments_of_table(table), table.domain, alpha, penalize_main)


def find_edge(rows, low, high):
    """Return two penalties, as good as the same, with only one of which a parameter is zero, and which one this is."""

    def support(alpha):
        return theta_of(fit_newton(make_l1(rows, alpha, True), ExactMoments(), tol=1e-10)) != 0

    below = support(low)
    for _ in range(14):  # to 2^-14 of the distance
        middle = np.sqrt(low * high)
        low, high = (middle, high) if np.array_equal(support(middle), below) else (low, middle)
    is_edge = below != support(high)
    assert np.triu(is_edge).sum() == 1
    return low, high, is_edge
