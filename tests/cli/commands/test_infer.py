"""How sure pairs are on the command line: what the library finds, told and written."""

import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import sparsefield as sf
from sparsefield.cli import app
from support.program import run

WHO = ("--id", "person")


def read(path):
    return pl.read_csv(path).drop("person")


def program(*words):
    result = CliRunner().invoke(app, [*map(str, words), "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.fixture
def sampled(answers):
    """The answers, with weights of a survey, numbers of equal rows, and schools."""
    rng = np.random.default_rng(1)
    frame = pl.read_csv(answers).with_columns(
        weight=pl.Series(rng.uniform(0.5, 2, 800).round(3)),
        times=pl.int_range(800) % 3 + 1,
        school=pl.Series([f"school {k // 8}" for k in range(800)]),
    )
    path = answers.with_name("sampled.csv")
    frame.write_csv(path)
    return path


def test_pairs_are_told_and_written_as_the_library_finds_them(answers):
    said = run("infer", answers, *WHO)
    found = sf.infer(read(answers))
    assert pl.read_csv(answers.with_suffix(".pairs.csv")).equals(found.table)
    assert found.n_edges == 3
    assert found.sentence in said
    for row in found.edges.iter_rows(named=True):
        q = "<0.001" if row["q"] < 0.001 else f"{row['q']:.2g}"
        interval = f"{row['low']:+.2f} to {row['high']:+.2f}"
        assert f"{row['first']} {row['second']} {row['estimate']:+.2f} {interval} {q}" in said
    assert "q is the least false discovery rate at which a pair is an edge." in said
    assert "15 pairs;" in said
    # One pair without an edge tells what would have been found.
    assert "Of pairs without an edge, for example: no edge was found between" in said
    assert "would have been found four times out of five." in said


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        (["--fdr", 0.5], {"fdr": 0.5}),
        (["--rate", "holm"], {"rate": "holm"}),
        (["--rate", "by"], {"rate": "by"}),
        (["--confidence", 0.8], {"level": 0.8}),
        (["--missing", "drop"], {"missing": "drop"}),
        (["--missing", "zero"], {"missing": "zero"}),
        (["--ordinal", "score 3"], {"ordinal": ["score 3"]}),
        (["--threads", 2], {"n_threads": 1}),
    ],
)
def test_options_reach_the_inference(answers, words, asked):
    said = run("infer", answers, *WHO, *words)
    found = sf.infer(read(answers), **asked)
    assert pl.read_csv(answers.with_suffix(".pairs.csv")).equals(found.table)
    assert found.sentence in said
    assert f"{100 * found.level:.6g}% interval" in said
    if found.rate == "holm":
        assert "q is the least probability of any false edge at which a pair is an edge." in said


def test_pairs_that_are_asked_for_are_described(answers):
    said = run("infer", answers, *WHO, "--pair", "item 0,score 3", "--pair", "item 2, item 0")
    found = sf.infer(read(answers))
    for pair in (("item 0", "score 3"), ("item 2", "item 0")):
        assert found.describe(*pair) in said
    assert "for example" not in said


def test_why_nothing_can_be_told_is_said_once(answers):
    frame = pl.read_csv(answers).with_columns(twin=pl.col("score 3"), always=pl.lit("yes"))
    path = answers.with_name("odd.csv")
    frame.write_csv(path)
    said = run("infer", path, *WHO)
    assert said.count("all of them have the same always.") == 1
    found = program("infer", path, *WHO, "--pair", "always,twin")
    assert found["n_untold"] > 7
    (pair,) = found["pairs"]
    assert pair["estimate"] is pair["low"] is pair["detectable"] is None
    assert pair["sentence"].endswith("all of them have the same always.")


def test_weights_and_clusters_reach_the_inference(sampled):
    words = [*WHO, "--ignore", "times", "--weight", "weight", "--cluster", "school"]
    said = run("infer", sampled, *words)
    frame = read(sampled)
    data = frame.drop("weight", "times", "school")
    found = sf.infer(data, sample_weight=frame["weight"], clusters=frame["school"])
    written = pl.read_csv(sampled.with_suffix(".pairs.csv"))
    assert written.equals(found.table)
    assert f"800 rows tell as much as {found.n_effective:.0f} of equal weight." in said
    assert "Column 'school' puts rows into 100 clusters" in said
    assert f"Variances are {found.design_effect:.2f} times those of" in said
    numbers = program("infer", sampled, *words)
    assert numbers["n_clusters"] == 100
    assert numbers["weights"] == "survey"
    assert numbers["design_effect"] == found.design_effect


def test_weights_may_count_equal_rows(sampled):
    words = [*WHO, "--ignore", "weight,school", "--weight", "times"]
    data = read(sampled)
    rows = data.drop("weight", "times", "school")
    said = run("infer", sampled, *words, "--frequency")
    counted = sf.infer(rows, sample_weight=data["times"], frequency=True)
    assert pl.read_csv(sampled.with_suffix(".pairs.csv")).equals(counted.table)
    assert f"Column 'times' counts equal rows: 800 stand for {data['times'].sum()}." in said
    said = run("infer", sampled, *words)
    assert "add --frequency" in said
    assert pl.read_csv(sampled.with_suffix(".pairs.csv")).equals(sf.infer(rows, sample_weight=data["times"]).table)


