"""A table works as an array of its codes, and knows whether another one has the same cells."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

import sparsefield as sf
from sparsefield.datasets import make_field

TABLE = make_field(5, seed=1).sample(100, method="perfect", seed=1)


def test_draws_go_straight_into_numpy():
    np.testing.assert_array_equal(np.asarray(TABLE), TABLE.codes)
    np.testing.assert_array_equal(np.asarray(TABLE, dtype=float).mean(axis=0), TABLE.codes.mean(axis=0))
    np.testing.assert_array_equal(np.corrcoef(TABLE, rowvar=False), np.corrcoef(TABLE.codes, rowvar=False))
    copy = np.array(TABLE)
    copy[:] = 9
    assert TABLE.codes.max() == 1
    assert (len(TABLE), TABLE.shape) == (100, (100, 5))


@pytest.mark.parametrize("rows", [slice(10, 20), slice(None, None, -3), [5, 5, 2], np.arange(100) % 7 == 0])
def test_rows_of_a_table_are_a_table(rows):
    part = TABLE[rows]
    assert part.domain is TABLE.domain
    np.testing.assert_array_equal(part.codes, TABLE.codes[rows])
    np.testing.assert_array_equal(sf.data.moments_of_table(part).main, TABLE.codes[rows].mean(axis=0))


def test_one_row_is_its_codes():
    np.testing.assert_array_equal(TABLE[3], TABLE.codes[3])
    np.testing.assert_array_equal([row.sum() for row in TABLE], TABLE.codes.sum(axis=1))
    with pytest.raises(TypeError, match="rows alone"):
        TABLE[3, 2]
    np.testing.assert_array_equal(TABLE[[3, 4], ...].codes, TABLE.codes[[3, 4]])
    np.testing.assert_array_equal(TABLE[3, ...], TABLE.codes[3])
    assert TABLE[[]].shape == (0, 5)
    with pytest.raises(TypeError, match="rows alone"):
        TABLE[()]


def test_a_table_can_be_cut_into_folds():
    search = GridSearchCV(sf.SparseMRF(random_state=1), {"alpha": [0.5, 0.05]}, cv=2)
    one, other = (search.fit(data).cv_results_["mean_test_score"].copy() for data in (TABLE, np.asarray(TABLE)))
    assert np.isfinite(one).all()
    np.testing.assert_array_equal(one, other)


def test_codes_of_other_levels_are_not_taken_for_ones_own():
    model = make_field(5, seed=1)
    np.testing.assert_array_equal(model.energy(TABLE), model.energy(TABLE.codes))
    other = sf.Domain(TABLE.domain.names, ((5, 7),) * 5, (0,) * 5)
    with pytest.raises(ValueError, match="other variables or levels"):
        model.energy(sf.Table(other, TABLE.codes))


def test_an_estimator_takes_a_table_and_its_array_for_the_same():
    options = {"alpha": 0.05, "random_state": 1}
    one, other = (sf.SparseMRF(**options).fit(data) for data in (TABLE, np.asarray(TABLE)))
    np.testing.assert_array_equal(one.interactions_, other.interactions_)
    assert one.n_features_in_ == other.n_features_in_ == 5


def test_the_fingerprint_is_of_the_cells_and_not_of_how_they_are_held():
    columns = sf.Table(TABLE.domain, np.asfortranarray(TABLE.codes))
    rows = sf.Table(TABLE.domain, np.ascontiguousarray(TABLE.codes))
    assert columns.fingerprint() == rows.fingerprint() == TABLE.fingerprint()


@pytest.mark.parametrize("change", ["a column shuffled", "one cell", "two columns exchanged", "a row less"])
def test_another_table_has_another_fingerprint(change):
    codes = TABLE.codes.copy()
    if change == "a column shuffled":
        codes[:, 2] = np.random.default_rng(1).permutation(codes[:, 2])
    elif change == "one cell":
        codes[7, 1] ^= 1
    elif change == "two columns exchanged":
        codes[:, [0, 3]] = codes[:, [3, 0]]
    else:
        codes = codes[:-1]
    assert sf.Table(TABLE.domain, codes).fingerprint() != TABLE.fingerprint()
