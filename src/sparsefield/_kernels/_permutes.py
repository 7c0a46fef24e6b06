"""Gibbs sweeps over variables with any number of levels on processors with AVX-512.

One instruction (`vpermt2ps`) looks up to 16 chains in a table of 32 entries, which sits in two registers; it looks at
the five lowest bits of a lane only. The line of 64 bytes that says which entry 64 chains read is therefore an index of
chains 4 m in lane m, and, shifted by o bytes, of chains 4 m + o. Weights of these chains lie side by side, chain
64 g + 4 m + o of a block at 64 g + 16 o + m, and so do their random numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from sparsefield._kernels._bytes import BLOCK, exponentiate, keep
from sparsefield._kernels._compiling import compiled
from sparsefield._kernels._ir import F32, I16, I32, I64, F32x8, I32x8, I64x8, call, fill, load, spread, store, word
from sparsefield._kernels._levels import BLOCKS_AT_ONCE, ENTRIES, LINE, STRIDE, index_tables, subtract_largest

_F32x16 = ir.VectorType(F32, 16)
_I32x16 = ir.VectorType(I32, 16)
_F64x8 = ir.VectorType(ir.DoubleType(), 8)
_ADDRESS = types.int64
_WEIGHTS = 4 * BLOCK  # bytes of the weights of a level
_TABLE = 4 * ENTRIES
_LINES = BLOCK // LINE
_AT_ONCE = 4  # levels: 16 products in registers, and the tables of 60 neighbours in the first cache


def arrange_tables(entries: Any) -> Any:
    """Lay entries (tables, levels, 32) out as the sweeps read them: four levels of all tables at a time."""
    parts = [entries[:, k : k + _AT_ONCE].reshape(-1) for k in range(0, entries.shape[1], _AT_ONCE)]
    return np.concatenate([entries[:0].reshape(-1), *parts])


def _make_lookups(n_levels: int, combine: Any) -> Any:
    """Make the loop that combines one entry of each table into the weights of some levels, for 512 chains."""

    @intrinsic
    def lookups(_typing: Any, _index: Any, _tables: Any, _n: Any, _starts: Any, _out: Any) -> Any:
        """Take index lines and tables, n of them, and where the levels start from; fill lines of weights."""

        def generate(context: Any, b: Any, _signature: Any, arguments: Any) -> Any:
            index, tables, n, starts, out = arguments
            places = [(level, o) for level in range(n_levels) for o in range(4)]
            values = [cgutils.alloca_once(b, _F32x16) for _ in places]
            with cgutils.for_range(b, word(_LINES)) as outer:
                first = b.add(index, b.mul(outer.index, word(LINE)))
                for (level, _), value in zip(places, values, strict=True):
                    b.store(spread(b, load(b, starts, F32, 4 * level), _F32x16), value)
                with cgutils.for_range(b, n) as inner:
                    line = load(b, b.add(first, b.mul(inner.index, word(STRIDE))), _I32x16)
                    entries = [b.lshr(line, fill(_I32x16, 8 * o)) if o else line for o in range(4)]
                    own = b.add(tables, b.mul(inner.index, word(_TABLE * n_levels)))
                    for level in range(n_levels):
                        low, high = (load(b, own, _F32x16, _TABLE * level + half) for half in (0, 64))
                        for o in range(4):
                            value = values[4 * level + o]
                            name = "llvm.x86.avx512.vpermi2var.ps.512"
                            found = call(b, name, _F32x16, low, entries[o], high)
                            b.store(combine(b, b.load(value), found), value)
                row = b.add(out, b.mul(outer.index, word(4 * LINE)))
                for (level, o), value in zip(places, values, strict=True):
                    store(b, b.load(value), row, _WEIGHTS * level + 64 * o)
            return context.get_dummy_value()

        return types.void(*[_ADDRESS] * 5), generate

    return lookups


def _add_integers(b: Any, total: Any, found: Any) -> Any:
    return b.bitcast(b.add(b.bitcast(total, _I32x16), b.bitcast(found, _I32x16)), _F32x16)


def _multiply(b: Any, product: Any, found: Any) -> Any:
    return b.fmul(product, found)


_multiply_1, _multiply_2, _multiply_3, _multiply_4 = (_make_lookups(n, _multiply) for n in range(1, 5))
_add_1, _add_2, _add_3, _add_4 = (_make_lookups(n, _add_integers) for n in range(1, 5))


def _advance(b: Any, states: list[Any]) -> Any:
    """Take a step of xoshiro256+ in eight lanes, and return 16 random numbers of 32 bits."""
    s0, s1, s2, s3 = (b.load(state) for state in states)
    raw = b.add(s0, s3)
    shifted = b.shl(s1, fill(I64x8, 17))
    s2, s3 = b.xor(s2, s0), b.xor(s3, s1)
    s1, s0 = b.xor(s1, s2), b.xor(s0, s3)
    s2 = b.xor(s2, shifted)
    s3 = b.or_(b.shl(s3, fill(I64x8, 45)), b.lshr(s3, fill(I64x8, 19)))
    for state, new in zip(states, (s0, s1, s2, s3), strict=True):
        b.store(new, state)
    return b.bitcast(raw, _I32x16)


def _choose_nearly(b: Any, first: Any, n: Any, slack: Any, draws: list[Any], line: Any) -> Any:
    """Choose levels of 64 chains with sums in float32; say whether one of them may have to be another one.

    The total of n weights is off by at most (n - 1) u of itself, u = 2^-24. The share of it, for which the number and a
    product are rounded too, is off by (n + 1) u of the total, and what is left after up to n - 1 subtractions by 2 n u,
    up to terms of order n^2 u^2 (n < 256). Where that is farther from zero than the slack, (2 n + 2) u of the total,
    after each of them, float64 would choose the same level.
    """
    rests = [cgutils.alloca_once(b, _F32x16) for _ in draws]
    nearest = [cgutils.alloca_once(b, _F32x16) for _ in draws]
    levels = cgutils.alloca_once(b, _I32x16)
    b.store(fill(_I32x16, 0), levels)
    for o, rest in enumerate(rests):
        b.store(load(b, first, _F32x16, 64 * o), rest)
    with cgutils.for_range(b, n, start=word(1)) as loop:
        row = b.add(first, b.mul(loop.index, word(_WEIGHTS)))
        for o, rest in enumerate(rests):
            b.store(b.fadd(b.load(rest), load(b, row, _F32x16, 64 * o)), rest)
    totals = [b.load(rest) for rest in rests]
    for rest, total, near, draw in zip(rests, totals, nearest, draws, strict=True):
        b.store(b.fmul(b.uitofp(draw, _F32x16), b.fmul(total, fill(_F32x16, 2.0**-32))), rest)
        b.store(total, near)
    with cgutils.for_range(b, b.sub(n, word(1))) as loop:
        row = b.add(first, b.mul(loop.index, word(_WEIGHTS)))
        for o, (rest, near) in enumerate(zip(rests, nearest, strict=True)):
            left = b.fsub(b.load(rest), load(b, row, _F32x16, 64 * o))
            b.store(left, rest)
            one = b.select(b.fcmp_ordered(">=", left, fill(_F32x16, 0.0)), fill(_I32x16, 1 << 8 * o), fill(_I32x16, 0))
            b.store(b.add(b.load(levels), one), levels)
            size = call(b, "llvm.fabs.v16f32", _F32x16, left)
            b.store(call(b, "llvm.minnum.v16f32", _F32x16, b.load(near), size), near)
    store(b, b.load(levels), line)
    doubtful = None
    for near, total in zip(nearest, totals, strict=True):
        own = b.fcmp_ordered("<=", b.load(near), b.fmul(total, spread(b, slack, _F32x16)))
        doubtful = own if doubtful is None else b.or_(doubtful, own)
    return b.icmp_unsigned("!=", b.bitcast(doubtful, I16), ir.Constant(I16, 0))


def _choose(b: Any, first: Any, n: Any, draws: list[Any], line: Any) -> None:
    """Choose levels of 64 chains with sums in float64, eight chains at a time."""
    numbers = cgutils.alloca_once(b, ir.ArrayType(_I32x16, len(draws)))
    rest = cgutils.alloca_once(b, _F64x8)
    address = b.ptrtoint(numbers, I64)
    for o, draw in enumerate(draws):
        store(b, draw, address, 64 * o)
    store(b, fill(_I32x16, 0), line)
    with cgutils.for_range(b, word(2 * len(draws))) as outer:
        offset = b.mul(outer.index, word(32))

        def weight(k: Any) -> Any:
            row = b.add(b.add(first, offset), b.mul(k, word(_WEIGHTS)))
            return b.fpext(load(b, row, F32x8), _F64x8)

        b.store(fill(_F64x8, 0.0), rest)
        with cgutils.for_range(b, n) as loop:
            b.store(b.fadd(b.load(rest), weight(loop.index)), rest)
        number = b.fadd(b.uitofp(load(b, b.add(address, offset), I32x8), _F64x8), fill(_F64x8, 0.5))
        b.store(b.fmul(number, b.fmul(b.load(rest), fill(_F64x8, 2.0**-32))), rest)
        # Chains 4 m + o have byte o of lane m.
        byte = b.shl(ir.Constant(I32, 1), b.trunc(b.shl(b.lshr(outer.index, word(1)), word(3)), I32))
        one = spread(b, byte, I32x8)
        half = b.add(line, b.and_(offset, word(32)))
        with cgutils.for_range(b, b.sub(n, word(1))) as loop:
            left = b.fsub(b.load(rest), weight(loop.index))
            b.store(left, rest)
            above = b.fcmp_ordered(">=", left, fill(_F64x8, 0.0))
            store(b, b.add(load(b, half, I32x8), b.select(above, one, fill(I32x8, 0))), half)


@intrinsic
def _draw_levels(_typing: Any, _weights: Any, _n: Any, _slack: Any, _stream: Any, _x: Any) -> Any:
    """Draw 512 levels as `_levels.draw_levels` does: in float32, and where that leaves a doubt in float64."""

    def generate(context: Any, b: Any, _signature: Any, arguments: Any) -> Any:
        weights, n, slack, stream, x = arguments
        states = [cgutils.alloca_once(b, I64x8) for _ in range(4)]
        for j, state in enumerate(states):
            b.store(load(b, stream, I64x8, 64 * j), state)
        with cgutils.for_range(b, word(_LINES)) as outer:
            first = b.add(weights, b.mul(outer.index, word(4 * LINE)))
            line = b.add(x, b.mul(outer.index, word(LINE)))
            draws = [_advance(b, states) for _ in range(4)]
            doubt = _choose_nearly(b, first, n, slack, draws, line)
            with cgutils.if_unlikely(b, doubt):
                _choose(b, first, n, draws, line)
        for j, state in enumerate(states):
            store(b, b.load(state), stream, 64 * j)
        return context.get_dummy_value()

    return types.void(_ADDRESS, _ADDRESS, types.float32, _ADDRESS, _ADDRESS), generate


@compiled
def draw_levels(weights, n_levels, stream, x):
    """Set x (512,) uint8 to level k with a probability proportional to weights[k].

    weights (>= n_levels, 512) float32, that of chain 64 g + 4 m + o at 64 g + 16 o + m.
    """
    slack = np.float32((2 * n_levels + 2) * 2.0**-24)
    weights0, stream0, x0 = np.int64(weights.ctypes.data), np.int64(stream.ctypes.data), np.int64(x.ctypes.data)
    _draw_levels(weights0, np.int64(n_levels), slack, stream0, x0)


@compiled
def _multiply_tables(index, tables, n_tables, starts, n, out):
    """Write the weights of levels 1 .. n, four at a time."""
    for k in range(0, n, _AT_ONCE):
        table, start, row, left = tables + k * n_tables * _TABLE, starts + 4 * k, out + k * _WEIGHTS, n - k
        if left >= _AT_ONCE:
            _multiply_4(index, table, n_tables, start, row)
        elif left == 3:
            _multiply_3(index, table, n_tables, start, row)
        elif left == 2:
            _multiply_2(index, table, n_tables, start, row)
        else:
            _multiply_1(index, table, n_tables, start, row)


@compiled
def _add_tables(index, tables, n_tables, starts, n, out):
    """Write the exponents of levels 1 .. n, four at a time."""
    for k in range(0, n, _AT_ONCE):
        table, start, row, left = tables + k * n_tables * _TABLE, starts + 4 * k, out + k * _WEIGHTS, n - k
        if left >= _AT_ONCE:
            _add_4(index, table, n_tables, start, row)
        elif left == 3:
            _add_3(index, table, n_tables, start, row)
        elif left == 2:
            _add_2(index, table, n_tables, start, row)
        else:
            _add_1(index, table, n_tables, start, row)


@compiled
def sweep_product(
    states, streams, order, n_levels, starts, member_starts, members, factors, offsets, table_starts, tables, biases,
    kept, index, weights, n_sweeps,
):  # fmt: skip
    """Sweep with weights multiplied up; arguments as in `_levels.sweep_product`."""
    index0, table0 = np.int64(index.ctypes.data), np.int64(tables.ctypes.data)
    bias0, weight0 = np.int64(biases.ctypes.data), np.int64(weights.ctypes.data)
    n_biases = np.int64(biases.shape[1])
    before = np.empty(BLOCK, np.uint8)
    weights[0, :] = np.float32(1.0)
    for first in range(0, states.shape[0], BLOCKS_AT_ONCE):
        for _ in range(n_sweeps):
            for i in order:
                n, t0, n_tables = n_levels[i], starts[i], starts[i + 1] - starts[i]
                table, bias = table0 + 4 * table_starts[i], bias0 + 4 * n_biases * i
                for block in range(first, min(first + BLOCKS_AT_ONCE, states.shape[0])):
                    x = states[block]
                    index_tables(x, t0, t0 + n_tables, member_starts, members, factors, offsets, index)
                    _multiply_tables(index0, table, n_tables, bias, n - 1, weight0 + _WEIGHTS)
                    if kept.shape[0]:
                        before[:] = x[i]
                    draw_levels(weights, n, streams[block], x[i])
                    if kept.shape[0]:
                        keep(x[i], kept[block, i], before)


@compiled
def sweep_sum(
    states, streams, order, n_levels, starts, member_starts, members, factors, offsets, table_starts, tables, biases,
    shifts, kept, index, weights, n_sweeps,
):  # fmt: skip
    """Sweep with exponents added up as whole numbers; arguments as in `_levels.sweep_sum`."""
    index0, table0 = np.int64(index.ctypes.data), np.int64(tables.ctypes.data)
    bias0, weight0 = np.int64(biases.ctypes.data), np.int64(weights.ctypes.data)
    n_biases = np.int64(biases.shape[1])
    before = np.empty(BLOCK, np.uint8)
    fields = weights.view(np.int32)
    for first in range(0, states.shape[0], BLOCKS_AT_ONCE):
        for _ in range(n_sweeps):
            for i in order:
                n, t0, n_tables = n_levels[i], starts[i], starts[i + 1] - starts[i]
                table, bias = table0 + 4 * table_starts[i], bias0 + 4 * n_biases * i
                for block in range(first, min(first + BLOCKS_AT_ONCE, states.shape[0])):
                    x = states[block]
                    index_tables(x, t0, t0 + n_tables, member_starts, members, factors, offsets, index)
                    _add_tables(index0, table, n_tables, bias, n - 1, weight0 + _WEIGHTS)
                    subtract_largest(fields, n)
                    for k in range(n):
                        exponentiate(weights[k], shifts[i])
                    if kept.shape[0]:
                        before[:] = x[i]
                    draw_levels(weights, n, streams[block], x[i])
                    if kept.shape[0]:
                        keep(x[i], kept[block, i], before)
