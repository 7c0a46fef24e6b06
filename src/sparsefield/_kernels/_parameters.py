"""Parameters in one symmetric matrix, taken apart, counted and checked in one pass."""

from __future__ import annotations

from sparsefield._kernels._compiling import compiled

_TILE = 32  # rows and columns: 8 KB of each triangle, which the first cache holds


@compiled
def split_parameters(theta, variables, largest, main, interactions):
    """Fill main effects (d,) and interactions (d, d), and say whether theta (d, d) is what a field can have.

    That is: symmetric, zero between levels of one variable, and below a largest size.
    """
    size = theta.shape[0]
    is_valid = True
    # By tiles, so that both triangles are read line by line.
    for top in range(0, size, _TILE):
        for left in range(0, size, _TILE):
            for a in range(top, min(top + _TILE, size)):
                for b in range(left, min(left + _TILE, size)):
                    value = theta[a, b]
                    interactions[a, b] = value
                    is_valid &= (value == theta[b, a]) & (abs(value) < largest)
                    is_valid &= (a == b) | (value == 0.0) | (variables[a] != variables[b])
    for a in range(size):
        main[a] = theta[a, a]
        interactions[a, a] = 0.0
    return is_valid


@compiled
def count_upper(marked):
    """Count the entries (d, d) that are not zero, on the diagonal and above it."""
    n = 0
    for a in range(marked.shape[0]):
        for b in range(a, marked.shape[0]):
            n += marked[a, b] != 0
    return n
