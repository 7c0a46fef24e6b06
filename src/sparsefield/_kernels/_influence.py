"""Loops over the influence matrix in compressed rows.

Row i is values[k] at neighbours[k], starts[i] <= k < starts[i + 1].
"""

from __future__ import annotations

import numpy as np

from sparsefield._kernels._compiling import compiled

# A disagreement that is not zero is no less than this: products of small ones would be rounded to zero, which no bound
# may be, and so would its square in a norm, below 1e-154.
SMALLEST = 1e-150

# All pairs of so few variables take less time than sorting them: 10 of them 0.1 microseconds in place of 0.9.
_FEW = 32


@compiled
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


@compiled
def count_entries(matrix):
    """Count the entries that are not zero."""
    n = 0
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            n += matrix[i, j] != 0.0
    return n


@compiled
def list_influences(main, interactions, rounding, starts, neighbours, sizes, ends):
    """Fill compressed rows with what the influences of a field of two levels are made of.

    sizes (n,) are the absolute values of the interactions, and ends (n,) the log-odds, without the neighbour, at which
    a change of that size moves a probability most: -size / 2, or as near to there as they can come. Ranges of log-odds
    are rounded outwards by 2 (p + 2) times `rounding` of the sizes that add up to them.
    """
    p = main.shape[0]
    k = 0
    starts[0] = 0
    for i in range(p):
        positive, negative = 0.0, 0.0
        for j in range(p):
            value = interactions[i, j]
            if value != 0.0:
                neighbours[k], sizes[k] = j, abs(value)
                positive += max(value, 0.0)
                negative += min(value, 0.0)
                k += 1
        starts[i + 1] = k
        slack = 2 * (p + 2) * rounding * (abs(main[i]) + positive - negative)
        low, high = main[i] + negative - slack, main[i] + positive + slack
        for e in range(starts[i], k):
            ends[e] = min(max(-sizes[e] / 2, low), high - sizes[e])


@compiled
def sweep_disagreement(starts, neighbours, values, order, extra, cap, w, n_sweeps):
    """Replace w_i by min(cap, extra_i + sum_j U_ij w_j), variable by variable in the order given."""
    for _ in range(n_sweeps):
        for i in order:
            total = extra[i]
            for k in range(starts[i], starts[i + 1]):
                total += values[k] * w[neighbours[k]]
            if total < SMALLEST:
                is_zero = total == 0.0
                for k in range(starts[i], starts[i + 1]):
                    is_zero = is_zero and w[neighbours[k]] == 0.0
                total = 0.0 if is_zero else SMALLEST
            w[i] = min(cap, total)


@compiled
def _add_pairs(total, w, order, counts):
    """Add sum_{i<j} counts_i counts_j min(1, w_i + w_j)^2 to a total in linear time, where order sorts w.

    Sorted, so that the variables j > i whose sum with i stays below 1 come first, and fewer of them as i goes up.
    """
    p = w.shape[0]
    # Sums of the counts, times 1, w and w^2, over the variables before a place.
    sums = np.zeros((3, p + 1))
    for k in range(p):
        i = order[k]
        sums[0, k + 1] = sums[0, k] + counts[i]
        sums[1, k + 1] = sums[1, k] + counts[i] * w[i]
        sums[2, k + 1] = sums[2, k] + counts[i] * w[i] ** 2
    end = p
    for k in range(p):
        x, n = w[order[k]], counts[order[k]]
        while end > 0 and x + w[order[end - 1]] >= 1.0:
            end -= 1
        last = max(end, k + 1)
        count, first, second = sums[:, last] - sums[:, k + 1]
        total += n * (count * x * x + 2 * x * first + second + (sums[0, p] - sums[0, last]))
    return total


