"""What a backend promises, asked of this machine's processors and of one in plain numpy that shares nothing with it."""

import numpy as np
import pytest

import sparsefield as sf
from sparsefield.datasets import make_field
from sparsefield.gradients import BestDraws, PerfectDraws, Simulation, Tay
from sparsefield.inference import Cpu
from sparsefield.marks import fit_newton
from sparsefield.model import norm
from sparsefield.solvers import solve
from support import exact_chains
from support.host_device import Late, needs_device
from support.noise import assert_end_is_measured, assert_gaps_are_noise, step_to_end
from support.plain_backend import Plain
from support.problems import make_problem, make_table, theta_of
from support.statistics_ import assert_moments_agree
from support.zoo import LEVELS

BACKENDS = {"cpu": Cpu(), "one thread": Cpu(1), "plain": Plain(), "gpu": Late()}
MARKS = {"gpu": needs_device}
OTHERS = ("plain", "gpu")


def parametrize(names):
    marked = [pytest.param(BACKENDS[name], id=name, marks=[MARKS[name]] if name in MARKS else []) for name in names]
    return pytest.mark.parametrize("backend", marked)


each_backend = parametrize(BACKENDS)
MODEL = make_field(6, strength=(0.4, 0.9), seed=3)


@each_backend
def test_chains_are_swept_towards_the_field(backend):
    chains = backend.chains(MODEL.domain, 40_000, seed=1)
    start = chains.copy()
    scan = backend.prepare(MODEL)
    chains.sweep(scan, 30)
    moments = chains.moments()
    assert_moments_agree(moments.pair, MODEL.moments().pair, 40_000)
    np.testing.assert_array_equal(moments.main, chains.means())
    np.testing.assert_allclose(chains.codes().mean(axis=0), moments.main, atol=1e-12)
    np.testing.assert_array_equal(chains.codes(7), chains.codes()[:7])
    assert (chains.n_chains, chains.domain) == (40_000, MODEL.domain)
    # A copy goes on with the same random numbers, and is not swept with its original.
    assert not np.array_equal(start.codes(), chains.codes())
    start.sweep(scan, 30)
    np.testing.assert_array_equal(start.codes(), chains.codes())


@each_backend
def test_draws_know_their_statistics(backend):
    chains, run = backend.draw(MODEL, 30_000, seed=2, max_sweeps=1000)
    assert_moments_agree(chains.moments().pair, MODEL.moments().pair, 30_000)
    assert run.sweeps_per_draw > 0
    draws, s = chains.draws(), MODEL.domain.indicators(chains.codes())
    a, b = np.triu_indices(6)
    psi = s[:, a] * s[:, b]
    products, scale, _ = draws.second_moments(a, b)
    np.testing.assert_allclose(scale * products, psi.T @ psi / 30_000, atol=1e-12)
    move = np.random.default_rng(1).normal(size=(6, 6))
    move = np.triu(move) + np.triu(move, 1).T
    values = draws.along(move)
    np.testing.assert_allclose(values, psi @ move[a, b], atol=1e-12)
    np.testing.assert_allclose(draws.along_some(move[a, b], a, b), values, atol=1e-12)
    log_mean, share = draws.reweight(values)
    assert log_mean == pytest.approx(np.log(np.exp(values).mean()))
    assert share == pytest.approx(np.exp(values).mean() ** 2 / np.exp(2 * values).mean())
    expected = (psi - psi.mean(axis=0)).T @ values / 30_000
    np.testing.assert_allclose(draws.project(values)[a, b], expected, atol=1e-12)
    np.testing.assert_allclose(draws.project_onto(values, a, b), expected, atol=1e-12)
    rough, error = draws.project_roughly(values)
    assert np.abs(rough[a, b] - expected).max() <= error + 1e-12
    rough, error = draws.project_roughly(values, 0.1)
    assert np.abs(rough[a, b] - expected).max() <= error + 1e-12


@each_backend
def test_observed_cells_are_kept(backend):
    codes = np.where(np.random.default_rng(1).random((500, 6)) < 0.4, 255, 1).astype(np.uint8)
    chains = backend.clamped_chains(MODEL.domain, codes, seed=1)
    chains.sweep(backend.prepare(MODEL), 3)
    found = chains.codes()
    assert (found[codes == 1] == 1).all()
    assert {*found[codes == 255].tolist()} == {0, 1}


@each_backend
def test_missing_values_are_drawn_and_expected_given_the_observed_cells(backend):
    rng = np.random.default_rng(1)
    rows = np.where(rng.random((20, 6)) < 0.6, 255, rng.integers(0, 2, (20, 6))).astype(np.uint8)
    shares = np.full(20, 1 / 20)
    expected = backend.clamped_products(MODEL, rows, shares)
    np.testing.assert_allclose(expected, Plain().clamped_products(MODEL, rows, shares), atol=1e-12)
    move = theta_of(MODEL)
    variances = backend.clamped_variances(MODEL, rows, move)
    np.testing.assert_allclose(variances, Plain().clamped_variances(MODEL, rows, move), atol=1e-12)
    codes = np.repeat(rows, 500, axis=0)
    chains, run = backend.clamped_draw(MODEL, codes, seed=1, max_sweeps=1000)
    # The variance of a mean over several rows is no more than that of a mean of independent draws of their mixture.
    assert_moments_agree(chains.moments().pair, expected, 10_000)
    assert run.n_enumerated + run.n_coupled == chains.n_chains == 10_000
    before = chains.codes()
    chains.sweep(backend.prepare(MODEL), 1)
    seen = codes != 255
    for found in (before, chains.codes()):
        np.testing.assert_array_equal(found[seen], codes[seen])
    assert not np.array_equal(before, chains.codes())


