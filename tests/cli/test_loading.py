"""The program reads the tables that people have, and says what it assumed."""

import gzip
import json
import shlex
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import polars as pl
import pytest
import xlsxwriter
from typer.testing import CliRunner

import sparsefield as sf
from sparsefield import Fit
from sparsefield.cli import app
from support.program import run


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    return pl.DataFrame({name: rng.integers(0, 2, 60) for name in ("a", "b", "c")})


WORDS = ("--alpha", "0.1", "--no-certify")


def test_notes_are_printed_with_options_of_the_program(tmp_path, frame):
    path = tmp_path / "table.csv"
    frame.write_csv(path, separator=";", include_header=False)
    said = run("fit", path, *WORDS)
    assert "60 rows, 3 variables" in said
    assert "Note: Values are separated by semicolons" in said
    assert "is read as data, and they are called x0, x1, ... Use --header if it has their names." in said
    assert "Note" not in run("fit", path, "--no-header", "--separator", ";", *WORDS)


def test_sheets_are_chosen_and_read_again(tmp_path, frame):
    path = tmp_path / "table.xlsx"
    with xlsxwriter.Workbook(path) as book:
        pl.DataFrame({"other": [1, 2]}).write_excel(book, "first")
        frame.write_excel(book, "answers")
    assert "has 2 sheets, 'first', 'answers': the first is read. Choose another with --sheet." in run(
        "fit", path, *WORDS
    )
    field = tmp_path / "table.field"
    assert "60 rows, 3 variables" in run("fit", path, "--sheet", "answers", *WORDS)
    assert "By enumeration" in run("certify", field, path, "--sheet", "answers")
    assert "Written" in run("report", field, "--data", path, "--sheet", "2")
    assert "has no sheet 'nowhere'" in run("fit", path, "--sheet", "nowhere", code=2)


def test_the_command_at_the_end_of_a_path_reads_the_same(tmp_path, frame):
    path = tmp_path / "table.csv"
    frame.write_csv(path, separator=";", include_header=False)
    words = ["path", path, "--alphas", "0.3,0.1", "--no-header", "--separator", ";", "--json"]
    command = json.loads(CliRunner().invoke(app, [str(word) for word in words]).stdout)["command"]
    name, *again = shlex.split(command)
    assert name == "sparsefield"
    assert "60 rows, 3 variables" in run(*again, "--no-certify")


def test_words_are_looked_for_below_the_names_that_were_found(tmp_path):
    path = tmp_path / "table.csv"
    rows = "".join(f"{one},{two},{one}\n" for one in ("yes", "no") for two in ("some", "much")) * 9
    path.write_text("yes,None,yes\n" + rows)
    said = run("fit", path, *WORDS)
    assert "37 rows, 3 variables" in said
    assert "Column 'x1' has the word 'None' in 1 cell, which counts as" in said


def test_errors_have_the_line_of_the_file(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text('# by hand\n\na,b\n0,"x\ny"\n\n1,z\n0.5,z\n')
    assert "table.csv', line 8: Column 'a' is continuous: this row holds 0.5." in run("fit", path, code=2)
    rows = "".join(f"{k % 2},{k % 3}\r\n" for k in range(40))
    path.write_bytes(f"a,b\r\n\r\n{rows}x,1\r\n".encode())
    assert "table.csv', line 43: Column 'a' holds numbers, but this row has 'x'" in run("fit", path, code=2)


def test_results_lie_beside_packed_tables_and_tables_in_the_home_folder(tmp_path, frame, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "table.csv.gz").write_bytes(gzip.compress(frame.write_csv().encode()))
    run("fit", "~/table.csv.gz", *WORDS)
    assert (tmp_path / "table.field").exists()
    run("path", "~/table.csv.gz", "--alphas", "0.3,0.1")
    assert (tmp_path / "table.path.csv").exists()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def test_tables_on_the_web_are_read_and_results_lie_here(tmp_path, frame, monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    (tmp_path / "there").mkdir()
    (tmp_path / "here").mkdir()
    frame.write_csv(tmp_path / "there" / "table.csv")
    monkeypatch.chdir(tmp_path / "here")

    def serve(*given):
        return Quiet(*given, directory=str(tmp_path / "there"))

    with ThreadingHTTPServer(("127.0.0.1", 0), serve) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        address = f"http://127.0.0.1:{server.server_port}"
        assert "60 rows, 3 variables" in run("fit", f"{address}/table.csv?raw=1", *WORDS)
        assert f"'{address}/none.csv' cannot be read: the server answers 404" in run(
            "fit", f"{address}/none.csv", code=2
        )
        server.shutdown()
        thread.join()
    assert (tmp_path / "here" / "table.field").exists()


def test_names_of_variables_may_stand_in_a_column_without_a_name(tmp_path, frame):
    path, nodes = tmp_path / "table.csv", tmp_path / "nodes.csv"
    frame.write_csv(path)
    nodes.write_text(";group\na;x\nb;x\nc;y\n")
    said = run("fit", path, "--nodes", nodes, "--color", "group", *WORDS)
    assert "Values are separated by semicolons in file" in said
    nodes.write_text(",name,group\n0,a,x\n1,b,x\n2,c,y\n")
    assert "numbers the rows" in run("fit", path, "--nodes", nodes, "--color", "group", *WORDS)


def test_what_is_wrong_later_names_its_line_too(tmp_path):
    # Line 5 misses 21 of 22 values: more than can be summed out one by one when a fit is certified.
    rows = np.random.default_rng(1).integers(0, 2, (60, 22)).astype(str)
    rows[2, 1:] = ""
    lines = [",".join(f"x{i}" for i in range(22)), "", *(",".join(row) for row in rows)]
    path, field = tmp_path / "answers.csv", tmp_path / "answers.field"
    path.write_text("\n".join(lines) + "\n")
    domain = sf.Domain.binary(22)
    model = sf.PairwiseMRF(domain, np.zeros(22), np.zeros((22, 22)))
    known = {"alpha": 0.1, "penalty": "L1", "penalize_main": False, "settings": {"missing": "model"}}
    sf.Fit(model, sf.fits.Status("converged", "Done."), (), **known).save(field)
    result = CliRunner().invoke(app, ["certify", str(field), str(path)])
    assert result.exit_code == 2
    assert "answers.csv', line 5: Row 2 has 21 missing values" in result.stderr


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


def test_lines_are_counted_with_blank_ones(tmp_path):
    path = tmp_path / "blank.csv"
    path.write_text("a,b\n0,1\n\n\n1,0\n1,0.5\n", encoding="utf-8")
    assert "line 6: Column 'b' is continuous" in run("fit", path, code=2)
