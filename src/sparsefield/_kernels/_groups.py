"""Block coordinate descent on quadratic models with a penalty on the norms of groups."""

from __future__ import annotations

import numpy as np

from sparsefield._kernels._compiling import compiled

_MOST_ROUNDS = 100  # of a search for a root that gains a bit a round at worst
_PRECISE = 1e-14
_SMALLEST = 1e-14  # of the eigenvalues that a step is divided by


@compiled
def _find_norm(values, c, weight):
    """Return the norm t > 0 of the minimiser: the root of sum_k (c_k / (values_k t + weight))^2 = 1.

    The sum falls from above 1 at t = 0, where |c| > weight, to 0. The root lies where all eigenvalues were the largest
    or the least; bisection and Newton's steps on the inverse square root find it.
    """
    size = 0.0
    for k in range(len(c)):
        size += c[k] * c[k]
    size = np.sqrt(size)
    low = (size - weight) / max(values[-1], _SMALLEST)
    high = (size - weight) / max(values[0], _SMALLEST)
    t = low
    for _ in range(_MOST_ROUNDS):
        total, slope = 0.0, 0.0
        for k in range(len(c)):
            below = values[k] * t + weight
            part = (c[k] / below) ** 2
            total += part
            slope -= 2 * part * values[k] / below
        if total > 1:
            low = t
        else:
            high = t
        # 1 / sqrt(total) - 1 is concave and nearly a straight line: Newton's step on it.
        step = (1 / np.sqrt(total) - 1) * (-2) * total * np.sqrt(total) / slope if slope < 0 else 0.0
        new = t - step
        if not low <= new <= high:
            new = (low + high) / 2
        if abs(new - t) <= _PRECISE * max(t, 1e-300):
            return new
        t = new
    return t


@compiled
def descend_groups(curvature, starts, places, values, vectors, theta, gradient, weights, n_epochs, tol):
    """Minimise a quadratic model plus sum_g weights_g |theta_g + moves_g| over moves, from zero.

    The model is gradient . moves + moves . curvature moves / 2, curvature (w, w) symmetric. Group g has the parameters
    starts[g] to starts[g + 1], and its own block the eigenvalues values[starts[g] : starts[g + 1]] and eigenvectors
    vectors[places[g] : places[g + 1]], by rows, one column for each. Epochs go over all groups, and between them over
    those that are not zero only, for as long as these move. Returns the moves when an epoch over all moved no parameter
    by more than tol over the largest curvature of its group, or after n epochs.
    """
    n, n_groups = len(theta), len(starts) - 1
    now, slopes = theta.copy(), gradient.copy()  # slopes = gradient + curvature moves
    largest_size = 0
    for g in range(n_groups):
        largest_size = max(largest_size, starts[g + 1] - starts[g])
    c, y, change = np.empty(largest_size), np.empty(largest_size), np.empty(largest_size)
    is_full = True
    for _ in range(n_epochs):
        largest = 0.0
        for g in range(n_groups):
            first, d, place = starts[g], starts[g + 1] - starts[g], places[g]
            if not is_full:
                is_zero = True
                for k in range(d):
                    if now[first + k] != 0.0:
                        is_zero = False
                if is_zero:
                    continue
            own = values[first : first + d]
            # c = axes' (block now - slopes): what the parameters would be multiplied by the curvature, unpenalised.
            size = 0.0
            for k in range(d):
                turned, sloped = 0.0, 0.0
                for m in range(d):
                    axis = vectors[place + m * d + k]
                    turned += axis * now[first + m]
                    sloped += axis * slopes[first + m]
                c[k] = max(own[k], _SMALLEST) * turned - sloped
                size += c[k] * c[k]
            size = np.sqrt(size)
            if weights[g] > 0.0 and size <= weights[g]:
                for k in range(d):
                    y[k] = 0.0
            else:
                added = 0.0
                if weights[g] > 0.0:
                    added = weights[g] / _find_norm(own, c[:d], weights[g])
                for k in range(d):
                    y[k] = c[k] / (max(own[k], _SMALLEST) + added)
            moved = 0.0
            for m in range(d):
                new = 0.0
                for k in range(d):
                    new += vectors[place + m * d + k] * y[k]
                change[m] = new - now[first + m]
                now[first + m] = new
                moved = max(moved, abs(change[m]))
            if moved == 0.0:
                continue
            largest = max(largest, moved * own[d - 1])
            for m in range(d):
                if change[m] != 0.0:
                    row = curvature[first + m]
                    for k in range(n):
                        slopes[k] += change[m] * row[k]
        if largest <= tol:
            if is_full:
                break
            is_full = True
        else:
            is_full = False
    return now - theta
