"""What noise makes of a penalty, among independent variables."""

import numpy as np
import pytest
from scipy import stats

import sparsefield as sf
from sparsefield.data import MISSING
from sparsefield.fitting import Learner, Options
from sparsefield.selection import select
from sparsefield.selection.choices import _null_edges
from sparsefield.selection.choices._null_edges import alpha_of_null_edges, count_null_edges, largest_error, null_alpha
from sparsefield.selection.paths._alpha_max import independent_means, largest_alpha
from sparsefield.tables import read_rows
from support.problems import make_table
from support.statistics_ import FALSE_ALARM

TABLE = make_table(4, 100)


def make_independent(p, n, seed):
    return sf.encode(np.random.default_rng(seed).integers(0, 2, (n, p)))


def test_noise_makes_edges_among_independent_variables_as_often_as_promised():
    n_tables, n_above = 500, 0
    for seed in range(n_tables):
        table = make_independent(6, 400, seed)
        n_above += sf.selection.alpha_max(table) > null_alpha(Learner(read_rows(table), Options()))
    # Bonferroni's inequality is an upper bound, and nearly sharp: pairs are independent two by two, which takes 15 * 14
    # / 2 times (0.05 / 15)^2 from the rate at most. What is left to 0.04 is for counts that are not quite normal.
    assert stats.binom.cdf(n_above, n_tables, 0.04) > FALSE_ALARM
    assert stats.binom.sf(n_above - 1, n_tables, 0.05) > FALSE_ALARM


def test_pairs_that_noise_makes_are_counted():
    table = sf.encode([[0, 0], [0, 1], [1, 0], [1, 1]] * 25)
    learner = Learner(read_rows(table), Options())
    assert count_null_edges(learner, 0.05) == pytest.approx(2 * stats.norm.sf(0.05, scale=0.25 / 10))
    assert null_alpha(learner) == pytest.approx(stats.norm.isf(0.025, scale=0.25 / 10))
    rare = sf.encode(
        np.array([[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 0]] * 25) + [0, 0, 1] * (np.arange(100) == 7)[:, None]
    )
    risk = count_null_edges(Learner(read_rows(rare), Options()), null_alpha(Learner(read_rows(rare), Options())))
    assert risk == pytest.approx(0.05)  # of pairs with errors of their own
    # A quarter of the rows has twice the noise.
    assert null_alpha(learner, 25) == pytest.approx(2 * null_alpha(learner))


def test_the_noise_of_many_penalties_takes_one_look_at_the_rows(monkeypatch):
    looks = []
    monkeypatch.setattr(_null_edges, "independent_means", lambda own: looks.append(own) or independent_means(own))
    n_looks = []
    for alphas in ([0.05], [0.05, 0.04, 0.03, 0.02, 0.01]):
        select(TABLE, sf.EBIC(alphas=alphas))
        n_looks.append(len(looks))
        looks.clear()
    assert n_looks[0] == n_looks[1] > 0


def make_levels(n_levels, n, seed, ordered=()):
    """Return independent columns of uneven levels."""
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.choice(k, n, p=np.arange(1, k + 1) / (k * (k + 1) / 2)) for k in n_levels])
    names = tuple(f"x{i}" for i in range(len(n_levels)))
    scores = tuple(tuple(map(float, range(k))) if i in ordered else None for i, k in enumerate(n_levels))
    levels = tuple(tuple(range(k)) for k in n_levels)
    domain = sf.Domain(names, levels, (0,) * len(n_levels), scores)
    return sf.Table(domain, np.asfortranarray(codes.astype(np.uint8)))


@pytest.mark.parametrize("ordered", [(), (0, 1, 4)])
def test_noise_makes_edges_among_independent_variables_of_more_levels_as_often_as_promised(ordered):
    n_tables, n_above = 200, 0
    for seed in range(n_tables):
        learner = Learner(read_rows(make_levels((3, 4, 2, 5, 3), 300, seed, ordered)), Options())
        n_above += largest_alpha(learner) > null_alpha(learner)
    # As above; the tail that is taken may be off by 3%.
    assert stats.binom.cdf(n_above, n_tables, 0.97 * 0.04) > FALSE_ALARM
    assert stats.binom.sf(n_above - 1, n_tables, 1.03 * 0.05) > FALSE_ALARM


def test_the_noise_of_two_variables_is_that_of_all_their_pairs_of_levels():
    # Of even levels contrasts have variances of 1/4; the norm of six products counts sqrt(6) times.
    codes = np.array([[a, b] for a in range(3) for b in range(4)] * 10, dtype=np.uint8)
    domain = sf.Domain(("a", "b"), ((0, 1, 2), (0, 1, 2, 3)), (0, 0))
    learner = Learner(read_rows(sf.Table(domain, np.asfortranarray(codes))), Options())
    scale = 1 / (4 * 4 * 120 * 6)
    edge = null_alpha(learner)
    assert stats.chi2.sf(edge**2 / scale, 6) == pytest.approx(0.05, rel=0.01)
    assert count_null_edges(learner, edge) == pytest.approx(0.05)
    assert largest_error(learner) == pytest.approx(np.sqrt(6 * scale))
    # One pair of variables; of levels, two by three pairs that have parameters.
    assert alpha_of_null_edges(learner, 0.1) == pytest.approx(np.sqrt(scale * stats.chi2.isf(0.1, 6)), rel=0.01)
    single = Learner(read_rows(sf.Table(domain, np.asfortranarray(codes))), Options(penalty="l1"))
    e = np.sqrt(2 / 9 * 3 / 16 / 120)
    assert count_null_edges(single, 0.05) == pytest.approx(6 * 2 * stats.norm.sf(0.05, scale=e))


def test_two_ordered_variables_have_the_noise_of_one_number():
    codes = np.array([[a, b] for a in range(3) for b in range(4)] * 10, dtype=np.uint8)
    scores = ((0.0, 1.0, 2.0), (0.0, 1.0, 2.0, 5.0))
    domain = sf.Domain(("a", "b"), ((0, 1, 2), (0, 1, 2, 3)), (0, 0), scores)
    for penalty in ("group", "l1"):
        learner = Learner(read_rows(sf.Table(domain, np.asfortranarray(codes))), Options(penalty=penalty))
        # Scores have variances of 1/4 where levels are even.
        assert null_alpha(learner) == pytest.approx(stats.norm.isf(0.025, scale=np.sqrt(1 / 4 / 4 / 120)))


def test_rows_that_lack_one_of_two_variables_say_nothing_of_them():
    codes = np.array([[a, b] for a in range(3) for b in range(4)] * 10, dtype=np.uint8)
    domain = sf.Domain(("a", "b"), ((0, 1, 2), (0, 1, 2, 3)), (0, 0))
    whole = Learner(read_rows(sf.Table(domain, np.asfortranarray(codes))), Options())
    codes = np.repeat(codes, 4, axis=0)
    codes[::2, 0] = codes[1::4, 1] = MISSING  # each pair of levels has one whole row of four
    part = Learner(read_rows(sf.Table(domain, np.asfortranarray(codes))), Options())
    # A quarter of four times the rows: as an error, half of that of whole rows over twice their root.
    assert null_alpha(part) == pytest.approx(null_alpha(whole) / 2 / 2)
