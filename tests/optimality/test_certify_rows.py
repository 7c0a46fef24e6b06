"""A fit is certified on the rows and weights that it was fitted to, and on no others."""

import numpy as np
import pytest

import sparsefield as sf
from sparsefield.data import TableError, check_rows, describe_rows
from sparsefield.datasets import make_field
from sparsefield.fits import Fit

TABLE = make_field(5, seed=1).sample(300, method="perfect", seed=1)
WEIGHTS = np.random.default_rng(1).integers(0, 4, 300).astype(float)  # a quarter of the rows do not count
NOT_THESE = r"not the \d+ rows that the field was fitted to"


def incomplete(seed=1):
    missing = np.random.default_rng(seed).random(TABLE.shape) < 0.05
    return sf.Table(TABLE.domain, np.where(missing, 255, TABLE.codes).astype(np.uint8))


def certify(fit, data, weights=None):
    return sf.certify(fit, data, n_draws=1000, sample_weight=weights).optimality


@pytest.fixture(scope="module")
def plain():
    return sf.learn(TABLE, 0.05, seed=1)


@pytest.fixture(scope="module", params=["learn", "SparseMRF"])
def weighted(request):
    if request.param == "learn":
        return sf.learn(TABLE, 0.05, sample_weight=WEIGHTS, seed=1)
    return sf.SparseMRF(0.05, random_state=1).fit(TABLE, sample_weight=WEIGHTS).fit_


def test_a_weighted_fit_is_certified_with_its_weights_alone(weighted, tmp_path):
    known = certify(weighted, TABLE, WEIGHTS)
    assert certify(weighted, TABLE.to_frame(), list(WEIGHTS)) == known
    # Rows that do not count may be left out, or hold anything.
    counts = WEIGHTS > 0
    assert certify(weighted, TABLE[counts], WEIGHTS[counts]) == known
    codes = TABLE.codes.copy()
    codes[~counts] = 255
    assert certify(weighted, sf.Table(TABLE.domain, codes), WEIGHTS) == known
    weighted.save(tmp_path / "fit.field")
    again = Fit.load(tmp_path / "fit.field")
    assert certify(again, TABLE, WEIGHTS) == known
    for fit in (weighted, again):
        with pytest.raises(TableError, match="have weights, and none are given: give the same"):
            certify(fit, TABLE)
        with pytest.raises(TableError, match="have weights, and these are the same as none"):
            certify(fit, TABLE, np.ones(300))
        for others in (WEIGHTS + counts, WEIGHTS[::-1], 3 * WEIGHTS, WEIGHTS + 1e-9 * counts * np.arange(300)):
            with pytest.raises(TableError, match="not the weights that the field was fitted with"):
                certify(fit, TABLE, others)
        codes = TABLE.codes.copy()
        codes[np.flatnonzero(counts)[0], 0] ^= 1
        with pytest.raises(TableError, match=NOT_THESE):
            certify(fit, sf.Table(TABLE.domain, codes), WEIGHTS)


def test_a_fit_without_weights_takes_none_but_equal_ones(plain):
    known = certify(plain, TABLE)
    for equal in (np.ones(300), np.full(300, 0.3)):
        assert certify(plain, TABLE, equal).gap == pytest.approx(known.gap)
    with pytest.raises(TableError, match="fitted to rows without weights: leave sample_weight out"):
        certify(plain, TABLE, np.arange(1, 301))
    with pytest.raises(TableError, match=NOT_THESE):
        certify(plain, TABLE, np.append(np.ones(299), 0.0))
    # Weights that leave rows out and are equal otherwise are those of a smaller table.
    fewer = sf.learn(TABLE, 0.05, sample_weight=(WEIGHTS > 0).astype(int), seed=1)
    assert fewer.settings["weights"] is None
    assert certify(fewer, TABLE[WEIGHTS > 0]).gap == pytest.approx(certify(fewer, TABLE, WEIGHTS > 0).gap)
    with pytest.raises(TableError, match="and their weights if they had any"):
        certify(fewer, TABLE)


