"""The program itself: it starts, and says what it can do."""

import subprocess
import sys

import pytest

import sparsefield as sf
from support.program import run


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
