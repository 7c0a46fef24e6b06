"""Gibbs sweeps over variables with any number of levels, one byte a chain: plain loops that run on any processor.

A block is 512 chains, and every inner loop runs over them. The weights of the levels of a variable, relative to its
first level, are products of table entries, or powers of two of their sums. A table has up to 32 entries and speaks for
as many neighbours as have at most that many states together. Its *index line* says which entry each chain reads. The
sweeps in `_permutes` are the twins of these: same random numbers, same arithmetic, same states.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sparsefield._kernels._bytes import BLOCK, draw_uniforms, exponentiate, keep

ENTRIES = 32  # of a table: two vectors of 512 bits
PART = 31  # levels of a neighbour with more than 32 of them that one table speaks for; its last entry changes nothing
LINE = 64  # chains that share a vector of bytes
_LANES = (
    LINE // 4
)  # chain 4 m + o of them is drawn with random number 16 o + m: lane m of the vector shifted by o bytes
AT_ONCE = 4  # levels whose tables lie side by side: 16 products in registers, and 60 neighbours in the first cache
# An index line has 64 bytes more than chains: were lines a power of two apart, they would share few sets of that cache.
STRIDE = BLOCK + LINE
BLOCKS_AT_ONCE = 10  # that read the tables of a variable after each other; dense, 53 variables: 31.5 M/s, 27.8 with one
_HALF = 0.5
_UNIT = 2.0**-32


@njit(nogil=True, cache=True)
def index_tables(x, first, last, member_starts, members, factors, offsets, index):
    """Write which entry of tables first .. last - 1 each chain reads, index (>= last - first, 576) uint8.

    A table adds up the levels of its members times their factors. Where it speaks for levels `offset` and following of
    one neighbour alone, other levels read the last entry.
    """
    for t in range(first, last):
        line, start = index[t - first], member_starts[t]
        level, offset = x[members[start]], offsets[t]
        for c in range(BLOCK):
            line[c] = min(np.uint8(level[c] - offset), np.uint8(ENTRIES - 1))
        for m in range(start + 1, member_starts[t + 1]):
            level, factor = x[members[m]], factors[m]
            for c in range(BLOCK):
                line[c] = np.uint8(line[c] + np.uint8(factor * level[c]))


@njit(nogil=True, cache=True)
def find_table(tables, start, n_tables, n, t, k):
    """Return table t for level k of n: four levels of all tables come before the next four."""
    first = k // AT_ONCE * AT_ONCE
    entry = start + ENTRIES * (n_tables * first + t * min(AT_ONCE, n - first) + k - first)
    return tables[entry : entry + ENTRIES]


@njit(nogil=True, cache=True)
def subtract_largest(fields, n_levels):
    """Subtract from whole numbers (n_levels, 512) the largest of a column, so that no power of two of them overflows.

    The first line is zero before.
    """
    for c in range(BLOCK):
        fields[0, c] = 0
    for k in range(1, n_levels):
        for c in range(BLOCK):
            fields[0, c] = max(fields[0, c], fields[k, c])
    for k in range(1, n_levels):
        for c in range(BLOCK):
            fields[k, c] = np.int32(fields[k, c] - fields[0, c])
    for c in range(BLOCK):
        fields[0, c] = np.int32(-fields[0, c])


@njit(nogil=True, cache=True)
def draw_levels(weights, n_levels, draws, rest, x):
    """Set x (512,) uint8 to level k with a probability proportional to weights[k], by inversion.

    A random number m of 32 bits stands for (m + 1/2) / 2^32 of the total. Sums are taken in float64, which rounds the
    total of K levels by K 2^-53 of it, so that the probability below a level is right to 2^-33 + (2 K + 2) 2^-53, and
    that of a level to less than 2^-31: rare and almost certain levels alike. No number stands for zero or the total: a
    level whose weight is zero is never chosen.
    """
    for c in range(BLOCK):
        rest[c] = np.float64(weights[0, c])
    for k in range(1, n_levels):
        for c in range(BLOCK):
            rest[c] += np.float64(weights[k, c])
    for start in range(0, BLOCK, LINE):
        for o in range(4):
            for m in range(_LANES):
                c = start + 4 * m + o
                rest[c] = (np.float64(draws[start + _LANES * o + m]) + _HALF) * (rest[c] * _UNIT)
    for c in range(BLOCK):
        x[c] = 0
    for k in range(n_levels - 1):
        for c in range(BLOCK):
            rest[c] -= np.float64(weights[k, c])
            x[c] += np.uint8(rest[c] >= 0.0)


@njit(nogil=True, cache=True)
def sweep_product(
    states, streams, order, n_levels, starts, member_starts, members, factors, offsets, table_starts, tables, biases,
    kept, index, weights, n_sweeps,
):  # fmt: skip
    """Sweep with weights multiplied up: no exponential in the loop.

    states (B, p, 512) uint8, streams (B, 4, 8) uint64. Variable i has tables starts[i] <= t < starts[i + 1], whose
    members are member_starts[t] and following (see `index_tables`); from table_starts[i] on, tables holds, for each of
    them and each level but the first, 32 weights relative to the first level (see `find_table`). biases (p, >= K - 1) are the factors that
    no neighbour changes. kept (B, p, 512) uint8 has ones in the bits that must not change, or no blocks at all; index
    (most tables, 576) uint8 and weights (most levels, 512) float32 are scratch.
    """
    raw = np.empty(BLOCK // 2, np.uint64)
    draws = raw.view(np.uint32)
    rest = np.empty(BLOCK, np.float64)
    before = np.empty(BLOCK, np.uint8)
    weights[0, :] = np.float32(1.0)
    for block in range(states.shape[0]):
        x = states[block]
        for _ in range(n_sweeps):
            for i in order:
                n, t0, n_tables = n_levels[i], starts[i], starts[i + 1] - starts[i]
                index_tables(x, t0, t0 + n_tables, member_starts, members, factors, offsets, index)
                for k in range(1, n):
                    row = weights[k]
                    row[:] = biases[i, k - 1]
                    for t in range(n_tables):
                        table, line = find_table(tables, table_starts[i], n_tables, n - 1, t, k - 1), index[t]
                        for c in range(BLOCK):
                            row[c] *= table[line[c]]
                draw_uniforms(streams[block], raw)
                before[:] = x[i]
                draw_levels(weights, n, draws, rest, x[i])
                if kept.shape[0]:
                    keep(x[i], kept[block, i], before)


@njit(nogil=True, cache=True)
def sweep_sum(
    states, streams, order, n_levels, starts, member_starts, members, factors, offsets, table_starts, tables, biases,
    shifts, kept, index, weights, n_sweeps,
):  # fmt: skip
    """Sweep with exponents added up as whole numbers: right for parameters of any size.

    As `sweep_product`, with tables and biases int32 in units of 2^-shifts[i] bits (see `exponentiate`).
    """
    raw = np.empty(BLOCK // 2, np.uint64)
    draws = raw.view(np.uint32)
    rest = np.empty(BLOCK, np.float64)
    before = np.empty(BLOCK, np.uint8)
    fields = weights.view(np.int32)
    for block in range(states.shape[0]):
        x = states[block]
        for _ in range(n_sweeps):
            for i in order:
                n, t0, n_tables = n_levels[i], starts[i], starts[i + 1] - starts[i]
                index_tables(x, t0, t0 + n_tables, member_starts, members, factors, offsets, index)
                for k in range(1, n):
                    row = fields[k]
                    row[:] = biases[i, k - 1]
                    for t in range(n_tables):
                        table, line = find_table(tables, table_starts[i], n_tables, n - 1, t, k - 1), index[t]
                        for c in range(BLOCK):
                            row[c] += table[line[c]]
                subtract_largest(fields, n)
                for k in range(n):
                    exponentiate(weights[k], shifts[i])
                draw_uniforms(streams[block], raw)
                before[:] = x[i]
                draw_levels(weights, n, draws, rest, x[i])
                if kept.shape[0]:
                    keep(x[i], kept[block, i], before)
