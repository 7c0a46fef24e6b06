"""Coordinate descent on a quadratic model, against a general minimiser."""

import numpy as np
from scipy import optimize

from sparsefield._kernels._descent import descend_moments


def test_the_descent_minimises_its_model():
    rng = np.random.default_rng(1)
    for n, dtype in ((40, np.int32), (1, np.float64)):
        s = (rng.random((40, 12)) < 0.4).astype(float)
        second, means = (s.T @ s).astype(np.int32), s.mean(axis=0)
        if dtype == np.float64:
            second = second / 40
        theta, gradient, penalty = (
            rng.normal(0, 1, 12) * (rng.random(12) < 0.5),
            rng.normal(0, 0.2, 12),
            0.1 * np.ones(12),
        )
        ridge = np.full(12, 0.01)
        moves, slopes = descend_moments(second, 1 / n, means, theta, gradient, penalty, ridge, 10_000, 1e-13)
        h = s.T @ s / 40 - np.outer(means, means)
        np.testing.assert_allclose(slopes, h @ moves, atol=1e-12)
        h = h + np.diag(ridge)

        def value(parts, theta=theta, gradient=gradient, h=h):
            d = parts[:12] - parts[12:] - theta
            return gradient @ d + d @ h @ d / 2 + 0.1 * parts.sum()

        found = optimize.minimize(value, np.ones(24), bounds=[(0, None)] * 24, options={"ftol": 1e-15, "gtol": 1e-12})
        best_value = value(np.concatenate([np.maximum(theta + moves, 0), np.maximum(-theta - moves, 0)]))
        assert best_value <= found.fun + 1e-9
