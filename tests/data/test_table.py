"""Tables of codes: missing values filled or dropped, summaries, and the rows that differ."""

import warnings

import numpy as np
import polars as pl
import pytest

from sparsefield import encode
from sparsefield.data import MISSING, distinct_rows, moments_of_table


def test_missing_values_can_be_filled_or_dropped():
    table = encode(np.array([[0, np.nan], [1, 1], [0, 0]]))
    assert table.fill_missing(0).codes.tolist() == [[0, 0], [1, 1], [0, 0]]
    assert table.drop_missing().codes.tolist() == [[1, 1], [0, 0]]
    assert table.codes[0, 1] == MISSING
    with pytest.raises(ValueError, match=r"1 missing value.*column 'x1': use fill_missing or drop_missing"):
        moments_of_table(table)
    with pytest.raises(ValueError, match="Column 'x1' has no level 5"):
        table.fill_missing(5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        empty = encode(np.array([[np.nan, 1], [1, np.nan]]))
    with pytest.raises(ValueError, match="Every row has a missing value"):
        empty.drop_missing()


def test_summary_describes_each_variable():
    frame = pl.DataFrame({"a": ["x", "x", None, "y"], "b": [0, 1, 1, 1]})
    rows = encode(frame).summary().rows()
    assert rows == [("a", 2, 1, "x", pytest.approx(2 / 3)), ("b", 2, 0, "1", 0.75)]


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("n_variables", [1, 3, 9])
def test_distinct_rows_are_all_rows_once_each(order, n_variables):
    rows = np.random.default_rng(1).choice([0, 1, MISSING], size=(200, n_variables)).astype(np.uint8)
    found, of = distinct_rows(np.asarray(rows, order=order))
    assert len({*map(tuple, found.tolist())}) == len(found)
    np.testing.assert_array_equal(found[of], rows)


@pytest.mark.parametrize("weights", [[1.0], [-1.0, 1.0], [0.0, 0.0], [np.nan, 1.0]])
def test_a_summary_refuses_weights_that_rows_cannot_have(weights):
    with pytest.raises(ValueError, match=r"^(Weights must be 2 numbers|The weights add up)"):
        encode([[0, 1], [1, 0]]).summary(sample_weight=weights)
