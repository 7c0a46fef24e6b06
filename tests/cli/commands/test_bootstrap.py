"""The bootstrap on the command line: what the library finds, told and written."""

import json

import matplotlib.image
import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import sparsefield as sf
from sparsefield import Fit
from sparsefield.cli import app
from sparsefield.resampling import Ends, _resamples, stability
from support.program import run

FEW = ("--id", "person", "-n", 4)


def read(path):
    return pl.read_csv(path).drop("person")


def test_edges_are_told_and_written_as_the_library_finds_them(answers):
    said = run("bootstrap", answers, *FEW, "--alpha", 0.02, "--seed", 5)
    found = sf.bootstrap(read(answers), alpha=0.02, n=4, seed=5)
    assert pl.read_csv(answers.with_suffix(".bootstrap.csv")).equals(found.table)
    edges = found.table.filter(pl.col("weight") != 0)
    sure = sf.infer(read(answers))
    for row in edges.head(12).to_dicts():
        k = sure.index[frozenset((row["first"], row["second"]))]
        interval = f"{sure.estimate[k]:+.2f} {sure.low[k]:+.2f} to {sure.high[k]:+.2f}"
        assert f"{row['first']} {row['second']} {row['weight']:+.3f} {row['selected']:.1%} {interval}" in said
    assert f"Sampling error: {sure.n_edges} of 15 pairs are edges at a false discovery rate of 0.1" in said
    assert all(sure.is_edge[sure.index[frozenset(pair)]] for pair in edges.select("first", "second").iter_rows())
    assert f"All {len(edges)} edges of the network are among them." in said
    n_often, n_seldom = (edges["selected"] >= 0.95).sum(), (edges["selected"] < 0.5).sum()
    assert 0 < n_often < len(edges)
    assert f"{len(edges)} edges in the fit of all rows: {n_often} of them are found in 95% of the resamples" in said
    assert f"{n_seldom} in less than half. {len(found.table) - len(edges)} other pairs have an edge in some" in said
    assert found.sentence in said


def test_the_fit_of_all_rows_is_that_of_the_command_that_fits(answers, tmp_path):
    for command, words in (("bootstrap", ["-n", 2, "--field"]), ("fit", ["--no-certify", "-o"])):
        run(command, answers, "--id", "person", "--alpha", 0.02, "--seed", 5, *words, tmp_path / f"{command}.field")
    own, other = (Fit.load(tmp_path / f"{name}.field") for name in ("bootstrap", "fit"))
    assert own.settings["random_state"] == other.settings["random_state"] == 5
    # One thread of BLAS in the one and perhaps several in the other: the last bits of a field may differ.
    np.testing.assert_allclose(own.model.interactions, other.model.interactions, rtol=0, atol=1e-10)
    assert own.status.code == other.status.code == "converged"


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        (["--share", 0.5], {"share": 0.5}),
        (
            ["--objective", "pseudolikelihood", "--missing", "zero"],
            {"objective": "pseudolikelihood", "missing": "zero"},
        ),
        (["--penalize-main", "--missing", "drop"], {"penalize_main": True, "missing": "drop"}),
        (["--threads", 2], {"n_threads": 1}),
    ],
)
def test_options_reach_the_bootstrap(answers, words, asked):
    run("bootstrap", answers, *FEW, "--alpha", 0.02, *words, "-q")
    found = sf.bootstrap(read(answers), alpha=0.02, n=4, seed=0, **asked)
    assert pl.read_csv(answers.with_suffix(".bootstrap.csv")).equals(found.table)


def test_edges_are_found_and_told_as_those_of_a_fit_unless_a_penalty_is_given(answers):
    said = run("bootstrap", answers, *FEW, "--missing", "drop")
    assert sf.learn(read(answers), missing="drop").settings["choice"] in said
    found = sf.bootstrap(read(answers), n=4, missing="drop", seed=0)
    assert pl.read_csv(answers.with_suffix(".bootstrap.csv")).equals(found.table)


def test_programs_get_one_object(answers, tmp_path):
    output, field = tmp_path / "a.csv", tmp_path / "a.field"
    words = [
        "bootstrap", answers, *FEW, "--alpha", 0.02, "--stability", "-o", output, "--field", field, "--json",
    ]  # fmt: skip
    found = json.loads(CliRunner().invoke(app, [str(word) for word in words]).stdout)
    table = pl.read_csv(output)
    assert found["files"] == [str(output), str(field)]
    assert found["alpha"] == Fit.load(field).alpha == 0.02
    assert found["choice"] is None
    assert found["n_resamples"] == 4
    assert found["n_edges"] == (table["weight"] != 0).sum()
    assert found["n_other_pairs"] == (table["weight"] == 0).sum()
    dropped = stability(read(answers), alpha=0.02, n=4, seed=0)
    assert found["stability"] == {
        "edges": dropped.coefficient("edges"),
        "strength": dropped.coefficient("strength"),
        "sentence": dropped.sentence,
    }
    assert run("bootstrap", answers, *FEW, "--alpha", 0.02, "-o", output, "--quiet") == ""


def test_pictures_are_drawn(answers, tmp_path):
    files = {f"--{kind}": tmp_path / f"{kind}.png" for kind in ("picture", "differences-picture", "stability-picture")}
    words = [word for pair in files.items() for word in pair]
    said = run("bootstrap", answers, *FEW, "--alpha", 0.02, "--stability", *words)
    assert ",".join(str(file) for file in files.values()) in said.replace(" ", "")  # which was broken into lines
    drawn = {file.read_bytes() for file in files.values()}
    assert len(drawn) == 3
    for file in files.values():
        assert matplotlib.image.imread(file).shape[1] > 500


