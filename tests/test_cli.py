import subprocess
import sys

import matplotlib.image
import pytest
from typer.testing import CliRunner

import sparsefield
from sparsefield.cli import app


def test_the_demo_summarises_learns_and_draws(tmp_path):
    picture = tmp_path / "senate.png"
    result = CliRunner().invoke(app, ["demo", "--output", str(picture)])
    assert result.exit_code == 0, result.output
    assert "279 roll calls by 100 senators" in result.output
    assert "Rockefeller" in result.output
    assert "Strongest edges" in result.output
    assert "Certificate of the gradient: After 60 sweeps" in result.output
    assert "Certificate of the optimum: With confidence 0.99" in result.output
    assert matplotlib.image.imread(picture).shape[0] > 500


def test_the_demo_says_when_it_cannot_write(tmp_path):
    result = CliRunner().invoke(app, ["demo", "--output", str(tmp_path / "none" / "senate.png")])
    assert result.exit_code == 2
    assert "there is no folder" in result.output


@pytest.mark.parametrize("command", [["version"], ["--help"]])
def test_the_module_runs(command):
    result = subprocess.run(
        [sys.executable, "-m", "sparsefield", *command], capture_output=True, text=True, check=True, timeout=120
    )
    assert result.stdout.strip()
    if command == ["version"]:
        assert result.stdout.strip() == sparsefield.__version__
