"""Exact draws of missing values, and exact expectations, given the observed cells."""

import numpy as np
import pytest

from sparsefield import PairwiseMRF
from sparsefield._kernels._target import HAS_AVX2
from sparsefield.datasets import make_field
from sparsefield.inference import Cpu, OutOfReachError, Scan
from sparsefield.inference.chains._blocks import CHOICES, CONTINUED, PILOT, SWEEPS, make_streams
from sparsefield.inference.missing import _clamped_coupling, _missing
from support import naive
from support.level_fields import ordered_field
from support.statistics_ import assert_counts_agree
from support.zoo import ZOO, parts, random_field

STORAGES = ["packed", "bytes"] if HAS_AVX2 else ["bytes"]
WAYS = [("enumeration", STORAGES[0]), *(("coupling", storage) for storage in STORAGES)]
BINARY = {
    "the paper's": make_field(7, strength=(0.5, 1.5), seed=1),
    "negative": ZOO["all negative"],
    "a constant, no reference": ZOO["a constant, no reference"],
    "reference last": ZOO["reference last"],
}


@pytest.fixture
def force(monkeypatch):
    """Let rows be enumerated or coupled, and chains be held, in a given way."""

    def choose(way, storage=STORAGES[0]):
        monkeypatch.setattr("sparsefield.inference._checks.HAS_AVX2", storage == "packed")
        if way == "coupling":
            monkeypatch.setattr(_missing, "is_cheap", lambda n_states, *_: n_states < 2)

    return choose


def make_rows(model, n, share=0.5, seed=1):
    """Draw rows of a field and let a share of the cells be missing, in the first row all of them."""
    rng = np.random.default_rng(seed)
    rows = np.ascontiguousarray(model.sample(n, n_sweeps=20, seed=seed).codes)
    rows[rng.random(rows.shape) < share] = 255
    rows[0] = 255
    return rows


def condition(model, row):
    """Return the probabilities of all states given the observed cells of a row, in the order of their numbers."""
    states, probabilities, _ = naive.distribution(*parts(model))
    return np.array(naive.given([None if x == 255 else int(x) for x in row], states, probabilities))


def number(model, codes):
    """Return the number of each state among all of them."""
    return np.ravel_multi_index(tuple(codes.T.astype(np.int64)), tuple(model.domain.n_levels))


def assert_draws_agree(model, rows, codes, which):
    """Check the draws of each row against their exact probabilities."""
    for r, row in enumerate(rows):
        law = condition(model, row)
        own = number(model, codes[which == r])
        assert (law[own] > 0).all()  # the observed cells are kept
        counts = np.bincount(own, minlength=len(law))
        if np.count_nonzero(law) > 1:
            assert_counts_agree(counts[law > 0], law[law > 0])


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize(("way", "storage"), WAYS)
def test_draws_have_the_probabilities_given_the_observed_cells(name, way, storage, force):
    model = BINARY[name]
    force(way, storage)
    rows = make_rows(model, 6)
    which = np.repeat(np.arange(6), 30_000)
    chains, run = Cpu().clamped_draw(model, rows[which], seed=1, max_sweeps=500)
    assert chains.storage == storage
    assert_draws_agree(model, rows, chains.codes(), which)
    n_incomplete = 30_000 * np.count_nonzero((rows == 255)[:, model.domain.n_levels > 1].any(axis=1))
    assert run.n_coupled == (n_incomplete if way == "coupling" else 0)
    assert run.n_enumerated + run.n_coupled == 180_000
    assert (run.sweeps_per_draw >= 1) == (way == "coupling")


@pytest.mark.parametrize("way", ["enumeration", "coupling"])
def test_draws_go_to_their_rows_whatever_the_order(way, force):
    # Rows come one at a time and in runs of all lengths up to 40.
    model = BINARY["the paper's"]
    force(way)
    rows = make_rows(model, 5, share=0.7, seed=2)
    rng = np.random.default_rng(3)
    which = np.concatenate([np.repeat(rng.integers(0, 5, 1000), rng.integers(1, 41, 1000)), rng.integers(0, 5, 4000)])
    chains, _ = Cpu().clamped_draw(model, rows[which], seed=2, max_sweeps=500)
    assert_draws_agree(model, rows, chains.codes(), which)


LEVELS = {name: ZOO[name] for name in ("three levels", "mixed levels", "mixed, reference last", "mixed, no reference")}
LEVELS["ordered"] = ordered_field([4, 2, 3, 3], seed=1, scale=0.3)


