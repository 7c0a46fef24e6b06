"""Working set (active set): which parameters a quadratic model is about."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sparsefield._typing import Index, Mask, Matrix, Values
from sparsefield.model import count_once


def choose_active(
    theta: Matrix,
    subgradient: Matrix,
    fits: Callable[[Mask], bool],
    groups: Index | None = None,
) -> Mask:
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
    inside, sizes = theta != 0, np.abs(subgradient)
    kept, outside = _whole_groups(inside, groups), np.where(inside, 0.0, sizes)

    def take(sizes: Matrix, n: int) -> Mask:
        return _whole_groups(_largest(sizes, n), groups)

    n_nonzero = count_once(inside)
    n_new = count_zeros(n_nonzero, len(theta))
    active = kept | take(outside, n_new)
    while n_new > 0 and not fits(active):
        n_new //= 2
        active = kept | take(outside, n_new)
    return np.asarray(active) if n_new > 0 else shrink_to_fit(lambda n: take(sizes, n), n_nonzero, fits)


def count_zeros(n_nonzero: int, n_slots: int) -> int:
    """Return how many zeros a working set has: as many as there are parameters that are not zero.

    There are two for each slot at least, so that a fit without edges can find some.
    """
    return max(2 * n_slots, n_nonzero)


def pick_largest(sizes: Values, n: int) -> Index:
    """Return the indices of the n largest sizes, in no order (selection by partition); all where there are no more."""
    return np.argpartition(-sizes, n)[:n] if n < len(sizes) else np.arange(len(sizes))


def shrink_to_fit(take: Callable[[int], Mask], n: int, fits: Callable[[Mask], bool]) -> Mask:
    """Return a working set that is small enough: of so many parameters, or else of 3/4 of them, again and again.

    Parameters
    ----------
    take : callable
        Marks the working set of so many parameters.
    n : int
        How many are tried first.
    fits : callable
        Says whether a working set is small enough.
    """
    active = take(n)
    while n > 1 and not fits(active):
        n = 3 * n // 4
        active = take(n)
    return active


def size_of_working_set(theta: Matrix) -> int:
    """Return how many parameters a working set has, where there is room: those that are not zero, and some zeros."""
    n_nonzero = count_once(theta)
    return n_nonzero + count_zeros(n_nonzero, len(theta))


def _whole_groups(marked: Mask, groups: Index | None) -> Mask:
    """Mark all members of a group one of whose members is marked."""
    return marked if groups is None else np.isin(groups, groups[marked])


def _largest(sizes: Matrix, n: int) -> Mask:
    """Mark the n largest entries of a symmetric matrix that are not zero, a pair of equal ones counted once."""
    a, b = np.nonzero(np.triu(sizes))
    some = pick_largest(sizes[a, b], n)
    a, b = a[some], b[some]
    marked = np.zeros(sizes.shape, dtype=bool)
    marked[a, b] = marked[b, a] = True
    return marked
