"""What rows tell of pairs of variables: their patterns of neighbours, and the fits of each pair."""

from __future__ import annotations

import numpy as np

from sparsefield._kernels._cholesky import factor, solve
from sparsefield._kernels._compiling import compiled
from sparsefield._kernels._pair_likelihood import (
    add_state,
    distribute,
    expect,
    lay_out,
    list_states,
    maximise,
    project,
    read_state,
)

_MISSING = 255

# A row whose missing neighbours could have more states than these has its last ones at their means.
_MOST_STATES = 256

_PRIME, _BASIS = np.uint64(1099511628211), np.uint64(1469598103934665603)  # of the FNV-1a hash
_SHIFT = np.uint64(29)

# Ends of intervals are found to a hundredth of their distance in standard errors, and not beyond 40 on any scale.
_NEAR, _FAR, _MOST_TRIALS = 0.01, 40.0, 12


@compiled(error_model="numpy")
def find_patterns(codes, counts, i, j, near, of, first):
    """Number the rows by the levels of some variables; return how many patterns there are.

    Rows that lack i or j, or do not count, have pattern -1; those that lack another have -2.
    """
    n, k = codes.shape[1], len(near)
    size = 16
    while size < 2 * n:
        size *= 2
    slots = np.full(size, -1)
    found = 0
    for t in range(n):
        if counts[t] == 0.0 or codes[i, t] == _MISSING or codes[j, t] == _MISSING:
            of[t] = -1
            continue
        name, lacks = _BASIS, False
        for s in range(k):
            code = codes[near[s], t]
            lacks |= code == _MISSING
            name = (name ^ np.uint64(code + 1)) * _PRIME
        if lacks:
            of[t] = -2
            continue
        at = np.int64((name ^ (name >> _SHIFT)) & np.uint64(size - 1))
        while True:
            there = slots[at]
            if there < 0:
                slots[at] = found
                first[found] = t
                of[t] = found
                found += 1
                break
            same = True
            for s in range(k):
                if codes[near[s], t] != codes[near[s], first[there]]:
                    same = False
                    break
            if same:
                of[t] = there
                break
            at = (at + 1) & (size - 1)
    return found


@compiled(error_model="numpy")
def _count_states(codes, t, near, n_levels, is_summed):
    """Choose the missing neighbours of a row whose states are listed; return how many states these have."""
    total = 1
    for s in range(len(near)):
        is_summed[s] = False
        if codes[near[s], t] == _MISSING and total * n_levels[near[s]] <= _MOST_STATES:
            is_summed[s] = True
            total *= n_levels[near[s]]
    return total


@compiled(error_model="numpy")
def _complete(codes, t, near, n_levels, is_summed, filled, features, columns, starts, links, shares, states):
    """Set the probabilities of the states of the missing neighbours of a row, given all that it shows.

    filled: for each cell the number of its exponents in features[-1], -1 where it was observed.
    """
    where, exponents, means = filled
    k = len(near)
    total, top = len(shares), -np.inf
    for x in range(total):
        left = x
        energy = 0.0
        for s in range(k):
            if is_summed[s]:
                states[x, s] = left % n_levels[near[s]]
                left //= n_levels[near[s]]
                energy += exponents[where[near[s], t], states[x, s]]
        for s in range(k):  # exponents have the means of the others that are missing: their states come in their place
            if not is_summed[s]:
                continue
            for r in range(s):
                if not is_summed[r]:
                    continue
                v, w = near[s], near[r]
                for a in range(starts[v], starts[v + 1]):
                    own = features[v, states[x, s], a - starts[v]]
                    own_mean = means[where[v, t], a - starts[v]]
                    for b in range(starts[w], starts[w + 1]):
                        other = features[w, states[x, r], b - starts[w]]
                        mean = means[where[w, t], b - starts[w]]
                        energy += links[a, b] * (own * other - own * mean - own_mean * other)
        shares[x] = energy
        top = max(top, energy)
    whole = 0.0
    for x in range(total):
        shares[x] = np.exp(shares[x] - top)
        whole += shares[x]
    for x in range(total):
        shares[x] /= whole


