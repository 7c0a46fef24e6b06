"""Fits of the pseudo-likelihood of binary tables: against plain steps, and within time and memory."""

from dataclasses import replace

import numpy as np
import pytest

import sparsefield as sf
from sparsefield._deadline import OutOfTimeError
from sparsefield.datasets import make_field
from sparsefield.pseudolikelihood import PSEUDO, BinaryPairLoss, _binary_solver, solve_pseudo_likelihood
from support.problems import make_table, theta_of


def minimise_plainly(codes, weights, alpha, main_alpha, n_steps=20_000):
    """Minimise half the mean negative pseudo-log-likelihood plus penalties by plain proximal gradient steps.

    Shares no code with the package.
    """
    x, w, p = codes.astype(float), weights / weights.sum(), codes.shape[1]
    theta = np.zeros((p, p))
    pays = np.full((p, p), alpha)
    np.fill_diagonal(pays, main_alpha)
    step = 1 / (0.25 * (p + 1))  # the trace of the Hessian of one conditional, twice half of it for a pair
    for _ in range(n_steps):
        main = np.diagonal(theta)
        residuals = (1 / (1 + np.exp(-(x @ (theta - np.diag(main)) + main))) - x) * w[:, None]
        pairs = residuals.T @ x
        gradient = (pairs + pairs.T) / 2
        np.fill_diagonal(gradient, residuals.sum(axis=0) / 2)
        moved = theta - step * gradient
        after = np.sign(moved) * np.maximum(np.abs(moved) - step * pays, 0)
        if np.abs(after - theta).max() < 1e-12:
            break
        theta = after
    return theta


def least_curvature(codes, weights, theta):
    """Return the least eigenvalue of the Hessian of the same loss."""
    x, w, p = codes.astype(float), weights / weights.sum(), codes.shape[1]
    rows, columns = np.triu_indices(p)
    place = np.zeros((p, p), dtype=int)
    place[rows, columns] = place[columns, rows] = np.arange(len(rows))
    main, hessian = np.diagonal(theta), np.zeros((len(rows),) * 2)
    q = 1 / (1 + np.exp(-(x @ (theta - np.diag(main)) + main)))
    for i in range(p):
        own = np.where(np.arange(p) == i, 1.0, x)
        hessian[np.ix_(place[i], place[i])] += (own.T * (w * q[:, i] * (1 - q[:, i]))) @ own / 2
    return np.linalg.eigvalsh(hessian)[0]


@pytest.mark.parametrize("penalize_main", [False, True])
def test_fits_are_those_of_plain_steps(penalize_main):
    table = make_table(8, 400)
    weights = np.random.default_rng(1).integers(1, 4, 400).astype(float)
    expected = minimise_plainly(table.codes, weights, 0.01, 0.005 * penalize_main)
    curvature = least_curvature(table.codes, weights, expected)
    for tol in (1e-8, 1e-5):  # in double and in single precision
        fit = solve_pseudo_likelihood(table, 0.01, penalize_main=penalize_main, weights=weights, tol=tol)
        assert fit.status.code == "converged"
        # A convex function whose curvature is c has a subgradient of at least c times the distance from its optimum;
        # half of it leaves room for how the curvature changes on the way. Plain steps end when none is above 1e-12.
        # Rounding in single precision is a tenth of its least tolerance at most, which is what that is for.
        allowed = 1.1 * tol + 1e-10
        np.testing.assert_allclose(theta_of(fit), expected, atol=allowed / (curvature / 2))


@pytest.mark.parametrize("penalize_main", [False, True])
def test_rows_that_repeat_and_weights_are_one_thing(penalize_main):
    rows = make_table(6, 300).codes
    counts = np.random.default_rng(2).integers(1, 9, 300)
    repeated = sf.Table(sf.Domain.binary(6), np.repeat(rows, counts, axis=0))
    once = sf.Table(sf.Domain.binary(6), rows)
    how = {"penalize_main": penalize_main, "tol": 1e-10}
    fits = [
        solve_pseudo_likelihood(repeated, 0.02, **how),
        solve_pseudo_likelihood(once, 0.02, weights=counts.astype(float), **how),
    ]
    curvature = least_curvature(repeated.codes, np.ones(len(repeated)), theta_of(fits[0]))
    np.testing.assert_allclose(*map(theta_of, fits), atol=2 * 1e-10 / curvature)


