"""Bounds followed sweep by sweep: of as many chains as are needed, dropped as they meet, checked ever more seldom."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

import sparsefield as sf
from sparsefield.datasets import make_field
from sparsefield.gradients import Point, Simulation, Tay
from sparsefield.gradients._bounds import Watched, choose_number, sweeps_to_check
from sparsefield.inference import BoundingChains, Cpu, Scan
from sparsefield.model import as_theta
from sparsefield.objective import Problem
from support import naive
from support.random_fields import worst_errors
from support.statistics_ import FALSE_ALARM

STRONG = make_field(4, edge_probability=1.0, strength=(2.0, 4.0), main=False, seed=0)


@pytest.mark.parametrize("n_sweeps", [6, 12])
def test_chains_that_go_on_alone_are_open_as_often_as_they_should(n_sweeps):
    # The exact law of bounding chains, where those that had met were dropped on the way, and the others moved together.
    n, p = 100_000, 4
    bounds, scan = BoundingChains(STRONG.domain, n, seed=5), Scan(STRONG, n_planes=2)
    for _ in range(n_sweeps):
        bounds.sweep(scan)
        before = bounds.n_open
        bounds.drop_met()
        assert bounds.n_open == before
    if bounds.storage == "packed":
        assert bounds.n_blocks < n / 512 / 2
    share, any_open = np.zeros((p, p)), 0.0
    for state, mass in naive.bounding_law(STRONG.main.tolist(), STRONG.interactions.tolist(), n_sweeps).items():
        low, high = np.array(state).T
        share += mass * (np.outer(high, high) - np.outer(low, low))
        any_open += mass * bool((low != high).any())
    found = np.append(bounds.open_counts().ravel(), bounds.n_open)
    expected = np.append(share.ravel(), any_open)
    t = np.log(2 * expected.size / FALSE_ALARM)
    allowed = np.sqrt(2 * expected * (1 - expected) * t / n) + 2 * t / (3 * n)
    assert np.all(np.abs(found / n - expected) <= allowed)


@pytest.mark.parametrize("needed", [None, 0.3])
def test_all_checks_of_an_iteration_hold_as_often_as_they_say(needed):
    # From the worst start, against the exact law of the chains. A run fails if any of its checks does.
    n_seeds, confidence, last = 400, 0.8, 30
    biases = [bias for _, bias in worst_errors(STRONG, last)]
    n_failed = n_seen = 0
    for seed in range(n_seeds):
        made, is_wrong = 0, False
        for bounds in Watched(STRONG, seed, confidence, Cpu(1), needed).ahead(last):
            made += len(bounds)
            is_wrong |= bool(bounds[-1] < biases[made - 1])
            n_seen += 1
        assert made == last
        n_failed += is_wrong
    assert n_seen > 2 * n_seeds
    assert n_failed <= stats.binom.isf(FALSE_ALARM, n_seeds, 1 - confidence)


def test_more_chains_are_taken_where_all_have_met_and_that_is_not_enough():
    weak = make_field(6, strength=(0.2, 0.4), seed=1)
    watched = Watched(weak, 3, 0.95, Cpu(1))
    found = [(float(bounds[-1]), watched._bounds.n_chains) for bounds in watched.ahead(100)]
    numbers = [n for _, n in found]
    assert numbers[0] == 512
    assert numbers[-1] == 2**16
    assert all(after in (before, 2 * before) for before, after in pairwise(numbers))
    # The risk of the last check is a small part of the whole, and the bound is lower all the same.
    assert found[-1][0] < found[0][0] / 20


def make_point(p=10, seed=1, strength=(0.2, 0.6)):
    model = make_field(p, strength=strength, seed=seed)
    table = model.sample(500, method="perfect", seed=seed)
    problem = Problem.with_l1(sf.data.moments_of_table(table), table.domain, 0.02)
    theta = 0.8 * as_theta(model)
    return problem, Point(1, theta, problem.model(theta), 0.4)


@pytest.mark.parametrize("certificate", ["paper", "sharp", "persistent", "coalescence"])
def test_iterations_in_one_call_have_the_same_bits(certificate, monkeypatch):
    problem, point = make_point()
    simulation = Simulation(3000, 5)
    at_once = Tay(certificate).estimate(problem, point, simulation)
    for module in ("exact_draws._bounds", "chains._chains"):
        monkeypatch.setattr(f"sparsefield.inference.{module}.fits_one_call", lambda *_: False)
    one_by_one = Tay(certificate).estimate(problem, point, simulation)
    assert (at_once.n_sweeps, at_once.reason) == (one_by_one.n_sweeps, one_by_one.reason)
    np.testing.assert_array_equal(at_once.moments.pair, one_by_one.moments.pair)
    assert at_once.certificate.bias == one_by_one.certificate.bias
    np.testing.assert_array_equal(at_once.chains.codes(), one_by_one.chains.codes())


def test_checks_of_bounding_chains_are_known_beforehand():
    checks = list(sweeps_to_check(100))
    assert checks[:12] == [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 18]
    assert checks[-1] == 100
    # All that might be made share the risk: the sum of 1 / (t (t + 1)) over t is below one.
    assert sum(1 / (t * (t + 1)) for t in range(1, len(checks) + 1)) < 1


def test_bounding_chains_are_as_many_as_the_bias_needs():
    _, point = make_point()
    few, many = (choose_number(point.model, 0.05, needed) for needed in (1.0, 0.01))
    assert choose_number(point.model, 0.05, None) == 512
    assert 512 <= few < many
    # With none of them open the bound is sqrt(m) log(2 / risk) / N, at the first check.
    assert np.sqrt(55) * np.log(2 / (0.05 / 2)) / many < 0.01
