"""Choices, paths and resamples of tables with more than two levels: what they must not depend on, and odd tables."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats

import sparsefield as sf
from sparsefield import Domain, Table
from sparsefield.data import MISSING
from sparsefield.model import pair_weights
from sparsefield.resampling import bootstrap, stability
from sparsefield.selection import select
from support.statistics_ import FALSE_ALARM

LEVELS = (3, 4, 2, 3)
N = 300


def make_codes(seed=3):
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(0, k, N) for k in LEVELS])
    codes[:, 1] = np.where(rng.random(N) < 0.5, (2 * codes[:, 0]) % 4, codes[:, 1])
    codes[:, 3] = np.where(rng.random(N) < 0.5, np.minimum(codes[:, 1], 2), codes[:, 3])
    return codes.astype(np.uint8)


def make_table(codes, reference=(0, 0, 0, 0), scores=None, n_levels=LEVELS):
    domain = Domain(tuple("abcd"), tuple(tuple(range(k)) for k in n_levels), reference, scores)
    return Table(domain, np.asfortranarray(codes))


def choose_and_fit(table):
    choice = select(table, sf.EBIC(n_alphas=12))
    fit = sf.learn(table, choice.alpha, solver=sf.Newton(tol=1e-8))
    return choice, pair_weights(table.domain, fit.model.interactions)


CODES = make_codes()
SCORES = ((0.0, 1.0, 2.0), (0.0, 1.0, 2.0, 3.0), None, (0.0, 1.0, 2.0))


@pytest.mark.parametrize("reference", [(2, 1, 1, 0), None])
@pytest.mark.parametrize("scores", [None, SCORES])
def test_reference_levels_change_nothing(scores, reference):
    choice, weights = choose_and_fit(make_table(CODES, scores=scores))
    other, same = choose_and_fit(make_table(CODES, reference, scores))
    assert 0 < np.count_nonzero(np.triu(weights)) < 6
    # Fits are enumerated, and differ by rounding, which steps of a path enlarge: by far less than they are off.
    assert other.alpha == pytest.approx(choice.alpha, rel=1e-9)
    np.testing.assert_allclose(same, weights, atol=1e-6)
    np.testing.assert_allclose(other.table["ebic"], choice.table["ebic"], rtol=1e-6)


def test_the_order_of_levels_changes_nothing():
    choice, weights = choose_and_fit(make_table(CODES))
    orders = [np.random.default_rng(k).permutation(k) for k in LEVELS]
    turned = np.column_stack([order[own] for order, own in zip(orders, CODES.T, strict=True)]).astype(np.uint8)
    other, same = choose_and_fit(make_table(turned))
    assert other.alpha == pytest.approx(choice.alpha, rel=1e-9)
    np.testing.assert_allclose(same[[0, 1, 3]][:, [0, 1, 3]], weights[[0, 1, 3]][:, [0, 1, 3]], atol=1e-6)
    np.testing.assert_allclose(np.abs(same), np.abs(weights), atol=1e-6)


def test_the_unit_of_scores_changes_nothing():
    choice, weights = choose_and_fit(make_table(CODES, scores=SCORES))
    scaled = tuple(None if own is None else tuple(5.0 + 10.0 * score for score in own) for own in SCORES)
    other, same = choose_and_fit(make_table(CODES, scores=scaled))
    assert other.alpha == pytest.approx(choice.alpha, rel=1e-9)
    np.testing.assert_allclose(same, weights, atol=1e-6)


WORDS = np.array(["never", "often", "always"])


def make_answers():
    """Return answers on a scale of three, four questions, of which neighbours go together."""
    rng = np.random.default_rng(8)
    trait = rng.normal(size=(N, 1))
    latent = trait * [1.2, 1.0, 0.0, 0.8] + rng.normal(size=(N, 4))
    return np.digitize(latent, (-0.5, 0.8))


def spell(codes):
    """Yield the same answers as numbers, labels and categories."""
    yield pd.DataFrame(codes + 1, columns=list("abcd"))
    yield pl.DataFrame({name: WORDS[own] for name, own in zip("abcd", codes.T, strict=True)})
    yield pd.DataFrame({name: pd.Categorical(WORDS[own]) for name, own in zip("abcd", codes.T, strict=True)})


def spell_in_order(codes):
    """Yield the same answers, in their order, as numbers, labels and categories."""
    numbers, labels, _ = spell(codes)
    yield sf.encode(numbers, ordinal=True)
    yield sf.encode(labels, ordinal={name: list(WORDS) for name in "abcd"})
    ordered = [pd.Categorical(WORDS[own], WORDS, ordered=True) for own in codes.T]
    yield sf.encode(pd.DataFrame(dict(zip("abcd", ordered, strict=True))))


def test_answers_have_the_same_edges_however_they_are_spelled():
    found = [choose_and_fit(sf.encode(data)) for data in spell(make_answers())]
    assert 0 < np.count_nonzero(np.triu(found[0][1])) < 6
    for choice, weights in found[1:]:
        assert choice.alpha == pytest.approx(found[0][0].alpha, rel=1e-9)
        np.testing.assert_allclose(weights, found[0][1], atol=1e-6)


def test_answers_in_order_have_the_same_edges_however_they_are_spelled():
    tables = list(spell_in_order(make_answers()))
    assert all(table.domain.is_ordered.all() for table in tables)
    found = [choose_and_fit(table) for table in tables]
    edges = found[0][1][np.triu_indices(4, 1)]
    assert (edges > 0).any()  # questions about the trait, with their sign
    assert not (edges < 0).any()
    for choice, weights in found[1:]:
        assert choice.alpha == pytest.approx(found[0][0].alpha, rel=1e-9)
        np.testing.assert_allclose(weights, found[0][1], atol=1e-6)


def test_independent_variables_of_more_levels_hardly_ever_have_an_edge():
    n_tables, n_with = 30, 0
    for seed in range(n_tables):
        rng = np.random.default_rng(seed)
        codes = np.column_stack([rng.integers(0, k, 100) for k in (4, 3, 5, 3)]).astype(np.uint8)
        choice = select(make_table(codes, n_levels=(4, 3, 5, 3)), sf.EBIC(n_alphas=8))
        n_with += choice.table["edges"][choice.index] > 0
    # Noise explains a tenth of the edges at most where there are some: so often there are any.
    assert stats.binom.sf(n_with - 1, n_tables, 0.1) > FALSE_ALARM


def make_odd():
    """Yield tables with levels that are rare or never seen, and variables that hardly vary."""
    rng = np.random.default_rng(6)
    codes = rng.integers(0, 3, (60, 4)).astype(np.uint8)
    codes[:, 1] = np.where(rng.random(60) < 0.6, codes[:, 0], codes[:, 1])
    once = codes.copy()
    once[:, 2] = np.minimum(once[:, 2], 1)
    once[7, 2] = 2
    yield "a level that occurs once", once, {}
    yield "levels that never occur", codes, {"n_levels": (3, 5, 4, 3)}
    yield "a reference that never occurs", np.maximum(codes, 1), {}
    constant = codes.copy()
    constant[:, 3] = 2
    yield "a constant variable", constant.copy(), {}
    constant[11, 3] = 0
    yield "a variable that is constant but for one row", constant, {}
    yield "no reference", codes, {"reference": None}
    yield "ordered levels", once, {"scores": ((0.0, 1.0, 2.0),) * 3 + (None,)}
    missing = codes.copy()
    missing[rng.random(codes.shape) < 0.1] = MISSING
    yield "missing cells", missing, {"scores": ((0.0, 1.0, 2.0),) * 3 + (None,)}


ODD = [
    pytest.param(make_table(codes, **{"n_levels": (3,) * 4, **options}), id=name) for name, codes, options in make_odd()
]


@pytest.mark.parametrize("table", ODD)
def test_odd_tables_have_choices_by_all_criteria(table):
    for rule in (sf.EBIC(n_alphas=4), sf.HeldOut(cv=3, n_alphas=4), sf.StARS(n_subsamples=3, n_alphas=4)):
        choice = select(table, rule)
        assert choice.alpha > 0
        assert np.isfinite(choice.table[choice.criterion].to_numpy()).all()
        assert set(choice.table["status"]) <= {"converged", "simulation_error"}


@pytest.mark.parametrize("table", ODD)
def test_odd_tables_have_resamples(table):
    found = bootstrap(table, alpha=0.05, n=3)
    assert np.isfinite(found.weights).all()
    assert set(found.ends.statuses) <= {"converged", "simulation_error"}
    fewer = stability(table, alpha=0.05, shares=(0.5, 0.1), n=2)
    assert np.isfinite(fewer.edges).all()


def test_levels_that_never_occur_leave_the_edges_alone():
    choice, weights = choose_and_fit(make_table(CODES))
    other, same = choose_and_fit(make_table(CODES, n_levels=(4, 4, 2, 5)))
    assert np.array_equal(weights != 0, same != 0)
    # A level that is never seen counts as half a row: frequencies change by two half rows of a variable at most.
    assert other.alpha == pytest.approx(choice.alpha, abs=2 * 2 / (2 * N))


def test_sentences_are_about_pairs_of_variables():
    table = make_table(CODES)
    fit = sf.learn(table, 0.5)
    most = sf.selection.alpha_max(table)
    assert "no two variables are further from independent ones" in fit.status.sentence
    assert f"That takes an alpha below {most:.3g}" in fit.status.sentence
    both = np.zeros((3, 4))
    np.add.at(both, (CODES[:, 0], CODES[:, 1]), 1 / N)
    distance = np.linalg.norm(both - np.outer(both.sum(axis=1), both.sum(axis=0)))
    # Contrasts have squares that add up to 3/4 and 4/4, and the norm counts sqrt(2 * 3) times.
    assert most == pytest.approx(distance * np.sqrt(3 / 4 * 4 / 4 / 6))
    assert "pairs of variables would have an edge" in sf.learn(table, 0.001).status.sentence
    one_by_one = sf.learn(table, 0.001, penalty="l1").status.sentence
    assert "pairs of levels would have an edge" in one_by_one
