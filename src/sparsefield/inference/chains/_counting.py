"""Indicators, counts and moments of chains, in whole numbers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, reduce
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsefield import _threads
from sparsefield._kernels._packing import pack_levels
from sparsefield._kernels._sparse_counts import count_entries, fill_lines
from sparsefield._kernels._target import borrow
from sparsefield.data import Counts, Domain, count_ones, count_words

# Of pairs that are chosen, lines of 16 blocks are counted at one time: 1 KB for each product, so that those of a few
# thousand stay in the cache of a core.
_BLOCKS_OF_LINES = 16
_BLOCKS_AT_ONCE = 64  # of bytes whose indicators are held at one time: 4 KB for each statistic


def count_packed(
    states: NDArray[np.uint32], n_variables: int, n_chains: int, n_threads: int | None = None
) -> NDArray[np.int32]:
    """Count common ones of all pairs of variables over packed chains (blocks, variables, 16)."""
    return count_words(states.view(np.uint64), chain_masks(len(states), n_chains), n_variables, n_chains, n_threads)


def count_near(
    states: NDArray[np.uint32],
    n_chains: int,
    a: NDArray[np.int64],
    b: NDArray[np.int64],
    starts: NDArray[np.int64],
    columns: NDArray[np.int32],
    n_threads: int | None = None,
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Count common ones of some pairs of products of variables over packed chains (blocks, variables, 16), and ones.

    Product c is that of variables a[c] and b[c], and is counted with products columns[starts[c] : starts[c + 1]].
    """
    words, masks = states.view(np.uint64), chain_masks(len(states), n_chains)
    counts, ones = np.zeros(len(columns), dtype=np.int32), np.zeros(len(a), dtype=np.int64)
    lines = np.empty((len(a), 8 * min(_BLOCKS_OF_LINES, len(states))), dtype=np.uint64)
    # 20 pairs of bits a nanosecond is what either kernel at least reaches.
    lots = _threads.share(len(a), n_threads, len(a) * n_chains / 2e10)
    runs = _share_entries(starts, len(_threads.share(len(a), n_threads, len(columns) * n_chains / 2e10)))
    for start in range(0, len(states), _BLOCKS_OF_LINES):
        part, mask = words[start : start + _BLOCKS_OF_LINES], masks[start : start + _BLOCKS_OF_LINES]
        _threads.run(fill_lines, [(part, mask, a, b, lot.start, lot.stop, lines, ones) for lot in lots])
        n_words = 8 * len(part)
        _threads.run(count_entries, [(lines, n_words, starts, columns, low, high, counts) for low, high in runs])
    return counts, ones


def _share_entries(starts: NDArray[np.int64], n: int) -> list[tuple[int, int]]:
    """Cut rows into n runs with about as many entries each."""
    cuts = np.searchsorted(starts, np.arange(n + 1) * (starts[-1] / n))
    cuts[0], cuts[-1] = 0, len(starts) - 1
    return list(pairwise(int(cut) for cut in cuts))


def project_packed(
    states: NDArray[np.uint32], numbers: NDArray[np.int64], n_variables: int, n_threads: int | None = None
) -> NDArray[np.float64]:
    """Add up what the number of each chain (n_chains,) is above their mean, over common ones of all pairs of variables.

    Numbers are from 0 on.
    """
    total = sum_numbers(states, numbers, n_variables, n_threads)
    counts = count_packed(_pad(states), n_variables, len(numbers), n_threads)
    return subtract_mean(total, float(numbers.mean()), counts)


def subtract_mean(total: NDArray[np.float64], mean: float, counts: NDArray[np.integer]) -> NDArray[np.float64]:
    """Take from sums of numbers, in place, what they would be if all numbers were their mean."""
    for line, own in zip(total, counts, strict=True):  # no second matrix of floats
        line -= mean * own
    return total


def sum_numbers(
    states: NDArray[np.uint32], numbers: NDArray[np.int64], n_variables: int, n_threads: int | None = None
) -> NDArray[np.float64]:
    """Add up the number of each chain (n_chains,) over common ones of all pairs of variables: whole numbers.

    Common ones are counted where a bit of the number is one, bit after bit: of 1000 variables
    and 50,000 chains that takes 26 ms a bit on one core, where a product of matrices of floats takes 2.1 s.
    """
    words, total = _pad(states).view(np.uint64), np.zeros((n_variables, n_variables))
    for bit in reversed(range(int(numbers.max(initial=0)).bit_length())):
        masks = _pack_chains((numbers >> bit) & 1 == 1, len(states))
        total *= 2
        total += count_words(words, masks, n_variables, len(numbers), n_threads)
    return total


