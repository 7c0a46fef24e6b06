"""Logistic conditionals of binary variables: their losses, slopes and curvatures over rows of bytes.

Columns of a table are bytes, 0 or 1, and are made floats in registers: that takes a quarter of the memory of floats,
and half their time where columns do not fit into the first cache. Rows are taken a piece at a time, and all variables
of a thread before the next piece. What is added up for a variable does not depend on which thread does it.
"""

from __future__ import annotations

import numpy as np

from sparsefield._kernels._bytes import _C0, _C1, _C2, _C3, _C4, _C5, _C6, _as_float, _fused, _shift_left
from sparsefield._kernels._compiling import compiled

# Rows at one time: their exponents take 4 KiB. With 256 and 4096 in place of 1024, sums over 32 neighbours take 1.1 and
# 1.0 times as long.
PIECE = 1024

# Columns at one time where all pairs are looked at: 128 KiB, which the second cache keeps for all variables of a group.
COLUMNS = 128

# Sums may be made in any order, which is the same whenever the same kernel runs.
_SUMS = {"reassoc", "contract", "nsz", "nnan"}

_LOG2E, _HALF, _ONE, _TWO = np.float32(np.log2(np.e)), np.float32(0.5), np.float32(1.0), np.float32(2.0)
_LEAST, _BIAS, _MANTISSA_BITS = np.float32(-126.0), np.int32(127), np.int32(23)

# log(1 + x) = 2 artanh(z), z = x / (2 + x): with x up to 1, z is up to 1/3, and what the series leaves out after z^13
# is below 2 / 15 / 3^15 * 9 / 8 = 1.1e-8.
_A3, _A5, _A7 = np.float32(1 / 3), np.float32(1 / 5), np.float32(1 / 7)
_A9, _A11, _A13 = np.float32(1 / 9), np.float32(1 / 11), np.float32(1 / 13)


@compiled(fastmath=_SUMS, error_model="numpy")
def add_neighbours(codes, r0, neighbours, values, main, e):
    """Set e to the exponents of one variable in some rows: main + sum_t values[t] codes[neighbours[t]]."""
    n = len(e)
    zero = e.dtype.type(0)
    for k in range(n):
        e[k] = main + zero
    t, end = 0, len(neighbours)
    while t + 4 <= end:
        v0, v1, v2, v3 = values[t], values[t + 1], values[t + 2], values[t + 3]
        s0, s1 = codes[neighbours[t], r0 : r0 + n], codes[neighbours[t + 1], r0 : r0 + n]
        s2, s3 = codes[neighbours[t + 2], r0 : r0 + n], codes[neighbours[t + 3], r0 : r0 + n]
        for k in range(n):
            first = v0 * e.dtype.type(s0[k]) + v1 * e.dtype.type(s1[k])
            e[k] += first + (v2 * e.dtype.type(s2[k]) + v3 * e.dtype.type(s3[k]))
        t += 4
    while t < end:
        v, s = values[t], codes[neighbours[t], r0 : r0 + n]
        for k in range(n):
            e[k] += v * e.dtype.type(s[k])
        t += 1


@compiled(fastmath=_SUMS, error_model="numpy")
def _exponentiate(x):
    """Return exp(-|x|) in single precision, by a polynomial, which vector instructions evaluate."""
    z = -abs(x) * _LOG2E
    z = z if z > _LEAST else _LEAST
    whole = np.int32(z - _HALF)  # rounded, since z is not positive
    f = z - np.float32(whole)
    a = _fused(_fused(_fused(_C6, f, _C5), f, _C4), f, _C3)
    a = _fused(_fused(_fused(a, f, _C2), f, _C1), f, _C0)
    return a * _as_float(_shift_left(np.int32(whole + _BIAS), _MANTISSA_BITS))


@compiled(fastmath=_SUMS, error_model="numpy")
def _link_single(e, s, w, kept, added):
    """Do what `link` does in single precision: losses are right to 2e-7 of themselves, residuals to 2e-7 w."""
    total = np.float32(0.0)
    for k in range(len(e)):
        x = e[k]
        small = _exponentiate(x)
        top = _ONE / (_ONE + small)
        u = small / (_TWO + small)
        v = u * u
        b = _fused(_fused(_fused(_A13, v, _A11), v, _A9), v, _A7)
        b = _fused(_fused(_fused(b, v, _A5), v, _A3), v, _ONE)
        y = kept * np.float32(s[k]) + added
        above = x if x > 0 else np.float32(0.0)
        total += w[k] * (_TWO * u * b + (above - y * x))
        q = top if x > 0 else small * top
        e[k] = w[k] * (q - y)
    return np.float64(total)


@compiled
def link(e, s, w, kept, added):
    """Replace exponents by residuals, w (q - y), q the probability of a one and y = kept s + added; return the loss.

    The loss is the sum of w (log(1 + exp(e)) - y e).
    """
    if e.itemsize == 4:
        return _link_single(e, s, w, np.float32(kept), np.float32(added))
    total = 0.0
    for k in range(len(e)):
        x = e[k]
        small = np.exp(-abs(x))
        y = kept * s[k] + added
        total += w[k] * (np.log1p(small) + max(x, 0.0) - y * x)
        e[k] = w[k] * ((1.0 if x > 0 else small) / (1 + small) - y)
    return total


