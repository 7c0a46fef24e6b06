"""Marks: which parameters the noise of draws leaves open, zero or not."""

import numpy as np
from scipy import stats

import sparsefield as sf
from problems import make_problem, theta_of
from sparsefield.fits import Fit
from sparsefield.gradients import BestDraws, ExactMoments, Simulation
from sparsefield.objective import Problem
from sparsefield.solvers import UNDECIDED, solve_newton
from statistics_ import FALSE_ALARM
from zoo import LEVELS


def test_marks_tell_what_noise_leaves_open():
    n_decided = n_wrong = n_marked = 0
    for seed in range(12):
        problem = make_problem(7, 0.04, n=600, seed=seed)
        support = theta_of(solve_newton(problem, ExactMoments(), tol=1e-9)) != 0
        upper = np.triu_indices(7)
        for draw in range(5):
            fit = solve_newton(problem, BestDraws(max_states=0), Simulation(1000, draw), gap=0.002)
            decided = ~fit.undecided[upper]
            wrong = ((theta_of(fit) != 0) != support)[upper]
            n_decided += decided.sum()
            n_wrong += (wrong & decided).sum()
            n_marked += (~decided).sum()
    # Wrong ones are at most as frequent as the confidence allows, a binomial count.
    assert n_decided > 500
    assert n_marked > 0
    assert n_wrong <= stats.binom.isf(FALSE_ALARM, n_decided, 1 - UNDECIDED)


def test_marks_reach_the_table_of_edges_and_the_file(tmp_path):
    problem = make_problem(8, 0.03, n=600, seed=4)
    fit = solve_newton(problem, BestDraws(max_states=0), Simulation(1000, 1), gap=0.01)
    edges = sf.edge_table(fit)
    assert edges.columns == ["first", "second", "weight", "undecided"]
    for first, second, weight, undecided in edges.iter_rows():
        i, j = (problem.domain.index_of(name) for name in (first, second))
        assert weight == fit.model.interactions[i, j]
        assert undecided == fit.undecided[i, j]
    listed = len(edges.filter(edges["weight"] == 0))
    assert listed == (np.triu(fit.undecided, 1) & (fit.model.interactions == 0)).sum() > 0
    assert sf.edge_table(fit.model).height == edges.height - listed
    fit.save(tmp_path / "fit")
    again = Fit.load(tmp_path / "fit")
    np.testing.assert_array_equal(again.undecided, fit.undecided)
    assert (again.alpha, again.penalize_main, again.optimality) == (0.03, True, None)
    assert again.trace.equals(fit.trace)


def test_an_edge_between_levels_is_settled_by_any_of_its_parameters():
    model = LEVELS["three levels"]
    marked = model.interactions != 0
    fit = Fit(model, None, (), undecided=marked)
    assert sf.edge_table(fit)["undecided"].all()
    a, b = np.argwhere(np.triu(marked))[0]
    marked[a, b] = marked[b, a] = False
    names = {model.domain.names[model.domain.slot_variables[k]] for k in (a, b)}
    for row in sf.edge_table(fit).iter_rows(named=True):
        assert row["undecided"] == ({row["first"], row["second"]} != names)


def test_marks_need_draws_without_bias_to_speak_of():
    model = LEVELS["three levels"]
    table = sf.Table(model.domain, model.sample(400, n_sweeps=50, seed=1).codes)
    problem = Problem.with_l1(sf.moments_of_table(table), table.domain, 0.05)
    support = theta_of(solve_newton(problem, ExactMoments(), tol=1e-9)) != 0
    fit = solve_newton(problem, BestDraws(max_states=0), Simulation(500, 1), gap=0.002)
    assert fit.steps[-1].certificate <= 0.05 / np.sqrt(fit.steps[-1].n_chains)
    wrong = ((theta_of(fit) != 0) != support) & ~fit.undecided
    upper = np.triu_indices(len(support))
    n_decided = int((~fit.undecided[upper]).sum())
    assert wrong[upper].sum() <= stats.binom.isf(FALSE_ALARM, n_decided, 1 - UNDECIDED)
    few = solve_newton(problem, BestDraws(gibbs_sweeps=2, max_states=0), Simulation(500, 1), gap=0.05)
    assert few.undecided is None
