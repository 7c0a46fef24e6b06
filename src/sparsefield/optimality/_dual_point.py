"""The dual feasible point of a bound: which statistics it is made of, and the moments that it has there."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.special import ndtri

from sparsefield._typing import Index, Matrix, Values
from sparsefield.gradients import Drawn
from sparsefield.model import count_once, scatter, sum_once
from sparsefield.objective import RARE, Penalty, Problem, Quadratic, count_statements, members_of, rest_variances, spans
from sparsefield.optimality._policy import GAPS, GapPolicy
from sparsefield.solvers import move_gradients


class RefusalError(ValueError):
    """A certificate cannot be had; the message says why, as a clause."""


@dataclass(frozen=True, eq=False)
class Targets:
    """A set S of statistics, and what a feasible distribution is to have there: moments d - t.

    Parameters
    ----------
    first, second : ndarray of shape (k,)
        The features whose product each statistic of S is; groups of parameters are in S as a whole.
    t : ndarray of shape (k,)
        Within the penalties of S: the subgradient of the penalty, where a Newton step leads.
    penalty : Penalty
        What parameters, or groups of them, pay.
    outside : ndarray of shape (size, size), bool
        Marks the statistics that are not in S.
    rest : ndarray of shape (size, size)
        Bounds on the variances of statistics that a regression on those of S leaves; of a group those of all its
        combinations whose coefficients have norm one.
    move : ndarray of shape (size, size)
        The Newton step.
    decrement : float
        Its squared length, in the norm of the covariance of the draws that it was found by.
    """

    first: Index
    second: Index
    t: Values
    penalty: Penalty
    outside: NDArray[np.bool_]
    rest: Matrix
    move: Matrix
    decrement: float

    @property
    def n(self) -> int:
        """How many statistics."""
        return len(self.first)

    def slackness(self, problem: Problem, theta: Matrix) -> float:
        """Return the penalty less t . theta: what t costs where it is not the subgradient of the penalty at theta."""
        spent = scatter(self.first, self.second, self.t, len(theta)) * theta
        return max(0.0, problem.penalty.value(theta) - sum_once(spent))

    def find_near(self, gradients: Matrix, errors: Matrix) -> NDArray[np.bool_]:
        """Mark the statistics outside S whose gradients, or those of their groups, may be beyond their penalties."""
        assert self.penalty.weights is not None
        return np.asarray(self.outside & (self.penalty.sizes(gradients) + errors > self.penalty.weights))

    def with_more(self, more: NDArray[np.bool_], gradients: Matrix) -> Targets:
        """Return targets with further statistics, whose t is what a step left of their gradients."""
        t = scatter(self.first, self.second, self.t, len(self.rest))
        t = np.where(more, self.penalty.project(-gradients), t)
        inside = scatter(self.first, self.second, np.ones(self.n), len(self.rest)) > 0
        a, b = np.nonzero(np.triu(inside | more))
        return replace(self, first=a, second=b, t=t[a, b], outside=self.outside & ~more)


def count_targets(problem: Problem, theta: Matrix, gradient: Matrix, z: float, n: float) -> int:
    """Count the statistics that n draws would choose for S, from gradients that are about those at theta."""
    weights = problem.penalty.weights
    assert weights is not None
    is_real = problem.coordinates.is_parameter
    inside = is_real & ((theta != 0) | (weights == 0))
    rest = rest_variances(problem, problem.data.moments, np.diagonal(inside))
    near = is_real & (problem.penalty.sizes(gradient) + _margin(problem, rest, z, n) > weights)
    return count_once(inside | near)


def choose_targets(batch: Drawn, z: float, *, policy: GapPolicy = GAPS) -> Targets:
    """Choose S and t by a proximal Newton step on a batch of draws.

    S has all parameters that are not zero or free, and those zeros whose gradients after the step the draws that judge,
    as many as these, could find beyond their penalties. Raises RefusalError where these are too many.
    """
    problem, theta = batch.problem, batch.theta
    penalty, weights = problem.penalty, problem.penalty.weights
    if weights is None:
        raise RefusalError("the penalty is not a sum over parameters")
    is_real = problem.coordinates.is_parameter
    inside = is_real & ((penalty.sizes(theta) > 0) | (weights == 0))
    most = policy.most_active
    if count_once(inside) > most:
        raise RefusalError(f"{count_once(inside)} parameters are not zero or free, of at most {most}")
    rest = rest_variances(problem, batch.estimate.moments, np.diagonal(inside))
    margin = _margin(problem, rest, z, batch.n)
    active = inside | (is_real & (penalty.sizes(batch.gradient) + margin > weights))
    for _ in range(policy.most_rounds):
        quadratic, move = _find_step(batch, active, policy)
        gradients = _gradients_after(batch, move, active, margin)
        more = is_real & ~active & (penalty.sizes(gradients) + margin > weights)
        if not more.any():
            break
        active = active | more
    rest = _regress(penalty, quadratic, inside, rest)
    beyond = penalty.sizes(gradients) + _margin(problem, rest, z, batch.n) > weights
    chosen = inside | (active & beyond) | more
    t = np.where(penalty.sizes(theta + move) > 0, penalty.direction(theta + move), penalty.project(-gradients))
    a, b = np.nonzero(np.triu(chosen))
    decrement = float(batch.along(move).var()) if move.any() else 0.0
    return Targets(a, b, t[a, b], penalty, is_real & ~chosen, rest, move, decrement)


def _gradients_after(batch: Drawn, move: Matrix, active: NDArray[np.bool_], margin: Matrix) -> Matrix:
    """Return the gradients after a step, rough ones of statistics that are further than a margin from penalties."""
    penalty, weights = batch.problem.penalty, batch.problem.penalty.weights
    assert weights is not None

    def find_near(rough: Matrix, error: float) -> NDArray[np.bool_]:
        return np.asarray(active | (penalty.sizes(rough) + (margin + error) > weights))

    return move_gradients(batch.gradient, batch.draws, batch.draws.along(move), find_near)


def mean_error(problem: Problem, variances: Matrix, z: float, n: float) -> Matrix:
    """Return the error of the mean of n draws at a normal quantile z, by Wilson's (1927) score limits.

    Of a statistic that no draw shows it allows a mean of z^2 / n, where a Poisson count has z^2 / 2 and a logarithm.
    With the largest variance in a group it serves for the norm of its gradients: where that of the exact ones w is
    above alpha, so is the mean of the combination u = w / |w|, which no draw has chosen, and no norm of an estimate is
    below u times it. One draw adds no more to a mean than the largest centred value there is, over n.
    """
    each = spans(problem)
    return np.asarray(z**2 * each / (2 * n) + z * np.sqrt(variances / n + z**2 * each**2 / (4 * n**2)))


def _margin(problem: Problem, rest: Matrix, z: float, n: float) -> Matrix:
    """Return how far gradients outside S must be from their penalties on the n draws that choose.

    The draws that judge, as many, allow for errors at the quantile z, and differ from these. Were all m statistics at
    the margin, that would be too much for one of them on average: there is a second try where it is.
    """
    rest = np.maximum(rest, spans(problem) ** 2 * RARE / n)
    spare = -ndtri(1 / (2 * max(1, count_statements(problem))))
    return np.asarray(mean_error(problem, rest, z, n) + spare * np.sqrt(rest * (2 / n)))


def _find_step(batch: Drawn, active: NDArray[np.bool_], policy: GapPolicy) -> tuple[Quadratic, Matrix]:
    """Minimise the quadratic model over the active statistics."""
    problem, theta = batch.problem, batch.theta
    a, b = np.nonzero(np.triu(active))
    most = policy.most_active
    if len(a) > most:
        raise RefusalError(f"{len(a)} statistics are near their penalties, of at most {most}: use more draws")
    quadratic = batch.curvature(a, b)
    tol = policy.inner_noise * 0.5 / np.sqrt(batch.n)
    moves, _ = problem.penalty.minimise(quadratic, theta, batch.gradient, tol=tol, max_epochs=policy.most_epochs)
    return quadratic, scatter(a, b, moves, len(theta))


def _regress(penalty: Penalty, quadratic: Quadratic, inside: NDArray[np.bool_], rest: Matrix) -> Matrix:
    """Return the variances with those of the active zeros that a regression on all inside leaves."""
    a, b, n = quadratic.first, quadratic.second, quadratic.n
    some, others = np.flatnonzero(inside[a, b]), np.flatnonzero(~inside[a, b])
    if n is None or len(some) == 0 or len(others) == 0 or 2 * len(some) >= n:
        return rest
    whole = quadratic.covariance(np.arange(len(a)))
    cross = whole[np.ix_(some, others)]
    factor = cho_factor(whole[np.ix_(some, some)], overwrite_a=True)
    slopes = cho_solve(factor, cross)
    if penalty.groups is None:
        own = np.diagonal(whole)[others] - np.einsum("ij,ij->j", cross, slopes)
    else:
        own = np.empty(len(others))
        for group in members_of(penalty.groups[a, b][others]):
            block = whole[np.ix_(others[group], others[group])] - cross[:, group].T @ slopes[:, group]
            own[group] = np.linalg.eigvalsh(block)[-1]
    left = np.maximum(own, 0.0) * n / (n - len(some))
    found = rest.copy()
    a, b = a[others], b[others]
    found[a, b] = found[b, a] = np.minimum(left, rest[a, b])
    return found
