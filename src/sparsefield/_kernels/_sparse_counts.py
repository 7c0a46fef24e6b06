"""Common ones of chosen pairs of statistics over packed draws, where most pairs are not wanted."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from sparsefield._kernels._compiling import compiled


@intrinsic
def _ones(_typing: Any, _word: Any) -> Any:
    """Count the ones of a 64-bit word; LLVM makes vectors of a loop over words."""

    def generate(_context: Any, b: Any, _signature: Any, arguments: Any) -> Any:
        return b.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


@compiled
def fill_lines(words, masks, first, second, low, high, lines, ones):
    """Write the products of indicators first[c] and second[c] to line c, from low to high, and add their ones up.

    words (blocks, d, 8) uint64 has the indicators and masks (blocks, 8) the draws that exist; lines (w, >= 8 blocks),
    ones (w,) int64.
    """
    for c in range(low, high):
        i, j = first[c], second[c]
        total = np.uint64(0)
        for block in range(words.shape[0]):
            for k in range(8):
                word = words[block, i, k] & words[block, j, k] & masks[block, k]
                lines[c, 8 * block + k] = word
                total += _ones(word)
        ones[c] += np.int64(total)


@compiled
def count_entries(lines, n_words, starts, columns, low, high, counts):
    """Add the common ones of lines c and columns[e] to counts[e], for all entries e of the rows from low to high."""
    for c in range(low, high):
        for e in range(starts[c], starts[c + 1]):
            other = columns[e]
            total = np.uint64(0)
            for k in range(n_words):
                total += _ones(lines[c, k] & lines[other, k])
            counts[e] += np.int32(total)
