"""The soft threshold, and norms of step maps for rules that ask for one after every sweep."""

from __future__ import annotations

import numpy as np

from sparsefield._kernels._compiling import compiled

# What is left of a threshold by rounding alone is zero: else there are edges with weights of 1e-18.
ROUNDING = 2.0**-50


@compiled
def shrink(x, amount):
    """Return x moved towards zero by an amount, and no further: the soft threshold."""
    size = abs(x) - amount
    if size <= ROUNDING * amount:
        size = 0.0
    return size if x > 0 else -size


@compiled
def _step(theta, moment, data, penalty, step_size):
    """Return an entry of the step map: (theta - updated theta) / step_size."""
    moved = theta - step_size * (moment - data)
    return (theta - shrink(moved, step_size * penalty)) / step_size


@compiled
def take_step(theta, pair, data, penalty, step_size, after, step_map):
    """Fill theta (d, d) after a proximal step from moments `pair`, and the step map, to the bit as numpy would."""
    for a in range(theta.shape[0]):
        for b in range(theta.shape[1]):
            moved = theta[a, b] - step_size * (pair[a, b] - data[a, b])
            size = abs(moved) - step_size * penalty[a, b]
            if size <= ROUNDING * (step_size * penalty[a, b]):
                size = 0.0
            after[a, b] = size if moved > 0.0 else (-size if moved < 0.0 else 0.0 * moved)
            step_map[a, b] = (theta[a, b] - after[a, b]) / step_size


@compiled
def step_norm(theta, pair, data, penalty, step_size):
    """Return the norm of the step map over the upper triangles of (d, d) matrices."""
    total = 0.0
    for a in range(theta.shape[0]):
        for b in range(a, theta.shape[0]):
            total += _step(theta[a, b], pair[a, b], data[a, b], penalty[a, b], step_size) ** 2
    return np.sqrt(total)


@compiled
def largest_step_norm(theta, low, high, data, penalty, variables, step_size):
    """Bound the norm of the step map over all moments of main statistics with means between low and high (d,).

    The mean of a product lies between max(0, a + b - 1) and min(a, b); an entry of the step map rises with it.
    """
    total = 0.0
    for a in range(theta.shape[0]):
        for b in range(a, theta.shape[0]):
            if a != b and variables[a] == variables[b]:
                continue
            least = low[a] if a == b else max(low[a] + low[b] - 1, 0.0)
            most = min(high[a], high[b])
            first = _step(theta[a, b], least, data[a, b], penalty[a, b], step_size)
            last = _step(theta[a, b], most, data[a, b], penalty[a, b], step_size)
            total += max(abs(first), abs(last)) ** 2
    return np.sqrt(total)
