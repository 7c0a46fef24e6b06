"""Seeds: what the random numbers are for that start from one seed, and how each use gets a seed of its own."""

from __future__ import annotations

from enum import IntEnum

import numpy as np


class Use(IntEnum):
    """What random numbers are for: words of the keys by which seeds are derived from others (spawn keys of numpy).

    Under one seed keys differ in a word or in their number of words, which is what the groups below are about. Names
    with equal numbers stand for uses of different groups.
    """

    # (iteration, use), from iteration 1 on: what a step of a fit draws.
    # Batch k of an iteration has use 10 + k of its seeds, k from 1 on. Use 0 is that of draws, 1 that of bounding
    # chains, and 2 to 10 are those of attempts with more chains, which double at least: nine times from 2000 to a
    # million.
    DRAWS = 0
    BOUNDING_CHAINS = 1
    MORE_CHAINS = 2
    BATCHES = 10

    # (0, use): what a fit draws besides. Missing values that are drawn to compare a fit with its start have this use of
    # the seeds of iteration 0, of which certificates have 1 to 8 and those from 10 on. (1 to 4 are those of attempts,
    # and 5 to 8 those of the further steps between them.)
    ITERATION_ZERO = 0
    STEP_SIZE = 0
    ATTEMPTS = 1
    FURTHER_STEPS = 5
    COMPARED = 9

    # (0, use): what a certificate draws. Batches have uses of the seeds of iteration 0 from here on. A fit has
    # iterations from 1 on, and `certify` uses 1 to 3.
    HERE = 1
    TIGHTER = 2
    TIGHTER_FIT = 3
    GAP = 10

    # (0, model, use): missing values given a model, drawn exactly or by chains. Simulations of the model have keys
    # (iteration, use), from iteration 1 on.
    MISSING_DRAWS = 0
    MISSING_CHAINS = 1

    # (fit,): the further fits of a learner, from 1 on. Missing values of a path are drawn with random numbers of their
    # own: the first word of those of fits is their number.
    MISSING_OF_PATH = 2**32 - 1

    # (first, part): parts of a table. Seeds of parts have a first word of their own, beside those that the fits of one
    # path take from the same seed.
    FITS_OF_PARTS = 0
    ROWS_OF_PARTS = 1

    # (first, resample): a bootstrap, or the first of several shares of the rows, which have one word each.
    BOOTSTRAP = 0
    STABILITY = 1

    # (0, 0): the energies of an entropy. The log-partition function takes its seeds one by one from the same source,
    # with keys (0,), (1,) and so on: these have another.
    ENERGIES = 0


def derive_seed(seed: int, *key: int) -> int:
    """Return the seed of one use of another seed: independent random numbers for each key (seed sequence)."""
    return int(np.random.SeedSequence(seed, spawn_key=key).generate_state(1, np.uint64)[0])


def make_generator(seed: int, *key: int) -> np.random.Generator:
    """Return a generator of the random numbers of one use of a seed."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))
