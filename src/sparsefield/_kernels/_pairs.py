"""Listing the neighbours of each variable two at a time, for the lookups of the Gibbs sweeps."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def count_pairs(interactions):
    """Return starts (p + 1,): pairs starts[i] .. starts[i + 1] - 1 hold the neighbours of variable i."""
    p = interactions.shape[0]
    starts = np.zeros(p + 1, np.int64)
    for i in range(p):
        degree = 0
        for j in range(p):
            degree += interactions[i, j] != 0.0
        starts[i + 1] = starts[i] + (degree + 1) // 2
    return starts


@njit(nogil=True, cache=True)
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
