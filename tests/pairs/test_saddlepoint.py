"""Tails of scores where cells are rare."""

import numpy as np
import polars as pl
import pytest
from scipy.stats import chi2, hypergeom

import sparsefield as sf
from sparsefield.pairs._saddlepoint import find_square


def squares_of(share, other_share, n):
    """Return how many of n rows show both, and the squares of all counts above the mean."""
    shares, other = np.array([[1 - share, share]]), np.array([[1 - other_share, other_share]])
    own, another = np.array([-share, 1 - share]), np.array([-other_share, 1 - other_share])
    products = np.outer(own, another)[None]
    # With the margins as they are expected, the score of k rows that show both is k less their mean.
    counts = np.arange(int(n * share * other_share) + 1, min(n, 12))
    scores = counts - n * share * other_share
    return counts, [find_square(shares, other, products, np.array([float(n)]), score) for score in scores]


@pytest.mark.parametrize(("share", "other_share", "n"), [(0.02, 0.03, 500), (0.01, 0.05, 400)])
def test_rare_cells_have_the_tails_of_an_exact_test(share, other_share, n):
    counts, squares = (np.array(own[:3]) for own in squares_of(share, other_share, n))
    # Counts of rows that show both are hypergeometric (Fisher); half of the probability of the count itself is left out
    # (mid p-value), and both sides count.
    law = hypergeom(n, round(n * share), round(n * other_share))
    exact = 2 * law.sf(counts) + law.pmf(counts)
    cell = n * share * other_share
    # Scores are compared as if margins were random: a factor of two leaves room for that. A chi-square is off by much
    # more, but for a single row that shows both.
    ratios = chi2.sf(squares, 1) / exact
    assert np.all((ratios > 0.5) & (ratios < 2))
    assert np.all(chi2.sf((counts - cell) ** 2 / cell, 1)[1:] < 0.1 * exact[1:])


def test_frequent_cells_have_the_tails_of_a_chi_square():
    rng = np.random.default_rng(1)
    shares = rng.dirichlet([3, 3, 3], 50)
    other = rng.dirichlet([3, 3], 50)
    features, other_features = np.array([[0.0], [1.0], [2.0]]), np.array([[0.0], [1.0]])
    own, another = (
        features[None] - (shares @ features)[:, None],
        other_features[None] - (other @ other_features)[:, None],
    )
    products = np.einsum("nad,nbd->nab", own, another)
    weights = np.full(50, 2000.0)
    spread = float(weights @ ((shares[:, :, None] * other[:, None]) * products**2).sum(axis=(1, 2)))
    for deviate in (0.5, 2.0, 4.0):
        found = find_square(shares, other, products, weights, deviate * np.sqrt(spread))
        # A standardised third moment of 100,000 rows is of order 1 / sqrt(100,000) = 0.003, times deviate^2 / 6.
        assert np.sqrt(found) == pytest.approx(deviate, abs=0.003 * (1 + deviate**2) / 6 + 1e-3)


def test_the_largest_score_has_the_probability_of_its_cells():
    share = np.array([[0.9, 0.1]])
    products = np.outer([-0.1, 0.9], [-0.1, 0.9])[None]
    square = find_square(share, share, products, np.array([3.0]), 3 * 0.81)
    assert chi2.sf(square, 1) == pytest.approx(0.01**3)
    assert find_square(share, share, products, np.array([3.0]), 0.0) == 0
    assert find_square(share, share, products, np.array([3.0]), -1.0) == 0


def test_two_ones_in_one_row_are_no_stronger_than_an_exact_test_says():
    x = np.zeros((200, 3), dtype=int)
    x[7, :2] = 1
    x[::2, 2] = 1
    found = sf.infer(sf.encode(pl.DataFrame(x, schema=["a", "b", "c"])))
    # Fisher's exact test has 1 / 200. The intercepts are those with Jeffreys' prior: ones are half as frequent again.
    assert 1 / 200 <= found.p_value[0] <= 0.01


@pytest.mark.parametrize(("n", "n_ones"), [(200, 1), (200, 2), (500, 3)])
def test_rare_columns_have_no_false_edges(n, n_ones):
    def has_edge(seed):
        rng = np.random.default_rng(seed)
        x = np.zeros((n, 20), dtype=int)
        for column in x.T:
            column[rng.choice(n, n_ones, replace=False)] = 1
        return bool(sf.infer(sf.encode(pl.DataFrame(x, schema=[f"x{i}" for i in range(20)]))).is_edge.any())

    # Of these, 14, 9 and 8 of 20 had one by likelihood ratios. At 10% more than 8 have a probability of 6e-5.
    assert sum(map(has_edge, range(20))) <= 8


@pytest.mark.parametrize("levels", [2, 4])
def test_intervals_of_rare_levels_hold_zero_where_tests_do_not_exclude_it(levels):
    shares = {2: [0.97, 0.03], 4: [0.9, 0.07, 0.02, 0.01]}[levels]
    n_held = n_all = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        x = rng.choice(levels, (250, 12), p=shares).astype(float)
        x[rng.random(x.shape) < (0.1 if levels == 2 else 0.0)] = np.nan
        frame = pl.DataFrame(x, schema=[f"x{i}" for i in range(12)]).fill_nan(None).cast(pl.Int64)
        found = sf.infer(sf.encode(frame, ordinal=levels > 2))
        holds = (found.low <= 0) & (found.high >= 0)
        assert holds[found.p_value > 0.05].all()
        n_held, n_all = n_held + holds.sum(), n_all + len(holds)
    # 528 pairs: of fair intervals fewer than 92% hold zero with a probability of 1.5e-3; of Wald's 90 and 92% did.
    assert n_held / n_all > 0.92
