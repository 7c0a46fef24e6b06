"""All states of a small field side by side: exponents, sums over levels, and look-ups of moments.

State x has index sum_i x_i prod_{j < i} n_levels[j]. The first variables are low, with at most a few thousand states
that lie side by side, a row; the others are high, and a state of theirs is the number of a row.
"""

from __future__ import annotations

import numpy as np

from sparsefield._kernels._compiling import compiled


@compiled
def _spread_fields(start, fields, n_levels, out):
    """Write start plus the sum of the chosen levels' fields for all states of some variables."""
    out[0] = start
    size, at = 1, 0
    for i in range(n_levels.size):
        for k in range(n_levels[i] - 1, -1, -1):
            field = fields[at + k]
            for s in range(size):
                out[k * size + s] = out[s] + field
        size *= n_levels[i]
        at += n_levels[i]


@compiled
def fill_low(main, pair, n_levels, out):
    """Write the exponent of all states of the low variables, each made of one of the variables before."""
    buffer = np.empty(out.size)
    out[0] = 0.0
    size, at = 1, 0
    for i in range(n_levels.size):
        for k in range(n_levels[i] - 1, -1, -1):
            _spread_fields(main[at + k], pair[at + k, :at], n_levels[:i], buffer)
            for s in range(size):
                out[k * size + s] = out[s] + buffer[s]
        size *= n_levels[i]
        at += n_levels[i]


@compiled
def fill_rows(first, last, main, pair, n_levels, n_low, low, out):
    """Write rows first .. last - 1 of the exponents out (high states, low states), given those of the low variables.

    main (s,) and pair (s, s) have an entry for every level of every variable.
    """
    starts = np.cumsum(n_levels) - n_levels
    n_fields = n_levels[:n_low].sum()
    fields = np.empty(n_fields)
    chosen = np.empty(n_levels.size - n_low, np.int64)
    for row in range(first, last):
        rest = row
        start = 0.0
        fields[:] = 0.0
        for i in range(chosen.size):
            chosen[i] = starts[n_low + i] + rest % n_levels[n_low + i]
            rest //= n_levels[n_low + i]
            start += main[chosen[i]]
            for j in range(i):
                start += pair[chosen[i], chosen[j]]
            fields += pair[chosen[i], :n_fields]
        _spread_fields(start, fields, n_levels[:n_low], out[row])
        out[row] += low


@compiled
def _add_level(line, size, n, to, level):
    """Add the entries of a level to those of another, for a variable with n levels whose entries are size apart."""
    if size < 8:  # the longer loop inside; with slices of 1 or 2 entries a row takes 1.5 to 2 times as long
        for s in range(size):
            for start in range(s, line.size, n * size):
                line[start + to * size] += line[start + level * size]
    else:
        for start in range(0, line.size, n * size):
            total = line[start + to * size : start + (to + 1) * size]
            other = line[start + level * size : start + (level + 1) * size]
            for s in range(size):
                total[s] += other[s]


@compiled
def sum_low(first, last, n_levels, totals, table):
    """In rows first .. last - 1, put the total over the levels of each low variable in the place of one."""
    for row in range(first, last):
        size = 1
        for i in range(n_levels.size):
            for k in range(n_levels[i]):
                if k != totals[i]:
                    _add_level(table[row], size, n_levels[i], totals[i], k)
            size *= n_levels[i]


@compiled
def sum_high(first, last, n_levels, totals, table):
    """In columns first .. last - 1, put the total over the levels of each high variable in the place of one."""
    size = 1
    for i in range(n_levels.size):
        n = n_levels[i]
        for start in range(0, table.shape[0], n * size):
            for k in range(n):
                if k != totals[i]:
                    for s in range(size):
                        total = table[start + totals[i] * size + s]
                        other = table[start + k * size + s]
                        for column in range(first, last):
                            total[column] += other[column]
        size *= n


@compiled
def look_up(table, start, steps, variables, first, second, out):
    """Write the mean of s_a s_b s_c s_d for all pairs (a, b) and (c, d) of first and second to out, (w, w).

    table has the probability of each set of levels; variables that are not in the set are where their totals are, which
    is index start for all of them, and a slot is steps[slot] from there. Two levels of one variable exclude each other.
    """
    for u in range(first.size):
        a, b = first[u], second[u]
        at_pair = start + steps[a] + (steps[b] if b != a else 0)
        is_never = a != b and variables[a] == variables[b]
        for v in range(u + 1):
            at = at_pair
            never = is_never
            c, d = first[v], second[v]
            if c != a and c != b:
                never |= variables[c] == variables[a] or variables[c] == variables[b]
                at += steps[c]
            if d != a and d != b and d != c:
                never |= variables[d] == variables[a] or variables[d] == variables[b]
                at += steps[d]
            never |= c != d and variables[c] == variables[d]
            out[u, v] = 0.0 if never else table[at]
            out[v, u] = out[u, v]
