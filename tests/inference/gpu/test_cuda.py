"""Draws on a GPU: their law, what is asked of them, and what happens where memory or time is short."""

import time

import numpy as np
import pytest

from sparsefield import Domain, PairwiseMRF
from sparsefield._deadline import OutOfTimeError, until
from sparsefield.certificates import certify_bounds
from sparsefield.datasets import make_field
from sparsefield.inference import DeviceMemoryError, OutOfReachError
from sparsefield.inference.gpu import _missing
from sparsefield.inference.gpu._coupled import _Plan, draw_exactly
from sparsefield.inference.gpu._scan import DeviceScan
from support import naive
from support.host_device import IS_REAL, OnDevice, make_device, needs_device
from support.statistics_ import assert_counts_agree, assert_moments_agree
from support.zoo import BINARY, LEVELS, parts

pytestmark = needs_device
# On this machine a GPU's threads run one by one.
N_DRAWS = 2**24 if IS_REAL else 20_000


def law_of(model):
    states, probabilities, _ = naive.distribution(*parts(model))
    return np.array(states), np.array(probabilities)


def count_states(codes, states):
    weights = np.cumprod([1, *(states.max(axis=0)[:-1] + 1)])
    order = np.argsort(states @ weights)
    found = np.searchsorted((states @ weights)[order], codes @ weights)
    counts = np.zeros(len(states))
    np.add.at(counts, order, np.bincount(found, minlength=len(states)))
    return counts


@pytest.mark.parametrize("name", BINARY)
def test_exact_draws_have_the_law_of_the_field(name):
    model, device = BINARY[name], make_device()
    chains, run = draw_exactly(device, model, N_DRAWS, seed=3, max_sweeps=10_000)
    states, probabilities = law_of(model)
    assert_counts_agree(count_states(chains.codes().astype(int), states), probabilities)
    assert_moments_agree(chains.moments().pair, model.moments().pair, N_DRAWS)
    np.testing.assert_array_equal(chains.means(), chains.moments().main)
    assert run.n_met <= run.n_blocks
    # Draws can be swept on, with random numbers of their own, and keep the law.
    chains.sweep(DeviceScan(device, model), 2)
    assert_counts_agree(count_states(chains.codes().astype(int), states), probabilities)


@pytest.mark.parametrize("name", BINARY)
def test_chains_reach_the_law_of_the_field(name):
    model, backend = BINARY[name], OnDevice(make_device())
    chains = backend.chains(model.domain, N_DRAWS, seed=3)
    chains.sweep(backend.prepare(model), 60)
    assert_moments_agree(chains.moments().pair, model.moments().pair, N_DRAWS)


def test_draws_of_one_chain_are_independent():
    # Draws of one chain, one after the other: were they not independent, neighbours in time would agree too often.
    model = PairwiseMRF.binary([-1.0, -1.0], [[0, 2.0], [2.0, 0]])  # either level is as likely
    plan = _Plan.of(20_000)
    chains, _ = draw_exactly(make_device(), model, 20_000, seed=1, max_sweeps=1000)
    first = chains.codes()[:, 0].astype(int)
    by_round = first[: 32 * plan.n_words * 3].reshape(3, -1)
    assert plan.n_rounds >= 3
    for own, later in ((0, 1), (1, 2), (0, 2)):
        assert_moments_agree(np.mean(by_round[own] * by_round[later]), np.array(0.25), by_round.shape[1])


def test_the_plan_gives_each_draw_once():
    for n_draws in (1, 31, 500, 2**20, 2**22 + 5, 10**8):
        plan = _Plan.of(n_draws)
        assert plan.n_rounds * plan.n_words * 32 >= n_draws
        if n_draws < 2**22:
            spare = plan.mark_spare(0, plan.n_words)
            assert np.unpackbits(spare.view(np.uint8)).sum() == 32 * spare.size - n_draws