@compiled(fastmath=_SUMS, error_model="numpy")
def _bend_single(e, w):
    for k in range(len(e)):
        small = _exponentiate(e[k])
        top = _ONE / (_ONE + small)
        e[k] = w[k] * small * top * top


@compiled
def bend(e, w):
    """Replace exponents by the weighted variances of what they are exponents of, w q (1 - q)."""
    if e.itemsize == 4:
        _bend_single(e, w)
    else:
        for k in range(len(e)):
            small = np.exp(-abs(e[k]))
            e[k] = w[k] * small / (1 + small) ** 2


@compiled(fastmath=_SUMS, error_model="numpy")
def add_products(codes, r0, neighbours, r, sums):
    """Add the products of residuals and the columns of neighbours, over some rows, to sums; return the sum of r."""
    n = len(r)
    t, end = 0, len(neighbours)
    while t + 4 <= end:
        s0, s1 = codes[neighbours[t], r0 : r0 + n], codes[neighbours[t + 1], r0 : r0 + n]
        s2, s3 = codes[neighbours[t + 2], r0 : r0 + n], codes[neighbours[t + 3], r0 : r0 + n]
        a0 = a1 = a2 = a3 = r.dtype.type(0)
        for k in range(n):
            x = r[k]
            a0 += x * r.dtype.type(s0[k])
            a1 += x * r.dtype.type(s1[k])
            a2 += x * r.dtype.type(s2[k])
            a3 += x * r.dtype.type(s3[k])
        sums[t] += a0
        sums[t + 1] += a1
        sums[t + 2] += a2
        sums[t + 3] += a3
        t += 4
    while t < end:
        s = codes[neighbours[t], r0 : r0 + n]
        a = r.dtype.type(0)
        for k in range(n):
            a += r[k] * r.dtype.type(s[k])
        sums[t] += a
        t += 1
    total = r.dtype.type(0)
    for k in range(n):
        total += r[k]
    return total


@compiled
def add_slopes(codes, weights, rows, nodes, kept, added, main, starts, neighbours, values, losses, main_sums, sums, e):
    """Add up the losses of some variables over rows[0] to rows[1], and their derivatives in their neighbours' values.

    The neighbours of variable i are neighbours[starts[i] : starts[i + 1]], with their values. Adds to losses (p,),
    main_sums (p,) and sums, which is laid out like neighbours; e (PIECE,) is working memory.
    """
    for r0 in range(rows[0], rows[1], PIECE):
        n = min(PIECE, rows[1] - r0)
        own, w = e[:n], weights[r0 : r0 + n]
        for i in nodes:
            near, own_values = neighbours[starts[i] : starts[i + 1]], values[starts[i] : starts[i + 1]]
            add_neighbours(codes, r0, near, own_values, main[i], own)
            losses[i] += link(own, codes[i, r0 : r0 + n], w, kept[i], added[i])
            main_sums[i] += add_products(codes, r0, near, own, sums[starts[i] : starts[i + 1]])


@compiled(fastmath=_SUMS, error_model="numpy")
def _add_gram(f, g, side, n, block):
    """Add the products of `side` rows of f and g, a multiple of four, to the lower half of a block, over n columns."""
    for a in range(0, side, 4):
        g0, g1, g2, g3 = g[a, :n], g[a + 1, :n], g[a + 2, :n], g[a + 3, :n]
        for b in range(0, a + 4, 2):
            f0, f1 = f[b, :n], f[b + 1, :n]
            c00 = c01 = c10 = c11 = c20 = c21 = c30 = c31 = f.dtype.type(0)
            for k in range(n):
                x, y = f0[k], f1[k]
                c00 += g0[k] * x
                c01 += g0[k] * y
                c10 += g1[k] * x
                c11 += g1[k] * y
                c20 += g2[k] * x
                c21 += g2[k] * y
                c30 += g3[k] * x
                c31 += g3[k] * y
            block[a, b] += c00
            block[a, b + 1] += c01
            block[a + 1, b] += c10
            block[a + 1, b + 1] += c11
            block[a + 2, b] += c20
            block[a + 2, b + 1] += c21
            block[a + 3, b] += c30
            block[a + 3, b + 1] += c31


@compiled
def _fill_features(codes, r0, neighbours, v, f, g):
    """Set the rows of f to ones and the columns of neighbours, and those of g to the same times v."""
    for k in range(len(v)):
        f[0, k] = 1
        g[0, k] = v[k]
    for t in range(len(neighbours)):
        s, own, other = codes[neighbours[t], r0 : r0 + len(v)], f[t + 1], g[t + 1]
        for k in range(len(v)):
            own[k] = v.dtype.type(s[k])
            other[k] = v.dtype.type(s[k]) * v[k]


