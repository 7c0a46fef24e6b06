"""Sums over all states of a small field, a few thousand states at a time.

The variables are cut into high ones, stepped through one state after the other, and low ones, whose states (at
most 4096) are held side by side. Adding the fields of the low variables, the exponentials and the marginals of
one high state cost about five operations a state, whatever the number of variables.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def _rescale(sums, old, new):
    """Bring sums kept relative to exp(old) to exp(new)."""
    if old > -math.inf:
        sums *= math.exp(old - new)


@njit(nogil=True, cache=True)
def _spread_fields(start, fields, n_levels, starts, out):
    """Write start plus the sum of the chosen levels' fields for all states, first variable fastest."""
    out[0] = start
    size = 1
    for i in range(n_levels.size):
        field = fields[starts[i] : starts[i] + n_levels[i]]
        for k in range(n_levels[i] - 1, -1, -1):
            for s in range(size):
                out[k * size + s] = out[s] + field[k]
        size *= n_levels[i]


@njit(nogil=True, cache=True)
def _fold_marginals(weights, n_levels, starts, marginals):
    """Write the summed weight of each level of each variable; uses up the weights."""
    size = weights.size
    for i in range(n_levels.size - 1, -1, -1):
        size //= n_levels[i]
        for k in range(n_levels[i]):
            total = 0.0
            for s in range(size):
                total += weights[k * size + s]
            marginals[starts[i] + k] = total
        for k in range(1, n_levels[i]):
            for s in range(size):
                weights[s] += weights[k * size + s]


@njit(nogil=True, cache=True)
def sum_states(first, last, main, pair, n_levels, n_high, low_energy, sums, low_sums):
    """Sum over the high states first .. last - 1 and all low states; return the scale.

    main (s,) and pair (s, s) have an entry for every level of every variable. Relative to exp(returned scale), sums
    (s + 1, s) gets the weight of every pair of a high level with any level, and in its last row the weight of each
    level; low_sums (low states,) the weight of each low state.
    """
    starts = np.cumsum(n_levels) - n_levels
    low_levels = n_levels[n_high:]
    low_start = starts[n_high]
    low_starts = starts[n_high:] - low_start
    n_low = low_sums.size
    fields = np.empty(main.size - low_start)
    marginals = np.empty(main.size - low_start)
    weights = np.empty(n_low)
    chosen = np.empty(n_high, np.int64)
    scale = -math.inf
    for state in range(first, last):
        rest = state
        for i in range(n_high):
            chosen[i] = starts[i] + rest % n_levels[i]
            rest //= n_levels[i]
        start = 0.0
        for i in range(n_high):
            start += main[chosen[i]]
            for j in range(i):
                start += pair[chosen[i], chosen[j]]
        fields[:] = main[low_start:]
        for i in range(n_high):
            fields += pair[chosen[i], low_start:]
        _spread_fields(start, fields, low_levels, low_starts, weights)
        weights += low_energy
        top = weights.max()
        if top > scale:
            _rescale(sums, scale, top)
            _rescale(low_sums, scale, top)
            scale = top
        total = 0.0
        for s in range(n_low):
            weights[s] = math.exp(weights[s] - scale)
            low_sums[s] += weights[s]
            total += weights[s]
        _fold_marginals(weights, low_levels, low_starts, marginals)
        for i in range(n_high):
            sums[chosen[i], low_start:] += marginals
            for j in range(n_high):
                sums[chosen[i], chosen[j]] += total
    return scale
