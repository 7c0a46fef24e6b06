"""What fitted estimators say of tables with missing cells: scores, probabilities of cells, values filled."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score

import sparsefield as sf
from sparsefield import PseudoLikelihood, SparseMRF
from sparsefield.fits import Fit, Status
from sparsefield.inference import OutOfReachError
from support import naive
from support.problems import QUICK
from support.statistics_ import assert_counts_agree
from support.zoo import parts, random_field

pytestmark = pytest.mark.filterwarnings("ignore:Stopped after max_iter")
MISSING = 255
FIELDS = {
    "two levels": random_field([2] * 6, seed=1, scale=0.8, density=0.4),
    "two to four levels": random_field([2, 3, 4, 2, 3], seed=2, scale=0.8, density=0.4),
    "reference last": random_field([4, 2, 3, 2], seed=3, scale=0.8, reference="last"),
    "no reference": random_field([3, 2, 4, 2], seed=4, scale=0.8, reference=None),
}
everyone = pytest.mark.parametrize("model", FIELDS.values(), ids=FIELDS.keys())
ESTIMATORS = [SparseMRF(0.05, **QUICK), SparseMRF(sf.EBIC(n_alphas=2), **QUICK), PseudoLikelihood(0.05)]
each = pytest.mark.parametrize("estimator", ESTIMATORS, ids=["number", "rule", "pseudo-likelihood"])


def fitted(model, estimator=None):
    """Return an estimator that has come to a field."""
    found = SparseMRF(0.1) if estimator is None else clone(estimator)
    found._store(Fit(model, Status("converged", "It is known."), ()))
    return found


def make_incomplete(model, n=80, share=0.3, seed=1):
    """Make rows that miss some values, one of them all."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, model.domain.n_levels, (n, model.domain.n_variables)).astype(np.uint8)
    codes[rng.random(codes.shape) < share] = MISSING
    codes[-1] = MISSING
    return sf.Table(model.domain, codes)


def as_plain(row):
    return tuple(None if x == MISSING else int(x) for x in row)


def refuse(*_, **__):
    raise OutOfReachError("too strong")


@everyone
def test_scores_are_log_probabilities_of_observed_cells(model):
    table = make_incomplete(model)
    states, probabilities, _ = naive.distribution(*parts(model))
    expected = [np.log(sum(naive.those_that_agree(probabilities, states, as_plain(row)))) for row in table.codes]
    mrf = fitted(model)
    np.testing.assert_allclose(mrf.score_samples(table), expected, rtol=1e-10, atol=1e-10)
    assert mrf.score(table) == pytest.approx(np.mean(expected))
    assert mrf.score_kind_ == "log-likelihood"
    # The kind of table does not matter, nor that of its missing values.
    frame = table.to_frame()
    for data in (frame, frame.to_pandas(), frame.to_pandas().to_numpy()):
        np.testing.assert_allclose(mrf.score_samples(data), expected, rtol=1e-10, atol=1e-10)


@everyone
def test_pseudo_likelihoods_are_of_each_observed_cell_given_the_other_ones(model, monkeypatch):
    monkeypatch.setattr("sparsefield.model._pairwise.find_log_partition", refuse)
    table = make_incomplete(model)
    n_levels = parts(model)[0]
    states, probabilities, _ = naive.distribution(*parts(model))
    expected = []
    for row in map(as_plain, table.codes):
        seen = [i for i, x in enumerate(row) if x is not None]
        own = [naive.level_probabilities(i, row, states, probabilities, n_levels[i])[row[i]] for i in seen]
        expected.append(np.log(own).sum())
    mrf = fitted(model)
    assert mrf.score_kind_ == "pseudo-log-likelihood"
    np.testing.assert_allclose(mrf.score_samples(table), expected, rtol=1e-9, atol=1e-9)
    assert mrf.score(table) == pytest.approx(np.mean(expected))


def test_a_score_does_not_depend_on_whether_cells_are_missing():
    # Summed over all values of a cell, probabilities of rows are those of rows that miss it.
    model = FIELDS["two to four levels"]
    mrf, row = fitted(model), np.array([[1, 2, 3, 0, 1]], dtype=np.uint8)
    for i, n in enumerate(model.domain.n_levels):
        filled, missing = np.repeat(row, n, axis=0), row.copy()
        filled[:, i], missing[:, i] = np.arange(n), MISSING
        whole, part = (sf.Table(model.domain, codes) for codes in (filled, missing))
        assert np.exp(mrf.score_samples(whole)).sum() == pytest.approx(np.exp(mrf.score_samples(part))[0])


