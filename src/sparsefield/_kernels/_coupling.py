"""Bookkeeping of coupled chains: which bounds have met, and the exact draws that follow from it.

Everything works on words, the same for packed chains (16 words of 32 chains) and bytes (512 words of one chain):
`full` is a word with a one for each of its chains.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def find_closed(low, high, full, closed):
    """Set the bits of the chains whose least and largest states (lines, words) are equal."""
    closed[:] = full
    for i in range(low.shape[0]):
        for m in range(low.shape[1]):
            closed[m] &= ~(low[i, m] ^ high[i, m])


@njit(nogil=True, cache=True)
def _count_ones(words, n_bits):
    n = 0
    for m in range(words.shape[0]):
        for t in range(n_bits):
            n += (words[m] >> t) & 1
    return n


@njit(nogil=True, cache=True)
def settle(planes, least, largest, before, held, filled, draws, full):
    """Close a block of sweeps: keep the exact draws that it completes, and get ready for the next one.

    planes (3 x lines, words): least states, largest states and the states carried along. before (lines, words): the
    carried states when the block began. held (words,): chains that have met once, so that what they carry does not
    depend on where they began. A chain of these that meets again completes a draw, the state before the block, which
    goes to the first of draws (n, lines, words) that its chain has not filled (n, words). least and largest
    (lines, words) are where bounds begin. Returns how many chains met and whether all draws are filled.
    """
    n_lines, n_words = before.shape
    low, high, carried = planes[:n_lines], planes[n_lines : 2 * n_lines], planes[2 * n_lines :]
    closed = np.empty_like(held)
    find_closed(low, high, full, closed)
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
    for i in range(n_lines):
        for m in range(n_words):
            carried[i, m] = (low[i, m] & closed[m]) | (carried[i, m] & ~closed[m])
            before[i, m] = carried[i, m]
            low[i, m] = least[i, m]
            high[i, m] = largest[i, m]
    for m in range(n_words):
        held[m] |= closed[m]
    return _count_ones(closed, 512 // n_words), is_done
