"""The program as people call it."""

from typer.testing import CliRunner

from sparsefield.cli import app


def run(*words, code=0):
    """Run a command, check its exit code, and return what it said, without frames and line ends."""
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == code, (result.output, result.exception)
    return " ".join(result.output.replace("│", " ").split())
