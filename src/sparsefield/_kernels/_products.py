"""Products of indicators over packed draws: a pair statistic is one where both of its indicators are.

Indicators are (blocks, d, 16) uint32: bit t of lane m of a line is chain 16 t + m of its block.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def fill_products(indicators, first, second, products):
    """Write the products of indicators first[w] and second[w] to line w of products (blocks, >= w, 16)."""
    for block in range(indicators.shape[0]):
        for w in range(len(first)):
            for lane in range(16):
                products[block, w, lane] = indicators[block, first[w], lane] & indicators[block, second[w], lane]


@njit(nogil=True, cache=True)
def add_products(indicators, first, second, weights, total):
    """Add weights[w] to total (blocks, 32, 16) wherever indicators first[w] and second[w] are both one."""
    line = np.empty(16, np.uint32)
    for block in range(indicators.shape[0]):
        for w in range(len(first)):
            for lane in range(16):
                line[lane] = indicators[block, first[w], lane] & indicators[block, second[w], lane]
            for t in range(32):
                for lane in range(16):
                    total[block, t, lane] += weights[w] * np.float64((line[lane] >> np.uint32(t)) & np.uint32(1))
