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


def plain(text: str) -> str:
    """Return a text that a terminal shows as it is: no markup, no control characters."""
    shown = "".join(mark if mark.isprintable() or mark == "\n" else "\N{REPLACEMENT CHARACTER}" for mark in text)
    return escape(shown)


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
        self._console = Console(highlight=False, emoji=False)

    def say(self, what: Any) -> None:
        """Print something for people; a text is taken literally."""
        if self.is_talking:
            self._console.print(plain(what) if isinstance(what, str) else what)

    def warn(self, sentence: str) -> None:
        """Print something that people should look at, unless they asked for quiet, on standard error."""
        if self.is_talking:
            Console(stderr=True, highlight=False, soft_wrap=True).print(f"[bold yellow]Note:[/] {plain(sentence)}")

    def give(self, found: dict[str, Any]) -> None:
        """Print what was found for programs."""
        if self._as_json:
            sys.stdout.write(json.dumps(found, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


@contextmanager
def plain_errors(path: Path | None = None, kept: Path | None = None) -> Iterator[None]:
    """Turn errors that users can mend into one sentence on standard error, and an exit code.

    Parameters
    ----------
    path : Path, optional
        The file that is read: its name, and the line of a row, are added to the sentence.
    kept : Path, optional
        Where the result so far is saved, which is then said too.
    """
    saved = "" if kept is None else f" What there was by then is in {str(kept)!r}."
    try:
        yield
    except KeyboardInterrupt:
        what = saved or " There is nothing to keep yet."
        Console(stderr=True, highlight=False, soft_wrap=True).print(escape(f"Interrupted.{what}"))
        raise typer.Exit(INTERRUPTED) from None
    except (ValueError, OSError, OutOfReachError) as error:
        # Options have other names here than in Python.
        sentence = (
            str(error)
            .replace("raise max_levels", "raise --max-levels")
            .replace("Give the separator", "Use --separator")
        )
        if path is not None:
            sentence = _say_where(sentence, path)
        Console(stderr=True, highlight=False, soft_wrap=True).print(f"[bold red]Error:[/] {escape(sentence + saved)}")
        raise typer.Exit(BAD_INPUT) from None


def _say_where(sentence: str, path: Path) -> str:
    """Add the name of the file, and the line that a row is on, where the sentence does not have them."""
    if str(path) in sentence:
        return sentence
    row = re.search(r"(?:: |but |in )row (\d+)", sentence)
    line = None if row is None or path.suffix.lower() == ".parquet" else _find_line(path, int(row[1]))
    return f"File {str(path)!r}{'' if line is None else f', line {line}'}: {sentence}"


def _find_line(path: Path, row: int) -> int | None:
    """Return the line of a row, from 0 on, less blank lines and the names; None where quotes may hide line ends."""
    with path.open(encoding="utf-8-sig", errors="replace") as lines:
        n_rows = -1  # the first line has the names
        for number, line in enumerate(lines, start=1):
            if '"' in line:
                return None
            n_rows += bool(line.strip())
            if n_rows == row + 1:
                return number
    return None
