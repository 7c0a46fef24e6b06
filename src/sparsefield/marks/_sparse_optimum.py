"""The optimum that draws with importance weights lead to, where parameters are too many for matrices of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsefield._typing import Index, Mask, Matrix, Values
from sparsefield.data import Moments
from sparsefield.gradients import Drawn
from sparsefield.marks._curvatures import NearCurvature, NotLocalError, decrement, is_feasible, near_curvature
from sparsefield.marks._optimum import Optimum, margin, may_differ
from sparsefield.marks._policy import MarksPolicy
from sparsefield.marks._reweighting import finest_tol, follow_weights
from sparsefield.objective import rest_of_some, smallest_subgradient
from sparsefield.solvers import find_candidates


def find_near_optimum(here: Drawn, reach: int = 1, *, policy: MarksPolicy) -> Optimum[NearCurvature] | None:
    """Find the optimum of draws with importance weights, and all that may differ from zero; None if out of reach.

    The penalty is a sum over parameters of slots, and the draws have no bias. Steps have the covariances of statistics
    that are near each other, `reach` neighbours apart at most (`SparseSteps`), over a working set. Once the optimum
    over that is found, rough gradients of all others say which of them to look at.
    """
    screen, n = _Screen.of(here), here.n
    a, b = screen.find(n)
    if not is_feasible(len(a), here.draws, policy.most_near, policy=policy):  # about as many as at the optimum
        return None
    keep = screen.is_held(a, b) | (np.abs(screen.gradient(a, b)) > screen.pays(a, b) - screen.errors(a, b, n))
    steps = SparseSteps(here, screen, a[keep], b[keep], reach, policy)
    left = follow_weights(steps, n, policy=policy)
    return None if left is None else steps.end(left)


@dataclass(frozen=True, eq=False)
class _Screen:
    """Screening of all parameters of a fit: which of them may differ from zero.

    Parameters
    ----------
    theta : ndarray of shape (size, size)
        The parameters.
    moments : Moments
        Moments there.
    target, weights : ndarray of shape (size, size)
        Moments of the data, and what parameters pay.
    is_parameter : ndarray of shape (size, size), bool
        Which entries are parameters.
    is_free : ndarray of shape (size,), bool
        Which main effects pay nothing.
    least : float
        The least that any parameter pays which pays at all; infinite where none does.
    """

    theta: Matrix
    moments: Moments
    target: Matrix
    weights: Matrix
    is_parameter: Mask
    is_free: Mask
    least: float

    @classmethod
    def of(cls, here: Drawn) -> _Screen:
        problem = here.problem
        weights, is_parameter = problem.penalty.weights, problem.coordinates.is_parameter
        assert weights is not None
        least = float(weights.min(initial=np.inf, where=is_parameter & (weights > 0)))
        is_free = np.diagonal(weights) == 0
        return cls(here.theta, here.estimate.moments, problem.target, weights, is_parameter, is_free, least)

    def pays(self, a: Index, b: Index) -> Values:
        """Return what parameters pay."""
        return np.asarray(self.weights[a, b])

    def gradient(self, a: Index, b: Index) -> Values:
        """Return gradients of the smooth part at theta."""
        return np.asarray(self.moments.pair[a, b] - self.target[a, b])

    def errors(self, a: Index, b: Index, n: float) -> Values:
        """Return standard errors of gradients over n draws, given those of the free main effects."""
        return np.asarray(np.sqrt(rest_of_some(self.moments, self.is_free, a, b) / n))

    def is_held(self, a: Index, b: Index) -> Mask:
        """Say which parameters differ from zero in the fit, or pay nothing."""
        return np.asarray((self.theta[a, b] != 0) | (self.is_parameter[a, b] & (self.weights[a, b] == 0)))

    def find(self, n: float, moved: Matrix | None = None, error: float = 0.0) -> tuple[Index, Index]:
        """Return what may differ from zero over n draws, in the order of (a, b); moments may have moved, about so far.

        With an error these are all that may, and more: gradients are to be found exactly then.
        """
        # No variance of an indicator is above 1/4.
        slack = float(margin(np.sqrt(0.25 / n), 1 / n)) + error
        a, b = find_candidates(self.theta, self.moments.pair, self.target, self.weights, slack, moved)
        sizes = np.abs(self.gradient(a, b) + (0.0 if moved is None else moved[a, b])) + error
        keep = self.may_differ(a, b, sizes, n)
        return a[keep], b[keep]

    def may_differ(self, a: Index, b: Index, sizes: Values, n: float) -> Mask:
        """Say which parameters are held, or have gradients of such sizes that they may differ from zero."""
        return self.is_held(a, b) | may_differ(sizes, self.pays(a, b), margin(self.errors(a, b, n), 1 / n))


class SparseSteps:
    """Newton steps with the covariances that are near in the graph, each of which remembers the last one: heavy balls.

    What the curvature leaves out is the simulation error of the draws: the covariance of w statistics over n of them
    has eigenvalues from (1 - sqrt(w / n))^2 to (1 + sqrt(w / n))^2 times what they are (Marchenko and Pastur 1967). Of
    steps with so wrong a curvature the best are those that keep a share w / n of the last one (Polyak 1964): errors
    fall by sqrt(w / n).

    Attributes
    ----------
    a, b : ndarray of shape (w,)
        The working set, in the order of (a, b).
    """

    forgets = True

    def __init__(self, here: Drawn, screen: _Screen, a: Index, b: Index, reach: int, policy: MarksPolicy) -> None:
        self.a, self.b = a, b
        self._here, self._theta, self._draws, self._screen = here, here.theta, here.draws, screen
        self._reach, self._policy, self._finest = reach, policy, finest_tol(here.n, policy=policy)
        self._there, self._gradient = self._theta[a, b], screen.gradient(a, b)
        self._stride = 1.0  # the share of the last step that was made
        # What draws have along the way, and the objective at its end, less what it has in common everywhere.
        self._values, self._objective = np.zeros(self._draws.n or 0), float(screen.pays(a, b) @ np.abs(self._there))
        # Gradients of the others: what draws have moved them by when their weights were last looked at.
        self._weights, self._seen = np.ones(self._draws.n or 0), np.ones(self._draws.n or 0)
        self._moved: Matrix | None = None
        self._error = 0.0

    def begin(self) -> bool:
        """Model the objective over the working set, and say whether draws and memory allow for it."""
        if not is_feasible(len(self.a), self._draws, self._policy.most_near, policy=self._policy):
            return False
        self._model = self._find_curvature(self.a, self.b)
        self._bends = np.zeros(len(self.a))  # what the covariance makes of the last step
        return True

    def violation(self) -> float:
        """Return the largest violation of optimality in the working set."""
        pays = self._screen.pays(self.a, self.b)
        return float(np.abs(smallest_subgradient(self._there, self._gradient, pays)).max(initial=0.0))

    def minimise(self, tol: float) -> tuple[Values, float]:
        """Return the step to the minimum and its decrement, NotLocalError where there is no minimum."""
        kept = len(self._there) / self._model.n * self._stride * self._bends
        moves, self._bends, has_minimum = self._model.descend(
            self._there,
            self._gradient - kept,
            self._screen.pays(self.a, self.b),
            tol=tol,
            max_epochs=self._policy.most_epochs,
            most=self._policy.most_fall,
        )
        if not has_minimum:
            raise NotLocalError
        return moves, decrement(self._model, moves, self._bends)

    def move(self, moves: Values, stride: float) -> tuple[float, float]:
        """Make a share of a step by backtracking: the largest one, `stride` or a half, a quarter, ... of it, downhill.

        The objective is that of the draws as they are reweighted, which is convex. Where covariances that were left out
        matter, a whole step may lead up.
        """
        start, weights = self._theta[self.a, self.b], self._screen.pays(self.a, self.b)
        made, slopes = moves != 0, self._screen.gradient(self.a, self.b)
        along = self._draws.along_some(moves[made], self.a[made], self.b[made])
        for _ in range(self._policy.most_halvings):
            there = self._there + stride * moves
            values = self._values + stride * along
            log_mean, share = self._draws.reweight(values)
            objective = float(log_mean - values.mean() + slopes @ (there - start) + weights @ np.abs(there))
            if objective <= self._objective + self._policy.rounding * (1 + abs(self._objective)):
                break
            stride /= 2
        else:
            raise NotLocalError
        self._there, self._values, self._objective, self._stride = there, values, objective, stride
        self._weights = np.exp(values - log_mean)
        self._gradient = self._find_gradient(self.a, self.b)
        return stride, share

    def join(self) -> bool:
        """Look at all other parameters; let those join the working set that violate optimality, and say if any do."""
        within = self._policy.rough * self._screen.least
        rough, error = self._draws.project_roughly(self._weights - self._seen, within)
        if self._moved is not None:
            rough += self._moved
        self._moved, self._error, self._seen = rough, self._error + error, self._weights
        # No fewer draws count at the optimum than the least share of them: margins are no larger there.
        a, b = self._screen.find(self._policy.least_share * self._here.n, self._moved, self._error)
        is_other = np.isin(self._key(a, b), self._key(self.a, self.b), invert=True)
        a, b = a[is_other], b[is_other]
        gradient = self._find_gradient(a, b)
        self._others = a, b, gradient
        joins = np.abs(gradient) - self._screen.pays(a, b) > self._finest
        if not joins.any():
            return False
        a, b, there = self._merge(a[joins], b[joins], np.zeros(np.count_nonzero(joins)), self._there)
        self.a, self.b, self._there = a, b, there
        self._gradient = self._find_gradient(a, b)
        return True

    def end(self, n: float) -> Optimum[NearCurvature] | None:
        """Return the optimum, at which n draws count, and all that may differ from zero there."""
        a, b, gradient = self._others
        there = self._merge(a, b, np.zeros(len(a)), self._there)[2]
        a, b, gradient = self._merge(a, b, gradient, self._gradient)
        keep = (there != 0) | self._screen.may_differ(a, b, np.abs(gradient), n)
        a, b = a[keep], b[keep]
        if not is_feasible(len(a), self._draws, self._policy.most_near, policy=self._policy):
            return None
        return Optimum(there[keep], gradient[keep], self._find_curvature(a, b), n, 0.0, np.ones(len(a)))

    def _find_curvature(self, a: Index, b: Index) -> NearCurvature:
        return near_curvature(self._here, a, b, self._reach)

    def _find_gradient(self, a: Index, b: Index) -> Values:
        return self._screen.gradient(a, b) + self._draws.project_onto(self._weights, a, b)

    def _key(self, a: Index, b: Index) -> Index:
        return len(self._theta) * a + b

    def _merge(self, a: Index, b: Index, values: Values, own: Values) -> tuple[Index, Index, Values]:
        """Return the working set and other parameters in their order, and values of both."""
        a, b = np.append(self.a, a), np.append(self.b, b)
        order = np.argsort(self._key(a, b), kind="stable")
        return a[order], b[order], np.append(own, values)[order]
