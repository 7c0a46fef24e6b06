"""Moments of tables with missing cells, given a field."""

import numpy as np
import pytest

import sparsefield as sf
from sparsefield.objective import expected_moments
from support.zoo import ZOO


@pytest.mark.parametrize("name", ["dense", "three levels", "mixed, no reference"])
def test_expectations_given_the_observed_cells_are_exact(name):
    model = ZOO[name]
    rng = np.random.default_rng(1)
    codes = model.sample(12, n_sweeps=20, seed=1).codes.copy()
    codes[rng.random(codes.shape) < 0.4] = 255
    codes[0] = 255
    weights = rng.random(12)
    found = expected_moments(model, sf.Table(model.domain, codes), weights).pair
    # Every state has its probability; a row picks those that agree with what it shows.
    states = np.indices(tuple(model.domain.n_levels), dtype=np.uint8).reshape(model.domain.n_variables, -1).T
    probabilities = np.exp(model.log_prob(states))
    s = model.domain.indicators(states)
    total = np.zeros_like(found)
    for row, weight in zip(codes, weights, strict=True):
        fits = probabilities * np.all((row == 255) | (states == row), axis=1)
        total += weight * (s.T * fits) @ s / fits.sum()
    np.testing.assert_allclose(found, total / weights.sum(), atol=1e-12)
