"""The fit of a table, and its certificate, as people ask for them: with typos, wrong options and interrupts."""

import json
import re

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import sparsefield as sf
from sparsefield import Fit
from sparsefield.cli import app
from sparsefield.progress import ProgressBar
from sparsefield.solvers import _newton
from support.program import run


def test_a_table_is_fitted_saved_and_told_about(answers):
    said = run("fit", answers, "--id", "person", "--alpha", "0.05", "--seed", "3")
    assert "800 rows, 6 variables, 16 missing values (0.3%)." in said
    assert "Strongest edges" in said
    # How it was computed is for those who ask.
    assert "Converged in" not in said
    assert "subgradient" not in said
    assert "Computation: the weights have no simulation error" in said
    assert re.search(r"Elapsed: \d+\.\d s\. Written: \S+", said)
    told = run("fit", answers, "--id", "person", "--alpha", "0.05", "--seed", "3", "--verbose")
    assert "Converged in" in told
    assert "Certificate of the last gradient:" in told
    fit = Fit.load(answers.with_suffix(".field"))
    assert fit.alpha == 0.05
    assert fit.settings["random_state"] == 3
    assert fit.settings["missing"] == "model"
    assert fit.model.domain.names == ("item 0", "item 1", "item 2", "score 3", "score 4", "score 5")
    mrf = sf.SparseMRF(0.05, random_state=3).fit(pl.read_csv(answers).drop("person"))
    np.testing.assert_array_equal(fit.model.interactions, mrf.interactions_)


def test_programs_get_one_object(answers, tmp_path):
    words = ["fit", str(answers), "--id", "person", "--json", "-o", str(tmp_path / "a.field")]
    # There is no bound on the gap where the model fills missing values, whatever one does about it.
    assert json.loads(CliRunner().invoke(app, words).stdout)["status"] == "converged"
    assert json.loads(CliRunner().invoke(app, [*words, "--missing", "drop"]).stdout)["status"] == "converged"
    found = json.loads(CliRunner().invoke(app, [*words, "--no-certify"]).stdout)
    assert found["status"] == "converged"
    assert found["n_variables"] == 6
    assert found["n_rows"] == 800
    assert found["files"] == [str(tmp_path / "a.field")]
    assert found["n_edges"] == sum(Fit.load(found["files"][0]).model.interactions[np.triu_indices(6, 1)] != 0)


def test_quiet_means_that_only_what_is_wrong_is_said(answers):
    assert run("fit", answers, "--id", "person", "--missing", "drop", "--quiet") == ""
    assert run("fit", answers, "--id", "person", "--no-certify", "--quiet") == ""


@pytest.mark.parametrize("quiet", [True, False])
def test_what_is_wrong_with_a_fit_is_said_on_standard_error(answers, quiet):
    for words, sentence in (
        (["--max-seconds", "0"], "before the first iteration: this is where it started. Raise --max-seconds"),
        (["--max-seconds", "0", "--no-certify"], "before the first iteration: this is where it started."),
    ):
        command = ["fit", str(answers), "--id", "person", *words, *(["--quiet"] if quiet else [])]
        result = CliRunner().invoke(app, command)
        assert result.exit_code == 0
        assert sentence in " ".join(result.stderr.split())
        assert result.stderr.count("Warning:") == 1
        assert (result.stdout == "") == quiet
        assert sentence not in result.stdout
        # Programs find it in their object.
        result = CliRunner().invoke(app, [*command, "--json"])
        assert result.stderr == ""
        assert sentence in json.loads(result.stdout)["sentence"]


@pytest.mark.parametrize(("missing", "expected"), [("model", 200), ("drop", 50)])
def test_progress_counts_to_the_limit_of_the_fit(answers, monkeypatch, missing, expected):
    limits = []

    class Bar(ProgressBar):
        def __init__(self, wanted, n):
            limits.append(n)
            super().__init__(wanted, n)

    monkeypatch.setattr("sparsefield.progress._bars.ProgressBar", Bar)
    run("fit", answers, "--id", "person", "--missing", missing, "--max-seconds", "0", "--quiet")
    assert limits == [expected]


