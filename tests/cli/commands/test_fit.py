"""The program as people use it: their own tables, with typos, and files that others read."""

import json
import subprocess
import sys
import xml.etree.ElementTree as ET

import matplotlib.image
import networkx as nx
import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import sparsefield as sf
from program import run
from sparsefield import Fit
from sparsefield.cli import app
from sparsefield.fitting import _learner
from sparsefield.progress import ProgressBar
from sparsefield.solvers import _newton


@pytest.fixture
def field(answers):
    """The answers, fitted and saved."""
    path = answers.with_suffix(".field")
    run("fit", answers, "--id", "person", "--alpha", "0.05", "--no-certify", "-o", path, "--quiet")
    return path


def test_a_table_is_fitted_saved_and_told_about(answers):
    said = run("fit", answers, "--id", "person", "--alpha", "0.05", "--seed", "3")
    assert "800 rows, 6 variables, 16 missing values (0.3%)." in said
    assert "Strongest edges" in said
    assert "Converged in" in said
    assert "Certificate:" in said
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


def test_columns_can_be_chosen(answers, tmp_path):
    run("fit", answers, "--columns", "item 0, score 3,score 4", "-o", tmp_path / "a.field", "-q")
    assert Fit.load(tmp_path / "a.field").model.domain.names == ("item 0", "score 3", "score 4")
    run("fit", answers, "--ignore", "person,item 1", "-o", tmp_path / "b.field", "-q")
    assert len(Fit.load(tmp_path / "b.field").model.domain.names) == 5


def test_other_separators_and_markers_are_read(tmp_path):
    path = tmp_path / "german.txt"
    path.write_text("a;b\n" + "1;0\n0;1\n-;1\n1;1\n" * 20, encoding="utf-8")
    said = run("fit", path, "--separator", ";", "--missing-marker", "-")
    assert "80 rows, 2 variables, 20 missing values" in said


# --- What can be wrong ---


def test_a_typo_in_a_cell_is_named_with_its_place_and_remedy(answers):
    text = answers.read_text().replace("\np7,", "\np7x,", 1).split("\n")
    text[30] = text[30][:-1] + "0.5"
    answers.write_text("\n".join(text))
    said = run("fit", answers, "--id", "person", code=2)
    assert "answers.csv', line 31: Column 'score 5' is continuous: this row holds 0.5." in said
    assert "Cut it into a few levels, or leave it out." in said
    assert not answers.with_suffix(".field").exists()


def test_a_word_among_numbers_is_taken_for_a_typo_unless_told_otherwise(answers, tmp_path):
    lines = answers.read_text().split("\n")
    lines[40] = lines[40][:-1] + "x"
    answers.write_text("\n".join(lines))
    said = run("fit", answers, "--id", "person", code=2)
    assert (
        "answers.csv', line 41: Column 'score 5' holds numbers, but this row has 'x' (1 such cell): correct it" in said
    )
    path = tmp_path / "a.field"
    run("fit", answers, "--id", "person", "--missing-marker", "x", "-o", path, "-q")
    assert Fit.load(path).model.domain.levels[5] == (0, 1)
    run("fit", answers, "--id", "person", "--text", "score 5", "-o", path, "-q")
    assert Fit.load(path).model.domain.levels[5] == ("0", "1", "x")


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


def test_lines_are_counted_with_blank_ones(tmp_path):
    path = tmp_path / "blank.csv"
    path.write_text("a,b\n0,1\n\n\n1,0\n1,0.5\n", encoding="utf-8")
    assert "line 6: Column 'b' is continuous" in run("fit", path, code=2)


def test_a_field_without_a_fit_can_be_exported_and_says_so_elsewhere(tmp_path):
    path = tmp_path / "plain.field"
    sf.datasets.make_chain(4, seed=1).save(path)
    run("export", path, "-o", tmp_path / "plain.graphml")
    assert nx.read_graphml(tmp_path / "plain.graphml").number_of_edges() == 3
    assert "holds a field without a fit" in run("report", path, code=2)


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


