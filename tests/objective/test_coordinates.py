"""Parameters of features: the same fields, moments, draws and gradients as in slots, by enumeration."""

import itertools

import numpy as np
import pytest

import sparsefield as sf
from sparsefield.inference import Chains, EnumeratedStates, Scan
from sparsefield.model import sum_once
from sparsefield.objective import Features, Slots, variances_of
from sparsefield.pseudolikelihood import PseudoLikelihoodLoss
from support.zoo import random_field

SCORES = {"nominal": None, "ordered": ((0, 1, 5), None, (0, 1, 2, 3), None)}


def make(kind, scores, reference, seed=1):
    """Return coordinates, and parameters of a field in them."""
    model = random_field([3, 2, 4, 1], seed=seed, scale=0.7, reference=reference)
    domain = sf.Domain(model.domain.names, model.domain.levels, model.domain.reference, SCORES[scores])
    coordinates = Features(domain, kind)
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=(coordinates.size,) * 2)
    return coordinates, np.where(coordinates.is_parameter, theta + theta.T, 0.0)


def model_of(coordinates, theta):
    slots = coordinates.to_slots(theta)
    return sf.PairwiseMRF(coordinates.domain, np.diagonal(slots), slots - np.diag(np.diagonal(slots)))


def statistics(coordinates):
    """Return all states, and features and products of two of them less those at the reference, by their definition."""
    domain, basis = coordinates.domain, coordinates.basis
    states = np.array(list(itertools.product(*map(range, domain.n_levels))))
    starts = np.cumsum(domain.n_levels) - domain.n_levels
    values = basis.values.toarray()
    f = np.array([[values[starts[v] + x[v], a] for a, v in enumerate(basis.variables)] for x in states])
    at = np.zeros(len(basis.variables))
    if domain.reference is not None:
        at = np.array([values[starts[v] + domain.reference[v], a] for a, v in enumerate(basis.variables)])
    a, b = np.nonzero(np.triu(coordinates.is_parameter))
    own = np.where(a == b, f[:, a], f[:, a] * f[:, b]) - np.where(a == b, at[a], at[a] * at[b])
    return states, a, b, own


CASES = [
    pytest.param(kind, scores, reference, id=f"{kind}, {scores}, reference {reference}")
    for kind in ("contrasts", "levels")
    for scores in SCORES
    for reference in ("first", "last", None)
    if not (kind == "levels" and reference is None)  # which are as many features as slots, and dependent
]


@pytest.mark.parametrize(("kind", "scores", "reference"), CASES)
def test_exponents_are_those_of_the_field(kind, scores, reference):
    coordinates, theta = make(kind, scores, reference)
    states, a, b, own = statistics(coordinates)
    model = model_of(coordinates, theta)
    exponents = own @ theta[a, b]
    np.testing.assert_allclose(-model.energy(states), exponents, atol=1e-12)
    np.testing.assert_allclose(coordinates.of_slots(coordinates.to_slots(theta)), theta, atol=1e-12)


@pytest.mark.parametrize(("kind", "scores", "reference"), CASES)
def test_variances_of_features_follow_from_the_frequencies_of_slots(kind, scores, reference):
    coordinates, theta = make(kind, scores, reference)
    moments = EnumeratedStates(model_of(coordinates, 0.3 * theta)).moments
    expected = np.diagonal(variances_of(coordinates.moments(moments)))
    np.testing.assert_allclose(coordinates.main_variances(np.diagonal(moments.pair)), expected, atol=1e-12)
    slots = Slots(coordinates.domain)
    np.testing.assert_allclose(slots.main_variances(np.diagonal(moments.pair)), np.diagonal(variances_of(moments)))
    assert slots.interacts.all()
    pairs = coordinates.is_parameter & ~np.eye(coordinates.size, dtype=bool)
    assert np.array_equal(coordinates.interacts, pairs.any(axis=0))
    counts = [coordinates.interacts[coordinates.variables == i].sum() for i in range(coordinates.domain.n_variables)]
    assert np.array_equal(coordinates.n_interacting, counts)


@pytest.mark.parametrize(("kind", "scores", "reference"), CASES)
def test_moments_and_draws_are_those_of_features(kind, scores, reference):
    coordinates, theta = make(kind, scores, reference)
    states, a, b, own = statistics(coordinates)
    model = model_of(coordinates, 0.3 * theta)
    law = np.exp(model.log_prob(states))
    means = law @ own
    covariance = (own.T * law) @ own - np.outer(means, means)
    everything = EnumeratedStates(model)
    seen = coordinates.moments(everything.moments)
    np.testing.assert_allclose(seen.pair[a, b], means, atol=1e-12)
    np.testing.assert_allclose(variances_of(seen)[a, b], np.diagonal(covariance), atol=1e-12)
    draws = coordinates.draws(everything)
    products, scale, found = draws.second_moments(a, b)
    np.testing.assert_allclose(found, means, atol=1e-12)
    np.testing.assert_allclose(scale * products - np.outer(found, found), covariance, atol=1e-12)
    move = theta[a, b]
    values = draws.along(theta)
    assert sum_once(theta * seen.pair) == pytest.approx(means @ move, rel=1e-12)
    np.testing.assert_allclose(draws.project(values)[a, b], covariance @ move, atol=1e-12)


