"""Sums over all states of a small field, a few thousand states at a time.

The variables are cut into high ones, stepped through one state after the other, and low ones, whose states (at
most 4096) are held side by side. The weight of a state is a product, of a factor for each low variable given the high
state and of one for the low state alone; with the marginals of one high state it costs about five operations a state,
whatever the number of variables, and no exponential.
"""

from __future__ import annotations

import math

import numpy as np

from sparsefield._kernels._compiling import compiled

# A weight that is a product of factors of at most one is exp(-600) = 1e-261 of their largest product at least, where
# their logarithms span no more than this. The largest weight of all is no less, and what doubles lose, below 1e-308, is
# nothing beside it. Where they span more, exponents are added up first.
_LARGEST_SPAN = 600.0


@compiled
def _rescale(sums, old, new):
    """Bring sums kept relative to exp(old) to exp(new)."""
    if old > -math.inf:
        sums *= math.exp(old - new)


@compiled
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


@compiled
def _spread_factors(start, factors, n_levels, starts, out):
    """Write start times the product of the chosen levels' factors for all states, first variable fastest."""
    out[0] = start
    size = 1
    for i in range(n_levels.size):
        factor = factors[starts[i] : starts[i] + n_levels[i]]
        for k in range(n_levels[i] - 1, -1, -1):
            for s in range(size):
                out[k * size + s] = out[s] * factor[k]
        size *= n_levels[i]


@compiled
def _multiply_and_add(weights, factors, sums):
    """Multiply weights by factors, and add them to sums."""
    for s in range(weights.size):
        weights[s] *= factors[s]
        sums[s] += weights[s]


@compiled
def _split_tops(fields, n_levels, starts):
    """Take the largest field of each variable from its fields; return their sum, and how far the others are below."""
    top = span = 0.0
    for i in range(n_levels.size):
        field = fields[starts[i] : starts[i] + n_levels[i]]
        largest = field.max()
        top += largest
        field -= largest
        span -= field.min()
    return top, span


@compiled(fastmath={"reassoc"})  # so that sums are made in vectors
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


@compiled
def sum_states(first, last, main, pair, n_levels, n_high, low_energy, low_weights, sums, low_sums):
    """Sum over the high states first .. last - 1 and all low states; return the scale.

    main (s,) and pair (s, s) have an entry for every level of every variable; low_weights are the exponentials of
    low_energy, relative to the largest. Relative to exp(returned scale), sums (s, s) gets the weight of every pair of a
    high level with any level, and low_sums (low states,) that of each low state.
    """
    starts = np.cumsum(n_levels) - n_levels
    low_levels = n_levels[n_high:]
    low_start = starts[n_high]
    low_starts = starts[n_high:] - low_start
    n_low = low_sums.size
    low_top = low_energy.max()
    low_span = low_top - low_energy.min()
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
        above, span = _split_tops(fields, low_levels, low_starts)
        start += above
        is_product = span + low_span <= _LARGEST_SPAN
        if is_product:
            top = start + low_top
        else:
            _spread_fields(start, fields, low_levels, low_starts, weights)
            weights += low_energy
            top = weights.max()
        if top > scale:
            _rescale(sums, scale, top)
            _rescale(low_sums, scale, top)
            scale = top
        if is_product:
            np.exp(fields, fields)
            _spread_factors(math.exp(top - scale), fields, low_levels, low_starts, weights)
            _multiply_and_add(weights, low_weights, low_sums)
        else:
            for s in range(n_low):
                weights[s] = math.exp(weights[s] - scale)
                low_sums[s] += weights[s]
        _fold_marginals(weights, low_levels, low_starts, marginals)
        total = weights[0]
        for i in range(n_high):
            sums[chosen[i], low_start:] += marginals
            for j in range(n_high):
                sums[chosen[i], chosen[j]] += total
    return scale
