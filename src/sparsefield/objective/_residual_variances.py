"""What a regression of statistics on main effects leaves of their variances."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sparsefield._typing import Matrix
from sparsefield.data import Moments
from sparsefield.model import row_parts
from sparsefield.objective._pair_frequencies import Frequencies
from sparsefield.objective._problem import Problem


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


def rest_of_some(
    moments: Moments, is_free: NDArray[np.bool_], a: NDArray[np.int64], b: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the same of the statistics s_a s_b alone, (w,), where these are products of slots."""
    means = np.diagonal(moments.pair)
    left = _find_rest(moments.pair[a, b], means[a], means[b], is_free[a], is_free[b])
    return np.where(a == b, (means * (1 - means))[a], left)


def largest_variances(problem: Problem, moments: Moments) -> Matrix:
    """Return the variance of each statistic, or the largest one of its group, without a regression."""
    if not problem.coordinates.is_plain:
        return Frequencies(problem, moments).largest(np.zeros(problem.coordinates.size, dtype=bool))
    return np.asarray(moments.pair * (1 - moments.pair))


def rarest_share(problem: Problem, moments: Moments, a: NDArray[np.int64], b: NDArray[np.int64]) -> float:
    """Return the frequency of the rarest event that some statistics s_a s_b are about, from moments of slots."""
    if not problem.coordinates.is_plain:
        return Frequencies(problem, moments).least_share(a, b)
    means = moments.pair[a, b]
    return float(np.minimum(means, 1 - means).min(initial=1.0))


def _rest_of_slots(pair: Matrix, is_free: NDArray[np.bool_]) -> Matrix:
    """Return what a regression on s_a and s_b, where these are free, leaves of the variance of each s_a s_b."""
    found = np.empty_like(pair)
    for rows in row_parts(len(pair)):
        found[rows] = _rest_of_rows(pair, is_free, rows)
    return found


def _rest_of_rows(pair: Matrix, is_free: NDArray[np.bool_], rows: slice) -> Matrix:
    """Return some rows of what is left: of the statistics s_a s_b of some slots a and all slots b."""
    means = np.diagonal(pair)
    found = _find_rest(pair[rows], means[rows, None], means, is_free[rows, None], is_free)
    found[np.arange(len(found)), np.arange(len(pair))[rows]] = (means * (1 - means))[rows]
    return found


def _find_rest(
    pair: Matrix, mean_a: Matrix, mean_b: Matrix, free_a: NDArray[np.bool_], free_b: NDArray[np.bool_]
) -> Matrix:
    """Return what is left of variances of s_a s_b, given its mean and those of s_a and s_b; arrays broadcast."""
    variance_a, variance_b = mean_a * (1 - mean_a), mean_b * (1 - mean_b)
    first, second = pair * (1 - mean_a), pair * (1 - mean_b)  # covariances of s_a s_b with s_a and with s_b
    between = pair - mean_a * mean_b
    # A variable that never varies explains nothing: its covariances are zero.
    determinant = np.maximum(variance_a * variance_b - between**2, 1e-12)
    with_both = (first**2 * variance_b + second**2 * variance_a - 2 * first * second * between) / determinant
    with_first = np.where(free_a, first**2 / np.maximum(variance_a, 1e-12), 0.0)
    with_second = np.where(free_b, second**2 / np.maximum(variance_b, 1e-12), 0.0)
    explained = np.where(free_a & free_b, with_both, with_first + with_second)
    return np.asarray(np.clip(pair * (1 - pair) - explained, 0.0, 0.25))
