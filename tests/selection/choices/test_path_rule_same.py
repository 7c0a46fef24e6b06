"""Penalties that are chosen by edges: the same for all seeds and labels, also where fits take draws."""

import re

import numpy as np
import pytest

import sparsefield as sf
from sparsefield.inference import MOST_ENTRIES, count_entries
from sparsefield.selection import select


@pytest.fixture(scope="module")
def table():
    truth = sf.datasets.make_field(30, degree=3, strength=(0.5, 1.0), seed=4)
    found = truth.sample(400, method="perfect", seed=1)
    assert count_entries(found.domain) > MOST_ENTRIES
    return found


@pytest.mark.parametrize("gamma", [0.0, 0.25])
def test_seeds_have_no_part_in_a_choice(table, gamma):
    first, *others = [select(table, sf.EBIC(gamma=gamma), seed=seed) for seed in range(4)]
    for other in others:
        assert (other.alpha, other.n_edges, other.sentence) == (first.alpha, first.n_edges, first.sentence)


def test_labels_and_the_order_of_columns_have_no_part_in_a_choice(table):
    columns = np.random.default_rng(1).permutation(30)
    first, turned = select(table), select(sf.encode(1 - np.asarray(table.codes)[:, columns]))
    assert turned.alpha == pytest.approx(first.alpha, rel=1e-9)
    np.testing.assert_allclose(turned.table["ebic"], first.table["ebic"], rtol=1e-7)


def test_every_sentence_counts_the_edges_of_the_fit(table):
    mrf = sf.SparseMRF(sf.EBIC(), random_state=1).fit(table)
    counts = [mrf.choice_.n_edges, *map(int, re.findall(r"leaves (\d+) edges", mrf.choice_.sentence))]
    assert counts == [mrf.fit_.model.n_edges] * 2
    fit = sf.learn(table, penalty="l1")
    assert f"It leaves {fit.model.n_edges} edges." in fit.settings["choice"]


def test_a_choice_of_another_fit_says_no_more_than_its_edges():
    choice = sf.selection.Choice(0, 0.1, None, "alpha = 0.1 is best. It leaves one edge. Noise makes none.", n_edges=1)
    assert choice.of(0).sentence == "alpha = 0.1 is best. It leaves no edge. Noise makes none."
    assert choice.of(12).of(1).sentence == choice.sentence
    assert sf.selection.Choice(0, 0.1, None, "Made up.").of(3).sentence == "Made up."
