"""Common ones of all pairs of columns, counted as whole numbers by the kernel that suits the processor."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsefield import _threads
from sparsefield._kernels import _nibbles, _popcounts
from sparsefield._kernels._target import HAS_AVX2, HAS_VECTOR_POPCOUNT, borrow
from sparsefield.data._domain import Domain

MOST_ROWS = 2**31 - 1  # of one count, whose numbers have 32 bits
_BITS = 512  # observations in a block of words
# Pairs of bits that are counted in one call, by the way that any processor has: 10 microseconds of work, which is what
# more calls would add. 2000 chains of 10 variables take 5 microseconds in all, and 15 in three calls.
_FEW = 4_000_000


def count_codes(codes: NDArray[np.uint8], domain: Domain, n_threads: int | None = None) -> NDArray[np.int32]:
    """Count common ones of all pairs of main statistics over rows of codes (n, p).

    Rows are taken 65,532 at a time, so that no second copy of the table is made.
    """
    return count_slots(codes, domain.slot_variables, domain.slot_levels, n_threads)


def count_slots(
    codes: NDArray[np.uint8], variables: NDArray[np.int64], levels: NDArray[np.int64], n_threads: int | None = None
) -> NDArray[np.int32]:
    """Count the rows of codes (n, p) on which two slots are both one, each a variable that has a level."""
    _check_size(len(codes))
    total = np.zeros((len(variables), len(variables)), dtype=np.int32)
    rows = codes.T
    for start in range(0, len(codes), _nibbles.MOST):
        part = np.ascontiguousarray(rows[:, start : start + _nibbles.MOST])
        _add_counts(total, part.shape[1], n_threads, part, variables, levels)
    return total


def count_words(
    words: NDArray[np.uint64], masks: NDArray[np.uint64], n_columns: int, n: int, n_threads: int | None = None
) -> NDArray[np.int32]:
    """Count common ones of all pairs of columns over blocks of words (blocks, columns, 8), one bit per observation.

    Parameters
    ----------
    words : ndarray of shape (n_blocks, n_lines, 8)
        The bits; lines beyond the columns are padding.
    masks : ndarray of shape (n_blocks, 8)
        Ones for the observations that exist.
    n_columns : int
        How many lines are counted.
    n : int
        How many observations exist.
    n_threads : int, optional
        Threads to use; the result does not depend on it.
    """
    _check_size(n)
    total = np.zeros((n_columns, n_columns), dtype=np.int32)
    if is_few(n_columns, n) and (n_threads is None or n_threads > 0):  # others are refused below
        rows, counts = borrow_rows(n_columns, _BITS * len(words), words.shape[1])
        _popcounts.add_few(words, masks, rows, counts, total)
        return total
    step = _nibbles.MOST // _BITS
    for start in range(0, len(words), step):
        part, mask = words[start : start + step], masks[start : start + step]
        _add_counts(total, _BITS * len(part), n_threads, part, mask)
    return total


def is_few(n_columns: int, n: int) -> bool:
    """Say whether columns and observations are so few that they are counted in one call."""
    return n_columns * n_columns * n <= _FEW


def count_ones(words: NDArray[np.uint64], masks: NDArray[np.uint64], n_columns: int) -> NDArray[np.int64]:
    """Count the ones of each column over blocks of words, in a fraction of the time of all pairs."""
    return np.asarray(_popcounts.count_ones(words, masks, n_columns))


def _check_size(n: int) -> None:
    if n > MOST_ROWS:
        raise ValueError(
            f"There are {n} rows: one count holds at most {MOST_ROWS}. Split the table and add its Counts."
        )


def _add_counts(total: NDArray[np.int32], n: int, n_threads: int | None, *source: Any) -> None:
    """Add the counts of n observations, packed chains (states, masks) or codes (codes, variables, levels)."""
    count = _count_by_nibbles if HAS_AVX2 and not HAS_VECTOR_POPCOUNT else _count_by_rows
    _popcounts.add_mirrored(count(len(total), n, n_threads, *source), total)


def _count_by_nibbles(size: int, n: int, n_threads: int | None, *source: Any) -> NDArray[Any]:
    n_groups = -(-size // _nibbles.GROUP)
    n_positions = -(-n // (4 * _nibbles.TRIPLE)) * _nibbles.TRIPLE
    nibbles = borrow("nibbles", (n_groups, n_positions, _nibbles.GROUP), np.uint8)
    if len(source) == 2:
        _nibbles.nibbles_from_packed(*source, nibbles.view(np.uint64))
    else:
        _nibbles.nibbles_from_codes(*source, nibbles)
    # Rows a power of two apart would share a few sets of the first cache: 32 more columns keep them off each other.
    width = _nibbles.GROUP * n_groups
    counts = borrow("counts", (width, width + 32), np.uint16)
    counts.fill(0)
    parts = _share_rows(size, n, _nibbles.ROWS, n_threads)
    _threads.run(_nibbles.count_nibbles, [(nibbles, part, _nibbles.COMMON, counts) for part in parts])
    return counts


def _count_by_rows(size: int, n: int, n_threads: int | None, *source: Any) -> NDArray[Any]:
    # States come with padding variables, which have a row but are not counted.
    rows, counts = borrow_rows(size, n, source[0].shape[1] if len(source) == 2 else 0)
    if len(source) == 2:
        _popcounts.rows_from_packed(*source, rows)
    else:
        _popcounts.rows_from_codes(*source, rows)
    parts = _share_rows(len(counts), n, _popcounts.SIDE, n_threads)
    _threads.run(_popcounts.count_rows, [(rows, part, counts) for part in parts])
    return counts


def borrow_rows(size: int, n: int, n_lines: int) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
    """Return working memory for rows of bits and for their counts."""
    height = -(-size // _popcounts.SIDE) * _popcounts.SIDE
    n_words = -(-n // (64 * _popcounts.WORDS)) * _popcounts.WORDS
    rows = borrow("rows", (max(height, n_lines), n_words), np.uint64)
    return rows, borrow("counts", (height, height + 16), np.int32)


def _share_rows(size: int, n: int, step: int, n_threads: int | None) -> list[NDArray[np.int64]]:
    """Deal every step-th row out to the threads like cards: later rows have more columns to count."""
    firsts = np.arange(0, size, step)
    # 200 pairs of bits a nanosecond is what both ways of counting at least reach.
    n_shares = len(_threads.share(len(firsts), n_threads, size * size / 2 * n / 2e11))
    return [np.ascontiguousarray(firsts[k::n_shares]) for k in range(n_shares)]
