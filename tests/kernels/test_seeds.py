"""Seeds and random words that kernels make are those of numpy."""

import numpy as np
import pytest

from sparsefield import Domain
from sparsefield._kernels._seeds import MOST_SEED, find_seed
from sparsefield.gradients import Simulation
from sparsefield.inference import Chains
from sparsefield.inference.chains._blocks import SWEEPS, as_words, make_source, make_streams


@pytest.mark.parametrize("seed", [5, np.int64(5), 2**64 + 5, MOST_SEED + 5])
def test_seeds_of_any_size_give_the_streams_that_they_always_gave(seed):
    np.testing.assert_array_equal(make_streams(seed, 3, 2).ravel(), make_source(int(seed), 2).random_raw(96))
    words = np.random.SeedSequence(int(seed), spawn_key=(4, 1)).generate_state(1, np.uint64)
    assert Simulation(seed=seed).seed_of(4, 1) == words[0]


def test_starts_are_those_of_numpy_and_constant_variables_have_one_level():
    domain = Domain(("a", "b", "c"), ((0, 1), (0,), (0, 1)), None)
    states = Chains(domain, 1100, seed=9)._states
    bits = make_source(9, 1).random_raw(3 * 3 * 8).view(np.uint32).reshape(3, 3, 16).copy()
    bits[:, 1] = 0
    if states.dtype == np.uint32:
        np.testing.assert_array_equal(states[:, :3], bits)
    assert not Chains(domain, 1100, seed=9).codes()[:, 1].any()


def test_a_negative_seed_is_refused():
    with pytest.raises(ValueError, match="non-negative"):
        Simulation(seed=-1).seed_of(1)


@pytest.mark.parametrize("seed", [0, 1, 2**40 + 3, 2**64 - 1, 2**127 + 5])
def test_random_words_are_those_of_numpy(seed):
    words = make_source(seed, SWEEPS).random_raw(32 * 3).reshape(3, 4, 8)
    np.testing.assert_array_equal(make_streams(seed, 3, SWEEPS), words)
    np.testing.assert_array_equal(make_streams(seed, 2, SWEEPS, first_block=1), words[1:])
    keys = np.array([7, 1], dtype=np.uint32)
    expected = np.random.SeedSequence(seed, spawn_key=(7, 1)).generate_state(1, np.uint64)[0]
    assert find_seed(*as_words(seed), keys) == expected
    assert Simulation(10, seed).seed_of(7, 1) == int(expected)