@each
def test_weights_are_repeated_rows(estimator):
    mrf, table = fitted(FIELDS["two levels"], estimator), make_incomplete(FIELDS["two levels"])
    weights = np.random.default_rng(2).integers(0, 4, len(table))
    repeated = table[np.repeat(np.arange(len(table)), weights)]
    assert mrf.score(table, sample_weight=weights) == pytest.approx(mrf.score(repeated), rel=1e-12)
    assert mrf.score(table, sample_weight=np.ones(len(table))) == pytest.approx(mrf.score(table), rel=1e-12)
    with pytest.raises(ValueError, match="Weights must be 80 numbers"):
        mrf.score(table, sample_weight=weights[1:])


def test_weights_of_scores_are_routed():
    data = make_incomplete(FIELDS["two levels"], 60).codes.astype(float)
    data[data == MISSING] = np.nan
    data = data[:-1]
    weights = np.random.default_rng(1).random(len(data))
    with sklearn.config_context(enable_metadata_routing=True):
        mrf = SparseMRF(0.1, **QUICK).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = GridSearchCV(mrf, {"alpha": [0.1, 0.2]}, cv=2).fit(data, sample_weight=weights)
    plain = SparseMRF(0.1, **QUICK).fit(data[30:], sample_weight=weights[30:])
    assert search.cv_results_["split0_test_score"][0] == plain.score(data[:30], sample_weight=weights[:30])
    assert search.cv_results_["split0_test_score"][0] != plain.score(data[:30])


@each
def test_cross_validation_of_tables_with_missing_cells_gives_numbers(estimator):
    model = FIELDS["two levels"]
    data = model.sample(120, method="perfect", seed=1).codes.astype(float)
    data[np.random.default_rng(1).random(data.shape) < 0.1] = np.nan
    scores = cross_val_score(estimator, data, cv=3)
    assert np.isfinite(scores).all()
    # Scores are of as many cells as there are: far above those of uniform cells, -6 log 2, and below zero.
    assert np.all((scores > -6 * np.log(2)) & (scores < 0))


def test_rows_that_miss_too_much_are_estimated_or_refused_and_named(monkeypatch):
    p = 40
    model = sf.PairwiseMRF.binary(np.zeros(p), 0.02 * (1 - np.eye(p)))
    codes = np.zeros((4, p), dtype=np.uint8)
    codes[2, :30] = MISSING
    table = sf.Table(model.domain, codes)
    mrf = fitted(model)
    with pytest.warns(UserWarning, match=r"of 1 row, row 2 among them, .* standard errors of up to"):
        assert np.isfinite(mrf.score(table))
    assert mrf.score_kind_ == "log-likelihood by draws"
    with pytest.raises(OutOfReachError, match=r"row 2 misses 30 of 40 values.*Leave out rows"):
        mrf.predict_proba(table, 35)
    monkeypatch.setattr("sparsefield.model._pairwise.find_log_partition", refuse)
    with pytest.raises(OutOfReachError, match=r"row 2 misses .* of 40 values.*Leave out rows"):
        fitted(model).score(table)


@everyone
def test_probabilities_of_cells_are_given_the_other_observed_ones(model):
    mrf, table = fitted(model), make_incomplete(model)
    whole = sf.Table(model.domain, np.where(table.mask, 0, table.codes).astype(np.uint8))
    n_levels = parts(model)[0]
    states, probabilities, _ = naive.distribution(*parts(model))
    for data in (table, whole):
        everything = mrf.predict_proba(data)
        assert everything.shape == (len(data), sum(n_levels))
        for i, (name, n) in enumerate(zip(model.domain.names, n_levels, strict=True)):
            expected = [naive.level_probabilities(i, as_plain(r), states, probabilities, n) for r in data.codes]
            found = mrf.predict_proba(data, name)
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
            np.testing.assert_array_equal(mrf.predict_proba(data, i), found)
            start = sum(n_levels[:i])
            np.testing.assert_array_equal(everything[:, start : start + n], found)
    np.testing.assert_array_equal(
        mrf.predict_proba(table, ["v2", 0]), np.hstack([mrf.predict_proba(table, 2), mrf.predict_proba(table, "v0")])
    )


