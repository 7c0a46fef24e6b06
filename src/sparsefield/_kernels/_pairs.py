"""The pseudo-likelihood of tables in which few pairs of variables interact."""

from __future__ import annotations

import numpy as np

from sparsefield._kernels._compiling import compiled


@compiled
def add_variable(codes, weights, i, neighbours, places, tables, main, kept, added, slopes, main_slopes):
    """Add up minus the weighted log-probabilities of one variable given the others, and their derivatives.

    codes (p, n) uint8. Neighbour k, the variable neighbours[k], adds tables[places[k] + a K + b] to the exponent of
    level b of variable i, of K levels, when it stands at level a; main[b] is there always. A value counts as `kept` of
    itself and added[b] of each level, which add up to one. Adds to slopes and main_slopes, which are laid out like
    tables and main; returns the sum.
    """
    n, n_levels = codes.shape[1], len(main)
    e = np.empty(n_levels)
    total = 0.0
    for r in range(n):
        w = weights[r]
        for b in range(n_levels):
            e[b] = main[b]
        for k in range(len(neighbours)):
            row = places[k] + np.int64(codes[neighbours[k], r]) * n_levels
            for b in range(n_levels):
                e[b] += tables[row + b]
        top = e[0]
        for b in range(1, n_levels):
            top = max(top, e[b])
        own = np.int64(codes[i, r])
        seen = kept * (e[own] - top)
        mass = 0.0
        for b in range(n_levels):
            e[b] -= top
            seen += added[b] * e[b]
            e[b] = np.exp(e[b])
            mass += e[b]
        total -= w * (seen - np.log(mass))
        scale = w / mass
        for b in range(n_levels):
            e[b] = scale * e[b] - w * added[b]
        e[own] -= w * kept
        for b in range(n_levels):
            main_slopes[b] += e[b]
        for k in range(len(neighbours)):
            row = places[k] + np.int64(codes[neighbours[k], r]) * n_levels
            for b in range(n_levels):
                slopes[row + b] += e[b]
    return total