@compiled
def add_curvatures(
    codes, weights, nodes, main, starts, neighbours, values, active_starts, active, block_starts, blocks, v, f, g, sums
):
    """Set the blocks of curvature of some variables: of the main effect, and of the values of active neighbours.

    Block i is blocks[block_starts[i] : block_starts[i + 1]] by rows, the main effect first. v (PIECE,), f and g (4 m,
    PIECE) and sums (4 m, 4 m) are working memory, zero at first, with room for a main effect and all neighbours.
    """
    for i in nodes:
        first, last = active_starts[i], active_starts[i + 1]
        size = last - first + 1
        side = (size + 3) // 4 * 4
        for r0 in range(0, codes.shape[1], PIECE):
            n = min(PIECE, codes.shape[1] - r0)
            add_neighbours(
                codes, r0, neighbours[starts[i] : starts[i + 1]], values[starts[i] : starts[i + 1]], main[i], v[:n]
            )
            bend(v[:n], weights[r0 : r0 + n])
            _fill_features(codes, r0, active[first:last], v[:n], f, g)
            _add_gram(f, g, side, n, sums)
        for a in range(side):
            for b in range(a + 4 - a % 4):
                if a < size and b <= a:
                    blocks[block_starts[i] + a * size + b] = blocks[block_starts[i] + b * size + a] = sums[a, b]
                sums[a, b] = 0


@compiled(fastmath=_SUMS, error_model="numpy")
def _add_tile(codes, r0, n, r, begin, end, found):
    """Add the products of four rows of residuals and columns begin to end, over some rows, to found (4, p)."""
    x0, x1, x2, x3 = r[0, :n], r[1, :n], r[2, :n], r[3, :n]
    for j in range(begin, end, 2):
        other = min(j + 1, end - 1)
        s, t = codes[j, r0 : r0 + n], codes[other, r0 : r0 + n]
        a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = r.dtype.type(0)
        for k in range(n):
            y, z = r.dtype.type(s[k]), r.dtype.type(t[k])
            a0 += x0[k] * y
            a1 += x1[k] * y
            a2 += x2[k] * y
            a3 += x3[k] * y
            b0 += x0[k] * z
            b1 += x1[k] * z
            b2 += x2[k] * z
            b3 += x3[k] * z
        found[0, j] += a0
        found[1, j] += a1
        found[2, j] += a2
        found[3, j] += a3
        if other > j:
            found[0, other] += b0
            found[1, other] += b1
            found[2, other] += b2
            found[3, other] += b3


@compiled
def add_all_slopes(codes, weights, rows, nodes, kept, added, main, starts, neighbours, values, found, r):
    """Add the derivatives of the losses of some variables in the interactions with all others to rows of found.

    r (4 m, PIECE) is working memory, zero at first; `nodes` are the first ones of 4 m variables each, and found has as
    many rows for each of them. The entry of a variable with itself means nothing.
    """
    p = len(codes)
    for r0 in range(rows[0], rows[1], PIECE):
        n = min(PIECE, rows[1] - r0)
        for first in nodes:
            for i in range(first, min(first + len(r), p)):
                near, own_values = neighbours[starts[i] : starts[i + 1]], values[starts[i] : starts[i + 1]]
                own = r[i - first, :n]
                add_neighbours(codes, r0, near, own_values, main[i], own)
                link(own, codes[i, r0 : r0 + n], weights[r0 : r0 + n], kept[i], added[i])
            for begin in range(0, p, COLUMNS):
                for tile in range(0, min(len(r), p - first), 4):
                    end, at = min(begin + COLUMNS, p), first + tile
                    _add_tile(codes, r0, n, r[tile : tile + 4], begin, end, found[at : at + 4])


@compiled
def add_changes(codes, weights, nodes, field, other, changes, e, d, ones):
    """Set changes to the weighted sums of squares by which the probabilities of some variables differ in two fields.

    A field is (main, starts, neighbours, values); e and d (PIECE,) are working memory, and `ones` are ones.
    """
    for i in nodes:
        for r0 in range(0, codes.shape[1], PIECE):
            n = min(PIECE, codes.shape[1] - r0)
            for own, (main, starts, neighbours, values) in ((e[:n], field), (d[:n], other)):
                near, own_values = neighbours[starts[i] : starts[i + 1]], values[starts[i] : starts[i + 1]]
                add_neighbours(codes, r0, near, own_values, main[i], own)
                link(own, codes[i, r0 : r0 + n], ones[:n], 1.0, 0.0)
            total = 0.0
            for k in range(n):
                total += weights[r0 + k] * (e[k] - d[k]) ** 2
            changes[i] += total


@compiled
def pack_rows(codes, keys):
    """Set keys (n,) uint64 to the rows of up to 64 columns of bits (p, n), one bit a column."""
    for r0 in range(0, len(keys), PIECE):
        own = keys[r0 : r0 + PIECE]
        own[:] = 0
        for j in range(len(codes)):
            s, shift = codes[j, r0 : r0 + PIECE], np.uint64(j)
            for k in range(len(own)):
                own[k] |= np.uint64(s[k]) << shift


@compiled
def unpack_rows(keys, codes):
    """Set columns of bits (p, n) to those of keys (n,)."""
    for j in range(len(codes)):
        shift = np.uint64(j)
        for k in range(len(keys)):
            codes[j, k] = (keys[k] >> shift) & np.uint64(1)
