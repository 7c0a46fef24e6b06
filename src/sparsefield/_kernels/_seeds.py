"""Seeds and streams of random words, to the bit those of numpy's SeedSequence and SFC64, without making objects.

An iteration of a small field makes three of these sequences. numpy takes 40 microseconds for them, in which 2000 chains
of 10 variables are swept six times.
"""

from __future__ import annotations

import numpy as np

from sparsefield._kernels._compiling import compiled

# Constants of numpy's SeedSequence (O'Neill's seed_seq_fe), whose pool has four words of 32 bits.
_INIT_A, _MULT_A = np.uint32(0x43B0D7E5), np.uint32(0x931E8875)
_INIT_B, _MULT_B = np.uint32(0x8B51F9DD), np.uint32(0x58F38DED)
_MIX_LEFT, _MIX_RIGHT = np.uint32(0xCA01F9DD), np.uint32(0x4973F715)
_POOL, _HALF, _WORD = 4, np.uint32(16), np.uint64(32)
_DISCARDED = 12  # words that SFC64 throws away after seeding
MOST_SEED = 2**128  # larger entropy would not fit the pool


@compiled
def _hash(value, constant):
    """Return a word mixed with a constant, and the next constant."""
    value = np.uint32(value ^ constant)
    constant = np.uint32(constant * _MULT_A)
    value = np.uint32(value * constant)
    return np.uint32(value ^ (value >> _HALF)), constant


@compiled
def _mix(x, y):
    mixed = np.uint32(np.uint32(_MIX_LEFT * x) - np.uint32(_MIX_RIGHT * y))
    return np.uint32(mixed ^ (mixed >> _HALF))


@compiled
def make_pool(low, high, keys):
    """Return the pool of the seed low + 2^64 high with a spawn key, keys (k,) uint32."""
    pool = np.empty(_POOL, np.uint32)
    constant = _INIT_A
    for k in range(_POOL):
        half = low if k < 2 else high
        pool[k], constant = _hash(np.uint32(half >> (_WORD * np.uint64(k % 2))), constant)
    for source in range(_POOL):
        for k in range(_POOL):
            if k != source:
                mixed, constant = _hash(pool[source], constant)
                pool[k] = _mix(pool[k], mixed)
    for key in keys:
        for k in range(_POOL):
            mixed, constant = _hash(key, constant)
            pool[k] = _mix(pool[k], mixed)
    return pool


@compiled
def make_seeds(pool, n):
    """Return n words of 64 bits, the state that a pool generates."""
    seeds = np.empty(n, np.uint64)
    constant = _INIT_B
    for k in range(n):
        word = np.uint64(0)
        for half in range(2):
            value = np.uint32(pool[(2 * k + half) % _POOL] ^ constant)
            constant = np.uint32(constant * _MULT_B)
            value = np.uint32(value * constant)
            value = np.uint32(value ^ (value >> _HALF))
            word |= np.uint64(value) << (_WORD * np.uint64(half))
        seeds[k] = word
    return seeds


@compiled
def _next(state):
    """Return the next word of SFC64, with state (4,) uint64."""
    word = state[0] + state[1] + state[3]
    state[3] += np.uint64(1)
    state[0] = state[1] ^ (state[1] >> np.uint64(11))
    state[1] = state[2] + (state[2] << np.uint64(3))
    state[2] = ((state[2] << np.uint64(24)) | (state[2] >> np.uint64(40))) + word
    return word


@compiled
def _begin(low, high, keys):
    """Return the state of SFC64 with a seed and a spawn key."""
    state = np.empty(4, np.uint64)
    state[:3] = make_seeds(make_pool(low, high, keys), 3)
    state[3] = 1
    for _ in range(_DISCARDED):
        _next(state)
    return state


@compiled
def find_seed(low, high, keys):
    """Return the first word of a seed with a spawn key."""
    return make_seeds(make_pool(low, high, keys), 1)[0]


@compiled
def fill_words(low, high, keys, words):
    """Fill words (n,) uint64 with the random words of SFC64."""
    state = _begin(low, high, keys)
    for k in range(words.shape[0]):
        words[k] = _next(state)


@compiled
def fill_bits(low, high, keys, n_levels, states):
    """Fill packed chains (B, >= v, 8) uint64 with random words, block by block, and zeros where there is one level."""
    state = _begin(low, high, keys)
    for block in range(states.shape[0]):
        for i in range(n_levels.shape[0]):
            for w in range(states.shape[2]):
                word = _next(state)
                states[block, i, w] = word if n_levels[i] > 1 else np.uint64(0)
