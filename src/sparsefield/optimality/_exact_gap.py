"""The gap of a small field, by enumeration: no draws, and no risk."""

from __future__ import annotations

import math

import numpy as np

from sparsefield._typing import Matrix
from sparsefield.gradients import ExactMoments, Simulation
from sparsefield.inference import MOST_ENTRIES, Backend, count_entries, count_states
from sparsefield.model import scatter, sum_once
from sparsefield.objective import Problem
from sparsefield.solvers import solve_newton

# The objective is quadratic in the smallest subgradient: with a norm of 1e-9 it is 1e-18 over a curvature above its
# optimum, which is below the rounding of the objective itself.
_TOL = 1e-9
_MOST_STEPS = 50

# How near to zero 1 + h may come where a step is cut so that it stays above: any distribution will do.
_NEARLY = 1 - 1e-9


def can_enumerate(problem: Problem, max_states: int) -> bool:
    """Say whether a field has no more states than are to be enumerated, and than can be."""
    return count_entries(problem.domain) <= min(max_states, MOST_ENTRIES)


def polish(problem: Problem, theta: Matrix, backend: Backend) -> tuple[Matrix, float]:
    """Return the parameters that exact Newton steps lead to, and what the objective is lower there.

    They start from theta, and from zero where that gets nowhere: far from the optimum states can be so certain that
    there is no curvature left to make a step with.
    """
    best, fall = theta, 0.0
    for start in (theta, np.zeros_like(theta)):
        found = solve_newton(
            problem, ExactMoments(), Simulation(backend=backend), start=start, tol=_TOL, max_iter=_MOST_STEPS
        )
        if found.status.code == "interrupted":
            raise KeyboardInterrupt
        end = problem.theta(found.model)
        lower = enumerate_fall(problem, theta, end, backend)
        if found.status.code == "converged":
            return end, lower
        if lower > fall:
            best, fall = end, lower
    return best, fall


def enumerate_fall(problem: Problem, here: Matrix, there: Matrix, backend: Backend) -> float:
    """Return what the objective is lower there than here."""

    def objective(theta: Matrix) -> float:
        smooth = backend.enumerate(problem.model(theta))[0] - sum_once(theta * problem.target)
        return smooth + problem.penalty.value(theta)

    return objective(here) - objective(there)


def bound_by_states(problem: Problem, theta: Matrix, backend: Backend) -> float:
    """Bound the gap at theta by a distribution over all states that is feasible for the dual.

    It is p (1 + h), with h by the decrement's equations or a share of it that keeps 1 + h positive, mixed with as much
    of the data as makes it feasible. Its moments are computed and not taken for granted, so that statistics may depend
    on each other. The divergence is at most log(1 + E h^2), and no entropy is above the logarithm of the number of
    states.
    """
    weights = problem.penalty.weights
    assert weights is not None  # the penalties that are certified are sums over parameters
    penalty, is_real = problem.penalty, problem.coordinates.is_parameter
    is_free = is_real & (weights == 0)
    all_states = backend.states(problem.model(theta))
    states, moments = problem.coordinates.draws(all_states), problem.see(all_states.moments).pair
    gradient = moments - problem.target
    is_held = penalty.sizes(theta) > 0
    t = np.where(is_held, penalty.direction(theta), penalty.project(-gradient))
    a, b = np.nonzero(np.triu(is_free | (is_real & (is_held | (penalty.sizes(gradient) > weights)))))
    products, scale, _ = states.second_moments(a, b)
    covariance = scale * products - np.outer(moments[a, b], moments[a, b])
    c = np.linalg.lstsq(covariance, (gradient + t)[a, b], rcond=None)[0]
    direction = scatter(a, b, np.asarray(-c, dtype=np.float64), len(theta))
    h = states.along(direction) - sum_once(direction * moments)
    share = min(1.0, _NEARLY / max(-float(h.min()), 1e-300))
    covariances = states.project(h)
    square = share**2 * sum_once(direction * covariances)
    beyond = np.where(is_real, gradient + share * covariances, 0.0)  # moments of p (1 + h), less those of the data
    pays = is_real & ~is_free
    largest = float((penalty.sizes(beyond)[pays] / weights[pays]).max(initial=0.0))
    mixed = max(0.0, 1 - 1 / max(largest, 1.0))
    unmet = np.where(is_free, np.abs(beyond), 0.0)
    if unmet.max(initial=0.0) > count_states(problem.domain) * 2.0**-52:  # more than rounding
        return np.inf
    # A free parameter whose moment is off by so much moves the bound by its size at the optimum times that: here it is
    # no more than one larger than twice its size at theta.
    slackness = penalty.value(theta) + sum_once(beyond * theta)
    n_states = count_states(problem.domain)
    return float(
        np.log1p(max(0.0, square)) + slackness + mixed * math.log(n_states) + sum_once(unmet * (1 + 2 * np.abs(theta)))
    )


def rounding(problem: Problem, *thetas: Matrix) -> float:
    """Bound what doubles round objectives by: each exponent is a sum of up to n_slots^2 products, row by row.

    Parameters of features become those of slots first, by sums of as many terms as there are features.
    """
    held = list(thetas)
    if not problem.coordinates.is_plain:
        held += [problem.coordinates.to_slots(theta) for theta in thetas]
    size = max(problem.coordinates.size, problem.domain.n_slots)
    return float(2.0**-52 * size * sum(1 + 2 * sum_once(np.abs(theta)) for theta in held))
