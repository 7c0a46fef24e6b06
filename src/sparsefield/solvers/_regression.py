"""What a regression of statistics on main effects leaves of their variances."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sparsefield.data import Moments
from sparsefield.model import Matrix, row_parts
from sparsefield.objective import Problem
from sparsefield.solvers._frequencies import Frequencies


def rest_variances(problem: Problem, moments: Moments, is_free: NDArray[np.bool_]) -> Matrix:
    """Return the variance of each statistic that is left by a regression on those of free main effects.

    Free parameters follow the noise of their own statistics, and the gradients of all others with them. Of parameters
    that vanish in groups it is the largest variance of a combination whose coefficients have norm one.

    Parameters
    ----------
    problem : Problem
        Whose statistics they are.
    moments : Moments
        Moments of slots.
    is_free : ndarray of shape (size,), bool
        The main effects that are free.
    """
    if not problem.coordinates.is_plain:
        return Frequencies(problem, moments).largest(is_free)
    return _rest_of_slots(moments.pair, is_free)


def largest_variances(problem: Problem, moments: Moments) -> Matrix:
    """Return the variance of each statistic, or the largest one of its group, without a regression."""
    if not problem.coordinates.is_plain:
        return Frequencies(problem, moments).largest(np.zeros(problem.coordinates.size, dtype=bool))
    return np.asarray(moments.pair * (1 - moments.pair))


def _rest_of_slots(pair: Matrix, is_free: NDArray[np.bool_]) -> Matrix:
    """Return what a regression on s_a and s_b, where these are free, leaves of the variance of each s_a s_b."""
    found = np.empty_like(pair)
    for rows in row_parts(len(pair)):
        found[rows] = _rest_of_rows(pair, is_free, rows)
    return found


def _rest_of_rows(pair: Matrix, is_free: NDArray[np.bool_], rows: slice) -> Matrix:
    """Return some rows of what is left: of the statistics s_a s_b of some slots a and all slots b."""
    means = np.diagonal(pair)
    variances = means * (1 - means)
    own = pair[rows]
    first = own * (1 - means)[rows, None]  # covariance of s_a s_b with s_a
    second = own * (1 - means)  # and with s_b
    safe = np.maximum(variances, 1e-12)  # a variable that never varies explains nothing: its covariances are zero
    between = own - np.outer(means[rows], means)
    determinant = np.maximum(np.outer(variances[rows], variances) - between**2, 1e-12)
    with_both = (
        first**2 * variances[None, :] + second**2 * variances[rows, None] - 2 * first * second * between
    ) / determinant
    with_first = np.where(is_free[rows, None], first**2 / safe[rows, None], 0.0)
    with_second = np.where(is_free[None, :], second**2 / safe[None, :], 0.0)
    explained = np.where(is_free[rows, None] & is_free, with_both, with_first + with_second)
    explained[np.arange(len(own)), np.arange(len(pair))[rows]] = 0.0
    return np.asarray(np.clip(own * (1 - own) - explained, 0.0, 0.25))
