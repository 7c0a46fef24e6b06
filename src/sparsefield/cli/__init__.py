"""The command line: the only room that prints."""

from sparsefield.cli import (  # noqa: F401
    _bootstrap,
    _demo,
    _export,
    _fit,
    _paper,
    _path,
    _report,
    _sample,
)
from sparsefield.cli._app import app

__all__ = ["app", "main"]


def main() -> None:
    """Run the command line."""
    app()
