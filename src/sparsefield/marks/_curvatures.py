"""Curvatures (Hessians) of the objective that draws give: of all covariances, or of those near in the graph."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsefield._typing import Index, Mask, Matrix, Values
from sparsefield.gradients import Drawn
from sparsefield.inference import Draws
from sparsefield.marks._policy import MarksPolicy
from sparsefield.objective import RARE, Quadratic, SparseQuadratic, find_few_near, find_near


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


def whole_curvature(here: Drawn, some: Mask) -> Curvature:
    """Return the curvature over the parameters that are marked, of shape (size, size)."""
    a, b = np.nonzero(np.triu(some))
    return Curvature.of(here.draws, a, b, here.problem.coordinates.units[a, b])


def near_curvature(here: Drawn, a: Index, b: Index, reach: int) -> NearCurvature:
    """Return the curvature over a list of parameters, of statistics `reach` neighbours apart at most in theta."""
    near = find_near(here.theta, here.problem.domain.slot_variables, a, b, reach)
    return NearCurvature.of(here.draws, a, b, near, here.problem.coordinates.units[a, b])


def decrement(curvature: Curvature | NearCurvature, moves: Values, bends: Values) -> float:
    """Return the squared Newton decrement of moves, of which the covariance makes `bends`."""
    return float(moves @ (bends + curvature.ridge * moves))


def is_feasible(n_statistics: int, draws: Draws, most: int, *, policy: MarksPolicy) -> bool:
    """Say whether so many statistics are no more than `most`, for memory, and whether there are draws enough."""
    assert draws.n is not None
    return n_statistics <= min(most, draws.n // policy.draws_each)


def choose_reach(here: Drawn, some: Mask, *, policy: MarksPolicy) -> int | None:
    """Return how far blocks reach where there are many statistics and few of them near each; None for the whole."""
    a, b = np.nonzero(np.triu(some))
    if len(a) <= policy.whole_is_cheap or not here.problem.is_by_slots:
        return None
    for reach in policy.reaches:
        most = min(policy.largest_share * len(a) ** 2, policy.most_each * len(a) if reach > 1 else np.inf) / 2
        if find_few_near(here.theta, here.problem.domain.slot_variables, a, b, reach, int(most)) is not None:
            return reach
    return None
