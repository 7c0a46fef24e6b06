"""Iterations in one compiled call: the same states, sweeps and moments as call by call, and the same claims."""

import numpy as np
import pytest

import sparsefield as sf
from sparsefield._kernels._seeds import find_seed
from sparsefield.datasets import make_field
from sparsefield.gradients import Point, Simulation, Tay
from sparsefield.gradients._bounds import choose_number, sweeps_to_check
from sparsefield.inference import BoundingChains, Cpu
from sparsefield.inference._checks import HAS_AVX2
from sparsefield.inference.chains._blocks import SWEEPS, as_words, make_source, make_streams
from sparsefield.model import PairwiseMRF, as_theta, count_once
from sparsefield.objective import Problem


def make_point(p=10, seed=1, strength=(0.2, 0.6)):
    model = make_field(p, strength=strength, seed=seed)
    table = model.sample(500, method="perfect", seed=seed)
    problem = Problem.with_l1(sf.moments_of_table(table), table.domain, 0.02)
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


@pytest.mark.parametrize("seed", [0, 1, 2**40 + 3, 2**64 - 1, 2**127 + 5])
def test_random_words_are_those_of_numpy(seed):
    words = make_source(seed, SWEEPS).random_raw(32 * 3).reshape(3, 4, 8)
    np.testing.assert_array_equal(make_streams(seed, 3, SWEEPS), words)
    np.testing.assert_array_equal(make_streams(seed, 2, SWEEPS, first_block=1), words[1:])
    keys = np.array([7, 1], dtype=np.uint32)
    expected = np.random.SeedSequence(seed, spawn_key=(7, 1)).generate_state(1, np.uint64)[0]
    assert find_seed(*as_words(seed), keys) == expected
    assert Simulation(10, seed).seed_of(7, 1) == int(expected)


def test_fields_made_of_one_matrix_are_checked_as_others_are():
    model = make_field(40, degree=5, seed=1)
    theta = as_theta(model)
    made = PairwiseMRF.of_theta(model.domain, theta)
    np.testing.assert_array_equal(made.main, model.main)
    np.testing.assert_array_equal(made.interactions, model.interactions)
    assert not made.interactions.flags.writeable
    assert count_once(theta) == np.count_nonzero(np.triu(theta))
    theta[3, 35] += 0.5
    with pytest.raises(ValueError, match="not symmetric"):
        PairwiseMRF.of_theta(model.domain, theta)
    theta[35, 3] = theta[3, 35] = np.nan
    with pytest.raises(ValueError, match="nan"):
        PairwiseMRF.of_theta(model.domain, theta)


@pytest.mark.skipif(not HAS_AVX2, reason="chains held as bytes are all kept")
def test_chains_that_have_met_are_dropped_and_count_as_met():
    model = make_field(12, strength=(0.5, 1.0), seed=2)
    backend = Cpu(1)
    scan = backend.prepare(model, n_planes=2)
    bounds = BoundingChains(model.domain, 4000, seed=3)
    while 4 * bounds.n_open > 512 * bounds.n_blocks:
        bounds.sweep(scan, 1)
    before, n_open, n_blocks = bounds.open_counts(), bounds.n_open, bounds.n_blocks
    assert n_open > 0
    bounds.drop_met()
    assert bounds.n_blocks < n_blocks
    assert bounds.n_open == n_open
    np.testing.assert_array_equal(bounds.open_counts(), before)
    bounds.sweep(scan, 3)
    assert bounds.n_open <= n_open


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
