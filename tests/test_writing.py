"""Files are whole or not there, and what killed processes leave is cleared."""

import errno
import os
import pickle
import signal
import subprocess
import sys

import pytest

import sparsefield as sf
from sparsefield import _writing
from sparsefield._writing import UnwritableError, whole_file, write_text


@pytest.fixture(autouse=True)
def fresh():
    """Look into folders again, as a new process does."""
    _writing._clear_parts.cache_clear()


def kill_while_it_writes(path):
    """Let a process be killed in the middle of a file, and return what it leaves."""
    lines = (
        "import os, signal, sys; from pathlib import Path; from sparsefield._writing import whole_file\n"
        "with whole_file(Path(sys.argv[1])) as rough:\n"
        "    rough.write_text('half'); os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    result = subprocess.run([sys.executable, "-c", lines, str(path)], timeout=60)
    assert result.returncode == -signal.SIGKILL
    (part,) = [own for own in path.parent.iterdir() if own.name.endswith(".part")]
    return part


def test_a_part_whose_writer_was_killed_is_cleared_by_the_next_run(tmp_path):
    part = kill_while_it_writes(tmp_path / "a.txt")
    assert part.read_text() == "half"
    write_text(tmp_path / "b.txt", "whole")
    assert [own.name for own in tmp_path.iterdir()] == ["b.txt"]


def test_parts_that_may_still_be_written_are_left_alone(tmp_path):
    machine = _writing._identify_machine()
    with whole_file(tmp_path / "a.txt") as rough:  # by this process, which runs
        rough.write_text("one")
        _writing._clear_parts.cache_clear()
        write_text(tmp_path / "a.txt", "two")
        assert rough.read_text() == "one"
    assert (tmp_path / "a.txt").read_text() == "one"
    dead = kill_while_it_writes(tmp_path / "b.txt").name
    others = [
        dead.replace(machine, "0123456789abcdef"),  # by a process of another machine
        dead.removeprefix("."),
        f"{dead}.txt",
        ".sparsefield-notes.part",
        ".a.txt.0123456789abcdef",
    ]
    for name in others:
        (tmp_path / name).write_text("of somebody else")
    _writing._clear_parts.cache_clear()
    write_text(tmp_path / "a.txt", "three")
    assert {own.name for own in tmp_path.iterdir()} == {"a.txt", *others}


def test_a_machine_that_is_not_known_clears_nothing(tmp_path, monkeypatch):
    part = kill_while_it_writes(tmp_path / "a.txt")
    monkeypatch.setattr(_writing, "_identify_machine", lambda: "0123456789abcdef")
    write_text(tmp_path / "a.txt", "whole")
    assert part.exists()


def test_names_may_be_as_long_as_the_system_allows(tmp_path):
    longest = tmp_path / ("x" * 255)
    write_text(longest, "whole")
    assert longest.read_text() == "whole"


def test_a_full_disk_names_the_file_that_was_wanted(tmp_path):
    write_text(tmp_path / "a.txt", "before")
    wanted = r"a\.txt' cannot be written: No space left on device\.$"
    with pytest.raises(UnwritableError, match=wanted) as caught, whole_file(tmp_path / "a.txt"):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert caught.value.errno == errno.ENOSPC
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    assert caught.value.filename == str(tmp_path / "a.txt")
    assert [own.name for own in tmp_path.iterdir()] == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "before"


def limit_files():
    """Let no file grow beyond a kilobyte, in the process that starts."""
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet"])
def test_a_table_that_does_not_fit_on_the_disk_names_its_file(tmp_path, ending):
    sf.datasets.make_chain(4, seed=1).save(tmp_path / "a.field")
    command = ["sample", tmp_path / "a.field", "--sweeps", "5", "-n", "20000", "-o", tmp_path / f"rows.{ending}"]
    result = subprocess.run(
        [sys.executable, "-m", "sparsefield", *map(str, command)],
        capture_output=True,
        text=True,
        timeout=120,
        preexec_fn=limit_files,
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert result.returncode == 2, result.stderr
    assert f"rows.{ending}' cannot be written: File too large" in " ".join(result.stderr.split())
    assert "Traceback" not in result.stderr
    assert [own.name for own in tmp_path.iterdir()] == ["a.field"]
