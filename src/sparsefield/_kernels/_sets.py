"""Bounding chains of variables with any number of levels: sweeps over the sets of levels that they can have.

Level a of a variable has the score f_a + g_a, its exponent and a random number, and the level with the largest score is
chosen. Where g is minus the logarithm of an exponential number (Gumbel's distribution), that draws from the
conditional distribution. All chains use the same g. Level a can be chosen from some state within the sets unless
another level c has the larger score in all of them, g_c - g_a + min (f_c - f_a) > 0, and the minimum is a sum over the
neighbours. Scores are whole numbers, so that nothing is rounded and chains never leave the sets.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from sparsefield._kernels._bytes import BLOCK, draw_uniforms
from sparsefield._kernels._compiling import compiled
from sparsefield._kernels._ir import I32, I64, I32x8, fill, load, spread, word
from sparsefield._kernels._lookups import add
from sparsefield._kernels._noise import fill_noise

LANES = 8  # levels that are compared at one time, and the length of a row of minima
_ONE = np.uint64(1)


@intrinsic
def lowest(_typing: Any, _mask: Any) -> Any:
    """Return the number of the lowest bit that is one."""

    def generate(_context: Any, b: Any, _signature: Any, arguments: Any) -> Any:
        return b.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), generate


@compiled
def _choose_largest(scores, codes):
    """Set codes to the level with the largest score, the first of equal ones."""
    for c in range(BLOCK):
        best, level = scores[0, c], np.uint8(0)
        for a in range(1, scores.shape[0]):
            is_better = scores[a, c] > best
            level = np.uint8(a) if is_better else level
            best = scores[a, c] if is_better else best
        codes[c] = level


@compiled
def fill_minima(values, minima):
    """Fill minima (2^K_j, K_i, 8) with the least values[s, a] - values[s, b] over the levels s of each set."""
    n = values.shape[1]
    for mask in range(1, minima.shape[0]):
        s = np.int64(lowest(np.uint64(mask)))
        rest = mask & (mask - 1)
        for a in range(n):
            for b in range(n):
                minima[mask, a, b] = values[s, a] - values[s, b]
                if rest:
                    minima[mask, a, b] = min(minima[mask, a, b], minima[rest, a, b])


@intrinsic
def _look_up_losers(_typing: Any, _a: Any, _base: Any, _n_rows: Any, _rows: Any, _minima: Any) -> Any:
    """Return the levels, one bit each, that level a wins against for all levels of the neighbours that are open.

    Takes the addresses of 8 scores without these neighbours, of where in the minima theirs begin, and of the minima.
    """

    def generate(_context: Any, b: Any, _signature: Any, arguments: Any) -> Any:
        a, base, n_rows, rows, minima = arguments
        margins = cgutils.alloca_once(b, I32x8)
        own = load(b, b.add(base, b.mul(a, word(4))), I32)
        b.store(b.sub(spread(b, own, I32x8), load(b, base, I32x8)), margins)
        first = b.add(minima, b.mul(a, word(4 * LANES)))
        with cgutils.for_range(b, n_rows) as loop:
            row = load(b, b.add(rows, b.mul(loop.index, word(8))), I64)
            least = load(b, b.add(first, b.mul(row, word(4))), I32x8)
            b.store(b.add(b.load(margins), least), margins)
        found, zero = b.load(margins), fill(I32x8, 0)
        is_later = b.icmp_signed(">", ir.Constant(I32x8, list(range(LANES))), spread(b, b.trunc(a, I32), I32x8))
        loses = b.or_(b.icmp_signed(">", found, zero), b.and_(b.icmp_signed("==", found, zero), is_later))
        return b.zext(b.bitcast(loses, ir.IntType(LANES)), I64)

    return types.uint64(types.int64, *[types.int64] * 4), generate


@compiled
def _find_losers(a, n, base, n_open, opened, sets_of, starts, tables):
    """Return the levels, one bit each, that level a wins against for all levels of the neighbours that are open."""
    losers = np.uint64(0)
    for b in range(n):
        margin = base[a] - base[b]
        for m in range(n_open):
            others, least = sets_of[m], np.int32(2**31 - 1)
            while others:
                row = starts[opened[m]] + np.int64(lowest(others)) * n
                least = min(least, np.int32(tables[row + a] - tables[row + b]))
                others &= others - _ONE
            margin += least
        losers |= np.uint64(margin > 0 or (margin == 0 and a < b)) << np.uint64(b)
    return losers


@compiled
def _find_possible(
    near_open, drawn, scores, codes, sets, is_open, around, starts, tables, minimum_starts, minima, found
):
    """Set found to the levels that have the largest score for some levels of the open neighbours, chain by chain.

    scores (n, 512) are those at the levels where chains within the sets stand, and drawn the levels chosen there, which
    are possible. Whoever wins against a winner wins against all that this one wins against, so that levels that have
    lost against the one drawn need not be compared. Of equal scores the first wins.
    """
    n = scores.shape[0]
    base = np.zeros(max(n, LANES), np.int32)
    opened, rows = np.empty(around.shape[0], np.int64), np.empty(around.shape[0], np.int64)
    sets_of = np.empty(around.shape[0], np.uint64)
    everything = ~np.uint64(0) >> np.uint64(64 - n)
    at_base, at_rows, at_minima = base.ctypes.data, rows.ctypes.data, minima.ctypes.data
    for c in range(BLOCK):
        if not near_open[c]:
            found[c] = _ONE << np.uint64(drawn[c])
            continue
        n_open, are_stored = 0, True
        for b in range(n):
            base[b] = scores[b, c]
        for k in range(around.shape[0]):
            j = around[k]
            if is_open[j, c]:
                opened[n_open], sets_of[n_open] = k, sets[j, c]
                rows[n_open] = minimum_starts[k] + np.int64(sets[j, c]) * n * LANES
                are_stored &= minimum_starts[k] >= 0
                n_open += 1
                row = starts[k] + np.int64(codes[j, c]) * n
                for b in range(n):
                    base[b] -= tables[row + b]
        y, left = np.int64(drawn[c]), everything
        for t in range(n):
            a = y if t == 0 else (t - 1 if t <= y else t)
            if (left >> np.uint64(a)) & _ONE:
                if are_stored:
                    left &= ~_look_up_losers(a, at_base, n_open, at_rows, at_minima)
                else:
                    left &= ~_find_losers(a, n, base, n_open, opened, sets_of, starts, tables)
        found[c] = left


@compiled
def sweep_sets(
    states,
    streams,
    order,
    n_levels,
    starts,
    neighbours,
    table_starts,
    tables,
    minimum_starts,
    minima,
    biases,
    shifts,
    kept,
    n_sweeps,
):
    """Sweep sets of levels, and chains within them where there are any.

    states (B, p or 2 p, 512) uint64 are p lines of sets, bit a for level a, and p lines of levels. Tables are those of
    the plain sweep: neighbour k of variable i, starts[i] <= k < starts[i + 1], adds
    tables[table_starts[k] + a K_i + b] to the exponent of level b of variable i when it stands at level a. Where
    minimum_starts[k] is not -1, minima of it (`fill_minima`) begin there.
    """
    p, most = n_levels.shape[0], n_levels.max()
    codes, is_open = np.empty((p, BLOCK), np.uint8), np.empty((p, BLOCK), np.uint8)
    scores = np.empty((most, BLOCK), np.int32)
    raw = np.empty(BLOCK // 2, np.uint64)
    draws = raw.view(np.uint32)
    drawn, near_open = np.empty(BLOCK, np.uint8), np.empty(BLOCK, np.uint8)
    found = np.empty(BLOCK, np.uint64)
    for block in range(states.shape[0]):
        sets = states[block, :p]
        for i in range(p):
            for c in range(BLOCK):
                is_open[i, c] = (sets[i, c] & (sets[i, c] - _ONE)) != 0
                codes[i, c] = np.uint8(states[block, p + i, c] if states.shape[1] > p else lowest(sets[i, c]))
        for _ in range(n_sweeps):
            for i in order:
                n = n_levels[i]
                for b in range(n):
                    draw_uniforms(streams[block], raw)
                    fill_noise(draws, shifts[i], scores[b])
                    for c in range(BLOCK):
                        scores[b, c] += biases[i, b]
                near_open[:] = 0
                for k in range(starts[i], starts[i + 1]):
                    j = neighbours[k]
                    add(tables[table_starts[k] :], n_levels[j], codes[j], scores[:n])
                    others_open = is_open[j]
                    for c in range(BLOCK):
                        near_open[c] |= others_open[c]
                _choose_largest(scores[:n], drawn)
                own = slice(starts[i], starts[i + 1])
                _find_possible(
                    near_open,
                    drawn,
                    scores[:n],
                    codes,
                    sets,
                    is_open,
                    neighbours[own],
                    table_starts[own],
                    tables,
                    minimum_starts[own],
                    minima,
                    found,
                )
                for c in range(BLOCK):
                    if kept.shape[0] == 0 or not kept[block, i, c]:
                        codes[i, c], sets[i, c] = drawn[c], found[c]
                        is_open[i, c] = (found[c] & (found[c] - _ONE)) != 0
        if states.shape[1] > p:
            for i in range(p):
                for c in range(BLOCK):
                    states[block, p + i, c] = codes[i, c]
