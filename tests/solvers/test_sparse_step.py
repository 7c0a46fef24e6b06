"""Newton steps with a sparse curvature: forced on small fields, where optima and curvatures are exact."""

from dataclasses import replace
from functools import cache

import networkx as nx
import numpy as np
import pytest
from scipy import stats
from scipy.linalg import eigh

import sparsefield as sf
from sparsefield.gradients import BestDraws, ExactMoments, Simulation
from sparsefield.inference import EnumeratedStates
from sparsefield.marks import fit_newton
from sparsefield.model import as_theta, count_once
from sparsefield.objective import Problem, Quadratic, SparseQuadratic, choose_active, find_near
from sparsefield.solvers import NEWTON, _newton_step, _sparse_step, find_move
from sparsefield.solvers._draw_budget import draws_for_agreement
from sparsefield.solvers._edge_errors import find_edge_errors
from sparsefield.solvers._sparse_step import NEAREST, WIDEST, NearStep
from support.problems import look_at, theta_of
from support.statistics_ import FALSE_ALARM

CRITICAL = 4 * 0.44068679  # of the Ising model on the square lattice, whose states are 0 and 1 here


# Curvatures are sparse however few statistics there are, and however many of them are near.
ALWAYS_NEAR = replace(NEWTON, fewest=0, most_kept=2.0)


def make_problem(graph, coupling, alpha=0.02, n=2000, seed=1):
    """Return the problem of rows drawn from a field of equal or alternating couplings along a graph."""
    pair = np.zeros((len(graph), len(graph)))
    for k, (i, j) in enumerate(nx.convert_node_labels_to_integers(graph).edges):
        pair[i, j] = pair[j, i] = coupling if np.isscalar(coupling) else coupling[k % len(coupling)]
    model = sf.PairwiseMRF.binary(-pair.sum(axis=0) / 2 + 0.1, pair)
    table = model.sample(n, method="perfect", seed=seed)
    return Problem.with_l1(sf.data.moments_of_table(table), table.domain, alpha, penalize_main=False)


RING = make_problem(nx.cycle_graph(12), (1.0, -0.7))
WEAK = make_problem(nx.grid_2d_graph(4, 4), 0.6 * CRITICAL, alpha=0.01)
GRID = make_problem(nx.grid_2d_graph(4, 4), 0.9 * CRITICAL, alpha=0.01)


def stand_at(problem, theta, n, seed=1):
    """Return draws at some parameters."""
    return look_at(problem, theta, BestDraws(max_states=0), Simulation(n, seed))


@cache
def optimum_of(problem):
    return theta_of(fit_newton(problem, ExactMoments(), tol=1e-10, max_iter=100))


def spread_of(problem, theta, reach):
    """Return e, where the eigenvalues of M^-1 H are within 1 - e and 1 + e times their middle, and H itself.

    H is the exact covariance of what is not zero, and M what is kept of it.
    """
    a, b = np.nonzero(np.triu(theta))
    whole = Quadratic.of(EnumeratedStates(problem.model(theta)), a, b).centred()
    near = find_near(theta, problem.domain.slot_variables, a, b, reach)
    kept = np.eye(len(a), dtype=bool)
    kept[np.repeat(np.arange(len(a)), np.diff(near.starts)), near.columns] = True
    values = eigh(whole, np.where(kept | kept.T, whole, 0.0), eigvals_only=True)
    return (values[-1] - values[0]) / (values[-1] + values[0])


