"""Tables of counts: a column says how often each row counts."""

import json
import shlex

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import sparsefield as sf
from sparsefield.cli import app
from support.program import run


@pytest.fixture
def counted(tmp_path):
    """A table of counts, and the same rows repeated."""
    rows = sf.datasets.make_field(5, strength=(0.8, 1.2), seed=3).sample(2000, method="perfect", seed=1).to_frame()
    counts = rows.group_by(rows.columns, maintain_order=True).len("Freq")
    counts.write_csv(tmp_path / "counts.csv")
    repeated = counts.select(pl.col(rows.columns).repeat_by("Freq")).explode(rows.columns)
    repeated.write_csv(tmp_path / "rows.csv")
    assert repeated.height == 2000 > counts.height
    return tmp_path / "counts.csv", tmp_path / "rows.csv"


def program(*words):
    result = CliRunner().invoke(app, [*map(str, words), "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.mark.parametrize("words", [(), ("--alpha", "0.02", "--no-certify")])
def test_a_table_of_counts_is_fitted_as_its_rows(counted, words):
    counts, rows = counted
    said = [program("fit", counts, "--weight", "Freq", *words), program("fit", rows, *words)]
    assert said[0]["n_edges"] == said[1]["n_edges"] > 0
    models = [sf.Fit.load(path.with_suffix(".field")).model for path in counted]
    assert models[0].domain == models[1].domain
    # Moments are sums of floats and quotients of whole numbers: they differ in rounding, and enumerated fits with them.
    # Means of 2000 rows are off by 2e-13 at most; 1e-9 leaves the steps a factor of 5000.
    np.testing.assert_allclose(models[0].interactions, models[1].interactions, rtol=0, atol=1e-9)
    np.testing.assert_allclose(models[0].main, models[1].main, rtol=0, atol=1e-9)


def test_paths_and_resamples_take_weights(counted):
    counts, rows = counted
    found = [program("path", counts, "--weight", "Freq"), program("path", rows)]
    assert found[0]["alpha"] == pytest.approx(found[1]["alpha"], rel=1e-6)
    assert [row["edges"] for row in found[0]["path"]] == [row["edges"] for row in found[1]["path"]]
    assert "--weight Freq" in found[0]["command"]
    run(*shlex.split(found[0]["command"])[1:], "--no-certify", "-q")
    again = [
        program("bootstrap", counts, "--weight", "Freq", "-n", "4", "--alpha", "0.02"),
        program("bootstrap", rows, "-n", "4", "--alpha", "0.02"),
    ]
    assert again[0]["n_edges"] == again[1]["n_edges"] > 0


def test_certificates_and_pages_take_weights(counted, tmp_path):
    counts, _ = counted
    field, page = counts.with_suffix(".field"), tmp_path / "page.html"
    words = ("fit", counts, "--weight", "Freq", "--alpha", "0.02", "--report", tmp_path / "fit.html")
    said = run(*words, "--frequency")
    n = pl.read_csv(counts).height
    assert f"{n} rows that count as 2000, 5 variables, no missing values." in said
    assert "Note:" not in said
    assert f"Column 'Freq' counts equal rows: {n} stand for 2000." in said
    said = run(*words)
    assert said.count("Note:") == 1
    assert "whole numbers beside rows that all differ, which are taken for counts of equal rows" in said
    assert "If they are weights of a survey, add --survey." in said
    said = run(*words, "--survey")
    assert "Note:" not in said
    assert "has weights of a survey, whose scale does not matter" in said
    assert f"{n} rows that count as 2000" in (tmp_path / "fit.html").read_text()
    assert "By enumeration" in run("certify", field, counts, "--weight", "Freq")
    said = run("certify", field, counts, code=2)
    assert "have weights, and none are given: give the same --weight." in said
    said = run("report", field, "--data", counts, "--weight", "Freq", "-o", page)
    assert "Warning" not in said
    assert f"{n} rows that count as 2000" in page.read_text()
    pl.read_csv(counts).with_columns(pl.col("Freq") * 2 + 1).write_csv(counts)
    assert "has other rows than the" in run("report", field, "--data", counts, "--weight", "Freq", "-o", page)
    assert "These are not the weights" in run("certify", field, counts, "--weight", "Freq", code=2)


def test_a_column_of_counts_is_pointed_at(counted):
    said = run("fit", counted[0], "--alpha", "0.3", "--no-certify", "--max-levels", "100")
    assert "Column 'Freq' seems to say how many times each row counts, and is a variable like the others." in said
    assert "give it as --weight Freq." in said


@pytest.mark.parametrize(
    ("cell", "says"),
    [
        (
            "-3",
            "line 4: Column 'Freq' says how often rows count, but this row has the weight -3: give each row a number",
        ),
        ("", "line 4: Column 'Freq' says how often rows count, but this row has no weight"),
        ("many", "line 4: Column 'Freq' says how often rows count, but this row has the weight 'many'"),
        ("inf", "this row has the weight inf"),
    ],
)
def test_bad_weights_are_named_with_their_line(counted, cell, says):
    lines = counted[0].read_text().splitlines()
    lines[3] = f"{lines[3].rpartition(',')[0]},{cell}"
    counted[0].write_text("\n".join(lines) + "\n")
    assert says in run("fit", counted[0], "--weight", "Freq", code=2)


def test_weights_may_be_fractions_and_zero(counted):
    counts, _ = counted
    frame = pl.read_csv(counts)
    frame.with_columns(Freq=pl.col("Freq") / 4, z=pl.lit(0)).write_csv(counts)
    run("fit", counts, "--weight", "Freq", "--ignore", "z", "--alpha", "0.02", "-q")
    half = sf.Fit.load(counts.with_suffix(".field")).model
    frame.write_csv(counts)
    run("fit", counts, "--weight", "Freq", "--alpha", "0.02", "-q")
    np.testing.assert_allclose(sf.Fit.load(counts.with_suffix(".field")).model.main, half.main, rtol=0, atol=1e-9)
    frame.with_columns(Freq=pl.lit(0)).write_csv(counts)
    assert "The weights add up to zero" in run("fit", counts, "--weight", "Freq", code=2)
    assert "There is no column 'freq'. Is it 'Freq'?" in run("fit", counts, "--weight", "freq", code=2)