def test_the_page_has_the_resamples_and_the_stability(answers, tmp_path):
    nodes, page = tmp_path / "nodes.csv", tmp_path / "a.html"
    names = ["item 0", "item 1", "item 2", "score 3", "score 4", "score 5"]
    nodes.write_text("name,kind\n" + "".join(f"{name},kind-{name.split()[0]}\n" for name in names))
    words = ["--missing", "drop", "--stability", "--report", page, "--nodes", nodes, "--color", "kind", "--json"]
    result = CliRunner().invoke(app, [str(word) for word in ["bootstrap", answers, *FEW, *words]])
    found = json.loads(result.stdout)
    text = page.read_text(encoding="utf-8")
    for sentence in (found["sentence"], found["stability"]["sentence"]):
        assert sentence in text
    assert text.count('"group": "kind-item"') == 3


@pytest.mark.parametrize("stopped", ["resample", "subsample"])
def test_a_run_goes_on_where_it_was_interrupted(answers, tmp_path, monkeypatch, stopped):
    words = ["bootstrap", answers, *FEW, "--alpha", 0.02, "--stability"]
    whole = run(*words, "-o", tmp_path / "whole.csv")
    original, calls = _resamples.Refit.__call__, []
    at = 3 if stopped == "resample" else 4 + 2

    def stop_once(*args):
        calls.append(args)
        if len(calls) == at:
            raise KeyboardInterrupt
        return original(*args)

    monkeypatch.setattr(_resamples.Refit, "__call__", stop_once)
    folder, output = tmp_path / "kept", tmp_path / "again.csv"
    said = run(*words, "-o", output, "--checkpoint", folder, code=130)
    assert f"The finished fits are in '{folder}': the same command goes on from there." in said
    assert output.exists() == (stopped == "subsample")
    assert (f"What there was by then is in '{output}'." in said) == (stopped == "subsample")
    again = run(*words, "-o", output, "--checkpoint", folder)
    assert len(calls) == 4 + 5 * 4 + 1  # the one that was interrupted is made again
    assert output.read_bytes() == (tmp_path / "whole.csv").read_bytes()
    sentence = stability(read(answers), alpha=0.02, n=4, seed=0).sentence
    assert sentence in whole
    assert sentence in again


def test_an_interrupt_says_how_a_run_could_have_gone_on(answers, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(_resamples.Refit, "__call__", stop)
    said = run("bootstrap", answers, *FEW, "--alpha", 0.02, code=130)
    assert "Interrupted. No fit is kept: with --checkpoint FOLDER they are" in said
    monkeypatch.setattr("sparsefield.resampling._bootstrap.fit_whole", stop)
    words = ("--checkpoint", answers.parent / "kept")
    assert "Interrupted. No fit was finished." in run("bootstrap", answers, *FEW, "--alpha", 0.02, *words, code=130)
    assert [file.name for file in answers.parent.iterdir()] == ["answers.csv"]


def test_a_folder_of_another_run_is_refused(answers, tmp_path):
    words = ["bootstrap", answers, *FEW, "--alpha", 0.02, "--checkpoint", tmp_path / "kept", "-q"]
    run(*words)
    said = run(*words, "--share", 0.5, code=2)
    assert "holds pieces of another run: share is None there and 0.5 here. Use another folder" in said


def test_resamples_that_did_not_reach_what_was_asked_are_said_to_the_quiet(answers, monkeypatch):
    original = Ends.of

    def end_early(results):
        return original([{**result, "status": np.array("max iterations")} for result in results])

    monkeypatch.setattr(Ends, "of", end_early)
    words = ["bootstrap", answers, *FEW, "--alpha", 0.02]
    result = CliRunner().invoke(app, [str(word) for word in [*words, "--quiet"]])
    assert result.exit_code == 0
    assert result.stdout == ""
    sentence = "The fits of 4 did not reach what was asked (max iterations: 4); they count all the same."
    assert sentence in " ".join(result.stderr.split())
    assert (
        sentence in json.loads(CliRunner().invoke(app, [str(word) for word in [*words, "--json"]]).stdout)["sentence"]
    )


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--share", 1], "use a number between 0 and 1, or leave it out to draw with replacement."),
        (["-n", 1], "--resamples"),
        (["--jobs", 0], "use a number from one on"),
        (["--alpha", -1], "alpha is -1.0"),
        (["--objective", "guess"], "objective is 'guess': use 'likelihood' or 'pseudolikelihood'."),
        (["--stability-picture", "a.png"], "there is nothing to draw without --stability."),
        (["--differences-picture", "a.bmp"], "does not end in .png"),
        (["--field", "no/such/a.field"], "there is no folder 'no/such': make it first."),
        (["--color", "kind"], "name the table that has this column with --nodes"),
    ],
)
def test_wrong_options_get_a_sentence(answers, words, sentence):
    alpha = [] if "--alpha" in words else ["--alpha", 0.02]
    assert sentence in run("bootstrap", answers, "--id", "person", *alpha, *words, code=2)
    assert [file.name for file in answers.parent.iterdir()] == ["answers.csv"]
