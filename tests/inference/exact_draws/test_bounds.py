"""Bounding chains contain every chain, from wherever it starts."""

import itertools

import numpy as np
import pytest

from sparsefield import Domain, PairwiseMRF
from sparsefield._kernels import _bytes
from sparsefield._kernels._tables import make_monotone
from sparsefield._kernels._target import HAS_AVX2
from sparsefield.datasets import make_field
from sparsefield.inference import BoundingChains, Chains, Cpu, Scan
from sparsefield.inference.chains._blocks import SWEEPS, make_states, make_streams, unpack
from support.zoo import BINARY

STORAGES = ["packed", "bytes"] if HAS_AVX2 else ["bytes"]
needs_packed = pytest.mark.skipif(not HAS_AVX2, reason="packed kernels are compiled for AVX2 and later")

STRONG = PairwiseMRF.binary(
    np.array([200.0, -150.0, 0.3, 0.0, -90.0]),
    np.array(
        [
            [0, -200.0, 0, 0.5, 0],
            [-200.0, 0, 150.0, 0, 0],
            [0, 150.0, 0, -0.7, 90.0],
            [0.5, 0, -0.7, 0, 0.2],
            [0, 0, 90.0, 0.2, 0],
        ]
    ),
)


def bounds_of(chains):
    """Return the least and the largest states (n_chains, n_variables) as codes."""
    p = chains.domain.n_variables
    planes = (unpack(plane) if chains.storage == "packed" else plane for plane in chains.planes())
    return [plane[:, :p].transpose(0, 2, 1).reshape(-1, p)[: chains.n_chains] for plane in planes]


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize(
    "model",
    [
        make_field(12, seed=2),
        make_field(9, edge_probability=1.0, strength=(0.5, 1.0), seed=3),
        BINARY["reference last"],
    ],
)
def test_bounds_contain_chains_from_every_start(model, storage):
    p, n = model.domain.n_variables, 600
    order = np.random.default_rng(1).permutation(p)
    bounds = BoundingChains(model.domain, n, seed=4, storage=storage)
    starts = [np.zeros((n, p), int), np.ones((n, p), int), np.random.default_rng(0).integers(0, 2, (n, p))]
    many = [Chains(model.domain, n, seed=4, start=start, storage=storage) for start in starts]
    for _ in range(6):
        bounds.sweep(Scan(model, storage=storage, order=order, n_planes=2), 1)
        low, high = bounds_of(bounds)
        assert np.all(low <= high)
        for chains in many:
            chains.sweep(Scan(model, storage=storage, order=order, form="product"), 1)
            codes = chains.codes()
            assert np.all((low <= codes) & (codes <= high))
    assert bounds.n_open == np.count_nonzero((low != high).any(axis=1))
    assert 0 < bounds.n_open < n
    assert bounds.n_sweeps == 6


@pytest.mark.parametrize("storage", STORAGES)
def test_bounds_contain_chains_with_large_parameters(storage):
    scan = Scan(STRONG, storage=storage, n_planes=2)
    assert scan.form == "sum"
    plain = Scan(STRONG, storage=storage, form="sum")
    bounds = BoundingChains(STRONG.domain, 600, seed=4, storage=storage)
    for own, others in zip(scan.arguments[2:], plain.arguments[2:], strict=True):
        np.testing.assert_array_equal(own, others)
    three = Scan(STRONG, storage=storage, n_planes=3)
    planes = make_states(STRONG.domain, 2, storage, n_planes=3)
    n_lines = planes.shape[1] // 3
    planes[:, n_lines : 2 * n_lines] = bounds.planes()[1]
    planes[:, 2 * n_lines :] = Chains(STRONG.domain, 1024, seed=9, storage=storage)._states
    streams = make_streams(4, 2, SWEEPS)
    for _ in range(6):
        bounds.sweep(scan, 1)
        three.sweep(planes, streams, 1)
        low, high, carried = (planes[:, k * n_lines : (k + 1) * n_lines] for k in range(3))
        np.testing.assert_array_equal(low, bounds.planes()[0])
        np.testing.assert_array_equal(high, bounds.planes()[1])
        assert not np.any(low & ~carried)
        assert not np.any(carried & ~high)