def test_a_penalty_may_be_asked_for_by_its_default(answers, tmp_path):
    for words in ([], ["--alpha", "auto"]):
        run("fit", answers, "--id", "person", "--missing", "drop", *words, "-o", tmp_path / f"{len(words)}.field", "-q")
    chosen, asked = (Fit.load(tmp_path / f"{n}.field") for n in (0, 2))
    assert chosen.alpha == asked.alpha
    assert chosen.penalty == asked.penalty == "Ridge"
    assert "'much' is no number: use one from zero on, or auto." in run("fit", answers, "--alpha", "much", code=2)
    assert "Unless given, or with auto, edges are found without a penalty." in " ".join(run("fit", "--help").split())


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ([], "Column 'person' has 800 levels"),
        (["--id", "persn"], "There is no column 'persn'. Is it 'person'?"),
        (["--columns", "item 9"], "There is no column 'item 9'. Is it 'item 2'?"),
        (["--id", "person", "--alpha", "-1"], "alpha is -1.0: use a number from zero on."),
        (["--id", "person", "--missing", "guess"], "missing is 'guess'"),
        (["--id", "person", "--color", "kind"], "name the table that has this column with --nodes"),
        (["--id", "person", "-o", "no/such/a.field"], "there is no folder 'no/such': make it first."),
        (["--id", "person", "--separator", ";;"], "use a single character"),
        (["--ignore", "PERSON"], "There is no column 'PERSON'. Is it 'person'?"),
        (["--id", "person", "--text", "itm 1"], "There is no column 'itm 1'. Is it 'item 1'?"),
        (["--id", "person", "--ordinal", "scor 3"], "There is no column 'scor 3'. Is it 'score 3'?"),
        (["--id", "person,item 1"], "--id takes a single column: leave others out with --ignore."),
        (["--columns", "item 0,item 1,item 0"], "--columns names column 'item 0' twice: name it once."),
        (["--id", "person", "--ordinal", "score 3,score 3"], "--ordinal names column 'score 3' twice"),
        (["--id", "person", "--ordinal", "person"], "--ordinal names column 'person', which is left out"),
        (["--id", "person", "--ignore", "item 0", "--merge-levels", "item 0"], "'item 0', which is left out"),
        (["--columns", " , "], "No column is left to be a variable"),
    ],
)
def test_wrong_options_get_a_sentence(answers, options, sentence):
    assert sentence in run("fit", answers, *options, code=2)
    assert [path.name for path in answers.parent.iterdir()] == ["answers.csv"]


def test_options_reach_the_fit(answers, tmp_path):
    path = tmp_path / "a.field"
    words = ["--gap", "0.01", "--penalize-main", "--max-seconds", "50", "--threads", "1", "--missing", "drop"]
    run("fit", answers, "--id", "person", *words, "-o", path, "-q")
    settings = Fit.load(path).settings
    assert settings["gap"] == 0.01
    assert settings["penalize_main"] is True
    assert settings["max_seconds"] == 50
    assert settings["n_threads"] == 1
    assert settings["n_rows"] == 784
    said = run("certify", path, answers, "--draws", 20_000)
    assert "By enumeration" in said
    # Main effects are free unless told so.
    for words in ([], ["--free-main"]):
        run("fit", answers, "--id", "person", *words, "-o", path, "-q")
        assert Fit.load(path).settings["penalize_main"] is False
        assert Fit.load(path).penalize_main is False


def test_outputs_never_replace_inputs_or_each_other(answers, tmp_path):
    text = answers.read_text()
    for words in (["-o", answers], ["-o", tmp_path / "a.field", "--report", tmp_path / "a.field"]):
        assert "is named twice" in run("fit", answers, "--id", "person", *words, code=2)
    assert answers.read_text() == text


def test_another_table_is_not_what_was_fitted(answers, field):
    frame = pl.read_csv(answers)
    frame.head(300).write_csv(answers)
    assert "These are not the 800 rows" in run("certify", field, answers, code=2)


@pytest.mark.parametrize("missing", ["drop", "model"])
def test_a_fit_is_kept_when_its_certificate_cannot_be_had(answers, tmp_path, monkeypatch, missing):
    def stop(*_, **__):
        raise KeyboardInterrupt

    for name in ("assess", "assess_slope"):
        monkeypatch.setattr(f"sparsefield.optimality._certified_solve.{name}", stop)
    path = tmp_path / "a.field"
    said = run("fit", answers, "--id", "person", "--missing", missing, "-o", path, code=130)
    assert "Interrupted while it was certified: the fit is whole." in said
    fit = Fit.load(path)
    assert fit.status.code == "interrupted"
    assert fit.status.sentence.startswith("Converged in")
    assert fit.optimality is None
    assert fit.steps


def test_rare_levels_are_pointed_at(tmp_path):
    path = tmp_path / "words.csv"
    path.write_text("a,b\n" + "yes,no\nno,yes\n" * 40 + "yess,no\n", encoding="utf-8")
    assert "Column 'a' has the value 'yess' in 1 of 81 rows, the first in line 82: is it a typo?" in run("fit", path)


def test_names_that_look_like_markup_are_shown(tmp_path):
    path = tmp_path / "odd.csv"
    rows = sf.datasets.make_field(3, 1.0, seed=1).sample(300, method="perfect", seed=1).codes
    pl.DataFrame(rows, schema=["[/b]", ":heart:", "cost $ to $"]).write_csv(path)
    said = run("fit", path, "--picture", tmp_path / "odd.png", "--alpha", "0.01")
    assert "[/b]" in said
    assert ":heart:" in said


