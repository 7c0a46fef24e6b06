"""Which parameters a quadratic model is about."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sparsefield._typing import Matrix
from sparsefield.model import count_once


def choose_active(
    theta: Matrix,
    subgradient: Matrix,
    fits: Callable[[NDArray[np.bool_]], bool],
    groups: NDArray[np.int64] | None = None,
) -> NDArray[np.bool_]:
    """Choose a working set: what is not zero, and about as many of the zeros that violate optimality most.

    Where that does not fit there are fewer zeros; where what is not zero leaves no room for any, those go first that
    violate optimality most, zero or not.

    Parameters
    ----------
    theta, subgradient : ndarray of shape (n_slots, n_slots)
        The parameters, and the smallest subgradient of the objective there.
    fits : callable
        Says whether a working set is small enough.
    groups : ndarray of shape (n_slots, n_slots), integers, optional
        Groups of parameters that are inside or outside together (`Penalty.groups`).
    """
    inside = theta != 0
    sizes = np.abs(subgradient)

    def take(sizes: Matrix, n: int) -> NDArray[np.bool_]:
        return _whole_groups(_largest(sizes, n), groups)

    n_new = size_of_working_set(theta) - count_once(inside)
    outside = np.where(inside, 0.0, sizes)
    active = _whole_groups(inside, groups) | take(outside, n_new)
    while n_new > 0 and not fits(active):
        n_new //= 2
        active = _whole_groups(inside, groups) | take(outside, n_new)
    if n_new > 0:
        return np.asarray(active)
    n = count_once(inside)
    active = take(sizes, n)
    while n > 1 and not fits(active):
        n = 3 * n // 4
        active = take(sizes, n)
    return active


def size_of_working_set(theta: Matrix) -> int:
    """Return how many parameters a working set has, where there is room: those that are not zero, and as many zeros.

    There are two zeros for each slot at least, so that a fit without edges can find some.
    """
    n_nonzero = count_once(theta)
    return n_nonzero + max(2 * len(theta), n_nonzero)


def _whole_groups(marked: NDArray[np.bool_], groups: NDArray[np.int64] | None) -> NDArray[np.bool_]:
    """Mark all members of a group one of whose members is marked."""
    return marked if groups is None else np.isin(groups, groups[marked])


def _largest(sizes: Matrix, n: int) -> NDArray[np.bool_]:
    """Mark the n largest entries of a symmetric matrix that are not zero, a pair of equal ones counted once."""
    a, b = np.nonzero(np.triu(sizes))
    if n < len(a):
        some = np.argpartition(-sizes[a, b], n)[:n] if n else np.zeros(0, dtype=np.int64)
        a, b = a[some], b[some]
    marked = np.zeros(sizes.shape, dtype=bool)
    marked[a, b] = marked[b, a] = True
    return marked
