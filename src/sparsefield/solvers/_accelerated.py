"""Accelerated proximal gradient steps, for pseudo-likelihoods with too many parameters for a quadratic model."""

from __future__ import annotations

import numpy as np

from sparsefield.model import Matrix, sum_once
from sparsefield.objective import L1, Group, PseudoLikelihoodLoss

_STEPS_AT_ONCE = 10  # before the fit is looked at again
_SHORTER, _LONGER = 0.5, 1.1  # a step that goes too far is halved; the next one may be a little longer


class Accelerated:
    """Steps with momentum that begins anew where it leads up (O'Donoghue and Candes 2015), and lengths that adapt.

    Parameters
    ----------
    loss : PseudoLikelihoodLoss
        The smooth part.
    penalty : L1 or Group
        The penalty.
    """

    def __init__(self, loss: PseudoLikelihoodLoss, penalty: L1 | Group) -> None:
        self._loss, self._penalty = loss, penalty
        self._step_size, self._momentum, self._before = 1.0, 1.0, np.zeros((0, 0))

    def advance(self, theta: Matrix, value: float, gradient: Matrix) -> tuple[Matrix, float, Matrix]:
        """Make some steps from theta, and return where they lead, with the loss and its gradient there."""
        before = self._before if self._before.shape == theta.shape else theta
        for _ in range(_STEPS_AT_ONCE):
            following = (1 + np.sqrt(1 + 4 * self._momentum**2)) / 2
            weight = (self._momentum - 1) / following
            ahead = theta + weight * (theta - before)
            at, slope = (value, gradient) if weight == 0 else self._loss.evaluate(ahead)
            after, new_value, new_gradient = self._step(ahead, at, slope)
            if sum_once((ahead - after) * (after - theta)) > 0:  # momentum leads away from where steps go
                self._momentum = 1.0
                ahead, at, slope = theta, value, gradient
                after, new_value, new_gradient = self._step(ahead, at, slope)
            else:
                self._momentum = following
            before, theta, value, gradient = theta, after, new_value, new_gradient
            self._step_size *= _LONGER
        self._before = before
        return theta, value, gradient

    def _step(self, ahead: Matrix, value: float, slope: Matrix) -> tuple[Matrix, float, Matrix]:
        """Make one proximal step whose length the loss allows: it stays below its quadratic model."""
        while True:
            after = self._penalty.prox(ahead - self._step_size * slope, self._step_size)
            step = after - ahead
            new_value, new_gradient = self._loss.evaluate(after)
            most = value + sum_once(slope * step) + sum_once(step * step) / (2 * self._step_size)
            if new_value <= most + np.finfo(self._loss.dtype).eps * abs(value):
                return after, new_value, new_gradient
            self._step_size *= _SHORTER
