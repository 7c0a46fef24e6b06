"""The program: its name, its output, and how it says that something is wrong."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape

import sparsefield
from sparsefield.data import TableError, find_line

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


class Output:
    """What a command prints: for people, hardly anything, or for programs.

    Parameters
    ----------
    quiet : bool
        Print errors, and what is wrong with a result, and nothing else.
    as_json : bool
        Print nothing but one JSON object, at the end.
    """

    def __init__(self, *, quiet: bool = False, as_json: bool = False) -> None:
        self.is_for_people = not (quiet or as_json)
        self._as_json = as_json
        self._console = Console(highlight=False, emoji=False)

    @property
    def progress(self) -> bool | str:
        """Whether to show how far work is, as bars take it: to people, in a terminal."""
        return "auto" if self.is_for_people else False

    def say(self, what: Any, *, wraps: bool = True) -> None:
        """Print something for people; a text is taken literally, and broken into lines unless it is to be copied."""
        if self.is_for_people:
            self._console.print(plain(what) if isinstance(what, str) else what, soft_wrap=not wraps)

    def warn(self, sentence: str) -> None:
        """Print something that people may want to look at, unless they asked for quiet, on standard error."""
        if self.is_for_people:
            Console(stderr=True, highlight=False, soft_wrap=True).print(f"[bold yellow]Note:[/] {plain(sentence)}")

    def complain(self, sentence: str) -> None:
        """Print what is wrong with a result on standard error, for the quiet too; programs find it in their object."""
        if not self._as_json:
            Console(stderr=True, highlight=False, soft_wrap=True).print(f"[bold yellow]Warning:[/] {plain(sentence)}")

    def give(self, found: dict[str, Any]) -> None:
        """Print what was found for programs."""
        if self._as_json:
            sys.stdout.write(json.dumps(found, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


@contextmanager
def quiet_warnings(out: Output) -> Iterator[None]:
    """Turn the warnings of Python into notes for people."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for sentence in dict.fromkeys(str(own.message) for own in caught):
        out.warn(sentence)


@contextmanager
def plain_errors(
    path: Path | None = None, kept: Path | None = None, interrupted: Callable[[], str] | None = None
) -> Iterator[None]:
    """Turn errors that users can mend into one sentence on standard error, and an exit code.

    Parameters
    ----------
    path : Path, optional
        The file that is read: its name, and the line of a row, are added to what is wrong with a table.
    kept : Path, optional
        Where the result so far is saved, which is then said too.
    interrupted : callable, optional
        Returns what else to say of an interrupt.
    """
    saved = "" if kept is None else f" What there was by then is in {str(kept)!r}."
    try:
        yield
    except KeyboardInterrupt:
        more = "" if interrupted is None else f" {interrupted()}"
        what = saved + more or " There is nothing to keep yet."
        Console(stderr=True, highlight=False, soft_wrap=True).print(escape(f"Interrupted.{what}"))
        raise typer.Exit(INTERRUPTED) from None
    except (ValueError, OSError) as error:
        sentence = _compose(error, path) if isinstance(error, TableError) else str(error)
        Console(stderr=True, highlight=False, soft_wrap=True).print(f"[bold red]Error:[/] {escape(sentence + saved)}")
        raise typer.Exit(BAD_INPUT) from None


def spell(option: str) -> str:
    """Return an option of the library as it is typed here."""
    return {"sample_weight": "--weight"}.get(option, f"--{option.replace('_', '-')}")


def _compose(error: TableError, path: Path | None) -> str:
    """Say what is wrong with a table and where in its file, with options as they are spelled here."""
    sentence = error.compose(spell)
    if path is None or error.path is not None:
        return sentence
    line = None if error.row is None else find_line(path, error.row)
    return f"File {str(path)!r}{'' if line is None else f', line {line}'}: {sentence}"
