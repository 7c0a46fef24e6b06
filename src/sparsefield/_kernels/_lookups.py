"""Entries of small tables for the levels of 512 chains: in a register with AVX2 and up to 8 levels, else one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from sparsefield._kernels._bytes import BLOCK
from sparsefield._kernels._compiling import compiled
from sparsefield._kernels._ir import I8, F32x8, I32x8, call, load, store, word
from sparsefield._kernels._target import HAS_AVX2

# Entries of a register; without AVX2 there is no instruction that looks them up.
_ENTRIES = 8 if HAS_AVX2 else 0
_LANES = 8
_I8x8 = ir.VectorType(I8, _LANES)


def _make_combination(kind: Any, lookup: str, combine: str) -> Any:
    """Make the loop that combines 512 numbers with the entries of a table of eight."""

    @intrinsic
    def combination(_typing: Any, _table: Any, _line: Any, _out: Any) -> Any:
        """Take the addresses of a table, of the levels of chains, and of their numbers, which change."""

        def generate(context: Any, b: Any, _signature: Any, arguments: Any) -> Any:
            table, line, out = arguments
            if _ENTRIES:
                entries = load(b, table, kind)
                with cgutils.for_range(b, word(BLOCK // _LANES)) as loop:
                    levels = load(b, b.add(line, b.mul(loop.index, word(_LANES))), _I8x8)
                    place = b.add(out, b.mul(loop.index, word(4 * _LANES)))
                    found = call(b, lookup, kind, entries, b.zext(levels, I32x8))
                    store(b, getattr(b, combine)(load(b, place, kind), found), place)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 3), generate

    return combination


_multiply_by_register = _make_combination(F32x8, "llvm.x86.avx2.permps", "fmul")
_add_from_register = _make_combination(I32x8, "llvm.x86.avx2.permd", "add")


@compiled
def multiply(table, n_levels, line, ratios):
    """Multiply ratios (n, 512) float32 by the entries of a table (levels, n) for the levels of a line."""
    n = ratios.shape[0]
    row = np.zeros(_LANES, np.float32)
    for k in range(n):
        if n_levels <= _ENTRIES:
            for a in range(n_levels):
                row[a] = table[a * n + k]
            _multiply_by_register(row.ctypes.data, line.ctypes.data, ratios[k].ctypes.data)
        else:
            for c in range(BLOCK):
                ratios[k, c] *= table[line[c] * n + k]


@compiled
def add(table, n_levels, line, scores):
    """Add the entries of a table (levels, n) for the levels of a line to scores (n, 512) int32."""
    n = scores.shape[0]
    row = np.zeros(_LANES, np.int32)
    for k in range(n):
        if n_levels <= _ENTRIES:
            for a in range(n_levels):
                row[a] = table[a * n + k]
            _add_from_register(row.ctypes.data, line.ctypes.data, scores[k].ctypes.data)
        else:
            for c in range(BLOCK):
                scores[k, c] += table[line[c] * n + k]
