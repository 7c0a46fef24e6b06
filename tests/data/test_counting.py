"""Counts of pairs against a matrix product."""

import numpy as np
import pytest

from sparsefield import Domain
from sparsefield._kernels._target import HAS_AVX2
from sparsefield.data import MISSING, Counts, Table, _counting, count_codes, count_table, moments_of_table
from sparsefield.datasets import make_field
from sparsefield.inference import Chains, count_packed

needs_packed = pytest.mark.skipif(not HAS_AVX2, reason="packed kernels are compiled for AVX2 and later")


def count_naively(codes, domain):
    indicators = domain.indicators(codes).astype(np.int64)
    return indicators.T @ indicators


@pytest.mark.parametrize("by_nibbles", [False, pytest.param(True, marks=needs_packed)])
@pytest.mark.parametrize(("p", "n"), [(1, 1), (3, 5), (20, 511), (31, 513), (65, 1000), (130, 3000), (260, 700)])
def test_counts_equal_a_matrix_product(monkeypatch, cut_work, by_nibbles, p, n):
    cut_work()
    monkeypatch.setattr(_counting, "HAS_AVX2", by_nibbles)
    monkeypatch.setattr(_counting, "HAS_VECTOR_POPCOUNT", not by_nibbles)
    codes = np.random.default_rng(p).integers(0, 2, size=(n, p), dtype=np.uint8)
    domain = Domain.binary(p)
    expected = count_naively(codes, domain)
    for n_threads in (1, 3):
        np.testing.assert_array_equal(count_codes(codes, domain, n_threads), expected)
    if HAS_AVX2:
        chains = Chains(domain, n, seed=0, start=codes, storage="packed")
        np.testing.assert_array_equal(count_packed(chains._states, p, n, 2), expected)


@pytest.mark.parametrize("by_nibbles", [False, pytest.param(True, marks=needs_packed)])
def test_counts_do_not_overflow(monkeypatch, by_nibbles):
    # All ones is the worst case for counts kept in half bytes, bytes and 16 bits.
    monkeypatch.setattr(_counting, "HAS_AVX2", by_nibbles)
    monkeypatch.setattr(_counting, "HAS_VECTOR_POPCOUNT", not by_nibbles)
    codes = np.ones((150_001, 3), dtype=np.uint8)
    np.testing.assert_array_equal(count_codes(codes, Domain.binary(3)), 150_001)


def test_counts_of_parts_add_up_to_those_of_the_whole():
    table = make_field(7, seed=1).sample(1000, n_sweeps=5, seed=1)
    whole = count_table(table)
    parts = [count_table(table[start : start + 300]) for start in range(0, 1000, 300)]
    total = parts[0] + parts[1] + parts[2] + parts[3]
    np.testing.assert_array_equal(total.pair, whole.pair)
    assert total.n == whole.n == 1000
    np.testing.assert_array_equal(total.moments().pair, moments_of_table(table).pair)
    with pytest.raises(ValueError, match="do not add up"):
        whole + Counts(np.zeros((3, 3), dtype=np.int32), 1)


def test_counts_of_more_rows_than_32_bits_hold_add_up():
    half = Counts(np.full((2, 2), 2**31 - 1, dtype=np.int32), 2**31 - 1)
    both = half + half
    assert both.pair.tolist() == [[2**32 - 2] * 2] * 2
    assert both.moments().pair.tolist() == [[1.0, 1.0]] * 2
    with pytest.raises(ValueError, match="at least one observation"):
        Counts(np.zeros((2, 2), dtype=np.int32), 0).moments()


@pytest.mark.parametrize("n_levels", [2, 16, 17, 254])
def test_levels_are_counted_without_missing_values(n_levels):
    codes = np.random.default_rng(n_levels).integers(0, n_levels, size=(1000, 2), dtype=np.uint8)
    codes[::3, 1] = MISSING
    table = Table(Domain(("a", "b"), (tuple(range(n_levels)),) * 2, (0, 0)), codes)
    for found, own in zip(table.level_counts(), codes.T, strict=True):
        assert found.tolist() == [int((own == k).sum()) for k in range(n_levels)]
