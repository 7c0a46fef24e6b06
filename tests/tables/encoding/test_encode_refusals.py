"""What is refused, and in which words: the column, the value and the remedy."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

from sparsefield import encode

BAD = {
    "continuous": ({"age": [1.5, 2.0]}, "Column 'age' is continuous: row 0 holds 1.5. Cut it into a few levels"),
    "too many levels": (
        {"id": list(range(33))},
        "Column 'id' has 33 levels (0, 1, 2, ...), and seems to name the rows: leave it out",
    ),
    "too many words": ({"id": [f"w{i:02}" for i in range(33)]}, "Column 'id' has 33 levels ('w00', 'w01', 'w02', ...)"),
    "nothing observed": ({"gone": [None, None]}, "Column 'gone' has no observed value: leave it out."),
    "only empty text": ({"gone": ["", ""]}, "Column 'gone' has no observed value: leave it out."),
    "only NaN": ({"gone": [float("nan")] * 2}, "Column 'gone' has no observed value: leave it out."),
    "infinite": ({"x": [1.0, float("inf")]}, "Column 'x' is infinite in row 1 (inf): correct it or leave it empty."),
    "no rows": ({"x": []}, "The table has no rows: give at least one observation."),
    "no columns": ({}, "There are no columns"),
    "empty name": ({" ": [1]}, "The first column has no name but ' '"),
    "dates": ({"day": [datetime.date(2020, 1, 1)]}, "Column 'day' holds dates or times"),
}


@pytest.mark.parametrize(("columns", "message"), BAD.values(), ids=BAD.keys())
def test_bad_tables_get_a_sentence(columns, message):
    with pytest.raises(ValueError) as caught:
        encode(pl.DataFrame(columns))
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_bad_pandas_tables_get_a_sentence():
    with pytest.raises(ValueError, match="Two columns are named 'a': rename one of them"):
        encode(pd.DataFrame([[0, 1], [1, 0]], columns=["a", "a"]))
    with pytest.raises(ValueError, match=r"Column 'm' mixes kinds of values, such as .*: make them all text"):
        encode(pd.DataFrame({"m": pd.Series(["a", 1, 2.5], dtype=object)}))
    with pytest.raises(ValueError, match=r"The column after .* has no name"):
        encode(pd.DataFrame([[0, 1], [1, 0]], columns=["a", None]))
    assert encode(pd.DataFrame([[0, 1], [1, 0]])).domain.names == ("0", "1")


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros(3), "1 dimension"),
        (np.zeros((2, 2, 2)), "3 dimension"),
        (5, "0 dimension"),
        (np.zeros((2, 0)), "no columns"),
        (np.zeros((0, 2)), "no rows"),
        ([[0, 1], [1]], "different lengths"),
        (np.array([[1 + 2j]]), "type complex128"),
        (np.array([[1, "a"], ["b", 2]], dtype=object), "Column 'x0' mixes kinds of values, such as 1, 'b'"),
        (np.array([[{}], [[]]], dtype=object), "Column 'x0' holds objects that are not text or numbers"),
        (np.array([[-np.inf], [1.0]]), "infinite in row 0"),
    ],
)
def test_bad_arrays_get_a_sentence(array, message):
    with pytest.raises(ValueError, match=message):
        encode(array)


BAD_FILES = {
    "too few fields": ("a,b\n0,1\n1\n", r"line 3: 1 value where the first line has 2"),
    "too many fields": ("a,b\n0,1\n0,1,1\n", r"line 3: 3 values where the first line has 2"),
    "ragged after a quoted line": ('a,b\n"0",1\n0,1,1\n', r"line 3: 3 values"),
    "ragged quoted": ('a,b\n0,1\n"0,1"\n', r"line 3: 1 value"),
    "doubled names": ("a,b,a\n0,1,1\n", "Two columns are named 'a'"),
    "no names": ("a,,b\n0,1,1\n", "The column after 'a' has no name: give every"),
    "empty": ("", "is empty: its first line must name the columns"),
    "header only": ("a,b\n", "no rows"),
    "open quote": ('a,b\n0,"1\n', "line 2: the quote that opens on line 2 is never closed: close it"),
    "continuous": ("a,b\n0,1\n0.25,1\n1,0\n", "Column 'a' is continuous: this row holds 0.25"),
}


@pytest.mark.parametrize(("text", "message"), BAD_FILES.values(), ids=BAD_FILES.keys())
def test_bad_files_get_a_sentence(tmp_path, text, message):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=message) as caught:
        encode(path)
    assert "\n" not in str(caught.value)


def test_files_that_are_not_tables_get_a_sentence(tmp_path):
    (tmp_path / "near.csv").write_text("a\n1\n")
    with pytest.raises(
        FileNotFoundError, match=r"no file '.*far\.csv': check its name and folder. The folder has 'near"
    ):
        encode(tmp_path / "far.csv")
    with pytest.raises(FileNotFoundError, match="no file"):
        encode(str(tmp_path / "nowhere" / "far.csv"))
    (tmp_path / "table.xlsx").write_bytes(b"PK")
    with pytest.raises(ValueError, match="is not a workbook, or is damaged or locked"):
        encode(tmp_path / "table.xlsx")
    (tmp_path / "table.parquet").write_bytes(b"not parquet at all")
    with pytest.raises(ValueError, match="is not a parquet file, or is damaged"):
        encode(tmp_path / "table.parquet")
