"""A curvature of which only entries near the diagonal of the graph are kept."""

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest

import sparsefield as sf
from sparsefield.gradients import BestDraws, Simulation
from sparsefield.inference import Chains, EnumeratedStates
from sparsefield.model import as_theta
from sparsefield.objective import L1, Group, Problem, Quadratic, SparseQuadratic, find_near
from support import zoo
from support.problems import look_at


def make_ring(p=9, coupling=0.8):
    """Return a field whose variables stand in a ring, each with an interaction of 0.05 across it besides."""
    pair = np.zeros((p, p))
    for i in range(p):
        pair[i, (i + 1) % p] = pair[(i + 1) % p, i] = coupling
    pair[0, p // 2] = pair[p // 2, 0] = 0.05
    return sf.PairwiseMRF.binary(np.linspace(-1, 0.3, p), pair)


def draws_of(model, n, schedule=None):
    """Return draws of a field as a Newton step sees them."""
    problem = Problem.with_l1(model.moments(), model.domain, 0.02)
    return look_at(problem, as_theta(model), schedule or BestDraws(max_states=0), Simulation(n, 1)).draws


def all_statistics(domain):
    """Return the slots of all statistics."""
    return np.nonzero(np.triu(L1(domain, 1.0).coordinates.is_parameter))


def mask_of(near):
    """Return which entries are kept as a matrix, with its diagonal."""
    w = len(near.starts) - 1
    kept = np.eye(w, dtype=bool)
    kept[np.repeat(np.arange(w), np.diff(near.starts)), near.columns] = True
    return kept | kept.T


@pytest.mark.parametrize("reach", [0, 1, 2, 3])
def test_statistics_are_near_as_their_variables_are_in_the_graph(reach):
    model = make_ring()
    a, b = all_statistics(model.domain)
    near = find_near(as_theta(model), model.domain.slot_variables, a, b, reach)
    graph = nx.from_numpy_array(np.abs(model.interactions) > 0.1)  # what crosses the ring is too weak
    away = dict(nx.all_pairs_shortest_path_length(graph))
    least = [
        [min(away[x][y] for x in {a[c], b[c]} for y in {a[d], b[d]}) for d in range(len(a))] for c in range(len(a))
    ]
    np.testing.assert_array_equal(mask_of(near), np.array(least) <= reach)
    assert all(near.columns[low:high].tolist() == sorted(near.columns[low:high]) for low, high in pairwise(near.starts))


def test_slots_of_one_variable_are_near():
    model = zoo.random_field([3, 4, 2, 3], seed=1, scale=0.0)
    a, b = all_statistics(model.domain)
    near = find_near(as_theta(model), model.domain.slot_variables, a, b, 2)
    first, second = model.domain.slot_variables[a], model.domain.slot_variables[b]
    shares = (
        (first[:, None] == first)
        | (first[:, None] == second)
        | (second[:, None] == first)
        | (second[:, None] == second)
    )
    np.testing.assert_array_equal(mask_of(near), shares)


@pytest.mark.parametrize("n", [1, 700, 20_000])
@pytest.mark.parametrize("model", [make_ring(), zoo.ZOO["mixed, no reference"], zoo.ZOO["no reference"]], ids=str)
def test_kept_entries_are_those_of_the_dense_covariance(model, n):
    draws = Chains(model.domain, n, seed=1).draws()
    a, b = all_statistics(model.domain)
    near = find_near(as_theta(model), model.domain.slot_variables, a, b, 0)
    sparse, dense = SparseQuadratic.of(draws, a, b, near), Quadratic.of(draws, a, b)
    kept = mask_of(near)
    assert not kept.all()
    np.testing.assert_array_equal(sparse.means, dense.means)
    np.testing.assert_array_equal(sparse.variances, dense.variances)
    without = sparse.covariance(np.arange(len(a))) - np.diag(sparse.ridge)
    np.testing.assert_allclose(without, np.where(kept, dense.centred(), 0.0), atol=1e-15)  # but for rounding
    some = np.array([5, 2, 7])
    np.testing.assert_array_equal(sparse.covariance(some), sparse.covariance(np.arange(len(a)))[np.ix_(some, some)])


def test_all_states_and_features_have_kept_entries_too():
    model = zoo.random_field([3, 2, 3], seed=1)
    a, b = all_statistics(model.domain)
    near = find_near(0 * as_theta(model), model.domain.slot_variables, a, b, 0)
    rows = np.repeat(np.arange(len(a)), np.diff(near.starts))
    penalty = Group(model.domain, 0.1)
    for draws in (EnumeratedStates(model), penalty.coordinates.draws(EnumeratedStates(model))):
        products, scale, means = draws.second_moments(a, b)
        found = draws.near_moments(a, b, near.starts, near.columns)
        np.testing.assert_array_equal(found[0], products[rows, near.columns])
        np.testing.assert_array_equal(found[2], means)
        assert found[1] == scale


def test_descent_finds_the_minimum_of_the_sparse_model():
    model = make_ring()
    a, b = all_statistics(model.domain)
    near = find_near(as_theta(model), model.domain.slot_variables, a, b, 1)
    quadratic = SparseQuadratic.of(draws_of(model, 20_000), a, b, near)
    matrix = quadratic.covariance(np.arange(len(a)))
    assert np.linalg.eigvalsh(matrix).min() > 0
    theta, gradient = as_theta(model)[a, b], 0.1 * np.random.default_rng(1).normal(size=len(a))
    weights = np.where(a == b, 0.0, 0.05)
    moves, bends, has_minimum = quadratic.descend(theta, gradient, weights, tol=1e-13, max_epochs=10**5)
    assert has_minimum
    np.testing.assert_allclose(bends + quadratic.ridge * moves, matrix @ moves, atol=1e-12)
    slope, there = gradient + matrix @ moves, theta + moves
    assert np.any((there == 0) & (weights > 0))
    np.testing.assert_allclose(np.where(there != 0, slope + weights * np.sign(there), 0.0), 0.0, atol=1e-11)
    assert np.all(np.abs(slope)[there == 0] <= weights[there == 0] + 1e-11)


def test_descent_ends_where_the_model_has_no_minimum():
    w = 3
    columns = np.array([1, 2, 0, 2, 0, 1], dtype=np.int32)
    quadratic = SparseQuadratic(
        np.arange(w),
        np.arange(w),
        np.array([0, 2, 4, 6]),
        columns,
        np.full(6, -0.2),
        np.full(w, 0.5),
        np.full(w, 0.25),
        10**6,
    )
    assert np.linalg.eigvalsh(quadratic.covariance(np.arange(w))).min() < 0
    options = {"tol": 1e-9, "max_epochs": 10**4, "most": 10.0}
    moves, _, has_minimum = quadratic.descend(np.zeros(w), np.full(w, -0.1), np.zeros(w), **options)
    assert not has_minimum
    assert np.isfinite(moves).all()
    kept = quadratic.descend(np.zeros(w), np.full(w, -0.1), np.full(w, 0.2), **options)  # what is penalised stays
    assert kept[2]
    assert not kept[0].any()


def test_regressions_on_what_is_near_are_those_of_an_inverse():
    model = make_ring()
    a, b = all_statistics(model.domain)
    near = find_near(as_theta(model), model.domain.slot_variables, a, b, 4)
    quadratic = SparseQuadratic.of(draws_of(model, 20_000), a, b, near)
    among = np.random.default_rng(1).uniform(size=len(a)) < 0.5
    wanted = np.array([0, 3, 11, 20])
    found = quadratic.rests(wanted, among)
    for c, rest in zip(wanted, found, strict=True):
        some = np.flatnonzero(among | (np.arange(len(a)) == c))
        inverse = np.linalg.inv(quadratic.covariance(some))
        own = np.flatnonzero(some == c)[0]
        assert rest == pytest.approx(1 / inverse[own, own], rel=1e-9)
