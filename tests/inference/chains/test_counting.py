"""Moments of chains against those of their codes, in whole numbers."""

import numpy as np
import pytest

from sparsefield._kernels._target import HAS_AVX2
from sparsefield.data import _counting, moments_of_codes
from sparsefield.inference import Chains
from support.zoo import ZOO, random_field

needs_packed = pytest.mark.skipif(not HAS_AVX2, reason="packed kernels are compiled for AVX2 and later")
MODELS = {name: ZOO[name] for name in ("mixed levels", "mixed, no reference", "no reference", "with a constant")} | {
    "many levels": random_field([254, 3, 70], seed=1),
    "many slots": random_field([7] * 20, seed=1),
}


@pytest.mark.parametrize("by_nibbles", [False, pytest.param(True, marks=needs_packed)])
@pytest.mark.parametrize("n", [1, 511, 513, 33_000])
@pytest.mark.parametrize("name", MODELS)
def test_bytes_are_counted_as_their_codes(monkeypatch, cut_work, name, n, by_nibbles):
    cut_work()
    monkeypatch.setattr(_counting, "HAS_AVX2", by_nibbles)
    monkeypatch.setattr(_counting, "HAS_VECTOR_POPCOUNT", not by_nibbles)
    domain = MODELS[name].domain
    for n_threads in (1, 2):
        chains = Chains(domain, n, seed=1, storage="bytes", n_threads=n_threads)
        moments, expected = chains.moments(), moments_of_codes(chains.codes(), domain)
        np.testing.assert_array_equal(moments.pair, expected.pair)
        np.testing.assert_array_equal(chains.means(), expected.main)
        assert moments.n == n


@pytest.mark.parametrize("name", MODELS)
def test_indicators_of_bytes_are_those_of_their_codes(name):
    domain = MODELS[name].domain
    chains = Chains(domain, 1500, seed=1, storage="bytes")
    words = chains.indicators()
    # Bit t of lane m is chain 16 t + m of a block.
    bits = (words[:, :, None, :] >> np.arange(32, dtype=np.uint32)[:, None]) & 1
    found = bits.transpose(0, 2, 3, 1).reshape(-1, domain.n_slots)[:1500]
    np.testing.assert_array_equal(found, domain.indicators(chains.codes()))


def test_no_move_leads_nowhere():
    model = MODELS["mixed levels"]
    draws = Chains(model.domain, 600, seed=1).draws()
    np.testing.assert_array_equal(draws.along(np.zeros((model.domain.n_slots, model.domain.n_slots))), np.zeros(600))