@pytest.mark.parametrize("name", LEVELS)
@pytest.mark.parametrize("way", ["enumeration", "coupling"])
def test_draws_of_levels_have_the_probabilities_given_the_observed_cells(name, way, force):
    model = LEVELS[name]
    assert (Scan(model, n_planes=3).form == "intervals") == (name == "ordered")
    force(way)
    rows = make_rows(model, 5)
    which = np.repeat(np.arange(5), 20_000)
    chains, run = Cpu().clamped_draw(model, rows[which], seed=1, max_sweeps=500)
    n_incomplete = 20_000 * np.count_nonzero((rows == 255)[:, model.domain.n_levels > 1].any(axis=1))
    assert run.n_coupled == (n_incomplete if way == "coupling" else 0)
    assert_draws_agree(model, rows, chains.codes(), which)
    before = chains.codes()
    chains.sweep(Scan(model), 1)
    assert not np.array_equal(before, chains.codes())
    assert_draws_agree(model, rows, chains.codes(), which)


@pytest.mark.parametrize(
    "model", [random_field([3] * 14, seed=1, scale=0.1), ordered_field([3] * 14, seed=1, scale=0.03)]
)
def test_many_missing_values_of_levels_are_drawn_whatever_the_threads(model, monkeypatch, cut_work):
    # 3^14 ways to fill a row are too many to enumerate.
    rows = make_rows(model, 40, share=0.6)
    rows[:5] = 255
    codes = np.repeat(rows, 60, axis=0)
    chains, run = Cpu(1).clamped_draw(model, codes, seed=1, max_sweeps=500)
    assert 300 <= run.n_coupled < 2400
    assert np.all((chains.codes() == codes) | (codes == 255))
    cut_work(0.0)
    monkeypatch.setattr(_clamped_coupling, "_MOST_BLOCKS", 1)
    np.testing.assert_array_equal(chains.codes(), Cpu(3).clamped_draw(model, codes, seed=1, max_sweeps=500)[0].codes())


def test_draws_of_a_chain_are_independent(force):
    # Chains give up to 16 draws of their row, one after the other: all pairs of states of a row, of a field whose
    # bounds often do not meet within a block of sweeps.
    model = make_field(4, edge_probability=1.0, strength=(1.5, 2.5), main=False, seed=1)
    force("coupling")
    row = np.array([1, 255, 255, 255], dtype=np.uint8)
    chains, run = Cpu().clamped_draw(model, np.tile(row, (64_000, 1)), seed=3, max_sweeps=500)
    assert run.sweeps_per_draw > 2
    own = number(model, chains.codes()) - 8
    law = condition(model, row)[8:]
    assert_counts_agree(np.bincount(8 * own[::2] + own[1::2], minlength=64), np.outer(law, law).ravel())


@pytest.mark.skipif(not HAS_AVX2, reason="there is only one storage without AVX2")
def test_packed_draws_equal_byte_draws(force):
    model = make_field(23, strength=(0.3, 0.8), seed=1)
    rows = make_rows(model, 40, share=0.6)
    found = []
    for storage in STORAGES:
        force("coupling", storage)
        found.append(Cpu().clamped_draw(model, np.repeat(rows, 30, axis=0), seed=6, max_sweeps=500)[0].codes())
    np.testing.assert_array_equal(*found)


def test_draws_do_not_depend_on_threads_or_on_how_many_are_made_at_one_time(monkeypatch, cut_work):
    # Half of the rows are coupled and half are enumerated.
    model = make_field(20, seed=2)
    codes = np.repeat(make_rows(model, 400, share=0.45), 7, axis=0)
    one, run = Cpu(1).clamped_draw(model, codes, seed=9, max_sweeps=2000)
    assert run.n_coupled > 512
    assert run.n_enumerated > 512
    cut_work(0.0)
    monkeypatch.setattr(_clamped_coupling, "_MOST_BLOCKS", 1)
    np.testing.assert_array_equal(one.codes(), Cpu(3).clamped_draw(model, codes, seed=9, max_sweeps=2000)[0].codes())
    assert not np.array_equal(one.codes(), Cpu(1).clamped_draw(model, codes, seed=10, max_sweeps=2000)[0].codes())


def test_slow_rows_among_fast_ones_are_waited_for(force):
    # The first two variables are both on or both off, and rarely change unless one of them was observed: rows of both
    # kinds share blocks of chains.
    model = PairwiseMRF.binary(
        [-4.0, -4.2, 0.0, 0.3], np.array([[0, 8.0, 0.5, 0], [8.0, 0, 0, 0], [0.5, 0, 0, 1.0], [0, 0, 1.0, 0]])
    )
    force("coupling")
    rows = np.array([[255, 255, 255, 255], [255, 1, 255, 255], [255, 255, 0, 255], [0, 255, 255, 1]], dtype=np.uint8)
    which = np.tile(np.repeat(np.arange(4), [3, 10, 5, 2]), 5000)
    chains, run = Cpu().clamped_draw(model, rows[which], seed=1, max_sweeps=2000)
    assert run.n_coupled == len(which)
    assert_draws_agree(model, rows, chains.codes(), which)


