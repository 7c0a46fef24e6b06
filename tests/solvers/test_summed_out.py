"""Fits whose variables are summed out: against slow optima, other seeds, and fits on draws."""

from dataclasses import replace

import numpy as np
import pytest

import sparsefield as sf
from sparsefield.fitting import FITTING, Learner, Options
from sparsefield.learning import choose, learn_with
from sparsefield.objective import Ridge
from sparsefield.solvers import SUMS
from sparsefield.tables import read_rows

# Steps end at a smallest subgradient of 1e-8; curvatures of these tables are above 1e-3, so that weights are right to
# 1e-5, and two of them differ by no more than twice that.
SAME = 2e-5


def make_rows(n_levels, n=300, p=24, seed=1):
    """Make rows in which each variable often shows what one or two before it show, as a chain with some branches."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, n_levels, (n, p))
    for j in range(1, p):
        takes = rng.random(n) < 0.4
        rows[:, j] = np.where(takes, rows[:, max(0, j - rng.integers(1, 4))], rows[:, j])
    return rows


def lose(rows, share=0.15, seed=2):
    """Leave cells out, but none in every fourth row."""
    lost = rows.astype(object)
    is_lost = np.random.default_rng(seed).random(rows.shape) < share
    is_lost[::4] = False
    lost[is_lost] = None
    return lost


TABLES = {
    "two levels": lambda: sf.encode(make_rows(2)),
    "ordered": lambda: sf.encode(make_rows(4), ordinal=True),
    "unordered": lambda: sf.encode(make_rows(3)),
    "missing": lambda: sf.encode(lose(make_rows(2))),
    "ordered, missing": lambda: sf.encode(lose(make_rows(3)), ordinal=True),
}
every = pytest.mark.parametrize("name", TABLES)


def weights_of(fit):
    return np.concatenate([fit.model.main, fit.model.interactions.ravel()])


@every
def test_no_seed_has_a_part_in_the_weights(name):
    table = TABLES[name]()
    fits = [sf.learn(table, seed=seed) for seed in range(4)]
    for fit in fits:
        assert fit.status.code == "converged"
        assert "without simulation error" in fit.status.sentence
        assert fit.spread == 0
        assert not fit.undecided.any()
        np.testing.assert_allclose(weights_of(fit), weights_of(fits[0]), atol=SAME)


@every
def test_the_gradient_of_the_likelihood_is_that_of_the_prior(name):
    table = TABLES[name]()
    fit = sf.learn(table)
    penalty = Ridge(table.domain, fit.alpha, fit.model.interactions != 0)
    theta = penalty.coordinates.of_slots(fit.model.interactions + np.diag(fit.model.main))
    codes, h = np.asarray(table.codes), 1e-4

    def likelihood(theta):
        return (
            sf.PairwiseMRF.of_theta(table.domain, penalty.coordinates.to_slots(theta)).log_prob_observed(codes).mean()
        )

    are_free = np.triu(penalty.kept) | np.diag(np.ones(len(theta), dtype=bool))
    for a, b in np.argwhere(are_free)[::7].tolist():
        move = np.zeros_like(theta)
        move[a, b] = move[b, a] = h
        slope = (likelihood(theta + move) - likelihood(theta - move)) / (2 * h)
        # Central differences of a mean of logarithms of probabilities are off by h^2 / 6 of their third derivative.
        assert slope == pytest.approx(penalty.bends[a, b] * theta[a, b], abs=1e-7)


def test_small_fields_have_the_weights_of_their_enumeration():
    table = sf.encode(make_rows(2, p=18))
    found = sf.learn(table)
    policy = replace(FITTING, sums=replace(SUMS, fewest_states=2**19))
    learner = Learner(read_rows(table), Options(solver=sf.Newton(tol=1e-9)), policy=policy)
    expected = learn_with(learner, choose(learner))
    np.testing.assert_allclose(weights_of(found), weights_of(expected), atol=SAME)


@every
def test_where_a_fit_starts_does_not_matter(name):
    table = TABLES[name]()
    expected = sf.learn(table)
    penalty = Ridge(table.domain, expected.alpha, expected.model.interactions != 0)
    # Any model may be a start, with large weights where there is no edge.
    rng = np.random.default_rng(3)
    far = penalty.coordinates.of_slots(expected.model.interactions + np.diag(expected.model.main))
    outside = (penalty.weights > 0) & (rng.random(far.shape) < 0.1)
    far[outside | outside.T] = 2.0
    for start in (penalty.coordinates.to_slots(far), np.zeros_like(expected.model.interactions)):
        fit = Learner(read_rows(table), Options()).learn(penalty.alpha, penalty=penalty, start=start)
        assert fit.status.code == "converged"
        assert fit.model.n_edges == expected.model.n_edges
        np.testing.assert_allclose(weights_of(fit), weights_of(expected), atol=SAME)


def test_what_cannot_be_summed_out_is_drawn():
    rng = np.random.default_rng(1)
    table = sf.encode((rng.random((200, 40)) < rng.random((200, 1))).astype(int))  # every pair has something in common
    support = 1.0 - np.eye(40) > 0
    fit = Learner(read_rows(table), Options()).learn(0.05, penalty=Ridge(table.domain, 0.05, support))
    assert fit.model.n_edges == 780
    assert "draws" in fit.status.sentence


def test_a_schedule_that_is_asked_for_is_taken():
    table = TABLES["two levels"]()
    assert sf.learn(table, solver=sf.Newton(schedule="perfect")).steps[-1].n_chains > 0
    assert sf.learn(table).steps[-1].n_chains == 0


def test_time_that_is_up_ends_a_fit():
    fit = sf.learn(TABLES["ordered"](), max_seconds=1e-3)
    assert fit.status.code == "max_seconds"
