"""The group penalty: its norm, steps, subgradients and minima, by their definitions."""

import numpy as np
import pytest
from scipy.optimize import minimize

import sparsefield as sf
from sparsefield.objective import L1, Group, Quadratic
from sparsefield.objective._group import descend_by_group
from support.zoo import random_field

DOMAINS = {
    "mixed": random_field([3, 2, 4], seed=1).domain,
    "no reference": random_field([3, 2, 4], seed=1, reference=None).domain,
    "ordered": sf.Domain(("a", "b", "c"), ((0, 1, 2), (0, 1), (0, 1, 2, 3)), (0, 0, 0), ((0, 1, 2), None, None)),
}


def blocks_of(penalty):
    """Return the entries of each group and what its norm pays, main effects of a variable together."""
    variables, interacts = penalty.coordinates.variables, penalty.coordinates.basis.interacts
    for i in range(3):
        mains = np.flatnonzero(variables == i)
        yield mains, mains, penalty.alpha * penalty.main
        for j in range(i):
            first = np.flatnonzero((variables == i) & interacts)
            second = np.flatnonzero((variables == j) & interacts)
            a, b = (part.ravel() for part in np.meshgrid(first, second, indexing="ij"))
            yield a, b, penalty.alpha * np.sqrt(len(a))


def random_theta(penalty, seed=1):
    values = np.random.default_rng(seed).normal(size=(penalty.coordinates.size,) * 2)
    return np.where(penalty.coordinates.is_parameter, values + values.T, 0.0)


@pytest.mark.parametrize("main", [0.0, 0.5])
@pytest.mark.parametrize("name", DOMAINS)
def test_norms_steps_and_subgradients_are_those_of_blocks(name, main):
    penalty = Group(DOMAINS[name], 0.7, main)
    theta, gradient = random_theta(penalty), random_theta(penalty, 2)
    variables = penalty.coordinates.variables
    theta[np.ix_(variables == 0, variables == 2)] = theta[np.ix_(variables == 2, variables == 0)] = 0.0
    total, largest = 0.0, 0.0
    after, rest = penalty.prox(theta, 0.8), penalty.subgradient(theta, gradient)
    for a, b, weight in blocks_of(penalty):
        own, slope = theta[a, b], gradient[a, b]
        size = np.linalg.norm(own)
        total += weight * size
        np.testing.assert_allclose(penalty.sizes(theta)[a, b], size, atol=1e-12)
        kept = max(0.0, 1 - 0.8 * weight / size) if size else 0.0
        np.testing.assert_allclose(after[a, b], kept * own, atol=1e-12)
        if size:
            np.testing.assert_allclose(rest[a, b], slope + weight * own / size, atol=1e-12)
        else:
            left = max(0.0, 1 - weight / np.linalg.norm(slope))
            np.testing.assert_allclose(rest[a, b], left * slope, atol=1e-12)
        projected = penalty.project(gradient)[a, b]
        expected = slope * min(1.0, weight / np.linalg.norm(slope))
        np.testing.assert_allclose(projected, expected, atol=1e-12)
        if weight:
            largest = max(largest, np.linalg.norm(slope) / weight)
    assert penalty.value(theta) == pytest.approx(total, rel=1e-12)
    assert penalty.dual_norm(gradient) == (np.inf if main == 0 else pytest.approx(0.7 * largest, rel=1e-12))
    np.fill_diagonal(gradient, 0.0)
    beside = max(np.linalg.norm(gradient[a, b]) / weight for a, b, weight in blocks_of(penalty) if weight)
    assert penalty.dual_norm(gradient) == pytest.approx(0.7 * beside, rel=1e-12)