def test_groups_reach_the_page(answers, tmp_path):
    nodes = tmp_path / "nodes.csv"
    names = ["item 0", "item 1", "item 2", "score 3", "score 4", "score 5"]
    nodes.write_text("name,kind\n" + "".join(f"{name},kind-{name.split()[0]}\n" for name in names))
    run("fit", answers, "--id", "person", "--report", tmp_path / "a.html", "--nodes", nodes, "--color", "kind", "-q")
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert text.count('"group": "kind-item"') == 3
    nodes.write_text(nodes.read_text() + "item 0,again\n")
    said = run("fit", answers, "--id", "person", "--nodes", nodes, "--color", "kind", code=2)
    assert "names the variable 'item 0' more than once" in said


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


# --- What comes out ---


def test_exact_rows_are_drawn(field, tmp_path):
    run("sample", field, "-n", 50, "-o", tmp_path / "rows.csv", "--seed", 4)
    frame = pl.read_csv(tmp_path / "rows.csv")
    assert frame.shape == (50, 6)
    assert set(frame["item 0"]) <= {"no", "yes"}
    expected = Fit.load(field).model.sample(50, method="perfect", seed=4).to_frame()
    assert frame.equals(expected)
    run("sample", field, "-n", 50, "-o", tmp_path / "gibbs.csv", "--sweeps", 20)
    assert pl.read_csv(tmp_path / "gibbs.csv").shape == (50, 6)


def test_a_fit_is_certified_and_the_certificate_saved(answers, tmp_path):
    path = tmp_path / "a.field"
    run("fit", answers, "--id", "person", "--missing", "zero", "-o", path, "-q")
    said = run("certify", path, answers, "--draws", 50_000)
    assert "By enumeration: the objective on these" in said
    assert Fit.load(path).optimality.gap > 0
    for words in ([], ["--certify"]):
        said = run("fit", answers, "--id", "person", "--missing", "zero", *words, "-o", path)
        assert "By enumeration: the objective on these" in said
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


def test_pages_say_how_sure_edges_are_unless_told_not_to(answers, tmp_path):
    field, page = tmp_path / "a.field", tmp_path / "a.html"
    fit = ("fit", answers, "--id", "person", "--alpha", "0.02", "--no-certify", "-o", field, "--report", page)
    bootstrap = ("bootstrap", answers, "--id", "person", "--alpha", "0.02", "-n", 2, "--report", page)
    for words in (fit, bootstrap, ("report", field, "--data", answers, "-o", page)):
        run(*words, "--quiet")
        assert "at a false discovery rate of 0.1" in page.read_text(encoding="utf-8")
        said = run(*words, "--no-infer")
        assert "false discovery rate" not in said + page.read_text(encoding="utf-8")


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


def test_networks_are_written_for_other_programs(field, tmp_path):
    nodes = tmp_path / "nodes.csv"
    names = Fit.load(field).model.domain.names
    nodes.write_text("name,kind\n" + "".join(f"{name},{name.split()[0]}\n" for name in names))
    model = Fit.load(field).model
    weights = sf.make_graph(model).edges(data="weight")
    for ending, read in (("gexf", nx.read_gexf), ("graphml", nx.read_graphml)):
        path = tmp_path / f"net.{ending}"
        run("export", field, "-o", path, "--nodes", nodes)
        ET.parse(path)
        graph = read(path)
        assert set(graph.nodes) == set(names)
        assert graph.nodes["item 0"]["kind"] == "item"
        assert {frozenset(e[:2]): pytest.approx(e[2]) for e in graph.edges(data="weight")} == {
            frozenset(e[:2]): e[2] for e in weights
        }
    run("export", field, "-o", tmp_path / "edges.csv")
    edges = pl.read_csv(tmp_path / "edges.csv")
    assert edges.columns[:3] == ["first", "second", "weight"]
    assert len(edges.filter(pl.col("weight") != 0)) == len(weights)
    run("export", field, "-o", tmp_path / "matrix.csv", "--format", "adjacency")
    matrix = pl.read_csv(tmp_path / "matrix.csv")
    np.testing.assert_allclose(matrix[:, 1:].to_numpy(), model.interactions)
    run("export", field, "-o", tmp_path / "net.json")
    found = json.loads((tmp_path / "net.json").read_text())
    assert [node["name"] for node in found["nodes"]] == list(names)
    assert found["fit"]["status"] == "converged"
    assert "does not end in .gexf" in run("export", field, "-o", tmp_path / "net.xyz", code=2)
    assert "use gexf, graphml" in run("export", field, "-o", tmp_path / "net.xyz", "--format", "dot", code=2)