@compiled(error_model="numpy")
def gather(codes, counts, i, j, near, n_levels, filled, features, columns, starts, links):
    """Lay out the rows of a pair: patterns of its neighbours, and which rows have them.

    Returns
    -------
    tuple of arrays
        The features of the neighbours in each pattern; and for each entry its row, its pattern, and how often it
        counts. A row that lacks neighbours has an entry for each of their states.
    """
    n, k = codes.shape[1], len(near)
    of, first = np.empty(n, np.int64), np.empty(n, np.int64)
    n_patterns = find_patterns(codes, counts, i, j, near, of, first)
    is_summed = np.zeros(k, np.bool_)
    n_entries, n_more = 0, 0
    for t in range(n):
        if of[t] >= 0:
            n_entries += 1
        elif of[t] == -2:
            n_more += _count_states(codes, t, near, n_levels, is_summed)
    width = 0
    for s in range(k):
        width += starts[near[s] + 1] - starts[near[s]]
    z = np.empty((n_patterns + n_more, width))
    row, pattern = np.empty(n_entries + n_more, np.int64), np.empty(n_entries + n_more, np.int64)
    count = np.empty(n_entries + n_more)
    for c in range(n_patterns):
        at = 0
        for s in range(k):
            for a in range(starts[near[s]], starts[near[s] + 1]):
                z[c, at] = columns[first[c], a]
                at += 1
    e, c = 0, n_patterns
    for t in range(n):
        if of[t] >= 0:
            row[e], pattern[e], count[e] = t, of[t], counts[t]
            e += 1
        elif of[t] == -2:
            total = _count_states(codes, t, near, n_levels, is_summed)
            shares, states = np.empty(total), np.empty((total, k), np.int64)
            _complete(codes, t, near, n_levels, is_summed, filled, features, columns, starts, links, shares, states)
            for x in range(total):
                at = 0
                for s in range(k):
                    v = near[s]
                    for a in range(starts[v], starts[v + 1]):
                        z[c, at] = features[v, states[x, s], a - starts[v]] if is_summed[s] else columns[t, a]
                        at += 1
                row[e], pattern[e], count[e] = t, c, counts[t] * shares[x]
                e += 1
                c += 1
    return z, row, pattern, count


@compiled(error_model="numpy")
def _observe(states, pattern, count, z, z_other, own, other, index, value, observed, weights):
    """Set the statistics, summed over all entries, and how often each pattern counts."""
    n_base = lay_out(own, other)[6] + own[1] * other[1]
    sums = np.zeros((len(z), n_base))
    observed[:] = 0.0
    weights[:] = 0.0
    for t in range(len(pattern)):
        weights[pattern[t]] += count[t]
        add_state(states[t], count[t], index, value, sums[pattern[t]])
    for c in range(len(z)):
        distribute(sums[c], own, other, z[c], z_other[c], observed)


@compiled(error_model="numpy")
def _take(z, keep):
    found = np.empty((len(z), keep.sum()))
    for c in range(len(z)):
        at = 0
        for a in range(z.shape[1]):
            if keep[a]:
                found[c, at] = z[c, a]
                at += 1
    return found


@compiled(error_model="numpy")
def _start(parameters, own, other, intercepts, other_intercepts, slopes, other_slopes, keep, keep_other, link):
    """Begin where the regressions of both variables are."""
    n_u, d, k, _ = own
    n_v, e, m, _ = other
    for u in range(1, n_u):
        parameters[u - 1] = intercepts[u]
    for v in range(1, n_v):
        parameters[n_u - 1 + v - 1] = other_intercepts[v]
    at = n_u + n_v - 2
    for a in range(d):
        for l in range(slopes.shape[1]):
            if keep[l]:
                parameters[at] = slopes[a, l]
                at += 1
    for a in range(e):
        for l in range(other_slopes.shape[1]):
            if keep_other[l]:
                parameters[at] = other_slopes[a, l]
                at += 1
    for a in range(d):
        for b in range(e):
            parameters[at] = link[a, b]
            at += 1


