"""Chains that keep observed cells."""

import numpy as np
import pytest

from sparsefield._kernels._target import HAS_AVX2
from sparsefield.datasets import make_field
from sparsefield.inference import ClampedChains, Scan
from support import naive
from support.statistics_ import assert_counts_agree
from support.zoo import parts, random_field


@pytest.mark.parametrize(
    "model", [make_field(4, strength=(0.5, 1.0), seed=1), random_field([3, 2, 3], seed=2, scale=0.7)]
)
def test_missing_values_are_drawn_given_the_observed_cells(model):
    # One row with two missing values, many times: the law of the missing values is the conditional one.
    n_levels = model.domain.n_levels
    row = np.array([1] * len(n_levels), dtype=np.uint8)
    row[[0, 2]] = 255
    chains = ClampedChains(model.domain, np.tile(row, (60_000, 1)), seed=1)
    chains.sweep(Scan(model), 30)
    assert chains.n_sweeps == 30
    codes = chains.codes()
    observed = np.flatnonzero(row != 255)
    assert np.all(codes[:, observed] == 1)
    states, probabilities, _ = naive.distribution(*parts(model))
    given = np.array(
        [q if all(s[i] == 1 for i in observed) else 0.0 for s, q in zip(states, probabilities, strict=True)]
    )
    law = given.reshape(n_levels).sum(axis=tuple(observed))
    counts = np.bincount(codes[:, 0] * n_levels[2] + codes[:, 2], minlength=law.size)
    assert_counts_agree(counts, (law / law.sum()).ravel())


@pytest.mark.skipif(not HAS_AVX2, reason="there is only one storage without AVX2")
@pytest.mark.parametrize("form", ["product", "sum", "dense"])
def test_packed_chains_keep_what_byte_chains_keep(form, monkeypatch):
    model = make_field(21, edge_probability=0.5, strength=(0.1, 0.6), seed=1)
    rng = np.random.default_rng(1)
    codes = np.where(rng.random((700, 21)) < 0.4, 255, rng.integers(0, 2, (700, 21))).astype(np.uint8)
    packed = ClampedChains(model.domain, codes, seed=1)
    copy = packed.copy()
    monkeypatch.setattr("sparsefield.inference._checks.HAS_AVX2", False)
    plain = ClampedChains(model.domain, codes, seed=1)
    plain.sweep(Scan(model, form=form, storage="bytes"), 3)
    monkeypatch.undo()
    for chains in (packed, copy):
        chains.sweep(Scan(model, form=form), 3)
        np.testing.assert_array_equal(chains.codes(), plain.codes())
    seen = codes != 255
    np.testing.assert_array_equal(plain.codes()[seen], codes[seen])
    assert (plain.codes()[~seen] == 0).any()
    assert (plain.codes()[~seen] == 1).any()