@pytest.mark.parametrize("name", ["reference last", "no reference", "with a constant", "a constant, no reference"])
def test_statistics_of_any_two_levels_are_those_of_the_draws(name):
    model, backend = BINARY[name], OnDevice(make_device())
    chains, _ = backend.draw(model, 700, seed=2, max_sweeps=1000)
    s = model.domain.indicators(chains.codes())
    n, size = s.shape
    np.testing.assert_allclose(chains.moments().pair, s.T @ s / n * own_pairs(model.domain), atol=1e-12)
    draws = chains.draws()
    a, b = np.triu_indices(size)
    psi = s[:, a] * s[:, b]
    products, scale, means = draws.second_moments(a, b)
    np.testing.assert_allclose(scale * products, psi.T @ psi / n, atol=1e-12)
    np.testing.assert_allclose(means, psi.mean(axis=0), atol=1e-12)
    rng = np.random.default_rng(1)
    starts = np.append(0, np.cumsum(rng.integers(0, 4, len(a))))
    columns = rng.integers(0, len(a), starts[-1]).astype(np.int32)
    counts, scale, means = draws.near_moments(a, b, starts, columns)
    rows = np.repeat(np.arange(len(a)), np.diff(starts))
    np.testing.assert_allclose(scale * counts, (psi[:, rows] * psi[:, columns]).mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(means, psi.mean(axis=0), atol=1e-12)
    moves = rng.normal(size=len(a))
    values = draws.along_some(moves, a, b)
    np.testing.assert_allclose(values, psi @ moves, atol=1e-12)
    expected = (psi - psi.mean(axis=0)).T @ values / n
    np.testing.assert_allclose(draws.project(values)[a, b], expected, atol=1e-12)
    np.testing.assert_allclose(draws.project_onto(values, a, b), expected, atol=1e-12)
    assert draws.project_onto(values, a[:0], b[:0]).shape == (0,)


def own_pairs(domain):
    """Return zeros between different levels of one variable, whose products never are one."""
    variables = domain.slot_variables
    return (variables[:, None] != variables) | np.eye(len(variables), dtype=bool)


@pytest.mark.parametrize("cells", [2**28, 20_000])
def test_missing_values_are_drawn_given_the_observed_cells(cells, monkeypatch):
    # Rows that miss so much, and are drawn so seldom, are not enumerated.
    monkeypatch.setattr(_missing, "_MOST_CELLS", cells)  # all chains at one time, or some
    model, backend = make_field(14, edge_probability=0.3, strength=(0.4, 0.9), seed=3), OnDevice(make_device())
    rng = np.random.default_rng(1)
    observed = rng.integers(0, 2, (1500, 14))
    rows = np.where(rng.permuted(np.tile(np.arange(14) < 3, (1500, 1)), axis=1), observed, 255).astype(np.uint8)
    shares = np.full(len(rows), 1 / len(rows))
    n_draws = 2 + np.arange(1500) % 5
    codes = np.repeat(rows, n_draws, axis=0)
    chains, run = backend.clamped_draw(model, codes, seed=4, max_sweeps=1000)
    assert (run.n_coupled, run.n_enumerated) == (len(codes), 0)
    assert run.sweeps_per_draw > 1
    assert backend.device.launched.count("settle") > 0
    found = chains.codes()
    np.testing.assert_array_equal(found[codes != 255], codes[codes != 255])
    s = model.domain.indicators(found)
    # Each row counts once, whatever its number of draws: its draws are independent, and those of others too.
    weights = np.repeat(1 / n_draws, n_draws) / len(rows)
    expected = backend.clamped_products(model, rows, shares)
    assert_moments_agree((s.T * weights) @ s, expected, 2 * len(rows))


def test_bounds_certify_more_than_the_exact_bias():
    model = make_field(5, edge_probability=0.8, strength=(0.5, 1.0), seed=4)
    backend = OnDevice(make_device())
    open_law = naive.bounding_law(model.main, model.interactions, 3)
    bounds = backend.bounding_chains(model.domain, N_DRAWS, seed=1)
    bounds.sweep(backend.prepare(model, n_planes=2), 3)
    shares = bounds.open_counts() / N_DRAWS
    assert_moments_agree(np.diagonal(shares), np.array(open_shares(open_law, 5)), N_DRAWS)
    certificate = certify_bounds(model, bounds, confidence=1 - 1e-6)
    assert np.all(np.diagonal(certificate.pair) >= open_shares(open_law, 5))


def open_shares(law, p):
    """Return the probability of each variable that its bounds have not met."""
    return [sum(q for bounds, q in law.items() if bounds[i][0] != bounds[i][1]) for i in range(p)]


def test_too_little_memory_is_said_and_smaller_batches_give_the_same():
    model = make_field(8, edge_probability=0.6, seed=3)
    whole, few = make_device(), make_device(free_bytes=60_000)
    a, b = np.triu_indices(8)
    found = []
    for device in (whole, few):
        chains, run = draw_exactly(device, model, 5000, seed=2, max_sweeps=1000)
        draws = chains.draws()
        n_before = len(device.launched)
        near = draws.near_moments(a, b, np.arange(len(a) + 1), np.arange(len(a), dtype=np.int32))[0]
        found.append((chains.codes(), draws.second_moments(a, b)[0], near, run))
        n_products = device.launched[n_before:].count("multiply")
        assert n_products == 2 if device is whole else n_products > 2
    for own, other in zip(found[0][:3], found[1][:3], strict=True):
        np.testing.assert_array_equal(own, other)
    assert found[0][3] == found[1][3]
    with pytest.raises(DeviceMemoryError, match=r"The GPU has 5.59e-05 GiB left, .* fewer draws or chains, or .*'cpu'"):
        OnDevice(few).chains(model.domain, 10**6, seed=1)
    with pytest.raises(DeviceMemoryError, match="fewer draws"):
        draw_exactly(make_device(free_bytes=700), model, 100, seed=1, max_sweeps=100)


def test_more_draws_than_can_be_counted_are_refused_before_any_work():
    backend, model = OnDevice(make_device()), make_field(10, seed=1)
    for ask in (
        lambda n: backend.chains(model.domain, n, seed=1),
        lambda n: backend.bounding_chains(model.domain, n, seed=1),
        lambda n: backend.draw(model, n, seed=1, max_sweeps=10),
    ):
        with pytest.raises(ValueError, match=r"n_chains is 2147483648: a GPU counts up to 2147483647 of them\."):
            ask(2**31)
    assert not backend.device.launched


def test_arrays_that_are_made_on_the_way_run_out_of_memory_with_a_sentence(monkeypatch):
    backend, model = OnDevice(make_device()), make_field(10, seed=1)
    chains = backend.chains(model.domain, 100, seed=1)

    def fail(*_):
        raise MemoryError("Out of memory allocating 1,024 bytes")

    monkeypatch.setattr(type(chains), "_slots", fail)
    with pytest.raises(DeviceMemoryError, match=r"does not suffice, .*1,024 bytes\): ask for fewer draws .*'cpu'\."):
        chains.means()
    with pytest.raises(DeviceMemoryError):
        chains.draws()


def test_fields_of_all_sizes_take_turns():
    # What a launch may have of a processor's memory must not be what the last one had.
    device = make_device(n_full=10**9)
    for p in (60, 30, 60, 5, 60):
        model = make_field(p, degree=2, seed=1)
        chains = OnDevice(device).chains(model.domain, 50, seed=1)
        chains.sweep(DeviceScan(device, model), 2)
    assert [name.startswith("sweep_product_1_near8") for name in device.launched if "sweep" in name] == 5 * [True]


def test_more_levels_than_two_are_refused_with_their_name():
    backend, model = OnDevice(make_device()), LEVELS["mixed levels"]
    with pytest.raises(ValueError, match=r"Variable 'v1' has 3 levels: draws on a GPU are for two levels so far."):
        backend.chains(model.domain, 10, seed=1)
    with pytest.raises(ValueError, match="has 3 levels"):
        backend.prepare(model)
    with pytest.raises(ValueError, match="has 3 levels"):
        backend.draw(model, 10, seed=1, max_sweeps=100)


def test_scans_of_other_fields_are_refused():
    with pytest.raises(ValueError, match=r"n_planes is 4: use 1, 2 or 3\."):
        DeviceScan(make_device(), BINARY["one edge"], n_planes=4)
    backend = OnDevice(make_device())
    chains = backend.chains(Domain.binary(3), 10, seed=1)
    with pytest.raises(ValueError, match="another domain"):
        chains.sweep(backend.prepare(BINARY["one edge"]))
    with pytest.raises(ValueError, match="another domain"):
        chains.sweep(backend.prepare(BINARY["main effects only"], n_planes=2))


def test_the_end_of_the_time_ends_draws():
    backend, model = OnDevice(make_device()), make_field(10, seed=1)
    chains = backend.chains(model.domain, 100, seed=1)
    with pytest.raises(OutOfTimeError), until(time.perf_counter()):
        chains.sweep(backend.prepare(model), 10)
    with pytest.raises(OutOfTimeError), until(time.perf_counter()):
        backend.draw(model, 100, seed=1, max_sweeps=100)


def test_sweeps_are_cut_into_calls_that_an_interrupt_can_end():
    device = make_device()
    backend, model = OnDevice(device), make_field(10, seed=1)
    chains = backend.chains(model.domain, 100, seed=1)
    scan = backend.prepare(model)
    scan.seconds = lambda *_: 1.0  # as if it were slow
    chains.sweep(scan, 3)
    assert sum(name.startswith("sweep") for name in device.launched) == 3


def test_fields_out_of_reach_are_refused():
    strong = PairwiseMRF.binary([-20.0] * 6, 8.0 * (1 - np.eye(6)))
    with pytest.raises(OutOfReachError):
        draw_exactly(make_device(), strong, 100, seed=1, max_sweeps=20)


def test_backends_say_in_a_sentence_where_memory_runs_out(monkeypatch):
    backend, model = OnDevice(make_device()), make_field(10, seed=1)

    def fail(*_, **__):
        raise MemoryError("Out of memory allocating 1,024 bytes")

    monkeypatch.setattr(backend.device, "make", fail)
    with pytest.raises(DeviceMemoryError, match="fewer draws"):
        backend.draw(model, 100, seed=1, max_sweeps=100)
    with pytest.raises(DeviceMemoryError, match="fewer draws"):
        backend.chains(model.domain, 100, seed=1)
