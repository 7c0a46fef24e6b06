"""What a file holds: a data frame, what was assumed in reading it, and on which line each row stands."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sparsefield.data import TableError

if TYPE_CHECKING:
    from sparsefield.tables.reading._source import Source


class ReadingWarning(UserWarning):
    r"""Something was assumed about a file that its owner may want to look at, such as its separator.

    Examples
    --------
    >>> import warnings
    >>> from pathlib import Path
    >>> import sparsefield as sf
    >>> _ = Path("answers.csv").write_text("mood;sleep\nlow;0\nhigh;1\n")
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always", sf.tables.ReadingWarning)
    ...     frame = sf.read_table("answers.csv")
    >>> print(caught[0].message)
    Values are separated by semicolons in file 'answers.csv'.
    """


@dataclass(frozen=True)
class Note:
    """A sentence about what was assumed in reading a file.

    Parameters
    ----------
    text : str
        The sentence. "{option}" in it stands for an option.
    option : str, optional
        The option, as it is given in Python, such as "header=True".
    """

    text: str
    option: str | None = None

    def compose(self, spell: Callable[[str], str] = str) -> str:
        """Return the sentence, with the option spelled as a function of it says."""
        return self.text if self.option is None else self.text.replace("{option}", spell(self.option))

    def __str__(self) -> str:
        return self.compose()


@dataclass(frozen=True)
class Lines:
    """The line on which each row begins: rows follow each other line by line, except where a jump is listed.

    Parameters
    ----------
    rows : ndarray of int
        The first row, zero, and those that do not stand on the line after the row before them.
    lines : ndarray of int
        The lines of these rows, counted from one as an editor does.
    n_rows : int
        The number of rows.
    """

    rows: NDArray[np.int64]
    lines: NDArray[np.int64]
    n_rows: int

    @classmethod
    def listed(cls, lines: list[int]) -> Lines:
        """Make it from the line of every row."""
        numbers = np.array(lines, dtype=np.int64)
        jumps = np.flatnonzero(np.diff(numbers, prepend=-1) != 1)
        return cls(jumps, numbers[jumps], len(lines))

    def of(self, row: int) -> int | None:
        """Return the line of a row; None where there is no such row."""
        if not 0 <= row < self.n_rows:
            return None
        k = int(np.searchsorted(self.rows, row, side="right")) - 1
        return int(self.lines[k] + row - self.rows[k])


@dataclass(frozen=True)
class Contents:
    """What a file holds, and what was assumed in reading it.

    Parameters
    ----------
    name : str
        The file, as its user names it.
    frame : polars.DataFrame
        Its rows and columns.
    notes : tuple of Note
        What was assumed, in sentences for people.
    lines : Lines, optional
        Where its rows stand, in files that have lines, or sheets that have rows.
    place : str
        What `lines` counts.
    header : bool, optional
        Whether the first row was taken for the names of the columns, where that was a question.
    source : Source, optional
        Where its bytes are, to read it once more: what came through a pipe or from the web is kept.
    """

    name: str
    frame: pl.DataFrame
    notes: tuple[Note, ...] = ()
    lines: Lines | None = None
    place: str = "line"
    header: bool | None = None
    source: Source | None = None

    def line_of(self, row: int) -> int | None:
        """Return the line of a row of the frame, counted from one; None where that cannot be told."""
        return None if self.lines is None else self.lines.of(row)

    def place_of(self, row: int | None) -> str | None:
        """Return where a row of the frame stands, such as "line 3"; None where that cannot be told."""
        line = None if row is None else self.line_of(row)
        return None if line is None else f"{self.place} {line}"

    def warn(self, stacklevel: int = 2) -> None:
        """Say what was assumed, as warnings."""
        for note in self.notes:
            warnings.warn(str(note), ReadingWarning, stacklevel=stacklevel + 1)

    @contextmanager
    def locate(self) -> Iterator[None]:
        """Add the file, and the line of the row, to what is found to be wrong with the table."""
        try:
            yield
        except TableError as error:
            if error.path is not None:
                raise
            line = None if error.row is None else self.line_of(error.row)
            place = self.place_of(error.row)
            where = f"File {self.name!r}" + ("" if place is None else f", {place}")
            raise error.placed(where, Path(self.name), line) from error.__cause__
