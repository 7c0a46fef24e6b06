"""Logistic regressions of one variable on the features of its neighbours, by Newton steps over rows.

A variable with K levels has d features, and its neighbours k columns of theirs. Level l has exponent b[l] + f[l] . Z z
in a row whose neighbours are z: ordinary, ordered (adjacent categories) or multinomial logistic regression, as the
features say. The first level has no intercept of its own. Parameters are the other intercepts, and Z row by row.
"""

from __future__ import annotations

import numpy as np

from sparsefield._kernels._cholesky import factor, solve
from sparsefield._kernels._compiling import compiled

# Sums may be made in any order, which is the same whenever the same kernel runs.
_SUMS = {"reassoc", "contract", "nsz"}


@compiled(fastmath=_SUMS, error_model="numpy")
def _add_rows_of_two(codes, counts, features, columns, intercepts, slopes, gradient, curvature):
    """Do what `_add_rows` does for two levels and one feature, in half the time: with one exponential a row."""
    n, k = columns.shape
    size = features[1, 0] - features[0, 0]
    gradient[:] = 0.0
    curvature[:] = 0.0
    value = 0.0
    own = slopes[0]
    for t in range(n):
        count = counts[t]
        if count == 0.0:
            continue
        z = columns[t]
        log_odds = 0.0
        for j in range(k):
            log_odds += own[j] * z[j]
        log_odds = intercepts[1] - intercepts[0] + size * log_odds
        small = np.exp(-abs(log_odds))
        p = 1.0 / (1.0 + small) if log_odds > 0 else small / (1.0 + small)
        value -= count * (np.log1p(small) + max(0.0, -log_odds if codes[t] else log_odds))
        residual, bend = count * (codes[t] - p), count * p * (1.0 - p)
        gradient[0] += residual
        curvature[0, 0] += bend
        residual *= size
        bend *= size
        for j in range(k):
            gradient[1 + j] += residual * z[j]
            curvature[1 + j, 0] += bend * z[j]
        bend *= size
        for j in range(k):
            here, row = bend * z[j], curvature[1 + j]
            for m in range(j + 1):
                row[1 + m] += here * z[m]
    return value


@compiled(fastmath=_SUMS, error_model="numpy")
def _add_rows(codes, counts, features, columns, intercepts, slopes, gradient, curvature):
    """Set the gradient and the curvature, its lower triangle, of the log-likelihood, and return that."""
    n, k = columns.shape
    n_levels, d = features.shape
    gradient[:] = 0.0
    curvature[:] = 0.0
    value = 0.0
    along, exponents, mean = np.empty(d), np.empty(n_levels), np.empty(d)
    spread = np.empty((d, d))
    for t in range(n):
        count = counts[t]
        if count == 0.0:
            continue
        z = columns[t]
        value += count * _log_probability(z, codes[t], features, intercepts, slopes, along, exponents)
        for u in range(d):
            mean[u] = 0.0
            for level in range(n_levels):
                mean[u] += exponents[level] * features[level, u]
        for u in range(d):
            for w in range(u + 1):
                total = 0.0
                for level in range(n_levels):
                    total += exponents[level] * features[level, u] * features[level, w]
                spread[u, w] = count * (total - mean[u] * mean[w])
        for a in range(1, n_levels):
            p = count * exponents[a]
            gradient[a - 1] -= p
            for b in range(1, a):
                curvature[a - 1, b - 1] -= p * exponents[b]
            curvature[a - 1, a - 1] += p * (1.0 - exponents[a])
        if codes[t] > 0:
            gradient[codes[t] - 1] += count
        for u in range(d):
            first = n_levels - 1 + u * k
            residual = count * (features[codes[t], u] - mean[u])
            for j in range(k):
                gradient[first + j] += residual * z[j]
            for a in range(1, n_levels):
                cross = count * exponents[a] * (features[a, u] - mean[u])
                for j in range(k):
                    curvature[first + j, a - 1] += cross * z[j]
            for w in range(u + 1):
                second, bend = n_levels - 1 + w * k, spread[u, w]
                for j in range(k):
                    here = bend * z[j]
                    row = curvature[first + j]
                    for m in range(j + 1 if w == u else k):
                        row[second + m] += here * z[m]
    return value


@compiled(fastmath=_SUMS, error_model="numpy")
def _log_probability(z, code, features, intercepts, slopes, along, exponents):
    """Set exponents to the probabilities of levels in one row, and return the logarithm of that of the one it shows."""
    n_levels, d = features.shape
    for u in range(d):
        total = 0.0
        for j in range(len(z)):
            total += slopes[u, j] * z[j]
        along[u] = total
    largest = -np.inf
    for level in range(n_levels):
        total = intercepts[level]
        for u in range(d):
            total += features[level, u] * along[u]
        exponents[level] = total
        largest = max(largest, total)
    own, total = exponents[code], 0.0
    for level in range(n_levels):
        exponents[level] = np.exp(exponents[level] - largest)
        total += exponents[level]
    for level in range(n_levels):
        exponents[level] /= total
    return own - largest - np.log(total)


