"""How many draws it takes until fits with different seeds agree on the edges."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import ndtr

from sparsefield.model import Matrix
from sparsefield.solvers._batch import Index, Values
from sparsefield.solvers._fall import Stand
from sparsefield.solvers._move import Move
from sparsefield.solvers._targets import by_group


def draws_for_agreement(here: Stand, move: Move, share: float) -> int:
    """Return the draws with which another seed is expected to find this share of the edges of a fit.

    On n draws a parameter that is not zero has standard error sd / sqrt(n), from the inverse of the covariance over all
    that are not zero. The difference of two fits has sqrt(2) times that, so that the second one loses an edge of weight
    t with probability Phi(-t sqrt(n / 2) / sd), where it would have the other sign. The mean of this over the edges of
    the fit is brought down to 1 - share. Where the parameters of an edge vanish together, t is their norm, and sd that
    of the norm as it becomes zero: 1 / sd^2 is the curvature along them that the other parameters leave.

    Parameters
    ----------
    here : Stand
        The fit, with draws that had no part in choosing it.
    move : Move
        The step that these suggest, for its curvature.
    share : float
        The share of the edges that the second fit is to have too.
    """
    quadratic, theta = move.quadratic, here.theta
    a, b = quadratic.first, quadratic.second
    some = np.flatnonzero(theta[a, b])
    is_edge = (a != b)[some]
    if not is_edge.any():
        return 1
    factor = cho_factor(quadratic.covariance(some), overwrite_a=True)
    inverse = cho_solve(factor, np.eye(len(some)), overwrite_b=True)
    groups = here.problem.penalty.groups
    if groups is None:
        sizes = np.abs(theta[a, b][some][is_edge]) / np.sqrt(2 * np.diagonal(inverse)[is_edge])
    else:
        own = np.flatnonzero(is_edge)
        sizes = _sizes_of_groups(theta[a, b][some][own], inverse[np.ix_(own, own)], groups[a, b][some][own])
    low, high = 0.0, 100.0  # base-2 logarithms of the number of draws
    while high - low > 0.01:
        middle = (low + high) / 2
        is_enough = ndtr(-sizes * np.sqrt(2**middle)).mean() <= 1 - share
        low, high = (low, middle) if is_enough else (middle, high)
    return int(np.ceil(2**high))


def _sizes_of_groups(theta: Values, inverse: Matrix, groups: Index) -> Values:
    """Return the norms of groups over sqrt(2) standard errors, from the inverse covariance of their statistics.

    With R the inverse of the block of a group and x its parameters, the squared ratio of norm and standard error is
    x . R x.
    """
    members = by_group(groups)
    squares = [theta[own] @ np.linalg.solve(inverse[np.ix_(own, own)], theta[own]) for own in members]
    return np.sqrt(np.array(squares) / 2)
