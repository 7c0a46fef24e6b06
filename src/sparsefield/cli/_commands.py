"""The commands, each of which is imported when it is asked for, and how they end when something is wrong."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape
from typer.core import TyperGroup

BAD_INPUT, INTERRUPTED = 2, 130

# What is wrong with the words of a command: an error of click, or of typer's own copy of it, which has no name there.
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]

# In the order of the help: what people do first comes first.
_FILES = {
    "demo": "commands._demo",
    "fit": "commands._fit",
    "infer": "commands._infer",
    "certify": "commands._fit",
    "path": "commands._path",
    "bootstrap": "commands._bootstrap",
    "sample": "commands._sample",
    "report": "commands._report",
    "export": "commands._export",
    "paper": "commands._paper",
    "version": "_app",
}


class Stopped(Exception):  # noqa: N818  # also by people
    """A command ends before its time.

    Parameters
    ----------
    sentence : str
        What people are told.
    code : int
        The exit code.
    **parts
        What programs may want to know beside it; None where it is not known.
    """

    def __init__(self, sentence: str, code: int, **parts: Any) -> None:
        super().__init__(sentence)
        self.code = code
        self.parts = {name: part for name, part in parts.items() if part is not None}


def print_json(found: dict[str, Any]) -> None:
    """Print one object for programs."""
    sys.stdout.write(json.dumps(found, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


class Commands(TyperGroup):
    """The commands by name, and the file that has each: polars and numba, which most need, take a while to import."""

    _as_json = False

    def main(self, args: Any = None, **how: Any) -> Any:  # type: ignore[override]  # called by keywords alone
        """Run a command; with --json, errors in its own words are told as JSON too."""
        self._as_json = "--json" in (sys.argv[1:] if args is None else args)
        if not self._as_json:
            return super().main(args, **how)
        try:
            code = super().main(args, **{**how, "standalone_mode": False})
        except _UsageError as error:
            code = BAD_INPUT
            print_json({"error": error.format_message(), "exit_code": code})  # type: ignore[attr-defined]
        sys.exit(code or 0)

    def invoke(self, ctx: Any) -> Any:
        """Run a command, and say why it ends where it ends before its time."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            stopped = Stopped("Interrupted. There is nothing to keep yet.", INTERRUPTED)
        except Stopped as error:
            stopped = error
        if self._as_json:
            print_json({"error": str(stopped), "exit_code": stopped.code, **stopped.parts})
        else:
            label = "" if stopped.code == INTERRUPTED else "[bold red]Error:[/] "
            Console(stderr=True, highlight=False, soft_wrap=True).print(f"{label}{escape(str(stopped))}")
        raise typer.Exit(stopped.code)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write what each command does, whole."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl([(name, (own.help or "").partition("\n\n")[0]) for name, own in commands])

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
