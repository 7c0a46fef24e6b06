"""Pieces that solvers have in common: the line search, soft thresholds, and working sets."""

import numpy as np
import pytest

from sparsefield._kernels._proximal import shrink, take_step
from sparsefield.objective import backtrack, pick_largest, shrink_to_fit, smallest_subgradient
from sparsefield.objective._soft_threshold import soft_threshold


def test_the_line_search_takes_the_first_share_that_leads_low_enough():
    shares = []

    def go(share):
        shares.append(share)
        return (share - 0.2) ** 2, -share

    assert backtrack(go, 0.01, 10) == (0.25, (0.25 - 0.2) ** 2, -0.25)
    assert shares == [1.0, 0.5, 0.25]
    assert backtrack(go, 0.0, 10) is None
    assert len(shares) == 3 + 10
    assert backtrack(lambda share: (np.nan, share), np.inf, 3) is None


def test_the_smallest_subgradient_is_the_nearest_to_zero():
    rng = np.random.default_rng(1)
    theta, gradient, weights = rng.integers(-1, 2, 100) * rng.random(100), rng.normal(size=100), rng.random(100)
    found = smallest_subgradient(theta, gradient, weights)
    signs = np.where(theta[:, None] != 0, np.sign(theta)[:, None], np.linspace(-1, 1, 2001))
    every = gradient[:, None] + weights[:, None] * signs
    np.testing.assert_allclose(np.abs(found), np.abs(every).min(axis=1), atol=1e-3)
    np.testing.assert_array_equal(soft_threshold(np.array([-2.0, 0.5, 3.0]), 1.0), [-1.0, 0.0, 2.0])


def test_what_rounding_leaves_of_a_threshold_is_zero():
    moved = 0.1 + 0.2  # 0.30000000000000004
    assert moved > 0.3
    assert soft_threshold(np.array([moved, -moved]), 0.3).tolist() == [0.0, 0.0]
    assert shrink(moved, 0.3) == shrink(-moved, 0.3) == 0
    after, step_map = np.zeros((1, 1)), np.zeros((1, 1))
    take_step(np.array([[moved]]), np.zeros((1, 1)), np.zeros((1, 1)), np.array([[0.3]]), 1.0, after, step_map)
    assert after[0, 0] == 0


@pytest.mark.parametrize("n", [0, 3, 10, 20])
def test_the_largest_are_picked(n):
    sizes = np.random.default_rng(2).permutation(10).astype(float)
    assert sorted(sizes[pick_largest(sizes, n)]) == list(range(max(0, 10 - n), 10))


def test_a_working_set_shrinks_until_it_fits():
    found = shrink_to_fit(lambda n: np.arange(100) < n, 100, lambda some: np.count_nonzero(some) <= 40)
    assert np.count_nonzero(found) == 31  # 100, 75, 56, 42, 31
    assert np.count_nonzero(shrink_to_fit(lambda n: np.arange(9) < n, 9, lambda _: False)) == 1