@pytest.mark.parametrize("limit", [0.0, np.inf], ids=["counted", "added up"])
@pytest.mark.parametrize("scores", SCORES)
def test_chains_have_the_second_moments_of_their_rows(monkeypatch, scores, limit):
    monkeypatch.setattr("sparsefield.objective._feature_draws._COUNTS_FASTER", 0.0 if limit else np.inf)
    coordinates, theta = make("contrasts", scores, "first")
    model = model_of(coordinates, 0.3 * theta)
    chains = Chains(model.domain, 3000, seed=1)
    chains.sweep(Scan(model), 5)
    states, a, b, own = statistics(coordinates)
    index = np.ravel_multi_index(chains.codes().T, tuple(model.domain.n_levels))
    order = np.ravel_multi_index(states.T, tuple(model.domain.n_levels))
    rows = own[np.argsort(order)][index]
    products, scale, means = coordinates.draws(chains.draws()).second_moments(a, b)
    # Single precision is right to 2^-24 of each of 3000 products, whose sizes are below 4, and of their sum.
    np.testing.assert_allclose(means, rows.mean(axis=0), atol=1e-5)
    np.testing.assert_allclose(scale * products, rows.T @ rows / 3000, atol=1e-4)


def test_features_of_two_levels_are_half_below_and_half_above():
    coordinates = Features(sf.Domain.binary(3), "contrasts")
    np.testing.assert_allclose(coordinates.basis.values.toarray()[:2, 0], [-0.5, 0.5], atol=1e-15)
    domain = sf.Domain(("a",), ((0, 1, 2, 3, 4),), (0,), ((0, 1, 2, 3, 4),))
    values = Features(domain, "contrasts").basis.values.toarray()
    np.testing.assert_allclose(values.T @ values, 5 / 4 * np.eye(4), atol=1e-14)
    np.testing.assert_allclose(np.diff(values[:, 0]), np.full(4, values[1, 0] - values[0, 0]), atol=1e-14)


@pytest.mark.parametrize("scores", SCORES)
def test_losses_of_pairs_are_those_of_all_indicators(scores):
    """Also where a level is never seen, and in main effects that are scaled."""
    coordinates, theta = make("contrasts", scores, "first")
    table = model_of(coordinates, 0.3 * theta).sample(300, n_sweeps=20, seed=1)
    codes = table.codes.copy()
    codes[codes[:, 2] == 3, 2] = 0
    table = sf.Table(table.domain, codes)
    weights = np.random.default_rng(1).random(300)
    unseen = sf.data.find_unseen(table, weights)
    assert unseen.levels
    loss = PseudoLikelihoodLoss(table, weights, unseen, coordinates)
    pairs = [(0, 1), (1, 2)]
    variables = coordinates.variables
    is_in = np.isin(variables[:, None] * 4 + variables, [4 * i + j for i, j in pairs] + [4 * j + i for i, j in pairs])
    theta = np.where(is_in | np.eye(len(theta), dtype=bool), 0.3 * theta, 0.0)
    value, gradient = loss.evaluate(theta)
    for is_free in (True, False):
        own = loss.of_pairs(pairs, is_free=is_free)
        vector = own.take(theta)
        np.testing.assert_allclose(own.put(vector, len(theta)), theta, atol=1e-12)
        found, slope = own.evaluate(vector)
        assert found == pytest.approx(value, rel=1e-12)
        start = own.starts[0]
        blocks = np.concatenate(
            [
                gradient[
                    np.ix_(
                        np.flatnonzero(coordinates.basis.interacts & (variables == i)),
                        np.flatnonzero(coordinates.basis.interacts & (variables == j)),
                    )
                ].ravel()
                for i, j in pairs
            ]
        )
        np.testing.assert_allclose(slope[start:], blocks, atol=1e-12)
        # The gradient in scaled main effects, by differences.
        for k in range(start):
            step = np.zeros_like(vector)
            step[k] = 1e-5
            rise = own.evaluate(vector + step)[0] - own.evaluate(vector - step)[0]
            assert rise / 2e-5 == pytest.approx(slope[k], abs=1e-8)
