"""Missing values, and rows that do not count, are decided upon in one place."""

import numpy as np
import pytest

import sparsefield as sf
from sparsefield.data import TableError, resolve_missing, take_counted

INCOMPLETE = sf.encode([[0, 1], [None, 1], [1, 0], [1, None]])


def test_missing_values_are_resolved_as_asked():
    weights = np.arange(4.0) + 1
    kept, same = resolve_missing(INCOMPLETE, "model", weights)
    assert kept is INCOMPLETE
    assert same is weights
    assert resolve_missing(INCOMPLETE, "zero")[0].codes.tolist() == [[0, 1], [0, 1], [1, 0], [1, 0]]
    dropped, left = resolve_missing(INCOMPLETE, "drop", weights)
    assert dropped.codes.tolist() == [[0, 1], [1, 0]]
    assert left.tolist() == [1.0, 3.0]
    with pytest.raises(TableError, match=r"2 missing value.*set missing to 'model', 'zero' or 'drop'") as caught:
        resolve_missing(INCOMPLETE, "error")
    assert caught.value.option == "missing"
    with pytest.raises(ValueError, match="missing is 'model': use 'zero' or 'drop'"):
        resolve_missing(INCOMPLETE, "model", ways=("zero", "drop"))


def test_rows_that_do_not_count_are_left_out():
    table, weights = take_counted(INCOMPLETE, [1, 0, 2, 0])
    assert table.codes.tolist() == [[0, 1], [1, 0]]
    assert weights.tolist() == [1.0, 2.0]
    assert take_counted(INCOMPLETE, None) == (INCOMPLETE, None)
