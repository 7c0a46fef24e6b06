"""Newton steps: with exact curvature against an independent solver, with draws against exact objectives."""

import re
from dataclasses import fields, replace

import numpy as np
import pytest
from scipy import stats

import sparsefield as sf
from sparsefield.data import count
from sparsefield.datasets import make_field
from sparsefield.gradients import BestDraws, ExactMoments, Fixed, PerfectDraws, Simulation
from sparsefield.inference import Chains, OutOfReachError
from sparsefield.marks import fit_newton
from sparsefield.model import norm
from sparsefield.objective import L1, Problem, choose_active
from sparsefield.solvers import NEWTON, Limits, _newton, _newton_step, find_move, run_newton, solve
from sparsefield.solvers._decrease import Fall
from support import exact_chains
from support.noise import assert_end_is_measured, assert_gaps_are_noise, step_to_end
from support.problems import look_at, make_problem, theta_of
from support.statistics_ import FALSE_ALARM
from support.zoo import LEVELS


@pytest.mark.parametrize("p", [1, 5, 8])
@pytest.mark.parametrize("alpha", [0.0, 0.02, 0.1])
@pytest.mark.parametrize("penalize_main", [True, False])
def test_exact_curvature_leads_to_the_optimum_of_an_independent_solver(p, alpha, penalize_main):
    problem = make_problem(p, alpha, seed=p, penalize_main=penalize_main, strength=(0.3, 0.9))
    theta, value = exact_chains.penalised_optimum(problem.data.moments.pair, problem.penalty.weights)
    fit = fit_newton(problem, ExactMoments(), tol=1e-9)
    assert fit.status.code == "converged"
    assert len(fit.steps) <= 15
    assert problem.objective(theta_of(fit)) == pytest.approx(value, abs=1e-8)
    np.testing.assert_allclose(theta_of(fit), theta, atol=1e-3)
    assert not fit.undecided.any()


@pytest.mark.parametrize("name", LEVELS)
def test_levels_have_their_optimum_too(name):
    model = LEVELS[name]
    data = sf.data.moments_of_table(sf.Table(model.domain, model.sample(500, n_sweeps=50, seed=1).codes))
    problem = Problem.with_l1(data, model.domain, 0.03)
    fit = fit_newton(problem, ExactMoments(), tol=1e-9)
    assert fit.status.code == "converged"
    gradient = problem.gradient(fit.model.moments())
    inside = (model.domain.slot_variables[:, None] == model.domain.slot_variables) & ~np.eye(len(gradient), dtype=bool)
    assert np.abs(problem.subgradient(theta_of(fit), gradient))[~inside].max() < 1e-9


def test_any_working_set_leads_to_the_same_optimum(monkeypatch):
    problem = make_problem(8, 0.02, seed=3)
    whole = {"tol": 1e-9, "max_iter": 1000}
    free = fit_newton(problem, ExactMoments(), **whole)
    monkeypatch.setattr(_newton_step, "choose_active", lambda theta, *_: np.ones(theta.shape, dtype=bool))
    full = fit_newton(problem, ExactMoments(), **whole)
    monkeypatch.setattr(_newton_step, "choose_active", choose_active)
    small = fit_newton(problem, ExactMoments(), **whole, policy=replace(NEWTON, most_active=6))
    for other in (full, small):
        assert other.status.code == "converged"
        np.testing.assert_allclose(theta_of(free), theta_of(other), atol=1e-6)


def assert_kept_steps_lead_down(fit):
    """Check that the draws at its end say of every step that was kept that it lowered the objective."""
    for step in fit.steps:
        if "taken back" in step.reason:
            assert step.decrease < 0
            assert step.share == 0
        else:
            assert step.decrease is None or step.decrease >= 0


