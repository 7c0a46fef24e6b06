"""Supports without their penalty: against the moments that they must have, and against exact gaps."""

import numpy as np
import pytest

import sparsefield as sf
from sparsefield.data import moments_of_table
from sparsefield.fitting import Learner, Options
from sparsefield.model import as_theta, pair_weights
from sparsefield.objective import GroupSupport, Problem, Support, describe_penalty, make_penalty
from sparsefield.optimality import bound_gap
from sparsefield.selection import relax
from sparsefield.tables import read_rows
from support.problems import make_table, theta_of

TABLE = make_table(8, 500)


@pytest.mark.parametrize("penalize_main", [False, True])
def test_a_relaxed_fit_has_the_frequencies_of_its_edges(penalize_main):
    learner = Learner(read_rows(TABLE), Options(penalize_main=penalize_main, solver=sf.Newton(tol=1e-8)))
    fit = learner.learn(0.03)
    found = relax(learner, fit)
    assert found.status.code == "converged"
    assert found.penalised is fit
    edges = fit.model.interactions != 0
    assert not found.model.interactions[~edges].any()  # one that made up for penalised main effects may be zero now
    # The frequency of a pair with an edge is missed by half a row, 1 / 1000, and by tol; that of a level alone by none.
    left = np.abs(found.model.moments().pair - moments_of_table(TABLE).pair)
    assert left[edges].max() <= 1 / 1000 + 1e-8
    assert np.diagonal(left).max() <= (1 / 1000 if penalize_main else 0) + 1e-8
    # The penalised fit misses them by alpha.
    assert np.abs(fit.model.moments().pair - moments_of_table(TABLE).pair)[edges].max() == pytest.approx(0.03)


def test_edges_of_levels_that_never_meet_are_finite():
    x = np.repeat([[0, 0], [0, 1], [1, 0]], [50, 25, 25], axis=0)
    learner = Learner(read_rows(x), Options())
    found = relax(learner, learner.learn(0.02))
    weight = found.model.interactions[0, 1]
    # Half of 100 rows in which both are on: the odds ratio is that of frequencies 0.505, 0.245, 0.245 and 0.005.
    assert weight == pytest.approx(np.log(0.505 * 0.005 / 0.245**2), rel=1e-3)


def test_other_interactions_stay_zero_and_the_gap_is_known():
    learner = Learner(read_rows(TABLE), Options(solver=sf.Newton(tol=1e-8)))
    rng = np.random.default_rng(1)
    support = np.triu(rng.random((8, 8)) < 0.3, 1)
    support = support | support.T
    penalty = Support(TABLE.domain, 0.001, 0.0, support)
    fit = learner.learn(0.001, penalty=penalty)
    assert not fit.model.interactions[~support].any()
    assert bound_gap(Problem(learner.data, TABLE.domain, penalty), as_theta(fit.model)).bound < 1e-9
    assert (fit.penalty, fit.penalize_main) == ("Support", False)
    np.testing.assert_array_equal(fit.support, support)
    # What is outside has a gradient below its weight of one, whatever it is.
    assert np.abs(fit.model.moments().pair - learner.data.moments.pair).max() < 1


def test_a_path_has_relaxed_fits_beside_it():
    path = sf.path(TABLE, n_alphas=6, relax=True, solver=sf.Newton(tol=1e-8))
    assert len(path.relaxed) == len(path.relaxed_likelihoods) == 6
    for fit, relaxed, known in zip(path.fits, path.relaxed, path.relaxed_likelihoods, strict=True):
        assert not relaxed.model.interactions[fit.model.interactions == 0].any()
        assert known.value == pytest.approx(relaxed.model.log_prob(TABLE.codes).mean(), rel=1e-12)
    alone = sf.path(TABLE, n_alphas=6, solver=sf.Newton(tol=1e-8))
    for fit, other in zip(path.fits, alone.fits, strict=True):
        np.testing.assert_allclose(theta_of(fit), theta_of(other), atol=1e-5)  # no curvature here is below 2e-3
    # A support without its penalty is nearer to the data.
    assert all(a.value >= b.value - 1e-9 for a, b in zip(path.relaxed_likelihoods, path.likelihoods, strict=True))


LEVELS = (3, 4, 2, 3)
SCORES = ((0.0, 1.0, 2.0), None, None, (0.0, 1.0, 3.0))


def make_levels(scores=None, reference=(0, 0, 0, 0)):
    rng = np.random.default_rng(4)
    codes = np.column_stack([rng.integers(0, k, 400) for k in LEVELS]).astype(np.uint8)
    codes[:, 3] = np.where(rng.random(400) < 0.6, codes[:, 0], codes[:, 3])
    codes[:, 1] = np.where(rng.random(400) < 0.5, codes[:, 0] + codes[:, 2], codes[:, 1])
    domain = sf.Domain(tuple("abcd"), tuple(tuple(range(k)) for k in LEVELS), reference, scores)
    return sf.Table(domain, np.asfortranarray(codes))


