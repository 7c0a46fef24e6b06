"""Enumeration of the missing values of rows, given their observed cells: draws, expectations, variances.

A row's missing values have few states. Their exponents are built up variable by variable: a level of the next variable
adds its own parameter, those with observed cells, and those with the variables before, which are summed up for all
states in the same way. That is about five operations a state, whatever the number of variables. The first missing
variable is the fastest.

Parameters are main (m,) and pair (m, m) over slots; slots (p, levels) has the slot of each level of a variable, or -1.
"""

from __future__ import annotations

import math

import numpy as np

from sparsefield._kernels._compiling import compiled

MISSING = np.uint8(255)


@compiled
def _list_missing(row, missing):
    """Write the variables that are missing in a row, and return how many there are."""
    n = 0
    for i in range(row.size):
        if row[i] == MISSING:
            missing[n] = i
            n += 1
    return n


@compiled
def _spread_pairs(slot, before, n_levels, slots, pair, out):
    """Write the interactions of a slot with the levels of the variables before, for all their states."""
    out[0] = 0.0
    size = 1
    for j in before:
        for b in range(n_levels[j] - 1, -1, -1):
            other = slots[j, b]
            value = pair[slot, other] if slot >= 0 and other >= 0 else 0.0
            for s in range(size):
                out[b * size + s] = out[s] + value
        size *= n_levels[j]


@compiled
def _fill_exponents(row, missing, n_levels, slots, main, pair, sums, out):
    """Write the exponents of all states of the missing values, but for what they have in common.

    Returns the number of states; sums is scratch.
    """
    out[0] = 0.0
    size = 1
    for k in range(missing.size):
        i = missing[k]
        for a in range(n_levels[i] - 1, -1, -1):
            slot = slots[i, a]
            field = 0.0
            if slot >= 0:
                field = main[slot]
                for j in range(row.size):
                    if row[j] != MISSING and slots[j, row[j]] >= 0:
                        field += pair[slot, slots[j, row[j]]]
            _spread_pairs(slot, missing[:k], n_levels, slots, pair, sums)
            for s in range(size):
                out[a * size + s] = out[s] + (field + sums[s])
        size *= n_levels[i]
    return size


@compiled
def _normalise(weights):
    """Turn exponents into probabilities."""
    top = weights.max()
    total = 0.0
    for s in range(weights.size):
        weights[s] = math.exp(weights[s] - top)
        total += weights[s]
    weights /= total


@compiled
def _fold(weights, variables, n_levels, slots, means):
    """Write the weight of every level that has a slot; uses up the weights."""
    size = weights.size
    for k in range(variables.size - 1, -1, -1):
        i = variables[k]
        size //= n_levels[i]
        for a in range(n_levels[i]):
            if slots[i, a] >= 0:
                means[slots[i, a]] = weights[a * size : (a + 1) * size].sum()
        for a in range(1, n_levels[i]):
            for s in range(size):
                weights[s] += weights[a * size + s]


@compiled
def draw_rows(rows, first, last, n_levels, slots, main, pair, uniforms, codes, n_states):
    """Draw the missing values of rows (n, p) for codes first[r] to last[r] - 1, with a uniform number for each."""
    missing = np.empty(rows.shape[1], np.int64)
    weights, sums = np.empty(n_states), np.empty(n_states)
    for r in range(len(rows)):
        own = missing[: _list_missing(rows[r], missing)]
        size = _fill_exponents(rows[r], own, n_levels, slots, main, pair, sums, weights)
        _normalise(weights[:size])
        for s in range(1, size):
            weights[s] += weights[s - 1]
        for d in range(first[r], last[r]):
            # The first state whose cumulative weight is above the number: one without weight is never chosen.
            state = np.searchsorted(weights[:size], uniforms[d] * weights[size - 1], side="right")
            for i in own:
                codes[d, i] = state % n_levels[i]
                state //= n_levels[i]


@compiled
def expect_rows(rows, counted, n_levels, slots, main, pair, means, covariance, n_states):
    """Write the expected statistics of the missing values of rows, and add their covariances.

    means (n, m) gets the expectations of the slots of missing values; covariance (m, m) the covariances given the
    observed cells, each row counted so much, above the diagonal and on it.
    """
    missing = np.empty(rows.shape[1], np.int64)
    weights, sums = np.empty(n_states), np.empty(n_states)
    both = np.empty(main.size)
    for r in range(len(rows)):
        own = missing[: _list_missing(rows[r], missing)]
        size = _fill_exponents(rows[r], own, n_levels, slots, main, pair, sums, weights)
        _normalise(weights[:size])
        sums[:size] = weights[:size]
        _fold(sums[:size], own, n_levels, slots, means[r])
        # The states of the last variable lie in one piece for each of its levels; it is then summed out.
        for k in range(own.size - 1, -1, -1):
            i = own[k]
            size //= n_levels[i]
            for a in range(n_levels[i]):
                slot = slots[i, a]
                if slot < 0:
                    continue
                sums[:size] = weights[a * size : (a + 1) * size]
                _fold(sums[:size], own[:k], n_levels, slots, both)
                covariance[slot, slot] += counted[r] * means[r, slot] * (1 - means[r, slot])
                for j in own[:k]:
                    for b in range(n_levels[j]):
                        other = slots[j, b]
                        if other >= 0:
                            covariance[other, slot] += counted[r] * (both[other] - means[r, slot] * means[r, other])
            for a in range(1, n_levels[i]):
                for s in range(size):
                    weights[s] += weights[a * size + s]


@compiled
def vary_rows(rows, n_levels, slots, main, pair, main_move, pair_move, variances, n_states):
    """Write the variance of the inner product of a move and the statistics, given the observed cells of each row."""
    missing = np.empty(rows.shape[1], np.int64)
    weights, sums, values = np.empty(n_states), np.empty(n_states), np.empty(n_states)
    for r in range(len(rows)):
        own = missing[: _list_missing(rows[r], missing)]
        size = _fill_exponents(rows[r], own, n_levels, slots, main, pair, sums, weights)
        _normalise(weights[:size])
        _fill_exponents(rows[r], own, n_levels, slots, main_move, pair_move, sums, values)
        mean = 0.0
        for s in range(size):
            mean += weights[s] * values[s]
        variances[r] = 0.0
        for s in range(size):
            variances[r] += weights[s] * (values[s] - mean) ** 2
