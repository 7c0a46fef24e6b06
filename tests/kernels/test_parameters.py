"""Kernels for parameters in one matrix do what numpy does, to the last bit, and refuse what fields refuse."""

import numpy as np
import pytest

from sparsefield import Domain, PairwiseMRF
from sparsefield._kernels._proximal import take_step
from sparsefield.objective import L1

DOMAINS = {
    "two levels": Domain.binary(45),
    "levels": Domain(tuple("abc"), ((0, 1, 2), (0, 1), (0, 1, 2, 3)), (0, 0, 0)),
}


def make_theta(domain, seed=1):
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=(domain.n_slots,) * 2) * (rng.random((domain.n_slots,) * 2) < 0.5)
    theta = np.triu(theta) + np.triu(theta, 1).T
    own = domain.slot_variables[:, None] == domain.slot_variables
    return np.where(own & ~np.eye(len(theta), dtype=bool), 0.0, theta)


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [((0, 2), 3.0, "symmetric"), ((1, 1), np.nan, "entry nan"), ((0, 0), 1e101, "below 1e"), ((0, 1), 1.0, "inside")],
)
def test_a_matrix_that_no_field_has_is_refused_in_words(place, value, words):
    domain = DOMAINS["levels"]
    theta = make_theta(domain)
    theta[place] = value
    with pytest.raises(ValueError, match=words):
        PairwiseMRF.of_theta(domain, theta)


@pytest.mark.parametrize("step_size", [0.4, 0.037])
def test_a_step_has_the_bits_of_numpy(step_size):
    domain = DOMAINS["two levels"]
    penalty, theta, rng = L1(domain, 0.1, 0.5), make_theta(domain), np.random.default_rng(2)
    pair, data = (np.triu(u) + np.triu(u, 1).T for u in rng.random((2, 45, 45)))
    pair[:9], data[:9] = data[:9], data[:9]  # thresholds, and zeros that stay
    after, step_map = np.empty_like(theta), np.empty_like(theta)
    take_step(theta, pair, data, penalty.weights, step_size, after, step_map)
    plain = penalty.prox(theta - step_size * (pair - data), step_size)
    np.testing.assert_array_equal(after.view(np.int64), plain.view(np.int64))
    np.testing.assert_array_equal(step_map.view(np.int64), ((theta - plain) / step_size).view(np.int64))
