"""The paper's criterion, checked between sweeps: a bound on the bias below half the norm of the step map."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsefield._kernels._interim import ROUNDED_UP
from sparsefield.data import Moments
from sparsefield.gradients._proximal_step import ProximalStep
from sparsefield.gradients._schedule import Point
from sparsefield.inference import ChainStates
from sparsefield.objective import Problem


class Criterion:
    """The criterion of an iteration.

    Parameters
    ----------
    problem : Problem
        What is minimised.
    point : Point
        Where.

    Attributes
    ----------
    limit : float
        Half of the largest norm that a step map can have here: no moments are taken while a bound is above that.
    """

    def __init__(self, problem: Problem, point: Point) -> None:
        self._step = ProximalStep(problem, point.theta, point.step_size)
        self._rule = self._step.rule()
        self.limit = self._step.largest_norm() / 2

    def can_hold(self, bias: float) -> bool:
        """Say whether a bound is worth a check."""
        return bias < self.limit or bias == 0

    def sweep(self, chains: ChainStates, scan: Any, biases: NDArray[np.float64]) -> tuple[int, Moments | None]:
        """Sweep until the criterion is met: return the sweeps made, and the moments after them if it is.

        `biases` has the bounds after one sweep, two, ...: so many are made at most.
        """
        found = None if self._rule is None else chains.sweep_until(scan, biases, self.limit, self._rule)
        return self.sweep_plainly(chains, scan, biases) if found is None else found

    def sweep_plainly(self, chains: ChainStates, scan: Any, biases: NDArray[np.float64]) -> tuple[int, Moments | None]:
        """Do the same with nothing but sweeps, means and moments."""
        made = 0
        for n in 1 + np.flatnonzero((biases < self.limit) | (biases == 0)):
            chains.sweep(scan, int(n) - made)
            made, bias = int(n), float(biases[n - 1])
            if self._is_above(bias, chains.means()):
                continue
            moments = chains.moments()
            if bias < self.step_norm(moments) / 2 or bias == 0:
                return made, moments
        chains.sweep(scan, len(biases) - made)
        return len(biases), None

    def step_norm(self, moments: Moments) -> float:
        """Return the norm of the step map that moments lead to."""
        return self._step.norm(moments)

    def _is_above(self, bias: float, means: NDArray[np.float64]) -> bool:
        """Say whether a bound is above half of every step map that these main moments allow."""
        return bias > 0 and bias >= ROUNDED_UP * self._step.largest_norm(means) / 2
