"""Finite-sample bound of the gap, for every number of draws, by concentration inequalities."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigvalsh
from scipy.optimize import brentq

from sparsefield.gradients import Drawn
from sparsefield.objective import extremes, largest_variances, spans, variances_of
from sparsefield.optimality._dual_point import Targets
from sparsefield.optimality._fresh_draws import n_seen
from sparsefield.optimality._mean_errors import bound_errors

_USES = 4  # statements that must hold together: on an eigenvalue, a covariance, a norm, and all means


def prove_gap(targets: Targets, chose: Drawn, fresh: Drawn, risk: float) -> float:
    """Bound the gap at theta from draws that are independent of the targets; infinite where they are too few.

    With D >= delta and L at least the reach, and D L <= 1, the feasible distribution p (1 + h) exists since
    |h| <= D L, and the gap is at most that of the targets and min(log(1 + D^2), D^2 / 2 (1 + D L / 3 + 2 (D L)^2 / 3)).
    """
    t = np.log(_USES / risk)
    # The norm of k means alone is about sqrt(k / n), and the reach is sqrt(k) at least.
    if fresh.n < targets.n**2:
        return np.inf
    targets = _widen(targets, chose, risk)
    if fresh.n < targets.n**2:  # there are more of them now
        return np.inf
    if targets.n == 0:
        reach, delta = 0.0, 0.0
    else:
        reach, delta = _bound_delta(targets, chose, fresh, t)
    largest = delta * reach
    if not largest <= 1 or not _is_feasible(targets, fresh, delta, risk / _USES):
        return np.inf
    divergence = min(np.log1p(delta**2), delta**2 / 2 * (1 + largest / 3 + 2 * largest**2 / 3))
    return float(targets.slackness(fresh.problem, fresh.theta) + divergence)


def _widen(targets: Targets, chose: Drawn, risk: float) -> Targets:
    """Return targets with all statistics that are too near to their penalties to be left out without a look at H."""
    problem = chose.problem
    gradients = chose.gradient + chose.draws.project(chose.draws.along(targets.move))
    deviations = np.sqrt(np.maximum(largest_variances(problem, chose.estimate.moments), spans(problem) ** 2 / chose.n))
    # What D will be about: the step, and the norm of the simulation error of k means and of its deviations from that.
    error = np.sqrt(max(1, targets.n) / chose.n) + np.sqrt(2 * np.log(_USES / risk) / chose.n)
    far = np.sqrt(targets.decrement) + 2 * error
    sharp = 2 * np.sqrt(2 * np.log(len(deviations) ** 2 * _USES / risk) / chose.n)
    return targets.with_more(targets.find_near(chose.gradient, deviations * (far + sharp)), gradients)


def _bound_delta(targets: Targets, chose: Drawn, fresh: Drawn, t: float) -> tuple[float, float]:
    """Bound the reach and the decrement, each but for a probability of exp(-t).

    The statistics are divided by standard deviations that other draws show, which leaves reach and decrement as they
    are. The least eigenvalue l of their covariance is then a mean of squares of at most R^2 (Bernstein), the reach at
    most R / sqrt(l), and their covariance at most 1 + xi times what it is (Tropp 2012, Theorem 1.1). The norm of the
    error of their means is at most sqrt(k / n) on average, and above that by Bousquet's (2002) inequality.
    """
    a, b, k, n = targets.first, targets.second, targets.n, fresh.n
    if k >= n or min(n_seen(chose, a, b), n_seen(fresh, a, b)) < 1:
        return np.inf, np.inf
    deviations = np.sqrt(variances_of(chose.moments)[a, b])
    low, high = extremes(fresh.problem)
    covariance = fresh.covariance(a, b) * ((n - 1) / n) / np.outer(deviations, deviations)
    range2 = float(((high - low)[a, b] ** 2 / deviations**2).sum())
    least = _least_mean(float(eigvalsh(covariance, subset_by_index=[0, 0])[0]), range2, n, t)
    if least <= 0:
        return np.inf, np.inf
    reach2 = range2 / least
    wanted = reach2 * (np.log(k) + t) / n
    xi = brentq(lambda x: (1 + x) * np.log1p(x) - x - wanted, 0.0, 3 + 2 * wanted)
    v = (fresh.gradient[a, b] + targets.t) / deviations
    seen = np.sqrt((1 + xi) * float(v @ cho_solve(cho_factor(covariance), v)))
    reach, mean = np.sqrt(reach2), np.sqrt(k / n)
    error = mean + np.sqrt(2 * t / n * (1 + 2 * reach * mean)) + reach * t / (3 * n)
    return float(reach), float(seen + error)


def _least_mean(seen: float, largest: float, n: int, t: float) -> float:
    """Return the least mean that n values in [0, largest] can have whose average is `seen`, by Bernstein."""

    def average(mean: float) -> float:
        return float(mean + np.sqrt(2 * largest * mean * t / n) + largest * t / (3 * n) - seen)

    return float(brentq(average, 0.0, seen)) if seen > 0 and average(0.0) < 0 else 0.0


def _is_feasible(targets: Targets, fresh: Drawn, delta: float, risk: float) -> bool:
    """Say whether all moments outside S are within their penalties: h moves each by delta standard deviations."""
    errors = bound_errors(fresh.problem, fresh.problem.model(fresh.theta), fresh.estimate.moments, risk)
    return not bool(targets.find_near(fresh.gradient, errors.means + delta * errors.deviations).any())
