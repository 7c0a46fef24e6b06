"""The least eigenvalue of correlations, bounded by Cholesky factors."""

from dataclasses import replace

import numpy as np
import pytest

from sparsefield.optimality import GAPS, _fresh_draws
from sparsefield.optimality._fresh_draws import Factored

ALWAYS = replace(GAPS, many=0)  # by Cholesky factors, however few statistics there are


@pytest.mark.parametrize("seed", range(5))
def test_cholesky_factors_bound_the_least_eigenvalue_from_below(seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(80, 60)) * rng.uniform(0.1, 3, 60)
    covariance, v = np.cov(values.T), rng.normal(size=60)
    least = np.linalg.eigvalsh(np.corrcoef(values.T))[0]
    factored = Factored(covariance.copy(), policy=ALWAYS)
    np.testing.assert_allclose(factored.solve(v), np.linalg.solve(covariance, v), rtol=1e-7)
    found, vector = factored.bound_least()
    assert 0.985 * least <= found <= least  # a hundredth below, and the eigenvalue is right to a thousandth
    assert vector @ np.corrcoef(values.T) @ vector == pytest.approx(least, rel=0.1)


def test_an_eigenvalue_that_is_not_the_least_is_refused(monkeypatch):
    covariance = np.diag(np.ones(40)) + 0.5
    covariance[0, 1] = covariance[1, 0] = 1.4
    correlations = covariance / 1.5
    second = np.linalg.eigvalsh(correlations)[1]

    def find_another(*_arguments, **_options):
        return np.array([1 / second]), np.ones((40, 1))

    monkeypatch.setattr(_fresh_draws, "eigsh", find_another)
    assert Factored(covariance, policy=ALWAYS).bound_least()[0] == 0
