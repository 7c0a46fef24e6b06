"""Counting how often two indicators are one together, for all pairs of indicators, in whole numbers.

Observations are taken four at a time: a *nibble* holds one indicator of four observations. Nibbles are laid out
`nibbles[group, position, column]`, 128 indicators a group. How many ones a fixed nibble shares with any other is a
table of 16 entries, so `vpshufb` counts 4 observations of 32 pairs in one instruction. The counts are at most 4, so
one byte of the table serves two rows: first + 16 second. Three such bytes can be added before the halves run into each
other (3 * 4 < 16). Then two sums are kept, in bytes that may wrap around::

    whole = sum of (first + 16 second),   shifted = sum of the same, shifted right by 4 bits in words of two bytes

In the upper byte of a word, shifted is exactly the sum of second. In the lower byte it is that plus 16 times the sum of
first of the upper byte. After 63 positions no sum exceeds 63 * 4 < 256, so all four sums of a word follow, modulo 256.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from sparsefield._kernels._compiling import compiled
from sparsefield._kernels._ir import I16, I32, I64, I8x16, I8x32, I16x16, call, fill, load, store, twice, word

GROUP = 128  # indicators of a group
PART = 32  # indicators of a vector
ROWS = 2  # indicators that share a table
TRIPLE = 3  # positions before half a byte could overflow; positions are padded to a multiple of it
_RUN = 21 * TRIPLE  # positions before a byte could overflow
MOST = 4 * (65535 // 4)  # observations before 16 bits could overflow
_LOW = np.uint64(0x0F0F0F0F0F0F0F0F)

# The nibbles a, b of two rows lie side by side and are read as one number a + 256 b. Their table starts at 17 times
# that number: 16 would put the tables of all b into the same few sets of the first cache.
_SPREAD = 17


def _make_common() -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Make the tables: entry c counts the ones that a and c share, plus 16 times those that b and c share."""
    common = np.zeros(_SPREAD * (15 + 256 * 15) + 16, dtype=np.uint8)
    for a, b, c in itertools.product(range(16), repeat=3):
        common[_SPREAD * (a + 256 * b) + c] = (a & c).bit_count() + 16 * (b & c).bit_count()
    return common


COMMON = _make_common()


def _shift_words(b: Any, x: Any, n: int) -> Any:
    """Shift the 16-bit words of a vector of bytes, right for positive n."""
    words = b.bitcast(x, I16x16)
    moved = b.lshr(words, fill(I16x16, n)) if n > 0 else b.shl(words, fill(I16x16, -n))
    return b.bitcast(moved, I8x32)


def _solve(b: Any, whole: Any, shifted: Any) -> tuple[Any, Any]:
    """Recover the sums of first and second from whole and shifted, modulo 256 (see the head of this file)."""

    def times_16(x: Any) -> Any:
        return b.and_(_shift_words(b, x, -4), fill(I8x32, 0xF0))

    upper_first = _shift_words(b, b.sub(whole, times_16(shifted)), 8)  # moved to the lower byte
    second = b.sub(shifted, times_16(upper_first))
    return b.sub(whole, times_16(second)), second


def _make_run(n_parts: int) -> Any:
    """Make the loop that counts two rows against some vectors of 32 columns."""

    @intrinsic
    def count(_typing: Any, _rows: Any, _columns: Any, _n: Any, _common: Any, _counts: Any, _stride: Any) -> Any:
        def generate(context: Any, b: Any, _signature: Any, arguments: Any) -> Any:
            rows, columns, n, common, counts, stride = arguments
            sums = [(cgutils.alloca_once(b, I8x32), cgutils.alloca_once(b, I8x32)) for _ in range(n_parts)]
            for whole, shifted in sums:
                b.store(fill(I8x32, 0), whole)
                b.store(fill(I8x32, 0), shifted)
            with cgutils.for_range(b, n) as loop:
                offset = b.mul(loop.index, word(TRIPLE * GROUP))
                own, line = b.add(rows, offset), b.add(columns, offset)
                tables = []
                for position in range(TRIPLE):
                    key = b.mul(b.zext(load(b, own, I16, GROUP * position), I64), word(_SPREAD))
                    tables.append(twice(b, load(b, b.add(common, key), I8x16)))
                for part, (whole, shifted) in enumerate(sums):
                    both = fill(I8x32, 0)
                    for position, table in enumerate(tables):
                        nibble = load(b, line, I8x32, GROUP * position + PART * part)
                        both = b.add(both, call(b, "llvm.x86.avx2.pshuf.b", I8x32, table, nibble))
                    b.store(b.add(b.load(whole), both), whole)
                    b.store(b.add(b.load(shifted), _shift_words(b, both, 4)), shifted)
            totals: list[list[Any]] = [[], []]
            for whole, shifted in sums:
                first, second = _solve(b, b.load(whole), b.load(shifted))
                totals[0].append(first)
                totals[1].append(second)
            for r, row in enumerate(totals):
                out = b.add(counts, b.mul(stride, word(r)))
                for k in range(2 * n_parts):
                    lanes = [16 * (k % 2) + lane for lane in range(16)]
                    half = b.shuffle_vector(
                        row[k // 2],
                        ir.Constant(I8x32, ir.Undefined),
                        ir.Constant(ir.VectorType(I32, 16), lanes),
                    )
                    total = b.add(load(b, out, I16x16, 32 * k), b.zext(half, I16x16))
                    store(b, total, out, 32 * k)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 6), generate

    return count


