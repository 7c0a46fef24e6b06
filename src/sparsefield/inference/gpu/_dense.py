"""Fields in which most variables interact, as a GPU's products of matrices take them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sparsefield.inference.chains._tables import LOG2_E, as_whole, pair_shifts

# Products take as long whether entries are zero or not. Of 1000 variables that all interact an H200 makes 101 thousand
# million updates a second with them, and with 20 neighbours one by one 377: in proportion, 75 with a tenth of all. Of
# 100 variables it makes 201 with them, and in proportion to 20 neighbours 105 one by one (`make bench-gpu`).
_FEWEST_NEIGHBOURS, _SMALLEST_SHARE = 96, 1 / 10
_MOST_VARIABLES = 4096  # whose states the memory of an H200's processor holds: 192 chains of them
_LARGEST = 127 * (1 + 2**8 + 2**16)  # that three digits of eight bits can be
_COARSEST = 20  # units of log-odds are 2^-20 bits at worst: others are added up one by one

ROWS, STEP = 16, 32  # of a product: variables of a tile, and others that these have entries with, two tiles
PRODUCT_WARPS = 6  # of a block of threads, with 32 chains each
FEW_VARIABLES = STEP * PRODUCT_WARPS  # whose products are too short for all warps to draw while they are made
_FIELD_ROW = 36  # numbers of a row of log-odds, as the kernel has them


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
    n_streams = 4 * PRODUCT_WARPS
    shared = STEP * (8 * (n_streams + 1) + ROWS + 4)
    own = 32 * (-(-n_updated // STEP) + 1) + ROWS * _FIELD_ROW + 1
    return 4 * (2 * shared + 4 * n_streams + PRODUCT_WARPS * own + 4)


def lay_out_entries(
    interactions: NDArray[np.float64], order: NDArray[np.int64], shifts: NDArray[np.int64]
) -> tuple[NDArray[np.uint32], NDArray[np.int32]]:
    """Return what the kernel has of the entries, in the order of updates: digits, and what variables add to their tile.

    Lane 4 g + t of a warp has, of 16 variables and 32 others, variables g and g + 8, and of these others t + 8 m and
    4 + t + 8 m, m = 0, ..., 3: a shift and a mask make the states of these of a word of them.
    """
    n = len(order)
    n_blocks = -(-n // STEP)
    whole = np.zeros((n_blocks * STEP, n_blocks * STEP), dtype=np.int64)
    whole[:n, :n] = as_whole(-interactions[np.ix_(order, order)], shifts[order][:, None])
    inner = np.zeros((n_blocks, STEP // ROWS, ROWS, ROWS), dtype=np.int32)
    for first in range(0, len(whole), ROWS):
        own = whole[first : first + ROWS, first : first + ROWS]
        inner[first // STEP, first % STEP // ROWS] = own.T
        own[np.tril_indices(ROWS)] = 0  # those before it add theirs when they are updated
    digits = np.empty((3, *whole.shape), dtype=np.int8)
    for d in range(3):
        least = (whole + 128) % 256 - 128
        digits[d], whole = least, (whole - least) // 256
    laid_out = digits.reshape(3, n_blocks, 2, 2, 8, n_blocks, 4, 2, 4).transpose(1, 5, 2, 0, 4, 8, 7, 3, 6)
    own_last = [[*range(block), *range(block + 1, n_blocks), block] for block in range(n_blocks)]
    laid_out = laid_out[np.arange(n_blocks)[:, None], own_last]
    return np.ascontiguousarray(laid_out).view(np.uint32).reshape(n_blocks, n_blocks, 2, 3, 32, 4), inner
