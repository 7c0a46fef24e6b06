"""Some blocks of chains, made without those before them."""

import numpy as np
import pytest

from sparsefield.datasets import make_field
from sparsefield.inference import BoundingChains, Chains, Cpu, Perfect
from support.zoo import random_field

BINARY = make_field(5, seed=1)
LEVELS = random_field([3, 2, 4], seed=2, scale=0.5)


@pytest.mark.parametrize("model", [BINARY, LEVELS])
@pytest.mark.parametrize(("first", "last"), [(0, 3), (63, 65), (66, 70), (130, 131)])
def test_blocks_are_the_same_without_those_before_them(model, first, last):
    scan = Cpu().prepare(model)
    whole = Chains(model.domain, 512 * 131 - 100, seed=7)
    n = min(512 * last, whole.n_chains) - 512 * first
    some = Chains(model.domain, n, seed=7, first_block=first)
    for _ in range(2):
        np.testing.assert_array_equal(some.codes(), whole.codes()[512 * first :][:n])
        for chains in (some, whole):
            chains.sweep(scan, 1)


def test_starts_of_different_sources_differ():
    codes = Chains(BINARY.domain, 512 * 129, seed=7).codes()
    assert not np.array_equal(codes[:512], codes[512 * 64 : 512 * 65])
    assert not np.array_equal(codes[512 * 64 : 512 * 65], codes[512 * 128 :])


@pytest.mark.parametrize(
    ("n_draws", "n_blocks"), [(512, 1), (513, 2), (100_000, 14), (2**20, 64), (2**21, 64), (2**22, 128), (2**25, 1024)]
)
def test_very_many_draws_have_work_for_many_machines(n_draws, n_blocks):
    wanted = Perfect(n_draws, 1)
    assert wanted.n_blocks == n_blocks
    assert wanted.cuts[-1] == -(-n_draws // 512)


@pytest.mark.parametrize("model", [BINARY, LEVELS])
def test_bounds_and_draws_are_the_same_without_the_blocks_before_them(model):
    scan = Cpu().prepare(model, n_planes=2)
    whole = BoundingChains(model.domain, 2000, seed=7)
    some = BoundingChains(model.domain, 2000 - 1024, seed=7, first_block=2)
    for bounds in (whole, some):
        bounds.sweep(scan, 2)
    np.testing.assert_array_equal(some.sets(), whole.sets()[2:])

    wanted = Perfect(20_000, 7)
    length, _ = wanted.choose_length(model)
    draws, _, _ = wanted.draw_some(model, length, 1, wanted.n_blocks)
    other = wanted.run(model)
    for _ in range(2):  # at the draws, and swept on
        np.testing.assert_array_equal(draws.codes(), other.codes()[512 * wanted.cuts[1] :])
        for chains in (draws, other):
            chains.sweep(Cpu().prepare(model), 1)
