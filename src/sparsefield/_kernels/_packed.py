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
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from sparsefield._kernels._bytes import exponentiate
from sparsefield._kernels._ir import (
    F32x4,
    F32x8,
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
SHIFTS = 8  # index lines of a pair: even and odd t, four shifts each
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


def _make_lookups(combine: Any, start_type: Any) -> Any:
    """Make the loop that combines one table entry a pair into 512 values, one a chain."""

    @intrinsic
    def lookups(_typing: Any, _lines: Any, _stride: Any, _tables: Any, _n: Any, _start: Any, _out: Any) -> Any:
        def generate(context: Any, b: Any, _signature: Any, arguments: Any) -> Any:
            lines, stride, tables, n_pairs, start, out = arguments
            places = [(offset, half) for offset in range(4) for half in _HALVES]
            sums = [cgutils.alloca_once(b, F32x8) for _ in places]
            if start_type is types.int32:
                start = b.bitcast(start, F32x8.element)
            with cgutils.for_range(b, word(SHIFTS)) as outer:
                for total in sums:
                    b.store(spread(b, start, F32x8), total)
                first = b.add(lines, b.mul(stride, outer.index))
                with cgutils.for_range(b, n_pairs) as inner:
                    entry = b.add(tables, b.mul(inner.index, word(16)))
                    table = twice(b, load(b, entry, F32x4))
                    line = b.add(first, b.mul(inner.index, word(LINE)))
                    whole = {half: load(b, line, I32x8, half) for half in _HALVES}
                    for (offset, half), total in zip(places, sums, strict=True):
                        index = whole[half]
                        if offset == 2:
                            index = b.lshr(index, fill(I32x8, 16))
                        elif offset:
                            index = load(b, line, I32x8, half + offset)
                        found = call(b, "llvm.x86.avx.vpermilvar.ps.256", F32x8, table, index)
                        b.store(combine(b, b.load(total), found), total)
                # Index line s at byte offset o belongs to t = s + 8 o.
                row = b.add(out, b.mul(outer.index, word(LINE)))
                for (offset, half), total in zip(places, sums, strict=True):
                    store(b, b.load(total), row, SHIFTS * LINE * offset + half)
            return context.get_dummy_value()

        address = _ADDRESS
        return types.void(address, address, address, address, start_type, address), generate

    return lookups


def _add_integers(b: Any, total: Any, found: Any) -> Any:
    return b.bitcast(b.add(b.bitcast(total, I32x8), b.bitcast(found, I32x8)), F32x8)


_multiply_lookups = _make_lookups(lambda b, total, found: b.fmul(total, found), types.float32)
_add_lookups = _make_lookups(_add_integers, types.int32)


@intrinsic
def _draw_line(_typing: Any, _weights: Any, _stream: Any, _line: Any) -> Any:
    """Draw 512 bits, bit c being one with probability 1 / (1 + weights[c]), with xoshiro256++.

    A draw u is an odd integer below 2^31, never zero, and the bit is `u (1 + weight) <= 2^31`: a weight of zero
    always gives one and a weight of 2^31 or more always gives zero.
    """

    def generate(context: Any, b: Any, _signature: Any, arguments: Any) -> Any:
        weights, stream, line = arguments

        def rotate(x: Any, n: int) -> Any:
            return b.or_(b.shl(x, fill(I64x4, n)), b.lshr(x, fill(I64x4, 64 - n)))

        for half in _HALVES:
            s0, s1, s2, s3 = (load(b, stream, I64x4, 64 * j + half) for j in range(4))
            bits = fill(I32x8, 0)
            for t in range(32):
                raw = b.add(rotate(b.add(s0, s3), 23), s0)
                shifted = b.shl(s1, fill(I64x4, 17))
                s2, s3 = b.xor(s2, s0), b.xor(s3, s1)
                s1, s0 = b.xor(s1, s2), b.xor(s0, s3)
                s2, s3 = b.xor(s2, shifted), rotate(s3, 45)
                one = fill(I32x8, 1)
                u = b.sitofp(b.or_(b.lshr(b.bitcast(raw, I32x8), one), one), F32x8)
                weight = load(b, weights, F32x8, LINE * t + half)
                scaled = b.fmul(b.fadd(weight, fill(F32x8, 1.0)), u)
                is_one = b.fcmp_ordered("<=", scaled, fill(F32x8, 2.0**31))
                bits = b.or_(bits, b.and_(b.sext(is_one, I32x8), fill(I32x8, 1 << t)))
            for j, state in enumerate((s0, s1, s2, s3)):
                store(b, state, stream, 64 * j + half)
            store(b, bits, line, half)
        return context.get_dummy_value()

    return types.void(_ADDRESS, _ADDRESS, _ADDRESS), generate


@njit(nogil=True, cache=True)
def sweep_product(states, streams, order, starts, neighbours, tables, biases, lines, weights, n_sweeps):
    """Sweep with weights multiplied up: no exponential in the loop.

    states (B, p, 16) uint32, streams (B, 4, 8) uint64; pairs k of variable i are starts[i] <= k < starts[i + 1] with
    neighbours (P, 2) and tables (P, 4) float32; biases (p,) float32; lines and weights are scratch.
    """
    n_blocks, n_variables, _ = states.shape
    stride = np.int64(lines.shape[1] * LINE)
    state0, stream0 = np.int64(states.ctypes.data), np.int64(streams.ctypes.data)
    line0, table0 = np.int64(lines.ctypes.data), np.int64(tables.ctypes.data)
    weight0 = np.int64(weights.ctypes.data)
    for block in range(n_blocks):
        x0 = state0 + block * n_variables * LINE
        for _ in range(n_sweeps):
            for i in order:
                k0 = starts[i]
                n_pairs = starts[i + 1] - k0
                for k in range(n_pairs):
                    first, second = neighbours[k0 + k]
                    _index_pair(x0 + first * LINE, x0 + second * LINE, line0 + k * LINE, stride)
                _multiply_lookups(line0, stride, table0 + k0 * 16, n_pairs, biases[i], weight0)
                _draw_line(weight0, stream0 + block * 256, x0 + i * LINE)


@njit(nogil=True, cache=True)
def sweep_sum(states, streams, order, starts, neighbours, tables, biases, shifts, lines, weights, n_sweeps):
    """Sweep with fields added up as whole numbers: right for parameters of any size.

    As `sweep_product`, with tables and biases int32 in units of 2^-shifts[i] bits (see `exponentiate`).
    """
    n_blocks, n_variables, _ = states.shape
    stride = np.int64(lines.shape[1] * LINE)
    state0, stream0 = np.int64(states.ctypes.data), np.int64(streams.ctypes.data)
    line0, table0 = np.int64(lines.ctypes.data), np.int64(tables.ctypes.data)
    weight0 = np.int64(weights.ctypes.data)
    for block in range(n_blocks):
        x0 = state0 + block * n_variables * LINE
        for _ in range(n_sweeps):
            for i in order:
                k0 = starts[i]
                n_pairs = starts[i + 1] - k0
                for k in range(n_pairs):
                    first, second = neighbours[k0 + k]
                    _index_pair(x0 + first * LINE, x0 + second * LINE, line0 + k * LINE, stride)
                _add_lookups(line0, stride, table0 + k0 * 16, n_pairs, biases[i], weight0)
                exponentiate(weights, shifts[i])
                _draw_line(weight0, stream0 + block * 256, x0 + i * LINE)


@njit(nogil=True, cache=True)
def sweep_dense(states, streams, order, tables, biases, shifts, lines, weights, n_sweeps):
    """Sweep a field where most variables are neighbours: pairs are (0, 1), (2, 3), ... for every variable.

    The index lines of all pairs are kept up to date instead of being made for every update. tables is
    (p, P, 4) int32 with P = p / 2 rounded up; the variable that fills up an odd p has zero in every table.
    """
    n_blocks, n_variables, _ = states.shape
    n_pairs = np.int64(tables.shape[1])
    stride = np.int64(lines.shape[1] * LINE)
    state0, stream0 = np.int64(states.ctypes.data), np.int64(streams.ctypes.data)
    line0, table0 = np.int64(lines.ctypes.data), np.int64(tables.ctypes.data)
    weight0 = np.int64(weights.ctypes.data)
    for block in range(n_blocks):
        x0 = state0 + block * n_variables * LINE
        for k in range(n_pairs):
            pair = x0 + 2 * k * LINE
            _index_pair(pair, pair + LINE, line0 + k * LINE, stride)
        for _ in range(n_sweeps):
            for i in order:
                table = table0 + i * n_pairs * 16
                _add_lookups(line0, stride, table, n_pairs, biases[i], weight0)
                exponentiate(weights, shifts[i])
                _draw_line(weight0, stream0 + block * 256, x0 + i * LINE)
                pair = x0 + i // 2 * 2 * LINE
                _index_pair(pair, pair + LINE, line0 + i // 2 * LINE, stride)
