"""Accelerated proximal gradient (FISTA), for pseudo-likelihoods with too many parameters for a quadratic model."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sparsefield._typing import Values
from sparsefield.objective import backtrack
from sparsefield.pseudolikelihood._pair_loss import PairLoss
from sparsefield.pseudolikelihood._policy import PseudoPolicy

_MOST_HALVINGS = 1000  # which leave 1e-301 of a step: nothing, beside what moves
_CLOSE = 1e-12  # of a loss: what rounding makes of it


class Accelerated:
    """Steps with momentum that begins anew where it leads up (O'Donoghue and Candes 2015), and lengths that adapt.

    Parameters
    ----------
    loss : PairLoss
        The smooth part.
    groups : ndarray of shape (n_groups + 1,)
        Where each group of parameters begins, and where the last one ends.
    weights : ndarray of shape (n_groups,)
        What the norm of each group pays.
    policy : PseudoPolicy
        How many steps, and how lengths adapt.
    """

    def __init__(self, loss: PairLoss, groups: NDArray[np.int64], weights: Values, policy: PseudoPolicy) -> None:
        self._loss, self._starts, self._weights, self._policy = loss, groups[:-1], weights, policy
        self._counts = np.diff(groups)

    def run(self, start: Values, tol: float, step_size: float) -> tuple[Values, float]:
        """Make steps until the smallest subgradient has a norm of at most tol; return where they end, and their length.

        Parameters
        ----------
        start : ndarray
            Where to start.
        tol : float
            When to end.
        step_size : float
            Length of the first one.
        """
        now = before = start
        value, slope = self._loss.evaluate(start)
        momentum = 1.0
        for _ in range(self._policy.most_steps):
            if np.linalg.norm(self._subgradient(now, slope)) <= tol:
                break
            following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
            weight = (momentum - 1) / following
            ahead = now + weight * (now - before)
            at = (value, slope) if weight == 0 else self._loss.evaluate(ahead)
            after, new, step_size = self._step(ahead, *at, step_size)
            if weight > 0 and (ahead - after) @ (after - now) > 0:  # momentum leads away from where steps go
                after, new, step_size = self._step(now, value, slope, step_size)
                following = 1.0
            before, now, momentum = now, after, following
            value, slope = new
            step_size *= self._policy.longer
        return now, step_size

    def _step(
        self, ahead: Values, value: float, slope: Values, step_size: float
    ) -> tuple[Values, tuple[float, Values], float]:
        """Make one proximal step whose length the loss allows: it stays below its quadratic model."""

        def go(share: float) -> tuple[float, tuple[Values, tuple[float, Values], float]]:
            size = share * step_size
            after = self._shrink(ahead - size * slope, size)
            step, new = after - ahead, self._loss.evaluate(after)
            most = value + slope @ step + step @ step / (2 * size)
            return float(new[0] - (most + _CLOSE * abs(value))), (after, new, size)

        made = backtrack(go, 0.0, _MOST_HALVINGS)
        assert made is not None  # since no step at all stays there
        return made[2]

    def _norms(self, values: Values) -> Values:
        """Return the norm of the group of each parameter."""
        norms = np.sqrt(np.add.reduceat(values**2, self._starts))
        return np.asarray(np.repeat(np.maximum(norms, 1e-300), self._counts))

    def _shrink(self, values: Values, step_size: float) -> Values:
        weights = np.repeat(self._weights, self._counts)
        return np.asarray(values * np.maximum(1 - step_size * weights / self._norms(values), 0.0))

    def _subgradient(self, values: Values, slope: Values) -> Values:
        """Return the smallest subgradient."""
        weights, norms = np.repeat(self._weights, self._counts), self._norms(values)
        at_zero = slope * np.maximum(1 - weights / self._norms(slope), 0.0)
        return np.where(norms > 1e-300, slope + weights * values / norms, at_zero)
