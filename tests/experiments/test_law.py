"""The law of chains, as the experiments compute it."""

import numpy as np
import pytest

from sparsefield.datasets import make_field
from sparsefield_experiments._law import Law
from support import exact_chains


@pytest.mark.parametrize("n_sweeps", [1, 4])
def test_the_law_of_chains_is_that_of_the_tests(n_sweeps):
    model = make_field(6, seed=3)
    law = Law(model)
    laws = np.eye(64)
    for _ in range(n_sweeps):
        laws = exact_chains.sweep(laws, model.main, model.interactions)
    pairs = exact_chains.pair_moments(laws, 6)
    errors = pairs - exact_chains.pair_moments(exact_chains.probabilities(model.main, model.interactions)[None], 6)
    worst, usual = law.biases(n_sweeps)
    assert worst == pytest.approx(exact_chains.norm(errors).max(), rel=1e-6)
    assert usual == pytest.approx(exact_chains.norm(errors.mean(axis=0)), rel=1e-6)
    np.testing.assert_allclose(law.expect(n_sweeps), pairs[:, *np.triu_indices(6)], atol=1e-12)
    own = np.eye(64)
    for _ in range(n_sweeps):
        law.sweep(own)
    assert law.bias(own) == pytest.approx(worst, rel=1e-6)
