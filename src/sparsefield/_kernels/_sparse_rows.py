"""Covariances of which few entries are kept, in sparse rows: which ones, and quadratic models of them minimised.

Row c has the entries starts[c] to starts[c + 1] of columns and values, in the order of their columns and without the
diagonal, which is held apart.
"""

from __future__ import annotations

import numpy as np

from sparsefield._kernels._compiling import compiled
from sparsefield._kernels._proximal import shrink


@compiled
def find_entries(first, second, ball_starts, ball, own_starts, own, starts, columns, most):
    """Find for each statistic those after it that have a variable in the ball around one of its own.

    The ball around variable v is ball[ball_starts[v] : ball_starts[v + 1]], and the statistics that have v are
    own[own_starts[v] : own_starts[v + 1]]. With no columns it fills starts alone, of which it needs the rest. Returns
    whether there are at most so many of them.
    """
    seen = np.full(len(first), -1, np.int64)
    for c in range(len(first)):
        place = starts[c]
        for side in range(1 if first[c] == second[c] else 2):
            v = first[c] if side == 0 else second[c]
            for x in range(ball_starts[v], ball_starts[v + 1]):
                for y in range(own_starts[ball[x]], own_starts[ball[x] + 1]):
                    other = own[y]
                    if other > c and seen[other] != c:
                        seen[other] = c
                        if len(columns):
                            columns[place] = other
                        place += 1
        if len(columns):
            columns[starts[c] : place].sort()
        else:
            starts[c + 1] = place
        if place > most:
            return False
    return True


@compiled
def mirror(starts, columns, counts, scale, means):
    """Return whole rows of covariances, from sums of products after the diagonal: starts, columns, values."""
    w = len(means)
    full_starts = np.zeros(w + 1, np.int64)
    for c in range(w):
        full_starts[c + 1] += starts[c + 1] - starts[c]
        for e in range(starts[c], starts[c + 1]):
            full_starts[columns[e] + 1] += 1
    full_starts[:] = np.cumsum(full_starts)
    places = full_starts[:-1].copy()
    full_columns, values = np.empty(full_starts[w], np.int32), np.empty(full_starts[w])
    for c in range(w):  # rows before c have left their entries in row c by now, so that columns are in order
        for e in range(starts[c], starts[c + 1]):
            other = columns[e]
            value = scale * counts[e] - means[c] * means[other]
            full_columns[places[c]], values[places[c]] = other, value
            full_columns[places[other]], values[places[other]] = c, value
            places[c] += 1
            places[other] += 1
    return full_starts, full_columns, values


@compiled
def descend_rows(starts, columns, values, variances, theta, gradient, penalty, ridge, n_epochs, tol, most):
    """Minimise gradient . moves + moves . (H + ridge) moves / 2 + penalty . |theta + moves| over moves, from zero.

    H has sparse rows, and the variances on its diagonal. Epochs are those of `descend_moments`. Every change lowers the
    model by at least half its square times the curvature: where these add up to more than `most`, as they do where H is
    not positive and the model has no minimum, it ends. Returns the moves, H moves, and whether it went so far.
    """
    n = len(theta)
    moves, sums = np.zeros(n), np.zeros(n)  # sums = H moves, less the diagonal
    fallen, is_full = 0.0, True
    for _ in range(n_epochs):
        largest = 0.0
        for c in range(n):
            last = theta[c] + moves[c]
            if last == 0.0 and not is_full:
                continue
            curvature = variances[c] + ridge[c]
            if curvature <= 0.0:
                continue
            slope = gradient[c] + sums[c] + curvature * moves[c]
            change = shrink(last - slope / curvature, penalty[c] / curvature) - last
            if change == 0.0:
                continue
            moves[c] += change
            largest = max(largest, abs(change) * curvature)
            fallen += curvature * change * change / 2
            for e in range(starts[c], starts[c + 1]):
                sums[columns[e]] += change * values[e]
        if fallen > most:
            return moves, sums + variances * moves, True
        if largest <= tol:
            if is_full:
                break
            is_full = True
        else:
            is_full = False
    return moves, sums + variances * moves, False


@compiled
def rest_of_rows(starts, columns, values, diagonal, wanted, among, smallest):
    """Return what a regression on those near it, as far as they are among some, leaves of the variance of each wanted.

    It is the last pivot of a Cholesky factor of the block of both. A statistic whose own pivot is less than a share
    `smallest` of its diagonal says nothing new, or nothing right where entries that are not kept matter, and is left
    out.
    """
    found = np.empty(len(wanted))
    width = 0
    for c in wanted:
        width = max(width, starts[c + 1] - starts[c])
    place = np.full(len(diagonal), -1, np.int64)
    some = np.empty(width + 1, np.int64)
    factor = np.zeros((width + 1, width + 1))
    for r in range(len(wanted)):
        c = wanted[r]
        size = 0
        for e in range(starts[c], starts[c + 1]):
            if among[columns[e]]:
                some[size] = columns[e]
                size += 1
        some[size] = c
        for k in range(size + 1):
            place[some[k]] = k
        for k in range(size + 1):
            factor[k, : k + 1] = 0.0
            factor[k, k] = diagonal[some[k]]
            for e in range(starts[some[k]], starts[some[k] + 1]):
                if 0 <= place[columns[e]] < k:
                    factor[k, place[columns[e]]] = values[e]
        for k in range(size + 1):
            place[some[k]] = -1
        for k in range(size + 1):
            for j in range(k):
                if factor[j, j] == 0.0:  # left out
                    factor[k, j] = 0.0
                    continue
                total = factor[k, j]
                for i in range(j):
                    total -= factor[k, i] * factor[j, i]
                factor[k, j] = total / factor[j, j]
            pivot = factor[k, k]
            for i in range(k):
                pivot -= factor[k, i] * factor[k, i]
            if k == size:
                found[r] = max(pivot, smallest * diagonal[c])
            else:
                factor[k, k] = np.sqrt(pivot) if pivot > smallest * diagonal[some[k]] else 0.0
    return found
