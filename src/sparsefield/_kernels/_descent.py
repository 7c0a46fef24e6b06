"""Coordinate descent on penalised quadratic models."""

from __future__ import annotations

import numpy as np

from sparsefield._kernels._compiling import compiled
from sparsefield._kernels._proximal import shrink

_SMALLEST = 1e-10  # of the curvatures that a step is divided by


@compiled
def descend_pairs(pairs, theta, gradient, penalty, curvatures, starts, n_epochs, tol):
    """Minimise a model in which every variable has a block of curvature, and a parameter lies in one or two blocks.

    pairs (m, 4) int64 says where parameter c lies: (block, row, block, row), the same place twice if it is in one block
    only. Block a is symmetric, curvatures[starts[a] : starts[a + 1]] by rows. With d_a the moves of block a, the model
    is gradient . moves + sum_a d_a . block_a d_a / 4 + penalty . |theta + moves|. Returns the moves after n epochs,
    or when the last one moved no parameter by more than tol over its curvature.
    """
    n_blocks = len(starts) - 1
    sizes = np.empty(n_blocks, np.int64)
    places = np.zeros(n_blocks + 1, np.int64)
    for a in range(n_blocks):
        sizes[a] = np.int64(np.sqrt(starts[a + 1] - starts[a]) + 0.5)
        places[a + 1] = places[a] + sizes[a]
    slopes = np.zeros(places[n_blocks])  # block_a d_a, one after the other
    moves = np.zeros(len(theta))
    for _ in range(n_epochs):
        largest = 0.0
        for c in range(len(theta)):
            slope, curvature = gradient[c], 0.0
            n_sides = 1 if pairs[c, 0] == pairs[c, 2] else 2
            for side in range(n_sides):
                a, row = pairs[c, 2 * side], pairs[c, 2 * side + 1]
                slope += slopes[places[a] + row] / 2
                curvature += curvatures[starts[a] + row * sizes[a] + row] / 2
            curvature = max(curvature, _SMALLEST)
            last = theta[c] + moves[c]
            change = shrink(last - slope / curvature, penalty[c] / curvature) - last
            if change == 0.0:
                continue
            moves[c] += change
            largest = max(largest, abs(change) * curvature)
            for side in range(n_sides):
                a, row = pairs[c, 2 * side], pairs[c, 2 * side + 1]
                start = starts[a] + row * sizes[a]
                for k in range(sizes[a]):
                    slopes[places[a] + k] += change * curvatures[start + k]
        if largest <= tol:
            break
    return moves


@compiled
def descend_moments(second, scale, means, theta, gradient, penalty, ridge, n_epochs, tol):
    """Minimise gradient . moves + moves . (H + ridge) moves / 2 + penalty . |theta + moves| over moves, from zero.

    H is the covariance of w statistics, scale second - means means', second (w, w) being whole-number counts or means
    of products. Epochs go over all parameters, and between them over those that are not zero only, for as long as these
    move. Returns the moves and H moves, when an epoch over all moved no parameter by more than tol over its curvature,
    or after n epochs of either kind.
    """
    n = len(theta)
    moves, sums = np.zeros(n), np.zeros(n)  # sums = scale second moves
    mean = 0.0  # means . moves
    is_full = True
    for _ in range(n_epochs):
        largest = 0.0
        for c in range(n):
            last = theta[c] + moves[c]
            if last == 0.0 and not is_full:
                continue
            curvature = scale * second[c, c] - means[c] * means[c] + ridge[c]
            slope = gradient[c] + sums[c] - means[c] * mean + ridge[c] * moves[c]
            if curvature <= 0.0:
                continue
            change = shrink(last - slope / curvature, penalty[c] / curvature) - last
            if change == 0.0:
                continue
            moves[c] += change
            largest = max(largest, abs(change) * curvature)
            mean += change * means[c]
            scaled = change * scale
            for k in range(n):
                sums[k] += scaled * second[c, k]
        if largest <= tol:
            if is_full:
                break
            is_full = True
        else:
            is_full = False
    return moves, sums - mean * means