def test_the_own_cell_does_not_matter_and_a_column_may_be_missing_in_every_row():
    model = FIELDS["two to four levels"]
    mrf, table = fitted(model), make_incomplete(model)
    codes = table.codes.copy()
    codes[:, 2] = MISSING
    np.testing.assert_array_equal(
        mrf.predict_proba(sf.Table(model.domain, codes), "v2"), mrf.predict_proba(table, "v2")
    )
    frame = table.to_frame().to_pandas()
    frame["v2"] = np.nan
    np.testing.assert_array_equal(mrf.predict_proba(frame, "v2"), mrf.predict_proba(table, "v2"))
    with pytest.raises(ValueError, match="no variable named 'w'"):
        mrf.predict_proba(table, "w")
    with pytest.raises(ValueError, match="variables is empty"):
        mrf.predict_proba(table, [])


@everyone
def test_filled_tables_have_draws_or_the_most_probable_values(model):
    mrf, table = fitted(model), make_incomplete(model, 1)
    states, probabilities, _ = naive.distribution(*parts(model))
    numbers = {state: k for k, state in enumerate(states)}
    row = table.codes[0].copy()
    row[0] = 1
    many = sf.Table(model.domain, np.tile(row, (5000, 1)))
    drawn = mrf.impute(many, random_state=1)
    counts = np.bincount([numbers[tuple(own)] for own in drawn.codes.tolist()], minlength=len(states))
    law = np.array(naive.given(as_plain(row), states, probabilities))
    assert counts[law == 0].sum() == 0
    assert_counts_agree(counts[law > 0], law[law > 0])
    most = mrf.impute(many[:1], "most probable").codes[0]
    assert law[numbers[tuple(most.tolist())]] == law.max()


def test_filled_tables_come_with_labels_and_seeds_repeat():
    frame = pd.DataFrame({"mood": ["low", "high", None, "low"] * 30, "sleep": ["bad", "good", "good", None] * 30})
    mrf = SparseMRF(0.02, **QUICK).fit(frame)
    filled = mrf.impute(frame, random_state=3)
    assert isinstance(filled, sf.Table)
    assert filled.fingerprint() == mrf.impute(frame, random_state=3).fingerprint()
    one, same = (mrf.impute(frame, random_state=np.random.RandomState(3)).fingerprint() for _ in range(2))
    assert one == same
    for name, values in filled.to_frame().to_dict(as_series=False).items():
        assert None not in values
        assert all(pd.isna(old) or new == old for new, old in zip(values, frame[name], strict=True))
    assert mrf.impute(frame, "most probable").to_frame()["sleep"][3] == "bad"


@each
def test_estimators_that_are_not_fitted_say_so(estimator):
    table = make_incomplete(FIELDS["two levels"])
    for ask in ("score", "score_samples", "predict_proba", "impute"):
        with pytest.raises(NotFittedError):
            getattr(clone(estimator), ask)(table)
    with pytest.raises(NotFittedError):
        _ = clone(estimator).score_kind_


def test_large_sparse_fields_score_rows_that_miss_many_cells():
    # A ring of 60 variables: missing cells fall into arcs, which are summed out whatever their length.
    p = 60
    ring = np.zeros((p, p))
    ring[np.arange(p), (np.arange(p) + 1) % p] = 0.5
    model = sf.PairwiseMRF.binary(np.full(p, -0.2), ring + ring.T)
    table = make_incomplete(model, 15, share=0.7)
    mrf = fitted(model)
    assert mrf.score_kind_ == "log-likelihood"
    # The product of the probabilities of each observed cell given those before it is the probability of all.
    codes, expected = table.codes, np.zeros(15)
    before = np.full_like(codes, MISSING)
    for i in range(p):
        seen = codes[:, i] != MISSING
        expected[seen] += np.log(model.conditional(i, before)[np.flatnonzero(seen), codes[seen, i]])
        before[:, i] = codes[:, i]
    np.testing.assert_allclose(mrf.score_samples(table), expected, rtol=1e-9, atol=1e-9)