@pytest.mark.parametrize("scores", [None, SCORES])
def test_edges_of_more_levels_are_kept_as_a_whole(scores):
    table = make_levels(scores)
    learner = Learner(read_rows(table), Options(solver=sf.Newton(tol=1e-8)))
    fit = learner.learn(0.04)
    found = relax(learner, fit)
    assert (found.status.code, found.penalty, found.penalize_main) == ("converged", "GroupSupport", False)
    edges, kept = (pair_weights(table.domain, own.model.interactions) for own in (fit, found))
    assert 0 < np.count_nonzero(np.triu(edges)) < 6
    assert np.array_equal(edges != 0, kept != 0)
    # The gradient of an edge has half a row as its norm, 1 / 800, times what that counts; of main effects it is zero.
    penalty = GroupSupport(table.domain, 1 / 800, 0.0, found.support)
    moments = found.model.moments()
    gradient = Problem(learner.data, table.domain, penalty).gradient(penalty.coordinates.moments(moments))
    sizes = penalty.sizes(gradient)
    counts = np.sqrt([1 if scores and scores[i] else k - 1 for i, k in enumerate(LEVELS)])
    counts = np.outer(counts, counts)[penalty.coordinates.variables[:, None], penalty.coordinates.variables]
    np.testing.assert_allclose(sizes[penalty.kept], counts[penalty.kept] / 800, atol=1e-8)
    assert np.diagonal(sizes).max() <= 1e-8
    outside = penalty.weights > 0.1
    assert outside.any()
    assert np.all(sizes[outside] < penalty.weights[outside])


def test_ordered_edges_keep_their_single_parameter():
    table = make_levels(SCORES)
    learner = Learner(read_rows(table), Options(solver=sf.Newton(tol=1e-8)))
    found = relax(learner, learner.learn(0.04))
    block = np.zeros((3, 3))  # of a and d, reference levels first
    block[1:, 1:] = found.model.interactions[:2, 6:]
    block -= block.mean(axis=0)
    block -= block.mean(axis=1, keepdims=True)
    scores = np.outer(np.array(SCORES[0]) - 1, np.array(SCORES[3]) - 4 / 3)
    share = (block * scores).sum() / (scores**2).sum()
    assert share > 0
    np.testing.assert_allclose(block, share * scores, atol=1e-12)


@pytest.mark.parametrize("scores", [None, SCORES])
@pytest.mark.parametrize("kind", [Support, GroupSupport])
@pytest.mark.parametrize("reference", [(0, 0, 0, 0), (1, 3, 1, 0), None])
def test_supports_are_made_again_from_what_a_fit_keeps(kind, scores, reference):
    table = make_levels(scores, reference)
    domain = table.domain
    rng = np.random.default_rng(2)
    marks = np.triu(rng.random((domain.n_slots, domain.n_slots)) < 0.1)
    penalty = kind(domain, 0.001, 0.0, marks | marks.T)
    again = make_penalty(domain, **describe_penalty(penalty))
    assert type(again) is kind
    assert np.array_equal(again.weights, penalty.weights)
    assert again.n_parameters == penalty.n_parameters
    assert penalty.interactions[marks & (domain.slot_variables[:, None] != domain.slot_variables)].all()
    # Alpha is the least at which zero would be optimal, for a gradient that is at the weights.
    rounded = np.where(penalty.weights > 0, penalty.weights, 0.0)
    if kind is GroupSupport:
        rounded = penalty.project(10 * penalty.weights)
    assert penalty.dual_norm(rounded) == pytest.approx(0.001)


def test_the_gap_of_relaxed_groups_is_known():
    table = make_levels(SCORES)
    learner = Learner(read_rows(table), Options(solver=sf.Newton(tol=1e-8)))
    found = sf.certify(relax(learner, learner.learn(0.04)), table)
    assert found.optimality.kind == "exact"
    assert found.optimality.gap < 1e-9
    assert found.optimality.n_parameters == learner_parameters(found)


def learner_parameters(fit):
    """Count main effects, and what edges have: of ordered variables one each, of others one less than their levels."""
    sizes, edges = (1, 3, 1, 1), pair_weights(fit.model.domain, fit.model.interactions) != 0
    return 2 + 3 + 1 + 2 + sum(sizes[i] * sizes[j] for i in range(4) for j in range(i) if edges[i, j])


@pytest.mark.parametrize("penalty", ["group", "l1"])
def test_a_path_of_more_levels_has_relaxed_fits_beside_it(penalty):
    table = make_levels(SCORES)
    path = sf.path(table, n_alphas=5, relax=True, solver=sf.Newton(tol=1e-8), penalty=penalty)
    for fit, relaxed, known in zip(path.fits, path.relaxed, path.relaxed_likelihoods, strict=True):
        alone = relax(Learner(read_rows(table), Options(solver=sf.Newton(tol=1e-8), penalty=penalty)), fit)
        np.testing.assert_allclose(theta_of(relaxed), theta_of(alone), atol=1e-4)
        assert known.value == pytest.approx(relaxed.model.log_prob(table.codes).mean(), rel=1e-12)
    assert all(a.value >= b.value - 1e-9 for a, b in zip(path.relaxed_likelihoods, path.likelihoods, strict=True))