@pytest.mark.parametrize("name", DOMAINS)
def test_what_is_asked_of_groups_is_what_their_blocks_say(name):
    penalty, alone = Group(DOMAINS[name], 0.7, 0.5), L1(DOMAINS[name], 0.7)
    blocks = [(a, b) for a, b, _ in blocks_of(penalty)]
    pairs = [len(a) for a, b in blocks if a[0] != b[0]]
    assert penalty.mean_group_size == pytest.approx(np.mean(pairs), rel=1e-12)
    assert alone.mean_group_size == 1
    marks = np.zeros((penalty.coordinates.size,) * 2, dtype=bool)
    for k, (a, b) in enumerate(blocks):
        marks[a[0], b[0]] = True
        assert penalty.count_chosen(marks) == k + 1
    marks = np.triu(np.ones_like(alone.weights, dtype=bool))
    assert alone.count_chosen(marks) == len(marks) * (len(marks) + 1) // 2
    assert penalty.n_parameters is penalty.interactions is alone.n_parameters is alone.interactions is None
    assert penalty.freed() is penalty


@pytest.mark.parametrize("name", DOMAINS)
@pytest.mark.parametrize("kind", [Group, L1])
def test_no_gradient_within_errors_has_a_larger_dual_norm(name, kind):
    penalty, rng = kind(DOMAINS[name], 0.7, 0.5), np.random.default_rng(5)
    gradient, errors = random_theta(penalty), 0.3
    largest = penalty.largest_dual_norm(gradient, np.full(gradient.shape, errors))
    assert penalty.dual_norm(gradient) < largest <= penalty.dual_norm(gradient) + errors / 0.5
    for _ in range(20):
        off = np.triu(rng.normal(size=gradient.shape))
        off = np.where(penalty.coordinates.is_parameter, off + np.triu(off, 1).T, 0.0)
        off *= errors / np.maximum(penalty.sizes(off), 1e-300)
        assert penalty.dual_norm(gradient + off) <= largest + 1e-12
    assert kind(DOMAINS[name], 0.7, 0.0).largest_dual_norm(gradient, np.full(gradient.shape, errors)) == np.inf


def test_two_binary_variables_pay_what_they_pay_with_l1():
    domain = sf.Domain.binary(4)
    theta = random_theta(Group(domain, 0.3))
    np.testing.assert_allclose(Group(domain, 0.3).value(theta), L1(domain, 0.3, 0.0).value(theta), rtol=1e-12)


@pytest.mark.parametrize("name", DOMAINS)
def test_quadratic_models_are_minimised(name):
    """Against a general minimiser, which starts from the answer and finds nothing lower nearby or far."""
    penalty = Group(DOMAINS[name], 0.4)
    rng = np.random.default_rng(3)
    a, b = np.nonzero(np.triu(penalty.coordinates.is_parameter))
    factor = rng.normal(size=(len(a), len(a) // 2))
    curvature = factor @ factor.T / len(a) + 0.01 * np.eye(len(a))
    theta, gradient = 0.3 * random_theta(penalty), 0.2 * random_theta(penalty, 4)
    moves = descend_by_group(penalty, a, b, curvature, theta[a, b], gradient[a, b], tol=1e-12, max_epochs=10_000)

    def objective(own):
        whole = np.zeros_like(theta)
        whole[a, b] = whole[b, a] = theta[a, b] + own
        return gradient[a, b] @ own + own @ curvature @ own / 2 + penalty.value(whole)

    whole = np.zeros_like(theta)
    whole[a, b] = whole[b, a] = theta[a, b] + moves
    slope = np.zeros_like(theta)
    slope[a, b] = slope[b, a] = gradient[a, b] + curvature @ moves
    assert np.abs(penalty.subgradient(whole, slope)).max() < 1e-9
    assert 0 < sum(not whole[first, second].any() for first, second, _ in blocks_of(penalty)) < 6
    found = minimize(objective, np.zeros(len(a)), method="Powell", options={"maxiter": 200, "xtol": 1e-10})
    assert objective(moves) <= found.fun + 1e-9
    quadratic = Quadratic(a, b, curvature, 1.0, np.zeros(len(a)), None)
    again, bends = penalty.minimise(quadratic, theta, gradient, tol=1e-12, max_epochs=10_000)
    np.testing.assert_allclose(again, moves, atol=1e-8)
    np.testing.assert_allclose(bends, curvature @ again, atol=1e-9)


def test_other_strengths_are_refused():
    for alpha, main in ((-1, 0), (np.nan, 0), (1, 2)):
        with pytest.raises(ValueError, match=r"alpha is|main is"):
            Group(DOMAINS["mixed"], alpha, main)