def test_where_the_plain_step_runs_away_the_solver_does_not():
    # The undamped method diverges here: the first whole step would leave next to no draws with a say.
    truth = make_field(12, strength=(1.0, 2.0), seed=1)
    problem = Problem.with_l1(
        sf.data.moments_of_table(truth.sample(2000, method="perfect", seed=1)), truth.domain, 0.017
    )
    optimum = theta_of(fit_newton(problem, ExactMoments(), tol=1e-9))
    for seed in range(5):
        fit = fit_newton(problem, BestDraws(max_states=0), Simulation(1000, seed), gap=0.001)
        assert fit.status.code == "converged"
        assert fit.steps[0].share < 1
        assert fit.steps[0].effective >= 0.3
        assert fit.steps[0].decrease is None
        assert_kept_steps_lead_down(fit)
        assert fit.steps[0].objective == pytest.approx(problem.objective(np.zeros((12, 12))))
        assert fit.steps[-1].objective < fit.steps[0].objective
        assert fit.trace["is_certified"].all()
        last = fit.steps[-1]
        assert last.n_chains >= 0.9 * last.n_nonzero / 0.002
        gap = assert_end_is_measured(problem, fit, optimum)
        assert_gaps_are_noise(gap, [step_to_end(fit)], 12 * 13 // 2)


def test_a_smaller_gap_is_a_smaller_gap():
    problem = make_problem(8, 0.03, n=1000, seed=2)
    optimum = theta_of(fit_newton(problem, ExactMoments(), tol=1e-9))
    totals = []
    for gap in (0.02, 0.001):
        fits = [fit_newton(problem, BestDraws(max_states=0), Simulation(200, seed), gap=gap) for seed in range(20)]
        lasts = [fit.steps[-1] for fit in fits]
        assert {fit.status.code for fit in fits} == {"converged"}
        assert all(last.n_chains >= NEWTON.enough * last.n_nonzero / (2 * gap) for last in lasts)
        gaps = np.array([assert_end_is_measured(problem, fit, optimum) for fit in fits])
        leading = [step_to_end(fit) for fit in fits]
        assert_gaps_are_noise(gaps, leading, 8 * 9 // 2)
        totals.append((2 * np.array([step.n_chains for step in leading]) * gaps).sum())
    # Gaps fall as draws grow: 2 n gap has the same law at both, to leading order, chi-squared with as many degrees of
    # freedom as the optimum has parameters that are not zero. So the ratio of the sums has the law of F.
    degrees = 20 * np.count_nonzero(np.triu(optimum))
    assert totals[1] / totals[0] < stats.f.isf(FALSE_ALARM, degrees, degrees)


def test_a_warm_start_takes_few_steps():
    problem = make_problem(10, 0.05, n=1000, seed=2)
    fit = fit_newton(problem, BestDraws(max_states=0), Simulation(2000, 1), gap=0.005)
    for alpha in (0.045, 0.04, 0.036, 0.032):
        near = Problem.with_l1(problem.data.moments, problem.domain, alpha)
        fit = fit_newton(near, BestDraws(max_states=0), Simulation(2000, 1), gap=0.005, start=theta_of(fit))
        assert fit.status.code == "converged"
        assert len(fit.steps) <= 4


def test_too_strong_for_a_certificate_is_said():
    strong = make_field(12, edge_probability=0.9, strength=(2.5, 3.5), seed=1)
    data = sf.data.moments_of_table(strong.sample(500, n_sweeps=200, seed=1))
    problem = Problem.with_l1(data, strong.domain, 0.001)
    fit = fit_newton(problem, BestDraws(max_sweeps=30, max_states=0), Simulation(1000, 1), max_iter=8)
    assert fit.status.code == "not_certified"
    assert "exact draws out of reach" in fit.status.sentence
    assert fit.undecided is None
    # A number of sweeps that was asked for promises nothing, and is not complained about.
    assert fit_newton(make_problem(), Fixed(5), gap=0.05).status.code == "converged"


def test_interrupts_and_limits():
    problem = make_problem()

    def stop(info):
        if info.iteration == 2:
            raise KeyboardInterrupt

    fit = fit_newton(problem, BestDraws(max_states=0), Simulation(500, 1), gap=0.0001, watch=stop)
    assert fit.status.code == "interrupted"
    assert len(fit.steps) == 2
    assert fit_newton(problem, BestDraws(max_states=0), gap=0.0001, max_iter=1).status.code == "max_iter"
    assert fit_newton(problem, BestDraws(max_states=0), gap=0.0001, max_seconds=0.0).status.code == "max_seconds"
    for options, message in (({"gap": 0.0}, "gap is 0"), ({"start": np.ones((2, 2))}, "start must be")):
        with pytest.raises(ValueError, match=message):
            fit_newton(problem, BestDraws(max_states=0), **options)


def test_more_draws_than_the_limit_end_at_the_noise_floor():
    policy = replace(NEWTON, most_draws=2000)
    fit = fit_newton(make_problem(), BestDraws(max_states=0), Simulation(500, 1), gap=1e-6, policy=policy)
    assert fit.status.code == "simulation_error"
    assert fit.steps[-1].n_chains == 2000


def test_draws_that_memory_does_not_hold_come_in_batches(monkeypatch):
    problem = make_problem(6, 0.05, seed=2)
    optimum = theta_of(fit_newton(problem, ExactMoments(), tol=1e-9))
    held = []
    draws_of = Chains.draws
    monkeypatch.setattr(Chains, "draws", lambda chains: held.append(chains.n_chains) or draws_of(chains))
    policy = replace(NEWTON, most_cells=6 * 1500)
    fit = fit_newton(problem, BestDraws(max_states=0), Simulation(1000, 1), gap=0.001, policy=policy)
    last = fit.steps[-1]
    assert last.n_chains > 2 * 1500
    assert max(held) == 1500
    assert fit.trace["is_certified"].all()
    assert fit.undecided is not None
    gap = assert_end_is_measured(problem, fit, optimum, n_held=1500)
    assert_gaps_are_noise(gap, [step_to_end(fit)], 6 * 7 // 2, n_held=1500)


def test_a_step_that_gains_nothing_is_not_made():
    problem = make_problem(6, 0.05, seed=2)
    optimum = fit_newton(problem, ExactMoments(), tol=1e-12, max_iter=30)
    move = find_move(look_at(problem, theta_of(optimum), ExactMoments(), Simulation()))
    assert np.abs(move.made).max() < 1e-9


def exclusive_table(seed, n=300):
    """Return rows in which the first two columns are never both one."""
    rows = (np.random.default_rng(seed).random((n, 5)) < 0.4).astype(np.uint8)
    rows[(rows[:, 0] == 1) & (rows[:, 1] == 1), 1] = 0
    return sf.encode(rows)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("penalize_main", [False, True])
def test_what_no_draw_shows_is_not_taken_for_certain(seed, penalize_main):
    # The optimum makes the pair as rare as alpha, so that next to no draw shows it.
    table = exclusive_table(seed)
    problem = Problem.with_l1(sf.data.moments_of_table(table), table.domain, 5e-4, penalize_main)
    optimum = theta_of(fit_newton(problem, ExactMoments(), tol=1e-8, max_iter=200))
    solver, options = sf.Newton(schedule=BestDraws(max_states=0)), {"penalize_main": penalize_main, "gap": 0.002}
    mrf = sf.SparseMRF(5e-4, solver=solver, init="zero", random_state=seed, **options).fit(table)
    assert mrf.status_.code == "converged"
    gap = assert_end_is_measured(problem, mrf.fit_, optimum)
    last = step_to_end(mrf.fit_)
    # The noise of 14 statistics is normal. The pair is too rare for that: its mean is q = alpha at the optimum, so that
    # at most k draws show it, by Poisson's law. A parameter that gives it a mean of r costs r - q - q log(r / q), which
    # is below k / n for all r from k / n down to q exp(-k / (q n)). What is taken for certain has a much smaller r.
    most = stats.poisson.isf(FALSE_ALARM, 5e-4 * last.n_chains)
    assert_gaps_are_noise(gap - most / last.n_chains, [last], 14)
    # Without a penalty there is no optimum, and still no failure.
    solver = sf.Newton(schedule="perfect", max_iter=30)
    assert sf.SparseMRF(0.0, solver=solver, random_state=seed, **options).fit(table).fit_.undecided is not None


def test_batches_lead_as_far_as_draws_at_one_time():
    problem = make_problem(8, 0.03, seed=5)
    optimum = theta_of(fit_newton(problem, ExactMoments(), tol=1e-9))
    policy = replace(NEWTON, most_cells=8 * 512)
    for seed in range(10):
        fit = fit_newton(problem, BestDraws(max_states=0), Simulation(1000, seed), gap=0.003, policy=policy)
        assert fit.status.code == "converged"
        assert_kept_steps_lead_down(fit)
        gap = assert_end_is_measured(problem, fit, optimum, n_held=512)
        assert_gaps_are_noise(gap, [step_to_end(fit)], 8 * 9 // 2, n_held=512)


@pytest.mark.parametrize("run", [solve, fit_newton])
def test_draws_that_get_out_of_reach_end_a_fit_with_what_there_is(run, monkeypatch):
    problem = make_problem()
    drawn = PerfectDraws.estimate

    def estimate(self, problem, point, simulation):
        if point.iteration == 3:
            raise OutOfReachError("Exact draws are out of reach.")
        return drawn(self, problem, point, simulation)

    monkeypatch.setattr(PerfectDraws, "estimate", estimate)
    fit = run(problem, PerfectDraws(), Simulation(1000, 1), max_iter=10, tol=0.0, start=5 * np.eye(6))
    assert fit.status.code == "not_certified"
    assert fit.status.sentence == "Stopped after 2 iterations. Exact draws are out of reach."
    assert len(fit.steps) == 2


def test_few_draws_come_to_an_end():
    for n in (1, 2, 3):
        assert fit_newton(make_problem(), BestDraws(max_states=0), Simulation(n, 1), gap=0.05).steps


@pytest.mark.parametrize("schedule", [ExactMoments(), PerfectDraws()], ids=str)
def test_a_fit_none_of_whose_steps_leads_down_stays_where_it_is(schedule, monkeypatch):
    monkeypatch.setattr(_newton, "measure_fall", lambda *_, **__: Fall(decrease=-1.0, error=0.0, allowed=0.0))
    start = theta_of(make_problem(6).model(0.1 * np.eye(6)))
    fit = fit_newton(make_problem(6), schedule, Simulation(1000, 1), start=start)
    assert fit.status.code == "stalled"
    assert "no step, however short" in fit.status.sentence
    np.testing.assert_array_equal(theta_of(fit), start)
    # The first row finds a step, and each of the others takes it back and makes it shorter.
    assert len(fit.steps) == 1 + NEWTON.most_cuts
    assert all("taken back" in step.reason and step.share == 0 for step in fit.steps[1:])


def test_a_fit_that_is_not_surely_lower_than_its_start_is_its_start(monkeypatch):
    # Every step seems to lead nowhere: there are more draws then, once, and the start is what is returned.
    monkeypatch.setattr(_newton, "measure_fall", lambda *_, **__: Fall(decrease=0.0, error=1.0, allowed=0.0))
    monkeypatch.setattr(_newton, "measure_decrease", lambda *_, **__: (0.0, 1.0))
    problem, start = make_problem(6), 0.1 * np.eye(6)
    fit = fit_newton(problem, PerfectDraws(), Simulation(1000, 1), start=start, gap=0.01)
    assert fit.status.code == "simulation_error"  # there is more to gain than the noise of the draws
    assert fit.status.sentence.endswith("No steps led to an objective that is surely lower: this is the start.")
    np.testing.assert_array_equal(theta_of(fit), start)
    # It is said how far that is from the optimum, by draws there: what the quadratic model promises. Two digits are
    # right to a twentieth; the covariance of 21 statistics is right to a share of 2 sqrt(21 / n), and the noise of the
    # gradient has a standard deviation of sqrt(2 gap / n) along the step.
    said = re.search(r"about ([0-9.e-]+) above its optimum, by ([0-9]+) draws", fit.status.sentence)
    gap, n = float(said[1]), int(said[2])
    exact = find_move(look_at(problem, start, ExactMoments(), Simulation())).predicted
    share = 1 / 20 + 2 * np.sqrt(21 / n) + stats.norm.isf(FALSE_ALARM / 2) * np.sqrt(2 / (n * exact))
    assert gap == pytest.approx(exact, rel=share)
    assert fit.undecided is not None


def test_a_fit_does_not_return_to_a_start_that_its_draws_know_to_be_worse():
    # Two columns are the same, and others next to it: the first steps are long, and their decreases uncertain.
    rows = [[0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 1, 0], [0, 0, 0, 1, 0, 0], [0, 0, 0, 1, 0, 1], [0, 0, 0, 1, 1, 0]]
    rows += [[0, 1, 1, 1, 0, 0], [1, 1, 1, 0, 0, 1]]
    table = sf.encode(np.repeat(rows, [3, 1, 20, 1, 2, 2, 1], axis=0))
    problem = Problem.with_l1(sf.data.moments_of_table(table), table.domain, 0.005, penalize_main=False)
    for seed in range(20):
        fit = sf.learn(table, 0.005, solver=sf.Newton(schedule="perfect"), gap=0.01, seed=seed)
        assert fit.status.code == "converged"
        # Objectives in the trace are exact: what is returned is as low as the lowest, but for the gap asked for.
        kept = [step.objective for step in fit.steps if "taken back" not in step.reason]
        assert problem.objective(theta_of(fit)) <= min(kept) + 0.01


def test_a_fit_that_a_limit_ends_returns_to_its_start_too(monkeypatch):
    monkeypatch.setattr(_newton, "measure_fall", lambda *_, **__: Fall(decrease=0.0, error=1.0, allowed=0.0))
    problem, start = make_problem(6), 0.1 * np.eye(6)
    options = {"start": start, "gap": 0.01, "max_iter": 3}
    kept = fit_newton(problem, PerfectDraws(), Simulation(1000, 1), **options)
    assert kept.status.code == "max_iter"
    assert problem.objective(theta_of(kept)) < problem.objective(start)  # by draws at the end, if not step by step
    monkeypatch.setattr(_newton, "measure_decrease", lambda *_, **__: (0.0, 1.0))
    fit = fit_newton(problem, PerfectDraws(), Simulation(1000, 1), **options)
    assert fit.status.code == "max_iter"
    assert fit.status.sentence.endswith("surely lower: this is the start.")
    np.testing.assert_array_equal(theta_of(fit), start)
    assert fit.undecided is None


def test_draws_at_the_start_that_are_at_hand_are_the_first_ones():
    problem = make_problem(8)
    limits = Limits(50)
    known = run_newton(problem, PerfectDraws(), Simulation(2000, 1), limits, None, 0.01, None, None)
    first, here = known.fit(), known.known
    assert here.n_asked == first.steps[-1].n_chains
    np.testing.assert_array_equal(here.theta, theta_of(first))
    harder = replace(problem, penalty=L1(problem.domain, problem.penalty.alpha / 2))
    end = run_newton(harder, PerfectDraws(), Simulation(2000, 2), limits, None, 0.01, None, None, known=here)
    fit = end.fit()
    assert fit.steps[0].n_chains == here.n_asked
    assert fit.steps[0].subgradient_norm == norm(harder.subgradient(here.theta, harder.gradient(here.estimate.moments)))
    assert harder.objective(theta_of(fit)) < harder.objective(here.theta)
    assert end.known is not None


@pytest.mark.parametrize("agreement", [None, 0.99])
def test_a_state_leads_to_the_same_step_again_and_stays_as_it_was(agreement):
    problem, start = make_problem(6), 0.1 * np.eye(6)
    limits, simulation = Limits(50), Simulation(500, 1)
    task = _newton.NewtonTask(PerfectDraws(), simulation, limits, 0.01, agreement, NEWTON)
    state, status, n_steps = _newton.init(task, problem, start), None, 0
    while status is None:
        n_steps += 1
        state = state.turned()
        kept = {own.name: getattr(state, own.name) for own in fields(state)}
        (after, info), (other, again) = (_newton.step(task, *_newton.look(task, state)) for _ in range(2))
        assert all(getattr(state, name) is value for name, value in kept.items())
        assert info == again
        np.testing.assert_array_equal(after.ahead, other.ahead)
        assert (after.budget.n_next, after.ending) == (other.budget.n_next, other.ending)
        decided, once_more = (_newton.decide(task, after, info.violation) for _ in range(2))
        assert (decided.budget.n_next, decided.ending) == (once_more.budget.n_next, once_more.ending)
        status = _newton.end(task, decided, n_steps)
        assert _newton.end(task, decided, n_steps) == status
        state = decided
    known = run_newton(problem, PerfectDraws(), simulation, limits, start, 0.01, agreement, None)
    np.testing.assert_array_equal(state.theta, known.theta)
    assert (status, n_steps) == (known.status, len(known.steps))
    assert n_steps > 2


def test_an_interrupt_while_a_step_is_judged_keeps_the_step(monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(_newton, "seek_agreement", stop)
    fit = fit_newton(make_problem(6), BestDraws(max_states=0), Simulation(1000, 1), gap=0.05, agreement=0.99)
    assert fit.status.code == "interrupted"
    assert len(fit.steps) > 0
    assert f"after {count(len(fit.steps), 'iteration')}" in fit.status.sentence
