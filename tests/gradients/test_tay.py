"""TAY: how many sweeps, of how many chains, and when it stops."""

import numpy as np
import pytest

import sparsefield as sf
from sparsefield._rounding import at_most
from sparsefield.certificates import Disagreement, trivial_bias
from sparsefield.datasets import make_field
from sparsefield.fits import Fit
from sparsefield.gradients import BestDraws, ProximalStep, Simulation, Tay
from sparsefield.inference import Chains, Scan
from sparsefield.marks import fit_newton
from sparsefield.model import norm
from sparsefield.objective import Problem
from sparsefield.solvers import State, solve, step
from support.problems import make_problem, theta_of


@pytest.mark.parametrize("certificate", ["paper", "sharp"])
def test_tay_sweeps_as_often_as_checking_after_every_sweep(certificate, monkeypatch):
    problem = make_problem(7, alpha=0.05, seed=3, strength=(0.3, 0.8))
    simulation = Simulation(n_chains=2000, seed=4)
    n_passes = []
    counted = Chains.moments
    monkeypatch.setattr(Chains, "moments", lambda *a, **k: n_passes.append(1) or counted(*a, **k))
    state = State(np.zeros((7, 7)), 0.4)
    n_checked = 0
    for k in range(1, 30):
        model = problem.model(state.theta)
        chains = Chains(problem.domain, 2000, seed=simulation.seed_of(k))
        far = Disagreement(model, kind=certificate)
        while True:
            chains.sweep(Scan(model), 1)
            far.sweep()
            moments = counted(chains)
            n_checked += 1
            if far.bias < ProximalStep(problem, state.theta, 0.4).norm(moments) / 2:
                break
        state, info = step(problem, state, Tay(certificate), simulation)
        assert info.is_certified
        assert info.n_sweeps == far.n_sweeps
        assert info.certificate == pytest.approx(far.bias)
        assert info.certificate < info.step_map_norm / 2
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
    return Problem.with_l1(sf.data.moments_of_table(model.sample(500, n_sweeps=100, seed=1)), model.domain, 0.02), start


@pytest.mark.parametrize("certificate", ["paper", "sharp"])
def test_tay_waits_for_a_bound_that_falls_late(certificate):
    # The paper's bound is flat while the disagreements add up to more than one.
    problem, start = slow_problem()
    far = Disagreement(problem.model(start), kind=certificate)
    chains = Chains(problem.domain, 2000, seed=Simulation(2000, 4).seed_of(1))
    while True:
        chains.sweep(Scan(problem.model(start)), 1)
        far.sweep()
        if far.bias < ProximalStep(problem, start, 0.4).norm(chains.moments()) / 2:
            break
    assert far.n_sweeps > 10
    _, info = step(problem, State(start, 0.4), Tay(certificate), Simulation(2000, seed=4))
    assert info.is_certified
    assert info.n_sweeps == far.n_sweeps


def test_persistent_chains_are_certified_with_fewer_sweeps():
    problem = make_problem(8, alpha=0.04, seed=5, strength=(0.3, 0.8))
    runs = {}
    for certificate, persist in (("sharp", False), ("persistent", True)):
        fit = solve(problem, Tay(certificate), Simulation(4000, seed=1, persist=persist), step_size=0.4, max_iter=40)
        assert fit.trace["is_certified"].all()
        runs[certificate] = fit.trace["n_sweeps"].sum()
        assert ("approximation" in fit.certified) is ("approximation" in str(fit.status)) is persist
    assert runs["persistent"] < runs["sharp"]


def test_what_a_persistent_certificate_takes_for_granted_is_said(tmp_path):
    problem = make_problem(8, alpha=0.04, seed=5, strength=(0.3, 0.8))
    fit = solve(problem, Tay("persistent"), Simulation(500, seed=1, persist=True), step_size=0.4, max_iter=4)
    granted = "if the chains had no part in choosing the models"
    # Chains that start are no part of the first model; from then on they are.
    assert fit.trace["condition"].to_list() == ["", granted, granted, granted]
    assert fit.certified.endswith(f"(certificate met). That is an approximation: it holds {granted}.")
    assert fit.status.sentence.endswith(f"Its certificates are approximations: they hold {granted}.")
    fit.save(tmp_path / "fit.field")
    assert Fit.load(tmp_path / "fit.field").certified == fit.certified
    far = Disagreement(problem.model(np.zeros((8, 8))))
    far.move(fit.model)
    far.sweep(20)
    assert f" It holds {granted}." in str(far.certificate())


def test_bounds_that_say_little_are_quoted_beside_what_always_holds():
    strong = make_field(12, edge_probability=0.9, strength=(2.5, 3.5), seed=1)
    data = sf.data.moments_of_table(strong.sample(500, n_sweeps=200, seed=1))
    problem, start = Problem.with_l1(data, strong.domain, 0.001), theta_of(strong)
    always = trivial_bias(strong.domain)
    assert always == pytest.approx(np.sqrt(78))
    fit = solve(problem, Tay("paper", max_sweeps=5), Simulation(200), start=start, max_iter=1)
    assert fit.steps[0].certificate >= always
    bound = at_most(fit.steps[0].certificate)
    assert fit.certified.endswith(f"a bound of {bound} is no better than 8.84, which always holds.")
    assert fit.certified.startswith("None for the last gradient")
    weaker = theta_of(make_field(12, edge_probability=0.3, strength=(1.0, 1.5), seed=1))
    rough = BestDraws(max_sweeps=2, gibbs_sweeps=1, max_states=0)
    fit = fit_newton(problem, rough, Simulation(1000, 1), start=weaker, max_iter=1)
    assert 0 < fit.steps[0].certificate < always
    assert not fit.steps[0].is_certified
    assert fit.certified.endswith("It does not meet the criterion, and 8.84 always holds.")


def test_conservative_tay_takes_the_chains_that_it_needs():
    problem = make_problem(5, alpha=0.05, strength=(0.3, 0.8))
    schedule = Tay("sharp", conservative=True, max_chains=200_000)
    fit = solve(problem, schedule, Simulation(500, seed=1), step_size=0.4, max_iter=20)
    certified = [s for s in fit.steps if s.is_certified]
    assert certified
    assert all(s.certificate < s.step_map_norm / 2 for s in certified)
    assert max(s.n_chains for s in fit.steps) > 500
    assert max(s.n_chains for s in fit.steps) <= 200_000
    # The whole error is what it bounds: checked against exact moments.
    state = State(np.zeros((5, 5)), 0.4)
    for _ in range(5):
        after, info = step(problem, state, schedule, Simulation(500, seed=1))
        error = norm(after.chains.moments().pair - problem.model(state.theta).moments().pair)
        assert error <= info.certificate
        state = after
