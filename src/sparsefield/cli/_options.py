"""Options that several commands share, and reading what they name."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sparsefield.cli._app import Output, plain_errors

if TYPE_CHECKING:  # `data`, numpy and polars are imported where something is read: help need not wait for them
    import polars as pl

    from sparsefield.data import Contents, Domain, Table

MAX_LEVELS, MOST_LEVELS = 32, 254  # those of `data`; a test compares them
_MANY_ROWS = 50
_FEW_LEVELS = 11  # numbers with as many levels are mostly scales: 0 to 10 is the longest in use
_RARE = 0.05  # of the cells of a column: words among numbers are then taken for typos

Data = Annotated[
    Path,
    typer.Argument(
        help="A table, one row each: .csv, .tsv, .xlsx, .sav, .dta, .parquet, also as .gz or https://...; or an "
        "alignment: .fasta, .a2m, .sto."
    ),
]


def _read_alpha(word: str) -> float | None:
    """Return a penalty, or None for the one that is chosen."""
    try:
        return None if word == "auto" else float(word)
    except ValueError:
        raise typer.BadParameter(f"{word!r} is no number: use one from zero on, or auto.") from None


Alpha = Annotated[
    float | None,
    typer.Option(
        parser=_read_alpha,
        metavar="NUMBER",
        help="Strength of the penalty: larger gives fewer edges; chosen by the EBIC unless given, or with auto.",
    ),
]
FieldFile = Annotated[Path, typer.Argument(help="A fitted field, as `sparsefield fit` writes it.")]
Columns = Annotated[
    str | None, typer.Option(metavar="A,B,...", help="The columns to use as variables; all unless given.")
]
Ignore = Annotated[str | None, typer.Option(metavar="A,B,...", help="Columns to leave out.")]
Id = Annotated[str | None, typer.Option("--id", metavar="COLUMN", help="A column that names the rows: no variable.")]
Separator = Annotated[
    str | None,
    typer.Option(metavar="CHAR", help="What separates the values of a text file, such as ';'; found out unless given."),
]
Sheet = Annotated[str | None, typer.Option(metavar="NAME", help="The sheet of a workbook; the first unless given.")]
Header = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="Whether the first row names the columns; found out unless given."),
]
Marker = Annotated[
    list[str] | None,
    typer.Option("--missing-marker", metavar="WORD", help="A word that means a missing cell, besides NA, NaN, ..."),
]
MaxLevels = Annotated[int, typer.Option(min=1, max=MOST_LEVELS, help="Columns with more levels are refused.")]
AsText = Annotated[
    str | None,
    typer.Option(
        "--text", metavar="A,B,...", help="Columns in which few words among numbers are levels, and no typos."
    ),
]
Ordinal = Annotated[
    str | None,
    typer.Option(
        metavar="A,B,...",
        help="Columns whose levels are ordered, or 'all' with numbers; the order of words as 'mood=low<mid<high'.",
    ),
]
Penalty = Annotated[
    str,
    typer.Option(
        help="group (all levels of two variables together), l1 (each by itself), or auto: group with more than two "
        "levels."
    ),
]
Missing = Annotated[str, typer.Option(help="Missing values: model, zero, drop or error.")]
PenalizeMain = Annotated[
    bool,
    typer.Option("--penalize-main/--free-main", help="Penalise main effects too (the paper's choice), or not."),
]
MaxIter = Annotated[
    int | None,
    typer.Option(min=1, help="Steps after which a fit ends; 50 unless given, and 200 with missing values."),
]
Nodes = Annotated[
    Path | None, typer.Option(help="A table with a row for each variable: its name first, then what is known of it.")
]
Color = Annotated[str | None, typer.Option(metavar="COLUMN", help="The column of --nodes whose groups give colours.")]
Seed = Annotated[int, typer.Option(min=0, help="Where the random numbers start.")]
Threads = Annotated[int | None, typer.Option(min=1, help="Threads to use; the result does not depend on it.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say only what is wrong.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object, for programs, and nothing else.")]


@dataclass(frozen=True)
class Reading:
    """How a table is read: options that all commands have which learn from one."""

    columns: Columns = None
    ignore: Ignore = None
    id: Id = None
    separator: Separator = None
    sheet: Sheet = None
    header: Header = None
    missing_marker: Marker = None
    text: AsText = None
    ordinal: Ordinal = None
    max_levels: MaxLevels = MAX_LEVELS

    def load(self, path: Path, out: Output) -> Table:
        """Read a table, and take the columns that are asked for; say what it holds, and what to look at."""
        table, notes = _load(path, self)
        out.say(_describe(table))
        for note in notes:
            out.warn(note)
        return table


def _load(path: Path, how: Reading) -> tuple[Table, list[str]]:
    """Read a table, and take the columns that are asked for; also return what people should look at."""
    from sparsefield.data import is_alignment

    with plain_errors(path):
        contents, notes = _read_file(path, how.missing_marker, how.separator, how.sheet, how.header)
        with contents.locate():
            table, more = _take(contents.frame, how)
        # Rare letters are common in alignments, and no typos.
        typos = [] if is_alignment(path) else _list_rare(table)
        return table, [*notes, *more, *typos, *_list_unordered(table)]


def _take(frame: pl.DataFrame, how: Reading) -> tuple[Table, list[str]]:
    """Take the columns that are asked for; also return which of them are constant."""
    from sparsefield.data import ConstantColumnWarning, TableError, encode

    wanted = _split(how.columns, frame) if how.columns else frame.columns
    left_out = {*(_split(how.ignore, frame) if how.ignore else ()), *([_find(how.id, frame)] if how.id else ())}
    kept = [name for name in dict.fromkeys(wanted) if name not in left_out]
    if not kept:
        raise TableError("No column is left to be a variable", "name others")
    as_text = _split(how.text, frame) if how.text else []
    for name in kept:
        if name not in as_text:
            _refuse_typo(frame[name])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConstantColumnWarning)
        ordinal = None if how.ordinal is None else _read_order(how.ordinal, frame.select(kept))
        table = encode(frame.select(kept), ordinal=ordinal, max_levels=how.max_levels)
    return table, [str(own.message) for own in caught if issubclass(own.category, ConstantColumnWarning)]


def _read_order(words: str, frame: pl.DataFrame) -> bool | dict[str, list[str]]:
    """Read which columns are ordered: 'all', or names, each of which may have the order of its levels."""
    if words == "all" and "all" not in frame.columns:
        return True
    found: dict[str, list[str]] = {}
    for word in [words] if words in frame.columns else words.split(","):
        name, is_given, order = (word.strip(), "", "") if word in frame.columns else word.strip().partition("=")
        levels = [level.strip() for level in order.split("<")] if is_given else []
        column = frame[_find(name, frame)]
        found[column.name] = _check_order(column, levels)
    return found


def _check_order(column: pl.Series, levels: list[str]) -> list[str]:
    """Return the order of levels that are words; numbers have their own, which is all that can be asked of them."""
    from sparsefield.data import TableError, preview

    if not levels or not column.dtype.is_numeric():
        return levels
    seen = column.drop_nulls().unique().sort().to_list()
    try:
        numbers = [float(level) for level in levels]
        is_own = numbers == sorted(set(numbers)) and set(seen) <= set(numbers)
    except ValueError:
        is_own = False
    if not is_own:
        raise TableError(
            f"Column {column.name!r} holds the numbers {preview(seen)}, which cannot be ordered as {'<'.join(levels)}",
            f"use --ordinal {column.name!r} for their own order, or write words in their place for another",
            column=column.name,
        )
    return []


def _list_unordered(table: Table) -> list[str]:
    """Say which columns look as if their levels were ordered, and count as if they were not."""
    from sparsefield.data import preview

    domain = table.domain
    names = [
        name
        for name, levels, is_ordered in zip(domain.names, domain.levels, domain.is_ordered, strict=True)
        if not is_ordered and 2 < len(levels) <= _FEW_LEVELS and all(type(level) is int for level in levels)
    ]
    if not names:
        return []
    which = f"Columns {preview(names)} have" if len(names) > 1 else f"Column {names[0]!r} has"
    return [
        f"{which} numbers as levels, which count as categories without an order: --ordinal all, or their names, makes "
        "edges with a sign of them."
    ]


def _read_file(
    path: Path, markers: Sequence[str] | None, separator: str | None, sheet: str | None, header: bool | None
) -> tuple[Contents, list[str]]:
    """Read a file; also return what was assumed, and what it says about letters that count as gaps."""
    from sparsefield.data import MISSING_MARKERS, UnknownLettersWarning, read_contents

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UnknownLettersWarning)
        contents = read_contents(
            path,
            missing_markers=(*MISSING_MARKERS, *(markers or ())),
            separator=_unescape(separator),
            sheet=sheet,
            header=header,
        )
    letters = [str(own.message) for own in caught if issubclass(own.category, UnknownLettersWarning)]
    return contents, [*(note.for_program() for note in contents.notes), *letters]


def _describe(table: Table) -> str:
    """Say in a line what a table holds."""
    n = int(table.n_missing.sum())
    missing = f", {n} missing values ({n / table.codes.size:.1%})" if n else ", no missing values"
    return f"{table.n_rows} rows, {table.domain.n_variables} variables{missing}."


def load_same(
    path: Path,
    domain: Domain,
    separator: str | None,
    markers: Sequence[str] | None,
    out: Output,
    sheet: str | None = None,
    header: bool | None = None,
) -> Table:
    """Read a table again, with the variables and levels that a field already has."""
    from sparsefield.data import encode

    with plain_errors(path):
        contents, notes = _read_file(path, markers, separator, sheet, header)
        with contents.locate():
            table = encode(contents.frame.select(_split(domain.names, contents.frame)), domain=domain)
    for note in notes:
        out.warn(note)
    return table


def _refuse_typo(column: pl.Series) -> None:
    """Refuse a column of whole numbers in which a few cells are words: one typo makes a reader take all for text."""
    import polars as pl

    from sparsefield.data import TableError

    if column.dtype != pl.String:
        return
    is_word = column.str.strip_chars().cast(pl.Int64, strict=False).is_null() & column.is_not_null()
    n_words, n_cells = int(is_word.sum()), len(column) - column.null_count()
    if 0 < n_words < _RARE * n_cells:
        row = int(is_word.arg_true()[0])
        raise TableError(
            f"Column {column.name!r} holds numbers, but row {row} has {column[row]!r} ({n_words} such cell(s))",
            f"correct it, name it with --missing-marker if it means a missing value, or use --text {column.name!r} if "
            "it is a level",
            column=column.name,
            row=row,
            value=column[row],
        )


@dataclass(frozen=True)
class Groups:
    """What is known of the variables, and which of it gives colours.

    Parameters
    ----------
    attributes : dict of variable to attributes
        All that the table of nodes says.
    group_of : dict of variable to group, optional
        The group of each variable, where one was asked for.
    """

    attributes: dict[str, dict[str, Any]]
    group_of: dict[str, str] | None = None


def load_groups(path: Path | None, color: str | None, names: Sequence[str], out: Output) -> Groups:
    """Read the table of variables, and the groups that give colours."""
    from sparsefield.data import TableError, read_contents

    if path is None:
        if color is not None:
            raise typer.BadParameter(
                "name the table that has this column with --nodes: a row for each variable.", param_hint="--color"
            )
        return Groups({})
    with plain_errors(path):
        contents = read_contents(path, as_text=True)
        for note in contents.notes:
            out.warn(note.for_program())
        frame = contents.frame
        if frame.width < 2:
            raise TableError("The table of variables has a single column", "give names, and what is known of them")
        key = frame.columns[0]
        if frame[key].n_unique() < len(frame):
            twice = frame[key].filter(frame[key].is_duplicated())[0]
            raise TableError(
                f"Column {key!r} names the variable {twice!r} more than once",
                "keep one row of it",
                column=key,
                value=twice,
            )
        rows = {str(row[key]): {k: v for k, v in row.items() if k != key and v is not None} for row in frame.to_dicts()}
        missing = [name for name in names if name not in rows]
        if missing:
            near = difflib.get_close_matches(missing[0], rows, n=1)
            raise TableError(
                f"Column {key!r} does not have the variable {missing[0]!r}",
                f"add a row for it. Is it {near[0]!r}?" if near else "add a row for it",
                column=key,
                value=missing[0],
            )
        attributes = {name: rows[name] for name in names}
        if color is None:
            return Groups(attributes)
        _find(color, frame)
        return Groups(attributes, {name: str(attributes[name].get(color, "unknown")) for name in names})


def _list_rare(table: Table) -> list[str]:
    """List levels so rare that they may be typos."""
    import numpy as np

    notes = []
    for name, levels, codes in zip(table.domain.names, table.domain.levels, table.codes.T, strict=True):
        seen = np.bincount(codes, minlength=len(levels))[: len(levels)]
        if table.n_rows >= _MANY_ROWS and len(levels) > 2:
            notes += [
                f"Column {name!r} has the value {level!r} in {n} of {table.n_rows} rows, the first in row "
                f"{int(np.argmax(codes == k))}: is it a typo?"
                for k, (level, n) in enumerate(zip(levels, seen, strict=True))
                if n <= 2
            ]
    return notes


def _split(words: str | Sequence[str], frame: pl.DataFrame) -> list[str]:
    """Read a list of columns, separated by commas; a name that has a comma in it may stand alone."""
    if not isinstance(words, str):
        return [_find(word, frame) for word in words]
    if words in frame.columns:
        return [words]
    return [_find(word.strip(), frame) for word in words.split(",") if word.strip()]


def _find(name: str, frame: pl.DataFrame) -> str:
    if name in frame.columns:
        return name
    from sparsefield.data import TableError

    near = difflib.get_close_matches(name, frame.columns, n=1)
    hint = f"Is it {near[0]!r}?" if near else f"The first are {', '.join(map(repr, frame.columns[:5]))}"
    raise TableError(f"There is no column {name!r}", hint, column=name)


def _unescape(separator: str | None) -> str | None:
    return {"tab": "\t", "\\t": "\t"}.get(separator, separator) if separator is not None else None
