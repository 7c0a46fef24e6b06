"""A sample of the rows of a table that is read in parts: those whose numbers have the smallest keys."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sparsefield._kernels._row_keys import find_low_keys

ALL_KEYS = 2**64 - 1
_MOST_ROWS, _MOST_BYTES = 2**16, 2**26  # of a sample: of 50 variables 65,536 rows take 3 MiB


@dataclass(frozen=True, eq=False)
class RowSample:
    """All rows of some parts whose keys are at most a bound.

    Keys are made of the numbers of rows, and look random, so that each row is in the sample with the same probability.
    Samples of two parts become one by taking the smaller bound: which rows that are depends on their numbers alone, and
    not on the parts.

    Parameters
    ----------
    chunks : tuple of (rows, keys, codes)
        Numbers of rows (k,), their keys (k,) and codes (k, p), in any order.
    bound : int
        The largest key that a row of the sample may have.
    most : int
        Rows to keep; up to twice as many are held before the others are left out.
    """

    chunks: tuple[tuple[NDArray[np.int64], NDArray[np.uint64], NDArray[np.uint8]], ...] = field(repr=False)
    bound: int
    most: int

    @classmethod
    def of_part(
        cls, codes: NDArray[np.uint8], first: int, is_kept: NDArray[np.bool_] | None, bound: int, n_asked: int
    ) -> RowSample:
        """Take rows of one part.

        Parameters
        ----------
        codes : ndarray of shape (n, p)
            The codes of its rows.
        first : int
            The number of its first row, which others follow.
        is_kept : ndarray of shape (n,), optional
            Which rows count; all unless given.
        bound : int
            The largest key that is asked for.
        n_asked : int
            Rows of this part to take at most.
        """
        rows, keys = np.empty(len(codes), dtype=np.int64), np.empty(len(codes), dtype=np.uint64)
        n = find_low_keys(np.int64(first), len(codes), np.uint64(bound), rows, keys)
        rows, keys = rows[:n], keys[:n]
        if is_kept is not None:
            rows, keys = rows[is_kept[rows]], keys[is_kept[rows]]
        if len(rows) > n_asked:
            kept = np.argpartition(keys, n_asked - 1)[:n_asked]
            rows, keys = rows[kept], keys[kept]
            bound = int(keys.max())
        return cls(((first + rows, keys.copy(), codes[rows]),), bound, sample_size(codes.shape[1]))

    @property
    def n_rows(self) -> int:
        """How many rows are held."""
        return sum(len(rows) for rows, _, _ in self.chunks)

    def recoded(self, new: NDArray[np.uint8]) -> RowSample:
        """Return the sample with other codes, new (p, 256), in place of those of each variable."""
        columns = np.arange(len(new))
        return RowSample(
            tuple((rows, keys, new[columns, codes]) for rows, keys, codes in self.chunks), self.bound, self.most
        )

    def __add__(self, other: RowSample) -> RowSample:
        """Return the sample of both parts together."""
        both = RowSample((*self.chunks, *other.chunks), min(self.bound, other.bound), min(self.most, other.most))
        return both.cut() if both.n_rows > 2 * both.most else both

    def cut(self) -> RowSample:
        """Leave out what is beyond the bound, and beyond the number of rows to keep."""
        rows, keys, codes = self._joined
        is_in = keys <= np.uint64(self.bound)
        if int(is_in.sum()) <= self.most:
            return RowSample(((rows[is_in], keys[is_in], codes[is_in]),), self.bound, self.most)
        kept = np.flatnonzero(is_in)
        kept = kept[np.argpartition(keys[kept], self.most - 1)[: self.most]]
        return RowSample(((rows[kept], keys[kept], codes[kept]),), int(keys[kept].max()), self.most)

    def in_order(self) -> NDArray[np.uint8]:
        """Return the codes of the rows to keep, in the order of their numbers."""
        rows, _, codes = self.cut()._joined
        return np.asfortranarray(codes[np.argsort(rows, kind="stable")])

    @cached_property
    def _joined(self) -> tuple[NDArray[np.int64], NDArray[np.uint64], NDArray[np.uint8]]:
        rows, keys, codes = zip(*self.chunks, strict=True)
        return np.concatenate(rows), np.concatenate(keys), np.concatenate(codes)


def sample_size(n_variables: int) -> int:
    """Return how many rows a sample has at most."""
    return min(_MOST_ROWS, max(1, _MOST_BYTES // max(1, n_variables)))
