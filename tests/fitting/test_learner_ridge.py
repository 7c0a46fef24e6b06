"""Fits with a ridge on a support: the optimum, what other labels make of it, and certificates of it."""

import numpy as np
import pytest
from scipy import optimize, stats

import sparsefield as sf
from sparsefield.fitting import Learner, Options
from sparsefield.gradients import BestDraws, ExactMoments, Simulation
from sparsefield.inference import enumerate_states
from sparsefield.marks import fit_newton
from sparsefield.objective import Observed, Problem, Ridge
from sparsefield.optimality import bound_gap
from sparsefield.solvers._newton_step import find_move
from sparsefield.tables import read_rows
from support.naive import distribution
from support.problems import look_at, make_table, theta_of
from support.statistics_ import FALSE_ALARM


def make_support(domain, pairs):
    is_edge = np.zeros((domain.n_variables,) * 2, dtype=bool)
    for i, j in pairs:
        is_edge[i, j] = is_edge[j, i] = True
    return is_edge[domain.slot_variables[:, None], domain.slot_variables]


def learn(table, pairs, alpha, **options):
    penalty = Ridge(table.domain, alpha, make_support(table.domain, pairs))
    return Learner(read_rows(table), Options(**options)).learn(alpha, penalty=penalty)


PAIRS = ((0, 1), (1, 2), (2, 3), (0, 4))


def test_the_optimum_is_that_of_slow_maximisation():
    table = make_table(5, 300, seed=2)
    fit = learn(table, PAIRS, 0.02, solver=sf.Newton(tol=1e-8))
    data = sf.data.moments_of_table(table).pair

    def objective(theta):
        main, pair = theta[:5], np.zeros((5, 5))
        for (i, j), value in zip(PAIRS, theta[5:], strict=True):
            pair[i, j] = pair[j, i] = value
        log_partition = distribution([2] * 5, [0] * 5, main.tolist(), pair.tolist())[2]
        gain = main @ np.diagonal(data) + sum(w * data[i, j] for (i, j), w in zip(PAIRS, theta[5:], strict=True))
        return log_partition - gain + 0.01 * (theta[5:] ** 2).sum()

    best = optimize.minimize(objective, np.zeros(9), method="BFGS", options={"gtol": 1e-8})
    np.testing.assert_allclose([fit.model.interactions[i, j] for i, j in PAIRS], best.x[5:], atol=1e-5)
    np.testing.assert_allclose(fit.model.main, best.x[:5], atol=1e-5)
    assert fit.model.n_edges == len(PAIRS)
    assert not fit.undecided.any()


@pytest.mark.parametrize("n_levels", [2, 3])
def test_other_labels_have_the_same_weights(n_levels):
    rng = np.random.default_rng(1)
    rows = rng.integers(0, n_levels, (200, 4))
    rows[:, 1] = np.where(rng.random(200) < 0.4, rows[:, 0], rows[:, 1])
    labels = [rng.permutation(n_levels) for _ in range(4)]
    other = np.column_stack([own[column] for own, column in zip(labels, rows.T, strict=True)])
    found = [
        learn(sf.encode(codes), ((0, 1), (1, 2)), 0.01, solver=sf.Newton(tol=1e-9)).model for codes in (rows, other)
    ]
    states = np.array(np.meshgrid(*[range(n_levels)] * 4)).reshape(4, -1).T.astype(np.uint8)
    turned = np.column_stack([own[column] for own, column in zip(labels, states.T, strict=True)]).astype(np.uint8)
    np.testing.assert_allclose(found[0].log_prob(states), found[1].log_prob(turned), atol=1e-6)


def make_problem(seed, alpha=0.01, p=7, n=400):
    table = make_table(p, n, seed=seed)
    rng = np.random.default_rng(seed)
    pairs = [(i, j) for i in range(p) for j in range(i) if rng.random() < 0.4]
    penalty = Ridge(table.domain, alpha, make_support(table.domain, pairs))
    return Problem(Observed(sf.data.moments_of_table(table)), table.domain, penalty)


def objective(problem, theta):
    smooth = enumerate_states(problem.model(theta))[0] - np.triu(theta * problem.target).sum()
    return smooth + problem.penalty.value(theta)


