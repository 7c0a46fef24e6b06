"""The solver with exact gradients against an independent one, and with estimated gradients against theory."""

import numpy as np
import pytest

import exact_chains
import sparsefield as sf
from sparsefield._io import write_parameters
from sparsefield._problem import Problem
from sparsefield._result import Fit
from sparsefield._schedule import Sampler, exact, fixed, increasing, perfect, tay
from sparsefield._solver import State, solve, step
from sparsefield.certificates import Disagreement
from sparsefield.certificates._certificate import norm
from sparsefield.datasets import make_field
from sparsefield.inference import Chains, Scan
from zoo import ZOO


def make_problem(p=6, alpha=0.05, n=400, seed=1, strength=(0.5, 1.5), penalize_main=True):
    truth = make_field(p, edge_probability=0.4, strength=strength, seed=seed)
    data = sf.moments_of_table(truth.sample(n, method="perfect", seed=seed))
    return Problem(data, truth.domain, alpha, penalize_main)


def theta_of(model):
    return model.interactions + np.diag(model.main)


def safe_step(problem):
    """Return 1 / L for L = m / 4: statistics are 0 or 1, so the largest eigenvalue of their covariance is no more."""
    return 4 / (problem.domain.n_slots * (problem.domain.n_slots + 1) / 2)


@pytest.mark.parametrize("p", [1, 5, 8])
@pytest.mark.parametrize("alpha", [0.02, 0.1])
@pytest.mark.parametrize("penalize_main", [True, False])
def test_exact_gradients_lead_to_the_optimum_of_an_independent_solver(p, alpha, penalize_main):
    problem = make_problem(p, alpha, seed=p, penalize_main=penalize_main)
    theta, value = exact_chains.penalised_optimum(problem.data.pair, problem.penalty)
    fit = solve(problem, exact(), step_size=min(1.0, 4 * safe_step(problem)), max_iter=20_000, tol=1e-7)
    assert fit.status.code == "converged"
    found = problem.objective(theta_of(fit.model))
    assert found == pytest.approx(value, abs=1e-9)
    # The optimum does not move.
    np.testing.assert_allclose(theta_of(fit.model), theta, atol=1e-3)
    moved = problem.update(theta, problem.gradient(problem.model(theta).moments()), 0.3)
    np.testing.assert_allclose(moved, theta, atol=1e-5)


