"""The tables that the Gibbs sweeps look up: neighbours two at a time, or four at a time."""

from __future__ import annotations

import numpy as np

from sparsefield._kernels._compiling import compiled


@compiled
def count_pairs(interactions):
    """Return starts (p + 1,) and sizes (p,), in one pass over the interactions.

    Pairs starts[i] .. starts[i + 1] - 1 hold the neighbours of variable i, at least one pair; sizes[i] is the sum of
    the absolute values of its interactions.
    """
    p = interactions.shape[0]
    starts = np.zeros(p + 1, np.int64)
    sizes = np.zeros(p)
    for i in range(p):
        degree = 0
        for j in range(p):
            degree += interactions[i, j] != 0.0
            sizes[i] += abs(interactions[i, j])
        starts[i + 1] = starts[i] + max(1, (degree + 1) // 2)
    return starts, sizes


@compiled
def list_pairs(interactions, starts):
    """Return the neighbours (P, 2) of each pair and their interactions (P, 2), zero for the one that fills up."""
    p = interactions.shape[0]
    neighbours = np.zeros((starts[p], 2), np.int64)
    values = np.zeros((starts[p], 2))
    for i in range(p):
        place = 2 * starts[i]
        for j in range(p):
            if interactions[i, j] != 0.0:
                neighbours[place // 2, place % 2] = j
                values[place // 2, place % 2] = interactions[i, j]
                place += 1
    return neighbours, values


@compiled
def fill_quads(whole, tables, lows):
    """Write the subset sums of each four columns of whole (p, 4 Q) int32 above their smallest, in planes of 6 bits.

    tables (p, Q, 4, 16) uint8; lows (p,) int64 gets the sum of the smallest.
    """
    n_quads, n_planes = tables.shape[1], tables.shape[2]
    for i in range(whole.shape[0]):
        lows[i] = 0
        for q in range(n_quads):
            low = 0
            for k in range(4):
                low += min(0, whole[i, 4 * q + k])
            lows[i] += low
            for subset in range(16):
                entry = -low
                for k in range(4):
                    if subset >> k & 1:
                        entry += whole[i, 4 * q + k]
                for plane in range(n_planes):
                    tables[i, q, plane, subset] = entry >> (6 * plane) & 63
