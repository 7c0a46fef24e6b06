"""Gibbs sweeps over chains packed one bit each: binary fields on processors with AVX2.

A block is 512 chains. Variable i of a block is one cache line, 16 lanes of 32 bits: bit t of lane m is chain
16 t + m of the block, so that one vector step t updates 16 chains.

To update a variable, its neighbours are taken two at a time. The two bits of a chain, side by side, index a table
of four weights that sits in a register (`vpermilps`): one instruction reads both neighbours for 8 chains. The
instruction looks at the two lowest bits of a lane only, so the *index line* of a pair is kept in four shifts
(0, 2, 4, 6 bits) for even and for odd t, and the other shifts (8, 16, 24 bits) are reads at a byte offset, which
cost nothing. Odd offsets are read from memory and offset 2 is shifted in a register, because that splits the
work between the load and the shuffle ports (Zen 3: 0.22 ns a lookup, 0.24 with reads alone, 0.27 with shifts alone).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from sparsefield._kernels._bytes import exponentiate, keep
from sparsefield._kernels._compiling import compiled
from sparsefield._kernels._ir import (
    I32,
    F32x4,
    F32x8,
    I8x16,
    I8x32,
    I16x16,
    I32x8,
    I64x4,
    call,
    fill,
    load,
    spread,
    store,
    twice,
    word,
)

LINE = 64  # bytes of a line: one variable of one block
WEIGHTS = 4 * 512  # bytes of the weights of a block
SHIFTS = 8  # index lines of a pair: even and odd t, four shifts each
QUAD = 32  # bytes of a vector of indices of four neighbours: 32 chains
GROUPS = 16  # such vectors for 512 chains
PLANES = 4  # of 6 bits each in a table entry
MOST_QUADS = 4 * (65535 // (4 * 63))  # before 16-bit sums could overflow
_EVEN, _ODD = 0x55555555, 0xAAAAAAAA
_HALVES = (0, 32)  # byte offsets of the two 256-bit halves of a line
_ADDRESS = types.int64


@intrinsic
def _index_pair(_typing: Any, _first: Any, _second: Any, _lines: Any, _stride: Any) -> Any:
    """Write the eight index lines of two variables; consecutive lines lie `stride` bytes apart."""

    def generate(context: Any, b: Any, _signature: Any, arguments: Any) -> Any:
        first, second, lines, stride = arguments
        for half in _HALVES:
            x, y = load(b, first, I32x8, half), load(b, second, I32x8, half)
            one = fill(I32x8, 1)
            even_y = b.shl(b.and_(y, fill(I32x8, _EVEN)), one)
            even = b.or_(b.and_(x, fill(I32x8, _EVEN)), even_y)
            odd_x = b.and_(b.lshr(x, one), fill(I32x8, _EVEN))
            odd = b.or_(odd_x, b.and_(y, fill(I32x8, _ODD)))
            for line in range(SHIFTS):
                shift = fill(I32x8, line // 2 * 2)
                index = b.lshr(odd if line % 2 else even, shift)
                store(b, index, b.add(lines, b.mul(stride, word(line))), half)
        return context.get_dummy_value()

    return types.void(_ADDRESS, _ADDRESS, _ADDRESS, _ADDRESS), generate


def _make_lookups(combine: Any) -> Any:
    """Make the loop that combines one table entry of each pair, at least one, into 512 values, one a chain."""

    @intrinsic
    def lookups(_typing: Any, _lines: Any, _stride: Any, _tables: Any, _n: Any, _out: Any) -> Any:
        def generate(context: Any, b: Any, _signature: Any, arguments: Any) -> Any:
            lines, stride, tables, n_pairs, out = arguments
            places = [(offset, half) for offset in range(4) for half in _HALVES]
            values = [cgutils.alloca_once(b, F32x8) for _ in places]

            def look_up(line: Any, entry: Any) -> list[Any]:
                table = twice(b, load(b, entry, F32x4))
                whole = {half: load(b, line, I32x8, half) for half in _HALVES}
                found = []
                for offset, half in places:
                    index = whole[half]
                    if offset == 2:
                        index = b.lshr(index, fill(I32x8, 16))
                    elif offset:
                        index = load(b, line, I32x8, half + offset)
                    found.append(call(b, "llvm.x86.avx.vpermilvar.ps.256", F32x8, table, index))
                return found

            with cgutils.for_range(b, word(SHIFTS)) as outer:
                first = b.add(lines, b.mul(stride, outer.index))
                for value, found in zip(values, look_up(first, tables), strict=True):
                    b.store(found, value)
                with cgutils.for_range(b, n_pairs, start=word(1)) as inner:
                    line = b.add(first, b.mul(inner.index, word(LINE)))
                    entry = b.add(tables, b.mul(inner.index, word(16)))
                    for value, found in zip(values, look_up(line, entry), strict=True):
                        b.store(combine(b, b.load(value), found), value)
                # Index line s at byte offset o belongs to t = s + 8 o.
                row = b.add(out, b.mul(outer.index, word(LINE)))
                for (offset, half), value in zip(places, values, strict=True):
                    store(b, b.load(value), row, SHIFTS * LINE * offset + half)
            return context.get_dummy_value()

        return types.void(*[_ADDRESS] * 5), generate

    return lookups


def _add_integers(b: Any, total: Any, found: Any) -> Any:
    return b.bitcast(b.add(b.bitcast(total, I32x8), b.bitcast(found, I32x8)), F32x8)


_multiply_lookups = _make_lookups(lambda b, product, found: b.fmul(product, found))
_add_lookups = _make_lookups(_add_integers)


@intrinsic
def _index_quad(_typing: Any, _line: Any, _place: Any, _quads: Any, _stride: Any) -> Any:
    """Write one variable into bit `place` of the indices of its four; byte 4 m + o of group t is step t + 8 o."""

    def generate(context: Any, b: Any, _signature: Any, arguments: Any) -> Any:
        line, place, quads, stride = arguments
        place = spread(b, b.trunc(place, I32), I32x8)
        mask = b.shl(fill(I32x8, 0x01010101), place)
        for h, half in enumerate(_HALVES):
            bits = load(b, line, I32x8, half)
            for t in range(8):
                own = b.and_(b.shl(b.lshr(bits, fill(I32x8, t)), place), mask)
                group = b.add(quads, b.mul(stride, word(2 * t + h)))
                others = b.and_(load(b, group, I32x8), b.not_(mask))
                store(b, b.or_(others, own), group)
        return context.get_dummy_value()

    return types.void(_ADDRESS, _ADDRESS, _ADDRESS, _ADDRESS), generate


@intrinsic
def _add_quads(_typing: Any, _quads: Any, _stride: Any, _tables: Any, _n: Any, _start: Any, _out: Any) -> Any:
    """Add one table entry for each four neighbours to start, for 512 chains; n fours, a multiple of 4, at most 1040.

    An entry of 24 bits is kept as four planes of 6 bits, so that `vpshufb` reads it for 32 chains in four
    instructions. Four entries of a plane fit a byte (4 * 63 < 256), 260 of those sums 16 bits.
    """

    def generate(context: Any, b: Any, _signature: Any, arguments: Any) -> Any:
        quads, stride, tables, n, start, out = arguments
        sums = [(cgutils.alloca_once(b, I16x16), cgutils.alloca_once(b, I16x16)) for _ in range(PLANES)]
        with cgutils.for_range(b, word(GROUPS)) as outer:
            group = b.add(quads, b.mul(stride, outer.index))
            for even, odd in sums:
                b.store(fill(I16x16, 0), even)
                b.store(fill(I16x16, 0), odd)
            with cgutils.for_range(b, b.lshr(n, word(2))) as inner:
                line = b.add(group, b.mul(inner.index, word(4 * QUAD)))
                table = b.add(tables, b.mul(inner.index, word(4 * 16 * PLANES)))
                four = [fill(I8x32, 0)] * PLANES
                for k in range(4):
                    index = load(b, line, I8x32, QUAD * k)
                    for plane in range(PLANES):
                        entries = twice(b, load(b, table, I8x16, 16 * (PLANES * k + plane)))
                        found = call(b, "llvm.x86.avx2.pshuf.b", I8x32, entries, index)
                        four[plane] = b.add(four[plane], found)
                for (even, odd), total in zip(sums, four, strict=True):
                    both = b.bitcast(total, I16x16)
                    b.store(b.add(b.load(even), b.and_(both, fill(I16x16, 0xFF))), even)
                    b.store(b.add(b.load(odd), b.lshr(both, fill(I16x16, 8))), odd)
            fields = [spread(b, start, I32x8)] * 4
            for plane in range(PLANES):
                for parity in range(2):
                    both = b.bitcast(b.load(sums[plane][parity]), I32x8)
                    parts = (b.and_(both, fill(I32x8, 0xFFFF)), b.lshr(both, fill(I32x8, 16)))
                    for o, part in zip((parity, parity + 2), parts, strict=True):
                        fields[o] = b.add(fields[o], b.shl(part, fill(I32x8, 6 * plane)))
            # Group 2 t + h holds steps t, t + 8, t + 16, t + 24 of half h: exactly 32 bytes a group and step.
            row = b.add(out, b.mul(outer.index, word(32)))
            for o, field in enumerate(fields):
                store(b, field, row, 8 * LINE * o)
        return context.get_dummy_value()

    return types.void(_ADDRESS, _ADDRESS, _ADDRESS, _ADDRESS, types.int32, _ADDRESS), generate


def _make_draw(n_planes: int) -> Any:
    """Make the draw of 512 bits for each of some planes, with the same random numbers for all of them."""

    @intrinsic
    def draw(_typing: Any, _weights: Any, _stream: Any, _line: Any, _stride: Any) -> Any:
        """Draw bits, bit c of a plane being one with probability 1 / (1 + its weights[c]), with xoshiro256+.

        Thirty random bits are an odd number v below 2^31; u = 2^31 - v is another one, and the bit is u weight <= v.
        Both are rounded to 2^-25 of themselves, so that rare ones and rare zeros are equally well resolved: a weight of
        2^-31 or less always gives one, and one of 2^31 or more always zero. (The lowest bits of xoshiro256+ are linear;
        they are worth 2^-29 of u here. xoshiro256++ mends them with four instructions more, a tenth of the time.) The
        line of plane k lies k strides after the first.
        """

        def generate(context: Any, b: Any, _signature: Any, arguments: Any) -> Any:
            weights, stream, line, stride = arguments
            sign, ends, high = fill(I32x8, 1 << 31), fill(I32x8, (1 << 31) | 1), fill(I32x8, 0x80808080)
            # The four signs of a lane m are packed into bytes m, m + 4, m + 8 and m + 12 of its half: bring them home.
            home = ir.Constant(I8x32, [16 * h + 4 * k + m for h in range(2) for m in range(4) for k in range(4)])

            def advance(state: list[Any]) -> Any:
                s0, s1, s2, s3 = state
                raw = b.add(s0, s3)
                shifted = b.shl(s1, fill(I64x4, 17))
                s2, s3 = b.xor(s2, s0), b.xor(s3, s1)
                s1, s0 = b.xor(s1, s2), b.xor(s0, s3)
                s2 = b.xor(s2, shifted)
                s3 = b.or_(b.shl(s3, fill(I64x4, 45)), b.lshr(s3, fill(I64x4, 19)))
                state[:] = s0, s1, s2, s3
                return raw

            def pack_signs(results: list[Any]) -> Any:
                """Put the sign bits of four results at the top of the four bytes of each lane, up to their order."""
                whole = [b.bitcast(result, I32x8) for result in results]
                pairs = [call(b, "llvm.x86.avx2.packssdw", I16x16, *whole[k : k + 2]) for k in (0, 2)]
                return b.bitcast(call(b, "llvm.x86.avx2.packsswb", I8x32, *pairs), I32x8)

            # One plane takes both halves in turn: the steps of one generator wait for each other, those of two do not.
            # Several planes have enough to do in between, and their bits would not fit the registers.
            for halves in [_HALVES] if n_planes == 1 else [(half,) for half in _HALVES]:
                states = {half: [load(b, stream, I64x4, 64 * j + half) for j in range(4)] for half in halves}
                zeros = {half: [fill(I32x8, 0)] * n_planes for half in halves}
                for t in range(8):
                    # Steps t, t + 8, t + 16, t + 24: bit t of the four bytes of a lane.
                    results: dict[tuple[int, int], list[Any]] = {(h, p): [] for h in halves for p in range(n_planes)}
                    for byte in range(4):
                        for half in halves:
                            minus_u = b.or_(b.bitcast(advance(states[half]), I32x8), ends)
                            v = b.sitofp(b.xor(minus_u, sign), F32x8)
                            minus_u = b.sitofp(minus_u, F32x8)
                            for plane in range(n_planes):
                                place = WEIGHTS * plane + LINE * (t + 8 * byte) + half
                                weight = load(b, weights, F32x8, place)
                                rest = call(b, "llvm.fma.v8f32", F32x8, minus_u, weight, v)
                                results[half, plane].append(rest)
                    for (half, plane), four in results.items():
                        found = b.and_(pack_signs(four), high)
                        zeros[half][plane] = b.or_(b.lshr(zeros[half][plane], fill(I32x8, 1)), found)
                for half in halves:
                    for j, state in enumerate(states[half]):
                        store(b, state, stream, 64 * j + half)
                    for plane in range(n_planes):
                        bits = b.not_(b.bitcast(zeros[half][plane], I8x32))
                        bits = call(b, "llvm.x86.avx2.pshuf.b", I8x32, bits, home)
                        store(b, bits, b.add(line, b.mul(stride, word(plane))), half)
            return context.get_dummy_value()

        return types.void(_ADDRESS, _ADDRESS, _ADDRESS, _ADDRESS), generate

    return draw


_draw_one, _draw_two, _draw_three = _make_draw(1), _make_draw(2), _make_draw(3)


@compiled
def _draw_planes(weights, stream, line, stride, n_planes):
    if n_planes == 1:
        _draw_one(weights, stream, line, stride)
    elif n_planes == 2:
        _draw_two(weights, stream, line, stride)
    else:
        _draw_three(weights, stream, line, stride)


@compiled
def _index_pairs(states, neighbours, plane, k0, n_pairs, lines, stride):
    """Write the index lines of the pairs of neighbours from k0 on, as a plane sees them."""
    for k in range(k0, k0 + n_pairs):
        first, second = states + neighbours[plane, k, 0] * LINE, states + neighbours[plane, k, 1] * LINE
        _index_pair(first, second, lines + (k - k0) * LINE, stride)


@compiled
def sweep_product(states, streams, order, starts, neighbours, tables, kept, lines, weights, n_sweeps):
    """Sweep with weights multiplied up: no exponential in the loop.

    states (B, planes x lines, 16) uint32, streams (B, 4, 8) uint64; pairs k of variable i are
    starts[i] <= k < starts[i + 1] with tables (P, 4) float32, the main effect in the first; neighbours (planes, P, 2)
    are the lines that a plane looks at; kept (B, lines, 16) uint32 has ones where no plane must change, or no blocks
    at all; lines and weights (planes, 512) are scratch.
    """
    n_planes = neighbours.shape[0]
    size = states.shape[1] * LINE
    stride = np.int64(lines.shape[1] * LINE)
    state0, stream0 = np.int64(states.ctypes.data), np.int64(streams.ctypes.data)
    line0, table0 = np.int64(lines.ctypes.data), np.int64(tables.ctypes.data)
    weight0 = np.int64(weights.ctypes.data)
    n_lines = states.shape[1] // n_planes
    before = np.empty((n_planes, 16), np.uint32)
    for block in range(states.shape[0]):
        x0 = state0 + block * size
        for _ in range(n_sweeps):
            for i in order:
                k0, n_pairs = starts[i], starts[i + 1] - starts[i]
                for plane in range(n_planes):
                    _index_pairs(x0, neighbours, plane, k0, n_pairs, line0, stride)
                    _multiply_lookups(line0, stride, table0 + k0 * 16, n_pairs, weight0 + plane * WEIGHTS)
                if kept.shape[0]:
                    for plane in range(n_planes):
                        before[plane] = states[block, plane * n_lines + i]
                _draw_planes(weight0, stream0 + block * 256, x0 + i * LINE, size // n_planes, n_planes)
                if kept.shape[0]:
                    for plane in range(n_planes):
                        keep(states[block, plane * n_lines + i], kept[block, i], before[plane])


@compiled
def sweep_sum(states, streams, order, starts, neighbours, tables, shifts, kept, lines, weights, n_sweeps):
    """Sweep with fields added up as whole numbers: right for parameters of any size.

    As `sweep_product`, with tables int32 in units of 2^-shifts[i] bits (see `exponentiate`).
    """
    n_planes = neighbours.shape[0]
    size = states.shape[1] * LINE
    stride = np.int64(lines.shape[1] * LINE)
    state0, stream0 = np.int64(states.ctypes.data), np.int64(streams.ctypes.data)
    line0, table0 = np.int64(lines.ctypes.data), np.int64(tables.ctypes.data)
    weight0 = np.int64(weights.ctypes.data)
    n_lines = states.shape[1] // n_planes
    before = np.empty((n_planes, 16), np.uint32)
    for block in range(states.shape[0]):
        x0 = state0 + block * size
        for _ in range(n_sweeps):
            for i in order:
                k0, n_pairs = starts[i], starts[i + 1] - starts[i]
                for plane in range(n_planes):
                    _index_pairs(x0, neighbours, plane, k0, n_pairs, line0, stride)
                    _add_lookups(line0, stride, table0 + k0 * 16, n_pairs, weight0 + plane * WEIGHTS)
                    exponentiate(weights[plane], shifts[i])
                if kept.shape[0]:
                    for plane in range(n_planes):
                        before[plane] = states[block, plane * n_lines + i]
                _draw_planes(weight0, stream0 + block * 256, x0 + i * LINE, size // n_planes, n_planes)
                if kept.shape[0]:
                    for plane in range(n_planes):
                        keep(states[block, plane * n_lines + i], kept[block, i], before[plane])


@compiled
def sweep_dense(states, streams, order, tables, biases, shifts, kept, quads, weights, n_sweeps):
    """Sweep a field where most variables are neighbours, which are taken four at a time: (0, 1, 2, 3), (4, ...), ...

    tables (p, Q, 4, 16) uint8 holds, for four neighbours and every subset of them, the sum of their interactions
    above the smallest, in four planes of 6 bits; biases (p,) int32 makes up for the smallest; units as in `sweep_sum`.
    The indices of all fours, quads (blocks at a time, 16, Q, 32) uint8, are kept up to date.
    """
    n_blocks, n_variables, _ = states.shape
    n_quads = np.int64(tables.shape[1])
    stride = np.int64(n_quads * QUAD)
    state0, stream0 = np.int64(states.ctypes.data), np.int64(streams.ctypes.data)
    quad0, table0 = np.int64(quads.ctypes.data), np.int64(tables.ctypes.data)
    weight0 = np.int64(weights.ctypes.data)
    before = np.empty(16, np.uint32)
    # Some blocks at a time: the tables, 16 bytes an interaction, come from far away and are read once for all of them.
    for start in range(0, n_blocks, quads.shape[0]):
        stop = min(start + quads.shape[0], n_blocks)
        for block in range(start, stop):
            x0, q0 = state0 + block * n_variables * LINE, quad0 + (block - start) * GROUPS * stride
            for i in range(tables.shape[0]):
                _index_quad(x0 + i * LINE, i % 4, q0 + i // 4 * QUAD, stride)
        for _ in range(n_sweeps):
            for i in order:
                table = table0 + i * n_quads * 16 * PLANES
                for block in range(start, stop):
                    x0, q0 = state0 + block * n_variables * LINE, quad0 + (block - start) * GROUPS * stride
                    _add_quads(q0, stride, table, n_quads, biases[i], weight0)
                    exponentiate(weights[0], shifts[i])
                    if kept.shape[0]:
                        before[:] = states[block, i]
                    _draw_one(weight0, stream0 + block * 256, x0 + i * LINE, 0)
                    if kept.shape[0]:
                        keep(states[block, i], kept[block, i], before)
                    _index_quad(x0 + i * LINE, i % 4, q0 + i // 4 * QUAD, stride)