def test_the_objective_is_the_penalised_likelihood():
    problem = make_problem(5, seed=3, penalize_main=False)
    theta = theta_of(make_field(5, seed=9))
    model = problem.model(theta)
    upper = np.triu(np.ones((5, 5), dtype=bool))
    expected = model.log_partition() - (theta * problem.data.pair)[upper].sum()
    assert problem.objective(theta) == pytest.approx(expected + 0.05 * np.abs(theta[np.triu_indices(5, 1)]).sum())
    rng = np.random.default_rng(1)
    rows = make_field(5, seed=3).sample(50, n_sweeps=20, seed=1)
    likelihood = Problem(sf.moments_of_table(rows), rows.domain, 0.0)
    assert likelihood.objective(theta) == pytest.approx(-model.log_prob(rows.codes).mean())
    # Its gradient is model moments minus data moments.
    direction = rng.normal(size=(5, 5))
    direction += direction.T
    slope = (likelihood.objective(theta + 1e-5 * direction) - likelihood.objective(theta - 1e-5 * direction)) / 2e-5
    gradient = likelihood.gradient(model.moments())
    assert slope == pytest.approx((gradient * direction)[upper].sum(), rel=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_the_objective_never_rises_with_short_steps(seed):
    problem = make_problem(7, alpha=0.03, seed=seed)
    fit = solve(problem, exact(), step_size=safe_step(problem), max_iter=200)
    objectives = fit.trace["objective"].to_numpy()
    assert np.all(np.diff(objectives) <= 1e-14)


@pytest.mark.parametrize("schedule", [fixed(1), tay("sharp"), tay("coalescence"), perfect()], ids=str)
def test_the_objective_falls_where_the_error_is_below_half_the_step_map(schedule):
    # The paper's Theorem 1, in every iteration of a run with few chains.
    problem = make_problem(6, alpha=0.03, seed=2)
    sampler = Sampler(n_chains=2000, seed=1)
    state = State(np.zeros((6, 6)), safe_step(problem))
    n_below = 0
    for _ in range(150):
        after, info = step(problem, state, schedule, sampler, track=True)
        exact_gradient = problem.gradient(problem.model(state.theta).moments())
        used = (state.theta - after.theta) / state.step_size
        error = norm(problem.gradient(after.chains.moments()) - exact_gradient)
        assert info.step_norm == pytest.approx(norm(used))
        if error < info.step_norm / 2:
            n_below += 1
            assert problem.objective(after.theta) <= info.objective + 1e-14
        state = after
    assert n_below > 10


@pytest.mark.parametrize("certificate", ["paper", "sharp"])
def test_tay_sweeps_as_often_as_checking_after_every_sweep(certificate, monkeypatch):
    problem = make_problem(7, alpha=0.05, seed=3, strength=(0.3, 0.8))
    sampler = Sampler(n_chains=2000, seed=4)
    n_passes = []
    counted = Chains.moments
    monkeypatch.setattr(Chains, "moments", lambda *a, **k: n_passes.append(1) or counted(*a, **k))
    state = State(np.zeros((7, 7)), 0.4)
    n_checked = 0
    for k in range(1, 30):
        model = problem.model(state.theta)
        chains = Chains(problem.domain, 2000, seed=sampler.seed_of(k))
        far = Disagreement(model, kind=certificate)
        while True:
            chains.sweep(Scan(model), 1)
            far.sweep()
            moments = counted(chains)
            n_checked += 1
            if far.bias < norm(problem.step_map(state.theta, problem.gradient(moments), 0.4)) / 2:
                break
        state, info = step(problem, state, tay(certificate), sampler)
        assert info.is_certified
        assert info.n_sweeps == far.n_sweeps
        assert info.certificate == pytest.approx(far.bias)
        assert info.certificate < info.step_norm / 2
    # And took moments less often, where the bound says nothing at first.
    assert len(n_passes) < n_checked if certificate == "paper" else len(n_passes) <= n_checked


def slow_problem():
    """A problem whose optimum is near a balanced ring with an influence radius of 0.9."""
    p = 16
    coupling = 4 * np.arctanh(0.45)
    interactions = np.zeros((p, p))
    for i in range(p):
        interactions[i, (i + 1) % p] = interactions[(i + 1) % p, i] = coupling
    model = sf.PairwiseMRF.binary(-interactions.sum(axis=1) / 2, interactions)
    start = theta_of(model)
    return Problem(sf.moments_of_table(model.sample(500, n_sweeps=100, seed=1)), model.domain, 0.02), start


@pytest.mark.parametrize("certificate", ["paper", "sharp"])
def test_tay_waits_for_a_bound_that_falls_late(certificate):
    # The paper's bound is flat while the disagreements add up to more than one.
    problem, start = slow_problem()
    far = Disagreement(problem.model(start), kind=certificate)
    chains = Chains(problem.domain, 2000, seed=Sampler(2000, 4).seed_of(1))
    while True:
        chains.sweep(Scan(problem.model(start)), 1)
        far.sweep()
        if far.bias < norm(problem.step_map(start, problem.gradient(chains.moments()), 0.4)) / 2:
            break
    assert far.n_sweeps > 10
    _, info = step(problem, State(start, 0.4), tay(certificate), Sampler(2000, seed=4))
    assert info.is_certified
    assert info.n_sweeps == far.n_sweeps


def test_exact_gradients_with_a_step_size_of_their_own():
    # Noisy copies of one bit: the curvature grows tenfold on the way.
    rng = np.random.default_rng(1)
    bit = rng.random(500) < 0.5
    table = sf.encode((bit[:, None] ^ (rng.random((500, 8)) < 0.05)).astype(int))
    fit = solve(Problem(sf.moments_of_table(table), table.domain, 0.02), exact(), max_iter=300)
    objectives = fit.trace["objective"].to_numpy()
    assert fit.steps[-1].step_size < fit.steps[0].step_size / 2
    assert objectives[-1] < objectives.min() + 0.01
    assert fit.status.code != "step too long"


def test_persistent_chains_are_certified_with_fewer_sweeps():
    problem = make_problem(8, alpha=0.04, seed=5, strength=(0.3, 0.8))
    runs = {}
    for certificate, persist in (("sharp", False), ("persistent", True)):
        fit = solve(problem, tay(certificate), Sampler(4000, seed=1, persist=persist), step_size=0.4, max_iter=40)
        assert fit.trace["is_certified"].all()
        runs[certificate] = fit.trace["n_sweeps"].sum()
    assert runs["persistent"] < runs["sharp"]


def test_schedules_do_what_their_names_say():
    problem = make_problem(5)
    sampler = Sampler(500, seed=1)
    assert solve(problem, fixed(7), sampler, max_iter=5).trace["n_sweeps"].to_list() == [7] * 5
    assert solve(problem, increasing(), sampler, max_iter=5).trace["n_sweeps"].to_list() == [1, 2, 3, 4, 5]
    exactly = solve(problem, perfect(), sampler, max_iter=3)
    assert exactly.trace["certificate"].to_list() == [0.0] * 3
    assert exactly.trace["is_certified"].all()
    assert solve(problem, exact(), max_iter=3, tol=0).trace["n_chains"].to_list() == [0] * 3


def test_conservative_tay_takes_the_chains_that_it_needs():
    problem = make_problem(5, alpha=0.05, strength=(0.3, 0.8))
    schedule = tay("sharp", conservative=True, max_chains=200_000)
    fit = solve(problem, schedule, Sampler(500, seed=1), step_size=0.4, max_iter=20)
    certified = [s for s in fit.steps if s.is_certified]
    assert certified
    assert all(s.certificate < s.step_norm / 2 for s in certified)
    assert max(s.n_chains for s in fit.steps) > 500
    assert max(s.n_chains for s in fit.steps) <= 200_000
    # The whole error is what it bounds: checked against exact moments.
    state = State(np.zeros((5, 5)), 0.4)
    for _ in range(5):
        after, info = step(problem, state, schedule, Sampler(500, seed=1))
        error = norm(after.chains.moments().pair - problem.model(state.theta).moments().pair)
        assert error <= info.certificate
        state = after


def strong_problem():
    """Two columns that are always equal: the better the fit, the stronger the interaction, without end at alpha = 0."""
    rows = np.array([[0, 0, 1], [1, 1, 0], [1, 1, 1], [0, 0, 0]] * 10)
    table = sf.encode(rows)
    return Problem(sf.moments_of_table(table), table.domain, 0.0)


def test_a_model_outside_every_certificate_ends_with_the_right_status():
    problem = strong_problem()
    start = np.array([[-30.0, 60.0, 0], [60.0, -30.0, 0], [0, 0, 0]])
    for schedule in (tay("paper", max_sweeps=20), tay("sharp", max_sweeps=20), tay("coalescence", max_sweeps=20)):
        fit = solve(problem, schedule, Sampler(500, seed=1), step_size=1e-6, start=start, max_iter=3)
        assert fit.status.code == "not certified"
        assert "not certified" in fit.status.sentence
        assert not fit.trace["is_certified"].any()
    persistent = tay("persistent", max_sweeps=20)
    fit = solve(problem, persistent, Sampler(500, seed=1, persist=True), step_size=1e-6, start=start, max_iter=3)
    assert fit.status.code == "not certified"
    with pytest.raises(ValueError, match="out of reach"):
        solve(problem, perfect(max_sweeps=20), Sampler(500), step_size=1e-6, start=start, max_iter=3)


def test_too_long_steps_are_told():
    problem = make_problem(8, alpha=0.01)
    fit = solve(problem, exact(), step_size=30.0, max_iter=20)
    assert fit.status.code == "step too long"
    assert "step_size='auto'" in fit.status.sentence


def test_steps_are_told_from_noise():
    problem = make_problem(6, alpha=0.05)
    fit = solve(problem, perfect(), Sampler(500, seed=2), max_iter=2000)
    assert fit.status.code == "noise floor"
    assert "More chains" in fit.status.sentence
    _, best = exact_chains.penalised_optimum(problem.data.pair, problem.penalty)
    gap = problem.objective(theta_of(fit.model)) - best
    # At the floor the noise of every parameter costs about 1 / (2 n): 21 parameters.
    assert gap < 2 * 21 / (2 * 500)
    # Nothing is to be had from going on with as many chains but another draw of the noise.
    longer = solve(problem, perfect(), Sampler(500, seed=3), start=theta_of(fit.model), max_iter=79)
    assert gap - (problem.objective(theta_of(longer.model)) - best) < 21 / (2 * 500)
    more = solve(problem, perfect(), Sampler(50_000, seed=2), max_iter=2000)
    assert problem.objective(theta_of(more.model)) - best < gap


def test_time_and_interrupts_end_a_fit_with_what_there_is():
    problem = make_problem(5)
    fit = solve(problem, fixed(1), max_seconds=0.0)
    assert fit.status.code == "time"
    assert len(fit.steps) == 1
    seen = []

    def interrupt(info):
        seen.append(info)
        if len(seen) == 4:
            raise KeyboardInterrupt

    stopped = solve(problem, fixed(1), Sampler(300), watch=interrupt)
    assert stopped.status.code == "interrupted"
    assert len(stopped.steps) == 4
    same = solve(problem, fixed(1), Sampler(300), max_iter=4)
    np.testing.assert_array_equal(theta_of(stopped.model), theta_of(same.model))


def test_a_step_leaves_its_state_alone():
    problem = make_problem(6)
    sampler = Sampler(700, seed=1, persist=True)
    state = State(np.zeros((6, 6)), 0.4, curvature=np.ones((6, 6)))
    for _ in range(3):
        state, _ = step(problem, state, tay("persistent"), sampler)
    first, second = (step(problem, state, tay("persistent"), sampler) for _ in range(2))
    np.testing.assert_array_equal(first[0].theta, second[0].theta)
    np.testing.assert_array_equal(first[0].chains.codes(), second[0].chains.codes())
    assert first[1].n_sweeps == second[1].n_sweeps


@pytest.mark.parametrize("persist", [False, True])
def test_same_seed_same_fit_whatever_the_threads(persist, monkeypatch):
    monkeypatch.setattr("sparsefield._threads.SMALLEST_SHARE", 1e-15)
    problem = make_problem(8)
    fits = [solve(problem, fixed(3), Sampler(3000, 5, persist, n_threads=n), max_iter=15) for n in (1, 2)]
    np.testing.assert_array_equal(theta_of(fits[0].model), theta_of(fits[1].model))
    other = solve(problem, fixed(3), Sampler(3000, 6, persist), max_iter=15)
    assert not np.array_equal(theta_of(fits[0].model), theta_of(other.model))


def test_extreme_penalties():
    problem = make_problem(5, alpha=2.0)
    fit = solve(problem, exact(), max_iter=50)
    assert not theta_of(fit.model).any()
    assert fit.status.code == "converged"
    free = Problem(problem.data, problem.domain, 2.0, penalize_main=False)
    fit = solve(free, exact(), step_size=1.0, max_iter=2000, tol=1e-9)
    assert not fit.model.interactions.any()
    np.testing.assert_allclose(fit.model.moments().main, problem.data.main, atol=1e-8)
    unpenalised = Problem(make_problem(4, n=5000, strength=(0.1, 0.3)).data, sf.Domain.binary(4), 0.0)
    fit = solve(unpenalised, exact(), step_size=1.0, max_iter=20_000, tol=1e-9)
    np.testing.assert_allclose(fit.model.moments().pair, unpenalised.data.pair, atol=1e-8)


def test_averaged_iterates_are_the_average():
    problem = make_problem(5)
    means = np.zeros((5, 5))
    state = State(np.zeros((5, 5)), 0.4)
    for _ in range(6):
        state, _ = step(problem, state, fixed(2), Sampler(300, seed=3))
        means += state.theta / 6
    fit = solve(problem, fixed(2), Sampler(300, seed=3), step_size=0.4, max_iter=6, average=True)
    np.testing.assert_allclose(theta_of(fit.model), means)


def test_the_step_size_follows_the_curvature():
    problem = make_problem(7, alpha=0.02, strength=(1.0, 2.0))
    fit = solve(problem, perfect(), Sampler(5000, seed=1), max_iter=60)
    model = fit.model
    rows, columns = np.triu_indices(7)
    x = exact_chains.states(7)
    psi = x[:, rows] * x[:, columns]
    probabilities = exact_chains.probabilities(model.main, model.interactions)
    centred = psi - probabilities @ psi
    largest = np.linalg.eigvalsh((centred.T * probabilities) @ centred)[-1]
    # 1000 draws: the largest eigenvalue is found to a tenth or so.
    assert fit.steps[-1].step_size == pytest.approx(1 / largest, rel=0.25)


@pytest.mark.parametrize("model", ZOO.values(), ids=ZOO.keys())
def test_fits_of_the_zoo_are_optimal(model):
    # Any number of levels, any reference, constant variables: the subgradient must vanish.
    if model.domain.n_slots == 0:
        return
    data = sf.moments_of_table(sf.Table(model.domain, model.sample(300, n_sweeps=20, seed=1).codes))
    problem = Problem(data, model.domain, 0.05)
    fit = solve(problem, exact(), step_size=0.3, max_iter=20_000, tol=1e-8)
    assert fit.status.code == "converged"
    theta, gradient = theta_of(fit.model), problem.gradient(fit.model.moments())
    rest = np.where(theta != 0, np.abs(gradient + 0.05 * np.sign(theta)), np.maximum(np.abs(gradient) - 0.05, 0))
    assert rest[problem.penalty > 0].max() < 1e-7


def test_the_trace_is_a_table():
    fit = solve(make_problem(4), tay(), Sampler(300), max_iter=3)
    assert fit.trace.columns[:3] == ["iteration", "n_sweeps", "n_chains"]
    assert fit.trace["iteration"].to_list() == [1, 2, 3]
    assert fit.trace.to_pandas().shape == fit.trace.shape
    assert fit.trace["seconds"].is_sorted()


def test_fits_are_saved_with_their_trace(tmp_path):
    fit = solve(make_problem(4), tay(), Sampler(300), max_iter=3)
    path = tmp_path / "fit.sf"
    fit.save(path)
    again = Fit.load(path)
    assert again.status == fit.status
    assert again.steps == fit.steps
    np.testing.assert_array_equal(theta_of(again.model), theta_of(fit.model))
    np.testing.assert_array_equal(theta_of(sf.PairwiseMRF.load(path)), theta_of(fit.model))
    fit.model.save(path)
    with pytest.raises(ValueError, match="holds a field without a fit"):
        Fit.load(path)
    write_parameters(
        path,
        fit.model.domain,
        fit.model.main,
        fit.model.interactions,
        {"status.json": "{}", "trace.csv": "", "fit.json": "{}"},
    )
    with pytest.raises(ValueError, match="trace or status cannot be read"):
        Fit.load(path)


def test_bad_requests_are_refused():
    problem = make_problem(4)
    with pytest.raises(ValueError, match="alpha is -1"):
        Problem(problem.data, problem.domain, -1)
    with pytest.raises(ValueError, match="4 main statistics, but the domain has 5"):
        Problem(problem.data, sf.Domain.binary(5), 0.1)
    with pytest.raises(ValueError, match="n_sweeps is 0"):
        fixed(0)
    with pytest.raises(ValueError, match="certificate is 'best'"):
        tay("best")
    with pytest.raises(ValueError, match="max_sweeps is 0"):
        tay(max_sweeps=0)
    with pytest.raises(ValueError, match="starts its chains anew"):
        tay("persistent", conservative=True)
    with pytest.raises(ValueError, match="chains='restart'"):
        solve(problem, tay("sharp", conservative=True), Sampler(300, persist=True))
    for max_iter in (0, -3, 1.5):
        with pytest.raises(ValueError, match="max_iter is"):
            solve(problem, fixed(1), max_iter=max_iter)
    with pytest.raises(ValueError, match="tol is nan"):
        solve(problem, fixed(1), tol=np.nan)
    for step_size in (0, -1, np.nan, "long"):
        with pytest.raises(ValueError, match="step_size is"):
            solve(problem, fixed(1), step_size=step_size)
    with pytest.raises(ValueError, match="start must be a symmetric matrix"):
        solve(problem, fixed(1), start=np.zeros((3, 3)))
