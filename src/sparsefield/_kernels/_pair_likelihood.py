"""The likelihood of a pair of variables given all others, with Jeffreys' prior, and its maximum by Newton steps.

In a row whose other variables are known, levels u and v of the two have the probability

    P(u, v) ~ exp(b_u + c_v + f_u . A z + g_v . C z + f_u . Theta g_v),

z being the features of neighbours: as many states as there are pairs of levels, and no partition function. Statistics are
functions of (u, v), the *base*, times 1 or an entry of z: indicators of the levels but the first, the scores of ordered
variables, and products f g. A state has five base functions at most that are not zero. The base function that slopes
multiply is the indicator itself where levels have no order.

Parameters are intercepts of both variables, slopes A row by row, slopes C, and Theta, which comes last.
"""

from __future__ import annotations

import numpy as np

from sparsefield._kernels._cholesky import factor, invert, solve
from sparsefield._kernels._compiling import compiled

# Sums may be made in any order, which is the same whenever the same kernel runs.
_SUMS = {"reassoc", "contract", "nsz"}

_LENGTH = 5  # base functions of a state that are not zero, at most

# On the curvature of each parameter, as a share of its rows: columns that repeat each other leave it invertible.
_RIDGE = 1e-9

# A step that promises twice this many nats is the last, and taken at its word: statistics are right to 1e-4.
_TOLERANCE, _MOST_STEPS, _LONGEST = 1e-5, 60, 4.0


@compiled(error_model="numpy")
def list_states(features, others, is_plain, is_other_plain, index, value):
    """Write the base functions of each state (u, v) that are not zero, in ascending order.

    Parameters
    ----------
    features, others : ndarray of shape (n_levels, d)
        The features of both variables, zero at the first level.
    is_plain, is_other_plain : bool
        Whether the features are the indicators of the levels.
    index, value : ndarray of shape (n_states, 5)
        Set to the numbers of the base functions, -1 where there are fewer, and their values.

    Returns
    -------
    int
        How many base functions there are.
    """
    n_u, d = features.shape
    n_v, e = others.shape
    first_score = n_u + n_v - 2
    second_score = first_score + (0 if is_plain else 1)
    first_product = second_score + (0 if is_other_plain else 1)
    for u in range(n_u):
        for v in range(n_v):
            y, n = u * n_v + v, 0
            index[y, :] = -1
            value[y, :] = 0.0
            if u > 0:
                index[y, n], value[y, n] = u - 1, 1.0
                n += 1
            if v > 0:
                index[y, n], value[y, n] = n_u - 1 + v - 1, 1.0
                n += 1
            if u > 0 and not is_plain:
                index[y, n], value[y, n] = first_score, features[u, 0]
                n += 1
            if v > 0 and not is_other_plain:
                index[y, n], value[y, n] = second_score, others[v, 0]
                n += 1
            if u > 0 and v > 0:
                a, b = (u - 1 if d > 1 else 0), (v - 1 if e > 1 else 0)
                index[y, n], value[y, n] = first_product + a * e + b, features[u, a] * others[v, b]
    return first_product + d * e


@compiled(error_model="numpy")
def lay_out(own, other):
    """Return where things are.

    Among the parameters: how many intercepts there are, and where slopes of both variables and Theta begin. Among the
    base functions: those that slopes of both multiply, and the first product.
    """
    n_u, d, k, is_plain = own
    n_v, e, m, is_other_plain = other
    n_plain = n_u + n_v - 2
    at, at_other = n_plain, n_plain + d * k
    first = 0 if is_plain else n_plain
    second = n_u - 1 if is_other_plain else n_plain + (0 if is_plain else 1)
    product = n_plain + (0 if is_plain else 1) + (0 if is_other_plain else 1)
    return n_plain, at, at_other, at_other + e * m, first, second, product


@compiled(fastmath=_SUMS, error_model="numpy")
def project(parameters, own, other, z, z_other, found):
    """Set what each base function is multiplied by in a row: sums of parameters times what multiplies their statistics."""
    _, d, k, _ = own
    _, e, m, _ = other
    n_plain, at, at_other, last, first, second, product = lay_out(own, other)
    found[:] = 0.0
    for g in range(n_plain):
        found[g] = parameters[g]
    for a in range(d):
        for l in range(k):
            found[first + a] += parameters[at + a * k + l] * z[l]
    for a in range(e):
        for l in range(m):
            found[second + a] += parameters[at_other + a * m + l] * z_other[l]
    for a in range(d * e):
        found[product + a] = parameters[last + a]


