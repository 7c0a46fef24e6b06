"""Marks: which parameters the noise of draws leaves open, zero or not."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import sparsefield as sf
from sparsefield.fits import Fit
from sparsefield.gradients import BestDraws, ExactMoments, PerfectDraws, Simulation
from sparsefield.marks import _mark, fit_newton
from sparsefield.marks._parameter_marks import find_undecided
from sparsefield.marks._policy import MARKS
from sparsefield.marks._reweighted_optimum import reweight_to_optimum
from sparsefield.objective import Problem
from sparsefield.pseudolikelihood import solve_pseudo_likelihood
from sparsefield.solvers import NEWTON, UNDECIDED
from support.clock import Clock
from support.marks import assert_each_is_rare, count_errors, draw, find_edge, largest_count, make_copies, make_l1
from support.noise import curvature
from support.problems import Undrawn, make_problem, theta_of
from support.statistics_ import FALSE_ALARM
from support.zoo import LEVELS

# The statistics of these rows are nearly collinear: which of them differ from zero is for noise to choose.
COLLINEAR = np.repeat(
    [[0, 0, 0], [0, 0, 1], [1, 0, 0], [1, 0, 1], [1, 1, 0], [1, 1, 1]], [1, 1, 31, 38, 14, 15], axis=0
)


def start_of(rows, alpha, penalize_main):
    return theta_of(solve_pseudo_likelihood(sf.encode(rows), alpha, penalize_main=penalize_main))


def test_marks_hold_for_each_of_collinear_statistics():
    start = start_of(COLLINEAR, 0.005, True)
    found = count_errors(make_l1(COLLINEAR, 0.005, True), 200, Simulation(2000), start=start)
    assert_each_is_rare(found.n_wrong, 200)
    assert found.n_marked.min() < 200  # not all of them are marked always: else there is nothing to be wrong


def find_clear(problem, n_draws):
    """Return which parameters are so far from zero, or from their penalties, that noise seldom hides it.

    The optimum that n draws lead to has a covariance of at most H^-1 / n, with H the curvature over all parameters, and
    its gradient one of at most H / n. Both are normal, to leading order. The margin of a mark is z standard errors, and
    z^2 draws more at most. What is beyond it by three standard errors is marked only where the draws of the step, or
    those that judge, are off by three.
    """
    optimum = fit_newton(problem, ExactMoments(), tol=1e-10)
    a, b = np.triu_indices(problem.domain.n_slots)
    own, z = curvature(optimum.model), stats.norm.ppf((1 + UNDECIDED) / 2)
    value, unit = np.abs(theta_of(optimum))[a, b], np.diagonal(np.linalg.inv(own)) / n_draws
    left = problem.penalty.weights[a, b] - np.abs(problem.gradient(optimum.model.moments()))[a, b]
    is_zero = left > (z + 3) * np.sqrt(np.diagonal(own) / n_draws) + z**2 / n_draws
    return np.where(value > 0, value > (z + 3) * np.sqrt(unit) + z**2 * unit, is_zero)


@pytest.mark.parametrize("side", [0, 1])
def test_marks_hold_at_the_edge_of_zero_and_leave_out_what_is_clear(side):
    # The worst case: whether one parameter is zero is for noise to say, whatever the number of draws.
    rows, n_fits, n_draws = make_copies(91), 300, 4000
    *alphas, is_edge = find_edge(rows, 0.02, 0.05)
    alpha = alphas[side]
    problem = make_l1(rows, alpha, True)
    found = count_errors(problem, n_fits, Simulation(n_draws), start=start_of(rows, alpha, True), gap=0.05)
    assert_each_is_rare(found.n_wrong, n_fits)
    is_clear = find_clear(problem, n_draws)
    most = stats.binom.isf(FALSE_ALARM / len(is_clear), n_fits, 2 * stats.norm.sf(3))
    assert found.n_marked[is_clear].max() <= most
    # So that neither is empty: noise has its say at the edge, and something is clear.
    assert found.n_other[is_edge[np.triu_indices(len(is_edge))]] > largest_count(found.n_wrong, n_fits)
    assert is_clear.any()


@pytest.mark.parametrize(("n_draws", "options"), [(30, {"gap": 5.0}), (500, {"max_iter": 1})])
def test_marks_hold_for_each_parameter_where_draws_or_steps_are_few(n_draws, options):
    # Few draws, or steps, leave next to all open: what is decided is for the test above to say.
    n_fits, n_wrong, n_other = 100, [], []
    for seed, alpha, penalize_main in ((41, 0.02, False), (91, 0.005, True)):
        problem = make_l1(make_copies(seed), alpha, penalize_main)
        found = count_errors(problem, n_fits, Simulation(n_draws), **options)
        n_wrong.append(found.n_wrong)
        n_other.append(found.n_other)
    assert_each_is_rare(np.concatenate(n_wrong), n_fits)
    assert np.concatenate(n_other).max() > largest_count(np.concatenate(n_wrong), n_fits)  # without marks it fails


def test_marks_tell_what_noise_leaves_open():
    n_decided = n_wrong = n_marked = 0
    for seed in range(12):
        problem = make_problem(7, 0.04, n=600, seed=seed)
        found = count_errors(problem, 5, Simulation(1000), gap=0.002)
        n_decided += (5 - found.n_marked).sum()
        n_wrong += found.n_wrong.sum()
        n_marked += found.n_marked.sum()
    # With one decided parameter of a hundred wrong, 500 of them have some with probability 1 - 0.99^500 > 0.99: fewer
    # would prove little.
    assert n_decided > 500
    assert n_marked > 0
    assert n_wrong <= stats.binom.isf(FALSE_ALARM, n_decided, 1 - UNDECIDED)


def test_fits_with_draws_have_marks_unless_their_time_is_up(monkeypatch):
    problem = make_problem()
    fit = fit_newton(problem, PerfectDraws(), Simulation(500, 1), gap=1e-4, max_iter=1)
    assert fit.status.code == "max_iter"
    assert "undecided" in sf.edge_table(fit).columns
    # The time is up after the first iteration, or before it: there is none for marks.
    clock = Clock(monkeypatch)
    for seconds, n_steps in ((1.0, 1), (0.0, 0)):
        options = {"gap": 1e-4, "max_seconds": seconds, "watch": lambda _: clock.advance(1.0)}
        fit = fit_newton(problem, PerfectDraws(), Simulation(500, 1), **options)
        assert (fit.status.code, len(fit.steps)) == ("max_seconds", n_steps)
        assert fit.undecided is None
        assert "undecided" not in sf.edge_table(fit).columns
    policy = replace(NEWTON, most_draws=2000)
    fit = fit_newton(problem, PerfectDraws(), Simulation(500, 1), gap=1e-6, policy=policy)
    assert fit.status.code == "simulation_error"
    assert "undecided" in sf.edge_table(fit).columns
    # Exact moments leave nothing open at the optimum, and say nothing of it before.
    assert fit_newton(problem, ExactMoments(), max_iter=1).undecided is None


def test_an_interrupt_while_marks_are_found_keeps_the_fit(monkeypatch):
    def stop(*_given, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr(_mark, "find_undecided", stop)
    fit = fit_newton(make_problem(), PerfectDraws(), Simulation(500, 1), gap=0.01)
    assert fit.status.code == "interrupted"
    assert fit.steps
    assert fit.undecided is None


def test_reweighted_draws_lead_to_their_optimum():
    problem = make_problem(5, 0.02, seed=3)
    theta = theta_of(fit_newton(problem, ExactMoments(), tol=1e-3))
    drawn, x = draw(problem, theta, 4000, 1)
    there, gradient, n = reweight_to_optimum(drawn, theta != 0, policy=MARKS)
    move = there - theta
    assert np.abs(move).max() > 0
    weights = np.exp(x @ np.diagonal(move) + ((x @ np.triu(move, 1)) * x).sum(axis=1))
    weights /= weights.sum()
    np.testing.assert_allclose(gradient, (x.T * weights) @ x - problem.data.moments.pair, atol=1e-12)
    assert n == pytest.approx(1 / (weights**2).sum())
    # In the norm by the inverse of the curvature what is left to do is a fifth of the noise of one parameter, at most.
    a, b = np.nonzero(np.triu(there))
    left = problem.subgradient(there, gradient)
    values = x[:, a] * x[:, b]
    own = left[a, b] @ np.linalg.solve(np.cov(values.T, aweights=weights), left[a, b])
    assert own <= 0.2**2 / 4000
    assert np.abs(left).max() <= 0.5 * 0.2 / np.sqrt(4000)


def test_marks_are_those_of_plain_linear_algebra():
    problem = make_problem(5, 0.02, seed=3)
    theta = theta_of(fit_newton(problem, PerfectDraws(), Simulation(500, 1), gap=0.02))
    drawn, x = draw(problem, theta, 2000, 2)
    there, gradient, n = reweight_to_optimum(drawn, theta != 0, policy=MARKS)
    a, b = np.triu_indices(5)
    covariance = np.cov((x[:, a] * x[:, b]).T, bias=True)
    here, there, gradient, alpha = theta[a, b], there[a, b], gradient[a, b], problem.penalty.weights[a, b]
    z = stats.norm.ppf(0.995)
    may, must = np.ones(15, dtype=bool), np.zeros(15, dtype=bool)
    for _ in range(10):
        k = n * np.ones(15)
        k[may] = n / np.diagonal(np.linalg.inv(covariance[np.ix_(may, may)]))  # draws behind each parameter
        must = may & (here * there > 0) & (np.abs(there) > (z * np.sqrt(k + z**2 / 4) + z**2 / 2) / k)
        across = covariance[np.ix_(must, ~must)]
        rest = np.diagonal(covariance)[~must] - (across * np.linalg.solve(covariance[np.ix_(must, must)], across)).sum(
            axis=0
        )
        rest *= 2000 / (2000 - must.sum())
        is_far = np.abs(gradient[~must]) + (z * np.sqrt(n * rest + z**2 / 4) + z**2 / 2) / n < alpha[~must]
        may[np.flatnonzero(~must)[is_far & (here[~must] == 0) & (there[~must] == 0)]] = False
    expected = may & ~must
    assert 0 < expected.sum() < 15
    np.testing.assert_array_equal(find_undecided(drawn)[a, b], expected)


def test_what_too_few_draws_show_is_not_decided():
    problem = make_problem(5, 0.02, seed=3)
    theta = theta_of(fit_newton(problem, ExactMoments(), tol=1e-6))
    drawn, _ = draw(problem, theta, 40, 1)
    assert find_undecided(drawn).all()
    # Far from the optimum too few draws count there.
    drawn, _ = draw(problem, theta + 3 * np.eye(5), 2000, 1)
    assert find_undecided(drawn).all()


def test_marks_reach_the_table_of_edges_and_the_file(tmp_path):
    problem = make_problem(8, 0.03, n=600, seed=4)
    fit = fit_newton(problem, BestDraws(max_states=0), Simulation(1000, 1), gap=0.01)
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
    problem = Problem.with_l1(sf.data.moments_of_table(table), table.domain, 0.05)
    support = theta_of(fit_newton(problem, ExactMoments(), tol=1e-9)) != 0
    backend = Undrawn()
    fit = fit_newton(problem, BestDraws(max_states=0), Simulation(500, 1, backend=backend), gap=0.002)
    assert 0 < fit.steps[-1].certificate <= 0.05 / np.sqrt(fit.steps[-1].n_chains)
    wrong = ((theta_of(fit) != 0) != support) & ~fit.undecided
    upper = np.triu_indices(len(support))
    n_decided = int((~fit.undecided[upper]).sum())
    assert wrong[upper].sum() <= stats.binom.isf(FALSE_ALARM, n_decided, 1 - UNDECIDED)
    few = fit_newton(problem, BestDraws(gibbs_sweeps=2, max_states=0), Simulation(500, 1, backend=backend), gap=0.05)
    assert few.undecided is None


def test_where_draws_leave_most_edges_open_more_of_them_look_again():
    table = sf.datasets.make_field(40, degree=3, strength=(0.5, 1.0), seed=1).sample(2000, method="perfect", seed=1)
    problem = Problem.with_l1(sf.data.moments_of_table(table), table.domain, 0.02, False)
    asked = {"start": start_of(table.codes, 0.02, False), "gap": 0.5}
    fit = fit_newton(problem, BestDraws(max_states=0), Simulation(500, 1), **asked)
    is_edge = np.triu(fit.model.interactions != 0, 1)
    assert is_edge.sum() > 20
    assert np.count_nonzero(fit.undecided & is_edge) < is_edge.sum() / 2
    # The same fit, and its marks by the draws at hand alone.
    policy = replace(MARKS, most_looks=0)
    few = fit_newton(problem, BestDraws(max_states=0), Simulation(500, 1), **asked, marks=policy)
    np.testing.assert_array_equal(few.model.interactions, fit.model.interactions)
    assert np.count_nonzero(few.undecided & is_edge) > np.count_nonzero(fit.undecided & is_edge)
