"""Fields in which most variables interact, as a GPU's products of matrices take them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sparsefield.inference._tables import LOG2_E, as_whole, pair_shifts

# Products take as long whether entries are zero or not. Of 1000 variables that all interact an H200 makes 79 thousand
# million updates a second with them, and with 20 neighbours one by one 387: in proportion, 62 with an eighth of all.
# With 128 variables it makes 150 with them, and 83 one by one.
_FEWEST_NEIGHBOURS, _SMALLEST_SHARE = 96, 1 / 8
_MOST_VARIABLES = 4096  # whose states the memory of a processor holds: 256 chains of them
_LARGEST = 127 * (1 + 2**8 + 2**16)  # that three digits of eight bits can be
_COARSEST = 20  # units of log-odds are 2^-20 bits at worst: others are added up one by one

ROWS, STEP = 16, 32  # of a product: variables, and others that these have entries with
_CHAINS, _WARPS = 256, 4  # of a block of threads
_FIELD_ROW, _DRAWN_ROW = 68, 264  # numbers of a row of log-odds and of draws, as the kernel has them


def suits_products(interactions: NDArray[np.float64], degree: float) -> bool:
    """Say whether log-odds are to be products of matrices: most variables interact, about as strongly."""
    p = len(interactions)
    if not (p <= _MOST_VARIABLES and degree >= max(_FEWEST_NEIGHBOURS, _SMALLEST_SHARE * p)):
        return False
    return bool(_digit_shifts(interactions).min() >= _COARSEST)


def dense_shifts(interactions: NDArray[np.float64], sizes: NDArray[np.float64]) -> NDArray[np.int64]:
    """Choose the unit 2^-shift bits of each variable's log-odds, so that entries have three digits."""
    return np.minimum(pair_shifts(sizes), _digit_shifts(interactions))


def _digit_shifts(interactions: NDArray[np.float64]) -> NDArray[np.int64]:
    largest = np.abs(interactions).max(axis=1) * LOG2_E
    return np.asarray(np.floor(np.log2(_LARGEST / np.maximum(largest, 1e-6))), dtype=np.int64)


def count_near_bytes(n_updated: int) -> int:
    """Return the memory of a processor that a block of threads takes."""
    n_steps = -(-n_updated // STEP)
    n_words = _CHAINS * (n_steps + 1) + ROWS * (_WARPS * _FIELD_ROW + _DRAWN_ROW + ROWS + 4) + 4 * STEP
    return 4 * n_words


def lay_out_entries(
    interactions: NDArray[np.float64], order: NDArray[np.int64], shifts: NDArray[np.int64]
) -> tuple[NDArray[np.uint32], NDArray[np.int32]]:
    """Return what the kernel has of the entries, in the order of updates: digits, and what each adds to 16 variables.

    Lane 4 g + t of a warp has, of 16 variables and 32 others, variables g and g + 8, and of these others t + 8 m and
    4 + t + 8 m, m = 0, ..., 3: a shift and a mask make the states of these of a word of them.
    """
    n = len(order)
    n_blocks, n_steps = -(-n // ROWS), -(-n // STEP)
    whole = np.zeros((n_blocks * ROWS, n_steps * STEP), dtype=np.int64)
    whole[:n, :n] = as_whole(-interactions[np.ix_(order, order)], shifts[order][:, None])
    inner = np.zeros((n_blocks, ROWS, ROWS), dtype=np.int32)
    for block in range(n_blocks):
        own = slice(ROWS * block, ROWS * (block + 1))
        inner[block] = whole[own, own].T
    digits = np.empty((3, *whole.shape), dtype=np.int8)
    for d in range(3):
        least = (whole + 128) % 256 - 128
        digits[d], whole = least, (whole - least) // 256
    laid_out = digits.reshape(3, n_blocks, 2, 8, n_steps, 4, 2, 4).transpose(1, 4, 0, 3, 7, 6, 2, 5)
    return np.ascontiguousarray(laid_out).view(np.uint32).reshape(n_blocks, n_steps, 3, 32, 4), inner