@needs_packed
@pytest.mark.parametrize("model", [make_field(17, seed=2), STRONG, BINARY["with a constant"]])
def test_packed_bounds_equal_byte_bounds(model):
    found = []
    for storage in STORAGES:
        bounds = BoundingChains(model.domain, 700, seed=3, storage=storage)
        bounds.sweep(Scan(model, storage=storage, n_planes=2), 5)
        found.append((*bounds_of(bounds), bounds.n_open, bounds.open_counts()))
    for packed, plain in zip(*found, strict=True):
        np.testing.assert_array_equal(packed, plain)


@pytest.mark.parametrize("shift", range(1, 25))
def test_larger_fields_never_have_larger_weights(shift):
    # Every fraction, from one power of two to the next and a little beyond: what bounds stand on.
    half = 1 << (shift - 1)
    z = np.arange(-half - 2, half + 3, dtype=np.int32)
    padded = np.concatenate([z, np.full(-len(z) % _bytes.BLOCK, z[-1], dtype=np.int32)])
    weights = padded.view(np.float32).reshape(-1, _bytes.BLOCK)
    for row in weights:
        _bytes.exponentiate(row, shift)
    assert np.all(np.diff(weights.ravel()) >= 0)


def test_weights_of_a_table_fall_as_fields_rise():
    # Interactions far below what a float32 can tell apart, and just above it.
    rng = np.random.default_rng(1)
    for scale in (1e-17, 1e-8, 1e-7, 1.0):
        values = np.triu(rng.normal(0, scale, (40, 40)), 1)
        model = PairwiseMRF.binary(rng.normal(0, 1, 40), values + values.T)
        starts, neighbours, tables = Scan(model, form="product", n_planes=2).arguments
        for i in range(40):
            for k in range(starts[i], starts[i + 1]):
                none, first, second, both = tables[k]
                for without, with_it, own in ((none, first, 0), (second, both, 0), (none, second, 1), (first, both, 1)):
                    rises = neighbours[0, k, own] < neighbours[1, k, own]  # the least state looks at the least state
                    same = neighbours[0, k, own] == neighbours[1, k, own]
                    assert with_it == without if same else (with_it <= without if rises else with_it >= without)


def test_weights_out_of_order_are_put_in_order():
    # All 24 orders of four weights, for all four pairs of signs.
    for signs in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
        tables = np.array(list(itertools.permutations([1.0, 2.0, 3.0, 4.0])), dtype=np.float32)
        make_monotone(tables, np.tile(np.array(signs, dtype=float), (len(tables), 1)))
        none, first, second, both = tables.T
        for sign, pairs in zip(signs, (((none, first), (second, both)), ((none, second), (first, both))), strict=True):
            for without, with_it in pairs:
                assert np.all(with_it <= without if sign > 0 else with_it >= without)


def count_open(bounds, domain):
    """Count the chains that leave each statistic open, from the levels that each variable can still have."""
    low, high = bounds_of(bounds)
    counts = np.zeros((domain.n_slots, domain.n_slots), dtype=int)
    for c in range(len(low)):
        inside = np.array(list(np.ndindex(*(high[c] - low[c] + 1)))) + low[c]
        s = domain.indicators(inside.astype(np.uint8))
        products = s[:, :, None] * s[:, None, :]
        counts += (products.min(axis=0) != products.max(axis=0)).astype(int)
    return counts


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("storage", STORAGES)
def test_open_statistics_are_those_that_some_start_can_change(name, storage):
    model = BINARY[name]
    bounds = BoundingChains(model.domain, 530, seed=1, storage=storage)
    for _ in range(3):
        np.testing.assert_array_equal(bounds.open_counts(), count_open(bounds, model.domain))
        bounds.sweep(Scan(model, storage=storage, n_planes=2), 1)


def test_bounds_of_a_field_without_parameters_are_closed():
    domain = Domain(("only",), ((7,),), (0,))
    bounds = BoundingChains(domain, 10, seed=1)
    assert bounds.n_open == 0
    assert bounds.open_counts().shape == (0, 0)


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
