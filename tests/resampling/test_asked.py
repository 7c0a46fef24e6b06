"""Resamples by an estimator, and by options beside a table: the same fits."""

import numpy as np
import pytest
from sklearn.base import clone

import sparsefield as sf
from sparsefield.resampling import Asked, bootstrap, stability
from support.problems import make_table

TABLE = make_table(5, 300)


def assert_same(own, other):
    np.testing.assert_array_equal(own.weights, other.weights)
    np.testing.assert_array_equal(own.pairs, other.pairs)


def test_resamples_are_those_of_a_table_and_a_penalty():
    found = sf.bootstrap(sf.SparseMRF(0.03, penalize_main=True, random_state=4), TABLE, n=4)
    assert_same(found, sf.bootstrap(TABLE, alpha=0.03, n=4, seed=4, penalize_main=True))
    pseudo = sf.bootstrap(sf.PseudoLikelihood(0.03), TABLE, n=4, seed=2, share=0.5)
    assert_same(pseudo, sf.bootstrap(TABLE, alpha=0.03, n=4, seed=2, share=0.5, objective="pseudolikelihood"))


@pytest.mark.parametrize(
    "estimator",
    [
        sf.SparseMRF(random_state=1),
        sf.PseudoLikelihood(),
        sf.SparseMRF(sf.EBIC(gamma=0.0, n_alphas=6), random_state=1),
    ],
    ids=["auto", "pseudo-likelihood", "rule"],
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
    other = sf.stability(TABLE, alpha=0.03, shares=(0.7, 0.4), n=3, seed=2)
    np.testing.assert_array_equal(found.edges, other.edges)


def test_weights_reach_the_choice_and_the_resamples():
    weights = np.random.default_rng(1).integers(0, 3, len(TABLE)).astype(float)
    rows = sf.Table(TABLE.domain, np.repeat(TABLE.codes, weights.astype(int), axis=0))
    own = sf.bootstrap(sf.SparseMRF(random_state=1), TABLE, n=2, sample_weight=weights)
    assert own.n_rows == len(rows)
    assert own.fit.alpha == pytest.approx(sf.bootstrap(sf.SparseMRF(random_state=1), rows, n=2).fit.alpha)


@pytest.mark.parametrize("resample", [sf.bootstrap, sf.stability])
def test_tables_are_told_from_estimators(resample):
    with pytest.raises(TypeError, match=r"argument is of type Table: give a table alone, .* edges is alpha=\.\.\."):
        resample(TABLE, 0.03)
    with pytest.raises(TypeError, match=r"Give the table too, after the estimator: .*\(SparseMRF\(\), table\)"):
        resample(sf.SparseMRF(0.03))


@pytest.mark.parametrize("resample", [sf.bootstrap, sf.stability])
def test_what_an_estimator_has_is_not_given_beside_it(resample):
    for name, value in (("alpha", 0.03), ("progress", False), ("penalize_main", True)):
        with pytest.raises(TypeError, match=rf"{name} is for a table alone: .* SparseMRF\({name}=\.\.\.\)"):
            resample(sf.SparseMRF(0.03), TABLE, **{name: value})
    with pytest.raises(TypeError, match="objective is for a table alone: SparseMRF says how to fit"):
        resample(sf.SparseMRF(0.03), TABLE, objective="likelihood")


def test_rooms_have_the_same_functions():
    assert (sf.bootstrap, sf.stability) == (bootstrap, stability)


def test_an_estimator_says_what_it_asks_for():
    mrf = sf.SparseMRF(0.03, penalize_main=True, random_state=4, progress=False)
    asked = mrf.ask_for_fits(TABLE)
    assert (asked.data, asked.alpha, asked.objective) == (TABLE, 0.03, "likelihood")
    assert (asked.seed(None), asked.progress, asked.options["penalize_main"]) == (4, False, True)
    assert sf.PseudoLikelihood(0.1).ask_for_fits(TABLE.codes).objective == "pseudolikelihood"


def test_a_seed_that_is_given_counts_more_than_that_of_an_estimator():
    asked = Asked(TABLE, random_state=4)
    assert (asked.seed(None), asked.seed(7), asked.seed(np.int64(7)), Asked(TABLE).seed(None)) == (4, 7, 7, 0)
    one, other = (asked.seed(np.random.default_rng(1)) for _ in range(2))
    assert one == other
    estimator = sf.SparseMRF(0.03, random_state=4)
    assert_same(sf.bootstrap(estimator, TABLE, n=3, seed=7), sf.bootstrap(TABLE, alpha=0.03, n=3, seed=7))
    assert_same(sf.bootstrap(TABLE, alpha=0.03, n=3), sf.bootstrap(TABLE, alpha=0.03, n=3, seed=0))


def test_a_rule_beside_a_table_chooses_for_the_whole_of_it():
    rule = sf.EBIC(gamma=0.0, n_alphas=6)
    found = sf.bootstrap(TABLE, alpha=rule, n=3, seed=1)
    assert found.fit.alpha == sf.learn(TABLE, rule, seed=1).alpha
    assert_same(found, sf.bootstrap(sf.SparseMRF(rule, random_state=1), TABLE, n=3))


def test_a_penalty_of_its_own_counts_more_than_that_of_the_last_fit():
    fitted = sf.SparseMRF(0.05, random_state=1).fit(TABLE).set_params(alpha=0.02)
    assert sf.bootstrap(fitted, TABLE, n=2).fit.alpha == 0.02
