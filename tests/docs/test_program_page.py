"""The page about the program shows what it says."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sparsefield.cli import app

PAGE = (Path(__file__).parents[2] / "docs" / "guide" / "program.md").read_text(encoding="utf-8")
SHOWN = [
    command
    for block in re.findall(r"```text\n(.*?)```", PAGE, flags=re.DOTALL)
    for command in re.findall(r"^\$ sparsefield (.*)\n((?:(?!\$ ).*\n)*)", block, flags=re.MULTILINE)
]


def plain(text):
    """Return a text without frames, line ends, and how long it took; what rounding errors leave is the same for all."""
    text = re.sub(r"\d+\.\d s\.", "", re.sub(r"[│┃━┏┓┡┩┳╇└┘─┴]", " ", text))
    return " ".join(re.sub(r"\d(\.\d+)?e-(0[5-9]|1\d)", "tiny", text).split())


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """What each command says, run in the order of the page, on the tables that the page makes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("page"))
        patch.setenv("COLUMNS", "100")  # as wide as the page
        for lines in re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL):
            exec(lines, {})
        return [CliRunner().invoke(app, words.replace('"', "").split()) for words, _ in SHOWN]


@pytest.mark.parametrize("k", range(len(SHOWN)), ids=[words.split()[0] + f"-{k}" for k, (words, _) in enumerate(SHOWN)])
def test_commands_say_what_the_page_shows(k, said):
    words, shown = SHOWN[k]
    output, start = plain(said[k].output), 0
    assert said[k].exit_code == (2 if shown.startswith("Error:") else 0), words
    for part in shown.split("...\n"):
        assert plain(part) in output[start:]
        start = output.index(plain(part), start)


def test_the_page_shows_what_every_usual_command_prints():
    assert {words.split()[0] for words, _ in SHOWN} == {
        *("fit", "infer", "path", "bootstrap", "certify", "export", "sample")
    }
