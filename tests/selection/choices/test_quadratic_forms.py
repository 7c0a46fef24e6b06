"""Tails of sums of squares, against sums whose tails are known."""

import numpy as np
import pytest
from scipy import stats

from sparsefield.selection.choices._quadratic_forms import tail_of_squares

TAILS = np.array([0.9, 0.5, 0.1, 1e-2, 1e-4, 1e-6, 1e-9])

# In the limit the approximation is too large by Stirling's formula for the gamma function of half the number of largest
# variances: by 17% for one, and 8% for two. It is too small by up to 2.4% where tails are not small, as its docstring
# says.
LARGEST = {1: np.sqrt(np.e / 2), 2: np.e / np.sqrt(2 * np.pi)}
LEAST = 0.975


@pytest.mark.parametrize("n_squares", [1, 2, 3, 4, 9, 400])
def test_equal_variances_are_chi_squares(n_squares):
    kind = min(n_squares, 2)
    for tail in TAILS:
        found = tail_of_squares(np.full((1, n_squares), 0.3), 0.3 * stats.chi2.isf(tail, n_squares))[0]
        assert LEAST * tail <= found <= LARGEST[kind] * tail


def test_pairs_of_variances_are_sums_of_exponential_variables():
    means = np.array([1.0, 0.5, 0.2, 0.05])  # each twice, of half that variance: exponential variables with these means
    shares = np.array([np.prod([own / (own - other) for other in means if other != own]) for own in means])
    for x in (0.3, 1.0, 1.75, 3.0, 10.0, 20.0):
        tail = shares @ np.exp(-x / means)
        found = tail_of_squares(np.repeat(means / 2, 2)[None], x)[0]
        assert LEAST * tail <= found <= LARGEST[2] * tail


def test_many_sums_are_what_each_is_and_zeros_add_nothing():
    rng = np.random.default_rng(1)
    variances = rng.exponential(size=(50, 6)) ** 3
    x = float(np.median(variances.sum(axis=1)))
    alone = [tail_of_squares(own[None], x)[0] for own in variances]
    # The formula takes a difference of two numbers of up to 1e4, whose rounding is 1e-12 of them.
    np.testing.assert_allclose(tail_of_squares(variances, x), alone, atol=1e-8)
    padded = np.column_stack([variances, np.zeros((50, 3))])
    np.testing.assert_allclose(tail_of_squares(padded, x), alone, atol=1e-8)
    assert np.array_equal(tail_of_squares(variances, 0.0), np.ones(50))
    assert len(tail_of_squares(np.zeros((0, 3)), 1.0)) == 0


def test_tails_fall_also_across_the_mean():
    variances = np.array([[1.0, 0.4, 0.1]])
    x = 1.5 + np.linspace(-1e-3, 1e-3, 201)  # the mean is 1.5
    found = np.array([tail_of_squares(variances, own)[0] for own in x])
    # The density there is below 1/2, and so is the slope; the limit is taken within 1e-4 standard deviations.
    assert np.all(np.diff(found) <= 1e-4)
    assert abs(found[0] - found[-1]) <= 2e-3 / 2 + 1e-4
    assert found[0] > found[-1]
