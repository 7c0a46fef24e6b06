"""The optimum that draws lead to, where parameters are too many for matrices of them: lists of those that matter."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsefield._deadline import check_time
from sparsefield._typing import Index, Mask, Matrix, Values
from sparsefield.data import Moments
from sparsefield.gradients import Estimate
from sparsefield.inference import Draws
from sparsefield.marks._curvatures import NearModel, NotLocalError, is_feasible
from sparsefield.marks._optimum import Optimum, margin
from sparsefield.marks._reweighted_optimum import INNER_TOL, LEAST_SHARE, MOST_ROUNDS, SETTLED, SHORTEST, SLOWEST
from sparsefield.objective import RARE, Problem, rest_of_some
from sparsefield.solvers import find_candidates, subgradient_of_some

# Rough gradients are right to this share of the least that a parameter pays: those that are far from their penalties
# need not be found exactly then.
_ROUGH = 1 / 8

# A step of which a thousandth does not lead down has a direction that does not.
_MOST_HALVINGS = 10

_ROUNDING = 1e-12  # more than sums over millions of draws are rounded by


def find_near_optimum(
    problem: Problem, theta: Matrix, draws: Draws, estimate: Estimate, reach: int = 1
) -> Optimum | None:
    """Find the optimum that draws at theta lead to, and all that may differ from zero; None if it is out of reach.

    The penalty is a sum over parameters of slots, and the draws have no bias. Steps have the covariances of statistics
    that are near each other, `reach` neighbours apart at most (`NearModel`), over a working set. Once the optimum over
    that is found, rough gradients of all others say which of them to look at.
    """
    screen, n = _Screen.of(problem, theta, estimate.moments), estimate.n_chains
    a, b = screen.find(n)
    if not is_feasible(len(a), draws, NearModel):  # about as many as at the optimum
        return None
    keep = screen.is_held(a, b) | (np.abs(screen.gradient(a, b)) > screen.pays(a, b) - screen.errors(a, b, n))
    steps = _Steps(problem, theta, draws, screen, a[keep], b[keep], n, reach)
    for _ in range(MOST_ROUNDS):
        check_time()
        if not is_feasible(len(steps.a), draws, NearModel) or not steps.advance():
            return None
        if steps.is_settled and not steps.join():
            return steps.end()
    return None


@dataclass(frozen=True, eq=False)
class _Screen:
    """All parameters of a fit, and which of them may differ from zero.

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
    def of(cls, problem: Problem, theta: Matrix, moments: Moments) -> _Screen:
        weights, is_parameter = problem.penalty.weights, problem.coordinates.is_parameter
        assert weights is not None
        least = float(weights.min(initial=np.inf, where=is_parameter & (weights > 0)))
        return cls(theta, moments, problem.target, weights, is_parameter, np.diagonal(weights) == 0, least)

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
        weights = self.pays(a, b)
        return self.is_held(a, b) | ((weights > 0) & (sizes + margin(self.errors(a, b, n), 1 / n) >= weights))


