"""Where nothing is to be found, nothing is; and names of levels change nothing."""

import numpy as np
import pytest

import sparsefield as sf
from sparsefield import PseudoLikelihood, SparseMRF
from support.problems import make_table

ESTIMATORS = {
    "likelihood": lambda alpha, **options: SparseMRF(alpha, random_state=1, **options),
    "pseudo-likelihood": PseudoLikelihood,
}


def with_limits(way, **limits):
    """Return limits of steps as the options that an estimator has for them."""
    return {"solver": sf.Newton(**limits)} if way == "likelihood" else limits


each_estimator = pytest.mark.parametrize("way", ESTIMATORS)

# Two answers that are independent, each of which nine in ten give.
INDEPENDENT = np.repeat([[1, 1], [1, 0], [0, 1], [0, 0]], [81, 9, 9, 1], axis=0)


@each_estimator
@pytest.mark.parametrize("alpha", [None, 0.01, 0.001])
@pytest.mark.parametrize("flipped", [(), (0,), (1,), (0, 1)])
def test_exactly_independent_columns_have_no_edge(way, alpha, flipped):
    rows = INDEPENDENT.copy()
    rows[:, list(flipped)] = 1 - rows[:, list(flipped)]
    options = {} if alpha is None else {"alpha": alpha}
    mrf = SparseMRF(**options) if way == "likelihood" else PseudoLikelihood(**options)
    mrf.fit(rows)
    assert not mrf.interactions_.any()
    assert mrf.graph().number_of_edges() == 0
    # Nine to one, by the sum of all 100 rows: log-odds are right to the tolerance over the variance, twice that of the
    # pseudo-likelihood, whose gradient is halved, and to half as much again in terms of higher order.
    signs = np.where(np.isin([0, 1], flipped), -1, 1)
    np.testing.assert_allclose(mrf.main_effects_, signs * np.log(9), rtol=0, atol=1.5 * 2e-4 / 0.09)


def shuffle(table, seed):
    """Shuffle the columns of a table independently of each other."""
    rng = np.random.default_rng(seed)
    return sf.Table(table.domain, np.column_stack([rng.permutation(column) for column in table.codes.T]))


def distance_from_independence(table):
    """Return max |d_ab - d_a d_b| over pairs of levels of two variables that have parameters."""
    moments, variables = sf.data.moments_of_table(table), table.domain.slot_variables
    apart = np.abs(moments.pair - np.outer(moments.main, moments.main))
    return apart[variables[:, None] != variables].max()


def make_shuffled(p, n, seed):
    """Return a table of columns with all kinds of frequencies, none of which has to do with another."""
    rng = np.random.default_rng(seed)
    rows = (rng.random((n, p)) < rng.uniform(0.05, 0.95, p)).astype(np.uint8)
    rows[0], rows[1] = 0, 1
    rows[:, -1] = rows[:, 0]  # a copy before they are shuffled
    return shuffle(sf.Table(sf.Domain.binary(p), rows), seed)


@each_estimator
@pytest.mark.parametrize(("p", "n"), [(2, 53), (3, 100), (6, 30), (10, 300), (15, 100), (15, 1000)])
@pytest.mark.parametrize("seed", range(3))
def test_shuffled_columns_have_no_edge_above_their_distance_from_independence(way, p, n, seed):
    table = make_shuffled(p, n, seed)
    distance = distance_from_independence(table)
    # Gradients are right to 1e-4, and twice that where they are halved: five times as much is on the safe side.
    above = ESTIMATORS[way](distance + 1e-3).fit(table)
    assert above.status_.code == "converged"
    assert not above.interactions_.any()
    # Below it independence is no optimum: this is how close the rule is.
    assert ESTIMATORS[way](distance - 1e-3).fit(table).interactions_.any()


@each_estimator
def test_the_rule_holds_for_levels_too(way):
    rng = np.random.default_rng(1)
    codes = np.column_stack([rng.integers(0, k, 200) for k in (3, 4, 2, 3)]).astype(np.uint8)
    domain = sf.Domain(tuple("abcd"), tuple(tuple(range(k)) for k in (3, 4, 2, 3)), (0, 1, 1, 2))
    table = sf.Table(domain, codes)
    distance = distance_from_independence(table)
    assert not ESTIMATORS[way](distance + 1e-3, penalty="l1").fit(table).interactions_.any()
    assert ESTIMATORS[way](distance - 1e-3, penalty="l1").fit(table).interactions_.any()
    most = sf.selection.alpha_max(table)
    assert not ESTIMATORS[way](most + 1e-3).fit(table).interactions_.any()
    assert ESTIMATORS[way](most - 1e-3).fit(table).interactions_.any()


@pytest.mark.parametrize("seed", range(3))
def test_noise_of_draws_makes_no_edge_of_shuffled_columns(seed):
    # Too many states to take them all: the fit starts without edges, and no step is worth its noise.
    table = make_shuffled(25, 500, seed)
    mrf = SparseMRF(1.2 * distance_from_independence(table), random_state=seed).fit(table)
    assert mrf.status_.code == "converged"
    assert mrf.trace_["n_chains"][-1] > 0
    assert not mrf.interactions_.any()


@each_estimator
@pytest.mark.parametrize("seed", range(4))
def test_other_names_for_levels_change_nothing_but_signs(way, seed):
    rng = np.random.default_rng(seed)
    rows = make_table(8, 400, seed=seed).codes
    is_flipped = rng.random(8) < 0.5
    options = with_limits(way, tol=1e-9, max_iter=200)
    first = ESTIMATORS[way](0.02, **options).fit(rows)
    second = ESTIMATORS[way](0.02, **options).fit(np.where(is_flipped, 1 - rows, rows))
    signs = np.where(is_flipped, -1, 1)
    assert first.interactions_.any()
    # Gradients of 1e-9 move parameters by that over the least curvature, which is above 1e-4 here.
    np.testing.assert_allclose(
        second.interactions_, np.outer(signs, signs) * first.interactions_, rtol=0, atol=2e-9 / 1e-4
    )
    np.testing.assert_array_equal(second.interactions_ != 0, first.interactions_ != 0)
    # The main effect of 1 - x is minus that of x, with the interactions of both at x = 1.
    on = first.interactions_ @ is_flipped
    np.testing.assert_allclose(second.main_effects_, signs * (first.main_effects_ + on), rtol=0, atol=8 * 2e-9 / 1e-4)


@each_estimator
def test_words_for_levels_change_nothing(way):
    rows = make_table(6, 300, seed=2).codes
    options = with_limits(way, tol=1e-9)
    plain = ESTIMATORS[way](0.02, **options).fit(rows)
    words = ESTIMATORS[way](0.02, **options).fit(np.where(rows == 1, "yes", "no").astype(object))
    reverse = ESTIMATORS[way](0.02, **options).fit(np.where(rows == 1, "absent", "present").astype(object))
    np.testing.assert_array_equal(words.interactions_, plain.interactions_)
    np.testing.assert_allclose(reverse.interactions_, plain.interactions_, rtol=0, atol=2e-9 / 1e-4)
