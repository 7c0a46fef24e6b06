"""What is checked on the servers is what is checked here."""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / ".ci" / "run"


@pytest.fixture
def make(tmp_path):
    """A `make` that says what it is asked for, and what must be tested."""
    path = tmp_path / "make"
    path.write_text('#!/bin/sh\necho "$@ $SPARSEFIELD_REQUIRE_BROWSER $SPARSEFIELD_REQUIRE_AVX2"\n')
    path.chmod(0o755)
    return tmp_path


def run(make, *targets):
    outer = {name: value for name, value in os.environ.items() if not name.startswith("SPARSEFIELD_")}
    places = outer | {"PATH": f"{make}{os.pathsep}{os.environ['PATH']}"}
    result = subprocess.run([SCRIPT, *targets], capture_output=True, text=True, check=True, env=places, timeout=60)
    return [line.split() for line in result.stdout.splitlines()]


def test_all_is_checked_unless_something_is_named(make):
    cpu = Path("/proc/cpuinfo")
    required = ["1", *(["1"] if cpu.exists() and re.search(r"\bavx2\b", cpu.read_text()) else [])]
    assert run(make) == [["lint", *required], ["test", *required], ["docs", *required]]
    assert run(make, "test") == [["test", *required]]


def test_the_servers_run_the_same_script():
    text = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    assert re.findall(r"- run: (.*)", text) == [".ci/run lint", ".ci/run test", ".ci/run docs"]
    assert "SPARSEFIELD_" not in text
