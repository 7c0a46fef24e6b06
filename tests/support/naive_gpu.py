"""The sweeps of a GPU again, chain by chain in whole numbers and fractions: slow, and equal to the last bit."""

from fractions import Fraction

import numpy as np

from sparsefield._kernels._bytes import exponentiate

_ONES = 2**32 - 1


def philox(counter, key):
    """Return four random words (Salmon et al. 2011, ten rounds)."""
    (a, b, c, d), (k, m) = counter, key
    for _ in range(10):
        first, second = 0xD2511F53 * a, 0xCD9E8D57 * c
        a, b, c, d = second >> 32 ^ b ^ k, second & _ONES, first >> 32 ^ d ^ m, first & _ONES
        k, m = (k + 0x9E3779B9) & _ONES, (m + 0xBB67AE85) & _ONES
    return a, b, c, d


class Stream:
    """sfc32 (Doty-Humphrey, PractRand)."""

    def __init__(self, words):
        self.a, self.b, self.c, self.counter = words

    def draw(self):
        found = (self.a + self.b + self.counter) & _ONES
        self.counter = (self.counter + 1) & _ONES
        self.a = self.b ^ self.b >> 9
        self.b = (self.c + (self.c << 3)) & _ONES
        self.c = ((self.c << 21 | self.c >> 11) + found) & _ONES
        return found


def is_one(bits, weight):
    """Say whether u w <= v, u + v = 2^32 - 1, each rounded to a float32, as is the difference."""
    u, v = np.float32(np.uint32(bits)), np.float32(np.uint32(_ONES - bits))
    return Fraction(float(v)) - Fraction(float(u)) * Fraction(float(weight)) >= 0


def weight_of(i, states, main, interactions, shift=None):
    """Return exp(-log-odds) of variable i as the product form has it, or the sum form in units of 2^-shift bits."""
    neighbours = [j for j in range(len(main)) if interactions[i, j] != 0 and states[j]]
    if shift is None:
        weight = np.float32(np.exp(-main[i]))
        for j in neighbours:
            weight = np.float32(weight * np.float32(np.exp(-interactions[i, j])))
        return weight
    unit = np.log2(np.e) * 2.0**shift
    total = round(-main[i] * unit) + sum(round(-interactions[i, j] * unit) for j in neighbours)
    line = np.zeros(512, dtype=np.int32)
    line[0] = total
    weights = line.view(np.float32)
    exponentiate(weights, shift)
    return weights[0]


def sweep(states, streams, main, interactions, n_sweeps, order=None, shifts=None):
    """Sweep chains (n, p) of zeros and ones in place, eight to a stream, from the last of eight to the first."""
    n, p = states.shape
    for _ in range(n_sweeps):
        for i in range(p) if order is None else order:
            for group, stream in enumerate(streams):
                for c in reversed(range(8)):
                    bits, chain = stream.draw(), 8 * group + c
                    if chain < n:
                        shift = None if shifts is None else int(shifts[i])
                        states[chain, i] = is_one(bits, weight_of(i, states[chain], main, interactions, shift))