@compiled
def sharp_norm(w, n_slots):
    """Return sqrt( sum_i min(2, n_i) w_i^2 + sum_{i<j} min(2, n_i n_j) min(1, w_i + w_j)^2 ) in time p log p.

    Two laws of one or two variables that differ with probability w have n indicators whose means differ by up to w, and
    by 2 w altogether: the sum of their squares is at most 2 w^2.
    """
    total = 0.0
    if w.shape[0] <= _FEW:
        for i in range(w.shape[0]):
            total += min(2, n_slots[i]) * w[i] ** 2
            for j in range(i):
                total += min(2, n_slots[i] * n_slots[j]) * min(1.0, w[i] + w[j]) ** 2
        return np.sqrt(total)
    order = np.argsort(w)
    for i in order:
        total += min(2, n_slots[i]) * w[i] ** 2
    single = np.zeros_like(n_slots)
    several = False
    for i in order:
        single[i] = n_slots[i] == 1
        several |= n_slots[i] > 1
    total = _add_pairs(total, w, order, single)
    if several:
        # min(2, n_i n_j) is 2 if neither is 0, less 1 if both are 1.
        any_slots = np.minimum(n_slots, 1)
        total += 2 * (_add_pairs(0.0, w, order, any_slots) - _add_pairs(0.0, w, order, single))
    return np.sqrt(total)


@compiled
def follow_norms(starts, neighbours, values, order, extra, w, n_slots, norms):
    """Sweep w (see `sweep_disagreement`, capped at 1) once for each of norms, and fill it with its sharp norm."""
    for t in range(norms.shape[0]):
        sweep_disagreement(starts, neighbours, values, order, extra, 1.0, w, 1)
        norms[t] = sharp_norm(w, n_slots)


@compiled
def follow_sums(starts, neighbours, values, order, extra, w, sums):
    """Sweep w (see `sweep_disagreement`, not capped) once for each of sums, and fill it with the sum of w."""
    for t in range(sums.shape[0]):
        sweep_disagreement(starts, neighbours, values, order, extra, np.inf, w, 1)
        sums[t] = w.sum()


@compiled
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


@compiled
def compress_levels(pair, cuts, n_levels):
    """Return starts, neighbours and sizes of the influences between variables with any number of levels.

    pair (s, s) has a row and a column for every level, those of variable i from cuts[i] on. The size of an influence
    of j on i is the largest difference that two levels of j make to the fields of two levels of i. Also returns, for
    variables with two levels, the sums of the least and of the largest contributions of neighbours to the difference
    of the two fields.
    """
    p = cuts.shape[0]
    starts = np.zeros(p + 1, np.int64)
    neighbours = np.empty(p * p, np.int64)
    sizes = np.empty(p * p)
    low, high = np.zeros(p), np.zeros(p)
    n = 0
    for i in range(p):
        for j in range(p):
            block = pair[cuts[i] : cuts[i] + n_levels[i], cuts[j] : cuts[j] + n_levels[j]]
            size = 0.0
            for a in range(n_levels[j]):
                for b in range(a):
                    least, most = np.inf, -np.inf
                    for k in range(n_levels[i]):
                        least = min(least, block[k, a] - block[k, b])
                        most = max(most, block[k, a] - block[k, b])
                    size = max(size, most - least)
            if size > 0.0:
                neighbours[n], sizes[n] = j, size
                n += 1
            if n_levels[i] == 2:
                low[i] += (block[1] - block[0]).min()
                high[i] += (block[1] - block[0]).max()
        starts[i + 1] = n
    return starts, neighbours[:n].copy(), sizes[:n].copy(), low, high


@compiled
def largest_level_changes(main, pair, cuts, n_levels):
    """Return, for each variable, how much the fields of two of its levels can move apart when parameters change.

    main (s,) and pair (s, s) are the changes, laid out as in `compress_levels`.
    """
    p = cuts.shape[0]
    changes = np.zeros(p)
    for i in range(p):
        for k in range(cuts[i], cuts[i] + n_levels[i]):
            for m in range(cuts[i], cuts[i] + n_levels[i]):
                total = main[k] - main[m]
                for j in range(p):
                    if j != i:
                        most = -np.inf
                        for b in range(cuts[j], cuts[j] + n_levels[j]):
                            most = max(most, pair[k, b] - pair[m, b])
                        total += most
                changes[i] = max(changes[i], total)
    return changes