def test_remedies_are_options_of_the_program(answers, tmp_path):
    assert "raise --max-levels (32)" in run("fit", answers, code=2)
    path = tmp_path / "letter.txt"
    path.write_text("Dear reader,\nthis is a letter\n", encoding="utf-8")
    assert "set --separator" in run("fit", path, code=2)
    assert "set --missing to 'model', 'zero' or 'drop'" in run(
        "fit", answers, "--id", "person", "--missing", "error", code=2
    )
    # As many levels as the library can hold, and no more.
    assert "254" in run("fit", path, "--max-levels", 255, code=2)
    strong = sf.datasets.make_field(12, 0.9, (6.0, 8.0), seed=1)
    strong.save(tmp_path / "strong.field")
    assert "use --sweeps 1000" in run("sample", tmp_path / "strong.field", "-o", tmp_path / "rows.csv", code=2)


def test_constant_columns_are_noted_once(tmp_path):
    path = tmp_path / "constant.csv"
    path.write_text("a,b,c\n" + "0,1,7\n1,0,7\n" * 30, encoding="utf-8")
    said = run("fit", path)
    assert said.count("Column 'c' is constant (7): it gets no parameters and no edges.") == 1


def test_a_file_that_is_not_there_or_not_a_field_gets_a_sentence(answers, tmp_path):
    assert "There is no file" in run("fit", tmp_path / "answer.csv", code=2)
    assert "The folder has" in run("fit", tmp_path / "answer.csv", code=2)
    for command in (["report"], ["export", "-o", tmp_path / "a.gexf"], ["sample", "-o", tmp_path / "a.csv"]):
        assert "is not a saved field" in run(*command, answers, code=2)


def test_an_interrupt_leaves_a_usable_result(answers, monkeypatch):
    original, calls = _newton.find_move, []

    def stop_at_the_second(*words, **options):
        calls.append(words)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return original(*words, **options)

    monkeypatch.setattr(_newton, "find_move", stop_at_the_second)
    said = run("fit", answers, "--id", "person", "--alpha", 0.05, code=130)
    assert "Interrupted after 1 iteration: this is what there was by then." in said
    assert Fit.load(answers.with_suffix(".field")).status.code == "interrupted"


def test_a_fit_is_certified_and_the_certificate_saved(answers, tmp_path):
    path = tmp_path / "a.field"
    run("fit", answers, "--id", "person", "--missing", "zero", "-o", path, "-q")
    said = run("certify", path, answers, "--draws", 50_000)
    assert "By enumeration: the objective on these" in said
    assert Fit.load(path).optimality.gap > 0
    for words in ([], ["--certify"]):
        said = run("fit", answers, "--id", "person", "--missing", "zero", *words, "-o", path)
        assert "the fit is certified to be at its optimum, but for rounding" in said
        said = run("fit", answers, "--id", "person", "--missing", "zero", *words, "-o", path, "-v")
        assert "Certificate of the fit: By enumeration: the objective on these" in said
        assert Fit.load(path).optimality.gap < 0.05


@pytest.mark.parametrize("missing", ["model", "zero", "drop"])
def test_another_file_is_not_certified(answers, tmp_path, missing):
    path, other = tmp_path / "a.field", tmp_path / "other.csv"
    run("fit", answers, "--id", "person", "--missing", missing, "--gap", "0.05", "--no-certify", "-o", path, "-q")
    lines = answers.read_text().splitlines()
    changed = lines[7].replace("yes", "no", 1) if "yes" in lines[7] else lines[7].replace("no", "yes", 1)
    for rows in ([*lines[:7], changed, *lines[8:]], [lines[0], *lines[:0:-1]], lines[:-1]):
        other.write_text("\n".join(rows) + "\n")
        said = run("certify", path, other, "--draws", 1000, code=2)
        assert "other.csv': These are not the" in said
        assert "give the same table, its rows in the same order" in said
    assert Fit.load(path).optimality is None
    run("certify", path, answers, "--draws", 1000)
    assert Fit.load(path).optimality is not None


@pytest.mark.parametrize("missing", ["error", "drop"])
def test_a_file_that_could_not_be_fitted_is_another_one(tmp_path, missing):
    path, field = tmp_path / "table.csv", tmp_path / "a.field"
    rows = "0,1\n1,0\n" * 30
    path.write_text(f"a,b\n{rows}", encoding="utf-8")
    run("fit", path, "--missing", missing, "-o", field, "-q")
    path.write_text(f"a,b\n{rows}NA,1\n" if missing == "error" else "a,b\nNA,1\n", encoding="utf-8")
    for words in ([], ["--quiet"]):
        said = run("report", field, "--data", path, *words)
        assert "has other rows than the 60 that the field is fitted to" in said
        assert (f"Written: {field.with_suffix('.html')}" in said) == (not words)
    said = run("certify", field, path, code=2)
    assert "missing value" in said
    assert said.endswith("give the table that the field was fitted to.")


def test_a_table_of_constants_is_fitted_and_certified(tmp_path):
    path = tmp_path / "same.csv"
    pl.DataFrame({"a": [1, 1, 1], "b": ["x", "x", "x"]}).write_csv(path)
    said = run("fit", path)
    assert "There is no edge" in said
    assert "the fit is certified to be at its optimum, but for rounding" in said
