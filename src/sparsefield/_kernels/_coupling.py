"""Bookkeeping of coupled chains: which bounds have met, and the exact draws that follow from it.

Everything works on words, the same for packed chains (16 words of 32 chains) and bytes (512 words of one chain):
`full` is a word with a one for each of its chains. Levels are bytes, and `full` has all bits of one set.
"""

from __future__ import annotations

import numpy as np

from sparsefield._kernels._compiling import compiled
from sparsefield._kernels._popcounts import count_bits


@compiled
def find_closed(low, high, full, closed):
    """Set the bits of the chains whose least and largest states (lines, words) are equal."""
    closed[:] = full
    for i in range(low.shape[0]):
        for m in range(low.shape[1]):
            closed[m] &= ~(low[i, m] ^ high[i, m])


@compiled
def count_open(states, masks):
    """Count the packed chains (B, 2 x lines, 8) uint64 with a variable whose bounds differ, where masks have ones."""
    n_lines = states.shape[1] // 2
    n = 0
    for block in range(states.shape[0]):
        for m in range(states.shape[2]):
            is_open = np.uint64(0)
            for i in range(n_lines):
                is_open |= states[block, i, m] ^ states[block, n_lines + i, m]
            n += np.int64(count_bits(is_open & masks[block, m]))
    return n


@compiled
def gather_open(states, masks):
    """Move the packed chains (B, 2 x lines, 16) uint32 that are open to the front, in their order; return how many.

    Those behind them, to the end of a block, get bounds of zero, which have met. masks (B, 16) uint32 have ones for the
    chains that exist. A chain goes to a place that has been read before, so that this is done in place.
    """
    n_blocks, n_lines, n_lanes = states.shape
    half = n_lines // 2
    kept = 0
    is_open = np.empty(n_lanes, np.uint32)
    for block in range(n_blocks):
        for m in range(n_lanes):
            is_open[m] = 0
            for i in range(half):
                is_open[m] |= states[block, i, m] ^ states[block, half + i, m]
            is_open[m] &= masks[block, m]
        for c in range(512):
            t, m = np.uint32(c // n_lanes), c % n_lanes
            if (is_open[m] >> t) & np.uint32(1):
                new, place = kept // 512, kept % 512
                to, lane = np.uint32(place // n_lanes), place % n_lanes
                one = np.uint32(np.uint32(1) << to)
                for i in range(n_lines):
                    bit = (states[block, i, m] >> t) & np.uint32(1)
                    states[new, i, lane] = (states[new, i, lane] & ~one) | np.uint32(bit << to)
                kept += 1
    for c in range(kept, 512 * (-(-kept // 512))):
        to, lane = np.uint32(c % 512 // n_lanes), c % n_lanes
        for i in range(n_lines):
            states[c // 512, i, lane] &= ~np.uint32(np.uint32(1) << to)
    return kept


@compiled
def find_closed_sets(sets, full, closed):
    """Set the words of the chains whose sets of levels (lines, 512) have one level each to full, others to zero."""
    closed[:] = full
    for i in range(sets.shape[0]):
        for c in range(sets.shape[1]):
            if sets[i, c] & (sets[i, c] - np.uint64(1)):
                closed[c] = 0


@compiled
def _count_ones(words, n_bits):
    n = 0
    for m in range(words.shape[0]):
        for t in range(n_bits):
            n += (words[m] >> t) & 1
    return n


@compiled
def _keep_draws(closed, before, held, filled, draws, full):
    """Keep the draws of the chains that have met and were held, hold those that have met; say whether all are filled.

    before (lines, words): the carried states when a block of sweeps began. held (words,): chains that have met once, so
    that what they carry does not depend on where they began. A chain of these that meets again completes a draw, the
    state before the block, which goes to the first of draws (n, lines, words) that its chain has not filled (n, words).
    """
    n_lines, n_words = before.shape
    left = closed & held
    take = np.empty_like(left)
    is_done = True
    for r in range(filled.shape[0]):
        any_taken = False
        for m in range(n_words):
            take[m] = left[m] & ~filled[r, m]
            left[m] &= ~take[m]
            filled[r, m] |= take[m]
            any_taken |= take[m] != 0
            is_done &= filled[r, m] == full
        if any_taken:
            for i in range(n_lines):
                for m in range(n_words):
                    draws[r, i, m] |= before[i, m] & take[m]
    for m in range(n_words):
        held[m] |= closed[m]
    return is_done


@compiled
def settle(planes, starts, before, held, filled, draws, full):
    """Close a block of sweeps: keep the exact draws that it completes, and get ready for the next one.

    planes (3 x lines, words): least states, largest states and the states carried along. starts (2 x lines, words) is
    where bounds begin. Returns how many chains met and whether all draws are filled.
    """
    n_lines, n_words = before.shape
    bounds, carried = planes[: 2 * n_lines], planes[2 * n_lines :]
    closed = np.empty_like(held)
    find_closed(bounds[:n_lines], bounds[n_lines:], full, closed)
    is_done = _keep_draws(closed, before, held, filled, draws, full)
    for i in range(n_lines):
        for m in range(n_words):
            carried[i, m] = (bounds[i, m] & closed[m]) | (carried[i, m] & ~closed[m])
            before[i, m] = carried[i, m]
    bounds[:] = starts
    return _count_ones(closed, 512 // n_words), is_done


@compiled
def settle_sets(planes, starts, before, held, filled, draws, full):
    """Close a block of sweeps over sets of levels, as `settle` does.

    planes (2 x lines, 512): sets of levels and the levels carried along, which are in the sets. starts (lines, 512) is
    where sets begin.
    """
    n_lines, n_chains = before.shape
    closed = np.empty_like(held)
    find_closed_sets(planes[:n_lines], full, closed)
    is_done = _keep_draws(closed, before, held, filled, draws, full)
    for i in range(n_lines):
        for c in range(n_chains):
            before[i, c] = planes[n_lines + i, c]
    planes[:n_lines] = starts
    return _count_ones(closed, 1), is_done
