"""Newton steps up a log-likelihood with a normal prior."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from sparsefield._typing import Values
from sparsefield.objective import backtrack

# A normal prior keeps weights finite where neighbours tell a variable without error: weights have a standard deviation
# of 10, so that it costs at most half a nat below 10, where a probability is 5e-5 from certain; main effects have 1000.
PRECISION, PRECISION_OF_MAIN = 1e-2, 1e-6

_MOST_STEPS, _MOST_HALVINGS = 50, 20
TOLERANCE = 1e-3  # nats that the last step gained, over all rows; criteria ask for log(n) nats a parameter

# A step that conjugate gradients leave to a tenth gains all but a hundredth of what it could.
_SHARE_LEFT, _MOST_CONJUGATES = 0.1, 500


def climb(
    theta: Values,
    evaluate: Callable[[Values], tuple[float, float, Values]],
    find_step: Callable[[Values, Values], Values],
    tolerance: float = TOLERANCE,
) -> tuple[Values, float]:
    """Return the parameters, and the log-likelihood, by Newton steps that never lead down.

    Parameters
    ----------
    theta : ndarray
        Where to start.
    evaluate : callable
        Returns the log-likelihood with and without the prior, and the probabilities of levels in each row.
    find_step : callable
        Returns the Newton step from parameters and these probabilities.
    tolerance : float
        Nats: a step that gains no more is the last one.
    """

    def go(start: Values, step: Values, share: float) -> tuple[float, tuple[Values, float, Values]]:
        after = start + share * step
        value, likelihood, probabilities = evaluate(after)
        return -value, (after, likelihood, probabilities)

    loss, (theta, likelihood, probabilities) = go(theta, np.zeros_like(theta), 0.0)
    for _ in range(_MOST_STEPS):
        made = backtrack(partial(go, theta, find_step(theta, probabilities)), loss, _MOST_HALVINGS)
        if made is None:
            break
        last, (_, loss, (theta, likelihood, probabilities)) = loss, made
        if last - loss <= tolerance:
            break
    return theta, likelihood


def solve_by_conjugates(
    bend: Callable[[Values], Values], precondition: Callable[[Values], Values], gradient: Values
) -> Values:
    """Solve a linear system by conjugate gradients (Hestenes and Stiefel 1952), with a matrix that is about its own.

    Parameters
    ----------
    bend : callable
        Returns the product of the matrix of the system, symmetric and positive, with parameters.
    precondition : callable
        Returns the product of the inverse of one like it.
    gradient : ndarray
        The right side.
    """
    found, left = np.zeros_like(gradient), gradient.copy()
    ahead = move = precondition(left)
    size = first = float(np.vdot(left, ahead))
    for _ in range(_MOST_CONJUGATES):
        if size <= _SHARE_LEFT**2 * first:
            break
        bent = bend(move)
        share = size / float(np.vdot(move, bent))
        found, left = found + share * move, left - share * bent
        ahead = precondition(left)
        last, size = size, float(np.vdot(left, ahead))
        move = ahead + size / last * move
    return found