@compiled(error_model="numpy")
def regress(codes, counts, features, columns, precision, intercepts, slopes, tolerance, most_steps, curvature):
    """Maximise the log-likelihood plus that of a normal prior, from where parameters are.

    Parameters
    ----------
    codes : ndarray of shape (n,), uint8
        The level of the variable in each row; the first level has no intercept.
    counts : ndarray of shape (n,)
        How often each row counts; 0 where the variable is missing.
    features : ndarray of shape (n_levels, d)
        Its features.
    columns : ndarray of shape (n, k)
        The features of its neighbours.
    precision : ndarray of shape (d, k)
        One over the variance of the prior of each slope.
    intercepts, slopes : ndarray of shape (n_levels,) and (d, k)
        The parameters, which are moved.
    tolerance : float
        A step that promises to gain no more nats is the last, and is taken at its word.
    most_steps : int
        Steps at most.
    curvature : ndarray of shape (m, m), m = n_levels - 1 + d k
        Set to the Cholesky factor of the curvature where the last step begins, with the prior.

    Returns
    -------
    tuple of float and bool
        What is maximised, and whether the last step was as small as that.
    """
    n_levels, d = features.shape
    k = columns.shape[1]
    size = n_levels - 1 + d * k
    gradient, step = np.empty(size), np.zeros(size)
    share, last, value = 1.0, -np.inf, 0.0
    for _ in range(most_steps):
        if n_levels == 2 and d == 1:
            value = _add_rows_of_two(codes, counts, features, columns, intercepts, slopes, gradient, curvature)
        else:
            value = _add_rows(codes, counts, features, columns, intercepts, slopes, gradient, curvature)
        for u in range(d):
            for j in range(k):
                at, own = n_levels - 1 + u * k + j, precision[u, j]
                value -= own * slopes[u, j] * slopes[u, j] / 2
                gradient[at] -= own * slopes[u, j]
                curvature[at, at] += own
        if value < last - 1e-9 * abs(last) and share > 1e-6:  # the last step led down: half of it is taken back
            share /= 2
            _move(intercepts, slopes, step, -share)
            continue
        last, share = value, 1.0
        if not factor(curvature, size):
            return value, False
        step[:] = gradient
        solve(curvature, step, size)
        gain = 0.0
        for a in range(size):
            gain += gradient[a] * step[a]
        _move(intercepts, slopes, step, 1.0)
        if gain / 2 <= tolerance:
            return value + gain / 2, True
    return value, False


@compiled(error_model="numpy")
def _move(intercepts, slopes, step, share):
    n_own = len(intercepts) - 1
    d, k = slopes.shape
    for a in range(n_own):
        intercepts[a + 1] += share * step[a]
    for u in range(d):
        for j in range(k):
            slopes[u, j] += share * step[n_own + u * k + j]


@compiled(fastmath=_SUMS, error_model="numpy")
def weigh_rows(codes, counts, features, columns, intercepts, slopes, residuals, spreads, mixed):
    """Set what score tests of further neighbours are made of, in each row, times how often it counts.

    Parameters
    ----------
    codes, counts, features, columns, intercepts, slopes
        As for `regress`.
    residuals : ndarray of shape (n, d)
        Set to features less their means.
    spreads : ndarray of shape (n, d, d)
        Set to the covariances of features.
    mixed : ndarray of shape (n, m, d)
        Set to the covariances of features with what each parameter multiplies.
    """
    n, k = columns.shape
    n_levels, d = features.shape
    along, exponents, mean = np.empty(d), np.empty(n_levels), np.empty(d)
    for t in range(n):
        count, z = counts[t], columns[t]
        _log_probability(z, codes[t], features, intercepts, slopes, along, exponents)
        for u in range(d):
            mean[u] = 0.0
            for level in range(n_levels):
                mean[u] += exponents[level] * features[level, u]
            residuals[t, u] = count * (features[codes[t], u] - mean[u])
            for a in range(1, n_levels):
                mixed[t, a - 1, u] = count * exponents[a] * (features[a, u] - mean[u])
        for u in range(d):
            for w in range(d):
                total = 0.0
                for level in range(n_levels):
                    total += exponents[level] * features[level, u] * features[level, w]
                bend = count * (total - mean[u] * mean[w])
                spreads[t, u, w] = bend
                first = n_levels - 1 + w * k
                for j in range(k):
                    mixed[t, first + j, u] = bend * z[j]
