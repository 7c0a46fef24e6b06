"""Resamples of a table, fitted as an estimator would."""

import numpy as np
import pytest
from sklearn.base import clone

import sparsefield as sf
from sparsefield.learning import seed_of
from support.problems import make_table

TABLE = make_table(5, 300)


def assert_same(own, other):
    np.testing.assert_array_equal(own.weights, other.weights)
    np.testing.assert_array_equal(own.pairs, other.pairs)


def test_resamples_are_those_of_a_table_and_a_penalty():
    found = sf.bootstrap(sf.SparseMRF(0.03, penalize_main=True, random_state=4), TABLE, n=4)
    assert_same(found, sf.resampling.bootstrap(TABLE, alpha=0.03, n=4, seed=seed_of(4), penalize_main=True))
    pseudo = sf.bootstrap(sf.PseudoLikelihood(0.03), TABLE, n=4, seed=2, share=0.5)
    assert_same(
        pseudo, sf.resampling.bootstrap(TABLE, alpha=0.03, n=4, seed=2, share=0.5, objective="pseudolikelihood")
    )


@pytest.mark.parametrize(
    "estimator",
    [
        sf.SparseMRF(random_state=1),
        sf.PseudoLikelihood(),
        sf.SparseMRF(sf.EBIC(gamma=0.0, n_alphas=6), random_state=1),
    ],
    ids=lambda own: type(own).__name__,
)
def test_what_is_chosen_for_the_whole_table_is_that_of_its_fit(estimator):
    fitted = clone(estimator).fit(TABLE)
    found, again = sf.bootstrap(estimator, TABLE, n=3, seed=1), sf.bootstrap(fitted, TABLE, n=3, seed=1)
    assert_same(found, again)
    assert found.fit.settings["alpha"] == fitted.fit_.settings["alpha"]
    if fitted.alpha_ is None:  # edges are found without a penalty, also in each resample
        assert found.fit.penalty == "Ridge"
    else:
        assert found.fit.settings["alpha"] == fitted.alpha_ == fitted.choice_.alpha
    assert not hasattr(estimator, "alpha_")


def test_rows_are_dropped_for_estimators_too():
    found = sf.stability(sf.SparseMRF(0.03, random_state=2), TABLE, shares=(0.7, 0.4), n=3)
    other = sf.resampling.stability(TABLE, alpha=0.03, shares=(0.7, 0.4), n=3, seed=seed_of(2))
    np.testing.assert_array_equal(found.edges, other.edges)


def test_weights_reach_the_choice_and_the_resamples():
    weights = np.random.default_rng(1).integers(0, 3, len(TABLE)).astype(float)
    rows = sf.Table(TABLE.domain, np.repeat(TABLE.codes, weights.astype(int), axis=0))
    own = sf.bootstrap(sf.SparseMRF(random_state=1), TABLE, n=2, sample_weight=weights)
    assert own.n_rows == len(rows)
    assert own.fit.alpha == pytest.approx(sf.bootstrap(sf.SparseMRF(random_state=1), rows, n=2).fit.alpha)


def test_tables_are_told_from_estimators():
    with pytest.raises(TypeError, match="estimator is of type Table: give SparseMRF"):
        sf.bootstrap(TABLE, 0.03)


def test_a_penalty_of_its_own_counts_more_than_that_of_the_last_fit():
    fitted = sf.SparseMRF(0.05, random_state=1).fit(TABLE).set_params(alpha=0.02)
    assert sf.bootstrap(fitted, TABLE, n=2).fit.alpha == 0.02