def test_a_table_of_variables_must_have_them_all(field, tmp_path):
    nodes = tmp_path / "nodes.csv"
    nodes.write_text("name,kind\nitem 0,a\nitem one,a\n")
    assert "does not have the variable 'item 1': add a row for it." in run(
        "export", field, "-o", tmp_path / "a.gexf", "--nodes", nodes, code=2
    )


def test_pages_and_pictures_are_written(answers, tmp_path):
    nodes = tmp_path / "nodes.csv"
    names = ["item 0", "item 1", "item 2", "score 3", "score 4", "score 5"]
    nodes.write_text("name,kind\n" + "".join(f"{name},{name.split()[0]}\n" for name in names))
    page, picture = tmp_path / "a.html", tmp_path / "a.png"
    run("fit", answers, "--id", "person", "--report", page, "--picture", picture, "--nodes", nodes, "--color", "kind")
    assert matplotlib.image.imread(picture).shape[0] > 500
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    field = answers.with_suffix(".field")
    said = run("report", field, "-o", tmp_path / "b.html", "--data", answers, "--title", "My answers")
    assert "other rows" not in said
    others = tmp_path / "others.csv"
    lines = answers.read_text().splitlines()
    others.write_text("\n".join([lines[0], *reversed(lines[1:])]))
    said = run("report", field, "-o", tmp_path / "c.html", "--data", others)
    assert "other rows than the 800 that the field is fitted to" in said
    text = (tmp_path / "b.html").read_text(encoding="utf-8")
    assert "<h1>My answers</h1>" in text
    assert "800 rows, 16 missing values" in text
    assert 'id="compare"' not in text
    assert "does not end in .png" in run("fit", answers, "--id", "person", "--picture", tmp_path / "a.bmp", code=2)


def test_the_demo_summarises_learns_and_draws(tmp_path):
    said = run("demo", "--output", tmp_path)
    assert "279 roll calls by 100 senators" in said
    assert "Rockefeller" in said
    assert "Strongest edges" in said
    assert "Certificate of the gradient: The last gradient had no bias" in said
    assert "With confidence 0.99" in said
    assert matplotlib.image.imread(tmp_path / "senate.png").shape[0] > 500
    assert "The Senate of 2006" in (tmp_path / "senate.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("when", ["before the first step", "at a step"])
def test_the_demo_ends_when_it_is_interrupted(tmp_path, monkeypatch, when):
    def stop(*_, **__):
        raise KeyboardInterrupt

    at_start = when == "before the first step"
    monkeypatch.setattr(_learner if at_start else _newton, "solve_pseudo_likelihood" if at_start else "find_move", stop)
    said = run("demo", "--output", tmp_path, code=130)
    assert ("There is nothing to keep yet" if at_start else "Interrupted after 0 iterations") in said
    assert "Certificate of the fit" not in said
    assert (tmp_path / "senate.html").exists() != at_start


def test_the_demo_says_when_it_cannot_write(tmp_path):
    assert "there is no folder" in run("demo", "--output", tmp_path / "none", code=2)


@pytest.mark.parametrize("command", [["version"], ["--version"], ["--help"], ["fit", "--help"]])
def test_the_module_runs(command):
    result = subprocess.run(
        [sys.executable, "-m", "sparsefield", *command], capture_output=True, text=True, check=True, timeout=120
    )
    assert result.stdout.strip()
    if "version" in command[0]:
        assert result.stdout.strip() == sf.__version__


def test_help_names_all_commands_and_what_they_do():
    said = run("--help")
    for word in ("demo", "fit", "certify", "path", "bootstrap", "sample", "report", "export", "paper", "version"):
        assert f" {word} " in said
    assert "Learn the network behind a table, and save it." in said
    assert "No such command 'fitt'" in run("fitt", code=2)


def test_a_table_of_constants_is_fitted_and_certified(tmp_path):
    path = tmp_path / "same.csv"
    pl.DataFrame({"a": [1, 1, 1], "b": ["x", "x", "x"]}).write_csv(path)
    said = run("fit", path)
    assert "0 edges" in said
    assert "Certified: it is at most 0 above its optimum" in said
