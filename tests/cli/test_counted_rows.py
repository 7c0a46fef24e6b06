"""Folders, patterns and tables that do not fit into memory, on the command line."""

import json

import numpy as np
import polars as pl
import pytest

import sparsefield as sf
from support.program import run


@pytest.fixture(scope="module")
def rows():
    return sf.datasets.make_field(6, strength=(0.8, 1.2), seed=3).sample(3000, method="perfect", seed=1).to_frame()


@pytest.fixture
def folder(rows, tmp_path):
    parts = tmp_path / "parts"
    parts.mkdir()
    for k in range(3):
        part = rows[1000 * k : 1000 * (k + 1)].with_row_index("row")
        part.write_parquet(parts / f"part-{k}.parquet")
    return parts


@pytest.fixture
def large(cut_tables):
    cut_tables(folder=1000, sample=500)


def test_a_folder_that_fits_is_one_table(folder, rows):
    said = json.loads(run("fit", folder, "--id", "row", "--no-certify", "--json"))
    assert said["n_rows"] == 3000
    fit = sf.Fit.load(folder.with_suffix(".field"))
    whole = sf.SparseMRF(random_state=0).fit(rows).fit_
    np.testing.assert_array_equal(fit.model.interactions, whole.model.interactions)


@pytest.mark.usefixtures("large")
def test_a_large_folder_is_counted_fitted_and_certified(folder, tmp_path):
    page = tmp_path / "page.html"
    said = run("fit", folder, "--id", "row", "--alpha", "0.02", "--report", page)
    assert "is counted part by part: it is too large to be read into memory" in said
    assert "3000 rows, 6 variables, no missing values" in said
    assert "3000" in page.read_text()
    assert "above its optimum" in run("certify", folder.with_suffix(".field"), folder)
    pattern = folder / "part-[01].parquet"
    assert "not the 3000 rows" in run("certify", folder.with_suffix(".field"), pattern, code=2)
    run("fit", pattern, "--id", "row", "--alpha", "0.02", "--no-certify")
    assert (folder / "part.field").exists()


@pytest.mark.usefixtures("large")
def test_what_a_large_table_cannot_have_is_said(folder, rows):
    assert "give --alpha: sampling error alone makes edges below" in run("fit", folder, "--id", "row", code=2)
    assert "--weight needs rows in memory" in run("fit", folder, "--alpha", "0.02", "--weight", "row", code=2)
    assert "Column 'row' has 1000 levels" in run("fit", folder, "--alpha", "0.02", code=2)
    copied = rows.with_columns(y=1 - pl.col("x0"), z=pl.when(pl.int_range(pl.len()) == 9).then(None).otherwise("x1"))
    copied.write_parquet(folder / "copied.parquet")
    path = folder / "copied.parquet"
    refused = run("fit", path, "--alpha", "0.02", code=2)
    assert "Column 'z' has a missing value in row 9" in refused
    assert "set --missing to 'drop' or 'zero'" in refused
    said = run("fit", path, "--alpha", "0.02", "--missing", "drop", "--no-certify")
    assert "Columns 'x0', 'y' tell the same in every row" in said
    assert "Columns 'x1', 'z' tell the same in every row" in said
    assert "2999 of 3000 rows remain" in said
