"""Where the program cannot print, or is interrupted, it ends with a sentence and a code."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import sparsefield as sf
from sparsefield.cli._files import beside

FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full to print to")


@pytest.fixture
def field(tmp_path):
    """A saved field."""
    path = tmp_path / "a.field"
    sf.datasets.make_chain(4, seed=1).save(path)
    return path


def call(*words, **how):
    command = [sys.executable, "-m", "sparsefield", *map(str, words)]
    return subprocess.run(command, stderr=subprocess.PIPE, text=True, timeout=120, **how)


@needs_full
@pytest.mark.parametrize("more", [[], ["--json"]])
def test_work_is_done_though_standard_output_is_full(field, more):
    with FULL.open("w") as full:
        result = call("export", field, "-o", field.with_suffix(".json"), *more, stdout=full)
    assert result.stderr == "Error: Standard output cannot be written: No space left on device.\n"
    assert result.returncode == 2
    assert len(json.loads(field.with_suffix(".json").read_text())["edges"]) == 3


@needs_full
@pytest.mark.parametrize("words", [["--help"], ["version"]])
def test_a_full_standard_output_is_said_in_a_sentence(words):
    with FULL.open("w") as full:
        result = call(*words, stdout=full)
    assert result.stderr == "Error: Standard output cannot be written: No space left on device.\n"
    assert result.returncode == 2


@needs_full
def test_a_full_standard_error_ends_nothing():
    with FULL.open("w") as full:
        result = subprocess.run(
            [sys.executable, "-m", "sparsefield", "fit"], stdout=subprocess.PIPE, stderr=full, text=True, timeout=120
        )
    assert result.returncode == 2


def test_a_reader_that_has_seen_enough_is_no_error(field):
    words = [sys.executable, "-m", "sparsefield", "export", str(field), "-o", str(field.with_suffix(".json"))]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.close()  # before anything is printed
        assert process.stderr.read() == ""
    assert process.returncode == 0
    assert field.with_suffix(".json").exists()


INTERRUPT = """
import sys
class Finder:
    def find_spec(self, name, *_):
        if name == {name!r}:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Finder())
sys.argv = ["sparsefield", *{words!r}]
from sparsefield.cli import main
main()
"""


@pytest.mark.parametrize("name", ["typer", "sparsefield.network"])
@pytest.mark.parametrize("more", [[], ["--json"]])
def test_an_interrupt_while_modules_are_imported_is_a_sentence(field, name, more):
    words = ["export", str(field), "-o", str(field.with_suffix(".json")), *more]
    command = [sys.executable, "-c", INTERRUPT.format(name=name, words=words)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert result.returncode == 130
    sentence = "Interrupted. There is nothing to keep yet."
    if more:
        assert json.loads(result.stdout) == {"error": sentence, "exit_code": 130}
        assert result.stderr == ""
    else:
        assert result.stderr == f"{sentence}\n"
        assert result.stdout == ""


@pytest.mark.parametrize("data", ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", "https://host/stdin.csv?x=1"])
def test_results_are_written_here_where_nothing_can_be_beside_the_table(data):
    assert beside(Path(data), ".field").parent == Path()
