"""Bounding chains of ordered levels: sweeps over the least and the largest level that variables can have.

Where a higher level of one variable always favours higher levels of its neighbours, or always lower ones, the
conditional distribution rises with the levels of the former and falls with those of the latter. One uniform number,
inverted at the least and at the largest of these distributions, then bounds what it gives in between.

With r_k the ratio of the weights of levels k + 1 and k, the odds of a level above k are A_k / B_k, ::

    A_k = r_k (1 + A_{k+1}),    B_k = 1 + B_{k-1} / r_{k-1}.

Each operation is rounded correctly, so that the result never falls where a ratio rises: bounds hold to the last bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from sparsefield._kernels._bytes import BLOCK, draw_uniforms
from sparsefield._kernels._compiling import compiled
from sparsefield._kernels._lookups import multiply

_ONE = np.uint64(1)
_LOW, _HIGH, _CARRIED = 0, 1, 2  # planes


@intrinsic
def _ends(_typing: Any, _mask: Any) -> Any:
    """Return the numbers of the lowest and of the highest bit that are one."""

    def generate(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
        never_zero = ir.Constant(ir.IntType(1), 1)
        low = b.cttz(arguments[0], never_zero)
        high = b.sub(ir.Constant(ir.IntType(64), 63), b.ctlz(arguments[0], never_zero))
        return context.make_tuple(b, signature.return_type, (low, high))

    return types.UniTuple(types.uint64, 2)(types.uint64), generate


@compiled
def choose_levels(ratios, draws, above, x):
    """Choose levels by inversion: above k where the ratio of two odd numbers that add up to 2^31 allows it.

    ratios (K - 1, 512) are those of neighbouring levels; above (K - 1, 512) is working memory.
    """
    n = ratios.shape[0]
    for c in range(BLOCK):
        above[n - 1, c] = ratios[n - 1, c]
    for k in range(n - 2, -1, -1):
        for c in range(BLOCK):
            above[k, c] = ratios[k, c] * (np.float32(1.0) + above[k + 1, c])
    for c in range(BLOCK):
        x[c] = 0
    for k in range(n):
        for c in range(BLOCK):
            odd = np.int32((draws[c] >> np.uint32(1)) | np.uint32(1))
            rest = np.int32(np.uint32(1 << 31) - np.uint32(odd))
            below = np.float32(1.0)
            if k > 0:
                below += ratios[k - 1, c]
            x[c] += np.uint8(above[k, c] * np.float32(rest) > below * np.float32(odd))
            if k + 1 < n:
                ratios[k, c] = below / ratios[k, c]


@compiled
def _read(sets, carried, planes):
    """Fill planes (2 or 3, p, 512) with the least and largest levels of sets, and with those of the chains between."""
    for i in range(sets.shape[0]):
        for c in range(BLOCK):
            low, high = _ends(sets[i, c])
            planes[_LOW, i, c], planes[_HIGH, i, c] = low, high
        if carried.shape[0]:
            for c in range(BLOCK):
                planes[_CARRIED, i, c] = carried[i, c]


@compiled
def _write(planes, sets, carried):
    """Set sets to all levels from the least to the largest, and levels to those of the chains between."""
    for i in range(sets.shape[0]):
        for c in range(BLOCK):
            up_to = (_ONE << np.uint64(planes[_HIGH, i, c])) - _ONE
            sets[i, c] = (up_to + (up_to + _ONE)) & ~((_ONE << np.uint64(planes[_LOW, i, c])) - _ONE)
        if carried.shape[0]:
            for c in range(BLOCK):
                carried[i, c] = planes[_CARRIED, i, c]


@compiled
def sweep_intervals(
    states, streams, order, n_levels, starts, neighbours, table_starts, tables, firsts, crosses, kept, n_sweeps
):
    """Sweep the least and the largest levels, and chains between them where there are any.

    states (B, p or 2 p, 512) uint64 are p lines of sets, bit a for level a, and p lines of levels; what has gaps in it
    is filled up. Neighbour k of variable i, starts[i] <= k < starts[i + 1], multiplies the ratio of levels b + 1 and b
    of variable i by tables[table_starts[k] + a (K_i - 1) + b] when it stands at level a, beginning at firsts[i, b]; if
    it crosses, higher levels of it favour lower ones of i.
    """
    p = n_levels.shape[0]
    n_planes = 2 if states.shape[1] == p else 3
    planes = np.empty((n_planes, p, BLOCK), np.uint8)
    ratios, above = np.empty((n_levels.max(), BLOCK), np.float32), np.empty((n_levels.max(), BLOCK), np.float32)
    raw = np.empty(BLOCK // 2, np.uint64)
    draws = raw.view(np.uint32)
    drawn = np.empty(BLOCK, np.uint8)
    for block in range(states.shape[0]):
        _read(states[block, :p], states[block, p:], planes)
        for _ in range(n_sweeps):
            for i in order:
                n = n_levels[i] - 1
                draw_uniforms(streams[block], raw)
                for plane in range(n_planes):
                    for b in range(n):
                        ratios[b, :] = firsts[i, b]
                    for k in range(starts[i], starts[i + 1]):
                        other = (1 - plane) if crosses[k] and plane != _CARRIED else plane
                        j = neighbours[k]
                        multiply(tables[table_starts[k] :], n_levels[j], planes[other, j], ratios[:n])
                    choose_levels(ratios[:n], draws, above, drawn)
                    for c in range(BLOCK):
                        if kept.shape[0] == 0 or not kept[block, i, c]:
                            planes[plane, i, c] = drawn[c]
        _write(planes, states[block, :p], states[block, p:])
