"""The likelihood of a pair of variables given all others, with Jeffreys' prior, and its maximum by Newton steps.

In a row whose other variables are known, levels u and v of the two have the probability

    P(u, v) ~ exp(b_u + c_v + f_u . A z + g_v . C z + f_u . Theta g_v),

z being the features of neighbours: as many states as there are pairs of levels, and no partition function. Statistics
are functions of (u, v), the *base*, times 1 or an entry of z: indicators of the levels but the first, the scores of
ordered variables, and products f g. A state has five base functions at most that are not zero. The base function that
slopes multiply is the indicator itself where levels have no order.

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

# Rows of a block: covariances of their base functions take 128 KiB.
_FEWEST, _MOST, _NUMBERS = 16, 256, 2**14


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
    """Set what each base function is multiplied by in a row: sums of parameters times what their statistics have."""
    _, d, k, _ = own
    _, e, m, _ = other
    n_plain, at, at_other, last, first, second, product = lay_out(own, other)
    found[:] = 0.0
    for g in range(n_plain):
        found[g] = parameters[g]
    for a in range(d):
        for col in range(k):
            found[first + a] += parameters[at + a * k + col] * z[col]
    for a in range(e):
        for col in range(m):
            found[second + a] += parameters[at_other + a * m + col] * z_other[col]
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
        for col in range(k):
            gradient[at + a * k + col] += values[first + a] * z[col]
    for a in range(e):
        for col in range(m):
            gradient[at_other + a * m + col] += values[second + a] * z_other[col]
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
def _weigh_block(counts, z, z_other, own, other, features, other_features, parameters, products, room):
    """Set the probabilities of all states in some rows, (n_states, n), and the means of base functions, (n_base, n).

    Returns the logarithms of the sums that make them probabilities, each as often as its row counts.
    """
    exponents, other_exponents, line, total, probabilities, means, index, value = room
    n_u, _, k, is_plain = own
    n_v, _, m, is_other_plain = other
    _, at, at_other, _, _, _, _ = lay_out(own, other)
    n = len(counts)
    for side in range(2):
        scores = features if side == 0 else other_features
        here = exponents if side == 0 else other_exponents
        columns = z if side == 0 else z_other
        start, width, first = (at, k, 0) if side == 0 else (at_other, m, n_u - 1)
        is_indicator = is_plain if side == 0 else is_other_plain
        here[0] = 0.0
        for u in range(1, len(here)):
            here[u] = parameters[first + u - 1]
        for a in range(scores.shape[1]):
            np.dot(columns, parameters[start + a * width : start + (a + 1) * width], line)
            for u in range(1, len(here)):
                size = (1.0 if u == a + 1 else 0.0) if is_indicator else scores[u, 0]
                if size != 0.0:
                    for t in range(n):
                        here[u, t] += size * line[t]
    value_of_sums = 0.0
    for t in range(n):
        total[t] = 0.0
    for side in range(2):
        here = exponents if side == 0 else other_exponents
        for t in range(n):
            top = 0.0
            for u in range(1, len(here)):
                top = max(top, here[u, t])
            value_of_sums += counts[t] * top
            for u in range(len(here)):
                here[u, t] = np.exp(here[u, t] - top)
    for u in range(n_u):
        for v in range(n_v):
            y = u * n_v + v
            size = products[y]
            for t in range(n):
                p = size * exponents[u, t] * other_exponents[v, t]
                probabilities[y, t] = p
                total[t] += p
    for t in range(n):
        value_of_sums += counts[t] * np.log(total[t])
        total[t] = 1.0 / total[t]
    means[:] = 0.0
    for y in range(n_u * n_v):
        for t in range(n):
            probabilities[y, t] *= total[t]
        for a in range(_LENGTH):
            g = index[y, a]
            if g < 0:
                break
            size = value[y, a]
            for t in range(n):
                means[g, t] += size * probabilities[y, t]
    return value_of_sums


@compiled(fastmath=_SUMS, error_model="numpy")
def _find_spread(counts, probabilities, means, index, value, spread):
    """Set the covariances of the base functions in some rows, (n_base, n_base, n), as often as each row counts."""
    n_base, n = means.shape
    spread[:] = 0.0
    for y in range(len(probabilities)):
        for a in range(_LENGTH):
            g = index[y, a]
            if g < 0:
                break
            for b in range(a + 1):
                h, size = index[y, b], value[y, a] * value[y, b]
                for t in range(n):
                    spread[g, h, t] += size * probabilities[y, t]
    for g in range(n_base):
        for h in range(g + 1):
            for t in range(n):
                spread[g, h, t] = counts[t] * (spread[g, h, t] - means[g, t] * means[h, t])
                spread[h, g, t] = spread[g, h, t]


@compiled(fastmath=_SUMS, error_model="numpy")
def _add_block(counts, z, z_other, own, other, means, spread, plain, expected, curvature, scaled):
    """Add what some rows expect of the statistics, and their covariances, the lower triangle.

    plain: the base functions that have a parameter of their own, and the number of that.
    """
    base_of, parameter_of = plain
    _, d, k, _ = own
    _, e, m, _ = other
    _, at, at_other, _, first, second, _ = lay_out(own, other)
    n = len(counts)
    for c in range(len(base_of)):
        g, row = base_of[c], parameter_of[c]
        total = 0.0
        for t in range(n):
            total += counts[t] * means[g, t]
        expected[row] += total
        for b in range(c + 1):
            total = 0.0
            h = base_of[b]
            for t in range(n):
                total += spread[g, h, t]
            curvature[row, parameter_of[b]] += total
    for side in range(2):
        n_own, width, start, base = (d, k, at, first) if side == 0 else (e, m, at_other, second)
        columns = z if side == 0 else z_other
        if width == 0:
            continue
        for a in range(n_own):
            g, begin = base + a, start + a * width
            weighted, sums = means[g], expected[begin : begin + width]
            for t in range(n):
                for j in range(width):
                    sums[j] += counts[t] * weighted[t] * columns[t, j]
            crossed = np.dot(spread[g], columns)
            for c in range(len(base_of)):
                row = parameter_of[c]
                for j in range(width):  # intercepts come before slopes, and Theta after them
                    if row < begin:
                        curvature[begin + j, row] += crossed[base_of[c], j]
                    else:
                        curvature[row, begin + j] += crossed[base_of[c], j]
            for other_side in range(side + 1):
                n_second, second_width = (d, k) if other_side == 0 else (e, m)
                second_start, second_base = (at, first) if other_side == 0 else (at_other, second)
                second_columns = z if other_side == 0 else z_other
                if second_width == 0:
                    continue
                for b in range(a + 1 if other_side == side else n_second):
                    h = second_base + b
                    for t in range(n):
                        size = spread[g, h, t]
                        for j in range(width):
                            scaled[side][t, j] = size * columns[t, j]
                    found = np.dot(scaled[side].T, second_columns)
                    there = second_start + b * second_width
                    for j in range(width):
                        for col in range(j + 1 if there == begin else second_width):
                            curvature[begin + j, there + col] += found[j, col]


@compiled(fastmath=_SUMS, error_model="numpy")
def _add_leverage(counts, z, z_other, own, other, probabilities, means, index, value, inverse, plain, fixed, gradient,
                  quadratic, drawn):  # fmt: skip
    """Add the part that some rows have in the gradient of half the logarithm of the determinant of the curvature.

    Each state counts half of its leverage, e' D V D' e, more (Firth 1993).
    """
    base_of, parameter_of = plain
    _, d, k, _ = own
    _, e, m, _ = other
    _, at, at_other, _, first, second, _ = lay_out(own, other)
    n_base, n = means.shape
    for g in range(n_base):
        for h in range(n_base):
            quadratic[g, h] = fixed[g, h]
    for side in range(2):
        n_own, width, start, base = (d, k, at, first) if side == 0 else (e, m, at_other, second)
        columns = z if side == 0 else z_other
        if width == 0:
            continue
        for a in range(n_own):
            g, begin = base + a, start + a * width
            part = np.empty((len(base_of), width))
            for c in range(len(base_of)):
                for j in range(width):
                    part[c, j] = inverse[parameter_of[c], begin + j]
            crossed = np.dot(part, columns.T)
            for c in range(len(base_of)):
                h = base_of[c]
                for t in range(n):
                    quadratic[g, h, t] += crossed[c, t]
                    quadratic[h, g, t] += crossed[c, t]
            for other_side in range(2):
                n_second, second_width = (d, k) if other_side == 0 else (e, m)
                second_start, second_base = (at, first) if other_side == 0 else (at_other, second)
                second_columns = z if other_side == 0 else z_other
                if second_width == 0:
                    continue
                for b in range(n_second):
                    there = second_start + b * second_width
                    if there > begin:  # what the transpose has
                        continue
                    h = second_base + b
                    block = inverse[begin : begin + width, there : there + second_width].copy()
                    along = np.dot(columns, block)
                    for t in range(n):
                        total = 0.0
                        for col in range(second_width):
                            total += along[t, col] * second_columns[t, col]
                        quadratic[g, h, t] += total
                        if there < begin:
                            quadratic[h, g, t] += total
    along_means = np.zeros((n_base, n))
    centre = np.zeros(n)
    for g in range(n_base):
        for h in range(n_base):
            for t in range(n):
                along_means[g, t] += quadratic[g, h, t] * means[h, t]
        for t in range(n):
            centre[t] += along_means[g, t] * means[g, t]
    leverage, whole = np.empty(n), np.zeros(n)
    drawn[:] = 0.0
    for y in range(len(probabilities)):
        leverage[:] = centre
        for a in range(_LENGTH):
            g = index[y, a]
            if g < 0:
                break
            size = value[y, a]
            for t in range(n):
                leverage[t] += size * (size * quadratic[g, g, t] - 2.0 * along_means[g, t])
            for b in range(a):
                h, both = index[y, b], 2.0 * size * value[y, b]
                for t in range(n):
                    leverage[t] += both * quadratic[g, h, t]
        for t in range(n):
            leverage[t] *= 0.5 * counts[t] * probabilities[y, t]
            whole[t] += leverage[t]
        for a in range(_LENGTH):
            g = index[y, a]
            if g < 0:
                break
            size = value[y, a]
            for t in range(n):
                drawn[g, t] += size * leverage[t]
    for g in range(n_base):
        for t in range(n):
            drawn[g, t] -= whole[t] * means[g, t]
    for c in range(len(base_of)):
        total, here = 0.0, drawn[base_of[c]]
        for t in range(n):
            total += here[t]
        gradient[parameter_of[c]] += total
    for side in range(2):
        n_own, width, start, base = (d, k, at, first) if side == 0 else (e, m, at_other, second)
        columns = z if side == 0 else z_other
        for a in range(n_own):
            sums, here = gradient[start + a * width : start + (a + 1) * width], drawn[base + a]
            for t in range(n):
                for j in range(width):
                    sums[j] += here[t] * columns[t, j]


@compiled(error_model="numpy")
def _pad(values, n):
    """Return rows with more of them, of zeros, so that all blocks have as many."""
    found = np.zeros((n, values.shape[1]))
    for t in range(len(values)):
        for j in range(values.shape[1]):
            found[t, j] = values[t, j]
    return found


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
    products = np.empty(n_states)
    expected, gradient, step = np.empty(size), np.empty(size), np.zeros(size)
    lower, fixed = np.empty((size, size)), np.zeros((n_base, n_base))
    n_rows = counts.sum()
    base_of = np.empty(n_plain + n_products, np.int64)
    parameter_of = np.empty(n_plain + n_products, np.int64)
    for a in range(n_plain):
        base_of[a] = parameter_of[a] = a
    for a in range(n_products):
        base_of[n_plain + a], parameter_of[n_plain + a] = product + a, size - n_products + a
    plain = base_of, parameter_of
    # Rows come in blocks, so that what is known of each is side by side, and stays in the cache.
    at_a_time = min(len(counts), max(_FEWEST, min(_MOST, _NUMBERS // (n_base * n_base))))
    n_blocks = (len(counts) + at_a_time - 1) // max(1, at_a_time)
    times = np.zeros(n_blocks * at_a_time)
    for t in range(len(counts)):
        times[t] = counts[t]
    z, z_other = _pad(columns, len(times)), _pad(others, len(times))
    probabilities, means = np.empty((n_states, at_a_time)), np.empty((n_base, at_a_time))
    spread, drawn = np.empty((n_base, n_base, at_a_time)), np.empty((n_base, at_a_time))
    scaled = np.empty((at_a_time, z.shape[1])), np.empty((at_a_time, z_other.shape[1]))
    room = (np.empty((len(features), at_a_time)), np.empty((n_v, at_a_time)), np.empty(at_a_time), np.empty(at_a_time),
            probabilities, means, index, value)  # fmt: skip
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
        reached, is_back = 0.0, False
        for turn in range(2):  # the curvature, and then what its determinant has for a gradient
            for block in range(n_blocks):
                here = slice(block * at_a_time, (block + 1) * at_a_time)
                if turn == 0 or n_blocks > 1:
                    part = _weigh_block(
                        times[here], z[here], z_other[here], own, other, features, other_features, parameters, products,
                        room
                    )  # fmt: skip
                    reached -= part if turn == 0 else 0.0
                if turn == 0:
                    _find_spread(times[here], probabilities, means, index, value, spread)
                    _add_block(times[here], z[here], z_other[here], own, other, means, spread, plain, expected,
                               curvature, scaled)  # fmt: skip
                else:
                    _add_leverage(times[here], z[here], z_other[here], own, other, probabilities, means, index, value,
                                  inverse, plain, fixed, gradient, spread, drawn)  # fmt: skip
            if turn == 1:
                break
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
            is_back = reached < last - 1e-9 * abs(last) and share > 1e-4
            if is_back:  # the last step led down: half of it is taken back
                share /= 2
                for a in range(n_free):
                    parameters[a] -= share * step[a]
                break
            last, share = reached, 1.0
            invert(lower, inverse, size)
            for a in range(len(base_of)):
                for b in range(len(base_of)):
                    fixed[base_of[a], base_of[b]] = inverse[parameter_of[a], parameter_of[b]]
            for a in range(size):
                gradient[a] = observed[a] - expected[a]
        if is_back:
            continue
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
