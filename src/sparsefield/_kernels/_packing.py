"""Indicators of levels, one bit a chain, made of chains that are held one byte each."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from sparsefield._kernels._compiling import compiled
from sparsefield._kernels._ir import I8, I32, I8x16, fill, load, spread, store

_LANES = 16
_STEPS = 8  # of a byte of a lane
_I32x16 = ir.VectorType(I32, 16)


@intrinsic
def _pack_level(_typing: Any, _line: Any, _level: Any, _out: Any) -> Any:
    """Write 512 bits for a line of 512 bytes: bit t of lane m, of 32 bits, says whether byte 16 t + m is the level."""

    def generate(context: Any, b: Any, _signature: Any, arguments: Any) -> Any:
        line, level, out = arguments
        wanted = spread(b, b.trunc(level, I8), I8x16)
        lanes = fill(_I32x16, 0)
        for byte in range(4):
            bits = fill(I8x16, 0)
            for t in range(_STEPS):
                found = load(b, line, I8x16, _LANES * (_STEPS * byte + t))
                same = b.icmp_unsigned("==", found, wanted)
                bits = b.or_(bits, b.select(same, fill(I8x16, 1 << t), fill(I8x16, 0)))
            lanes = b.or_(lanes, b.shl(b.zext(bits, _I32x16), fill(_I32x16, 8 * byte)))
        store(b, lanes, out)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


@compiled
def pack_levels(states, variables, levels, out):
    """Write the indicators of levels[k] of variables[k], states (B, p, 512) uint8, to out (B, >= k, 16) uint32."""
    size, width = states.shape[1] * states.shape[2], np.int64(out.shape[1] * 64)
    states0, out0 = np.int64(states.ctypes.data), np.int64(out.ctypes.data)
    for block in range(states.shape[0]):
        for k in range(variables.size):
            line = states0 + block * size + variables[k] * states.shape[2]
            _pack_level(line, np.int64(levels[k]), out0 + block * width + k * 64)