@each_backend
def test_bounds_close(backend):
    bounds = backend.bounding_chains(MODEL.domain, 2000, seed=1)
    assert bounds.n_open == 2000
    assert (np.diagonal(bounds.open_counts()) == 2000).all()
    scan = backend.prepare(MODEL, n_planes=2)
    last = 2000
    for _ in range(40):
        bounds.sweep(scan)
        assert (bounds.open_counts() <= bounds.n_open).all()
        last = bounds.n_open
    assert last < 20
    assert bounds.n_sweeps == 40


@each_backend
def test_enumeration_is_exact(backend):
    log_partition, moments = backend.enumerate(MODEL)
    assert log_partition == pytest.approx(float(MODEL.log_partition()))
    np.testing.assert_allclose(moments.pair, MODEL.moments().pair, atol=1e-12)
    states = backend.states(MODEL)
    assert moments.n is states.n is states.moments.n is None
    assert states.log_normaliser == pytest.approx(log_partition)
    np.testing.assert_allclose(states.moments.pair, moments.pair, atol=1e-12)


WAYS = {
    "newton": (fit_newton, BestDraws(max_states=0)),
    "newton, tay": (fit_newton, Tay()),
    "sharp": (solve, Tay()),
    "coalescence": (solve, Tay("coalescence")),
    "conservative": (solve, Tay(conservative=True, max_chains=20_000)),
    "perfect": (solve, PerfectDraws()),
}


@parametrize(OTHERS)
@pytest.mark.parametrize("name", WAYS)
def test_solvers_need_no_more_of_a_backend_than_it_promises(name, backend):
    run, schedule = WAYS[name]
    problem = make_problem(5, 0.05, seed=2)
    optimum, _ = exact_chains.penalised_optimum(problem.data.moments.pair, problem.penalty.weights)
    simulation = Simulation(2000, 1, backend=backend)
    if run is fit_newton:
        fit = run(problem, schedule, simulation, gap=0.002)
        assert fit.status.code == "converged"
        gap = assert_end_is_measured(problem, fit, optimum)
        assert_gaps_are_noise(gap, [step_to_end(fit)], 15)
    else:
        fit = run(problem, schedule, simulation, max_iter=30)
        assert len(fit.steps) == 30
        assert fit.steps[-1].objective < fit.steps[0].objective


@each_backend
def test_newton_steps_with_all_states_lead_to_the_optimum(backend):
    problem = make_problem(5, 0.05, seed=2)
    optimum, lowest = exact_chains.penalised_optimum(problem.data.moments.pair, problem.penalty.weights)
    fit = fit_newton(problem, BestDraws(), Simulation(2000, 1, backend=backend), tol=1e-9)
    assert fit.status.code == "converged"
    assert set(fit.trace["reason"]) == {"enumeration"}
    assert norm(theta_of(fit) - optimum) < 0.5
    # The last step began where a subgradient had a norm of 1e-9 at most, nearer than 1 to the optimum, and led no
    # higher. By convexity the gap is at most the product; sums of 32 states are rounded to 2^-53 of each.
    assert problem.objective(theta_of(fit)) - lowest <= 1e-9 + 100 * 2.0**-53


@parametrize(OTHERS)
def test_persistent_chains_and_missing_values_run_on_it_too(backend):
    table = make_table(5, 200)
    persistent = sf.learn(table, 0.05, solver=sf.Proximal(bound="persistent", max_iter=5), device=backend)
    assert len(persistent.steps) == 5
    codes = np.where(np.random.default_rng(1).random(table.shape) < 0.1, 255, table.codes).astype(np.uint8)
    incomplete = sf.Table(table.domain, codes)
    for solver in (sf.Newton(max_iter=3), sf.Proximal(max_iter=3)):
        assert sf.learn(incomplete, 0.05, solver=solver, device=backend).steps
    certified = sf.certify(sf.learn(incomplete, 0.05, seed=1), incomplete, n_draws=5000, device=backend, max_states=0)
    assert np.isfinite(certified.optimality.subgradient)


def test_exact_draws_of_levels_are_asked_of_the_backend():
    # Where a backend can draw them, fits with more than two levels have gradients without bias.
    model = LEVELS["three levels"]
    table = sf.Table(model.domain, model.sample(300, n_sweeps=50, seed=1).codes)
    drawn = BestDraws(max_states=0)
    fit = sf.learn(table, 0.05, solver=sf.Newton(schedule=drawn), seed=1, device=Plain())
    assert set(fit.trace["reason"]) == {"exact draws"}
    assert fit.trace["certificate"].to_list() == [0.0] * len(fit.steps)
    certified = sf.certify(fit, table, n_draws=5000, device=Plain(), max_states=0).optimality
    assert np.isfinite(certified.gap)
    here = sf.learn(table, 0.05, solver=sf.Newton(schedule=drawn), seed=1)
    assert set(here.trace["reason"]) == {"exact draws"}