_count_1, _count_2, _count_3, _count_4 = (_make_run(n_parts) for n_parts in range(1, 5))


@compiled
def count_nibbles(nibbles, rows, common, counts):
    """Add the common ones of the given rows, even and the next, with all columns up to their own; AVX2.

    nibbles (G, positions, 128) uint8, counts (128 G, >= 128 G) uint16: right on and below the diagonal.
    """
    n_positions = nibbles.shape[1]
    size = n_positions * GROUP
    nibbles0, counts0 = np.int64(nibbles.ctypes.data), np.int64(counts.ctypes.data)
    common0 = np.int64(common.ctypes.data)
    stride = np.int64(counts.shape[1] * 2)
    # Run by run, so that the nibbles of a group (8 KB a run) stay in the first cache for all rows.
    for start in range(0, n_positions, _RUN):
        n = (min(start + _RUN, n_positions) - start) // TRIPLE
        for group in range(nibbles.shape[0]):
            columns = nibbles0 + group * size + start * GROUP
            for row in rows:
                if row < group * GROUP:
                    continue
                own = nibbles0 + row // GROUP * size + start * GROUP + row % GROUP
                out = counts0 + row * stride + group * GROUP * 2
                n_parts = min(row - group * GROUP, GROUP - 1) // PART + 1
                if n_parts == 4:
                    _count_4(own, columns, n, common0, out, stride)
                elif n_parts == 3:
                    _count_3(own, columns, n, common0, out, stride)
                elif n_parts == 2:
                    _count_2(own, columns, n, common0, out, stride)
                else:
                    _count_1(own, columns, n, common0, out, stride)


@compiled
def _swap(x, y, shift, mask):
    """Swap the off-diagonal corners of a 2 x 2 arrangement of bytes inside two words."""
    z = ((x >> shift) ^ y) & mask
    return x ^ (z << shift), y ^ z


@compiled
def _transpose_bytes(a, b, c, d, e, f, g, h):
    """Transpose the 8 x 8 bytes of eight words."""
    shift, mask = np.uint64(32), np.uint64(0x00000000FFFFFFFF)
    a, e = _swap(a, e, shift, mask)
    b, f = _swap(b, f, shift, mask)
    c, g = _swap(c, g, shift, mask)
    d, h = _swap(d, h, shift, mask)
    shift, mask = np.uint64(16), np.uint64(0x0000FFFF0000FFFF)
    a, c = _swap(a, c, shift, mask)
    b, d = _swap(b, d, shift, mask)
    e, g = _swap(e, g, shift, mask)
    f, h = _swap(f, h, shift, mask)
    shift, mask = np.uint64(8), np.uint64(0x00FF00FF00FF00FF)
    a, b = _swap(a, b, shift, mask)
    c, d = _swap(c, d, shift, mask)
    e, f = _swap(e, f, shift, mask)
    g, h = _swap(g, h, shift, mask)
    return a, b, c, d, e, f, g, h


@compiled
def nibbles_from_packed(states, masks, nibbles):
    """Lay packed chains out as nibbles.

    states (B, v, 8) uint64 with v a multiple of 8, masks (B, 8) uint64 with ones for the chains that count, nibbles
    (G, >= 128 B, 16) uint64, which ends in zeros.
    """
    n_blocks, n_variables, n_words = states.shape
    nibbles[:, 128 * n_blocks :] = 0
    for block in range(n_blocks):
        for first in range(0, n_variables, 8):
            group, column = first // GROUP, first % GROUP // 8
            x = states[block, first : first + 8]
            for w in range(n_words):
                m = masks[block, w]
                lines = _transpose_bytes(
                    x[0, w] & m, x[1, w] & m, x[2, w] & m, x[3, w] & m,
                    x[4, w] & m, x[5, w] & m, x[6, w] & m, x[7, w] & m,
                )  # fmt: skip
                position = 128 * block + 16 * w
                for line in lines:
                    nibbles[group, position, column] = line & _LOW
                    nibbles[group, position + 1, column] = (line >> np.uint64(4)) & _LOW
                    position += 2


@compiled
def nibbles_from_codes(codes, variables, levels, nibbles):
    """Lay rows of codes out as nibbles, one column for each (variable, level).

    codes (v, n) uint8, one row a variable; nibbles (G, >= n / 4, 128) uint8, which ends in zeros.
    """
    n = codes.shape[1]
    for slot in range(variables.size):
        row, level = codes[variables[slot]], levels[slot]
        out = nibbles[slot // GROUP, :, slot % GROUP]
        for position in range(n // 4):
            k = 4 * position
            nibble = np.uint8(row[k] == level) | (np.uint8(row[k + 1] == level) << 1)
            nibble |= np.uint8(row[k + 2] == level) << 2
            out[position] = nibble | (np.uint8(row[k + 3] == level) << 3)
        out[n // 4 :] = 0
        for k in range(n // 4 * 4, n):
            out[k // 4] |= np.uint8(row[k] == level) << (k % 4)
