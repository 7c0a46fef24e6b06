"""Kernels of a GPU against their slow twins, on a GPU or on this machine's processor in its place."""

from fractions import Fraction

import numpy as np
import pytest

from sparsefield import PairwiseMRF
from sparsefield.datasets import make_field
from sparsefield.inference.chains._blocks import STARTS, SWEEPS
from sparsefield.inference.chains._tables import pair_shifts
from sparsefield.inference.gpu import _scan
from sparsefield.inference.gpu._chains import DeviceBounds, DeviceChains, lay_out, make_key, make_streams
from sparsefield.inference.gpu._coupled import draw_exactly
from sparsefield.inference.gpu._device import GROUPS
from sparsefield.inference.gpu._draws import count_each, count_lines
from sparsefield.inference.gpu._scan import DeviceScan
from support import naive_gpu
from support.host_device import make_device, needs_device
from support.zoo import BINARY

FEW = make_field(6, edge_probability=0.7, strength=(0.4, 1.2), seed=2)


@needs_device
def test_streams_are_seeded_by_philox():
    # The first two answers of the authors' own list of known ones, and streams of some seed, use and place.
    assert naive_gpu.philox((0, 0, 0, 0), (0, 0)) == (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)
    ones = 2**32 - 1
    assert naive_gpu.philox((ones,) * 4, (ones, ones)) == (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)
    device, key = make_device(), tuple(int(k) for k in make_key(5))
    found = device.fetch(make_streams(device, 8, 5, 3, first_word=2**31))
    expected = [naive_gpu.philox((4 * 2**31 + k & ones, 4 * 2**31 + k >> 32, 3, 0), key) for k in range(32)]
    np.testing.assert_array_equal(found, expected)
    first = device.fetch(make_streams(device, 4, 5, 3))
    np.testing.assert_array_equal(device.fetch(make_streams(device, 2, 5, 3, first_word=1)), first[4:12])


