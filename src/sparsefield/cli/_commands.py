"""The commands, each of which is imported when it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

# In the order of the help: what people do first comes first.
_FILES = {
    "demo": "_demo",
    "fit": "_fit",
    "certify": "_fit",
    "path": "_path",
    "bootstrap": "_bootstrap",
    "sample": "_sample",
    "report": "_report",
    "export": "_export",
    "paper": "_paper",
    "version": "_app",
}


class Commands(TyperGroup):
    """The commands by name, and the file that has each: polars and numba, which most need, take a while to import."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002  # asked for by typer
        """Return the names of all commands."""
        return list(_FILES)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """Return a command, or None where there is none of this name."""
        if cmd_name not in _FILES:
            return None
        import_module(f"sparsefield.cli.{_FILES[cmd_name]}")  # which registers it
        from sparsefield.cli._app import app

        return typer.main.get_group(app).commands[cmd_name]