@compiled(fastmath=_SUMS, error_model="numpy")
def distribute(values, own, other, z, z_other, gradient):
    """Add what base functions have in a row to the gradient by all parameters: the transpose of `project`."""
    _, d, k, _ = own
    _, e, m, _ = other
    n_plain, at, at_other, last, first, second, product = lay_out(own, other)
    for g in range(n_plain):
        gradient[g] += values[g]
    for a in range(d):
        for l in range(k):
            gradient[at + a * k + l] += values[first + a] * z[l]
    for a in range(e):
        for l in range(m):
            gradient[at_other + a * m + l] += values[second + a] * z_other[l]
    for a in range(d * e):
        gradient[last + a] += values[product + a]


@compiled(fastmath=_SUMS, error_model="numpy")
def add_state(y, amount, index, value, found):
    """Add so much of the base functions of a state."""
    for a in range(_LENGTH):
        g = index[y, a]
        if g < 0:
            break
        found[g] += amount * value[y, a]


@compiled(fastmath=_SUMS, error_model="numpy")
def read_state(y, index, value, coefficients):
    """Return the sum of the base functions of a state, each times its coefficient."""
    total = 0.0
    for a in range(_LENGTH):
        g = index[y, a]
        if g < 0:
            break
        total += value[y, a] * coefficients[g]
    return total


@compiled(fastmath=_SUMS, error_model="numpy")
def expect(coefficients, index, value, probabilities, means):
    """Set the probabilities of states in a row, and the means of the base functions."""
    top = -np.inf
    for y in range(len(probabilities)):
        probabilities[y] = read_state(y, index, value, coefficients)
        top = max(top, probabilities[y])
    total = 0.0
    for y in range(len(probabilities)):
        probabilities[y] = np.exp(probabilities[y] - top)
        total += probabilities[y]
    means[:] = 0.0
    for y in range(len(probabilities)):
        probabilities[y] /= total
        add_state(y, probabilities[y], index, value, means)


@compiled(fastmath=_SUMS, error_model="numpy")
def _weigh_states(own, other, shape, base, z, z_other, parameters, products, probabilities):
    """Set the probabilities of all states in one row, and return the logarithm of their sum before they had it.

    own, other: how many levels, features and slopes per feature, and whether features are indicators.
    """
    n_u, d, k, is_plain = own
    n_v, e, m, is_other_plain = other
    _, at, at_other, _, _, _, _ = lay_out(own, other)
    scores_u, scores_v = shape
    pot_u, pot_v = base
    pot_u[0] = 0.0
    for u in range(1, n_u):
        pot_u[u] = parameters[u - 1]
    for a in range(d):
        total = 0.0
        for j in range(k):
            total += parameters[at + a * k + j] * z[j]
        if is_plain:
            pot_u[a + 1] += total
        else:
            for u in range(1, n_u):
                pot_u[u] += scores_u[u, 0] * total
    pot_v[0] = 0.0
    for v in range(1, n_v):
        pot_v[v] = parameters[n_u - 1 + v - 1]
    for a in range(e):
        total = 0.0
        for j in range(m):
            total += parameters[at_other + a * m + j] * z_other[j]
        if is_other_plain:
            pot_v[a + 1] += total
        else:
            for v in range(1, n_v):
                pot_v[v] += scores_v[v, 0] * total
    top, top_other = 0.0, 0.0
    for u in range(1, n_u):
        top = max(top, pot_u[u])
    for v in range(1, n_v):
        top_other = max(top_other, pot_v[v])
    for u in range(n_u):
        pot_u[u] = np.exp(pot_u[u] - top)
    for v in range(n_v):
        pot_v[v] = np.exp(pot_v[v] - top_other)
    total = 0.0
    for u in range(n_u):
        for v in range(n_v):
            p = pot_u[u] * pot_v[v] * products[u * n_v + v]
            probabilities[u * n_v + v] = p
            total += p
    for y in range(n_u * n_v):
        probabilities[y] /= total
    return np.log(total) + top + top_other


@compiled(fastmath=_SUMS, error_model="numpy")
def _find_means(index, value, probabilities, means):
    means[:] = 0.0
    for y in range(len(probabilities)):
        add_state(y, probabilities[y], index, value, means)


@compiled(fastmath=_SUMS, error_model="numpy")
def _find_spread(index, value, probabilities, means, spread):
    """Set the covariances of the base functions."""
    n = len(means)
    spread[:] = 0.0
    for y in range(len(probabilities)):
        p = probabilities[y]
        for a in range(_LENGTH):
            g = index[y, a]
            if g < 0:
                break
            here = p * value[y, a]
            for b in range(a + 1):
                spread[g, index[y, b]] += here * value[y, b]
    for g in range(n):
        for h in range(g + 1):
            spread[g, h] -= means[g] * means[h]
            spread[h, g] = spread[g, h]


