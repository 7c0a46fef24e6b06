"""Files of data frames keep the order of categories, as the frames themselves do."""

import sys

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

import sparsefield as sf
from sparsefield.tables import read_contents

MOODS = ["low", "mid", "high", "very high"]


@pytest.fixture
def frame():
    return pd.DataFrame(
        {
            "mood": pd.Categorical(["high", "low", None, "mid", "high"], categories=MOODS, ordered=True),
            "kind": pd.Categorical(["z", "a", "q", None, "a"], categories=["z", "unseen", "q", "a"]),
            "a": [1, 0, 1, 0, 1],
        }
    )


@pytest.mark.parametrize("ending", [".parquet", ".feather", ".arrow"])
def test_categories_of_pandas_keep_their_order(tmp_path, frame, ending):
    path = tmp_path / f"table{ending}"
    frame.to_parquet(path) if ending == ".parquet" else frame.to_feather(path)
    contents = read_contents(path)
    assert contents.notes == ()
    assert contents.frame.columns == ["mood", "kind", "a"]
    table, expected = sf.encode(contents.frame), sf.encode(frame)
    assert table.domain == expected.domain
    assert tuple(table.domain.is_ordered) == (True, False, False)
    assert table.codes.tolist() == expected.codes.tolist()
    assert sf.encode(path).domain == expected.domain


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
def test_categories_of_polars_and_arrow_keep_their_order(tmp_path, ending):
    path = tmp_path / f"table{ending}"
    enum = pl.DataFrame({"mood": pl.Series(["high", "low", "mid", "low"], dtype=pl.Enum(MOODS))})
    enum.write_parquet(path) if ending == ".parquet" else enum.write_ipc(path)
    assert sf.encode(path).domain == sf.encode(enum).domain
    assert tuple(sf.encode(path).domain.is_ordered) == (True,)


def test_dictionaries_of_arrow_are_ordered_where_they_say_so(tmp_path):
    path = tmp_path / "table.parquet"
    for is_ordered in (True, False):
        own = pa.DictionaryArray.from_arrays(pa.array([2, 0, 1, 0]), pa.array(MOODS), ordered=is_ordered)
        pa.parquet.write_table(pa.table({"mood": own}), path)
        domain = sf.encode(path).domain
        assert domain.levels == (("low", "mid", "high"),)
        assert tuple(domain.is_ordered) == (is_ordered,)


def test_without_pyarrow_a_note_says_what_is_not_known(tmp_path, frame, monkeypatch):
    frame.dropna().to_parquet(tmp_path / "table.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow.feather", None)
    contents = read_contents(tmp_path / "table.parquet")
    assert contents.frame["mood"].to_list() == ["high", "low", "high"]
    assert "'mood', 'kind' have categories whose order is not known: install pyarrow" in str(contents.notes[0])


def test_rows_of_json_are_read(tmp_path):
    frame = pl.DataFrame({"a": [1, 0, None], "b": ["x", "y", "x"]})
    frame.write_json(tmp_path / "table.json")
    frame.write_ndjson(tmp_path / "table.ndjson")
    frame.write_ndjson(tmp_path / "table.jsonl")
    for name in ("table.json", "table.ndjson", "table.jsonl"):
        assert read_contents(tmp_path / name).frame.equals(frame)
    (tmp_path / "table.json").write_text('{"a": [1')
    with pytest.raises(ValueError, match="is not a JSON file of rows, or is damaged"):
        read_contents(tmp_path / "table.json")


def test_row_names_of_pandas_are_left_out_with_a_note(tmp_path, frame):
    frame[["a"]].set_axis(list("uvwxy")).to_parquet(tmp_path / "table.parquet")
    contents = read_contents(tmp_path / "table.parquet")
    assert contents.frame.columns == ["a"]
    assert "has the row names of pandas: it is left out" in str(contents.notes[0])
