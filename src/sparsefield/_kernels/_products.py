"""Products of indicators over draws: a pair statistic is one where both of its indicators are.

Indicators are (blocks, d, 16) uint32: bit t of lane m of a line is chain 16 t + m of its block. Draws of variables with
several levels are rows of codes (p, n) uint8: a pair of variables has one product that is one, whatever its levels.
"""

from __future__ import annotations

import numpy as np

from sparsefield._kernels._compiling import compiled


@compiled
def fill_products(indicators, first, second, products):
    """Write the products of indicators first[w] and second[w] to line w of products (blocks, >= w, 16)."""
    for block in range(indicators.shape[0]):
        for w in range(len(first)):
            for lane in range(16):
                products[block, w, lane] = indicators[block, first[w], lane] & indicators[block, second[w], lane]


@compiled
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


@compiled
def sum_products(indicators, first, second, weights, totals):
    """Write the sum of weights (blocks, 32, 16) where indicators first[w] and second[w] are both one to totals[w]."""
    line, sums = np.empty(16, np.uint32), np.empty(16)
    for w in range(len(first)):
        sums[:] = 0.0
        for block in range(indicators.shape[0]):
            for lane in range(16):
                line[lane] = indicators[block, first[w], lane] & indicators[block, second[w], lane]
            for t in range(32):
                for lane in range(16):
                    sums[lane] += weights[block, t, lane] * np.float64((line[lane] >> np.uint32(t)) & np.uint32(1))
        totals[w] = sums.sum()


@compiled
def add_pairs(rows, first, second, starts, widths, tables, total):
    """Add to total (n,) what a draw reads for variables first[e] and second[e].

    Their levels a and b stand at starts[e] + a widths[e] + b of tables.
    """
    for e in range(first.size):
        x, y, start, width = rows[first[e]], rows[second[e]], starts[e], widths[e]
        for c in range(total.size):
            total[c] += tables[start + x[c] * width + y[c]]


@compiled
def sum_pairs(rows, n_levels, weights, total):
    """Write the sum of the weights of the draws at each pair of levels to total (all levels, all levels)."""
    cuts = np.cumsum(n_levels) - n_levels
    block = np.empty(n_levels.max() ** 2)
    for i in range(rows.shape[0]):
        x = rows[i]
        for j in range(i + 1):
            y, width = rows[j], n_levels[j]
            block[:] = 0.0
            for c in range(weights.size):
                block[x[c] * width + y[c]] += weights[c]
            for a in range(n_levels[i]):
                for b in range(width):
                    total[cuts[i] + a, cuts[j] + b] = total[cuts[j] + b, cuts[i] + a] = block[a * width + b]
