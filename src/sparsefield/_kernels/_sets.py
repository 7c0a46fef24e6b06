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
from numba import njit, types
from numba.extending import intrinsic

from sparsefield._kernels._bytes import (
    _MANTISSA_BITS,
    BLOCK,
    _as_float,
    _as_int,
    _draw_uniforms,
    _fused,
    _shift_left,
    _shift_right,
)

_ONE = np.uint64(1)
_UNIT = np.float32(2.0**-32)
_LOG_2 = np.float32(0.69314718056)
_HALF_EXPONENT = np.int32(126 << 23)  # of a float32 from 1/2 to 1
_MANTISSA = np.int32((1 << 23) - 1)
_ROOT_HALF = np.int32(0x3F3504F3)  # the bits of sqrt(1/2) as a float32

# The polynomials through -log(1 - z) / z and log2(1 + x) / x at ten Chebyshev nodes of [0, 1/2] and of
# [sqrt(1/2) - 1, sqrt(2) - 1]. Either function is analytic up to a distance of three times half the interval, so that
# errors fall like (3 + sqrt(8))^-10; found: 4.1e-9 and 4.7e-9. Rounding to float32 is what remains.
_P = (1.0, 0.5000012, 0.33325517, 0.2519568, 0.17544077, 0.34074646, -0.5900887, 1.9598706, -2.458962, 1.733612)
_Q = (1.442695, -0.72134733, 0.4808985, -0.3606966, 0.2885526, -0.2396081, 0.2048577, -0.1913884, 0.1847603, -0.1074979)


@intrinsic
def lowest(_typing: Any, _mask: Any) -> Any:
    """Return the number of the lowest bit that is one."""

    def generate(_context: Any, b: Any, _signature: Any, arguments: Any) -> Any:
        return b.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), generate


@njit(nogil=True, cache=True)
def _evaluate(coefficients, x):
    """Return a polynomial of degree nine, in float32."""
    y = np.float32(coefficients[9])
    for k in range(8, -1, -1):
        y = _fused(y, x, np.float32(coefficients[k]))
    return y


@njit(nogil=True, cache=True)
def fill_noise(draws, shift, noise):
    """Turn 31 of 32 random bits into -log2 of an exponential number, in whole units of 2^-shift.

    The bits are an odd number v of units 2^-32, and the exponential number is -log(1 - v). With u = 1 - v below one
    half, u = 2^-n (1 - z), it is n log 2 - log(1 - z); else z = v and n = 0, so that small ones keep their precision.
    """
    shift = np.int32(shift)
    scale = np.float32(2.0**shift)
    for c in range(BLOCK):
        odd = np.int32(draws[c] | np.uint32(1))
        is_small = odd >= np.int32(0)
        w = np.float32(odd if is_small else np.int32(-odd)) * _UNIT
        bits = _as_int(w)
        n = np.int32(126) - _shift_right(bits, _MANTISSA_BITS)
        z = w if is_small else np.float32(1.0) - _as_float(np.int32((bits & _MANTISSA) | _HALF_EXPONENT))
        steps = np.float32(0.0) if is_small else np.float32(np.int32(n))
        e = _fused(z, _evaluate(_P, z), steps * _LOG_2)
        bits = _as_int(e)
        k = _shift_right(np.int32(bits - _ROOT_HALF), _MANTISSA_BITS)
        x = _as_float(np.int32(bits - _shift_left(k, _MANTISSA_BITS))) - np.float32(1.0)
        fraction = np.int32(np.rint(x * _evaluate(_Q, x) * scale))
        noise[c] = np.int32(-(_shift_left(k, shift) + fraction))


@njit(nogil=True, cache=True)
def _choose_largest(scores, codes):
    """Set codes to the level with the largest score, the first of equal ones."""
    for c in range(BLOCK):
        best, level = scores[0, c], np.uint8(0)
        for a in range(1, scores.shape[0]):
            is_better = scores[a, c] > best
            level = np.uint8(a) if is_better else level
            best = scores[a, c] if is_better else best
        codes[c] = level


@njit(nogil=True, cache=True)
def fill_minima(values, minima):
    """Fill minima (2^K_j, K_i, K_i) with the least values[s, a] - values[s, b] over the levels s of each set."""
    n = values.shape[1]
    for mask in range(1, minima.shape[0]):
        s = np.int64(lowest(np.uint64(mask)))
        rest = mask & (mask - 1)
        for a in range(n):
            for b in range(n):
                minima[mask, a, b] = values[s, a] - values[s, b]
                if rest:
                    minima[mask, a, b] = min(minima[mask, a, b], minima[rest, a, b])


@njit(nogil=True, cache=True)
def _find_possible(
    near_open, drawn, scores, codes, sets, is_open, around, starts, tables, minimum_starts, minima, found
):
    """Set found to the levels that have the largest score for some levels of the open neighbours, chain by chain.

    scores (n, 512) are those at the levels where chains within the sets stand, and drawn the levels chosen there, which
    are possible. Whoever wins against a winner wins against all that this one wins against, so that levels that have
    lost against the one drawn need not be compared. Of equal scores the first wins.
    """
    n = scores.shape[0]
    base, margins = np.empty(n, np.int32), np.empty(n, np.int32)
    opened, sets_of = np.empty(around.shape[0], np.int64), np.empty(around.shape[0], np.uint64)
    everything = ~np.uint64(0) >> np.uint64(64 - n)
    for c in range(BLOCK):
        if not near_open[c]:
            found[c] = _ONE << np.uint64(drawn[c])
            continue
        n_open = 0
        for b in range(n):
            base[b] = scores[b, c]
        for k in range(around.shape[0]):
            j = around[k]
            if is_open[j, c]:
                opened[n_open], sets_of[n_open] = k, sets[j, c]
                n_open += 1
                row = starts[k] + np.int64(codes[j, c]) * n
                for b in range(n):
                    base[b] -= tables[row + b]
        y, left = np.int64(drawn[c]), everything
        for t in range(n):
            a = y if t == 0 else (t - 1 if t <= y else t)
            if not (left >> np.uint64(a)) & _ONE:
                continue
            # The least score of level a less that of level b, over all levels of the open neighbours.
            for b in range(n):
                margins[b] = base[a] - base[b]
            for m in range(n_open):
                k, mask = opened[m], sets_of[m]
                if minimum_starts[k] >= 0:
                    row = minimum_starts[k] + (np.int64(mask) * n + a) * n
                    for b in range(n):
                        margins[b] += minima[row + b]
                else:
                    for b in range(n):
                        others, least = mask, np.int32(2**31 - 1)
                        while others:
                            row = starts[k] + np.int64(lowest(others)) * n
                            least = min(least, np.int32(tables[row + a] - tables[row + b]))
                            others &= others - _ONE
                        margins[b] += least
            for b in range(n):
                loses = margins[b] > 0 or (margins[b] == 0 and a < b)
                left &= ~(np.uint64(loses) << np.uint64(b))
        found[c] = left


@njit(nogil=True, cache=True)
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
                    _draw_uniforms(streams[block], raw)
                    fill_noise(draws, shifts[i], scores[b])
                    for c in range(BLOCK):
                        scores[b, c] += biases[i, b]
                near_open[:] = 0
                for k in range(starts[i], starts[i + 1]):
                    other, table = codes[neighbours[k]], tables[table_starts[k] :]
                    others_open = is_open[neighbours[k]]
                    for b in range(n):
                        for c in range(BLOCK):
                            scores[b, c] += table[other[c] * n + b]
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
