"""Whole-number counts of the sufficient statistics, which add up, and their means."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sparsefield.data._counting import MOST_ROWS, count_codes
from sparsefield.data._domain import Domain
from sparsefield.data._errors import TableError
from sparsefield.data._phrases import count
from sparsefield.data._table import Table, check_weights

_ROWS_AT_ONCE = 8192  # whose indicators are held as floats at one time


@dataclass(frozen=True, eq=False)
class Moments:
    """Means of the statistics.

    Parameters
    ----------
    main : ndarray of shape (n_slots,)
        Mean of each main statistic: how often a variable takes a level that has parameters.
    pair : ndarray of shape (n_slots, n_slots)
        Mean of the product of two main statistics. Inside a variable it is the main mean on the diagonal and zero
        beside it.
    n : int or None
        The number of observations behind the means; None if they are exact.

    Examples
    --------
    How often each of two variables is 1 in four rows, and how often both are:

    >>> import sparsefield as sf
    >>> moments = sf.data.moments_of_table(sf.encode([[0, 1], [1, 1], [1, 1], [1, 0]]))
    >>> moments.main.tolist(), float(moments.pair[0, 1]), moments.n
    ([0.75, 0.75], 0.5, 4)
    """

    main: NDArray[np.float64]
    pair: NDArray[np.float64]
    n: int | None

    @classmethod
    def of_pairs(cls, pair: NDArray[np.float64], n: int | None) -> Moments:
        """Return the moments whose main ones are on the diagonal of the pair ones."""
        return cls(np.diagonal(pair).copy(), pair, n)


@dataclass(frozen=True, eq=False)
class Counts:
    """How often pairs of levels were seen together: whole numbers, which add up across parts of a table.

    Parameters
    ----------
    pair : ndarray of shape (n_slots, n_slots), integers
        Rows on which two main statistics are both one.
    n : int
        Rows counted.

    Examples
    --------
    >>> import sparsefield as sf
    >>> from sparsefield.data import count_table
    >>> table = sf.encode([[0, 1], [1, 1], [0, 0], [0, 1]])
    >>> (count_table(table[:2]) + count_table(table[2:])).moments().pair
    array([[0.25, 0.25],
           [0.25, 0.75]])
    """

    pair: NDArray[np.integer]
    n: int

    def __add__(self, other: Counts) -> Counts:
        """Return the counts of both parts together."""
        if self.pair.shape != other.pair.shape:
            raise ValueError(f"Counts of shapes {self.pair.shape} and {other.pair.shape} do not add up.")
        n = self.n + other.n
        first = self.pair.astype(np.int64) if n > MOST_ROWS else self.pair
        return Counts(first + other.pair, n)

    def moments(self) -> Moments:
        """Return the means."""
        _refuse_empty(self.n)
        return Moments.of_pairs(self.pair / self.n, self.n)


def count_table(table: Table, *, n_threads: int | None = None) -> Counts:
    """Count the statistics of a table without missing values.

    Parameters
    ----------
    table : Table
        Observations, or a part of them; those that are counted already are not counted again.
    n_threads : int, optional
        Threads to use; the result does not depend on it.
    """
    from sparsefield.data._counted import CountedTable

    if isinstance(table, CountedTable):
        return table.counts
    _refuse_missing(table)
    return Counts(count_codes(table.codes, table.domain, n_threads), table.n_rows)


def moments_of_table(table: Table, *, n_threads: int | None = None) -> Moments:
    """Return the data moments of a table without missing values.

    Parameters
    ----------
    table : Table
        Observations.
    n_threads : int, optional
        Threads to use; the result does not depend on it.

    Examples
    --------
    >>> import sparsefield as sf
    >>> sf.data.moments_of_table(sf.encode([[0, 1], [1, 1], [0, 0], [0, 1]])).pair
    array([[0.25, 0.25],
           [0.25, 0.75]])
    """
    return count_table(table, n_threads=n_threads).moments()


def moments_of_codes(codes: NDArray[np.uint8], domain: Domain, n_threads: int | None = None) -> Moments:
    """Return the moments of codes (n, p) none of which is missing."""
    return Counts(count_codes(codes, domain, n_threads), len(codes)).moments()


def weighted_moments(table: Table, weights: NDArray[np.float64] | None) -> Moments:
    """Return the data moments of a table without missing values whose rows count as often as their weights say.

    Without weights each counts once, and is counted in whole numbers.
    """
    if weights is None:
        return moments_of_table(table)
    check_observed(table)
    check_weights(weights, table.n_rows)
    pair = np.zeros((table.domain.n_slots, table.domain.n_slots))
    for start in range(0, table.n_rows, _ROWS_AT_ONCE):
        s = table.domain.indicators(table.codes[start : start + _ROWS_AT_ONCE])
        pair += (s.T * weights[start : start + len(s)]) @ s
    return Moments.of_pairs((pair + pair.T) / (2 * weights.sum()), table.n_rows)


def check_observed(table: Table) -> None:
    """Refuse a table that has no rows, or missing values."""
    _refuse_empty(table.n_rows)
    _refuse_missing(table)


def _refuse_empty(n_rows: int) -> None:
    if n_rows == 0:
        raise TableError("The table has no rows", "moments need at least one observation")


def _refuse_missing(table: Table) -> None:
    missing = table.n_missing
    if missing.any():
        name = table.domain.names[int(missing.argmax())]
        raise TableError(
            f"The table has {count(missing.sum(), 'missing value')}, most in column {name!r}",
            "use fill_missing or drop_missing first",
            column=name,
        )
