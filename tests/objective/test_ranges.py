"""What statistics of features do: their ranges, their covariances from tables of frequencies, their errors."""

import numpy as np
import pytest

from sparsefield.certificates import concentration
from sparsefield.objective._ranges import count_statements, depends, extremes, spans, widths
from sparsefield.objective._residual_variances import largest_variances, rarest_share, rest_variances
from sparsefield.optimality._mean_errors import bound_errors, pull_bounds
from support.level_problems import N_LEVELS, make_level_problem
from support.noise import covariance
from support.plain_backend import Plain
from support.statistics_ import FALSE_ALARM

CASES = [*((kind, "group") for kind in N_LEVELS), ("ordered", "l1")]


def all_statistics(problem, seed=1):
    """Return a random field's probabilities of all states, and every statistic of features there, (n, size, size)."""
    rng, size = np.random.default_rng(seed), problem.coordinates.size
    theta = np.where(problem.coordinates.is_parameter, rng.normal(0, 0.7, (size, size)), 0.0)
    model = problem.model(np.triu(theta) + np.triu(theta, 1).T)
    states = Plain().states(model)
    values = np.zeros((len(states.p), size, size))
    for a, b in np.argwhere(np.triu(problem.coordinates.is_parameter)):
        unit = np.zeros((size, size))
        unit[a, b] = unit[b, a] = 1.0
        values[:, a, b] = values[:, b, a] = states.along(problem.coordinates.to_slots(unit))
    return model, states, values


def members(problem):
    """Return the parameters of each group, a list of pairs of index arrays; of one parameter each without groups."""
    a, b = np.nonzero(np.triu(problem.coordinates.is_parameter))
    groups = np.arange(len(a)) if problem.penalty.groups is None else problem.penalty.groups[a, b]
    return [(a[groups == g], b[groups == g]) for g in np.unique(groups)]


@pytest.mark.parametrize(("kind", "penalty"), CASES)
@pytest.mark.parametrize("reference", ["first", None])
def test_statistics_stay_within_their_ranges(kind, penalty, reference):
    problem = make_level_problem(kind, 0.05, penalty=penalty, reference=reference)
    _, _, values = all_statistics(problem)
    low, high = extremes(problem)
    own = problem.coordinates.is_parameter
    np.testing.assert_allclose(low[own], values.min(axis=0)[own], atol=1e-12)
    np.testing.assert_allclose(high[own], values.max(axis=0)[own], atol=1e-12)
    rng, width, groups = np.random.default_rng(1), widths(problem), members(problem)
    assert count_statements(problem) == len(groups)
    for a, b in groups:
        some = values[:, a, b]
        # Along the two states of a group that are furthest apart, and in directions by chance.
        k = np.linalg.norm(some - some[0], axis=1).argmax()
        for u in (some[k] - some[0], *rng.normal(size=(20, len(a)))):
            along = some @ (u / np.linalg.norm(u))
            assert np.ptp(along) <= width[a[0], b[0]] + 1e-12
        # What main effects explain leaves no more than products of centred features.
        main = values[:, np.unique(a), np.unique(a)], values[:, np.unique(b), np.unique(b)]
        centred = [own - own.mean(axis=0) for own in main]
        largest = np.linalg.norm(centred[0], axis=1) * (1 if a[0] == b[0] else np.linalg.norm(centred[1], axis=1))
        assert largest.max() <= spans(problem)[a[0], b[0]] + 1e-12
    assert depends(problem) == (reference is None and penalty == "l1")


@pytest.mark.parametrize(("kind", "penalty"), CASES)
@pytest.mark.parametrize("reference", ["first", "last"])
def test_covariances_of_groups_are_those_of_all_states(kind, penalty, reference):
    problem = make_level_problem(kind, 0.05, penalty=penalty, reference=reference)
    model, states, values = all_statistics(problem)
    moments = Plain().enumerate(model)[1]
    size, variables = problem.coordinates.size, problem.coordinates.variables
    raw, rest = largest_variances(problem, moments), rest_variances(problem, moments, np.ones(size, dtype=bool))
    for a, b in members(problem):
        own = covariance(states.p, values[:, a, b])
        assert raw[a[0], b[0]] == pytest.approx(np.linalg.eigvalsh(own)[-1], abs=1e-9)
        if a[0] == b[0]:
            continue
        main = np.flatnonzero((variables == variables[a[0]]) | (variables == variables[b[0]]))
        whole = covariance(states.p, np.hstack([values[:, a, b], values[:, main, main]]))
        k = len(a)
        left = own - whole[:k, k:] @ np.linalg.solve(whole[k:, k:], whole[k:, :k])
        assert rest[a[0], b[0]] == pytest.approx(np.linalg.eigvalsh(left)[-1], abs=1e-9)


def test_the_rarest_event_is_the_rarest_pair_of_levels():
    problem = make_level_problem("mixed", 0.05)
    model, states, _ = all_statistics(problem)
    moments = Plain().enumerate(model)[1]
    variables = problem.coordinates.variables
    a, b = np.flatnonzero(variables == 0)[0], np.flatnonzero(variables == 2)[0]
    codes = np.indices(tuple(problem.domain.n_levels)).reshape(4, -1).T
    table = np.zeros((3, 4))
    np.add.at(table, (codes[:, 0], codes[:, 2]), states.p)
    assert rarest_share(problem, moments, np.array([a]), np.array([b])) == pytest.approx(table.min(), rel=1e-6)
    alone = rarest_share(problem, moments, np.array([a]), np.array([a]))
    assert alone == pytest.approx(table.sum(axis=1).min(), rel=1e-6)


def test_errors_of_features_hold():
    problem, rng = make_level_problem("ordered", 0.05), np.random.default_rng(1)
    model, states, values = all_statistics(problem)
    chains = Plain().draw(model, 2000, seed=1, max_sweeps=10)[0]
    found = bound_errors(problem, model, chains.moments(), FALSE_ALARM)
    exact = np.einsum("s,sab->ab", states.p, values)
    seen = problem.see(chains.moments()).pair
    for a, b in members(problem):  # along a direction that has nothing to do with the draws
        u = rng.normal(size=len(a))
        assert abs((seen - exact)[a, b] @ u) <= np.linalg.norm(u) * found.means[a[0], b[0]]
    raw = np.sqrt(largest_variances(problem, Plain().enumerate(model)[1]))
    assert np.all(raw <= found.deviations + 1e-12)
    assert np.all(found.means < np.where(problem.coordinates.is_parameter, widths(problem) / 2, 1.0))  # not empty


@pytest.mark.parametrize("reference", ["first", "last", None])
def test_biases_of_features_are_bounded_by_those_of_slots(reference):
    problem = make_level_problem("mixed", 0.05, reference=reference)
    rng, size = np.random.default_rng(1), problem.domain.n_slots
    bounds = concentration(
        problem.model(np.zeros((problem.coordinates.size,) * 2)), problem.data.moments, confidence=0.9, kind="sharp"
    ).pair
    each, norms = problem.coordinates.pull_bounds(bounds), pull_bounds(problem, bounds)
    for _ in range(50):
        signs = np.sign(rng.normal(size=(size, size)))
        bias = problem.coordinates.pull(bounds * (np.triu(signs) + np.triu(signs, 1).T))
        assert np.all(np.abs(bias) <= each + 1e-12)
        assert np.all(problem.penalty.sizes(bias) <= norms + 1e-12)