@compiled(error_model="numpy")
def _move_theta(parameters, inverse, n_products, shift, moved):
    """Move Theta by a shift, and the others to where they are most probable given that, to second order."""
    size = len(parameters)
    m = size - n_products
    block = inverse[m:, m:].copy()
    along = shift.copy()
    moved[:] = parameters
    if factor(block, n_products):
        solve(block, along, n_products)
        for a in range(m):
            for b in range(n_products):
                moved[a] += inverse[a, m + b] * along[b]
    for b in range(n_products):
        moved[m + b] += shift[b]


@compiled(error_model="numpy")
def _influence(states, row, pattern, count, z, z_other, own, other, index, value, parameters, inverse, moves, parts):
    """Add by how much each row moves Theta, to first order: its score times the inverse information.

    moves[b, t] is that of Theta[b], and parts[b, t] what variance it has by the model, which adds up to that of Theta[b].
    """
    last, product = lay_out(own, other)[3], lay_out(own, other)[6]
    r = len(parameters) - last
    n_base = product + r
    coefficients, probabilities, means = np.empty(n_base), np.empty(len(index)), np.empty(n_base)
    along, centre, spread = np.empty((len(z), r, n_base)), np.empty((len(z), r)), np.empty((len(z), r))
    for c in range(len(z)):
        project(parameters, own, other, z[c], z_other[c], coefficients)
        expect(coefficients, index, value, probabilities, means)
        for b in range(r):
            project(inverse[last + b], own, other, z[c], z_other[c], along[c, b])
            centre[c, b] = (along[c, b] * means).sum()
            spread[c, b] = 0.0
            for y in range(len(index)):
                off = read_state(y, index, value, along[c, b]) - centre[c, b]
                spread[c, b] += probabilities[y] * off * off
    for t in range(len(row)):
        c = pattern[t]
        for b in range(r):
            moves[b, row[t]] += count[t] * (read_state(states[t], index, value, along[c, b]) - centre[c, b])
            parts[b, row[t]] += count[t] * spread[c, b]


@compiled(error_model="numpy")
def _take_hidden(states, row, pattern, count, z, z_other, own, other, index, value, parameters, information):
    """Take from the information what missing neighbours hide: the spread of scores over their states (Louis 1982)."""
    n_base = lay_out(own, other)[6] + own[1] * other[1]
    size = len(parameters)
    coefficients, probabilities, means = np.empty(n_base), np.empty(len(index)), np.empty(n_base)
    score, mean = np.empty(size), np.empty(size)
    begin = 0
    while begin < len(row):
        end = begin + 1
        while end < len(row) and row[end] == row[begin]:
            end += 1
        if end - begin > 1:
            mean[:] = 0.0
            whole = 0.0
            for t in range(begin, end):
                c = pattern[t]
                project(parameters, own, other, z[c], z_other[c], coefficients)
                expect(coefficients, index, value, probabilities, means)
                means *= -1.0
                add_state(states[t], 1.0, index, value, means)
                score[:] = 0.0
                distribute(means, own, other, z[c], z_other[c], score)
                whole += count[t]
                for a in range(size):
                    mean[a] += count[t] * score[a]
                    for b in range(a + 1):
                        information[a, b] -= count[t] * score[a] * score[b]
            for a in range(size):
                for b in range(a + 1):
                    information[a, b] += mean[a] * mean[b] / whole
        begin = end