@pytest.mark.parametrize("penalize_main", [False, True])
def test_fits_start_from_where_others_ended(penalize_main):
    table = make_table(10, 500)
    how = {"penalize_main": penalize_main, "tol": 1e-9}
    fit = solve_pseudo_likelihood(table, 0.01, **how)
    assert len(fit.steps) > 1
    again = solve_pseudo_likelihood(table, 0.01, start=theta_of(fit), **how)
    assert len(again.steps) == 1
    other, cold = (solve_pseudo_likelihood(table, 0.02, start=start, **how) for start in (theta_of(fit), None))
    for own, same in ((again, fit), (other, cold)):
        curvature = least_curvature(table.codes, np.ones(500), theta_of(own))
        np.testing.assert_allclose(theta_of(own), theta_of(same), atol=2 * 1e-9 / curvature)


def test_models_of_curvature_that_do_not_fit_lead_to_the_same(monkeypatch):
    table = make_table(12, 500)
    sizes, descend = [], _binary_solver.descend_pairs

    def watched(*given):
        sizes.append(len(given[4]))
        return descend(*given)

    monkeypatch.setattr(_binary_solver, "descend_pairs", watched)
    whole, largest = solve_pseudo_likelihood(table, 0.005, tol=1e-8), max(sizes)
    sizes.clear()
    policy = replace(PSEUDO, most_curvatures=150)
    found = solve_pseudo_likelihood(table, 0.005, tol=1e-8, max_iter=500, policy=policy)
    assert found.status.code == "converged"
    assert max(sizes) <= 150 < largest
    curvature = least_curvature(table.codes, np.ones(500), theta_of(whole))
    np.testing.assert_allclose(theta_of(found), theta_of(whole), atol=2 * 1e-8 / curvature)


@pytest.mark.parametrize(("error", "code"), [(OutOfTimeError, "max_seconds"), (KeyboardInterrupt, "interrupted")])
def test_what_was_reached_is_kept_when_time_is_up_or_somebody_interrupts(monkeypatch, error, code):
    table, n_asked = make_table(12, 500), 0

    def stop():
        nonlocal n_asked
        n_asked += 1
        if n_asked > 6:  # moments, the first working set, and two Newton steps over it
            raise error

    monkeypatch.setattr("sparsefield._threads.check_time", stop)
    fit = solve_pseudo_likelihood(table, 0.005)
    assert fit.status.code == code
    assert not fit.steps
    assert fit.model.interactions.any()


@pytest.mark.parametrize("penalize_main", [False, True])
def test_no_pair_is_missed_that_bounds_leave_out(monkeypatch, penalize_main):
    # With bounds, all pairs are looked at once or twice; without them, after every working set.
    table = make_field(120, degree=4, strength=(0.5, 1.0), seed=1).sample(2000, method="perfect", seed=1)
    n_looks, look = 0, BinaryPairLoss.all_slopes

    def watched(*given):
        nonlocal n_looks
        n_looks += 1
        return look(*given)

    monkeypatch.setattr(BinaryPairLoss, "all_slopes", watched)
    with_bounds = solve_pseudo_likelihood(table, 0.02, penalize_main=penalize_main, tol=1e-7)
    n_with, n_looks = n_looks, 0
    policy = replace(PSEUDO, fewest_screened=10**6)
    without = solve_pseudo_likelihood(table, 0.02, penalize_main=penalize_main, tol=1e-7, policy=policy)
    assert n_with < n_looks == len(without.steps)
    assert with_bounds.status.code == without.status.code == "converged"
    # The same working sets lead to the same steps, but for the rounding of sums in another order.
    assert len(with_bounds.steps) == len(without.steps)
    np.testing.assert_allclose(theta_of(with_bounds), theta_of(without), atol=1e-9)
    assert np.array_equal(with_bounds.model.interactions != 0, without.model.interactions != 0)
