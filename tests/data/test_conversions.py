"""Tables become frames and arrays of others, and these become the same table again."""

import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sparsefield as sf
from sparsefield.data import MISSING

NAMES = ("mood", "smokes", "age", "town", "score")
LEVELS = (("low", "mid", "high"), (False, True), (1, 2, 5), ("York", "Bath", "Ely"), (-1, 0, 7))
DOMAIN = sf.Domain(NAMES, LEVELS, (0, 1, 0, 2, 0), ((0, 1, 3), None, (0, 1, 4), None, None))


def make_codes(*, has_missing, leaves_out):
    rng = np.random.default_rng(1)
    codes = np.column_stack([rng.integers(0, len(levels), 60) for levels in LEVELS])
    if leaves_out:  # the last level of each variable never occurs
        codes = np.column_stack([np.minimum(codes[:, i], len(levels) - 2) for i, levels in enumerate(LEVELS)])
    if has_missing:
        codes[rng.random(codes.shape) < 0.2] = MISSING
    return codes.astype(np.uint8)


@pytest.fixture(params=[(False, False), (True, False), (True, True)], ids=["whole", "missing", "missing, unused"])
def table(request):
    has_missing, leaves_out = request.param
    return sf.Table(DOMAIN, make_codes(has_missing=has_missing, leaves_out=leaves_out))


WAYS = {
    "polars": lambda table: table.to_frame(),
    "pandas": lambda table: table.to_pandas(),
    "numpy": lambda table: table.to_numpy(),
    "polars by arrow": pl.DataFrame,
    "table": lambda table: table,
}


@pytest.mark.parametrize("way", WAYS)
def test_a_table_comes_back_with_its_domain(way, table):
    again = sf.encode(WAYS[way](table), domain=DOMAIN)
    assert again.domain == DOMAIN
    np.testing.assert_array_equal(again.codes, table.codes)


@pytest.mark.parametrize("way", ["polars", "pandas", "polars by arrow", "table"])
def test_the_order_of_words_comes_back_without_a_domain(way):
    codes = make_codes(has_missing=True, leaves_out=False)
    again = sf.encode(WAYS[way](sf.Table(DOMAIN, codes)))
    assert again.domain.levels[0] == LEVELS[0]
    assert again.domain.is_ordered.tolist() == [True, False, False, False, False]
    np.testing.assert_array_equal(again.codes[:, 0], codes[:, 0])


def test_frames_of_pandas_have_the_types_of_the_levels(table):
    frame = table.to_pandas()
    mood, town = frame["mood"].dtype, frame["town"].dtype
    assert (list(mood.categories), mood.ordered) == (list(LEVELS[0]), True)
    assert (list(town.categories), town.ordered) == (list(LEVELS[3]), False)
    has_missing = bool(table.n_missing.any())
    assert str(frame["smokes"].dtype) == ("boolean" if has_missing else "bool")
    assert [str(frame[name].dtype) for name in ("age", "score")] == ["Int64" if has_missing else "int64"] * 2
    np.testing.assert_array_equal(frame.isna().to_numpy(), table.mask)
    expected = [[None if code == MISSING else LEVELS[i][code] for i, code in enumerate(row)] for row in table.codes]
    found = frame.astype(object).where(frame.notna(), None).to_numpy().tolist()
    assert found == expected


def test_pandas_is_asked_for_by_name_where_it_is_not_there(table, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pandas is not installed: install it .*, or use to_frame\(\)"):
        table.to_pandas()


@pytest.mark.parametrize(
    ("levels", "codes", "dtype", "values"),
    [
        (((5, 7), (0, 1)), [[1, 0], [0, 1]], np.int64, [[7, 0], [5, 1]]),
        (((5, 7), (0, 1)), [[1, 255], [0, 1]], np.float64, [[7.0, np.nan], [5.0, 1.0]]),
        (((False, True),) * 2, [[1, 0], [0, 1]], np.bool_, [[True, False], [False, True]]),
        (((False, True),) * 2, [[1, 255], [0, 1]], object, [[True, None], [False, True]]),
        ((("a", "b"),) * 2, [[1, 255], [0, 1]], object, [["b", None], ["a", "b"]]),
        ((("a", "b"), (0, 1)), [[1, 1], [0, 0]], object, [["b", 1], ["a", 0]]),
        (((0, 2**53 + 1), (0, 1)), [[1, 255], [0, 1]], object, [[2**53 + 1, None], [0, 1]]),
    ],
)
def test_arrays_have_the_type_that_levels_share(levels, codes, dtype, values):
    domain = sf.Domain(("a", "b"), levels, (0, 0))
    found = sf.Table(domain, np.array(codes, dtype=np.uint8)).to_numpy()
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, np.array(values, dtype=dtype))


def test_others_read_a_table_by_arrow(table):
    assert pa.table(table).to_pylist() == table.to_frame().to_dicts()


def test_draws_of_an_estimator_are_a_frame_like_the_one_it_learned():
    frame = pd.DataFrame({"rain": [True, False, True, True] * 25, "mood": ["low", "mid", "high", "high"] * 25})
    frame["mood"] = pd.Categorical(frame["mood"], ["low", "mid", "high"], ordered=True)
    drawn = sf.SparseMRF(0.02, random_state=1).fit(frame).sample(20, seed=1)
    assert drawn.columns == tuple(frame.columns)
    assert drawn.to_pandas().dtypes.equals(frame.dtypes)
    assert drawn.to_frame().schema == {"rain": pl.Boolean, "mood": pl.Enum(["low", "mid", "high"])}
