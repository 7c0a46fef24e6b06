"""Files of a kind that is not written are refused before any work; tables are of the kind that their ending says."""

import polars as pl
import pytest

import sparsefield as sf
from support.program import run

TABLES = "does not end in .csv, .tsv or .parquet: choose one of these."
PAGES = "does not end in .html: no other is written."


@pytest.mark.parametrize(
    ("command", "options", "sentence"),
    [
        ("fit", ["--report", "a.pdf"], PAGES),
        ("bootstrap", ["--report", "a.pdf"], PAGES),
        ("report", ["-o", "a.pdf"], PAGES),
        ("sample", ["-o", "a.xyz"], TABLES),
        ("path", ["-o", "a.json"], TABLES),
        ("bootstrap", ["-o", "a"], TABLES),
        ("export", ["-o", "a.xyz"], "does not end in .gexf, .graphml, .csv or .json: choose one of these."),
        ("export", ["-o", "a.gexf", "--format", "dot"], "use gexf, graphml, edges, adjacency, json."),
        ("fit", ["--picture", "a.bmp"], "does not end in .png, .svg or .pdf: choose one of these."),
    ],
)
def test_other_kinds_are_refused_before_anything_is_read(tmp_path, monkeypatch, command, options, sentence):
    monkeypatch.chdir(tmp_path)
    assert sentence in run(command, "none.csv", *options, code=2)  # there is no such file to read


def test_rows_are_written_as_asked_for(tmp_path):
    field = tmp_path / "a.field"
    sf.datasets.make_chain(4, seed=1).save(field)
    for ending in ("csv", "tsv", "PARQUET"):
        run("sample", field, "-n", 30, "-o", tmp_path / f"rows.{ending}")
    rows = pl.read_csv(tmp_path / "rows.csv")
    assert rows.shape == (30, 4)
    assert pl.read_csv(tmp_path / "rows.tsv", separator="\t").equals(rows)
    assert pl.read_parquet(tmp_path / "rows.PARQUET").cast(pl.Int64).equals(rows)


def test_a_table_of_a_path_can_be_parquet(answers, tmp_path):
    run("path", answers, "--id", "person", "--alphas", "0.3,0.2", "-o", tmp_path / "a.parquet", "-q")
    assert pl.read_parquet(tmp_path / "a.parquet")["alpha"].to_list() == [0.3, 0.2]


def test_every_ending_that_is_offered_is_exported(tmp_path):
    sf.datasets.make_chain(4, seed=1).save(tmp_path / "a.field")
    for ending in ("gexf", "graphml", "csv", "json"):
        run("export", tmp_path / "a.field", "-o", tmp_path / f"a.{ending}")
        assert (tmp_path / f"a.{ending}").stat().st_size
    run("export", tmp_path / "a.field", "-o", tmp_path / "a.txt", "--format", "adjacency")
    said = run("export", "--help")
    assert all(name in said for name in sf.network.FORMATS)
