"""What noise makes of a penalty, among independent variables."""

import numpy as np
import pytest
from scipy import stats

import sparsefield as sf
from problems import make_table
from sparsefield.selection import _noise, select
from sparsefield.selection._alpha_max import independent_means
from sparsefield.selection._noise import count_noise, edge_of_noise
from sparsefield.solvers import Learner, Options
from statistics_ import FALSE_ALARM

TABLE = make_table(4, 100)


def make_independent(p, n, seed):
    return sf.encode(np.random.default_rng(seed).integers(0, 2, (n, p)))


def test_noise_makes_edges_among_independent_variables_as_often_as_promised():
    n_tables, n_above = 500, 0
    for seed in range(n_tables):
        table = make_independent(6, 400, seed)
        n_above += sf.alpha_max(table) > edge_of_noise(Learner(table, Options()))
    # Bonferroni's inequality is an upper bound, and nearly sharp: pairs are independent two by two, which takes 15 * 14
    # / 2 times (0.05 / 15)^2 from the rate at most. What is left to 0.04 is for counts that are not quite normal.
    assert stats.binom.cdf(n_above, n_tables, 0.04) > FALSE_ALARM
    assert stats.binom.sf(n_above - 1, n_tables, 0.05) > FALSE_ALARM


def test_pairs_that_noise_makes_are_counted():
    table = sf.encode([[0, 0], [0, 1], [1, 0], [1, 1]] * 25)
    learner = Learner(table, Options())
    assert count_noise(learner, 0.05) == pytest.approx(2 * stats.norm.sf(0.05, scale=0.25 / 10))
    assert edge_of_noise(learner) == pytest.approx(stats.norm.isf(0.025, scale=0.25 / 10))
    rare = sf.encode(
        np.array([[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 0]] * 25) + [0, 0, 1] * (np.arange(100) == 7)[:, None]
    )
    risk = count_noise(Learner(rare, Options()), edge_of_noise(Learner(rare, Options())))
    assert risk == pytest.approx(0.05)  # of pairs with errors of their own
    # A quarter of the rows has twice the noise.
    assert edge_of_noise(learner, 25) == pytest.approx(2 * edge_of_noise(learner))


def test_the_noise_of_many_penalties_takes_one_look_at_the_rows(monkeypatch):
    looks = []
    monkeypatch.setattr(_noise, "independent_means", lambda own: looks.append(own) or independent_means(own))
    n_looks = []
    for alphas in ([0.05], [0.05, 0.04, 0.03, 0.02, 0.01]):
        select(TABLE, alphas=alphas, noise_share=1)
        n_looks.append(len(looks))
        looks.clear()
    assert n_looks[0] == n_looks[1] > 0
