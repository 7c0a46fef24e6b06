"""Gibbs sweeps over variables with any number of levels, one byte a chain, on any processor.

A block is 512 chains. The weights of the levels of a variable, relative to its first level, are products of table
entries, or powers of two of their sums. A table has up to 32 entries and speaks for as many neighbours as have at most
that many states together. Its *index line* says which entry each chain reads; an entry is a row of 4 or 8 levels, which
one vector holds. LLVM turns vectors into what the processor has. The sweeps in `_permutes` are the twins of these:
same random numbers, same arithmetic, same states.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from sparsefield._kernels._bytes import BLOCK, draw_uniforms, exponentiate, keep
from sparsefield._kernels._compiling import compiled
from sparsefield._kernels._ir import F32, I8, I32, I64, load, store, word

ENTRIES = 32  # of a table: two vectors of 512 bits
PART = 31  # levels of a neighbour with more than 32 of them that one table speaks for; its last entry changes nothing
LINE = 64  # chains that share a vector of bytes
_LANES = (
    LINE // 4
)  # chain 4 m + o of them is drawn with random number 16 o + m: lane m of the vector shifted by o bytes
WIDEST = 8  # levels of a row; the last ones have 4 if no more are left
# An index line has 64 bytes more than chains: were lines a power of two apart, they would share few sets of that cache.
STRIDE = BLOCK + LINE
BLOCKS_AT_ONCE = 10  # that read the tables of a variable after each other; dense, 53 variables: 31.5 M/s, 27.8 with one
_CHAINS = 8  # whose products are in registers
_HALF = 0.5
_UNIT = 2.0**-32


@compiled
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


def arrange_tables(entries: Any) -> Any:
    """Lay entries (tables, levels, 32) out as the sweeps read them: rows of some levels of all tables at a time."""
    n_tables, n, _ = entries.shape
    parts, k = [], 0
    while k < n:
        width = WIDEST if n - k > WIDEST // 2 else WIDEST // 2
        rows = np.zeros((n_tables, ENTRIES, width), dtype=entries.dtype)
        rows[:, :, : min(width, n - k)] = entries[:, k : k + width].transpose(0, 2, 1)
        parts.append(rows.reshape(-1))
        k += width
    return np.concatenate([entries[:0].reshape(-1), *parts])


def _transpose(b: Any, rows: list[Any]) -> list[Any]:
    """Transpose a square of values held in vectors: corners change places, in squares of 1, 2 and 4."""
    n = len(rows)
    step = 1
    while step < n:
        new = list(rows)
        for i in (i for i in range(n) if not i & step):
            low = [j if not j & step else n + j - step for j in range(n)]
            high = [j + step if not j & step else n + j for j in range(n)]
            for at, lanes in ((i, low), (i + step, high)):
                new[at] = b.shuffle_vector(rows[i], rows[i + step], ir.Constant(ir.VectorType(I32, n), lanes))
        rows = new
        step *= 2
    return rows


def _make_lookups(width: int, combine: Any) -> Any:
    """Make the loop that combines one row of each table into the weights of some levels, for 512 chains."""
    kind = ir.VectorType(F32, width)

    @intrinsic
    def lookups(_typing: Any, _index: Any, _tables: Any, _n: Any, _starts: Any, _out: Any) -> Any:
        """Take index lines and tables, n of them, and where the levels start from; fill lines of weights."""

        def generate(context: Any, b: Any, _signature: Any, arguments: Any) -> Any:
            index, tables, n, starts, out = arguments
            values = [cgutils.alloca_once(b, kind) for _ in range(_CHAINS)]
            with cgutils.for_range(b, word(BLOCK // _CHAINS)) as outer:
                first = b.add(index, b.mul(outer.index, word(_CHAINS)))
                for value in values:
                    b.store(load(b, starts, kind, align=4), value)
                with cgutils.for_range(b, n) as inner:
                    line = b.add(first, b.mul(inner.index, word(STRIDE)))
                    table = b.add(tables, b.mul(inner.index, word(4 * width * ENTRIES)))
                    for c, value in enumerate(values):
                        row = b.mul(b.zext(load(b, line, I8, c), I64), word(4 * width))
                        found = load(b, b.add(table, row), kind, align=4 * width)
                        b.store(combine(b, b.load(value), found), value)
                place = b.add(out, b.mul(outer.index, word(4 * _CHAINS)))
                for start in range(0, _CHAINS, width):
                    square = _transpose(b, [b.load(value) for value in values[start : start + width]])
                    for level, line in enumerate(square):
                        store(b, line, place, 4 * (BLOCK * level + start), align=4 * width)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 5), generate

    return lookups


def _multiply(b: Any, product: Any, found: Any) -> Any:
    return b.fmul(product, found)


def _add_integers(b: Any, total: Any, found: Any) -> Any:
    whole = ir.VectorType(I32, total.type.count)
    return b.bitcast(b.add(b.bitcast(total, whole), b.bitcast(found, whole)), total.type)


_multiply_4, _multiply_8 = _make_lookups(4, _multiply), _make_lookups(8, _multiply)
_add_4, _add_8 = _make_lookups(4, _add_integers), _make_lookups(8, _add_integers)


@compiled
def _multiply_tables(index, tables, n_tables, starts, n, out):
    """Write the weights of levels 1 .. n, eight or four at a time."""
    for k in range(0, n, WIDEST):
        table, start, row = tables + 4 * ENTRIES * n_tables * k, starts + 4 * k, out + 4 * BLOCK * k
        if n - k > WIDEST // 2:
            _multiply_8(index, table, n_tables, start, row)
        else:
            _multiply_4(index, table, n_tables, start, row)


@compiled
def _add_tables(index, tables, n_tables, starts, n, out):
    """Write the exponents of levels 1 .. n, eight or four at a time."""
    for k in range(0, n, WIDEST):
        table, start, row = tables + 4 * ENTRIES * n_tables * k, starts + 4 * k, out + 4 * BLOCK * k
        if n - k > WIDEST // 2:
            _add_8(index, table, n_tables, start, row)
        else:
            _add_4(index, table, n_tables, start, row)


@compiled
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


@compiled
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


@compiled
def sweep_product(
    states, streams, order, n_levels, starts, member_starts, members, factors, offsets, table_starts, tables, biases,
    kept, index, weights, n_sweeps,
):  # fmt: skip
    """Sweep with weights multiplied up: no exponential in the loop.

    states (B, p, 512) uint8, streams (B, 4, 8) uint64. Variable i has tables starts[i] <= t < starts[i + 1], whose
    members are member_starts[t] and following (see `index_tables`); from table_starts[i] on, tables holds, for each of
    them and each level but the first, 32 weights relative to the first level, as `arrange_tables` lays them out. biases
    (p, >= K + 6) are the factors that no neighbour changes. kept (B, p, 512) uint8 has ones in the bits that must not
    change, or no blocks at all; index (most tables, 576) uint8 and weights (>= K + 7, 512) float32 are scratch. Tables
    and scratch start on a cache line.
    """
    raw = np.empty(BLOCK // 2, np.uint64)
    draws = raw.view(np.uint32)
    rest = np.empty(BLOCK, np.float64)
    before = np.empty(BLOCK, np.uint8)
    index0, table0 = np.int64(index.ctypes.data), np.int64(tables.ctypes.data)
    bias0, weight0 = np.int64(biases.ctypes.data), np.int64(weights.ctypes.data)
    n_biases = np.int64(biases.shape[1])
    weights[0, :] = np.float32(1.0)
    for first in range(0, states.shape[0], BLOCKS_AT_ONCE):
        for _ in range(n_sweeps):
            for i in order:
                n, t0, n_tables = n_levels[i], starts[i], starts[i + 1] - starts[i]
                table, bias = table0 + 4 * table_starts[i], bias0 + 4 * n_biases * i
                for block in range(first, min(first + BLOCKS_AT_ONCE, states.shape[0])):
                    x = states[block]
                    index_tables(x, t0, t0 + n_tables, member_starts, members, factors, offsets, index)
                    _multiply_tables(index0, table, n_tables, bias, n - 1, weight0 + 4 * BLOCK)
                    draw_uniforms(streams[block], raw)
                    before[:] = x[i]
                    draw_levels(weights, n, draws, rest, x[i])
                    if kept.shape[0]:
                        keep(x[i], kept[block, i], before)


@compiled
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
    index0, table0 = np.int64(index.ctypes.data), np.int64(tables.ctypes.data)
    bias0, weight0 = np.int64(biases.ctypes.data), np.int64(weights.ctypes.data)
    n_biases = np.int64(biases.shape[1])
    fields = weights.view(np.int32)
    for first in range(0, states.shape[0], BLOCKS_AT_ONCE):
        for _ in range(n_sweeps):
            for i in order:
                n, t0, n_tables = n_levels[i], starts[i], starts[i + 1] - starts[i]
                table, bias = table0 + 4 * table_starts[i], bias0 + 4 * n_biases * i
                for block in range(first, min(first + BLOCKS_AT_ONCE, states.shape[0])):
                    x = states[block]
                    index_tables(x, t0, t0 + n_tables, member_starts, members, factors, offsets, index)
                    _add_tables(index0, table, n_tables, bias, n - 1, weight0 + 4 * BLOCK)
                    subtract_largest(fields, n)
                    for k in range(n):
                        exponentiate(weights[k], shifts[i])
                    draw_uniforms(streams[block], raw)
                    before[:] = x[i]
                    draw_levels(weights, n, draws, rest, x[i])
                    if kept.shape[0]:
                        keep(x[i], kept[block, i], before)
