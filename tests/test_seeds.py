"""Seeds that are derived from others."""

import numpy as np
import pytest

from sparsefield._kernels._seeds import find_seed
from sparsefield._seeds import Use, derive_seed, make_generator
from sparsefield.gradients import Simulation

# Uses of one group have keys that differ in the use alone; the last words leave room for those that are counted.
GROUPS = [
    [Use.DRAWS, Use.BOUNDING_CHAINS, *range(Use.MORE_CHAINS, Use.BATCHES + 1), Use.BATCHES + 1],
    [Use.STEP_SIZE, *(first + k for first in (Use.ATTEMPTS, Use.FURTHER_STEPS) for k in range(4)), Use.COMPARED],
    [Use.HERE, Use.TIGHTER, Use.TIGHTER_FIT, Use.GAP],
    [Use.MISSING_DRAWS, Use.MISSING_CHAINS],
    [Use.FITS_OF_PARTS, Use.ROWS_OF_PARTS],
    [Use.BOOTSTRAP, Use.STABILITY],
]


@pytest.mark.parametrize("group", GROUPS)
def test_uses_of_one_group_have_numbers_of_their_own(group):
    assert len(set(group)) == len(group)


@pytest.mark.parametrize("seed", [0, 1, 2**64 - 1, 2**127 + 5, 2**130 + 7])
def test_seeds_are_those_of_numpy_and_of_kernels(seed):
    for key in [(0, Use.GAP), (7, Use.BATCHES + 3)]:
        expected = np.random.SeedSequence(seed, spawn_key=tuple(map(int, key))).generate_state(1, np.uint64)[0]
        assert derive_seed(seed, *key) == Simulation(10, seed).seed_of(*key) == int(expected)
        if seed < 2**64:
            assert find_seed(np.uint64(seed), np.uint64(0), np.array(key, dtype=np.uint32)) == expected
        words = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=tuple(map(int, key)))).random(3)
        np.testing.assert_array_equal(make_generator(seed, *key).random(3), words)


def test_children_of_a_seed_are_keys_of_one_word():
    children = np.random.SeedSequence(5).spawn(3)
    assert [derive_seed(5, k) for k in range(3)] == [int(own.generate_state(1, np.uint64)[0]) for own in children]
