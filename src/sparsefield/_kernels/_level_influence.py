"""How much a neighbour can move the conditional distribution of a variable with several levels, within its reach.

Probabilities of the levels of variable i are proportional to exp(e_k), and most[k, m] bounds e_k - e_m over all levels
of its other neighbours. When neighbour j goes from level a to level b, e_k changes by d_k. The total variation distance
is the largest change of the probability of a set A of levels, and the best A is {k: d_k > c} for some c. With F and F'
the log-odds of A before and after, it is s(F') - s(F), s the logistic function.
"""

from __future__ import annotations

import numpy as np

from sparsefield._kernels._compiling import compiled

_LARGEST = 700.0  # exp of it is a float64
# Weights of levels are exponentials, and so is what they are multiplied by. As long as their exponents add up to this
# at most, products and their sums over 64 levels are between 1e-261 and 1e263: nothing overflows or vanishes. Larger
# ones belong to variables that are all but settled, whose influences stay as they are.
_MOST_ADDED = 600.0
# Logarithms of sums and of means of up to 64 exponentials, each right to a few units of 2^-53, and more than that.
_ROUNDED = 2.0**-44


@compiled
def find_reach(main, pair, cut, cuts, n_levels, i):
    """Return the largest e_k - e_m of variable i over all levels of its neighbours, (K_i, K_i)."""
    n = n_levels[i]
    most = np.empty((n, n))
    for k in range(n):
        for m in range(n):
            most[k, m] = main[cut + k] - main[cut + m]
            for j in range(cuts.shape[0]):
                if j != i:
                    most[k, m] += _largest_difference(pair, cut + k, cut + m, cuts[j], n_levels[j])
    return most


@compiled
def _largest_difference(pair, k, m, first, n):
    largest = -np.inf
    for b in range(first, first + n):
        largest = max(largest, pair[k, b] - pair[m, b])
    return largest


@compiled
def _largest_log_odds(most, at, inside, outside):
    """Bound the log-odds of the levels `inside` against those `outside`, where each exponent has at[k] added.

    A sum of exp(e_k) over a sum of exp(e_m) is the sum over k of 1 / sum_m exp(e_m - e_k).
    """
    total = 0.0
    for k in inside:
        under = 0.0
        for m in outside:
            gap = most[k, m] + at[k] - at[m]
            if gap < _LARGEST:
                under += np.exp(-max(gap, -_LARGEST))
        if under == 0.0:
            return np.inf
        total += 1 / under
    return np.log(total)


@compiled
def _extreme_mean(most, at, d, levels):
    """Bound the logarithm of the mean of exp(d) over some levels: from above if d falls along them, else from below.

    Weights relative to that of the first level lie in a box. The mean is extreme where some of the first levels have
    their largest weights and the others their least. Exponents must be within reach (`_can_be_added`).
    """
    first = levels[0]
    above, below = 1.0, 1.0  # the sum of weights times exp(d - d_first), and the sum of weights
    for k in levels[1:]:
        least = np.exp(-(most[first, k] + at[first] - at[k]))
        above += least * np.exp(d[k] - d[first])
        below += least
    falls = d[levels[-1]] < d[first]
    extreme = above / below
    for k in levels[1:]:
        least = np.exp(-(most[first, k] + at[first] - at[k]))
        more = max(0.0, np.exp(most[k, first] + at[k] - at[first]) - least)
        above += more * np.exp(d[k] - d[first])
        below += more
        extreme = max(extreme, above / below) if falls else min(extreme, above / below)
    return np.log(extreme) + d[first]


@compiled
def _can_be_added(most, at, whole):
    """Say whether weights of levels, times the exponential of a change by `whole` at most, can be added up."""
    for k in range(at.shape[0]):
        for m in range(at.shape[0]):
            if not abs(most[k, m] + at[k] - at[m]) + whole <= _MOST_ADDED:
                return False
    return True


@compiled
def _largest_change(size, low, high, highest):
    """Return the largest s(F') - s(F) for F from low to high, F' up to highest and to F + size."""
    low, high, highest = (
        low - _ROUNDED * (1 + abs(low)),
        high + _ROUNDED * (1 + abs(high)),
        highest + _ROUNDED * (1 + abs(highest)),
    )
    if highest - size < low:
        size, y = max(0.0, highest - low), low
    else:
        y = min(max(-size / 2, low), min(high, highest - size))
    return -np.expm1(-size) / ((1 + np.exp(-(y + size))) * (1 + np.exp(y)))


@compiled
def bound_influences(main, pair, cuts, n_levels, starts, neighbours, slacks, most_work, entries):
    """Lower the entries of an influence matrix, in compressed rows, to what the reach of variables allows.

    slacks (p,) is what the exponents of each variable are rounded by at most. Where a bound would take long, K_i^3
    K_j^2 above most_work, or exponentials of exponents cannot be added up, entries stay as they are.
    """
    for i in range(cuts.shape[0]):
        reach = np.empty((0, 0))
        for entry in range(starts[i], starts[i + 1]):
            j = neighbours[entry]
            if n_levels[i] ** 3 * n_levels[j] ** 2 <= most_work:
                if reach.size == 0:
                    reach = find_reach(main, pair, cuts[i], cuts, n_levels, i)
                found = _bound_one(reach, pair, cuts[i], n_levels[i], cuts[j], n_levels[j], slacks[i])
                entries[entry] = min(entries[entry], found)


@compiled
def _bound_one(reach, pair, cut, n, first, n_others, slack):
    """Bound the influence of a neighbour whose levels begin at `first` on a variable whose levels begin at `cut`."""
    most = np.empty((n, n))
    for k in range(n):
        for m in range(n):
            most[k, m] = reach[k, m] - _largest_difference(pair, cut + k, cut + m, first, n_others) + slack
    largest = 0.0
    before, after = np.empty(n), np.empty(n)
    for a in range(n_others):
        for b in range(a):
            for k in range(n):
                before[k], after[k] = pair[cut + k, first + a], pair[cut + k, first + b]
            d = after - before
            order = np.argsort(-d)
            whole = d[order[0]] - d[order[-1]]
            if not _can_be_added(most, before, whole):
                return 1.0
            for size in range(1, n):
                inside, outside = order[:size], order[size:]
                if d[inside[-1]] > d[outside[0]]:
                    move = _extreme_mean(most, before, d, inside) - _extreme_mean(most, before, d, outside[::-1])
                    move = min(move + _ROUNDED * (1 + abs(move)), whole)
                    low = -_largest_log_odds(most, before, outside, inside)
                    high = _largest_log_odds(most, before, inside, outside)
                    highest = _largest_log_odds(most, after, inside, outside)
                    found = _largest_change(max(move, 0.0), low, high, highest)
                    if not found <= 1.0:  # not a number
                        return 1.0
                    largest = max(largest, found)
    return largest
