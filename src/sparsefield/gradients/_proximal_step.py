"""The paper's proximal gradient step: where it leads, its step map, and what norms that can have."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sparsefield._kernels._proximal import largest_step_norm, step_norm, take_step
from sparsefield._typing import Matrix
from sparsefield.data import Moments
from sparsefield.inference import StepRule
from sparsefield.model import norm
from sparsefield.objective import Problem


class ProximalStep:
    """Proximal gradient steps of one length from one place, which moments of the model decide on.

    The step map is the paper's G(theta) = (theta - updated theta) / step_size, which is zero at the optimum. Where the
    penalty is a soft threshold of each parameter it is made in one pass, and its norm without any matrix (a tenth of
    the time of the general form at 20 variables).

    Parameters
    ----------
    problem : Problem
        What is minimised.
    theta : ndarray of shape (size, size)
        Where steps begin.
    step_size : float
        Their length.
    """

    def __init__(self, problem: Problem, theta: Matrix, step_size: float) -> None:
        self._problem, self._theta, self._step_size = problem, theta, step_size
        self._weights = problem.penalty.weights if problem.penalty.is_threshold else None

    def take(self, moments: Moments) -> tuple[Matrix, Matrix]:
        """Return the parameters after a step, from moments of slots, and the step map."""
        theta, step_size = self._theta, self._step_size
        pair, data = self._problem.see(moments).pair, self._problem.target
        if self._weights is None:
            after = self._problem.penalty.prox(theta - step_size * (pair - data), step_size)
            return after, np.asarray((theta - after) / step_size)
        after, step_map = np.empty_like(theta), np.empty_like(theta)
        take_step(theta, pair, data, self._weights, step_size, after, step_map)
        return after, step_map

    def norm(self, moments: Moments) -> float:
        """Return the norm of the step map, from moments of slots."""
        if self._weights is None:
            return norm(self.take(moments)[1])
        pair, data = self._problem.see(moments).pair, self._problem.target
        return float(step_norm(self._theta, pair, data, self._weights, self._step_size))

    def largest_norm(self, means: NDArray[np.float64] | None = None) -> float:
        """Bound the norm of the step map over all moments that chains can have.

        A moment lies between 0 and 1. Where the means a and b of two main statistics are known, that of their product
        lies between max(0, a + b - 1) and min(a, b). An entry of the step map rises with its moment where the penalty
        is a threshold, so that the ends decide. Elsewhere there is no bound.
        """
        rule = self.rule()
        if rule is None:
            return np.inf
        size = len(self._theta)
        low, high = (np.zeros(size), np.ones(size)) if means is None else (means, means)
        return float(largest_step_norm(rule.theta, low, high, rule.data, rule.weights, rule.variables, rule.step_size))

    def rule(self) -> StepRule | None:
        """Return what the step map is made of, for kernels that check it; None where it takes more than thresholds."""
        if self._weights is None or not self._problem.coordinates.is_plain:
            return None
        data, variables = self._problem.data.moments.pair, self._problem.domain.slot_variables
        return StepRule(self._theta, data, self._weights, variables, self._step_size)
