"""The symptom table is what it says: exact draws from a published network, with answers missing at random."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

import sparsefield as sf
from sparsefield.datasets import load_symptoms
from support.statistics_ import FALSE_ALARM, assert_moments_agree

UPPER = np.triu_indices(14, 1)


@pytest.fixture(scope="module")
def symptoms():
    return load_symptoms()


def test_every_column_is_a_symptom_that_is_described(symptoms):
    names = list(symptoms.answers.domain.names)
    assert symptoms.survey.columns == ["id", *names]
    assert symptoms.answers.codes.shape == (1000, 14)
    assert symptoms.items["name"].to_list() == names == list(symptoms.network.domain.names)
    assert symptoms.survey["id"].n_unique() == 1000
    assert all(tuple(levels) == (0, 1) for levels in symptoms.answers.domain.levels)


def test_the_network_is_the_published_one(symptoms):
    # The article: 14 symptoms, weights in both directions. A few entries, typed from its files by hand.
    codes = symptoms.items["code"].to_list()
    weights = symptoms.network.interactions
    np.testing.assert_array_equal(weights, weights.T)
    assert np.count_nonzero(weights[UPPER]) == 73
    assert weights[codes.index("gai"), codes.index("iap")] == 3.165
    assert weights[codes.index("iso"), codes.index("hso")] == -0.5009
    assert symptoms.network.main[codes.index("dea")] == -5.8303


def test_answers_are_drawn_again_from_seed_one(symptoms):
    drawn = symptoms.network.sample(1000, method="perfect", seed=1).codes
    missing = np.random.default_rng(1).random(drawn.shape) < 0.03
    np.testing.assert_array_equal(symptoms.answers.mask, missing)
    np.testing.assert_array_equal(symptoms.answers.codes[~missing], drawn[~missing])


def test_answers_have_the_frequencies_of_the_network(symptoms):
    seen = ~symptoms.answers.mask
    present = (symptoms.answers.codes == 1) & seen
    exact = sf.inference.Exact().moments(symptoms.network)
    assert_moments_agree(present.sum(axis=0) / seen.sum(axis=0), exact.main, seen.sum(axis=0).min())
    both = present.T.astype(int) @ present / (seen.T.astype(int) @ seen)
    assert_moments_agree(both[UPPER], exact.pair[UPPER], (seen.T.astype(int) @ seen).min())


def test_answers_are_missing_whatever_they_are(symptoms):
    # 14,000 cells, each missing with probability 0.03.
    n = int(symptoms.answers.mask.sum())
    assert stats.binomtest(n, 14_000, 0.03).pvalue > FALSE_ALARM
    drawn = symptoms.network.sample(1000, method="perfect", seed=1).codes
    counts = [[np.sum(symptoms.answers.mask & (drawn == level)), np.sum(drawn == level)] for level in (0, 1)]
    assert stats.fisher_exact(counts).pvalue > FALSE_ALARM


def edges(fitted):
    return {frozenset(pair) for pair in sf.edge_table(fitted).select("first", "second").iter_rows()}


@pytest.fixture(scope="module")
def fitted(symptoms):
    return sf.SparseMRF(random_state=1).fit(symptoms.answers)


@pytest.mark.parametrize("seed", range(3))
def test_other_seeds_orders_and_labels_find_the_same_edges(symptoms, fitted, seed):
    rng = np.random.default_rng(seed)
    names = list(rng.permutation(symptoms.answers.domain.names))
    turned = [(1 - pl.col(name)).alias(name) for name in names[:7]]
    frame = symptoms.survey.select(names).with_columns(turned)
    again = sf.SparseMRF(random_state=seed).fit(frame)
    assert edges(again) == edges(fitted)


def test_defaults_find_the_strong_edges_of_the_network(symptoms):
    weights = symptoms.network.interactions[UPPER]
    false = found = 0
    p_values = []
    for seed in range(1, 5):
        fitted = sf.SparseMRF(random_state=1).fit(symptoms.network.sample(1000, method="perfect", seed=seed))
        chosen = fitted.interactions_[UPPER] != 0
        false += np.count_nonzero(chosen & (weights == 0))
        found += np.count_nonzero(chosen)
        # Were the pairs of the fit exchanged at random, its edges would rank so high in the published network only with
        # the probability of a false alarm.
        ranks = stats.mannwhitneyu(weights[chosen], weights[~chosen], alternative="greater")
        p_values.append(ranks.pvalue)
    assert stats.combine_pvalues(p_values).pvalue < FALSE_ALARM
    # An edge is more probable than none: of those found a tenth is false at most, were the prior right.
    assert stats.binom.sf(false - 1, found, 0.1) > FALSE_ALARM
