"""Sweeps and checks in one call are those made one by one, to the last bit."""

import numpy as np
import pytest

from sparsefield.certificates import Disagreement
from sparsefield.datasets import make_field
from sparsefield.gradients import Point, ProximalStep, Simulation, Tay
from sparsefield.gradients._criterion import Criterion
from sparsefield.inference import BoundingChains, Chains, Scan
from sparsefield.inference._checks import HAS_AVX2
from sparsefield.solvers import State, step
from support.problems import make_problem

pytestmark = pytest.mark.skipif(not HAS_AVX2, reason="chains are packed on processors with AVX2")

PROBLEM = make_problem(7, alpha=0.05, seed=3, strength=(0.3, 0.8))


def make_point(n_steps=12):
    state = State(np.zeros((7, 7)), 0.4)
    for _ in range(n_steps):
        state, _ = step(PROBLEM, state, Tay(), Simulation(2000, 4))
    return Point(1, state.theta, PROBLEM.model(state.theta), 0.4)


@pytest.mark.parametrize("n_sweeps", [1, 3, 20])
@pytest.mark.parametrize("n_chains", [2000, 300])
def test_the_criterion_is_checked_alike_in_one_call_and_one_by_one(n_sweeps, n_chains):
    point = make_point()
    criterion, scan = Criterion(PROBLEM, point), Scan(point.model)
    biases = Disagreement(point.model).next_biases(n_sweeps)
    at_once, plainly = (Chains(PROBLEM.domain, n_chains, seed=5) for _ in range(2))
    found = criterion.sweep(at_once, scan, biases)
    slow = criterion.sweep_plainly(plainly, scan, biases)
    assert found[0] == slow[0] == at_once.n_sweeps == plainly.n_sweeps
    assert (found[1] is None) == (slow[1] is None) == (n_sweeps == 1)
    if found[1] is not None:
        assert found[0] < 20
        np.testing.assert_array_equal(found[1].pair, slow[1].pair)
        np.testing.assert_array_equal(found[1].pair, plainly.moments().pair)
    np.testing.assert_array_equal(at_once.codes(), plainly.codes())
    np.testing.assert_array_equal(at_once._streams, plainly._streams)


@pytest.mark.parametrize("kind", ["paper", "sharp", "persistent"])
def test_iterations_are_the_same_without_the_call(kind, monkeypatch):
    def follow():
        state = State(np.zeros((7, 7)), 0.4)
        for _ in range(15):
            state, info = step(PROBLEM, state, Tay(kind), Simulation(2000, 4, persist=kind == "persistent"))
        return state.theta, info.n_sweeps, info.certificate

    calls = []
    at_once = Chains.sweep_until
    monkeypatch.setattr(Chains, "sweep_until", lambda *a: calls.append(1) or at_once(*a))
    found = follow()
    assert len(calls) >= 15
    monkeypatch.setattr(Chains, "sweep_until", lambda *_: None)
    slow = follow()
    np.testing.assert_array_equal(found[0], slow[0])
    assert found[1:] == slow[1:]


def test_large_work_is_left_to_threads(monkeypatch, cut_work):
    point = make_point()
    chains, scan = Chains(PROBLEM.domain, 2000, seed=5), Scan(point.model)
    rule, biases = ProximalStep(PROBLEM, point.theta, 0.4).rule(), np.full(3, np.inf)
    cut_work()
    assert chains.sweep_until(scan, biases, 1.0, rule) is None
    assert chains.n_sweeps == 0
    monkeypatch.undo()
    assert chains.sweep_until(scan, biases, 1.0, rule) == (3, None)


def test_bounding_chains_are_swept_and_dropped_alike_in_one_call_and_one_by_one():
    model = make_point().model
    scan = Scan(model, n_planes=2)
    at_once, plainly = (BoundingChains(model.domain, 2900, seed=5) for _ in range(2))
    checks, risks = np.array([1, 1, 2, 1, 3]), np.full((5, 2), 8.0)
    assert at_once.sweep_below(scan, checks, risks, 0.0) == 5
    for n in checks:
        plainly.sweep(scan, int(n))
        plainly.drop_met()
    assert at_once.n_blocks == plainly.n_blocks == 1
    assert at_once.n_sweeps == plainly.n_sweeps == 8
    assert at_once.n_open == plainly.n_open
    np.testing.assert_array_equal(at_once.open_counts(), plainly.open_counts())
    for own, other in zip(at_once.planes(), plainly.planes(), strict=True):
        np.testing.assert_array_equal(own, other)


def test_sweeps_end_at_the_check_whose_bound_is_near_the_target():
    model = make_field(7, edge_probability=0.6, strength=(1.0, 2.0), seed=1)
    scan, checks, risks = Scan(model, n_planes=2), np.ones(12, dtype=np.int64), np.full((12, 2), 8.0)
    passed = [
        BoundingChains(model.domain, 3000, seed=5).sweep_below(scan, checks, risks, target)
        for target in (10.0, 0.2, 0.02, 0.0)
    ]
    assert passed == sorted(passed)
    assert passed[0] == 1
    assert passed[0] < passed[1] < passed[2] < passed[3] == 12
