"""Bounds on gaps of groups and of features of levels, by enumeration and from draws, against independent solvers."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import sparsefield as sf
from sparsefield.gradients import PerfectDraws, Simulation
from sparsefield.marks import fit_newton
from sparsefield.model import count_once
from sparsefield.objective import Group, Problem
from sparsefield.optimality import bound_gap
from support.exact_chains import least_objective
from support.level_problems import N_LEVELS, draw_rows, least_group_objective, make_domain, make_level_problem
from support.noise import largest_excess
from support.plain_backend import Plain
from support.problems import Undrawn, make_problem
from support.statistics_ import FALSE_ALARM
from support.zoo import random_field

REFERENCES = ("first", "last", None)


def starts(problem, seed):
    """Return parameters near the optimum and far from it: a fit, none, and some beside the fit."""
    rng = np.random.default_rng(seed)
    fit = fit_newton(problem, PerfectDraws(), Simulation(500, seed, backend=Plain()), gap=0.01)
    theta = problem.theta(fit.model)
    noise = np.triu(rng.normal(size=theta.shape))
    noise = np.where(problem.coordinates.is_parameter, noise + np.triu(noise, 1).T, 0.0)
    return [theta, np.zeros_like(theta), theta + 0.1 * noise * (theta != 0), theta + 0.1 * noise]


@pytest.mark.parametrize("kind", N_LEVELS)
@pytest.mark.parametrize("penalize_main", [False, True])
@pytest.mark.parametrize("reference", REFERENCES)
def test_enumerated_gaps_of_groups_enclose_the_gap(kind, penalize_main, reference):
    problem = make_level_problem(kind, 0.03, reference=reference, penalize_main=penalize_main, seed=1)
    lowest = least_group_objective(problem)
    for theta in starts(problem, 1):
        found = bound_gap(problem, theta)
        gap = problem.objective(theta) - lowest
        # The other solver is right to 1e-10 or so, and above the optimum.
        assert gap <= found.bound <= gap + 1e-9
        assert found.lower <= found.bound
        assert found.kind == "exact"


@pytest.mark.parametrize("penalize_main", [False, True])
@pytest.mark.parametrize("reference", REFERENCES)
def test_enumerated_gaps_of_scores_with_l1_enclose_the_gap(penalize_main, reference):
    problem = make_level_problem("ordered", 0.03, penalty="l1", reference=reference, penalize_main=penalize_main)
    states = Plain().states(problem.model(np.zeros((problem.coordinates.size,) * 2)))
    a, b = np.nonzero(np.triu(problem.coordinates.is_parameter))
    # Statistics one by one: the inner product with a unit parameter.
    psi = np.empty((len(states.p), len(a)))
    for k, (first, second) in enumerate(zip(a, b, strict=True)):
        unit = np.zeros((problem.coordinates.size,) * 2)
        unit[first, second] = unit[second, first] = 1.0
        psi[:, k] = states.along(problem.coordinates.to_slots(unit))
    lowest = least_objective(psi, problem.target[a, b], problem.penalty.weights[a, b])[1]
    for theta in starts(problem, 1):
        gap = problem.objective(theta) - lowest
        assert gap <= bound_gap(problem, theta).bound <= gap + 1e-9


CASES = [
    ("three", "group", None, False),
    ("mixed", "group", "last", True),
    ("ordered", "group", "first", False),
    ("three", "l1", "last", False),
    ("ordered", "l1", "first", True),
]


@pytest.mark.parametrize(("kind", "penalty", "reference", "penalize_main"), CASES)
def test_bounds_from_draws_hold_as_often_as_they_say(kind, penalty, reference, penalize_main):
    n_broken = n_above = n_refused = n_walked = n_loose = n_all = 0
    for seed in range(4):
        options = {"penalty": penalty, "reference": reference, "penalize_main": penalize_main, "seed": seed}
        problem = make_level_problem(kind, 0.03, **options)
        n_parameters = count_once(problem.coordinates.is_parameter)
        for theta in starts(problem, seed):
            true = bound_gap(problem, theta)
            found = bound_gap(problem, theta, n_draws=10_000, seed=seed, backend=Plain(), max_states=0)
            n_all += 1
            n_broken += found.bound < true.lower
            n_above += found.lower > true.bound
            n_refused += not np.isfinite(found.bound)
            n_walked += found.better is not None
            if found.better is None and np.isfinite(found.bound):
                # The limit of the decrement has more than three quarters of the risk.
                most = largest_excess(true.lower, n_parameters, 10_000, 0.75 * 0.01)
                n_loose += found.bound - true.lower > most
    assert max(n_broken, n_above) <= stats.binom.isf(FALSE_ALARM, n_all, 0.01)
    assert n_loose <= stats.binom.isf(FALSE_ALARM, n_all, stats.norm.sf(3))
    # Only so that the test is not empty: what is refused cannot fail.
    assert 2 * n_refused < n_all
    assert n_walked < n_all - n_refused


def test_bounds_do_not_depend_on_the_reference_level():
    found = []
    for reference in REFERENCES:
        problem = make_level_problem("mixed", 0.03, reference=reference, seed=3)
        theta = np.zeros((problem.coordinates.size,) * 2)
        found.append(bound_gap(problem, theta, n_draws=5000, seed=1, backend=Plain(), max_states=0))
    assert np.isfinite(found[0].bound)
    for other in found[1:]:
        # Draws are the same states; sums are rounded in another order, and second moments to single precision.
        assert other.bound == pytest.approx(found[0].bound, rel=1e-4)
        assert other.lower == pytest.approx(found[0].lower, rel=1e-4)


def test_groups_of_two_levels_have_the_bounds_of_single_parameters():
    for seed in range(5):
        single = make_problem(5, 0.05, 300, seed, (0.5, 2.0), penalize_main=False)
        group = Problem(single.data, single.domain, Group(single.domain, 0.05))
        fit = fit_newton(single, PerfectDraws(), Simulation(300, seed), gap=0.01)
        exact, bounds = [], []
        for problem in (single, group):
            theta = problem.theta(fit.model)
            exact.append(bound_gap(problem, theta).bound)
            bounds.append(bound_gap(problem, theta, n_draws=10_000, seed=seed, max_states=0).bound)
        assert exact[0] == pytest.approx(exact[1], abs=1e-11)
        # Both choose S and t by the same quadratic model, but for a ridge of its own for each parameter, which is of
        # order k / n of a variance.
        assert bounds[0] == pytest.approx(bounds[1], rel=15 / 10_000 * 20)


def test_proven_bounds_of_groups_hold_where_draws_are_many():
    n_proven = 0
    for seed in range(3):
        problem = make_level_problem("three", 0.12, seed=seed, strength=0.4, n=1000)
        theta = starts(problem, seed)[0]
        gap = bound_gap(problem, theta).bound
        found = bound_gap(problem, theta, n_draws=100_000, seed=seed, backend=Plain(), max_states=0)
        assert gap <= found.proven + 1e-12  # rounding, where the optimum is zero
        n_proven += np.isfinite(found.proven)
    assert n_proven > 1  # only so that the test is not empty: an infinite bound holds


def make_fit(kind, penalty, penalize_main):
    table = sf.Table(make_domain(kind), draw_rows(kind, 300, 5))
    return sf.learn(table, 0.03, penalty=penalty, penalize_main=penalize_main, seed=1), table


@pytest.mark.parametrize("penalize_main", [False, True])
@pytest.mark.parametrize(("kind", "penalty"), [("mixed", "group"), ("ordered", "group"), ("ordered", "l1")])
def test_fits_with_levels_are_certified(kind, penalty, penalize_main):
    fit, table = make_fit(kind, penalty, penalize_main)
    # A model beside the fit, so that there is a gap: the same parameters, a tenth smaller.
    beside = replace(fit.model, main=0.9 * fit.model.main, interactions=0.9 * fit.model.interactions)
    fit = replace(fit, model=beside)
    exact = sf.certify(fit, table).optimality
    options = {"n_draws": 50_000, "seed": 1, "device": Plain(), "max_states": 0}
    found = sf.certify(fit, table, confidence=1 - FALSE_ALARM, **options).optimality
    assert exact.kind == "exact"
    assert exact.gap <= found.gap <= found.proven < np.inf
    assert exact.subgradient <= found.subgradient
    if penalize_main:  # a second fit says more than that there are so many states
        assert found.proven < np.log(table.domain.n_levels).sum() / 4


def test_gibbs_chains_certify_groups_with_their_bias():
    fit, table = make_fit("mixed", "group", True)
    weak = replace(fit.model, interactions=0.1 * fit.model.interactions)
    fit = replace(fit, model=weak)
    exact = sf.certify(fit, table).optimality
    options = {"n_draws": 20_000, "seed": 1, "device": Undrawn(), "max_states": 0}
    found = sf.certify(fit, table, confidence=1 - FALSE_ALARM, **options).optimality
    assert found.kind == "proven"
    assert exact.gap <= found.gap < np.inf
    assert exact.subgradient <= found.subgradient < 1


def test_a_promised_gap_is_kept_for_groups():
    table = sf.Table(make_domain("three"), draw_rows("three", 300, 2))
    fit = sf.learn(
        table,
        0.05,
        penalty="group",
        certify=True,
        gap=0.001,
        solver=sf.Newton(schedule="perfect"),
        device=Plain(),
        seed=1,
    )
    assert fit.optimality.gap <= 0.001
    assert "Certified" in fit.status.sentence


def test_groups_that_are_not_enumerated_are_certified_from_exact_draws():
    model = random_field([3] * 13, seed=1, scale=0.9, density=0.12)  # 1.6 million states
    table = model.sample(400, n_sweeps=100, seed=1)
    fit = sf.learn(table, 0.04, penalty="group", certify=True, gap=0.01, seed=1)
    assert fit.optimality.kind == "asymptotic"
    assert fit.optimality.gap <= 0.01
    assert "Certified" in fit.status.sentence
    assert fit.undecided is not None
