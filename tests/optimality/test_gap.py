"""Bounds on gaps, by enumeration and from draws, against optima of an independent solver."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import sparsefield as sf
from sparsefield.datasets import make_field
from sparsefield.gradients import PerfectDraws, Simulation
from sparsefield.inference import Cpu
from sparsefield.marks import fit_newton
from sparsefield.objective import Problem
from sparsefield.optimality import GAPS, bound_gap
from sparsefield.solvers import NEWTON
from support.exact_chains import least_objective, penalised_optimum
from support.noise import enumerate_statistics, largest_excess
from support.problems import make_problem, theta_of
from support.statistics_ import FALSE_ALARM
from support.zoo import LEVELS, ZOO


def symmetric(values):
    return values + np.triu(values, 1).T


def starts(problem, seed):
    """Return parameters near the optimum and far from it."""
    rng = np.random.default_rng(seed)
    fit = theta_of(fit_newton(problem, PerfectDraws(), Simulation(300, seed), gap=0.01))
    noise = symmetric(np.triu(rng.normal(size=fit.shape)))
    return [fit, np.zeros_like(fit), fit + 0.3 * noise * (fit != 0), fit + 0.1 * noise, -fit]


@pytest.mark.parametrize("penalize_main", [True, False])
def test_enumerated_gaps_enclose_the_gap(penalize_main):
    for seed in range(6):
        problem = make_problem(5, 0.05, 300, seed, penalize_main=penalize_main)
        lowest = penalised_optimum(problem.data.moments.pair, problem.penalty.weights)[1]
        for theta in starts(problem, seed):
            found = bound_gap(problem, theta)
            gap = problem.objective(theta) - lowest
            # The other solver is right to 1e-10 or so, and above the optimum.
            assert gap <= found.bound <= gap + 1e-9
            assert found.lower <= found.bound
            assert (found.kind, found.confidence, found.n_draws) == ("exact", 1.0, 0)
            if found.better is not None:
                assert problem.objective(found.better) < problem.objective(theta)


def test_draws_that_memory_does_not_hold_are_not_counted_on():
    # What is chosen and judged on fewer draws than were asked for is what that many give.
    problem = make_problem(8, 0.03, 300, seed=1)
    theta = theta_of(fit_newton(problem, PerfectDraws(), Simulation(2000, 1), gap=0.001))
    few = bound_gap(problem, theta, n_draws=2048, seed=1, max_states=0)
    little = replace(GAPS, most_bits=8 * 2048)
    many = bound_gap(problem, theta, n_draws=1_000_000, seed=1, max_states=0, policy=little)
    assert (many.bound, many.proven, many.n_draws) == (few.bound, few.proven, few.n_draws)


@pytest.mark.parametrize("name", ZOO)
@pytest.mark.parametrize("penalize_main", [True, False])
def test_levels_and_dependent_statistics_are_enumerated(name, penalize_main):
    model = ZOO[name]
    table = sf.Table(model.domain, model.sample(300, n_sweeps=50, seed=1).codes)
    problem = Problem.with_l1(sf.data.moments_of_table(table), table.domain, 0.03, penalize_main)
    _, statistics, (a, b) = enumerate_statistics(model)
    lowest = least_objective(statistics, problem.data.moments.pair[a, b], problem.penalty.weights[a, b])[1]
    for theta in (theta_of(model), np.zeros_like(theta_of(model))):
        gap = problem.objective(theta) - lowest
        assert gap <= bound_gap(problem, theta).bound <= gap + 1e-9


@pytest.mark.parametrize("penalize_main", [True, False])
def test_bounds_from_draws_hold_as_often_as_they_say(penalize_main):
    n_broken = n_refused = n_above = n_walked = n_loose = 0
    for seed in range(20):
        problem = make_problem(5, 0.05, 300, seed, (0.5, 2.0), penalize_main)
        for theta in starts(problem, seed):
            true = bound_gap(problem, theta)
            found = bound_gap(problem, theta, n_draws=10_000, seed=seed, max_states=0)
            n_broken += found.bound < true.lower
            n_above += found.lower > true.bound
            n_refused += not np.isfinite(found.bound)
            n_walked += found.better is not None
            if found.better is not None:
                assert problem.objective(found.better) < problem.objective(theta)
            elif np.isfinite(found.bound):
                # The limit of the decrement has more than three quarters of the risk.
                n_loose += found.bound - true.lower > largest_excess(true.lower, 15, 10_000, 0.75 * 0.01)
    assert max(n_broken, n_above) <= stats.binom.isf(FALSE_ALARM, 100, 0.01)
    n_near = 100 - n_walked - n_refused
    assert n_loose <= stats.binom.isf(FALSE_ALARM, n_near, stats.norm.sf(3))
    # Only so that the test is not empty: there are bounds with a walk and without, and what is refused cannot fail.
    assert min(n_walked, n_near) > n_refused


def test_proven_bounds_hold_where_draws_are_many():
    n_proven = 0
    for seed in range(12):
        problem = make_problem(5, 0.1, 300, seed, (0.3, 0.8))
        theta = theta_of(fit_newton(problem, PerfectDraws(), Simulation(300, seed), gap=0.0005))
        gap = bound_gap(problem, theta).bound
        found = bound_gap(problem, theta, n_draws=400_000, seed=seed, max_states=0)
        assert gap <= found.proven + 1e-12  # rounding, where the optimum is zero
        assert found.bound <= found.proven
        n_proven += np.isfinite(found.proven)
    assert n_proven > 6  # only so that the test is not empty: an infinite bound holds


def test_bounds_are_refused_with_a_reason():
    problem = make_problem(5, 0.05)
    theta = starts(problem, 1)[0]
    with pytest.raises(ValueError, match="n_draws is 1"):
        bound_gap(problem, theta, n_draws=1)
    few = bound_gap(problem, theta, n_draws=50, max_states=0)
    assert few.bound == np.inf
    assert "more" in few.why
    strong = make_field(12, edge_probability=0.9, strength=(6.0, 8.0), seed=1)
    data = sf.data.moments_of_table(strong.sample(50, n_sweeps=5, seed=1))
    far = Problem.with_l1(data, strong.domain, 0.05)
    assert "no exact draws" in bound_gap(far, theta_of(strong), n_draws=1000, max_states=0).why
    model = LEVELS["mixed, no reference"]
    data = sf.data.moments_of_table(model.sample(100, n_sweeps=5, seed=1))
    dependent = Problem.with_l1(data, model.domain, 0.05)
    assert "depend on each other" in bound_gap(dependent, theta_of(model), max_states=0).why
    small = replace(GAPS, most_active=11)
    full = bound_gap(problem, np.ones((5, 5)), n_draws=1000, max_states=0, policy=small)
    assert "15 parameters are not zero or free, of at most 11" in full.why
    near = bound_gap(problem, np.zeros((5, 5)), n_draws=50, max_states=0, policy=small)
    assert "15 statistics are near their penalties, of at most 11" in near.why


def test_walks_are_made_of_the_steps_of_their_policy():
    problem, theta = make_problem(5, 0.05), np.zeros((5, 5))
    arguments = {"n_draws": 10_000, "max_states": 0}
    far = bound_gap(problem, theta, **arguments)
    assert problem.objective(far.better) < problem.objective(theta)
    stay = replace(GAPS, most_steps=0), replace(GAPS, steps=replace(NEWTON, most_shorter=0))
    for policy in stay:
        near = bound_gap(problem, theta, policy=policy, **arguments)
        assert near.better is None
        assert near.n_draws < far.n_draws


def test_interrupts_pass():
    problem = make_problem(5, 0.05)

    class Stopped(Cpu):
        def draw(self, *_, **__):
            raise KeyboardInterrupt

        def enumerate(self, *_, **__):
            raise KeyboardInterrupt

    for most in (0, 2**14):
        with pytest.raises(KeyboardInterrupt):
            bound_gap(problem, np.zeros((5, 5)), backend=Stopped(), max_states=most)
