"""More than two levels, ordered or not: optima by enumeration, under all penalties and parametrisations."""

from dataclasses import replace

import numpy as np
import pytest

import sparsefield as sf
from sparsefield.data import Domain, Table, find_unseen
from sparsefield.model import pair_weights
from sparsefield.objective import Group, Observed, Problem, choose_penalty
from sparsefield.pseudolikelihood import PSEUDO, solve_pseudo_likelihood
from support.naive_optimum import contrasts, indicators, minimise
from support.zoo import random_field

ORDERED = (None, (0.0, 1.0, 2.0), (0.0, 1.0, 5.0), None)
REFERENCES = {"first": (0, 0, 0, 0), "mixed": (2, 0, 1, 2), "none": None}


def make_table(n=400, seed=3, n_levels=(3, 3, 3, 3), scale=0.7):
    return random_field(list(n_levels), seed=seed, scale=scale).sample(n, n_sweeps=100, seed=seed)


def in_domain(table, reference=None, scores=None):
    return Table(Domain(table.domain.names, table.domain.levels, reference, scores), table.codes)


@pytest.mark.parametrize("scores", [None, ORDERED], ids=["nominal", "ordered"])
@pytest.mark.parametrize(
    ("kind", "name"), [("group", "first"), ("group", "mixed"), ("group", "none"), ("l1", "first"), ("l1", "mixed")]
)
def test_fits_of_three_levels_are_the_optimum(kind, name, scores):
    """By another solver, in another basis, over all states."""
    reference = REFERENCES[name]
    table = in_domain(make_table(), reference, scores)
    own = (None,) * 4 if scores is None else scores
    features = [
        contrasts(3, own[i]) if kind == "group" or own[i] is not None else indicators(3, reference[i]) for i in range(4)
    ]
    best, blocks = minimise(table.codes, features, 0.04, groups=kind == "group")
    assert 0 < sum(block.any() for block in blocks.values()) < 6
    for steps in (sf.Newton(tol=1e-8), sf.Proximal(schedule="exact", tol=1e-7, max_iter=3000)):
        fit = sf.learn(table, 0.04, penalty=kind, solver=steps)
        penalty = choose_penalty(table.domain, 0.04, kind, penalize_main=False)
        problem = Problem(Observed(sf.data.moments_of_table(table)), table.domain, penalty)
        # Both ends have gradients of 1e-7 at most, over curvatures of 1e-3 at least: 1e-11 of the objective.
        assert problem.objective(problem.theta(fit.model)) == pytest.approx(best, abs=1e-10)
        strengths = pair_weights(table.domain, fit.model.interactions)
        for (i, j), block in blocks.items():
            centred = block - block.mean(0) - block.mean(1)[:, None] + block.mean()
            assert abs(strengths[i, j]) == pytest.approx(4 / 3 * np.linalg.norm(centred), abs=1e-4)
    certified = sf.certify(fit, table)
    assert certified.optimality.kind == "exact"
    assert 0 <= certified.optimality.gap < 1e-6


def relabelled(table, permutations):
    """Give levels other codes: level k of variable i becomes permutations[i][k]."""
    codes = np.column_stack([np.array(own)[table.codes[:, i]] for i, own in enumerate(permutations)])
    return Table(table.domain, np.asfortranarray(codes.astype(np.uint8)))


@pytest.mark.parametrize("objective", ["likelihood", "pseudolikelihood"])
def test_nothing_depends_on_reference_or_order_of_levels(objective):
    table = make_table(n_levels=(3, 4, 2, 3))

    def fit(own):
        if objective == "likelihood":
            return sf.learn(own, 0.03, solver=sf.Newton(tol=1e-9)).model
        return solve_pseudo_likelihood(own, 0.03, tol=1e-9).model

    first = fit(in_domain(table, (0, 0, 0, 0)))
    strengths = np.abs(pair_weights(first.domain, first.interactions))
    assert 0 < np.count_nonzero(np.triu(strengths)) < 6
    law = first.log_prob(table.codes)
    for reference in ((2, 3, 1, 1), None):
        other = fit(in_domain(table, reference))
        np.testing.assert_allclose(other.log_prob(table.codes), law, atol=1e-5)
        np.testing.assert_allclose(np.abs(pair_weights(other.domain, other.interactions)), strengths, atol=1e-5)
    permutations = [(2, 0, 1), (1, 3, 0, 2), (1, 0), (0, 2, 1)]
    moved = relabelled(in_domain(table, (0, 0, 0, 0)), permutations)
    other = fit(moved)
    np.testing.assert_allclose(other.log_prob(moved.codes), law, atol=1e-5)
    np.testing.assert_allclose(np.abs(pair_weights(other.domain, other.interactions)), strengths, atol=1e-5)
    assert np.array_equal(pair_weights(other.domain, other.interactions) != 0, strengths != 0)


