import numpy as np
import polars as pl
import pytest

import sparsefield as sf
from sparsefield.model import block_norms
from sparsefield.proteins import correct_strengths
from support.zoo import random_field


def naive_correction(strengths):
    """Correct each pair by means over all pairs that it, its row and its column take part in."""
    p = len(strengths)
    rows = [np.mean([strengths[i][j] for j in range(p) if j != i]) for i in range(p)]
    whole = np.mean([strengths[i][j] for i in range(p) for j in range(p) if j != i])
    return [[0.0 if i == j else strengths[i][j] - rows[i] * rows[j] / whole for j in range(p)] for i in range(p)]


def test_the_correction_agrees_with_its_definition():
    strengths = np.random.default_rng(1).random((7, 7))
    strengths += strengths.T  # the diagonal is not zero, and does not matter
    # A dozen sums of numbers of order one.
    np.testing.assert_allclose(correct_strengths(strengths), naive_correction(strengths), atol=1e-14)


def test_what_columns_share_is_taken_away():
    # Strengths that are products of what columns have by themselves leave nothing but what the diagonal lacks.
    own = np.random.default_rng(2).uniform(1, 2, 200)
    corrected = correct_strengths(np.outer(own, own))
    # Products are up to 4; sums of rows lack one of 200 terms, 2 / 200 of them at most, for each of two columns.
    assert np.abs(corrected).max() < 4 * 2 * 2 / 200
    assert not correct_strengths(np.zeros((3, 3))).any()


def test_contacts_are_pairs_far_apart_best_first():
    model = random_field([3, 2, 4, 2, 3, 2, 2], seed=3, scale=1.0)
    ranked = sf.proteins.rank_contacts(model, min_separation=3)
    index = {name: k for k, name in enumerate(model.domain.names)}
    pairs = [(index[a], index[b]) for a, b in ranked.select("first", "second").iter_rows()]
    assert sorted(pairs) == [(i, j) for i in range(7) for j in range(i + 3, 7)]
    assert ranked["score"].to_list() == sorted(ranked["score"], reverse=True)
    strengths = block_norms(model)
    assert ranked["strength"].to_list() == [strengths[i, j] for i, j in pairs]
    assert ranked["score"].to_list() == [correct_strengths(strengths)[i, j] for i, j in pairs]
    plain = sf.proteins.rank_contacts(model, min_separation=3, apc=False)
    assert plain["score"].to_list() == plain["strength"].to_list()


def test_contacts_do_not_depend_on_the_reference():
    model = random_field([3, 2, 4, 3], seed=4)
    other = sf.proteins.rank_contacts(model.with_reference([2, 1, 3, 0]), min_separation=1)
    same = sf.proteins.rank_contacts(model, min_separation=1)
    assert other.select("first", "second").rows() == same.select("first", "second").rows()
    # Strengths of order ten, each from a few dozen sums.
    np.testing.assert_allclose(other["score"], same["score"], atol=1e-12)


def test_pairs_without_an_edge_are_no_contacts():
    model = sf.datasets.make_chain(6, seed=1)
    fit = sf.learn(model.sample(500, method="perfect", seed=1), 0.05)
    for fitted in (model, fit):
        found = sf.proteins.rank_contacts(fitted, min_separation=1).select(
            pl.concat_list("first", "second").alias("pair")
        )
        edges = sf.edge_table(fitted).filter(pl.col("weight") != 0).select(pl.concat_list("first", "second"))
        assert sorted(found["pair"].to_list()) == sorted(edges["first"].to_list())
    assert sf.proteins.rank_contacts(model, min_separation=2).is_empty()


def test_strengths_that_are_no_square_are_refused():
    with pytest.raises(ValueError, match="give a square matrix"):
        correct_strengths(np.zeros((2, 3)))