@needs_device
@pytest.mark.parametrize("form", ["product", "sum"])
@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("n_full", [1, 10**9])
def test_sweeps_are_those_of_the_slow_twin(form, group, n_full):
    device, n, key = make_device(n_full), 50, tuple(int(k) for k in make_key(7))
    chains = DeviceChains.start(device, FEW.domain, n, seed=7)
    words = [naive_gpu.philox((t, 0, STARTS, block), key) for t in range(2) for block in range(2)]
    starts = np.array([[words[2 * (c // 32) + i // 4][i % 4] >> c % 32 & 1 for i in range(6)] for c in range(n)])
    np.testing.assert_array_equal(chains.codes(), starts)
    streams = [naive_gpu.Stream(naive_gpu.philox((k, 0, SWEEPS, 0), key)) for k in range(-(-n // 8))]
    order = [3, 0, 5, 1, 4, 2]
    sizes = np.abs(FEW.main) + np.abs(FEW.interactions).sum(axis=1)
    shifts = None if form == "product" else pair_shifts(sizes)
    chains.sweep(DeviceScan(device, FEW, order=order, form=form, group=group), 3)
    assert {name.rsplit("_", 1)[1] for name in device.launched if "sweep" in name} == {str(group)}
    naive_gpu.sweep(starts, streams, FEW.main, FEW.interactions, 3, order, shifts)
    np.testing.assert_array_equal(chains.codes(), starts)
    assert 0 < starts.mean() < 1


@pytest.mark.parametrize("log_odds", [0.0, 1e-3, -1.0, 2.5, -7.0, 14.0, -20.0, 60.0, -79.0])
def test_probabilities_are_right_to_the_last_bits(log_odds):
    # How many of 2^32 numbers lead to a one: what is drawn falls as they rise, so that a search finds the last.
    weight = np.float32(np.exp(-log_odds))
    low, high = -1, 2**32
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle < 2**32 and naive_gpu.is_one(middle, weight) else (low, middle)
    q = 1 / (1 + Fraction(float(weight)))
    assert abs(Fraction(high, 2**32) - q) <= Fraction(1, 2**23) * q * (1 - q) + Fraction(1, 2**31)


@needs_device
def test_states_do_not_depend_on_the_size_or_the_load_of_a_device():
    model, found = make_field(9, edge_probability=0.6, seed=3), []
    # Few chains a thread or many, in the memory of a processor or not.
    for n_full, near_bytes in ((1, 2**16), (150, 2**16), (10**9, 2**16), (150, 0), (10**9, 0)):
        device = make_device(n_full, near_bytes=near_bytes)
        chains = DeviceChains.start(device, model.domain, 3000, seed=5)
        chains.sweep(DeviceScan(device, model), 4)
        bounds = DeviceBounds.start(device, model.domain, 3000, seed=5)
        bounds.sweep(DeviceScan(device, model, n_planes=2), 4)
        draws, _ = draw_exactly(device, model, 3000, seed=5, max_sweeps=1000)
        found.append((chains.codes(), bounds.open_counts(), draws.codes(), bounds.n_open))
        assert f"sweep_product_1_{'near' if near_bytes and n_full > 1 else 'far'}" in " ".join(device.launched)
    for codes, counts, draws, n_open in found[1:]:
        np.testing.assert_array_equal(codes, found[0][0])
        np.testing.assert_array_equal(counts, found[0][1])
        np.testing.assert_array_equal(draws, found[0][2])
        assert n_open == found[0][3]
    # Chain c is the same whatever the number of chains, and goes on where it stood.
    device = make_device()
    fewer = DeviceChains.start(device, model.domain, 1000, seed=5)
    for _ in range(4):
        fewer.sweep(DeviceScan(device, model), 1)
    np.testing.assert_array_equal(fewer.codes(), found[0][0][:1000])


@needs_device
@pytest.mark.parametrize("n_full", [1, 10**9])
def test_states_do_not_depend_on_the_groups_of_neighbours(monkeypatch, n_full):
    model, found = make_field(11, edge_probability=0.6, seed=3), []  # with up to nine neighbours
    for group in GROUPS:
        monkeypatch.setattr(_scan, "_choose_group", lambda _, group=group: group)
        device = make_device(n_full)
        bounds = DeviceBounds.start(device, model.domain, 500, seed=5)
        bounds.sweep(DeviceScan(device, model, n_planes=2), 3)
        draws, _ = draw_exactly(device, model, 500, seed=5, max_sweeps=1000)
        found.append((bounds.open_counts(), draws.codes()))
        assert {name.rsplit("_", 1)[1] for name in device.launched if "sweep" in name} == {str(group)}
    for counts, codes in found[1:]:
        np.testing.assert_array_equal(counts, found[0][0])
        np.testing.assert_array_equal(codes, found[0][1])


def test_groups_fit_the_numbers_of_neighbours():
    for degrees, group in (([2] * 9, 2), ([4] * 9, 4), ([6] * 9, 6), ([8] * 9, 8), ([16] * 9, 8), ([], 2)):
        assert _scan._choose_group(np.array(degrees, dtype=np.int64)) == group
    # Most have few neighbours: groups as large as those of one with many would be filled up for all others.
    assert _scan._choose_group(np.array([2] * 20 + [16])) == 2


STRONG = PairwiseMRF.binary(
    [60.0, -50.0, 0.3, 0.0], [[0, -90.0, 0, 0.5], [-90.0, 0, 80.0, 0], [0, 80.0, 0, -0.7], [0.5, 0, -0.7, 0]]
)


def tiny_field():
    """Return a field whose interactions are smaller than a float32 can show beside one."""
    values = np.triu(np.random.default_rng(1).choice([-1, 1], (6, 6)) * 10.0 ** np.arange(-12, -6), 1)
    return PairwiseMRF.binary(np.linspace(-1, 1, 6), values + values.T)


@needs_device
@pytest.mark.parametrize("form", ["product", "sum"])
@pytest.mark.parametrize("model", [make_field(12, seed=2), BINARY["all negative"], tiny_field(), STRONG])
def test_bounds_contain_chains_from_every_start(model, form):
    if form == "product" and model is STRONG:
        with pytest.raises(ValueError, match="does not fit"):
            DeviceScan(make_device(), model, form=form)
        return
    device, n, p = make_device(), 2000, model.domain.n_variables
    scans = [DeviceScan(device, model, form=form, n_planes=n_planes) for n_planes in (1, 2, 3)]
    bounds = DeviceBounds.start(device, model.domain, n, seed=4)
    codes = [np.zeros((n, p), np.uint8), np.ones((n, p), np.uint8), np.random.default_rng(0).integers(0, 2, (n, p))]
    many = [DeviceChains(device, model.domain, n, device.xp.asarray(lay_out(own)), seed=4, use=SWEEPS) for own in codes]
    for _ in range(5):
        bounds.sweep(scans[1], 1)
        low, high = (unpack(device, plane, n) for plane in (bounds._states[:p], bounds._states[p:]))
        assert np.all(low <= high)
        for chains in many:
            chains.sweep(scans[0], 1)
            assert np.all((low <= chains.codes()) & (chains.codes() <= high))
    assert bounds.n_open == np.count_nonzero((low != high).any(axis=1))
    low_products, high_products = low[:, :, None] & low[:, None], high[:, :, None] & high[:, None]
    np.testing.assert_array_equal(bounds.open_counts(), (low_products != high_products).sum(axis=0))


def unpack(device, lines, n):
    words = np.ascontiguousarray(device.fetch(lines))
    return np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")[:, :n].T


@needs_device
@pytest.mark.parametrize("n_lines", [1, 4, 7, 30])
@pytest.mark.parametrize("n", [1, 100, 5000])
def test_common_ones_are_counted(n_lines, n):
    rng = np.random.default_rng(1)
    codes, chosen = rng.integers(0, 2, (n, n_lines)), rng.integers(0, 2, n)
    for n_full in (1, 10**6):
        device = make_device(n_full)
        lines, mask = device.xp.asarray(lay_out(codes)), device.xp.asarray(lay_out(chosen[:, None])[0])
        expected = (codes * chosen[:, None]).T @ codes
        np.testing.assert_array_equal(count_lines(device, lines, mask), expected)
        np.testing.assert_array_equal(count_each(device, lines, mask), np.diagonal(expected))
