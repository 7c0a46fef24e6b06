"""The ridge penalty on a support."""

import numpy as np
import pytest

import sparsefield as sf
from sparsefield.objective import Ridge, describe_penalty, make_penalty
from support.level_fields import ordered_field
from support.zoo import random_field

FIELDS = {
    "binary": random_field([2] * 5, seed=1),
    "levels": random_field([3, 2, 4], seed=2),
    "ordered": ordered_field([3, 4, 3], seed=3, scale=0.5),
}


def make(name, alpha=0.3):
    domain = FIELDS[name].domain
    variables = domain.slot_variables
    is_edge = np.zeros((domain.n_variables,) * 2, dtype=bool)
    is_edge[0, 1] = is_edge[1, 0] = is_edge[1, 2] = is_edge[2, 1] = True
    return Ridge(domain, alpha, is_edge[variables[:, None], variables])


@pytest.mark.parametrize("name", FIELDS)
def test_gradients_steps_and_values_belong_together(name):
    penalty, rng = make(name), np.random.default_rng(1)
    size = penalty.coordinates.size
    theta = np.triu(rng.normal(size=(size, size)))
    theta = np.where(penalty.kept | np.eye(size, dtype=bool), theta + np.triu(theta, 1).T, 0.0)
    direction = penalty.direction(theta)
    a, b = np.nonzero(np.triu(penalty.coordinates.is_parameter))
    for i, j in zip(a, b, strict=True):
        if theta[i, j] == 0:
            continue
        ahead, behind = theta.copy(), theta.copy()
        for moved, step in ((ahead, 1e-6), (behind, -1e-6)):
            moved[i, j] += step
            moved[j, i] = moved[i, j]
        slope = (penalty.value(ahead) - penalty.value(behind)) / 2e-6
        assert slope == pytest.approx(direction[i, j], abs=1e-6)
    # The proximal step is where the penalty's gradient balances the way back.
    there = penalty.prox(theta, 0.7)
    np.testing.assert_allclose(there + 0.7 * penalty.direction(there), theta, atol=1e-12)
    gradient = rng.normal(size=(size, size))
    gradient = (gradient + gradient.T) / 20
    left = penalty.subgradient(theta, gradient)
    kept = penalty.kept | np.eye(size, dtype=bool)
    np.testing.assert_allclose(left[kept], (gradient + direction)[kept])
    assert not left[penalty.coordinates.is_parameter & ~kept].any()  # no gradient reaches what they would pay


@pytest.mark.parametrize("name", FIELDS)
def test_main_effects_are_free_and_what_is_outside_costs_more_than_a_gradient_can_be(name):
    penalty = make(name)
    assert penalty.frees_main
    outside = penalty.coordinates.is_parameter & ~penalty.kept & ~np.eye(penalty.coordinates.size, dtype=bool)
    assert np.all(penalty.weights[outside] >= 1)
    assert np.all(penalty.bends[penalty.kept] == 0.3)
    assert not penalty.bends[~penalty.kept].any()
    assert penalty.dual_norm(np.ones_like(penalty.weights)) == np.inf
    assert penalty.freed().alpha == 0
    assert not penalty.freed().bends.any()


def test_facts_make_the_penalty_again():
    for name in FIELDS:
        penalty = make(name)
        facts = describe_penalty(penalty)
        again = make_penalty(penalty.domain, **facts)
        assert isinstance(again, Ridge)
        np.testing.assert_array_equal(again.weights, penalty.weights)
        np.testing.assert_array_equal(again.bends, penalty.bends)
        assert again.n_parameters == penalty.n_parameters


def test_what_is_no_strength_is_refused():
    with pytest.raises(ValueError, match="alpha is -1"):
        Ridge(sf.Domain.binary(2), -1, np.zeros((2, 2), dtype=bool))