@pytest.mark.parametrize("seed", range(4))
def test_fits_with_a_sparse_curvature_reach_the_optimum(monkeypatch, seed):
    found = []
    original = _newton_step._go_near
    monkeypatch.setattr(_newton_step, "_go_near", lambda *some: found.append(original(*some)) or found[-1])
    best = optimum_of(RING)
    fit = fit_newton(RING, BestDraws(max_states=0), Simulation(2000, seed), gap=0.001, policy=ALWAYS_NEAR)
    assert fit.status.code == "converged"
    assert len(found) >= len(fit.steps) - 1
    assert all(move is not None for move in found)  # no step found it wrong
    # At the end n draws that had no part in it promise |x + y|^2 / 2 times the share 1 - e^2 at least, x the gradient
    # and y its noise, in the norm by H^-1: y is normal of variance 1 / n along x. Covariances of w statistics over n
    # draws are off by 2 sqrt(w / n) besides, and so are what is promised and the gap that it stands for.
    last, e = fit.steps[-1], spread_of(RING, best, NEAREST)
    n, share = last.n_chains, 2 * np.sqrt(count_once(best) / last.n_chains)
    most = np.sqrt(2 * last.predicted * (1 + share) / (1 - e**2)) + stats.norm.isf(FALSE_ALARM) / np.sqrt(n)
    assert RING.objective(theta_of(fit)) - RING.objective(best) <= most**2 / 2 * (1 + share)
    assert last.predicted <= 2.5 * count_once(theta_of(fit)) / (2 * n)


@pytest.mark.parametrize(("problem", "has_minimum", "reach"), [(WEAK, True, WIDEST), (GRID, False, None)])
def test_a_sparse_curvature_that_hides_too_much_is_given_up(problem, has_minimum, reach):
    here = stand_at(problem, 0.9 * optimum_of(problem), 20_000)
    step = _sparse_step.find_near_step(here, NEAREST, lambda _: 1e-6, policy=ALWAYS_NEAR)
    assert step.has_minimum == has_minimum
    move = find_move(here, policy=ALWAYS_NEAR)
    assert move.reach == reach
    dense = find_move(here, None)
    assert isinstance(dense.quadratic, Quadratic)
    # Wider or dense, it promises what the dense one does, but for a quarter (Kantorovich).
    assert 0.75 * dense.predicted <= move.predicted <= dense.predicted / 0.75
    values = here.draws.along(move.whole)
    assert move.curvature == pytest.approx(values.var(), rel=1e-9)


@pytest.mark.parametrize("seed", range(2))
def test_fits_find_their_way_back_to_a_dense_curvature(monkeypatch, seed):
    best = GRID.objective(optimum_of(GRID))
    reaches = []
    original = _newton_step.find_near_step

    def find_near_step(*some, **options):
        reaches.append(some[1])
        return original(*some, **options)

    monkeypatch.setattr(_newton_step, "find_near_step", find_near_step)
    fit = fit_newton(GRID, BestDraws(max_states=0), Simulation(2000, seed), gap=0.001, policy=ALWAYS_NEAR)
    assert fit.status.code == "converged"
    assert reaches == sorted(reaches)  # what was given up is not tried again
    assert reaches[0] == NEAREST
    assert reaches[-1] == WIDEST
    n, k = fit.steps[-1].n_chains, count_once(theta_of(fit))
    share = 2 * np.sqrt(k / n)
    most = np.sqrt(2 * fit.steps[-1].predicted * (1 + share) / 0.75) + stats.norm.isf(FALSE_ALARM) / np.sqrt(n)
    assert GRID.objective(theta_of(fit)) - best <= most**2 / 2 * (1 + share)


def test_a_fit_whose_sparse_curvatures_are_all_wrong_is_the_dense_one(monkeypatch):
    dense = fit_newton(RING, BestDraws(max_states=0), Simulation(2000, 1), gap=0.002)
    sparse = fit_newton(RING, BestDraws(max_states=0), Simulation(2000, 1), gap=0.002, policy=ALWAYS_NEAR)
    assert not np.array_equal(theta_of(sparse), theta_of(dense))
    monkeypatch.setattr(NearStep, "predict", lambda *_: None)
    back = fit_newton(RING, BestDraws(max_states=0), Simulation(2000, 1), gap=0.002, policy=ALWAYS_NEAR)
    np.testing.assert_array_equal(theta_of(back), theta_of(dense))
    assert [step.predicted for step in back.steps] == [step.predicted for step in dense.steps]


