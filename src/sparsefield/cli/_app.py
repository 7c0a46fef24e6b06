"""The program: its name, its output, and how it says that something is wrong."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

import sparsefield
from sparsefield._writing import UnwritableError
from sparsefield.cli._commands import BAD_INPUT, INTERRUPTED, Commands, Stopped, print_json
from sparsefield.cli._help import Command
from sparsefield.cli._spelling import respell, spell

app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="The network behind discrete data: sparse Markov random fields, with certificates.",
)


_GLYPH = re.compile(r"Glyph (\d+) \(.*\) missing from font")  # what matplotlib says of a letter
_N_LETTERS = 8  # of those that are told


@app.command(cls=Command)
def version() -> None:
    """Print the version."""
    Console().print(sparsefield.__version__, highlight=False)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        version()
        raise typer.Exit


@app.callback()
def _about(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Take the options that come before a command."""


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
        self.is_silent = quiet and not as_json
        self._as_json = as_json
        self._notes: list[str] = []
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
        """Print something to look at, unless people asked for quiet, on standard error; programs find it in `notes`."""
        self._notes.append(sentence)
        if self.is_for_people:
            Console(stderr=True, highlight=False, soft_wrap=True).print(f"[bold yellow]Note:[/] {plain(sentence)}")

    def complain(self, sentence: str) -> None:
        """Print what is wrong with a result on standard error, for the quiet too; programs find it in their object."""
        if not self._as_json:
            Console(stderr=True, highlight=False, soft_wrap=True).print(f"[bold yellow]Warning:[/] {plain(sentence)}")

    def give(self, found: dict[str, Any]) -> None:
        """Print what was found for programs."""
        if self._as_json:
            print_json({**found, "notes": self._notes})


@contextmanager
def quiet_warnings(out: Output) -> Iterator[None]:
    """Turn the warnings of Python into notes for people."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for sentence in _join_glyphs(dict.fromkeys(str(own.message) for own in caught)):
        out.warn(respell(sentence))


def _join_glyphs(sentences: Iterable[str]) -> list[str]:
    """Say once what matplotlib says of each letter that its font does not have."""
    found = {sentence: _GLYPH.match(sentence) for sentence in sentences}
    letters = [chr(int(match[1])) for match in found.values() if match]
    others = [sentence for sentence, match in found.items() if not match]
    if not letters:
        return others
    some = "".join(letters[:_N_LETTERS]) + ("..." if len(letters) > _N_LETTERS else "")
    return [
        *others,
        f"The font of the picture has no letters for {some}, and shows boxes instead; the page shows them.",
    ]


@contextmanager
def plain_errors(
    path: Path | None = None, kept: Path | None = None, interrupted: Callable[[], str] | None = None
) -> Iterator[None]:
    """Turn errors that users can mend into one sentence, and an exit code.

    Parameters
    ----------
    path : Path, optional
        The file that is read: its name is added to what is wrong with a table, unless that says where in it.
    kept : Path, optional
        Where the result so far is saved, which is then said too.
    interrupted : callable, optional
        Returns what else to say of an interrupt.
    """
    saved = "" if kept is None else f" What there was by then is in {str(kept)!r}."
    files = None if kept is None else [str(kept)]
    try:
        yield
    except KeyboardInterrupt:
        more = "" if interrupted is None else f" {interrupted()}"
        what = saved + more or " There is nothing to keep yet."
        raise Stopped(f"Interrupted.{what}", INTERRUPTED, files=files) from None
    except (ValueError, OSError) as error:
        sentence, parts = _describe(error, path)
        raise Stopped(sentence + saved, BAD_INPUT, files=files, **parts) from None
    except MemoryError as error:
        from sparsefield.inference import DeviceMemoryError

        if not isinstance(error, DeviceMemoryError):  # which alone says what to do
            raise
        raise Stopped(respell(str(error)) + saved, BAD_INPUT, files=files) from None


def _describe(error: ValueError | OSError, path: Path | None) -> tuple[str, dict[str, Any]]:
    """Say what is wrong and in which file, with options as they are spelled here; also return what is known."""
    from sparsefield.data import TableError

    if isinstance(error, OSError) and error.filename is not None:
        is_said = isinstance(error, UnwritableError)
        return str(error) if is_said else f"{error.filename!r}: {error.strerror}.", {"file": str(error.filename)}
    if not isinstance(error, TableError):
        return respell(str(error)), {}
    sentence, file, line = respell(error.compose(spell)), error.path, error.line
    if file is None and path is not None:
        file, sentence = path, f"File {str(path)!r}: {sentence}"
    known = {"file": None if file is None else str(file), "line": line, "row": error.row, "column": error.column}
    return sentence, {**known, "option": None if error.option is None else spell(error.option)}
