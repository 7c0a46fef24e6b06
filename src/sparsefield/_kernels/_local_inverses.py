"""Inverses of blocks of a covariance that has sparse rows, one block around each statistic."""

from __future__ import annotations

import numpy as np

from sparsefield._kernels._compiling import compiled


@compiled
def invert_blocks(block_starts, blocks, starts, columns, values, diagonal, wanted, among, members, solutions):
    """Solve for the column of each statistic wanted of the inverse covariance of those in its block.

    The block of c is c itself and those of blocks[block_starts[c] : block_starts[c + 1]] that are among some; all pairs
    of them must be entries of the sparse rows. Writes members (wanted, width), -1 beyond a block, with c at the end of
    it, and solutions (wanted, width). Returns the diagonal entries of the inverses; infinite where a block has none.
    """
    found = np.empty(len(wanted))
    place = np.full(len(diagonal), -1, np.int64)
    width = members.shape[1]
    factor = np.zeros((width, width))
    for r in range(len(wanted)):
        size = 0
        for e in range(block_starts[wanted[r]], block_starts[wanted[r] + 1]):
            if among[blocks[e]]:
                members[r, size] = blocks[e]
                size += 1
        members[r, size] = wanted[r]
        size += 1
        members[r, size:] = -1
        for k in range(size):
            place[members[r, k]] = k
        for k in range(size):
            c = members[r, k]
            factor[k, : k + 1] = 0.0
            factor[k, k] = diagonal[c]
            for e in range(starts[c], starts[c + 1]):
                if 0 <= place[columns[e]] < k:
                    factor[k, place[columns[e]]] = values[e]
        for k in range(size):
            place[members[r, k]] = -1
        found[r] = _invert_last(factor, size, solutions[r])
    return found


@compiled
def _invert_last(factor, size, solution):
    """Turn a matrix into its Cholesky factor and write the last column of its inverse; return the last entry of it."""
    for k in range(size):
        for j in range(k):
            total = factor[k, j]
            for i in range(j):
                total -= factor[k, i] * factor[j, i]
            factor[k, j] = total / factor[j, j]
        pivot = factor[k, k]
        for i in range(k):
            pivot -= factor[k, i] * factor[k, i]
        if pivot <= 0.0:
            solution[:] = 0.0
            return np.inf
        factor[k, k] = np.sqrt(pivot)
    last = size - 1
    solution[size:] = 0.0
    solution[last] = 1 / (factor[last, last] * factor[last, last])
    for k in range(last - 1, -1, -1):
        total = 0.0
        for i in range(k + 1, size):
            total -= factor[i, k] * solution[i]
        solution[k] = total / factor[k, k]
    return solution[last]