def test_two_levels_are_the_same_as_groups():
    table = sf.datasets.make_field(7, seed=1).sample(500, method="perfect", seed=1)
    for schedule, how in (("auto", {}), ("perfect", {"gap": 1e-4})):
        steps = sf.Newton(schedule=schedule, tol=1e-8)
        one, other = (sf.learn(table, 0.04, penalty=kind, solver=steps, **how) for kind in ("l1", "group"))
        # With draws both ends are within about a gap of the optimum, whose curvature is 0.01 at least here.
        np.testing.assert_allclose(one.model.interactions, other.model.interactions, atol=0.1 if how else 1e-6)
    ends = [solve_pseudo_likelihood(table, 0.04, penalty=kind, tol=1e-8).model for kind in ("l1", "group")]
    np.testing.assert_allclose(ends[0].interactions, ends[1].interactions, atol=1e-6)


def test_units_of_scores_do_not_matter():
    table = make_table()
    fits = [
        sf.learn(in_domain(table, (0,) * 4, (scores,) * 4), 0.03, solver=sf.Newton(tol=1e-9))
        for scores in ((0, 1, 3), (10, 30, 70), (-0.1, 0.0, 0.2))
    ]
    for fit in fits[1:]:
        np.testing.assert_allclose(fit.model.interactions, fits[0].model.interactions, atol=1e-6)


def test_ordered_variables_have_one_number_with_a_sign():
    rng = np.random.default_rng(1)
    base = rng.integers(0, 4, 2000)
    up = np.clip(base + rng.integers(-1, 2, 2000), 0, 3)
    down = 3 - np.clip(base + rng.integers(-1, 2, 2000), 0, 3)
    table = sf.encode(np.column_stack([base, up, down]), ordinal=True)
    fit = sf.learn(table, 0.02)
    weights = {row["first"] + row["second"]: row["weight"] for row in sf.edge_table(fit).iter_rows(named=True)}
    assert weights["x0x1"] > 0 > weights["x0x2"]
    interactions = fit.model.interactions
    for i, j in ((0, 1), (0, 2)):
        block = interactions[3 * i : 3 * i + 3, 3 * j : 3 * j + 3]
        np.testing.assert_allclose(block, block[0, 0] * np.outer([1, 2, 3], [1, 2, 3]), rtol=1e-9)


@pytest.mark.parametrize("scores", [None, ((0, 1, 2), None, (0, 1, 2), None)], ids=["nominal", "ordered"])
def test_draws_lead_to_the_optimum_too(scores):
    table = in_domain(make_table(800), (0,) * 4, scores)
    penalty = Group(table.domain, 0.03)
    problem = Problem(Observed(sf.data.moments_of_table(table)), table.domain, penalty)
    best = problem.objective(problem.theta(sf.learn(table, 0.03, solver=sf.Newton(tol=1e-8)).model))
    gaps = []
    for seed in range(5):
        fit = sf.learn(table, 0.03, solver=sf.Newton(schedule=300), gap=0.0005, seed=seed)
        gaps.append(problem.objective(problem.theta(fit.model)) - best)
    # What noise costs is about the gap on average: k >= 8 parameters make it half a chi-square of k degrees of freedom
    # over n. Five of them have a mean above four times that with a probability below 1e-6.
    assert min(gaps) >= 0
    assert np.mean(gaps) < 4 * 0.0005