def _pad(states: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Return packed chains whose lines come in eights, as the counting wants them."""
    n_spare = -states.shape[1] % 8
    return np.pad(states, ((0, 0), (0, n_spare), (0, 0))) if n_spare else states


def count_chains(states: NDArray[Any], domain: Domain, n_chains: int, n_threads: int | None = None) -> Counts:
    """Count the statistics of chains, packed (blocks, lines, 16) or bytes (blocks, variables, 512)."""
    if states.dtype == np.uint8:
        return Counts(_count_bytes(states, domain, n_chains, n_threads), n_chains)
    counts = count_packed(states, domain.n_variables, n_chains, n_threads)
    return Counts(counts if domain.is_binary else count_slots(counts, domain, n_chains), n_chains)


def count_single(states: NDArray[Any], domain: Domain, n_chains: int) -> NDArray[np.int64]:
    """Count the main statistics of chains alone, in a fraction of the time of all of them."""
    if states.dtype == np.uint8:
        return _count_single_bytes(states, domain, n_chains)
    masks = chain_masks(len(states), n_chains)
    ones = count_ones(states.view(np.uint64), masks, domain.n_variables)[domain.slot_variables]
    return np.asarray(np.where(domain.slot_levels == 0, n_chains - ones, ones))


def indicators_of_chains(states: NDArray[Any], domain: Domain) -> NDArray[np.uint32]:
    """Return the main statistics of chains packed, (blocks, n_slots, 16): bit t of lane m is chain 16 t + m."""
    if states.dtype == np.uint8:
        found = np.empty((len(states), domain.n_slots, 16), dtype=np.uint32)
        pack_levels(states, domain.slot_variables, domain.slot_levels, found)
        return found
    lines, levels = states[:, domain.slot_variables], domain.slot_levels
    return np.where((levels == 0)[:, None], ~lines, lines)


def _count_bytes(states: NDArray[np.uint8], domain: Domain, n: int, n_threads: int | None) -> NDArray[np.int32]:
    """Count common ones of all pairs of main statistics over chains held as bytes."""
    parts = (count_packed(words, domain.n_slots, own, n_threads) for words, own in _pack_parts(states, domain, n))
    return reduce(np.add, parts)


def _count_single_bytes(states: NDArray[np.uint8], domain: Domain, n: int) -> NDArray[np.int64]:
    """Count ones of the main statistics over chains held as bytes."""
    counts = np.zeros(domain.n_slots, dtype=np.int64)
    for words, own in _pack_parts(states, domain, n):
        counts += count_ones(words.view(np.uint64), chain_masks(len(words), own), domain.n_slots)
    return counts


def _pack_parts(states: NDArray[np.uint8], domain: Domain, n: int) -> Iterator[tuple[NDArray[np.uint32], int]]:
    """Yield the indicators of some blocks at a time, in working memory, and how many chains these have."""
    n_lines = -(-domain.n_slots // 8) * 8  # as the counting wants them
    for start in range(0, len(states), _BLOCKS_AT_ONCE):
        part = states[start : start + _BLOCKS_AT_ONCE]
        words = borrow("indicators", (len(part), n_lines, 16), np.uint32)
        words[:, domain.n_slots :] = 0
        pack_levels(part, domain.slot_variables, domain.slot_levels, words)
        yield words, min(n - 512 * start, 512 * len(part))


def count_slots(counts: NDArray[np.int32], domain: Domain, n: int) -> NDArray[np.int32]:
    """Turn counts of ones into counts of the levels with parameters: the indicator of level 0 is 1 - x."""
    i = domain.slot_variables
    ones = np.diagonal(counts)[i]
    both = counts[np.ix_(i, i)]
    zero = domain.slot_levels == 0
    first, second = np.broadcast_to(ones[:, None], both.shape), np.broadcast_to(ones, both.shape)
    both = np.where(zero[:, None], second - both, both)
    left = np.where(zero[:, None], n - first, first)
    return np.where(zero, left - both, both)


@lru_cache(maxsize=8)
def chain_masks(n_blocks: int, n_chains: int) -> NDArray[np.uint64]:
    """Make ones for the chains that exist."""
    return _pack_chains(np.ones(min(n_chains, 512 * n_blocks), dtype=bool), n_blocks)


def _pack_chains(chosen: NDArray[np.bool_], n_blocks: int) -> NDArray[np.uint64]:
    """Make ones for the chains that are chosen: bit t of lane m is chain 16 t + m of its block."""
    whole = np.zeros(512 * n_blocks, dtype=bool)
    whole[: len(chosen)] = chosen
    bits = np.packbits(whole.reshape(n_blocks, 32, 16).transpose(0, 2, 1), axis=-1, bitorder="little")
    return bits.reshape(n_blocks, 64).view(np.uint64)
