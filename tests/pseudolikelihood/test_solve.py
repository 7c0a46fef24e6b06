"""Fits of pseudo-likelihood: against the likelihood, regressions, and plain proximal steps."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LogisticRegression

import sparsefield as sf
from sparsefield import PseudoLikelihood
from sparsefield.data import find_unseen, moments_of_table, weighted_moments
from sparsefield.datasets import make_field
from sparsefield.objective import Problem
from sparsefield.pseudolikelihood import PSEUDO, PseudoLikelihoodLoss, solve_pseudo_likelihood
from support import exact_chains
from support.problems import make_table
from support.statistics_ import FALSE_ALARM
from support.zoo import ZOO


def test_pseudo_likelihood_of_two_variables_is_the_likelihood():
    # Two variables, no penalty: the log-odds ratio, by either.
    observed = sf.encode(np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], [40, 10, 20, 50], axis=0))
    mrf = PseudoLikelihood(0.0, tol=1e-10).fit(observed)
    ratio = np.log(40 * 50 / (10 * 20))
    np.testing.assert_allclose(mrf.interactions_[0, 1], ratio, atol=1e-4)  # single precision, curvature 0.1
    np.testing.assert_allclose(mrf.main_effects_, np.log([20 / 40, 10 / 40]), atol=1e-4)


def influence_functions(truth):
    """Return how far a row moves the pseudo-likelihood's parameters and those of regressions, for all states.

    To leading order an estimate is the truth plus the mean over rows of J^-1 u(x), u the slope of the log-likelihood of
    a row and J its curvature: of x_i given the others for a regression, of the sum over i for the pseudo-likelihood.
    Both are laid out (n_states, p, p), main effects on the diagonal; regressions have a row for each x_i.
    """
    p = truth.domain.n_variables
    x = exact_chains.states(p)
    probabilities = exact_chains.probabilities(truth.main, truth.interactions)
    rows, columns = np.triu_indices(p)
    place = np.zeros((p, p), dtype=int)
    place[rows, columns] = place[columns, rows] = np.arange(len(rows))
    slopes, curvature = np.zeros((len(x), len(rows))), np.zeros((len(rows),) * 2)
    sides = np.zeros((len(x), p, p))
    for i in range(p):
        z = np.where(np.arange(p) == i, 1.0, x)
        one = truth.conditional(i, x.astype(np.uint8))[:, 1]
        own, information = (x[:, i] - one)[:, None] * z, (z.T * (probabilities * one * (1 - one))) @ z
        sides[:, i] = own @ np.linalg.inv(information)
        slopes[:, place[i]] += own
        curvature[np.ix_(place[i], place[i])] += information
    return probabilities, (slopes @ np.linalg.inv(curvature))[:, place], sides, curvature


def test_pseudo_likelihood_agrees_with_nodewise_logistic_regression():
    # Many rows and no penalty: every regression finds the same interaction from either side, and so does the joint fit.
    truth = make_field(5, edge_probability=0.6, strength=(0.4, 0.8), seed=1)
    observed = truth.sample(200_000, method="perfect", seed=1)
    mrf = PseudoLikelihood(0.0, tol=1e-5).fit(observed)
    x = observed.codes.astype(float)
    sides = np.zeros((5, 5))
    for i in range(5):
        others = [j for j in range(5) if j != i]
        sides[i, others] = LogisticRegression(C=np.inf, tol=1e-8).fit(x[:, others], x[:, i]).coef_[0]
    # Each of 10 differences is a mean over 200,000 rows, and normal. The fit ends at a slope of 1e-5 of half the sum.
    probabilities, joint, single, curvature = influence_functions(truth)
    z = stats.norm.isf(FALSE_ALARM / (2 * 10))
    ended = 2e-5 / np.linalg.eigvalsh(curvature)[0]
    mean = (single + single.transpose(0, 2, 1)) / 2
    pairs = np.triu_indices(5, 1)
    for other, moves in (((sides + sides.T) / 2, joint - mean), (truth.interactions, joint)):
        allowed = z * np.sqrt(np.einsum("s,sij->ij", probabilities, moves**2) / 200_000) + ended
        assert np.all(np.abs(mrf.interactions_ - other)[pairs] <= allowed[pairs])


@pytest.mark.parametrize("name", ZOO)
@pytest.mark.parametrize("penalize_main", [False, True])
def test_pseudo_likelihood_of_the_zoo_is_optimal(name, penalize_main):
    model = ZOO[name]
    observed = sf.Table(model.domain, model.sample(300, n_sweeps=20, seed=1).codes)
    weights = np.random.default_rng(1).random(300)
    assert not find_unseen(observed, weights).levels  # of which half a row would be in the loss
    fit = solve_pseudo_likelihood(observed, 0.05, penalty="l1", penalize_main=penalize_main, weights=weights, tol=1e-9)
    assert fit.status.code == "converged"
    loss = PseudoLikelihoodLoss(observed, weights)
    theta = fit.model.interactions + np.diag(fit.model.main)
    # The loss is the mean of the log-probabilities of each value given the others, by the model's own conditionals.
    seen = [
        np.log(fit.model.conditional(i, observed.codes)[np.arange(300), observed.codes[:, i]])
        for i in range(model.domain.n_variables)
    ]
    value, gradient = loss.evaluate(theta)
    assert value == pytest.approx(-(np.sum(seen, axis=0) @ weights) / weights.sum() / 2, rel=1e-12)
    # Its gradient is balanced by the penalty: half of it for main effects, or none.
    penalty = np.full(theta.shape, 0.05)
    np.fill_diagonal(penalty, 0.025 * penalize_main)
    rest = np.where(theta != 0, np.abs(gradient + penalty * np.sign(theta)), np.maximum(np.abs(gradient) - penalty, 0))
    inside = (model.domain.slot_variables[:, None] == model.domain.slot_variables) & ~np.eye(len(theta), dtype=bool)
    assert rest[~inside].max() < 2e-5
    assert not gradient[inside].any()
    # And it is the gradient: against differences.
    direction = np.where(inside, 0.0, np.random.default_rng(2).normal(size=theta.shape))
    direction += direction.T
    ahead, behind = (loss.evaluate(theta + side * 1e-4 * direction)[0] for side in (1, -1))
    assert (ahead - behind) / 2e-4 == pytest.approx(np.triu(gradient * direction).sum(), abs=1e-6)


@pytest.mark.parametrize("limit", [2**26, 60])
@pytest.mark.parametrize("penalize_main", [False, True])
def test_any_working_set_leads_to_the_same_pseudo_likelihood(limit, penalize_main):
    # A limit of 60 entries holds 8 variables with a few parameters each, out of 36.
    observed = make_table(8, 400)
    policy = replace(PSEUDO, most_curvatures=limit)
    found = solve_pseudo_likelihood(observed, 0.01, penalize_main=penalize_main, tol=1e-8, max_iter=500, policy=policy)
    assert found.status.code == "converged"
    loss = PseudoLikelihoodLoss(observed, np.ones(400))
    problem = Problem.with_l1(moments_of_table(observed), observed.domain, 0.01)
    np.fill_diagonal(problem.penalty.weights, 0.005 * penalize_main)

    # Plain proximal gradient, whose step is short enough for the trace of the Hessian.
    theta = np.zeros((8, 8))
    step_size = 1 / (0.25 * 9)
    for _ in range(20_000):
        theta = problem.penalty.prox(theta - step_size * loss.evaluate(theta)[1], step_size)
    np.testing.assert_allclose(found.model.interactions + np.diag(found.model.main), theta, atol=1e-5)


def test_pseudo_likelihood_can_be_interrupted():
    def stop(info):
        if info.iteration == 2:
            raise KeyboardInterrupt

    fit = solve_pseudo_likelihood(make_table(8, 400), 0.01, watch=stop)
    assert fit.status.code == "interrupted"
    assert len(fit.steps) == 2
    assert fit.model.interactions.any()


def test_working_sets_of_very_few_rows_come_to_an_end():
    # Two rows: hundreds of parameters are as bad as each other.
    rows = np.random.default_rng(1).integers(0, 2, (2, 500)).astype(np.uint8)
    assert len(solve_pseudo_likelihood(sf.Table(sf.Domain.binary(500), rows), 0.01, max_iter=3).steps) == 3


@pytest.mark.parametrize("penalize_main", [False, True])
def test_tables_without_rows_or_with_missing_values_are_refused_in_the_words_of_counts(penalize_main):
    table = make_field(3, seed=1).sample(20, method="perfect", seed=1)
    codes = table.codes.copy()
    codes[:2, 1] = 255
    cases = {
        "The table has no rows: moments need at least one observation": table[:0],
        r"2 missing values, most in column 'x1': use fill_missing or drop_missing": sf.Table(table.domain, codes),
    }
    for sentence, bad in cases.items():
        for refuse in (
            lambda bad: solve_pseudo_likelihood(bad, 0.1, penalize_main=penalize_main),
            lambda bad: weighted_moments(bad, np.ones(bad.n_rows)),
            moments_of_table,
        ):
            with pytest.raises(sf.TableError, match=sentence):
                refuse(bad)
    with pytest.raises(sf.TableError, match="no rows"):
        PseudoLikelihood(penalize_main=penalize_main).fit(table[:0])
