"""The rows of pairs of variables: patterns of their neighbours, states of missing ones, and what rows do to fits."""

from __future__ import annotations

import numpy as np

from sparsefield._kernels._compiling import compiled
from sparsefield._kernels._pair_likelihood import add_state, distribute, expect, lay_out, project, read_state

_MISSING = 255

# A row whose missing neighbours could have more states than these has its last ones at their means.
_MOST_STATES = 64

_PRIME, _BASIS = np.uint64(1099511628211), np.uint64(1469598103934665603)  # of the FNV-1a hash
_SHIFT = np.uint64(29)


@compiled(error_model="numpy")
def find_patterns(codes, counts, i, j, near, of, first):
    """Give rows numbers by the levels of some variables; return how many of these patterns there are.

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
def observe(states, pattern, count, z, z_other, own, other, index, value, observed, weights):
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
def find_influence(
    states, row, pattern, count, z, z_other, own, other, index, value, parameters, inverse, moves, parts
):
    """Add by how much each row moves Theta, to first order: its score times the inverse information.

    moves[b, t] is that of Theta[b], and parts[b, t] the variance that it has by the model: they add up to Theta[b]'s.
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
def take_hidden(states, row, pattern, count, z, z_other, own, other, index, value, parameters, information):
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
