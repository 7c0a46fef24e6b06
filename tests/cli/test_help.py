"""Help: sections, and lines that a terminal of 80 columns has room for."""

import pytest
from typer.testing import CliRunner

from sparsefield.cli import app
from sparsefield.cli._commands import _FILES
from sparsefield.cli._help import _SECTIONS


def read_help(*words):
    result = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "80"}, terminal_width=80)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.parametrize("command", sorted(set(_FILES)))
def test_help_has_room_in_eighty_columns(command):
    assert max(map(len, read_help(command).splitlines())) <= 80


def test_options_stand_in_sections():
    said = read_help("fit")
    places = [said.index(f"\n{section}:\n") for section in ("Arguments", "Model", "Data", "Output", "Resources")]
    assert places == sorted(places)
    data = said[places[2] : places[3]]
    assert data.index("--columns") < data.index("--weight") < data.index("--header")
    assert "--certify / --no-certify  " in said  # a flag takes no value


def test_every_option_that_has_a_section_is_one_of_some_command():
    every = "".join(read_help(command) for command in _FILES)
    for names in _SECTIONS.values():
        for name in names:
            assert f"--{name.replace('_', '-')}" in every, name


def test_the_help_of_the_program_says_whole_sentences():
    said = " ".join(read_help().split())
    assert "..." not in said.replace("[ARGS]...", "")
    assert "Fit a table with smaller and smaller penalties, and say which to take, and why." in said