def test_gaps_are_bounded_by_states_and_by_draws():
    n_below = n_bounds = 0
    for seed in range(25):
        problem = make_problem(seed)
        best = theta_of(fit_newton(problem, ExactMoments(), tol=1e-9))
        lowest = objective(problem, best)
        fit = fit_newton(problem, BestDraws(max_states=0), Simulation(2000, seed), gap=0.02)
        theta = theta_of(fit)
        gap = objective(problem, theta) - lowest
        exact = bound_gap(problem, theta)
        assert exact.kind == "exact"
        assert gap - 1e-10 <= exact.bound <= gap + 1e-6
        assert exact.lower <= gap + 1e-10
        found = bound_gap(problem, theta, n_draws=20_000, seed=seed, max_states=0)
        assert found.lower == 0
        n_bounds += 1
        n_below += found.bound < gap
        assert found.bound < 20 * gap + 0.01
    assert n_below <= stats.binom.isf(FALSE_ALARM, n_bounds, 0.01)


def test_a_penalty_that_is_made_linear_is_nowhere_above_the_penalty():
    problem = make_problem(3, alpha=0.1)
    rng = np.random.default_rng(1)
    theta = theta_of(fit_newton(problem, ExactMoments(), tol=1e-3))
    linear = problem.linearised(theta)
    assert linear.linearised(theta) is linear
    here = objective(problem, theta) - objective(linear, theta)
    for _ in range(20):
        move = rng.normal(size=theta.shape)
        there = theta + np.where(problem.penalty.kept, move + move.T, 0.0)
        assert objective(problem, there) - objective(linear, there) >= here - 1e-12
    np.testing.assert_allclose(
        problem.subgradient(theta, theta * 0 + 0.01), linear.subgradient(theta, theta * 0 + 0.01 + linear.tilt)
    )


def test_fits_by_draws_are_certified_and_other_seeds_have_the_same_weights():
    table = sf.datasets.make_field(26, degree=3, strength=(0.5, 1.0), seed=1).sample(800, method="perfect", seed=1)
    pairs = [(i, j) for i in range(26) for j in range(i) if (i + j) % 7 == 0]
    fits = [learn(table, pairs, 0.002, certify=True, seed=seed, solver=sf.Newton(schedule="best")) for seed in range(3)]
    for fit in fits:
        assert fit.status.code == "converged"
        assert fit.optimality.gap < 0.05
        assert 0 < fit.spread < 0.06
        assert fit.model.n_edges == len(pairs)
    for other in fits[1:]:
        assert np.abs(other.model.interactions - fits[0].model.interactions).max() < 1.5 * fits[0].spread


def test_sparse_curvatures_lead_where_dense_ones_do():
    p = 700
    table = sf.datasets.make_field(p, degree=3, strength=(0.5, 1.0), seed=1).sample(1500, method="perfect", seed=1)
    rng = np.random.default_rng(2)
    pairs = [(int(i), int(j)) for i, j in rng.integers(0, p, (700, 2)) if i != j]
    penalty = Ridge(table.domain, 0.05, make_support(table.domain, pairs))
    problem = Problem(Observed(sf.data.moments_of_table(table)), table.domain, penalty)
    theta = np.diag(sf.PairwiseMRF.independent(table.domain, problem.data.moments.main).main)
    theta = theta + np.where(penalty.kept, 0.2, 0.0)
    here = look_at(problem, theta, BestDraws(max_states=0), Simulation(8000, 1))
    near, dense = (find_move(here, reach) for reach in (2, None))
    assert type(near.quadratic) is not type(dense.quadratic)
    assert near.predicted == pytest.approx(dense.predicted, rel=0.1)
    assert near.decrease == pytest.approx(dense.decrease, rel=0.1)


def test_missing_values_have_a_ridge_too():
    table = make_table(6, 500, seed=3)
    codes = table.codes.copy()
    codes[np.random.default_rng(1).random(codes.shape) < 0.1] = 255
    fit = learn(sf.Table(table.domain, codes), PAIRS, 0.01)
    assert fit.status.code == "converged"
    assert fit.model.n_edges == len(PAIRS)


def test_files_keep_the_ridge(tmp_path):
    table = make_table(5, 300, seed=2)
    fit = learn(table, PAIRS, 0.02)
    fit.save(tmp_path / "fit.field")
    again = sf.Fit.load(tmp_path / "fit.field")
    assert sf.certify(again, table).optimality.gap < 1e-6