def test_rows_whose_bounds_do_not_meet_are_enumerated_or_refused(force):
    # Nearly all are on or nearly all are off, and chains hardly ever change that, unless most of them were observed.
    p = 22
    model = PairwiseMRF.binary([-6.0] * p, 12.0 / (p - 1) * (1 - np.eye(p)))
    force("coupling")
    rows = np.zeros((3, p), dtype=np.uint8)
    rows[0, :4] = rows[1, :10] = rows[2] = 255
    which = np.repeat([0, 1], 20_000)
    strong = PairwiseMRF.binary([-6.0] * 10, 12.0 / 9 * (1 - np.eye(10)))
    chains, run = Cpu().clamped_draw(strong, rows[which, :10], seed=1, max_sweeps=50)
    assert (run.n_coupled, run.n_enumerated) == (20_000, 20_000)
    assert_draws_agree(strong, rows[:2, :10], chains.codes(), which)
    with pytest.raises(OutOfReachError, match=r"22 of them.*met within 50 sweeps.*Raise max_sweeps") as refused:
        Cpu().clamped_draw(model, rows, seed=1, max_sweeps=50)
    assert refused.value.remedy == "Raise max_sweeps for them."


def test_too_many_levels_with_many_missing_values_are_refused():
    model = random_field([65] * 4, seed=1, scale=0.2)
    with pytest.raises(OutOfReachError, match=r"4 of them.*up to 64 levels\.$") as refused:
        Cpu().clamped_draw(model, np.full((2, 4), 255, dtype=np.uint8), seed=1, max_sweeps=50)
    assert refused.value.remedy == ""
    rows = np.full((1000, 4), 255, dtype=np.uint8)  # 65^3 = 274,625 ways to fill each, which add up to 2^28.03
    rows[:, 0] = np.arange(1000) % 65
    with pytest.raises(OutOfReachError, match="268435456 of all"):
        Cpu().clamped_draw(model, rows, seed=1, max_sweeps=50)
    with pytest.raises(ValueError, match="max_sweeps is 0"):
        Cpu().clamped_draw(model, np.zeros((2, 4), dtype=np.uint8), seed=1, max_sweeps=0)


@pytest.mark.parametrize("way", ["enumeration", "coupling"])
def test_draws_can_be_swept_on_and_keep_their_probabilities(way, force):
    model = BINARY["the paper's"]
    force(way)
    rows = make_rows(model, 4)
    which = np.repeat(np.arange(4), 20_000)
    chains, _ = Cpu().clamped_draw(model, rows[which], seed=1, max_sweeps=500)
    before = chains.codes()
    chains.sweep(Scan(model), 1)
    assert not np.array_equal(before, chains.codes())
    assert_draws_agree(model, rows, chains.codes(), which)
    used = np.concatenate([make_streams(1, 8, use) for use in (SWEEPS, PILOT, CHOICES)])
    assert not np.isin(make_streams(1, 157, CONTINUED), used).any()


@pytest.mark.parametrize("name", ZOO)
def test_expectations_and_variances_given_the_observed_cells(name, cut_work):
    model = ZOO[name]
    rng = np.random.default_rng(1)
    rows, weights = make_rows(model, 12), rng.random(12)
    states = np.array(naive.distribution(*parts(model))[0], dtype=np.uint8)
    s = model.domain.indicators(states)
    size = model.domain.n_slots
    move = rng.normal(size=(size, size))
    move = np.triu(move) + np.triu(move, 1).T
    values = ((s @ move) * s).sum(axis=1) / 2 + s @ np.diagonal(move) / 2
    laws = np.array([condition(model, row) for row in rows])
    expected = (s.T * (weights @ laws)) @ s
    variances = laws @ values**2 - (laws @ values) ** 2
    found = Cpu().clamped_products(model, rows, weights)
    # Sums of at most 12 x 1000 terms of size one, rounded to 2^-53 each.
    np.testing.assert_allclose(found, expected, atol=2e-12)
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_allclose(Cpu().clamped_variances(model, rows, move), variances, atol=2e-12 * (values**2).max())
    cut_work()
    np.testing.assert_array_equal(found, Cpu(3).clamped_products(model, np.asfortranarray(rows), weights))


def test_expectations_and_variances_do_not_depend_on_threads_or_on_how_they_are_cut(cut_work):
    model = make_field(20, seed=2)
    rows = make_rows(model, 100, share=0.4)  # of 2^1 to 2^20 states
    rng = np.random.default_rng(1)
    weights, move = rng.random(100), np.diag(rng.normal(size=20))

    def look(n_threads):
        backend = Cpu(n_threads)
        return backend.clamped_products(model, rows, weights), backend.clamped_variances(model, rows, move)

    whole = look(1)
    for seconds in (0.0, 1e-5):  # a row at a time, and some of them
        cut_work(seconds)
        for n_threads in (1, 3):
            for one, other in zip(whole, look(n_threads), strict=True):
                np.testing.assert_array_equal(one, other)
