"""Paths of penalties: the fits that separate ones would be, and likelihoods that are right."""

import numpy as np
import pytest
from scipy import stats

import sparsefield as sf
from sparsefield.gradients import BestDraws
from sparsefield.objective import Problem
from sparsefield.optimality import bound_gap
from sparsefield.selection.paths import _likelihoods
from support.problems import make_table, theta_of
from support.statistics_ import FALSE_ALARM

TABLE = make_table(8, 500)
DRAWS = BestDraws(max_states=0)


def problem_of(table, alpha, **options):
    return Problem.with_l1(sf.data.moments_of_table(table), table.domain, alpha, **options)


@pytest.mark.parametrize("penalize_main", [False, True])
def test_fits_of_a_path_are_those_of_their_own(penalize_main):
    found = sf.path(TABLE, n_alphas=8, penalize_main=penalize_main)
    above = sf.Newton.tol if penalize_main else 0.0  # where fits do not begin at their optimum
    assert found.alphas[0] == pytest.approx(sf.selection.alpha_max(TABLE, penalize_main=penalize_main) + above)
    assert np.diff(np.log(found.alphas)) == pytest.approx(np.log(found.alphas[1] / found.alphas[0]))
    for alpha, fit in zip(found.alphas, found.fits, strict=True):
        problem = problem_of(TABLE, alpha, penalize_main=penalize_main)
        alone = sf.learn(TABLE, alpha, penalize_main=penalize_main)
        # Objectives differ by what either is above the optimum: of a path, half a nat of -2 n log-likelihoods.
        assert bound_gap(problem, theta_of(alone)).bound < 1e-6
        assert bound_gap(problem, theta_of(fit)).bound <= 1 / (4 * len(TABLE))
        assert fit.settings["alpha"] == alpha
        assert fit.settings["data"] == alone.settings["data"]
    assert found.table["edges"][0] == 0
    assert found.table["edges"].is_sorted()
    assert found.is_whole


def test_a_path_of_draws_ends_within_its_gaps():
    found = sf.path(TABLE, n_alphas=10, solver=sf.Newton(schedule=DRAWS), gap=0.01, seed=3)
    for alpha, fit in zip(found.alphas, found.fits, strict=True):
        gap = bound_gap(problem_of(TABLE, alpha, penalize_main=False), theta_of(fit)).bound
        # A fit ends when a step is promised 2.5 times what noise costs, k / (2 n); the promise has a mean of the gap
        # and that, and the variance (k / 2 + 2 n gap) / n^2, for a quadratic objective (`docs/design.md`).
        last, z = fit.steps[-1], stats.norm.isf(FALSE_ALARM / 10)
        k, n = last.n_nonzero, last.n_chains
        most = max(1.5 * k / (2 * n), 0.0)
        for _ in range(50):
            most = 1.5 * k / (2 * n) + z * np.sqrt(k / 2 + 2 * n * most) / n
        assert gap <= most
        assert fit.undecided is None


def test_likelihoods_of_a_path_are_right():
    exact = sf.path(TABLE, n_alphas=5)
    for fit, known in zip(exact.fits, exact.likelihoods, strict=True):
        assert known.error == 0
        assert known.value == pytest.approx(fit.model.log_prob(TABLE.codes).mean(), rel=1e-12)
    drawn = sf.path(TABLE, n_alphas=12, solver=sf.Newton(schedule=DRAWS), gap=0.005, seed=1)
    errors = []
    for fit, known in zip(drawn.fits, drawn.likelihoods, strict=True):
        errors.append((known.value - fit.model.log_prob(TABLE.codes).mean(), known.error))
    differences, standard = np.array(errors[1:]).T
    assert (standard[5:] > 0).all()
    z = stats.norm.isf(FALSE_ALARM / (2 * len(differences)))
    assert (np.abs(differences) <= z * standard + 1e-12).all()


def test_a_path_of_the_pseudo_likelihood_is_one_of_its_fits():
    found = sf.path(TABLE, [0.02, 0.1, 0.05], objective="pseudolikelihood", solver=sf.Newton(tol=1e-8))
    assert found.alphas == (0.1, 0.05, 0.02)
    for alpha, fit in zip(found.alphas, found.fits, strict=True):
        alone = sf.PseudoLikelihood(alpha, tol=1e-8).fit(TABLE)
        # Both have a gradient of at most tol, and no curvature here is below 2 tol / 1e-5.
        np.testing.assert_allclose(theta_of(fit), theta_of(alone), atol=1e-5)
        assert fit.settings["data"] == TABLE.fingerprint()


def test_a_path_of_the_papers_steps():
    found = sf.path(TABLE, [0.03, 0.02], solver=sf.Proximal(schedule="exact", max_iter=200))
    for alpha, fit in zip(found.alphas, found.fits, strict=True):
        problem = problem_of(TABLE, alpha, penalize_main=False)
        start = problem.objective(theta_of(sf.learn(TABLE, alpha, init="zero", max_seconds=0.0)))
        assert problem.objective(theta_of(fit)) < start


def test_weights_are_rows():
    weights = np.random.default_rng(1).integers(0, 3, len(TABLE)).astype(float)
    rows = sf.Table(TABLE.domain, np.repeat(TABLE.codes, weights.astype(int), axis=0))
    found, repeated = (
        sf.path(TABLE, n_alphas=3, solver=sf.Newton(tol=1e-8), sample_weight=weights),
        sf.path(rows, n_alphas=3, solver=sf.Newton(tol=1e-8)),
    )
    assert found.n_rows == repeated.n_rows == weights.sum()
    for own, other in zip(found.fits, repeated.fits, strict=True):
        np.testing.assert_allclose(theta_of(own), theta_of(other), atol=1e-5)  # as above


def test_progress_is_told_and_time_and_interrupts_keep_what_there_is():
    seen = []
    whole = sf.path(TABLE, n_alphas=4, watch=lambda *told: seen.append(told[:2]))
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert len(whole) == 4
    nothing = sf.path(TABLE, n_alphas=4, max_seconds=0.0)
    assert (len(nothing), nothing.is_whole) == (0, False)
    assert nothing.table.height == 0


def test_bad_penalties_are_refused():
    for alphas in ([], [-0.1], [np.inf], [np.nan]):
        with pytest.raises(ValueError, match="alphas are"):
            sf.path(TABLE, alphas)
    with pytest.raises(ValueError, match="objective is 'guess': use 'likelihood' or 'pseudolikelihood'"):
        sf.path(TABLE, objective="guess")
    with pytest.raises(ValueError, match="n_alphas is 0"):
        sf.path(TABLE, n_alphas=0)


def test_draws_of_chains_bridge_nothing(monkeypatch):
    # Gibbs draws of a few sweeps are no draws of the model: likelihoods are found by themselves.
    seen = []
    monkeypatch.setattr(_likelihoods, "bridge", lambda *_: seen.append(1))
    found = sf.path(TABLE, [0.05, 0.03, 0.02], solver=sf.Newton(schedule=3), seed=1)
    assert not seen
    for fit, known in zip(found.fits, found.likelihoods, strict=True):
        assert known.value == pytest.approx(fit.model.log_prob(TABLE.codes).mean(), rel=1e-12)
