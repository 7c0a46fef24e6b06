"""Cholesky factors of small matrices, and what is solved with them, without a call of LAPACK."""

from __future__ import annotations

import numpy as np

from sparsefield._kernels._compiling import compiled


@compiled(error_model="numpy")
def factor(matrix, size):
    """Put the Cholesky factor of a matrix in its lower triangle; say whether it is positive definite."""
    for j in range(size):
        own = matrix[j, j]
        for m in range(j):
            own -= matrix[j, m] * matrix[j, m]
        if not own > 0.0:
            return False
        matrix[j, j] = np.sqrt(own)
        for i in range(j + 1, size):
            total = matrix[i, j]
            for m in range(j):
                total -= matrix[i, m] * matrix[j, m]
            matrix[i, j] = total / matrix[j, j]
    return True


@compiled(error_model="numpy")
def solve(lower, values, size):
    """Solve for a right-hand side, in place, with the Cholesky factor of a matrix."""
    for i in range(size):
        for m in range(i):
            values[i] -= lower[i, m] * values[m]
        values[i] /= lower[i, i]
    for i in range(size - 1, -1, -1):
        for m in range(i + 1, size):
            values[i] -= lower[m, i] * values[m]
        values[i] /= lower[i, i]


@compiled(fastmath={"reassoc", "contract", "nsz"}, error_model="numpy")
def invert(lower, inverse, size):
    """Set the inverse of a matrix, with its Cholesky factor."""
    half = np.zeros((size, size))  # row a: the inverse of the factor, transposed
    for a in range(size):
        half[a, a] = 1.0 / lower[a, a]
        for i in range(a + 1, size):
            total = 0.0
            for m in range(a, i):
                total += lower[i, m] * half[a, m]
            half[a, i] = -total / lower[i, i]
    for a in range(size):
        for b in range(a + 1):
            total = 0.0
            for m in range(a, size):
                total += half[a, m] * half[b, m]
            inverse[a, b] = total
            inverse[b, a] = total
