"""Quadratic models of the objective that draws give: of all covariances, or of those that are near in the graph."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsefield._typing import Index, Mask, Matrix, Values
from sparsefield.inference import Draws
from sparsefield.objective import RARE, Problem, Quadratic, SparseQuadratic, find_few_near, find_near
from sparsefield.solvers import DRAWS_EACH

# A set of 8192 parameters has a covariance of 512 MiB, and there are three arrays of that size at a time.
_MOST_WHOLE = 8192

# With so many parameters rows of 30 to 300 near entries have 120 MiB at most.
_MOST_NEAR = 32768

# Up to so many parameters the whole covariance is the way: inverses for the marks of 3039 take 3.2 s of CPU, and these
# a third of that, by their cubes.
_WHOLE_IS_CHEAP = 2048

# Near entries are to be no more than this share of those of the whole: blocks have wider rows.
_LARGEST_SHARE = 1 / 16

# Blocks have the statistics with a variable at most so many neighbours from one of the statistic in their middle: two,
# where rows have no more than 128 entries on average, which takes cliques of variables, and else one. On 200 blocks of
# six variables each (2193 statistics) steps with a reach of two end after 7 rounds, and those with one have no minimum.
_REACHES, _MOST_EACH = (2, 1), 128

_MOST_EPOCHS = 1000

# A model that would fall by more than this has no minimum, or one at which no draw counts: a fall of f takes weights
# with a variance of about exp(2 f).
_MOST_FALL = 10.0


class NotLocalError(ArithmeticError):
    """Statistics far apart in the graph matter to each other."""


@dataclass(frozen=True, eq=False)
class Curvature(Quadratic):
    """A curvature whose ridge is for rare statistics alone, since many steps are made with it."""

    @property
    def ridge(self) -> Matrix:
        """What the curvature of each parameter gets on top of its variance (w,)."""
        assert self.n is not None
        return _rare(self.units, self.n, self.variances)


class NearCurvature(SparseQuadratic):
    """The same of statistics that are near each other in the graph."""

    @property
    def ridge(self) -> Matrix:
        """What the curvature of each parameter gets on top of its variance (w,)."""
        return _rare(self.units, self.n, self.variances)


def _rare(units: Values | float, n: int, variances: Values) -> Values:
    return np.asarray(np.maximum(0.0, units * RARE / n - variances))


class WholeModel:
    """A model of all covariances.

    Parameters
    ----------
    problem : Problem
        What is minimised.
    draws : Draws
        The draws.
    some : ndarray of shape (size, size), bool
        The parameters.
    """

    most = _MOST_WHOLE

    def __init__(self, problem: Problem, draws: Draws, some: Mask) -> None:
        a, b = np.nonzero(np.triu(some))
        self._problem, self.quadratic = problem, Curvature.of(draws, a, b, problem.coordinates.units[a, b])

    def minimise(self, there: Matrix, gradient: Matrix, tol: float) -> tuple[Values, float]:
        """Return the step to the minimum and its decrement."""
        quadratic = self.quadratic
        moves, bends = self._problem.penalty.minimise(quadratic, there, gradient, tol=tol, max_epochs=_MOST_EPOCHS)
        return moves, float(moves @ (bends + quadratic.ridge * moves))


class NearModel:
    """A model of the covariances that are near in the graph, whose steps remember the last one.

    What it leaves out is the noise of the draws: the covariance of w statistics over n of them has eigenvalues from
    (1 - sqrt(w / n))^2 to (1 + sqrt(w / n))^2 times what they are (Marchenko and Pastur 1967). Of steps with so wrong a
    curvature the best are those that keep a share w / n of the last one (Polyak 1964): errors fall by sqrt(w / n).

    Parameters
    ----------
    problem : Problem
        What is minimised; the penalty is a sum over parameters of slots.
    theta : ndarray of shape (size, size)
        Where the draws were made.
    draws : Draws
        The draws.
    a, b : ndarray of shape (w,)
        The parameters, by the slots whose product their statistics are.
    reach : int
        How many neighbours apart statistics may be and still be near.
    """

    most = _MOST_NEAR

    def __init__(self, problem: Problem, theta: Matrix, draws: Draws, a: Index, b: Index, reach: int) -> None:
        near = find_near(theta, problem.domain.slot_variables, a, b, reach)
        assert problem.penalty.weights is not None
        self._weights, self._bends = problem.penalty.weights[a, b], np.zeros(len(a))
        self.quadratic = NearCurvature.of(draws, a, b, near, problem.coordinates.units[a, b])

    def minimise(self, there: Values, gradient: Values, tol: float, stride: float) -> tuple[Values, float]:
        """Return the step to the minimum and its decrement, NotLocalError where there is no minimum.

        The last step was made by a share of `stride`.
        """
        quadratic = self.quadratic
        kept = len(there) / quadratic.n * stride * self._bends
        moves, self._bends, has_minimum = quadratic.descend(
            there, gradient - kept, self._weights, tol=tol, max_epochs=_MOST_EPOCHS, most=_MOST_FALL
        )
        if not has_minimum:
            raise NotLocalError
        return moves, float(moves @ (self._bends + quadratic.ridge * moves))


def is_feasible(n_statistics: int, draws: Draws, kind: type[WholeModel] | type[NearModel]) -> bool:
    """Say whether there is memory for the covariance of so many statistics, and whether there are draws enough."""
    assert draws.n is not None
    return n_statistics <= min(kind.most, draws.n // DRAWS_EACH)


def choose_reach(problem: Problem, theta: Matrix, some: Mask) -> int | None:
    """Return how far blocks reach where there are many statistics and few of them near each; None for the whole."""
    a, b = np.nonzero(np.triu(some))
    if len(a) <= _WHOLE_IS_CHEAP or not problem.coordinates.is_plain or problem.penalty.groups is not None:
        return None
    for reach in _REACHES:
        most = min(_LARGEST_SHARE * len(a) ** 2, _MOST_EACH * len(a) if reach > 1 else np.inf) / 2
        if find_few_near(theta, problem.domain.slot_variables, a, b, reach, int(most)) is not None:
            return reach
    return None