@compiled(error_model="numpy")
def fit_pair(
    i, j, codes, counts, columns, starts, kinds, near, twins, regressions, filled, features, links, z_ends, found
):
    """Fit a pair: with neighbours of their own, without an edge and with one, and with all neighbours for both.

    Parameters
    ----------
    i, j : int
        The variables.
    codes : ndarray of shape (n_variables, n), uint8
        The levels of all variables in each row; 255 where one is missing.
    counts : ndarray of shape (n,)
        How often each row counts.
    columns, starts : ndarray of shape (n, n_columns) and (n_variables + 1,)
        The features of all variables as neighbours, and where those of each begin.
    kinds : tuple of arrays
        Levels, features (n_variables, most levels, most features), how many, and whether they are indicators.
    near, twins : ndarray of shape (n_variables, n_variables), bool
        Which are neighbours; and which are so much alike that each is in the equation of the partner of the other.
    regressions : tuple of arrays
        Intercepts (n_variables, most levels) and slopes (n_variables, most features, n_columns) to begin at.
    filled, features, links : arrays
        What is known of missing cells; see `gather`.
    z_ends : float
        How many standard errors the ends of intervals are away, where they are to be found on the profile; 0 for none.
    found : tuple of arrays
        Set: Theta with all neighbours (r,), its covariance (r, r), that with own neighbours (r, r), what missing
        neighbours make of each (r, r) and (r, r), the roots of the statistics with own neighbours and with all,
        signed where Theta is a single number, and the ends of the interval (4,), what each row moves Theta by and the variance that it has a part in, (r, n) or (r, 0) for none, with own neighbours; and these
        with all.

    Returns
    -------
    bool
        Whether all fits came to their end.
    """
    n_levels, scores, sizes, is_plain = kinds
    theta, covariance, own_covariance, hidden, own_hidden, numbers, own_moves, own_parts, moves, parts = found
    joint = near[i] | near[j]
    joint[i] = joint[j] = False
    around = np.flatnonzero(joint)
    z, row, pattern, count = gather(codes, counts, i, j, around, n_levels, filled, features, columns, starts, links)
    width = z.shape[1]
    keep, keep_other = np.zeros(width, np.bool_), np.zeros(width, np.bool_)
    from_column = np.empty(width, np.int64)
    at = 0
    for s in around:
        for a in range(starts[s], starts[s + 1]):
            keep[at] = near[i, s] or twins[j, s]
            keep_other[at] = near[j, s] or twins[i, s]
            from_column[at] = a
            at += 1
    n_u, n_v, d, e = n_levels[i], n_levels[j], sizes[i], sizes[j]
    f, g = scores[i, :n_u, :d].copy(), scores[j, :n_v, :e].copy()
    index, value = np.empty((n_u * n_v, 5), np.int64), np.empty((n_u * n_v, 5))
    list_states(f, g, is_plain[i], is_plain[j], index, value)
    states = np.empty(len(row), np.int64)
    for t in range(len(row)):
        states[t] = np.int64(codes[i, row[t]]) * n_v + np.int64(codes[j, row[t]])
    intercepts, slopes = regressions
    slopes_i, slopes_j = np.empty((d, width)), np.empty((e, width))
    for l in range(width):
        for a in range(d):
            slopes_i[a, l] = slopes[i, a, from_column[l]]
        for a in range(e):
            slopes_j[a, l] = slopes[j, a, from_column[l]]
    r = d * e
    link = np.zeros((d, e))
    is_same = True
    for l in range(width):
        is_same &= keep[l] and keep_other[l]
    is_fine, has_missing = True, len(row) > 0 and len(filled[1]) > 0
    value_best = 0.0
    parameters = np.zeros(0)
    for turn in range(2):
        if turn == 1:
            if is_same:
                theta[:] = parameters[len(parameters) - r :]
                covariance[:] = own_covariance
                hidden[:] = own_hidden
                numbers[1] = numbers[0]
                moves[:] = own_moves
                parts[:] = own_parts
                break
            # Slopes that were found go on from where they are, others from zero.
            own_k, other_k = keep.sum(), keep_other.sum()
            at, at_other = n_u + n_v - 2, n_u + n_v - 2 + d * own_k
            x, y = 0, 0
            for l in range(width):
                for a in range(d):
                    slopes_i[a, l] = parameters[at + a * own_k + x] if keep[l] else 0.0
                for a in range(e):
                    slopes_j[a, l] = parameters[at_other + a * other_k + y] if keep_other[l] else 0.0
                x += keep[l]
                y += keep_other[l]
            for a in range(d):
                for b in range(e):
                    link[a, b] = parameters[len(parameters) - r + a * e + b]
            keep[:] = True
            keep_other[:] = True
        z_i, z_j = _take(z, keep), _take(z, keep_other)
        k, m = z_i.shape[1], z_j.shape[1]
        own, other = (n_u, d, k, is_plain[i]), (n_v, e, m, is_plain[j])
        size = n_u + n_v - 2 + d * k + e * m + r
        start = np.zeros(size)
        _start(start, own, other, intercepts[i], intercepts[j], slopes_i, slopes_j, keep, keep_other, link)
        if turn == 1:
            start[: n_u + n_v - 2] = parameters[: n_u + n_v - 2]
        parameters = start
        observed, weights = np.empty(size), np.empty(len(z))
        _observe(states, pattern, count, z_i, z_j, own, other, index, value, observed, weights)
        curvature, inverse = np.empty((size, size)), np.empty((size, size))
        value_best, ended = maximise(
            weights, z_i, z_j, own, other, f, g, index, value, observed, parameters, size, curvature, inverse
        )
        is_fine &= ended
        part = inverse[size - r :, size - r :]
        target = own_covariance if turn == 0 else covariance
        target_hidden = own_hidden if turn == 0 else hidden
        target[:] = part
        target_hidden[:] = part
        if has_missing and len(row) > 0 and z.shape[0] > 0:
            information = curvature.copy()
            _take_hidden(states, row, pattern, count, z_i, z_j, own, other, index, value, parameters, information)
            if factor(information, size):
                line = np.empty(size)
                for a in range(r):
                    line[:] = 0.0
                    line[size - r + a] = 1.0
                    solve(information, line, size)
                    for b in range(r):
                        target_hidden[a, b] = line[size - r + b]
        target_moves = own_moves if turn == 0 else moves
        target_parts = own_parts if turn == 0 else parts
        if target_moves.shape[1]:
            _influence(
                states, row, pattern, count, z_i, z_j, own, other, index, value, parameters, inverse, target_moves,
                target_parts
            )  # fmt: skip
        null, second, third = np.empty(size), np.empty((size, size)), np.empty((size, size))
        _move_theta(parameters, inverse, r, -parameters[size - r :], null)
        value_null, ended = maximise(
            weights, z_i, z_j, own, other, f, g, index, value, observed, null, size - r, second, third
        )
        is_fine &= ended
        numbers[turn] = np.sqrt(max(0.0, 2.0 * (value_best - value_null)))
        if r == 1 and parameters[size - 1] < 0.0:
            numbers[turn] = -numbers[turn]
        if turn == 1:
            theta[:] = parameters[size - r :]
            covariance[:] = part
    error = np.sqrt(covariance[0, 0])
    numbers[2], numbers[3] = theta[0] - z_ends * error, theta[0] + z_ends * error
    if z_ends > 0.0 and r == 1:
        size = len(parameters)
        trial, second, third = np.empty(size), np.empty((size, size)), np.empty((size, size))
        for side in range(2):
            sign = 2.0 * side - 1.0
            t, low, low_root, high, high_root = z_ends * error, 0.0, 0.0, 0.0, 0.0
            for _ in range(_MOST_TRIALS):
                shift = np.full(1, sign * t)
                _move_theta(parameters, inverse, 1, shift, trial)
                there, _ = maximise(
                    weights, z_i, z_j, own, other, f, g, index, value, observed, trial, size - 1, second, third
                )
                root = np.sqrt(max(2.0 * (value_best - there), 0.0))
                if abs(root - z_ends) < _NEAR * z_ends or t >= _FAR * max(error, 1.0):
                    break
                if root < z_ends:
                    low, low_root = t, root
                else:
                    high, high_root = t, root
                if high > 0.0:
                    t = low + (high - low) * (z_ends - low_root) / (high_root - low_root)
                else:
                    t *= min(max(z_ends / max(root, 0.1), 1.2), 2.5)
            numbers[2 + side] = theta[0] + sign * t
    return is_fine
