"""What is wrong with a table, in parts that a program can use and a sentence that people can read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from sparsefield.data._phrases import preview

# What there is in Python where the program has an option, or needs a value.
_IN_PYTHON = {
    "id": "drop, a method of the data frame",
    "ignore": "drop, a method of the data frame",
    "level": "missing_markers that lack it",
    "missing": "missing='model'",
}


class TableError(ValueError):
    """Something in a table that its owner can mend.

    Parameters
    ----------
    problem : str
        What is wrong.
    remedy : str
        What to do about it. "{option}" in it stands for the name of an option, which a command line spells otherwise
        than Python does.
    column : str, optional
        The column that it is about.
    row : int, optional
        The row, counted from zero.
    value : object, optional
        The value that is in the way.
    option : str, optional
        The option that the remedy speaks of, by its name in Python.
    path : Path, optional
        The file, where the problem names it.
    line : int, optional
        The line of that file, counted from one.

    Examples
    --------
    >>> import sparsefield as sf
    >>> try:
    ...     sf.encode([[0.5, 1], [1, 0]])
    ... except sf.TableError as error:
    ...     print(error.column, error.row, error.value)
    x0 0 0.5
    """

    def __init__(
        self,
        problem: str,
        remedy: str = "",
        *,
        column: str | None = None,
        row: int | None = None,
        value: Any = None,
        option: str | None = None,
        path: Path | None = None,
        line: int | None = None,
    ) -> None:
        self.problem, self.remedy, self.option = problem, remedy, option
        self.column, self.row, self.value = column, row, value
        self.path, self.line = path, line
        super().__init__(self.compose())

    def __reduce__(self) -> Any:
        """Say how another process can make the same error: exceptions forget keywords on the way."""
        parts = {name: getattr(self, name) for name in ("column", "row", "value", "option", "path", "line")}
        return partial(TableError, **parts), (self.problem, self.remedy)

    def placed(self, where: str, path: Path, line: int | None) -> TableError:
        """Return the same error, with the place in a file at which the problem is.

        The place stands for the row, whose number would be another one than people see in the file.
        """
        problem = self.problem if line is None else _name_row(self.problem, self.row, "this row")
        return TableError(
            f"{where}: {problem}",
            self.remedy,
            column=self.column,
            row=self.row,
            value=self.value,
            option=self.option,
            path=path,
            line=line,
        )

    def further_down(self, n: int) -> TableError:
        """Return the same error of a row that stands n rows further down: that of a part of a table."""
        if self.row is None or n == 0:
            return self
        parts = {name: getattr(self, name) for name in ("column", "value", "option", "path", "line")}
        problem = _name_row(self.problem, self.row, f"row {self.row + n}")
        return TableError(problem, self.remedy, row=self.row + n, **parts)

    def compose(self, spell: Callable[[str], str] = str) -> str:
        """Return the sentence, with the option spelled as a function of its name says."""
        return _compose(self.problem, self.remedy, self.option, spell)


@dataclass(frozen=True)
class Suspicion:
    """Something in a table that is legal, and that its owner may not have meant.

    Parameters
    ----------
    kind : str
        What it is: "missing code", "missing word", "variants", "rare", "count", "row names", "frequencies",
        "copies", "mostly missing", "empty rows", "rows left out", "few rows" or "taken word".
    problem : str
        What there is.
    remedy : str
        What to do about it, if it was not meant. "{option}" in it stands for the name of an option, which a command
        line spells otherwise than Python does.
    columns : tuple of str
        The columns that it is about.
    values : tuple
        The levels that it is about.
    option : str, optional
        The option that the remedy speaks of, by its name in Python, or in the program where that alone has it: "id",
        "ignore" and "level".
    row : int, optional
        The row that the problem speaks of, counted from zero.
    """

    kind: str
    problem: str
    remedy: str = ""
    columns: tuple[str, ...] = ()
    values: tuple[Any, ...] = ()
    option: str | None = None
    row: int | None = None

    def placed(self, where: str | None) -> Suspicion:
        """Return the same, with a place in a file, such as "line 3", for the row; None where that is not known."""
        return self if where is None else replace(self, problem=_name_row(self.problem, self.row, where))

    def compose(self, spell: Callable[[str], str] = str) -> str:
        """Return the sentence, with the option spelled as a function of its name says."""
        return _compose(self.problem, self.remedy, self.option, spell)

    def __str__(self) -> str:
        """Return the sentence, with what there is in Python in the place of options."""
        return self.compose(lambda option: _IN_PYTHON.get(option, option))


class ConstantColumnWarning(UserWarning):
    """A column has a single level, so that there is nothing to learn about it.

    Parameters
    ----------
    column : str
        Its name.
    level : object
        Its level.
    """

    def __init__(self, column: str, level: Any) -> None:
        self.column, self.level = column, level
        super().__init__(f"Column {column!r} is constant ({level!r}): it gets no parameters and no edges.")

    def __reduce__(self) -> Any:
        """Say how another process can make the same warning."""
        return ConstantColumnWarning, (self.column, self.level)


class UnknownLettersWarning(UserWarning):
    """Letters of an alignment are not in its alphabet, and count as gaps.

    Parameters
    ----------
    letters : mapping of str to int
        How often each of them occurs.
    """

    def __init__(self, letters: Mapping[str, int]) -> None:
        self.letters = dict(letters)
        counted = ", ".join(f"{letter} ({n})" for letter, n in self.letters.items())
        super().__init__(f"Letters that are not in the alphabet count as gaps: {counted}.")

    def __reduce__(self) -> Any:
        """Say how another process can make the same warning."""
        return UnknownLettersWarning, (self.letters,)


def check_file(path: Path) -> None:
    """Refuse the path of a file that is not there, or is a folder."""
    if not path.exists() and str(path) == "-":
        raise FileNotFoundError("There is no file '-': what another command writes is read from /dev/stdin.")
    if not path.exists() and re.match(r"\w{2,}:/", str(path)):
        raise FileNotFoundError(f"{str(path)!r} is no file, nor an address that is read: https://... or http://...")
    if not path.exists():
        near = sorted(other.name for other in path.parent.glob(f"*{path.suffix}")) if path.parent.is_dir() else []
        hint = f" The folder has {preview(near)}." if near and path.suffix else ""
        raise FileNotFoundError(f"There is no file {str(path)!r}: check its name and folder.{hint}")
    if path.is_dir():
        raise IsADirectoryError(f"{str(path)!r} is a folder: give the path of a file.")


def unknown_value(column: str, value: Any, levels: tuple[Any, ...]) -> TableError:
    """Return the error of a value that is not among the levels that its column must have."""
    return TableError(
        f"Column {column!r} has value {value!r}, which is not a level",
        f"its levels are {preview(levels)}",
        column=column,
        value=value,
    )


def _name_row(problem: str, row: int | None, where: str) -> str:
    """Return a sentence in which a row is called otherwise; names of columns and values, in quotes, stay."""
    if row is None:
        return problem
    return re.sub(rf"'[^']*'|\"[^\"]*\"|\brow {row}\b", lambda own: where if own[0][0] == "r" else own[0], problem)


def _compose(problem: str, remedy: str, option: str | None, spell: Callable[[str], str]) -> str:
    """Return what is the matter and what to do about it, with the option spelled as a function of its name says."""
    remedy = remedy if option is None else remedy.replace("{option}", spell(option))
    if not remedy:
        return f"{problem}."
    end = "" if remedy.endswith("?") else "."
    return f"{problem}{'.' if remedy[0].isupper() else ':'} {remedy}{end}"