def test_strengths_and_differences_are_written(answers, tmp_path):
    files = [tmp_path / name for name in ("pairs.parquet", "nodes.csv", "differences.tsv")]
    words = ["-o", files[0], "--strengths", files[1], "--differences", files[2]]
    run("infer", answers, *WHO, *words)
    found = sf.infer(read(answers))
    assert pl.read_parquet(files[0]).equals(found.table)
    assert pl.read_csv(files[1]).equals(found.nodes)
    assert pl.read_csv(files[2], separator="\t").equals(found.differences())
    assert not answers.with_suffix(".pairs.csv").exists()


def test_programs_get_one_object(answers, tmp_path):
    output = tmp_path / "a.csv"
    said = program("infer", answers, *WHO, "-o", output, "--pair", "item 0,score 3")
    found = sf.infer(read(answers))
    assert said["sentence"] == found.sentence
    assert (said["fdr"], said["rate"], said["confidence"]) == (0.1, "bh", 0.95)
    assert (said["n_rows"], said["n_variables"], said["n_pairs"], said["n_edges"]) == (800, 6, 15, 3)
    assert said["n_untold"] == 0
    assert said["n_clusters"] is said["weights"] is None
    assert said["edges"] == found.edges.to_dicts()
    (pair,) = said["pairs"]
    assert pair["sentence"] == found.describe("item 0", "score 3")
    assert pair["edge"] is True
    assert said["files"] == [str(output)]
    assert run("infer", answers, *WHO, "-o", output, "--quiet") == ""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--confidence", 95], "use a number between 0 and 1, such as 0.95"),
        (["--fdr", 3], "--fdr is 3.0: use a number between 0 and 1"),
        (["--rate", "fdr"], "--rate is 'fdr': use 'bh', 'by' or 'holm'"),
        (["--pair", "item 0"], "name two variables, with a comma between them"),
        (["--pair", "item 0,nothing"], "There is no column 'nothing'"),
        (["--pair", "item 0,item 0"], "item 0"),
        (["--cluster", "nothing"], "There is no column 'nothing'"),
        (["--frequency"], "name the column that counts equal rows with --weight"),
        (["--missing", "error"], "16 missing values"),
        (["-o", "pairs.txt"], "does not end in .csv, .tsv or .parquet"),
        (["--strengths", "nodes.json"], "does not end in .csv, .tsv or .parquet"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(answers, words, said, monkeypatch):
    monkeypatch.chdir(answers.parent)
    assert said in run("infer", answers, *WHO, *words, code=2)
    assert not answers.with_suffix(".pairs.csv").exists()


def test_a_table_of_one_row_says_nothing_of_others(tmp_path):
    path = tmp_path / "one.csv"
    path.write_text("a,b\n0,1\n")
    assert "The table has 1 row: give at least two" in run("infer", path, code=2)


def test_help_names_what_it_does():
    said = run("infer", "--help")
    for option in ("--pair", "--fdr", "--rate", "--confidence", "--cluster", "--frequency", "--strengths"):
        assert option in said


def test_a_fit_has_the_edges_that_are_found_at_a_rate(sampled):
    field = sampled.with_suffix(".field")
    for words, asked in (
        ((), {}),
        (("--cluster", "school"), {"clusters": True}),
        (("--weight", "weight"), {"sample_weight": True}),
    ):
        frame = pl.read_csv(sampled).drop("person", "times")
        given = {"clusters": frame["school"].to_numpy(), "sample_weight": frame["weight"].to_numpy()}
        items = frame.drop("school", "weight")
        found = sf.infer(items, fdr=0.3, **{name: given[name] for name in asked})
        ignored = "times,school,weight"
        for word in words[1:]:
            ignored = ignored.replace(word, "").replace(",,", ",").strip(",")
        answer = program("fit", sampled, *WHO, "--ignore", ignored, "--fdr", 0.3, "--no-certify", "-o", field, *words)
        assert answer["n_edges"] == found.n_edges
        fitted = sf.Fit.load(field)
        assert fitted.settings["choice"] == found.sentence
        pairs = {frozenset(pair) for pair in sf.edge_table(fitted).select("first", "second").rows()}
        assert pairs == {frozenset(pair) for pair in found.edges.select("first", "second").rows()}


def test_what_makes_no_sense_with_a_rate_is_one_sentence(answers):
    for words, sentence in (
        (("--alpha", 0.1), "leave alpha out"),
        (("--no-infer",), "leave one of them out"),
        (("--penalty", "l1"), "leave penalty and penalize_main out"),
    ):
        result = CliRunner().invoke(app, ["fit", str(answers), *WHO, "--fdr", "0.1", *map(str, words)])
        assert result.exit_code == 2
        assert result.stderr.startswith("Error: --fdr ")
        assert sentence.split()[0] in " ".join(result.stderr.split())
