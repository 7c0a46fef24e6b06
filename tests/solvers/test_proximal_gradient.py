"""The paper's steps with exact gradients against an independent solver, and with estimated ones against theory."""

import time

import numpy as np
import pytest

import sparsefield as sf
from sparsefield.gradients import BestDraws, ExactMoments, Fixed, PerfectDraws, ProximalStep, Simulation, Tay
from sparsefield.inference import Cpu
from sparsefield.model import norm
from sparsefield.objective import Problem
from sparsefield.solvers import State, _safeguard, begin, solve, step
from support import exact_chains
from support.noise import covariance, enumerate_statistics, largest_floor
from support.problems import make_problem, make_table, safe_step, theta_of
from support.statistics_ import FALSE_ALARM
from support.zoo import ZOO


@pytest.mark.parametrize("p", [1, 5, 8])
@pytest.mark.parametrize("alpha", [0.02, 0.1])
@pytest.mark.parametrize("penalize_main", [True, False])
def test_exact_gradients_lead_to_the_optimum_of_an_independent_solver(p, alpha, penalize_main):
    problem = make_problem(p, alpha, seed=p, penalize_main=penalize_main)
    theta, value = exact_chains.penalised_optimum(problem.data.moments.pair, problem.penalty.weights)
    fit = solve(problem, ExactMoments(), step_size=min(1.0, 4 * safe_step(problem)), max_iter=20_000, tol=1e-7)
    assert fit.status.code == "converged"
    found = problem.objective(theta_of(fit.model))
    assert found == pytest.approx(value, abs=1e-9)
    # The optimum does not move.
    np.testing.assert_allclose(theta_of(fit.model), theta, atol=1e-3)
    moved, _ = ProximalStep(problem, theta, 0.3).take(problem.model(theta).moments())
    np.testing.assert_allclose(moved, theta, atol=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_the_objective_never_rises_with_short_steps(seed):
    problem = make_problem(7, alpha=0.03, seed=seed)
    fit = solve(problem, ExactMoments(), step_size=safe_step(problem), max_iter=200)
    objectives = fit.trace["objective"].to_numpy()
    assert np.all(np.diff(objectives) <= 1e-14)


@pytest.mark.parametrize("schedule", [Fixed(1), Tay("sharp"), Tay("coalescence"), PerfectDraws()], ids=str)
def test_the_objective_falls_where_the_error_is_below_half_the_step_map(schedule):
    # The paper's Theorem 1, in every iteration of a run with few chains.
    problem = make_problem(6, alpha=0.03, seed=2)
    simulation = Simulation(n_chains=2000, seed=1)
    state = State(np.zeros((6, 6)), safe_step(problem))
    n_below = 0
    for _ in range(150):
        after, info = step(problem, state, schedule, simulation, track=True)
        exact_gradient = problem.gradient(problem.model(state.theta).moments())
        used = (state.theta - after.theta) / state.step_size
        error = norm(problem.gradient(after.chains.moments()) - exact_gradient)
        assert info.step_map_norm == pytest.approx(norm(used))
        if error < info.step_map_norm / 2:
            n_below += 1
            assert problem.objective(after.theta) <= info.objective + 1e-14
        state = after
    assert n_below > 10


def test_exact_gradients_with_a_step_size_of_their_own():
    # Noisy copies of one bit: the curvature grows tenfold on the way.
    rng = np.random.default_rng(1)
    bit = rng.random(500) < 0.5
    table = sf.encode((bit[:, None] ^ (rng.random((500, 8)) < 0.05)).astype(int))
    fit = solve(Problem.with_l1(sf.data.moments_of_table(table), table.domain, 0.02), ExactMoments(), max_iter=300)
    objectives = fit.trace["objective"].to_numpy()
    assert fit.steps[-1].step_size < fit.steps[0].step_size / 2
    # A step lowers the objective up to twice the length 1 / L, which leaves a factor of two for the estimate of L.
    assert np.all(np.diff(objectives) <= 1e-14)
    assert fit.status.code != "step_too_long"


def strong_problem():
    """Two columns that are always equal: the better the fit, the stronger the interaction, without end at alpha = 0."""
    rows = np.array([[0, 0, 1], [1, 1, 0], [1, 1, 1], [0, 0, 0]] * 10)
    table = sf.encode(rows)
    return Problem.with_l1(sf.data.moments_of_table(table), table.domain, 0.0)


def test_a_model_outside_every_certificate_ends_with_the_right_status():
    problem = strong_problem()
    start = np.array([[-30.0, 60.0, 0], [60.0, -30.0, 0], [0, 0, 0]])
    for schedule in (Tay("paper", max_sweeps=20), Tay("sharp", max_sweeps=20), Tay("coalescence", max_sweeps=20)):
        fit = solve(problem, schedule, Simulation(500, seed=1), step_size=1e-6, start=start, max_iter=3)
        assert fit.status.code == "not_certified"
        assert "are not certified" in fit.status.sentence
        assert not fit.trace["is_certified"].any()
    persistent = Tay("persistent", max_sweeps=20)
    fit = solve(problem, persistent, Simulation(500, seed=1, persist=True), step_size=1e-6, start=start, max_iter=3)
    assert fit.status.code == "not_certified"
    with pytest.raises(ValueError, match="out of reach"):
        solve(problem, PerfectDraws(max_sweeps=20), Simulation(500), step_size=1e-6, start=start, max_iter=3)


def test_too_long_steps_are_told():
    problem = make_problem(8, alpha=0.01)
    fit = solve(problem, ExactMoments(), step_size=30.0, max_iter=20)
    assert fit.status.code == "step_too_long"
    assert "step_size='auto'" in fit.status.sentence


def test_steps_are_told_from_noise():
    problem = make_problem(6, alpha=0.05)
    _, best = exact_chains.penalised_optimum(problem.data.moments.pair, problem.penalty.weights)
    fits = [solve(problem, PerfectDraws(), Simulation(500, seed), max_iter=2000) for seed in range(20)]
    for fit in fits:
        assert fit.status.code == "simulation_error"
        assert "More chains" in fit.status.sentence
    gaps = [problem.objective(theta_of(fit)) - best for fit in fits]
    assert np.mean(gaps) < largest_floor(fits, 500)
    # Nothing is to be had from going on with as many chains but other draws of the noise.
    longer = [
        solve(problem, PerfectDraws(), Simulation(500, 100 + seed), start=theta_of(fit), max_iter=79)
        for seed, fit in enumerate(fits)
    ]
    assert np.mean([problem.objective(theta_of(fit)) - best for fit in longer]) < largest_floor(longer, 500)
    more = solve(problem, PerfectDraws(), Simulation(50_000, seed=2), max_iter=2000)
    assert problem.objective(theta_of(more)) - best < np.mean(gaps)


def test_time_and_interrupts_end_a_fit_with_what_there_is():
    problem = make_problem(5)
    start = 0.1 * np.eye(5)
    fit = solve(problem, Fixed(1), max_seconds=0.0, start=start)
    assert fit.status.code == "max_seconds"
    assert "before the first iteration: this is where it started" in fit.status.sentence
    assert len(fit.steps) == 0
    np.testing.assert_array_equal(theta_of(fit), start)
    without = solve(problem, Fixed(1), max_seconds=0.0, start=start, average=True)
    np.testing.assert_array_equal(theta_of(without), start)
    # Time that was spent before counts: none is left here.
    assert solve(problem, Fixed(1), max_seconds=60.0, began=time.perf_counter() - 61).status.code == "max_seconds"
    assert len(solve(problem, Fixed(1), Simulation(300), max_seconds=60.0, max_iter=2).steps) == 2
    seen = []

    def interrupt(info):
        seen.append(info)
        if len(seen) == 4:
            raise KeyboardInterrupt

    stopped = solve(problem, Fixed(1), Simulation(300), watch=interrupt)
    assert stopped.status.code == "interrupted"
    assert len(stopped.steps) == 4
    same = solve(problem, Fixed(1), Simulation(300), max_iter=4)
    np.testing.assert_array_equal(theta_of(stopped.model), theta_of(same.model))


def test_a_step_leaves_its_state_alone():
    problem = make_problem(6)
    simulation = Simulation(700, seed=1, persist=True)
    state = State(np.zeros((6, 6)), 0.4, curvature=np.ones((6, 6)))
    for _ in range(3):
        state, _ = step(problem, state, Tay("persistent"), simulation)
    first, second = (step(problem, state, Tay("persistent"), simulation) for _ in range(2))
    np.testing.assert_array_equal(first[0].theta, second[0].theta)
    np.testing.assert_array_equal(first[0].chains.codes(), second[0].chains.codes())
    assert first[1].n_sweeps == second[1].n_sweeps


@pytest.mark.parametrize("persist", [False, True])
def test_same_seed_same_fit_whatever_the_threads(persist, cut_work):
    cut_work()
    problem = make_problem(8)
    fits = [solve(problem, Fixed(3), Simulation(3000, 5, persist, backend=Cpu(n)), max_iter=15) for n in (1, 2)]
    np.testing.assert_array_equal(theta_of(fits[0].model), theta_of(fits[1].model))
    other = solve(problem, Fixed(3), Simulation(3000, 6, persist), max_iter=15)
    assert not np.array_equal(theta_of(fits[0].model), theta_of(other.model))


def test_extreme_penalties():
    problem = make_problem(5, alpha=2.0)
    fit = solve(problem, ExactMoments(), max_iter=50)
    assert not theta_of(fit.model).any()
    assert fit.status.code == "converged"
    free = Problem.with_l1(problem.data.moments, problem.domain, 2.0, penalize_main=False)
    fit = solve(free, ExactMoments(), step_size=1.0, max_iter=2000, tol=1e-9)
    assert not fit.model.interactions.any()
    np.testing.assert_allclose(fit.model.moments().main, problem.data.moments.main, atol=1e-8)
    unpenalised = Problem.with_l1(make_problem(4, n=5000, strength=(0.1, 0.3)).data.moments, sf.Domain.binary(4), 0.0)
    fit = solve(unpenalised, ExactMoments(), step_size=1.0, max_iter=20_000, tol=1e-9)
    np.testing.assert_allclose(fit.model.moments().pair, unpenalised.data.moments.pair, atol=1e-8)


def test_averaged_iterates_are_the_average():
    problem = make_problem(5)
    means = np.zeros((5, 5))
    state = State(np.zeros((5, 5)), 0.4)
    for _ in range(6):
        state, _ = step(problem, state, Fixed(2), Simulation(300, seed=3))
        means += state.theta / 6
    fit = solve(problem, Fixed(2), Simulation(300, seed=3), step_size=0.4, max_iter=6, average=True)
    np.testing.assert_allclose(theta_of(fit.model), means)


def test_the_step_size_follows_the_curvature():
    problem = make_problem(7, alpha=0.02, strength=(1.0, 2.0))
    simulation, n, t = Simulation(5000, seed=1), 1000, np.log(2 / FALSE_ALARM)
    state = begin(problem, simulation, "auto")
    error = variance = largest = 0.0
    for _ in range(60):
        probabilities, statistics, slots = enumerate_statistics(problem.model(state.theta))
        exactly = covariance(probabilities, statistics)
        v = state.curvature[slots] / norm(state.curvature)
        state, _ = step(problem, state, PerfectDraws(), simulation)
        # A power step: n fresh draws make the product of their covariance and the last direction, whose mean is the
        # exact product, less 1 / n for the means that were taken off.
        product = exactly @ v
        u = product / np.linalg.norm(product)
        error += state.curvature[slots] @ u * n / (n - 1) - np.linalg.norm(product)
        centred = statistics - probabilities @ statistics
        draws = (centred @ u) * (centred @ v)
        variance += covariance(probabilities, draws[:, None]).item() / n
        largest = max(largest, np.abs(draws - probabilities @ draws).max() / n)
        assert state.step_size == pytest.approx(1 / norm(state.curvature))
    # 60,000 draws make a martingale (Freedman's inequality), but for products of two errors of means, of order 1 / n.
    assert abs(error) <= np.sqrt(2 * variance * t) + 2 * largest * t / 3
    # By now the direction is that of the largest curvature, to less than these draws can tell (Bernstein).
    noise = np.sqrt(2 * covariance(probabilities, draws[:, None]).item() * t / n) + np.abs(draws).max() * t / (3 * n)
    assert np.linalg.norm(product) <= np.linalg.eigvalsh(exactly)[-1] <= np.linalg.norm(product) + noise


@pytest.mark.parametrize("model", ZOO.values(), ids=ZOO.keys())
def test_fits_of_the_zoo_are_optimal(model):
    # Any number of levels, any reference, constant variables: the subgradient must vanish.
    data = sf.data.moments_of_table(sf.Table(model.domain, model.sample(300, n_sweeps=20, seed=1).codes))
    problem = Problem.with_l1(data, model.domain, 0.05)
    fit = solve(problem, ExactMoments(), step_size=0.3, max_iter=20_000, tol=1e-8)
    assert fit.status.code == "converged"
    theta, gradient = theta_of(fit.model), problem.gradient(fit.model.moments())
    rest = np.where(theta != 0, np.abs(gradient + 0.05 * np.sign(theta)), np.maximum(np.abs(gradient) - 0.05, 0))
    assert rest[problem.penalty.weights > 0].max() < 1e-7


def test_bad_requests_are_refused():
    problem = make_problem(4)
    for max_iter in (0, -3, 1.5):
        with pytest.raises(ValueError, match="max_iter is"):
            solve(problem, Fixed(1), max_iter=max_iter)
    with pytest.raises(ValueError, match="tol is nan"):
        solve(problem, Fixed(1), tol=np.nan)
    for step_size in (0, -1, np.nan, "long"):
        with pytest.raises(ValueError, match="step_size is"):
            solve(problem, Fixed(1), step_size=step_size)
    with pytest.raises(ValueError, match="start must be a symmetric matrix"):
        solve(problem, Fixed(1), start=np.zeros((3, 3)))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("max_states", [None, 0])
def test_steps_that_lead_up_lead_back_to_the_start(seed, max_states, monkeypatch):
    # From near the optimum, steps ten times too long on few sweeps of few chains lead up: by all states, or by draws.
    monkeypatch.setattr(_safeguard, "BestDraws", lambda: BestDraws(max_states=max_states))
    table = make_table()
    best = sf.learn(table, 0.02, seed=1)
    problem = Problem.with_l1(sf.data.moments_of_table(table), table.domain, 0.02, penalize_main=False)
    steps = sf.Proximal(schedule=1, step_size=20.0, n_chains=200, max_iter=5)
    up = solve(problem, Fixed(1), Simulation(200, seed), step_size=20.0, start=theta_of(best), max_iter=5)
    assert problem.objective(theta_of(up)) > problem.objective(theta_of(best))
    fit = sf.learn(table, 0.02, solver=steps, init=best.model, seed=seed)
    np.testing.assert_array_equal(theta_of(fit), theta_of(best))
    assert "surely lower: this is the start." in fit.status.sentence


@pytest.mark.parametrize("max_states", [None, 0])
def test_steps_that_lead_down_are_kept(max_states, monkeypatch):
    monkeypatch.setattr(_safeguard, "BestDraws", lambda: BestDraws(max_states=max_states))
    table = make_table()
    problem = Problem.with_l1(sf.data.moments_of_table(table), table.domain, 0.02, penalize_main=False)
    fit = sf.learn(table, 0.02, solver=sf.Proximal(schedule="perfect", n_chains=4000, max_iter=10), seed=1)
    start = sf.learn(table, 0.02, solver="proximal", max_seconds=0.0)
    assert problem.objective(theta_of(fit)) < problem.objective(theta_of(start))
    assert "start" not in fit.status.sentence