@compiled(fastmath=_SUMS, error_model="numpy")
def _add_row(count, own, other, z, z_other, means, spread, expected, curvature):
    """Add what a row expects of the statistics, and their covariances, the lower triangle."""
    _, d, k, _ = own
    _, e, m, _ = other
    n_plain, at, at_other, last, first, second, product = lay_out(own, other)
    n_products = len(means) - product
    for g in range(n_plain):
        expected[g] += count * means[g]
        for h in range(g + 1):
            curvature[g, h] += count * spread[g, h]
    for a in range(d):
        g = first + a
        for j in range(k):
            x = count * z[j]
            row = curvature[at + a * k + j]
            expected[at + a * k + j] += x * means[g]
            for h in range(n_plain):
                row[h] += x * spread[g, h]
            for b in range(a + 1):
                y = x * spread[g, first + b]
                for l in range(j + 1 if b == a else k):
                    row[at + b * k + l] += y * z[l]
    for a in range(e):
        g = second + a
        for j in range(m):
            x = count * z_other[j]
            row = curvature[at_other + a * m + j]
            expected[at_other + a * m + j] += x * means[g]
            for h in range(n_plain):
                row[h] += x * spread[g, h]
            for b in range(d):
                y = x * spread[g, first + b]
                for l in range(k):
                    row[at + b * k + l] += y * z[l]
            for b in range(a + 1):
                y = x * spread[g, second + b]
                for l in range(j + 1 if b == a else m):
                    row[at_other + b * m + l] += y * z_other[l]
    for a in range(n_products):
        g = product + a
        row = curvature[last + a]
        expected[last + a] += count * means[g]
        for h in range(n_plain):
            row[h] += count * spread[g, h]
        for b in range(d):
            y = count * spread[g, first + b]
            for l in range(k):
                row[at + b * k + l] += y * z[l]
        for b in range(e):
            y = count * spread[g, second + b]
            for l in range(m):
                row[at_other + b * m + l] += y * z_other[l]
        for h in range(a + 1):
            row[last + h] += count * spread[g, product + h]


@compiled(fastmath=_SUMS, error_model="numpy")
def _add_leverage(
    count, own, other, z, z_other, index, value, probabilities, means, inverse, fixed, quadratic, gradient
):
    """Add the gradient of half the logarithm of the determinant of the curvature that a row has a part in.

    Each state counts half of its leverage, e' D V D' e, more (Firth 1993).
    """
    _, d, k, _ = own
    _, e, m, _ = other
    n_plain, at, at_other, last, first, second, product = lay_out(own, other)
    size = len(means)
    quadratic[:] = fixed
    for side in range(2):
        n_own, n_slopes, start, base = (d, k, at, first) if side == 0 else (e, m, at_other, second)
        own_z = z if side == 0 else z_other
        for a in range(n_own):
            g = base + a
            for j in range(n_slopes):
                row, x = inverse[start + a * n_slopes + j], own_z[j]
                for h in range(n_plain):
                    y = x * row[h]
                    quadratic[g, h] += y
                    quadratic[h, g] += y
                for h in range(size - product):
                    y = x * row[last + h]
                    quadratic[g, product + h] += y
                    quadratic[product + h, g] += y
                for b in range(d):
                    total = 0.0
                    for l in range(k):
                        total += row[at + b * k + l] * z[l]
                    quadratic[g, first + b] += x * total
                for b in range(e):
                    total = 0.0
                    for l in range(m):
                        total += row[at_other + b * m + l] * z_other[l]
                    quadratic[g, second + b] += x * total
    along = np.empty(size)
    centre = 0.0
    for g in range(size):
        total = 0.0
        for h in range(size):
            total += quadratic[g, h] * means[h]
        along[g] = total
        centre += total * means[g]
    drawn = np.zeros(size)
    whole = 0.0
    for y in range(len(probabilities)):
        leverage = centre
        for a in range(_LENGTH):
            g = index[y, a]
            if g < 0:
                break
            leverage -= 2 * value[y, a] * along[g]
            for b in range(_LENGTH):
                h = index[y, b]
                if h < 0:
                    break
                leverage += value[y, a] * value[y, b] * quadratic[g, h]
        leverage *= probabilities[y]
        whole += leverage
        add_state(y, leverage, index, value, drawn)
    for g in range(size):
        drawn[g] = 0.5 * count * (drawn[g] - whole * means[g])
    distribute(drawn, own, other, z, z_other, gradient)


