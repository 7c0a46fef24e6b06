"""Words and numbers that mean missing values, in files of all kinds."""

import polars as pl
import pyreadstat
import pytest

import sparsefield as sf

FRAME = pl.DataFrame(
    {"scale": [1, 2, -99, 3], "share": [0.5, -99.0, None, 1.5], "word": ["None", "Some", "refused", "Some"]}
)


def write_sav(frame, path):
    pyreadstat.write_sav(frame, path)


WAYS = {
    "csv": pl.DataFrame.write_csv,
    "xlsx": pl.DataFrame.write_excel,
    "parquet": pl.DataFrame.write_parquet,
    "sav": write_sav,
}


@pytest.mark.parametrize("kind", WAYS)
def test_markers_mean_missing_cells_whatever_the_kind_of_the_file(tmp_path, kind):
    path = tmp_path / f"answers.{kind}"
    WAYS[kind](FRAME, path)
    found = sf.read_table(path, missing_markers=["-99", "refused", "nan", "inf"])
    assert found["scale"].to_list() == [1, 2, None, 3]
    assert found["share"].to_list() == [0.5, None, None, 1.5]
    assert found["word"].to_list() == ["None", "Some", None, "Some"]


@pytest.mark.parametrize(("kind", "is_missing"), [("csv", True), ("xlsx", True), ("parquet", False), ("sav", False)])
def test_words_that_everybody_uses_are_levels_where_columns_have_types(tmp_path, kind, is_missing):
    path = tmp_path / f"answers.{kind}"
    WAYS[kind](FRAME, path)
    assert (sf.read_table(path)["word"][0] is None) == is_missing


def test_categories_keep_their_order(tmp_path):
    mood = pl.Series(["low", "skipped", "high"], dtype=pl.Enum(["low", "mid", "high", "skipped"]))
    pl.DataFrame({"mood": mood}).write_parquet(tmp_path / "moods.parquet")
    found = sf.read_table(tmp_path / "moods.parquet", missing_markers=["skipped"])["mood"]
    assert found.to_list() == ["low", None, "high"]
    assert found.dtype == mood.dtype
