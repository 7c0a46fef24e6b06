"""Loops over the influence matrix in compressed rows.

Row i is values[k] at neighbours[k], starts[i] <= k < starts[i + 1].
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def compress_rows(matrix):
    """Return starts, neighbours and values of the entries that are not zero."""
    p = matrix.shape[0]
    starts = np.zeros(p + 1, np.int64)
    for i in range(p):
        n = 0
        for j in range(p):
            n += matrix[i, j] != 0.0
        starts[i + 1] = starts[i] + n
    neighbours = np.empty(starts[p], np.int64)
    values = np.empty(starts[p])
    for i in range(p):
        k = starts[i]
        for j in range(p):
            if matrix[i, j] != 0.0:
                neighbours[k] = j
                values[k] = matrix[i, j]
                k += 1
    return starts, neighbours, values


@njit(nogil=True, cache=True)
def sweep_disagreement(starts, neighbours, values, order, extra, cap, w, n_sweeps):
    """Replace w_i by min(cap, extra_i + sum_j U_ij w_j), variable by variable in the order given."""
    for _ in range(n_sweeps):
        for i in order:
            total = extra[i]
            for k in range(starts[i], starts[i + 1]):
                total += values[k] * w[neighbours[k]]
            w[i] = min(cap, total)


@njit(nogil=True, cache=True)
def bound_radius(starts, neighbours, values, n_steps, v, best_v):
    """Return the smallest max_i (U v)_i / v_i over some power steps with U + I; v must be positive, best_v is set."""
    p = v.shape[0]
    product = np.empty(p)
    best = np.inf
    for _ in range(n_steps):
        bound, top = 0.0, 0.0
        for i in range(p):
            total = 0.0
            for k in range(starts[i], starts[i + 1]):
                total += values[k] * v[neighbours[k]]
            product[i] = total
            bound = max(bound, total / v[i])
            top = max(top, total + v[i])
        if bound < best:
            best = bound
            best_v[:] = v
        for i in range(p):
            # Parts of the graph with a smaller radius fade away: no further than a float can hold.
            v[i] = max((product[i] + v[i]) / top, 1e-200)
    return best
