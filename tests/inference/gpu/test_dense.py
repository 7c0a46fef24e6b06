"""Fields in which most variables interact, on a GPU: sums of digits are the sums of what they are digits of."""

import numpy as np
import pytest
from scipy import stats

from sparsefield import Domain, PairwiseMRF
from sparsefield._threads import LONGEST_CALL
from sparsefield.inference.chains._blocks import SWEEPS
from sparsefield.inference.chains._tables import as_whole
from sparsefield.inference.gpu._chains import DeviceChains, cut_sweeps, lay_out
from sparsefield.inference.gpu._dense import ROWS, STEP, lay_out_entries, suits_products
from sparsefield.inference.gpu._scan import DeviceScan
from support.host_device import IS_REAL, make_device, needs_device
from support.statistics_ import FALSE_ALARM, assert_moments_agree


def make_dense(p, scale=0.1, seed=1):
    rng = np.random.default_rng(seed)
    values = np.triu(rng.normal(0, scale, (p, p)), 1)
    return PairwiseMRF.binary(rng.normal(0, 0.5, p), values + values.T)


@pytest.mark.parametrize("p", [5, 32, 50])
def test_lanes_have_the_digits_of_what_they_multiply(p):
    model, rng = make_dense(p), np.random.default_rng(2)
    order, shifts = rng.permutation(p), rng.integers(20, 23, p)
    laid_out, inner = lay_out_entries(model.interactions, order, shifts)
    own = np.ascontiguousarray(laid_out).view(np.int8).reshape(*laid_out.shape, 4)
    whole = as_whole(-model.interactions[np.ix_(order, order)], shifts[order][:, None])
    found = np.zeros_like(whole, dtype=np.int64)
    for block, turn, tile, digit, lane, word, m in np.ndindex(own.shape):
        # As the instruction has them: variable g or g + 8; and others whose bits a shift by t, or t + 4, brings up.
        step = block if turn + 1 == len(own) else turn + (turn >= block)
        i = STEP * block + ROWS * tile + lane // 4 + 8 * (word % 2)
        j = STEP * step + lane % 4 + 4 * (word // 2) + 8 * m
        if max(i, j) < p:
            found[i, j] += int(own[block, turn, tile, digit, lane, word, m]) * 256**digit
        else:
            assert own[block, turn, tile, digit, lane, word, m] == 0
    for i in range(p):  # what it adds to those after it of its sixteen
        after = range(i + 1, min(p, (i // ROWS + 1) * ROWS))
        np.testing.assert_array_equal(found[after, i], 0)
        found[after, i] = inner.reshape(-1, ROWS, ROWS)[i // ROWS, i % ROWS, i % ROWS + 1 :][: len(after)]
    np.testing.assert_array_equal(found, whole)


def test_fields_of_few_or_uneven_interactions_are_swept_one_by_one():
    dense = make_dense(200)
    assert suits_products(dense.interactions, 199)
    assert not suits_products(dense.interactions, 90)
    uneven = dense.interactions.copy()
    uneven[0, 1] = uneven[1, 0] = 20.0  # units of its log-odds would be too coarse
    assert not suits_products(uneven, 199)


@needs_device
@pytest.mark.parametrize(("p", "n"), [(97, 40), (113, 193), (128, 300), (144, 128), (170, 700), (200, 200), (260, 40)])
def test_products_lead_to_the_states_of_sums(p, n):
    # Whatever the device, the dense form has the same states: by products where it multiplies, else one by one.
    model, device = make_dense(p), make_device()
    other = make_device()
    other.product_bytes = 0
    order = np.random.default_rng(3).permutation(p)
    found, streams = [], []
    for own in (device, other):
        chains = DeviceChains.start(own, model.domain, n, seed=4)
        scan = DeviceScan(own, model, order=order)
        assert scan.form == "dense"
        for n_sweeps in (1, 3):
            chains.sweep(scan, n_sweeps)
        found.append(chains.codes())
        streams.append(own.fetch(chains._streams))
        name = "sweep_dense_few" if p < 200 else "sweep_dense_many"
        assert (name in own.launched) == (own is device)
    np.testing.assert_array_equal(*found)
    np.testing.assert_array_equal(*streams)
    # Sums in other units round otherwise, by 2^-23 bits a neighbour at most: probabilities differ by less than p 2^-24.
    # So few chains differ after a sweep, about n p^2 2^-24 at most.
    plain = DeviceChains.start(other, model.domain, n, seed=4)
    plain.sweep(DeviceScan(other, model, order=order, form="sum"), 1)
    first = DeviceChains.start(other, model.domain, n, seed=4)
    first.sweep(DeviceScan(other, model, order=order), 1)
    n_differ = np.count_nonzero((plain.codes() != first.codes()).any(axis=1))
    assert n_differ <= stats.poisson.isf(FALSE_ALARM, n * p**2 * 2.0**-24)


@pytest.mark.skipif(IS_REAL, reason="a GPU has its own order")
@needs_device
def test_products_do_not_depend_on_which_warps_come_first():
    # Warps draw for each other, and wait where they must: whoever goes ahead, states are those of sums.
    p, n = 128, 192  # the last block has all its variables: whoever waits for nobody misses draws for some
    model, found = make_dense(p), []
    for k in range(30):
        device = make_device()
        if k == 0:
            device.product_bytes = 0
        device.set_chance(k, (10, 100, 1000)[k % 3])
        chains = DeviceChains.start(device, model.domain, n, seed=4)
        chains.sweep(DeviceScan(device, model), 1)
        found.append(chains.codes())
        assert ("sweep_dense_few" in device.launched) == (k > 0)
    for codes in found[1:]:
        np.testing.assert_array_equal(codes, found[0])


@needs_device
def test_calls_that_multiply_have_as_many_sweeps_as_an_interrupt_can_wait_for():
    # A call begins and ends by turning lines of chains into lines of variables, which is a sixteenth of a sweep.
    p, n_words, n_sweeps = 1000, 2**15, 20
    scan = DeviceScan(make_device(), make_dense(p, scale=0.02))
    calls, others = (cut_sweeps(scan, n_words, n_sweeps, is_free=is_free) for is_free in (True, False))
    assert sum(calls) == sum(others) == n_sweeps
    longest = max(calls) * p * 32 * n_words / 1e11  # seconds of an H200 (`make bench-gpu`)
    assert LONGEST_CALL / 2 < longest < 1.5 * LONGEST_CALL
    assert others == n_sweeps * [1]  # one by one, which takes longer


@needs_device
def test_variables_of_one_level_are_left_out_of_products():
    p, n, rng = 110, 70, np.random.default_rng(3)
    domain = Domain(
        tuple(f"v{i}" for i in range(p)), tuple((0,) if i % 50 == 7 else (0, 1) for i in range(p)), (0,) * p
    )
    values = np.triu(rng.normal(0, 0.1, (domain.n_slots, domain.n_slots)), 1)
    model, found = PairwiseMRF(domain, rng.normal(0, 0.5, domain.n_slots), values + values.T), []
    for product_bytes in (2**17, 0):
        device = make_device()
        device.product_bytes = min(product_bytes, device.product_bytes)
        chains, scan = DeviceChains.start(device, domain, n, seed=4), DeviceScan(device, model)
        assert scan.form == "dense"
        chains.sweep(scan, 3)
        found.append(chains.codes())
    np.testing.assert_array_equal(*found)


@needs_device
def test_observed_cells_are_kept_in_dense_fields_too():
    model, device = make_dense(130), make_device()
    codes = np.random.default_rng(1).integers(0, 2, (200, 130)).astype(np.uint8)
    missing = np.random.default_rng(2).random(codes.shape) < 0.3
    rows = np.where(missing, 255, codes).astype(np.uint8)
    chains = DeviceChains.clamped(device, model.domain, rows, codes, seed=1, use=SWEEPS)
    chains.sweep(DeviceScan(device, model), 2)
    np.testing.assert_array_equal(chains.codes()[~missing], codes[~missing])
    assert (chains.codes() != codes).any()
    free = DeviceChains(device, model.domain, 200, device.xp.asarray(lay_out(codes)), seed=1, use=SWEEPS)
    free.sweep(DeviceScan(device, model), 2)
    assert (free.codes()[~missing] != codes[~missing]).any()


@needs_device
def test_dense_fields_without_interactions_of_note_have_known_means():
    # Main effects alone decide where interactions are of the size of rounding: means are known then.
    p, n = 128, 4000
    rng = np.random.default_rng(5)
    values = np.triu(rng.choice([-1e-7, 1e-7], (p, p)), 1)
    model, device = PairwiseMRF.binary(rng.normal(0, 2, p), values + values.T), make_device()
    chains = DeviceChains.start(device, model.domain, n, seed=6)
    chains.sweep(DeviceScan(device, model), 1)
    assert_moments_agree(chains.means(), 1 / (1 + np.exp(-model.main)), n)