@compiled(fastmath=_SUMS, error_model="numpy")
def maximise(counts, columns, others, own, other, features, other_features, index, value, observed, parameters, n_free,
             curvature, inverse):  # fmt: skip
    """Maximise the log-likelihood of a pair with Jeffreys' prior, over the first n_free parameters.

    Parameters
    ----------
    counts : ndarray of shape (n,)
        How often each pattern of neighbours counts.
    columns, others : ndarray of shape (n, k) and (n, m)
        The features of the neighbours of both variables.
    own, other : tuple of three ints and a bool
        Levels, features, columns, and whether features are indicators.
    features, other_features : ndarray of shape (n_levels, d)
        The features of both variables.
    index, value : ndarray of shape (n_states, 5)
        As of `list_states`.
    observed : ndarray of shape (n_parameters,)
        The statistics, summed over rows.
    parameters : ndarray of shape (n_parameters,)
        Where to begin; moved.
    n_free : int
        How many parameters move: all, or all but Theta.
    curvature, inverse : ndarray of shape (n_parameters, n_parameters)
        Set to the Fisher information of all parameters, and its inverse.

    Returns
    -------
    tuple of float and bool
        The penalised log-likelihood, and whether steps came to their end.
    """
    size = len(parameters)
    n_v, e = other_features.shape
    d = features.shape[1]
    n_states, n_products = len(index), d * e
    n_plain, _, _, _, _, _, product = lay_out(own, other)
    n_base = product + n_products
    probabilities, means, spread = np.empty(n_states), np.empty(n_base), np.empty((n_base, n_base))
    quadratic, fixed, products = np.empty((n_base, n_base)), np.empty((n_base, n_base)), np.empty(n_states)
    scratch = np.empty(len(features)), np.empty(len(other_features))
    shape = features, other_features
    expected, gradient, step = np.empty(size), np.empty(size), np.zeros(size)
    lower = np.empty((size, size))
    n_rows = counts.sum()
    base_of = np.empty(n_plain + n_products, np.int64)
    parameter_of = np.empty(n_plain + n_products, np.int64)
    for a in range(n_plain):
        base_of[a] = parameter_of[a] = a
    for a in range(n_products):
        base_of[n_plain + a], parameter_of[n_plain + a] = n_base - n_products + a, size - n_products + a
    last, reached, share = -np.inf, -np.inf, 1.0
    for _ in range(_MOST_STEPS):
        for y in range(n_states):
            u, v = y // n_v, y % n_v
            total = 0.0
            for a in range(d):
                for b in range(e):
                    total += features[u, a] * parameters[size - n_products + a * e + b] * other_features[v, b]
            products[y] = np.exp(min(max(total, -300.0), 300.0))
        expected[:] = 0.0
        curvature[:] = 0.0
        reached = 0.0
        for t in range(len(counts)):
            z, z_other = columns[t], others[t]
            total = _weigh_states(own, other, shape, scratch, z, z_other, parameters, products, probabilities)
            reached -= counts[t] * total
            _find_means(index, value, probabilities, means)
            _find_spread(index, value, probabilities, means, spread)
            _add_row(counts[t], own, other, z, z_other, means, spread, expected, curvature)
        for a in range(size):
            reached += observed[a] * parameters[a]
            curvature[a, a] += _RIDGE * n_rows
            for b in range(a):
                curvature[b, a] = curvature[a, b]
        lower[:] = curvature
        if not factor(lower, size):
            return reached, False
        for a in range(size):
            reached += np.log(lower[a, a])
        if reached < last - 1e-9 * abs(last) and share > 1e-4:  # the last step led down: half of it is taken back
            share /= 2
            for a in range(n_free):
                parameters[a] -= share * step[a]
            continue
        last, share = reached, 1.0
        invert(lower, inverse, size)
        for g in range(n_base):
            for h in range(n_base):
                fixed[g, h] = 0.0
        for a in range(len(base_of)):
            for b in range(len(base_of)):
                fixed[base_of[a], base_of[b]] = inverse[parameter_of[a], parameter_of[b]]
        for a in range(size):
            gradient[a] = observed[a] - expected[a]
        for t in range(len(counts)):
            z, z_other = columns[t], others[t]
            _weigh_states(own, other, shape, scratch, z, z_other, parameters, products, probabilities)
            _find_means(index, value, probabilities, means)
            _add_leverage(counts[t], own, other, z, z_other, index, value, probabilities, means, inverse, fixed,
                          quadratic, gradient)  # fmt: skip
        step[:] = gradient
        # The factor of the first parameters alone is the first part of the factor.
        solve(lower, step, n_free)
        gain, longest = 0.0, 0.0
        for a in range(n_free):
            gain += gradient[a] * step[a]
            longest = max(longest, abs(step[a]))
        if longest > _LONGEST:
            for a in range(n_free):
                step[a] *= _LONGEST / longest
        for a in range(n_free):
            parameters[a] += step[a]
        if gain / 2 <= _TOLERANCE:
            return reached + gain / 2, True
    return reached, False
