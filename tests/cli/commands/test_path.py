"""The path of a table on the command line: what the library chooses, told and written."""

import json
import shlex
from dataclasses import replace

import matplotlib.image
import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import sparsefield as sf
from sparsefield import Fit
from sparsefield.cli import app
from sparsefield.cli.commands import _path as command
from sparsefield.plotting import PathDisplay
from support.program import run

SHORT = ("--id", "person", "--missing", "drop", "--n-alphas", 6)


def test_a_path_is_told_and_written_as_the_estimator_finds_it(answers):
    said = run("path", answers, *SHORT, "--seed", 3)
    mrf = sf.SparseMRF(sf.EBIC(n_alphas=6), missing="drop", random_state=3).fit(pl.read_csv(answers).drop("person"))
    assert "800 rows, 6 variables, 16 missing values (0.3%)." in said
    assert mrf.choice_.sentence in said
    found = pl.read_csv(answers.with_suffix(".path.csv"))
    assert found.equals(mrf.choice_.table)
    for row in found.to_dicts():
        mark = "> " if row["alpha"] == mrf.alpha_ else ""
        known = f"{row['pseudo_log_likelihood']:.4f} {row['ebic']:.1f} converged"
        assert f"{mark}{row['alpha']:.4g} {row['edges']} {known}" in said


def test_fits_take_the_penalty_that_a_path_chooses(answers):
    words = [str(word) for word in (answers, "--id", "person", "--seed", 3, "--penalty", "l1", "--json")]
    path, fit = (json.loads(CliRunner().invoke(app, [name, *words]).stdout) for name in ("path", "fit"))
    assert path["alpha"] == fit["alpha"]
    assert path["sentence"] == fit["choice"]


@pytest.mark.parametrize(
    ("words", "asked", "column"),
    [
        (["--gamma", 0], (sf.EBIC(0.0), {}), "ebic"),
        (["--gamma", 1], (sf.EBIC(1.0), {}), "ebic"),
        (["--criterion", "cv", "--folds", 2], (sf.HeldOut(2), {}), "held_out"),
        (["--criterion", "stars"], (sf.StARS(), {}), "instability"),
        (["--objective", "pseudolikelihood"], (sf.EBIC(), {"objective": "pseudolikelihood"}), "ebic"),
        (["--penalize-main"], (sf.EBIC(), {"penalize_main": True}), "ebic"),
    ],
)
def test_options_reach_the_choice(answers, words, asked, column):
    said = run("path", answers, "--id", "person", "--missing", "drop", "--alphas", "0.02,0.1", *words)
    table = pl.read_csv(answers).drop("person")
    rule, how = asked
    choice = sf.selection.select(table, replace(rule, alphas=[0.1, 0.02]), missing="drop", **how)
    assert choice.sentence in said
    found = pl.read_csv(answers.with_suffix(".path.csv"))
    assert found["alpha"].to_list() == [0.1, 0.02]
    assert found[column].to_list() == choice.table[column].to_list()


def test_programs_get_one_object(answers, tmp_path):
    output = tmp_path / "a.csv"
    words = ["path", answers, *SHORT, "-o", output, "--json"]
    found = json.loads(CliRunner().invoke(app, [str(word) for word in words]).stdout)
    table = pl.read_csv(output)
    assert pl.DataFrame(found["path"]).equals(table)
    chosen = table.filter(pl.col("alpha") == found["alpha"]).to_dicts()[0]
    assert chosen["ebic"] == table["ebic"].min()
    assert found["n_edges"] == chosen["edges"]
    assert found["criterion"] == "ebic"
    assert found["files"] == [str(output)]
    assert run("path", answers, *SHORT, "-o", output, "--quiet") == ""


def test_programs_get_nothing_for_what_is_not_known(answers, monkeypatch):
    def choose(*_, **__):
        columns = {"alpha": [0.1], "edges": [2], "status": ["converged"], "ebic": [5.0], "standard_error": [np.nan]}
        return sf.selection.Choice(0, 0.1, pl.DataFrame(columns), "It is the only one.")

    monkeypatch.setattr("sparsefield.selection.select", choose)
    words = ["path", answers, *SHORT, "--json"]
    (row,) = json.loads(CliRunner().invoke(app, [str(word) for word in words]).stdout)["path"]
    assert row == {"alpha": 0.1, "edges": 2, "status": "converged", "ebic": 5.0, "standard_error": None}


def test_the_command_at_the_end_fits_with_the_penalty_that_was_chosen(tmp_path, answers):
    path = tmp_path / "with spaces;.csv"
    path.write_text(answers.read_text().replace(",", ";").replace("p7;", "-;"), encoding="utf-8")
    how = ["--separator", ";", "--missing-marker", "-", "--missing-marker", "?", "--ignore", "person,score 5"]
    words = ["path", path, *how, "--missing", "drop", "--penalize-main", "--n-alphas", 4, "--json"]
    found = json.loads(CliRunner().invoke(app, [str(word) for word in words]).stdout)
    name, *again = shlex.split(found["command"])
    assert name == "sparsefield"
    run(*again, "--quiet")
    fit = Fit.load(path.with_suffix(".field"))
    assert fit.alpha == found["alpha"]
    assert fit.settings["penalize_main"] is True
    assert fit.settings["missing"] == "drop"
    assert len(fit.model.domain.names) == 5
    assert sf.network.Network.of(fit).n_edges == found["n_edges"]