class _Steps:
    """Newton steps on draws as they are reweighted, over lists of parameters.

    Attributes
    ----------
    a, b : ndarray of shape (w,)
        The working set, in the order of (a, b).
    is_settled : bool
        Whether the optimum over the working set is found.
    """

    def __init__(
        self, problem: Problem, theta: Matrix, draws: Draws, screen: _Screen, a: Index, b: Index, n: int, reach: int
    ) -> None:
        self.a, self.b, self.is_settled = a, b, False
        self._problem, self._theta, self._draws, self._screen, self._n = problem, theta, draws, screen, n
        self._reach = reach
        self._finest = SETTLED * np.sqrt(RARE) / n
        self._there, self._gradient = theta[a, b], screen.gradient(a, b)
        self._model: NearModel | None = None
        self._is_near, self._stride, self._last, self._share = False, 1.0, np.inf, 1.0
        # What draws have along the way, and the objective at its end, less what it has in common everywhere.
        self._values, self._objective = np.zeros(draws.n or 0), float(screen.pays(a, b) @ np.abs(self._there))
        # Gradients of the others: what draws have moved them by when their ratios were last looked at.
        self._ratios, self._seen = np.ones(draws.n or 0), np.ones(draws.n or 0)
        self._moved: Matrix | None = None
        self._error = 0.0
        self._others: tuple[Index, Index, Values] | None = None

    def advance(self) -> bool:
        """Make a step, and find gradients at its end; say whether the draws reach as far."""
        if self._model is None:
            self._model = NearModel(self._problem, self._theta, self._draws, self.a, self.b, self._reach)
        weights, finest = self._screen.pays(self.a, self.b), self._finest
        violation = np.abs(subgradient_of_some(self._there, self._gradient, weights)).max(initial=0.0)
        tol = finest if self._is_near else max(finest, INNER_TOL * float(violation))
        moves, decrement = self._model.minimise(self._there, self._gradient, tol, self._stride)
        self.is_settled = tol == finest and decrement <= SETTLED**2 / self._n
        self._is_near = decrement <= 1 / self._n
        if decrement > SLOWEST * self._last:
            self._stride = max(SHORTEST, self._stride / 2)
        self._last = decrement
        self._go(moves)
        self._gradient = self._find_gradient(self.a, self.b)
        return self._share >= LEAST_SHARE

    def _go(self, moves: Values) -> None:
        """Make the largest share of a step, the last one or a half, a quarter, ... of it, that leads down.

        The objective is that of the draws as they are reweighted, which is convex. Where covariances that were left out
        matter, a whole step may lead up.
        """
        start, weights = self._theta[self.a, self.b], self._screen.pays(self.a, self.b)
        made, slopes = moves != 0, self._screen.gradient(self.a, self.b)
        along = self._draws.along_some(moves[made], self.a[made], self.b[made])
        for _ in range(_MOST_HALVINGS):
            there = self._there + self._stride * moves
            values = self._values + self._stride * along
            log_mean, self._share = self._draws.reweight(values)
            objective = float(log_mean - values.mean() + slopes @ (there - start) + weights @ np.abs(there))
            if objective <= self._objective + _ROUNDING * (1 + abs(self._objective)):
                break
            self._stride /= 2
        else:
            raise NotLocalError
        self._there, self._values, self._objective = there, values, objective
        self._ratios = np.exp(values - log_mean)

    def join(self) -> bool:
        """Look at all other parameters; let those join the working set that violate optimality, and say if any do."""
        rough, error = self._draws.project_roughly(self._ratios - self._seen, _ROUGH * self._screen.least)
        if self._moved is not None:
            rough += self._moved
        self._moved, self._error, self._seen = rough, self._error + error, self._ratios
        # No fewer draws count at the optimum than the least share of them: margins are no larger there.
        a, b = self._screen.find(LEAST_SHARE * self._n, self._moved, self._error)
        is_other = np.isin(self._key(a, b), self._key(self.a, self.b), invert=True)
        a, b = a[is_other], b[is_other]
        gradient = self._find_gradient(a, b)
        self._others = a, b, gradient
        joins = np.abs(gradient) - self._screen.pays(a, b) > self._finest
        if not joins.any():
            return False
        a, b, there = self._merge(a[joins], b[joins], np.zeros(np.count_nonzero(joins)), self._there)
        self.a, self.b, self._there, self._model = a, b, there, None
        self._last = np.inf
        self._gradient = self._find_gradient(a, b)
        return True

    def end(self) -> Optimum | None:
        """Return the optimum, and all that may differ from zero there."""
        assert self._others is not None
        a, b, gradient = self._others
        left = self._share * self._n
        there = self._merge(a, b, np.zeros(len(a)), self._there)[2]
        a, b, gradient = self._merge(a, b, gradient, self._gradient)
        keep = (there != 0) | self._screen.may_differ(a, b, np.abs(gradient), left)
        a, b = a[keep], b[keep]
        if not is_feasible(len(a), self._draws, NearModel):
            return None
        curvature = NearModel(self._problem, self._theta, self._draws, a, b, self._reach).quadratic
        return Optimum(there[keep], gradient[keep], curvature, left, 0.0, np.ones(len(a)))

    def _find_gradient(self, a: Index, b: Index) -> Values:
        return self._screen.gradient(a, b) + self._draws.project_onto(self._ratios, a, b)

    def _key(self, a: Index, b: Index) -> Index:
        return len(self._theta) * a + b

    def _merge(self, a: Index, b: Index, values: Values, own: Values) -> tuple[Index, Index, Values]:
        """Return the working set and other parameters in their order, and values of both."""
        a, b = np.append(self.a, a), np.append(self.b, b)
        order = np.argsort(self._key(a, b), kind="stable")
        return a[order], b[order], np.append(own, values)[order]
