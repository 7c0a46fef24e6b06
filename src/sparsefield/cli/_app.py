"""The program: its name, how it speaks, and how it says that something is wrong."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape

import sparsefield
from sparsefield.inference import OutOfReachError

BAD_INPUT, INTERRUPTED = 2, 130

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="The network behind discrete data: sparse Markov random fields, with certificates.",
)


@app.callback()
def _about() -> None:
    """Keep the commands named, also while there is only one."""


@app.command()
def version() -> None:
    """Print the version."""
    Console().print(sparsefield.__version__, highlight=False)


class Voice:
    """How a command speaks: to people, hardly at all, or to programs.

    Parameters
    ----------
    quiet : bool
        Say only what is wrong.
    as_json : bool
        Say nothing but one JSON object, at the end.
    """

    def __init__(self, *, quiet: bool = False, as_json: bool = False) -> None:
        self.is_talking = not (quiet or as_json)
        self._as_json = as_json
        self._console = Console(highlight=False)

    def say(self, what: Any) -> None:
        """Print something for people; a text is taken literally."""
        if self.is_talking:
            self._console.print(escape(what) if isinstance(what, str) else what)

    def give(self, found: dict[str, Any]) -> None:
        """Print what was found for programs."""
        if self._as_json:
            sys.stdout.write(json.dumps(found, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


@contextmanager
def plain_errors(path: Path | None = None) -> Iterator[None]:
    """Turn errors that users can mend into one sentence on standard error, and an exit code.

    Parameters
    ----------
    path : Path, optional
        The file that is read: its name, and the line of a row, are added to the sentence.
    """
    try:
        yield
    except (ValueError, OSError, OutOfReachError) as error:
        sentence = str(error)
        if path is not None:
            sentence = _say_where(sentence, path)
        Console(stderr=True, highlight=False, soft_wrap=True).print(f"[bold red]Error:[/] {escape(sentence)}")
        raise typer.Exit(BAD_INPUT) from None


def _say_where(sentence: str, path: Path) -> str:
    """Add the name of the file, and the line that a row is on, where the sentence does not have them."""
    if str(path) in sentence:
        return sentence
    row = re.search(r"\brow (\d+)", sentence)
    # Rows count from 0, and the first line of a text file has the names.
    line = f", line {int(row[1]) + 2}" if row is not None and path.suffix.lower() != ".parquet" else ""
    return f"File {str(path)!r}{line}: {sentence}"
