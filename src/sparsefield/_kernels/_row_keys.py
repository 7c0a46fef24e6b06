"""Keys of rows: numbers that look random, made of the number of a row, by which a sample of rows is chosen."""

from __future__ import annotations

import numpy as np

from sparsefield._kernels._compiling import compiled

# The finaliser of SplitMix64 (Steele, Lea and Flood 2014), and the step of its sequence.
_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_BITS = (np.uint64(30), np.uint64(27), np.uint64(31))


@compiled
def find_low_keys(first, n, bound, rows, keys):
    """Write which of the rows first, ..., first + n - 1 have a key of at most a bound, and these keys; return how many.

    rows (n,) int64, counted from zero; keys (n,) uint64.
    """
    found = 0
    for k in range(n):
        z = (np.uint64(first + k) + np.uint64(1)) * _STEP
        z = (z ^ (z >> _BITS[0])) * _FIRST
        z = (z ^ (z >> _BITS[1])) * _SECOND
        z = z ^ (z >> _BITS[2])
        rows[found], keys[found] = k, z  # taken back by the next row where it is too large
        found += z <= bound
    return found