@pytest.mark.parametrize("scores", [None, ((0, 1, 2), None, (0, 1, 2), None)], ids=["nominal", "ordered"])
@pytest.mark.parametrize("kind", ["group", "l1"])
def test_pseudo_likelihoods_have_the_smallest_subgradient_zero(kind, scores):
    table = in_domain(make_table(300, n_levels=(3, 2, 3, 4)), (1, 0, 0, 2), scores)
    weights = np.random.default_rng(1).random(300)
    alpha = 0.012 if scores is None else 0.02
    fit = solve_pseudo_likelihood(table, alpha, penalty=kind, weights=weights, tol=1e-8)
    assert fit.status.code == "converged"
    # The smallest subgradient by differences of the loss, which is that of the model's own conditionals.
    penalty = choose_penalty(table.domain, alpha, kind, penalize_main=False)

    def loss(theta):
        slots = penalty.coordinates.to_slots(theta)
        model = sf.PairwiseMRF(table.domain, np.diagonal(slots), slots - np.diag(np.diagonal(slots)))
        seen = [np.log(model.conditional(i, table.codes)[np.arange(300), table.codes[:, i]]) for i in range(4)]
        return -(np.sum(seen, axis=0) @ weights) / weights.sum() / 2

    theta = penalty.coordinates.of_slots(fit.model.interactions + np.diag(fit.model.main))
    gradient = np.zeros_like(theta)
    for a, b in np.argwhere(np.triu(penalty.coordinates.is_parameter)):
        change = np.zeros_like(theta)
        change[a, b] = change[b, a] = 1e-5
        gradient[a, b] = gradient[b, a] = (loss(theta + change) - loss(theta - change)) / 2e-5
    # Differences are right to about 1e-10 of third derivatives and 1e-11 of rounding; blocks that are shrunken to zero
    # are zero.
    assert np.abs(penalty.subgradient(theta, gradient)).max() < 1e-6
    assert 0 < np.count_nonzero(np.triu(theta, 1)) < np.count_nonzero(np.triu(penalty.coordinates.is_parameter, 1))


@pytest.mark.parametrize("penalize_main", [False, True])
@pytest.mark.parametrize("kind", ["group", "l1"])
def test_gradient_steps_reach_what_newton_steps_do(kind, penalize_main):
    table = in_domain(make_table(300), (0,) * 4, ORDERED)
    how = {"penalty": kind, "penalize_main": penalize_main}
    best = solve_pseudo_likelihood(table, 0.02, tol=1e-8, **how)
    fit = solve_pseudo_likelihood(table, 0.02, tol=1e-7, max_iter=1000, policy=replace(PSEUDO, most_active=4), **how)
    assert fit.status.code == "converged"
    np.testing.assert_allclose(fit.model.log_prob(table.codes), best.model.log_prob(table.codes), atol=1e-4)


def test_levels_that_no_row_shows_are_said_and_stay_finite():
    table = make_table(200)
    domain = Domain(table.domain.names, ((0, 1, 2, 3),) + ((0, 1, 2),) * 3, (3, 0, 0, 0))
    wide = Table(domain, table.codes)
    assert find_unseen(wide).levels == ((0, 3),)
    fit = sf.learn(wide, 0.03)
    assert fit.status.code == "converged"
    assert "v0=3" in fit.status.sentence
    assert np.abs(fit.model.interactions).max() < 10
    other = sf.learn(in_domain(wide, (0, 0, 0, 0)), 0.03)
    np.testing.assert_allclose(other.model.log_prob(table.codes), fit.model.log_prob(table.codes), atol=1e-3)
    pseudo = solve_pseudo_likelihood(wide, 0.03)
    assert pseudo.status.code == "converged"


@pytest.mark.parametrize("scores", [None, ((0, 1, 2), None, (0, 1, 2), None)], ids=["nominal", "ordered"])
def test_missing_cells_are_filled_by_the_model(scores):
    table = in_domain(make_table(400), (0,) * 4, scores)
    codes = table.codes.copy()
    codes[np.random.default_rng(1).random(codes.shape) < 0.1] = 255
    fit = sf.learn(Table(table.domain, codes), 0.03, solver=sf.Newton(tol=1e-6))
    assert fit.status.code == "converged"
    certified = sf.certify(fit, Table(table.domain, codes))
    assert certified.optimality.subgradient < 1e-4


def test_penalties_are_named_and_others_refused():
    table = make_table(100)
    assert sf.learn(table, 0.1).penalty == "Group"
    assert sf.learn(table, 0.1, penalty="l1").penalty == "L1"
    with pytest.raises(ValueError, match="penalty is 'ridge'"):
        sf.learn(table, 0.1, penalty="ridge")
    kept = sf.learn(table, 0.05)
    again = replace(kept, optimality=None)
    assert sf.certify(again, table).optimality.gap < 1e-3
