"""Gibbs sweeps over chains of binary fields held one byte each: plain loops that run on any processor.

They are the twins of those in `_packed`: same random numbers, same arithmetic, same states. A block is 512 chains, and
every inner loop runs over them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from sparsefield._kernels._compiling import compiled

BLOCK = 512  # chains that share a stream of random numbers and a loop
_LANES = 8  # 64-bit generators of a block
_STEPS = BLOCK // (2 * _LANES)  # draws of each generator for one variable
_LARGEST_EXPONENT = np.int32(126)
_EXPONENT_BIAS, _MANTISSA_BITS = np.int32(127), np.int32(23)  # of a float32

# 2^x on [-1/2, 1/2]: the polynomial through 2^x at the seven Chebyshev nodes cos((2k + 1) pi / 14) / 2. Its error is
# at most sqrt(2) (ln 2)^7 / 7! * 2 / 4^7 = 2.6e-9, so that float32 rounding (measured: 8.3e-8) is what remains.
_C0 = np.float32(1.0)
_C1 = np.float32(0.69314720727)
_C2 = np.float32(0.24022650872)
_C3 = np.float32(0.055503272264)
_C4 = np.float32(0.0096180566811)
_C5 = np.float32(0.0013400428162)
_C6 = np.float32(0.00015461444655)


@intrinsic
def _as_float(_typing: Any, _bits: Any) -> Any:
    """Read 32 bits as a float."""

    def generate(_context: Any, b: Any, _signature: Any, arguments: Any) -> Any:
        return b.bitcast(arguments[0], ir.FloatType())

    return types.float32(types.int32), generate


@intrinsic
def _as_int(_typing: Any, _value: Any) -> Any:
    """Read the 32 bits of a float as a whole number."""

    def generate(_context: Any, b: Any, _signature: Any, arguments: Any) -> Any:
        return b.bitcast(arguments[0], ir.IntType(32))

    return types.int32(types.float32), generate


@intrinsic
def _fused(_typing: Any, _x: Any, _y: Any, _z: Any) -> Any:
    """Return x y + z with one rounding, on every processor."""

    def generate(_context: Any, b: Any, _signature: Any, arguments: Any) -> Any:
        return b.fma(*arguments)

    return types.float32(types.float32, types.float32, types.float32), generate


def _make_shift(operation: str) -> Any:
    """Make a 32-bit shift: numba widens to 64 bits, where AVX2 has no arithmetic shift (measured: 2x slower)."""

    @intrinsic
    def shift(_typing: Any, _value: Any, _by: Any) -> Any:
        def generate(_context: Any, b: Any, _signature: Any, arguments: Any) -> Any:
            return getattr(b, operation)(*arguments)

        return types.int32(types.int32, types.int32), generate

    return shift


_shift_left = _make_shift("shl")
_shift_right = _make_shift("ashr")


@compiled
def exponentiate(weights, shift):
    """Replace whole numbers z, stored in the bits of the floats, by 2^(z / 2^shift), 1 <= shift <= 24.

    Fields are added up as whole numbers, so their sum is exact and does not depend on the order of the neighbours.
    Exponents beyond +-126 are cut there: the conditional probability is then 0 or 1 to 37 digits.
    """
    shift = np.int32(shift)
    half = _shift_left(np.int32(1), np.int32(shift - np.int32(1)))
    unit = np.float32(2.0**-shift)
    for c in range(BLOCK):
        z = _as_int(weights[c])
        n = _shift_right(np.int32(z + half), shift)
        x = np.float32(np.int32(z - _shift_left(n, shift))) * unit
        y = _fused(_fused(_fused(_C6, x, _C5), x, _C4), x, _C3)
        y = _fused(_fused(_fused(y, x, _C2), x, _C1), x, _C0)
        n = min(max(n, -_LARGEST_EXPONENT), _LARGEST_EXPONENT)
        weights[c] = y * _as_float(_shift_left(np.int32(n + _EXPONENT_BIAS), _MANTISSA_BITS))


@compiled
def draw_uniforms(stream, raw):
    """Fill raw (256 uint64) with xoshiro256+, lane l of draw t at 8 t + l: the order of the packed kernel."""
    for lane in range(_LANES):
        s0, s1, s2, s3 = stream[0, lane], stream[1, lane], stream[2, lane], stream[3, lane]
        for t in range(_STEPS):
            raw[_LANES * t + lane] = s0 + s3
            shifted = s1 << np.uint64(17)
            s2 ^= s0
            s3 ^= s1
            s1 ^= s2
            s0 ^= s3
            s2 ^= shifted
            s3 = (s3 << np.uint64(45)) | (s3 >> np.uint64(19))
        stream[0, lane], stream[1, lane], stream[2, lane], stream[3, lane] = s0, s1, s2, s3


@compiled
def _draw_bits(weights, draws, x):
    """Set x to one with probability 1 / (1 + weights), as the packed kernel does.

    Step t of a lane uses draw 4 (t mod 8) + t div 8, the order in which the packed kernel takes them.
    """
    for t in range(_STEPS):
        first = 2 * _LANES * (4 * (t % 8) + t // 8)
        for m in range(2 * _LANES):
            c = 2 * _LANES * t + m
            minus_u = np.int32(draws[first + m] | np.uint32((1 << 31) | 1))
            v = np.float32(np.int32(minus_u ^ np.int32(-(2**31))))
            x[c] = np.uint8(_fused(np.float32(minus_u), weights[c], v) >= np.float32(0.0))


@compiled
def keep(line, kept, before):
    """Put back those bits of a line that are to be kept."""
    for m in range(line.shape[0]):
        line[m] = (line[m] & ~kept[m]) | (before[m] & kept[m])


@compiled
def sweep_product(states, streams, order, starts, neighbours, tables, kept, n_sweeps):
    """Sweep with weights multiplied up; arguments as in `_packed`, states (B, planes x lines, 512) uint8."""
    n_planes, n_lines = neighbours.shape[0], states.shape[1] // neighbours.shape[0]
    weights = np.empty((n_planes, BLOCK), np.float32)
    raw = np.empty(BLOCK // 2, np.uint64)
    draws = raw.view(np.uint32)
    before = np.empty((n_planes, BLOCK), np.uint8)
    for block in range(states.shape[0]):
        x = states[block]
        for _ in range(n_sweeps):
            for i in order:
                weights[:] = np.float32(1.0)
                for plane in range(n_planes):
                    row = weights[plane]
                    for k in range(starts[i], starts[i + 1]):
                        first, second = x[neighbours[plane, k, 0]], x[neighbours[plane, k, 1]]
                        t00, t10, t01, t11 = tables[k, 0], tables[k, 1], tables[k, 2], tables[k, 3]
                        for c in range(BLOCK):
                            low = t10 if first[c] else t00
                            high = t11 if first[c] else t01
                            row[c] *= high if second[c] else low
                draw_uniforms(streams[block], raw)
                for plane in range(n_planes):
                    line = x[plane * n_lines + i]
                    before[plane] = line
                    _draw_bits(weights[plane], draws, line)
                    if kept.shape[0]:
                        keep(line, kept[block, i], before[plane])


@compiled
def sweep_sum(states, streams, order, starts, neighbours, tables, shifts, kept, n_sweeps):
    """Sweep with fields added up as whole numbers; arguments as in `_packed`, states (B, planes x lines, 512) uint8."""
    n_planes, n_lines = neighbours.shape[0], states.shape[1] // neighbours.shape[0]
    fields = np.empty((n_planes, BLOCK), np.int32)
    weights = fields.view(np.float32)
    raw = np.empty(BLOCK // 2, np.uint64)
    draws = raw.view(np.uint32)
    before = np.empty((n_planes, BLOCK), np.uint8)
    for block in range(states.shape[0]):
        x = states[block]
        for _ in range(n_sweeps):
            for i in order:
                fields[:] = 0
                for plane in range(n_planes):
                    row = fields[plane]
                    for k in range(starts[i], starts[i + 1]):
                        first, second = x[neighbours[plane, k, 0]], x[neighbours[plane, k, 1]]
                        t00, t10, t01, t11 = tables[k, 0], tables[k, 1], tables[k, 2], tables[k, 3]
                        for c in range(BLOCK):
                            low = t10 if first[c] else t00
                            high = t11 if first[c] else t01
                            row[c] += high if second[c] else low
                    exponentiate(weights[plane], shifts[i])
                draw_uniforms(streams[block], raw)
                for plane in range(n_planes):
                    line = x[plane * n_lines + i]
                    before[plane] = line
                    _draw_bits(weights[plane], draws, line)
                    if kept.shape[0]:
                        keep(line, kept[block, i], before[plane])