def test_a_step_is_worth_what_its_best_share_gains():
    # Along the step the penalty is 2 s + 3 s^2 / 2; the model bends by 4 and is steepest by -9, so that s = 1 is best.
    def gain(share, bend):
        return 9 * share - bend * share**2 / 2 - 2 * share - 3 * share**2 / 2

    step = NearStep(None, None, gain(1.0, 4.0), 4.0, 0.0, None, True)
    shares = np.linspace(0, 3, 300_001)
    for bend in (1.0, 4.0, 7.0):
        assert step.predict(bend) == pytest.approx(gain(shares, bend).max(), rel=1e-8)
    # A quarter of the gain is left where r = 1/2: beyond that the model is wrong.
    half = step.promised
    assert step.predict(4.0 + 1.001 * half) is None
    assert step.predict(4.0 - 1.001 * half) is None
    assert step.predict(4.0 + 0.999 * half) is not None
    assert NearStep(None, None, 1.0, 4.0, 0.0, None, False).predict(4.0) is None


def test_the_working_set_is_the_one_of_dense_curvatures():
    theta = np.where(np.abs(optimum_of(GRID)) > 0.3, 1.1 * optimum_of(GRID), 0.0)
    here = stand_at(GRID, theta, 2000)
    policy = replace(ALWAYS_NEAR, most_epochs=10)
    step = _sparse_step.find_near_step(here, 0, lambda _: 1e-6, policy=policy)
    gradient = here.moments.pair - GRID.target
    violation = np.abs(GRID.subgradient(theta, gradient))
    active = choose_active(theta, violation, lambda _: True)
    assert np.count_nonzero(active & (theta == 0)) > 10
    assert not active.all()
    a, b = np.nonzero(np.triu(active))
    np.testing.assert_array_equal(step.quadratic.first, a)
    np.testing.assert_array_equal(step.quadratic.second, b)


def test_a_cut_working_set_counts_what_it_leaves_out(monkeypatch):
    theta = np.where(np.abs(optimum_of(GRID)) > 0.3, 1.1 * optimum_of(GRID), 0.0)
    here = stand_at(GRID, theta, 2000)
    monkeypatch.setattr(_sparse_step, "_choose", lambda theta, *_: theta != 0)
    cut = _sparse_step.find_near_step(here, 0, lambda _: 1e-6, policy=replace(ALWAYS_NEAR, most_epochs=10))
    gradient = here.moments.pair - GRID.target
    outside = np.triu(theta == 0)
    pair = here.moments.pair[outside]
    variances = np.maximum(pair * (1 - pair), 4 / 2000)
    expected = (GRID.subgradient(theta, gradient)[outside] ** 2 / (2 * variances)).sum()
    assert expected > 0
    assert cut.missed == pytest.approx(expected, rel=1e-12)


def test_draws_for_agreement_are_those_of_a_dense_curvature():
    theta = optimum_of(RING)
    here = stand_at(RING, theta, 20_000)
    a, b = np.nonzero(np.triu(theta))
    near = find_near(theta, RING.domain.slot_variables, a, b, 6)  # all of the ring
    dense = find_move(here, None)
    sparse = find_move(here, policy=ALWAYS_NEAR)
    assert isinstance(sparse.quadratic, SparseQuadratic)
    everything = SparseQuadratic.of(here.draws, a, b, near)
    for share in (0.9, 0.99):
        wanted = draws_for_agreement(find_edge_errors(here, dense), share)
        whole = replace(sparse, quadratic=everything)
        # Ridges are those of other working sets: a hundredth of a percent of variances. Numbers are right to 2^0.01.
        assert draws_for_agreement(find_edge_errors(here, whole), share) == pytest.approx(wanted, rel=0.02)
        # On what is near alone, errors are those that the eigenvalues of M^-1 H allow.
        e = spread_of(RING, theta, NEAREST)
        assert draws_for_agreement(find_edge_errors(here, sparse), share) == pytest.approx(
            wanted, rel=2 * e / (1 - e) + 0.02
        )


def test_small_problems_have_dense_curvatures():
    here = stand_at(RING, as_theta(RING.model(optimum_of(RING))), 2000)
    move = find_move(here)
    assert isinstance(move.quadratic, Quadratic)
    assert move.reach == NEAREST  # which may pay later
