"""The tables that the Gibbs sweeps look up: neighbours two at a time, or four at a time."""

from __future__ import annotations

from sparsefield._kernels._compiling import compiled


@compiled
def count_pairs(main, interactions, starts, sizes):
    """Fill starts (p + 1,) and sizes (p,), in one pass; return the largest size and the most pairs of a variable.

    Pairs starts[i] .. starts[i + 1] - 1 hold the neighbours of variable i, at least one pair; sizes[i] is the sum of
    the absolute values of its parameters. (Kernels fill what they are given: an array that one returns costs as much as
    three calls.)
    """
    p = interactions.shape[0]
    largest, most = 0.0, 0
    starts[0] = 0
    for i in range(p):
        degree = 0
        size = 0.0
        for j in range(p):
            degree += interactions[i, j] != 0.0
            size += abs(interactions[i, j])
        sizes[i] = size + abs(main[i])
        n_pairs = max(1, (degree + 1) // 2)
        starts[i + 1] = starts[i] + n_pairs
        largest, most = max(largest, sizes[i]), max(most, n_pairs)
    return largest, most


@compiled
def list_pairs(interactions, starts, n_lines, lines, values):
    """Fill the interactions (P, 2) of each pair, zero for the one that fills up, and the lines (planes, P, 2) it has.

    The least state of a variable needs its least log-odds: the least state of neighbours with a positive interaction
    and the largest state of the others; and the other way round. A third plane is that of a chain between them.
    """
    n_planes = lines.shape[0]
    for i in range(interactions.shape[0]):
        k, own = starts[i], 0
        for j in range(interactions.shape[0]):
            value = interactions[i, j]
            if value != 0.0:
                values[k, own] = value
                lines[0, k, own] = j
                if n_planes > 1:
                    lines[0, k, own] = j + n_lines * (value < 0.0)
                    lines[1, k, own] = j + n_lines * (value > 0.0)
                if n_planes > 2:
                    lines[2, k, own] = j + 2 * n_lines
                k, own = k + own, 1 - own
        if own or k < starts[i + 1]:  # half a pair, or a variable without neighbours
            for rest in range(own, 2):
                values[k, rest] = 0.0
                for plane in range(n_planes):
                    lines[plane, k, rest] = 2 * n_lines if plane == 2 else 0


@compiled
def add_subsets(main, starts, values, log_weights):
    """Fill minus the log-odds (P, 4) that a pair adds: neither neighbour, the first, the second, both.

    The first pair of a variable has its main effect too.
    """
    for i in range(main.shape[0]):
        for k in range(starts[i], starts[i + 1]):
            own = main[i] if k == starts[i] else 0.0
            log_weights[k, 0] = -own
            log_weights[k, 1] = -(values[k, 0] + own)
            log_weights[k, 2] = -(values[k, 1] + own)
            log_weights[k, 3] = -((values[k, 0] + values[k, 1]) + own)


@compiled
def make_monotone(tables, values):
    """Make weights (P, 4) fall as log-odds rise, to the last bit: bounds need that, and no exponential promises it."""
    for k in range(tables.shape[0]):
        for own in range(2):
            for other in range(2):
                without = other * (2 - own)
                with_it = without + 1 + own
                least = min(tables[k, without], tables[k, with_it])
                largest = max(tables[k, without], tables[k, with_it])
                tables[k, with_it] = largest if values[k, own] < 0.0 else least


@compiled
def fill_quads(whole, tables, lows):
    """Write the subset sums of each four columns of whole (p, 4 Q) int32 above their smallest, in planes of 6 bits.

    tables (p, Q, 4, 16) uint8; lows (p,) int64 gets the sum of the smallest.
    """
    n_quads, n_planes = tables.shape[1], tables.shape[2]
    for i in range(whole.shape[0]):
        lows[i] = 0
        for q in range(n_quads):
            low = 0
            for k in range(4):
                low += min(0, whole[i, 4 * q + k])
            lows[i] += low
            for subset in range(16):
                entry = -low
                for k in range(4):
                    if subset >> k & 1:
                        entry += whole[i, 4 * q + k]
                for plane in range(n_planes):
                    tables[i, q, plane, subset] = entry >> (6 * plane) & 63
