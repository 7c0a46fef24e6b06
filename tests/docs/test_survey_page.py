"""The tutorial about a survey shows what the program says."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sparsefield.cli import app

PAGE = (Path(__file__).parents[2] / "docs" / "guide" / "survey.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"```text\n\$ sparsefield ([^\n]*)\n(.*?)```", PAGE, flags=re.DOTALL)
(FIRST, *_) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)


def plain(text):
    """Return a text without frames, line ends, and how long it took."""
    return " ".join(re.sub(r"\d+\.\d s\.", "", re.sub(r"[│┃━┏┓┡┩┳╇└┘─┴]", " ", text)).split())


@pytest.mark.parametrize(
    ("words", "shown"), SHOWN, ids=[words.split()[0] + f"-{k}" for k, (words, _) in enumerate(SHOWN)]
)
def test_commands_say_what_the_tutorial_shows(words, shown, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")  # as wide as the page
    exec(FIRST, {})  # it writes the table
    result, start = CliRunner().invoke(app, words.split()), 0
    assert result.exit_code == (2 if shown.startswith("Error:") else 0), result.output
    said = plain(result.output)
    for part in shown.split("...\n"):
        assert plain(part) in said[start:]
        start = said.index(plain(part), start)


def test_the_tutorial_shows_a_question_and_a_fit():
    assert [words.split()[0] for words, _ in SHOWN] == ["fit", "fit"]