def test_long_paths_are_shown_in_part_with_the_choice():
    rows = {"alpha": [1 / (k + 1) for k in range(100)], "edges": range(100), "status": ["converged"] * 100}
    table = pl.DataFrame({**rows, "instability": [0.5] * 100})
    grid = command._make_grid(sf.selection.Choice(50, 1 / 51, table, ""))
    marks, alphas = (list(column.cells) for column in grid.columns[:2])
    assert len(alphas) <= command._MOST_LINES + 1
    assert {alphas[0], alphas[-1]} == {"1", "0.01"}
    assert [alpha for mark, alpha in zip(marks, alphas, strict=True) if mark] == [f"{1 / 51:.4g}"]


def test_pictures_are_drawn_of_the_path_that_was_chosen_from(answers, tmp_path, monkeypatch):
    shown = []
    original = PathDisplay.from_path.__func__

    def keep(cls, path, **more):
        shown.append((path, more["chosen"]))
        return original(cls, path, **more)

    monkeypatch.setattr(PathDisplay, "from_path", classmethod(keep))
    pictures = [tmp_path / "path.png", tmp_path / "choice.png"]
    said = run("path", answers, *SHORT, "--picture", pictures[0], "--choice-picture", pictures[1])
    assert ",".join(map(str, pictures)) in said.replace(" ", "")  # which was broken into lines
    for picture in pictures:
        assert matplotlib.image.imread(picture).shape[0] > 500
    table = pl.read_csv(answers.with_suffix(".path.csv"))
    (path, chosen) = shown[0]
    assert path.table["alpha"].to_list() == table["alpha"].to_list()
    assert path.table["edges"].to_list() == table["edges"].to_list()
    assert f"> {chosen:.4g}" in said


def test_an_interrupt_while_a_picture_is_made_keeps_the_table(answers, tmp_path, monkeypatch):
    original = sf.path

    def stop(table, alphas, **more):
        more.pop("watch")
        return replace(original(table, alphas[:2], **more), is_whole=False)  # as a path ends that is interrupted

    words = ["path", answers, *SHORT, "--criterion", "stars", "--picture", tmp_path / "a.png"]
    monkeypatch.setattr("sparsefield.selection.path", stop)
    said = run(*words, code=130)
    assert f"Interrupted. What there was by then is in '{answers.with_suffix('.path.csv')}'." in said
    assert "subsamples" in said
    assert not (tmp_path / "a.png").exists()


def test_a_choice_goes_on_where_it_was_interrupted(answers, tmp_path, monkeypatch):
    words = ["path", answers, *SHORT, "--criterion", "cv", "--folds", 3]
    run(*words, "-o", tmp_path / "whole.csv", "-q")
    original, calls = sf.selection.choices._row_subsets.path, []

    def stop_at_the_third(*args, **more):
        calls.append(args)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return original(*args, **more)

    monkeypatch.setattr("sparsefield.selection.choices._row_subsets.path", stop_at_the_third)
    folder, output = tmp_path / "kept", tmp_path / "again.csv"
    said = run(*words, "-o", output, "--checkpoint", folder, code=130)
    assert f"The finished fits are in '{folder}': the same command goes on from there." in said
    assert not output.exists()
    run(*words, "-o", output, "--checkpoint", folder, "-q")
    assert len(calls) == 3 + 2  # the whole table and three folds are four paths, of which two were finished
    assert output.read_bytes() == (tmp_path / "whole.csv").read_bytes()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--alphas", "0.1;0.2"], "'0.1;0.2' is no list of numbers: separate them by commas, as in 0.3,0.1,0.05."),
        (["--alphas", ","], "alphas are []: use numbers from zero on, at least one."),
        (["--alphas", "0.1,-1"], "use numbers from zero on"),
        (["--criterion", "guess"], "criterion is 'guess': use"),
        (["--objective", "guess"], "objective is 'guess': use 'likelihood' or 'pseudolikelihood'."),
        (["--gamma", "2"], "gamma is 2.0: use a number from 0 to 1."),
        (["--picture", "a.bmp"], "does not end in .png"),
        (["-o", "no/such/a.csv"], "there is no folder 'no/such': make it first."),
        (["--columns", "itme 0"], "Is it 'item 0'?"),
        (["--checkpoint", __file__], "is a file."),
    ],
)
def test_wrong_options_get_a_sentence(answers, words, sentence):
    assert sentence in run("path", answers, "--id", "person", "--missing", "drop", *words, code=2)
    assert [file.name for file in answers.parent.iterdir()] == ["answers.csv"]


def test_a_penalty_of_the_pseudo_likelihood_is_not_for_the_likelihood(answers):
    words = [*SHORT, "--objective", "pseudolikelihood"]
    said = run("path", answers, *words)
    assert "sparsefield fit" not in said
    assert "To fit with this alpha: sparsefield.PseudoLikelihood(" in said
    result = CliRunner().invoke(app, ["path", str(answers), *map(str, words), "--json"])
    assert json.loads(result.stdout)["command"] is None


@pytest.mark.parametrize("objective", ["likelihood", "pseudolikelihood"])
def test_the_page_is_about_the_fit_that_was_chosen(answers, tmp_path, objective):
    page = tmp_path / "a.html"
    words = ["--alphas", "0.1,0.05,0.02", "--objective", objective, "--report", page, "--json"]
    result = CliRunner().invoke(app, [str(word) for word in ["path", answers, *SHORT[:4], *words]])
    found = json.loads(result.stdout)
    assert found["files"][-1] == str(page)
    text = page.read_text(encoding="utf-8")
    assert f'<p id="choice">{found["sentence"]}</p>' in text
    assert f"There are {found['n_edges']} edges among the 6 variables" in text
    for mark in ('id="compare"', 'id="choice-plot"', 'id="path-plot"'):
        assert mark in text
