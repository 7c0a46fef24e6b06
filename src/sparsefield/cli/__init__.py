"""The command line: the only room that prints."""

from sparsefield.cli import _demo, _export, _fit, _paper, _report, _sample  # noqa: F401  (in the order of help)
from sparsefield.cli._app import app

__all__ = ["app", "main"]


def main() -> None:
    """Run the command line."""
    app()
