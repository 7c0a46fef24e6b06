"""Newton steps up a log-likelihood with a normal prior."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from sparsefield._typing import Values
from sparsefield.objective import backtrack
from sparsefield.pseudolikelihood._policy import RefitPolicy


def climb(
    theta: Values,
    evaluate: Callable[[Values], tuple[float, float, Values]],
    find_step: Callable[[Values, Values], Values],
    tolerance: float,
    policy: RefitPolicy,
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
    policy : RefitPolicy
        How many steps, and how often they are halved.
    """

    def go(start: Values, step: Values, share: float) -> tuple[float, tuple[Values, float, Values]]:
        after = start + share * step
        value, likelihood, probabilities = evaluate(after)
        return -value, (after, likelihood, probabilities)

    loss, (theta, likelihood, probabilities) = go(theta, np.zeros_like(theta), 0.0)
    for _ in range(policy.most_steps):
        made = backtrack(partial(go, theta, find_step(theta, probabilities)), loss, policy.most_halvings)
        if made is None:
            break
        last, (_, loss, (theta, likelihood, probabilities)) = loss, made
        if last - loss <= tolerance:
            break
    return theta, likelihood


def solve_by_conjugates(
    bend: Callable[[Values], Values],
    precondition: Callable[[Values], Values],
    gradient: Values,
    policy: RefitPolicy,
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
    policy : RefitPolicy
        How far it is solved.
    """
    found, left = np.zeros_like(gradient), gradient.copy()
    ahead = move = precondition(left)
    size = first = float(np.vdot(left, ahead))
    for _ in range(policy.most_conjugates):
        if size <= policy.share_left**2 * first:
            break
        bent = bend(move)
        share = size / float(np.vdot(move, bent))
        found, left = found + share * move, left - share * bent
        ahead = precondition(left)
        last, size = size, float(np.vdot(left, ahead))
        move = ahead + size / last * move
    return found
