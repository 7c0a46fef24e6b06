"""Design effects against sums over all pairs of rows, and shrunken ratios against draws from their law."""

import numpy as np
import pytest
from scipy import stats

import sparsefield as sf
from sparsefield.data import Domain, Table
from sparsefield.pairs._design_effects import Sample, compare_products, find_structured, moderate
from sparsefield.pairs._pair_rows import Kinds, PairRows
from sparsefield.pairs._scores import Residuals
from sparsefield.structure import Design, find_neighbours
from support import naive_pairs as naive

N = 60


def make_rows(weights, n_levels=(2, 2, 2, 2)):
    rng = np.random.default_rng(1)
    together = np.repeat(rng.random((N // 4, 1)), 4, axis=0)
    codes = np.floor(
        np.array(n_levels) * np.clip(0.7 * together + 0.5 * rng.random((N, len(n_levels))) - 0.1, 0, 0.999)
    )
    levels = tuple(tuple(range(n)) for n in n_levels)
    domain = Domain(tuple("abcd"), levels, (0,) * len(n_levels))
    design = Design.of(Table(domain, np.asfortranarray(codes.astype(np.uint8))), weights, gather=False)
    return PairRows(design, find_neighbours(design), Kinds.of(design))


def test_structured_effects_are_sums_over_all_pairs_of_rows():
    weights, groups = np.random.default_rng(2).uniform(0.5, 2, N), np.arange(N) // 4
    rows = make_rows(weights)
    left = Residuals.of(rows)
    pairs = [(i, j) for j in range(4) for i in range(j)]
    spreads = np.column_stack([own[:, 0, 0] for own in left.spreads])
    for own in (groups, np.arange(N)):
        found = find_structured(rows, left, Sample(own, np.ones(N)))
        exact = naive.find_structured(spreads, weights, left.residuals, own, pairs)
        np.testing.assert_allclose(found[tuple(np.transpose(pairs))], exact, rtol=1e-9)
        np.testing.assert_allclose(found, found.T, rtol=1e-12)
    # Weights alone: the variance of weighted scores, over what it is for so many rows.
    np.testing.assert_allclose(found[0, 1], (weights**2 * spreads[:, 0] * spreads[:, 1]).sum()
                               / (weights * spreads[:, 0] * spreads[:, 1]).sum())  # fmt: skip


def test_rows_that_are_alike_within_clusters_have_larger_effects():
    rows = make_rows(np.ones(N))
    left = Residuals.of(rows)
    clustered = find_structured(rows, left, Sample(np.arange(N) // 4, np.ones(N)))
    alone = find_structured(rows, left, Sample(np.arange(N), np.ones(N)))
    np.testing.assert_allclose(alone, 1, rtol=1e-12)
    assert np.all(clustered >= 1 - 1e-12)
    assert np.all(clustered <= 4 + 1e-12)  # the size of a cluster
    assert clustered.max() > 1.1


@pytest.mark.parametrize("n_levels", [(2, 2, 2, 2), (3, 3, 2, 3)])
def test_products_of_residuals_are_compared_cluster_by_cluster(n_levels):
    weights, groups = np.random.default_rng(2).uniform(0.5, 2, N), np.arange(N) // 4
    rows = make_rows(weights, n_levels)
    left, starts = Residuals.of(rows), rows.design.starts
    i = 0
    ratios, numbers = compare_products(rows, left, Sample(groups, np.ones(N)), i)
    for j in range(1, 4):
        found, counted = [], []
        for a in range(starts[i], starts[i + 1]):
            for b in range(starts[j], starts[j + 1]):
                own = (
                    left.spreads[i][:, a - starts[i], a - starts[i]] * left.spreads[j][:, b - starts[j], b - starts[j]]
                )
                whole = (weights * own).sum()
                squares = []
                for g in range(N // 4):
                    here = groups == g
                    pull = (weights * left.residuals[:, a] * left.residuals[:, b])[here].sum() / np.sqrt(whole)
                    share = (weights * own)[here].sum() / whole
                    squares.append((pull / max(1 - share, 0.1)) ** 2)
                found.append(sum(squares))
                counted.append(sum(squares) ** 2 / sum(s**2 for s in squares))
        assert ratios[j] == pytest.approx(np.mean(found), rel=1e-9)
        assert numbers[j] == pytest.approx(np.sum(counted), rel=1e-9)


def test_ratios_that_differ_by_chance_alone_become_what_they_have_in_common():
    rng = np.random.default_rng(3)
    degrees = rng.uniform(5, 30, 2000)
    ratios = 1.7 * rng.chisquare(degrees) / degrees
    found, freedom = moderate(ratios, degrees)
    # Their logarithms have the standard error of a mean of variances of at most trigamma(5 / 2) each.
    error = np.sqrt(0.5 / 2000)
    assert np.all(np.abs(np.log(found / 1.7)) < 0.5)
    assert np.log(found).mean() == pytest.approx(np.log(1.7), abs=stats.norm.isf(5e-7) * error)
    assert np.all(freedom > degrees + 100)


def test_ratios_that_differ_of_themselves_are_shrunken_as_their_law_asks():
    rng = np.random.default_rng(4)
    n, prior, degrees = 4000, 8.0, np.full(4000, 10.0)
    scales = 2.0 * prior / rng.chisquare(prior, n)
    ratios = scales * rng.chisquare(degrees) / degrees
    found, freedom = moderate(ratios, degrees)
    # The excess of the variance of the logarithms is right to (2 / n)^(1/2) of the whole; that moves the degrees of the
    # prior by as much, times the ratio of the whole to the excess, about two.
    assert freedom[0] - 10 == pytest.approx(prior, rel=2 * 5 * np.sqrt(2 / n) * 2)
    exact = (prior * 2.0 + degrees * ratios) / (prior + degrees)
    np.testing.assert_allclose(found, exact, rtol=0.25)
    assert np.mean((found - scales) ** 2) < 0.7 * np.mean((ratios - scales) ** 2)


def test_one_ratio_is_known_as_well_as_it_is():
    found, freedom = moderate(np.array([2.0]), np.array([5.0]))
    assert np.isfinite(found).all()
    assert np.isfinite(freedom).all()
    assert moderate(np.zeros(0), np.zeros(0))[0].shape == (0,)


def test_clusters_are_added_up():
    sample = Sample(np.array([0, 2, 0, 2]), np.ones(4))
    np.testing.assert_array_equal(sample.sum(np.array([[1.0], [2.0], [3.0], [4.0]])), [[4.0], [0.0], [6.0]])
    # A cluster that has a share of the information would have moved the estimate as much more without itself.
    total, number = sample.compare(np.array([[0.5], [0.0], [0.0], [0.0]]), np.array([[0.25], [0.25], [0.25], [0.25]]))
    assert total[0] == pytest.approx(1.0)
    assert number[0] == pytest.approx(1.0)


def test_errors_of_clustered_rows_are_those_between_tables():
    # Schools of ten: what they do to variables is alike within them, and independent from one variable to another.
    rng, estimates, errors = np.random.default_rng(5), [], []
    clusters = np.repeat(np.arange(50), 10)
    for _ in range(60):
        own = rng.normal(0, 1.2, (50, 4))[clusters]
        codes = (rng.logistic(size=(500, 4)) < own).astype(np.uint8)
        table = Table(Domain.binary(4), np.asfortranarray(codes))
        found = sf.infer(table, clusters=clusters)
        estimates.append(found.estimate)
        errors.append(found.error)
    spread = np.std(estimates, axis=0, ddof=1)
    # The ratio of two standard errors of 60 tables: chi-square with 59 degrees, for each of six pairs.
    low, high = (np.sqrt(stats.chi2.ppf(q, 59) / 59) for q in (5e-7 / 6, 1 - 5e-7 / 6))
    ratio = spread / np.sqrt(np.mean(np.square(errors), axis=0))
    assert np.all(ratio < high)
    assert np.all(ratio > low)
