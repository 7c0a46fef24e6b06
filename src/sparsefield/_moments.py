"""Means of the sufficient statistics of tables and chains, as whole-number counts until the last division."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsefield import _threads
from sparsefield._domain import Domain
from sparsefield._kernels import _nibbles, _popcounts
from sparsefield._kernels._target import HAS_AVX2, HAS_VECTOR_POPCOUNT, borrow
from sparsefield._table import Table

_MOST_ROWS = 2**31 - 1  # counts are 32-bit
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
    """

    main: NDArray[np.float64]
    pair: NDArray[np.float64]
    n: int | None


def moments_of_table(table: Table, *, n_threads: int | None = None) -> Moments:
    """Return the data moments of a table without holes.

    Parameters
    ----------
    table : Table
    n_threads : int, optional
        Threads to use; the result does not depend on it.

    Examples
    --------
    >>> import sparsefield as sf
    >>> sf.moments_of_table(sf.encode([[0, 1], [1, 1], [0, 0], [0, 1]])).pair
    array([[0.25, 0.25],
           [0.25, 0.75]])
    """
    holes = table.n_holes
    if holes.any():
        name = table.domain.names[int(holes.argmax())]
        raise ValueError(
            f"The table has {holes.sum()} hole(s), most in column {name!r}: use fill_holes or drop_holes first."
        )
    return moments_of_codes(table.codes, table.domain, n_threads)


def weighted_moments(table: Table, weights: NDArray[np.float64]) -> Moments:
    """Return the data moments of a table without holes in which rows count as often as their weights say."""
    check_weights(weights, table.n_rows)
    pair = np.zeros((table.domain.n_slots, table.domain.n_slots))
    for start in range(0, table.n_rows, _ROWS_AT_ONCE):
        s = table.domain.indicators(table.codes[start : start + _ROWS_AT_ONCE])
        pair += (s.T * weights[start : start + len(s)]) @ s
    pair = (pair + pair.T) / (2 * weights.sum())
    return Moments(np.diagonal(pair).copy(), pair, table.n_rows)


def check_weights(weights: NDArray[np.float64], n_rows: int) -> None:
    """Refuse weights that rows cannot have."""
    if weights.shape != (n_rows,) or not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise ValueError(f"Weights must be {n_rows} numbers from zero on, one a row.")
    if not weights.sum() > 0:
        raise ValueError("The weights add up to zero: give at least one row a positive weight.")


def _as_moments(counts: NDArray[np.int32], n: int) -> Moments:
    pair = counts / n
    return Moments(np.diagonal(pair).copy(), pair, n)


def moments_of_codes(codes: NDArray[np.uint8], domain: Domain, n_threads: int | None = None) -> Moments:
    """Return the moments of codes (n, p) without holes."""
    if len(codes) == 0:
        raise ValueError("The table has no rows: moments need at least one observation.")
    return _as_moments(count_codes(codes, domain, n_threads), len(codes))


def moments_of_chains(
    states: NDArray[np.uint32], domain: Domain, n_chains: int, n_threads: int | None = None
) -> Moments:
    """Return the moments of packed chains of variables with at most two levels."""
    counts = count_packed(states, domain.n_variables, n_chains, n_threads)
    return _as_moments(counts if domain.is_binary else _count_slots(counts, domain, n_chains), n_chains)


def means_of_chains(states: NDArray[np.uint32], domain: Domain, n_chains: int) -> NDArray[np.float64]:
    """Return the means of the main statistics alone of packed chains, in a fraction of the time of all moments."""
    masks = _chain_masks(len(states), n_chains)
    ones = _popcounts.count_ones(states.view(np.uint64), masks, domain.n_variables)[domain.slot_variables]
    return np.asarray(np.where(domain.slot_levels == 0, n_chains - ones, ones) / n_chains)


def _count_slots(counts: NDArray[np.int32], domain: Domain, n: int) -> NDArray[np.int32]:
    """Turn counts of ones into counts of the levels with parameters: the indicator of level 0 is 1 - x."""
    i = domain.slot_variables
    ones = np.diagonal(counts)[i]
    both = counts[np.ix_(i, i)]
    zero = domain.slot_levels == 0
    first, second = np.broadcast_to(ones[:, None], both.shape), np.broadcast_to(ones, both.shape)
    both = np.where(zero[:, None], second - both, both)
    left = np.where(zero[:, None], n - first, first)
    return np.where(zero, left - both, both)


def count_codes(codes: NDArray[np.uint8], domain: Domain, n_threads: int | None = None) -> NDArray[np.int32]:
    """Count common ones of all pairs of main statistics over rows of codes (n, p).

    Rows are taken 65,532 at a time, so that no second copy of the table is made.
    """
    _check_size(len(codes))
    total = np.zeros((domain.n_slots, domain.n_slots), dtype=np.int32)
    rows = codes.T
    for start in range(0, len(codes), _nibbles.MOST):
        part = np.ascontiguousarray(rows[:, start : start + _nibbles.MOST])
        _add_counts(total, part.shape[1], n_threads, part, domain.slot_variables, domain.slot_levels)
    return total


def count_packed(
    states: NDArray[np.uint32], n_variables: int, n_chains: int, n_threads: int | None = None
) -> NDArray[np.int32]:
    """Count common ones of all pairs of variables over packed chains (blocks, variables, 16)."""
    _check_size(n_chains)
    total = np.zeros((n_variables, n_variables), dtype=np.int32)
    words = states.view(np.uint64)
    masks = _chain_masks(len(states), n_chains)
    step = _nibbles.MOST // 512
    for start in range(0, len(states), step):
        part, mask = words[start : start + step], masks[start : start + step]
        _add_counts(total, 512 * len(part), n_threads, part, mask)
    return total


def _check_size(n: int) -> None:
    if n > _MOST_ROWS:
        raise ValueError(f"There are {n} rows: counts hold at most {_MOST_ROWS}. Split the table.")


@lru_cache(maxsize=8)
def _chain_masks(n_blocks: int, n_chains: int) -> NDArray[np.uint64]:
    """Make ones for the chains that exist: bit t of lane m is chain 16 t + m of its block."""
    exists = (np.arange(512 * n_blocks) < n_chains).reshape(n_blocks, 32, 16)
    bits = np.packbits(exists.transpose(0, 2, 1), axis=-1, bitorder="little")
    return bits.reshape(n_blocks, 64).view(np.uint64)


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
    height = -(-size // _popcounts.SIDE) * _popcounts.SIDE
    n_words = -(-n // (64 * _popcounts.WORDS)) * _popcounts.WORDS
    # States come with padding variables, which have a row but are not counted.
    n_rows = max(height, source[0].shape[1] if len(source) == 2 else 0)
    rows = borrow("rows", (n_rows, n_words), np.uint64)
    if len(source) == 2:
        _popcounts.rows_from_packed(*source, rows)
    else:
        _popcounts.rows_from_codes(*source, rows)
    counts = borrow("counts", (height, height + 16), np.int32)
    parts = _share_rows(height, n, _popcounts.SIDE, n_threads)
    _threads.run(_popcounts.count_rows, [(rows, part, counts) for part in parts])
    return counts


def _share_rows(size: int, n: int, step: int, n_threads: int | None) -> list[NDArray[np.int64]]:
    """Deal every step-th row out to the threads like cards: later rows have more columns to count."""
    firsts = np.arange(0, size, step)
    # 200 pairs of bits a nanosecond is what both ways of counting at least reach.
    n_shares = len(_threads.share(len(firsts), n_threads, size * size / 2 * n / 2e11))
    return [np.ascontiguousarray(firsts[k::n_shares]) for k in range(n_shares)]
