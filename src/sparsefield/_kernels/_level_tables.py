"""The tables that the Gibbs sweeps over levels look up: which neighbours share one, and what is in it."""

from __future__ import annotations

import numpy as np

from sparsefield._kernels._compiling import compiled
from sparsefield._kernels._levels import ENTRIES, PART


@compiled
def contrast_levels(main, pair, cuts, n_levels):
    """Return the contrasts of levels with the first one: of main effects, and the largest of interactions.

    main (s,) and pair (s, s) have an entry for every level of every variable, those of variable i from cuts[i] on. What
    variables with one level do to others is added to the main effects, (p, most levels - 1). The largest (p, p) is that
    of the first variable, whatever the level of the second.
    """
    p = n_levels.size
    mains, largest = np.zeros((p, n_levels.max() - 1)), np.zeros((p, p))
    for i in range(p):
        base = pair[cuts[i]]
        for k in range(n_levels[i] - 1):
            row = pair[cuts[i] + 1 + k]
            mains[i, k] = main[cuts[i] + 1 + k] - main[cuts[i]]
            for j in range(p):
                if n_levels[j] == 1:
                    mains[i, k] += row[cuts[j]] - base[cuts[j]]
                    continue
                for level in range(cuts[j], cuts[j] + n_levels[j]):
                    largest[i, j] = max(largest[i, j], abs(row[level] - base[level]))
    return mains, largest


@compiled
def group_neighbours(largest, n_levels, by_levels):
    """Deal the neighbours of each variable out to tables of at most 32 entries.

    largest (p, p) is zero where variables are not neighbours. They come in the order by_levels, those with the most
    levels first, and join the last table while it has room; one with more than 32 levels has several tables. Returns
    starts (p + 1,) of the tables of each variable; and member_starts (tables + 1,), members, factors (uint8) and
    offsets (tables,) uint8 as in `_levels.index_tables`.
    """
    p = n_levels.size
    n_members = 0
    for i in range(p):
        for j in range(p):
            if largest[i, j] != 0.0:
                n_members += 1 if n_levels[j] <= ENTRIES else -(-n_levels[j] // PART)
    starts, member_starts = np.zeros(p + 1, np.int64), np.zeros(n_members + 1, np.int64)
    members, factors = np.zeros(n_members, np.int64), np.ones(n_members, np.uint8)
    offsets = np.zeros(n_members, np.uint8)
    t, m = 0, 0
    for i in range(p):
        size = ENTRIES  # of the last table, full before there is one
        for j in by_levels:
            if largest[i, j] == 0.0:
                continue
            n = n_levels[j]
            for offset in range(0, n if n > ENTRIES else 1, PART):
                if size * n > ENTRIES:
                    t += 1
                    size = 1
                    offsets[t - 1] = offset
                members[m], factors[m] = j, size
                size *= n
                m += 1
                member_starts[t] = m
        starts[i + 1] = t
    return starts, member_starts[: t + 1], members, factors, offsets[:t]


@compiled
def fill_tables(pair, cuts, n_levels, i, first, member_starts, members, factors, offsets, out):
    """Write the sums of the contrasts of the members of tables first, first + 1, ..., out (tables, K - 1, 32).

    Contrasts are those of the levels of variable i with its first one. What no level reads is zero.
    """
    out[:] = 0.0
    base, levels = pair[cuts[i]], np.empty(ENTRIES, np.int64)
    for t in range(out.shape[0]):
        start, stop = member_starts[first + t], member_starts[first + t + 1]
        offset = np.int64(offsets[first + t])
        last = n_levels[members[stop - 1]] - offset
        size = np.int64(factors[stop - 1]) * (last if n_levels[members[stop - 1]] <= ENTRIES else min(last, PART))
        for m in range(start, stop):
            n, factor, cut = n_levels[members[m]], np.int64(factors[m]), cuts[members[m]] + offset
            for entry in range(size):
                levels[entry] = cut + entry // factor % n
            for k in range(out.shape[1]):
                row = pair[cuts[i] + 1 + k]
                for entry in range(size):
                    out[t, k, entry] += row[levels[entry]] - base[levels[entry]]