def test_rows_in_another_order_and_other_cells_are_refused(plain):
    codes = TABLE.codes.copy()
    codes[5, 2] ^= 1
    for other in (TABLE[::-1], TABLE[:-1], sf.Table(TABLE.domain, codes), incomplete()):
        with pytest.raises(TableError, match=NOT_THESE):
            certify(plain, other)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("missing", ["zero", "drop", "model"])
def test_tables_with_missing_values_are_told_apart(missing, weights):
    fit = sf.learn(
        incomplete(), 0.05, missing=missing, sample_weight=weights, gap=0.05, solver=sf.Newton(max_iter=2), seed=1
    )
    assert np.isfinite(certify(fit, incomplete(), weights).subgradient)
    for other in (incomplete(seed=2), TABLE):
        with pytest.raises(TableError, match=rf"{NOT_THESE}|not the weights"):
            certify(fit, other, weights)


def test_a_path_is_certified_as_it_was_fitted(tmp_path):
    path = tmp_path / "table.csv"
    incomplete().to_frame().write_csv(path)
    fit = sf.learn(path, 0.05, missing="zero", sample_weight=WEIGHTS, seed=1)
    assert certify(fit, path, WEIGHTS) == certify(fit, incomplete(), WEIGHTS)
    with pytest.raises(TableError, match="none are given"):
        certify(fit, path)


def test_what_is_known_of_rows_is_plain_and_nothing_known_refuses_nothing():
    known = describe_rows(TABLE, WEIGHTS + 1)
    assert {name: type(value) for name, value in known.items()} == {"n_rows": int, "data": str, "weights": str}
    assert known == describe_rows(TABLE, (WEIGHTS + 1).astype(int))
    assert describe_rows(TABLE, None) == describe_rows(TABLE, np.full(300, 7.0)) != known
    assert sf.PseudoLikelihood().fit(TABLE, sample_weight=WEIGHTS + 1).fit_.settings["weights"] == known["weights"]
    check_rows({}, TABLE, WEIGHTS)
    check_rows(known, TABLE, WEIGHTS + 1)


def test_equal_weights_are_the_same_as_none_unless_half_a_row_stands_beside_what_they_count(plain):
    codes = TABLE.codes[:40].copy()
    codes[:, 2] = 0  # the other level is unseen, and has half a row beside 40, or beside 1000
    table, counts, shares = sf.Table(TABLE.domain, codes), np.full(40, 25.0), np.full(40, 0.3)
    fits = {n: sf.learn(table, 0.05, sample_weight=own, seed=1) for n, own in ((40, None), (1000, counts))}
    for n, fit in fits.items():
        # A gradient of at most tol moves log-odds by no more than that over the variance, and terms of higher order.
        share = 1 / (2 * n + 1)
        assert fit.model.main[2] == pytest.approx(-np.log(2 * n), abs=2 * 1e-4 / (share * (1 - share)))
    assert certify(fits[1000], table, counts).gap < 1e-4
    for same in (np.ones(40), shares):
        assert certify(fits[40], table, same).gap == pytest.approx(certify(fits[40], table).gap, abs=1e-12)
        with pytest.raises(TableError, match="have weights, and these are the same as none: give the same"):
            certify(fits[1000], table, same)
    with pytest.raises(TableError, match="have weights, and none are given"):
        certify(fits[1000], table)
    with pytest.raises(TableError, match="not the weights that the field was fitted with"):
        certify(fits[1000], table, 2 * counts)
    with pytest.raises(TableError, match="fitted to rows without weights: leave sample_weight out"):
        certify(fits[40], table, counts)
    # Where all levels are seen, the objective is the same.
    assert certify(plain, TABLE, np.full(300, 25.0)).gap == pytest.approx(certify(plain, TABLE).gap, abs=1e-12)
