"""The page about the program shows what it says."""

import re
from pathlib import Path

import pytest

from program import run

PAGE = (Path(__file__).parents[2] / "docs" / "guide" / "program.md").read_text(encoding="utf-8")


def plain(text):
    """Return a text without frames, line ends, and how long it took."""
    text = re.sub(r"\d+\.\d s\.", "", re.sub(r"[│┃━┏┓┡┩┳╇└┘─┴]", " ", text))
    return " ".join(text.split())


@pytest.mark.parametrize("command", ["path", "bootstrap"])
def test_commands_say_what_the_page_shows(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (lines,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    exec(lines, {})
    ((words, shown),) = re.findall(rf"```text\n\$ sparsefield ({command} .*?)\n(.*?)```", PAGE, flags=re.DOTALL)
    said, start = plain(run(*words.split())), 0
    for part in shown.split("...\n"):
        assert plain(part) in said[start:]
        start = said.index(plain(part), start)
