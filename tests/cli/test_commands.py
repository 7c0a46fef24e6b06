"""With --json, programs get one object on standard output when something is wrong, too."""

import errno
import json
import os

import pytest
from typer.testing import CliRunner

import sparsefield as sf
from sparsefield.cli import app


def ask(*words, code=2):
    """Run a command for programs, and return what it prints."""
    result = CliRunner().invoke(app, [*map(str, words), "--json"])
    assert result.exit_code == code, (result.output, result.exception)
    assert result.stderr == ""
    found = json.loads(result.stdout)
    assert found["exit_code"] == code
    return found


def test_what_is_wrong_with_a_table_is_told_in_parts(answers):
    lines = answers.read_text().split("\n")
    lines[30] = lines[30][:-1] + "0.5"
    answers.write_text("\n".join(lines))
    found = ask("fit", answers, "--id", "person")
    assert found.pop("error").startswith(
        f"File '{answers}', line 31: Column 'score 5' is continuous: this row holds 0.5"
    )
    assert found == {"exit_code": 2, "file": str(answers), "line": 31, "row": 29, "column": "score 5"}


def test_an_option_that_helps_is_named(answers):
    found = ask("fit", answers)
    assert "raise --max-levels (32)" in found["error"]
    assert found["option"] == "--max-levels"
    assert found["column"] == "person"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--alpha", "much"], "Invalid value for '--alpha'"),
        (["--alphas", "1"], "No such option: --alphas"),
        (["-o", "no/such/a.field"], "there is no folder 'no/such': make it first."),
        (["--id", "person", "--missing", "guess"], "missing is 'guess'"),
    ],
)
def test_wrong_words_are_told(answers, words, sentence):
    assert sentence in ask("fit", answers, *words)["error"]


def test_an_unknown_command_and_a_missing_file_are_told(tmp_path):
    assert "No such command 'fitt'" in ask("fitt")["error"]
    assert "Missing argument" in ask("fit")["error"]
    assert "There is no file" in ask("fit", tmp_path / "none.csv")["error"]


def test_an_interrupt_is_told(answers, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("sparsefield.cli._loading.encode", stop)
    found = ask("fit", answers, "--id", "person", code=130)
    assert found["error"] == "Interrupted. There is nothing to keep yet."


def test_a_full_disk_is_told_with_the_file_that_was_wanted(answers, monkeypatch):
    def fail(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    output = answers.with_name("a.field")
    monkeypatch.setattr("pathlib.Path.replace", fail)
    found = ask("fit", answers, "--id", "person", "--alpha", "0.1", "--no-certify", "-o", output)
    assert found == {
        "error": f"'{output}' cannot be written: No space left on device.", "exit_code": 2, "file": str(output)
    }  # fmt: skip
    assert not output.exists()


def test_a_page_that_cannot_be_written_leaves_the_fit(answers, monkeypatch):
    def fail(path, _):
        raise sf._writing.UnwritableError(path, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))

    output, page = answers.with_name("a.field"), answers.with_name("a.html")
    monkeypatch.setattr("sparsefield.report._report.write_text", fail)
    words = ["--id", "person", "--alpha", "0.1", "--no-certify", "-o", output, "--report", page]
    found = ask("fit", answers, *words)
    assert f"'{page}' cannot be written: No space left on device. What there was by then is in" in found["error"]
    assert (found["file"], found["files"]) == (str(page), [str(output)])
    assert sf.Fit.load(output).alpha == 0.1
