"""Reading the tables that commands name, with the columns that are asked for."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from sparsefield.cli import _options as options
from sparsefield.cli._app import Output, plain_errors
from sparsefield.data import (
    MAX_LEVELS,
    MISSING_MARKERS,
    ConstantColumnWarning,
    Domain,
    Table,
    TableError,
    UnknownLettersWarning,
    encode,
    is_alignment,
    preview,
    read_table,
)

_MANY_ROWS = 50
_FEW_LEVELS = 11  # numbers with as many levels are mostly scales: 0 to 10 is the longest in use
_RARE = 0.05  # of the cells of a column: words among numbers are then taken for typos


@dataclass(frozen=True)
class Reading:
    """How a table is read: options that all commands have which learn from one."""

    columns: options.Columns = None
    ignore: options.Ignore = None
    id: options.Id = None
    separator: options.Separator = None
    missing_marker: options.Marker = None
    text: options.AsText = None
    ordinal: options.Ordinal = None
    max_levels: options.MaxLevels = MAX_LEVELS

    def load(self, path: Path, out: Output) -> Table:
        """Read a table, and take the columns that are asked for; say what it holds, and what to look at."""
        table, notes = _load(path, self)
        out.say(_describe(table))
        for note in notes:
            out.warn(note)
        return table


def _load(path: Path, how: Reading) -> tuple[Table, list[str]]:
    """Read a table, and take the columns that are asked for; also return what people should look at."""
    with plain_errors(path):
        words = (*MISSING_MARKERS, *(how.missing_marker or ()))
        frame, letters = _read_frame(path, words, how.separator)
        wanted = _split(how.columns, frame) if how.columns else frame.columns
        left_out = {
            *(_split(how.ignore, frame) if how.ignore else ()),
            *([find_column(how.id, frame)] if how.id else ()),
        }
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
        constant = [str(own.message) for own in caught if issubclass(own.category, ConstantColumnWarning)]
        # Rare letters are common in alignments, and no typos.
        typos = [] if is_alignment(path) else _list_rare(table)
        return table, [*letters, *constant, *typos, *_list_unordered(table)]


def _read_order(words: str, frame: pl.DataFrame) -> bool | dict[str, list[str]]:
    """Read which columns are ordered: 'all', or names, each of which may have the order of its levels."""
    if words == "all" and "all" not in frame.columns:
        return True
    found: dict[str, list[str]] = {}
    for word in [words] if words in frame.columns else words.split(","):
        name, is_given, order = (word.strip(), "", "") if word in frame.columns else word.strip().partition("=")
        found[find_column(name, frame)] = [level.strip() for level in order.split("<")] if is_given else []
    return found


def _list_unordered(table: Table) -> list[str]:
    """Say which columns look as if their levels were ordered, and count as if they were not."""
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


def _read_frame(path: Path, markers: tuple[str, ...], separator: str | None) -> tuple[pl.DataFrame, list[str]]:
    """Read a file; also return what it says about letters of an alignment that count as gaps."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UnknownLettersWarning)
        frame = read_table(path, markers, _unescape(separator))
    return frame, [str(own.message) for own in caught if issubclass(own.category, UnknownLettersWarning)]


def _describe(table: Table) -> str:
    """Say in a line what a table holds."""
    n = int(table.n_missing.sum())
    missing = f", {n} missing values ({n / table.codes.size:.1%})" if n else ", no missing values"
    return f"{table.n_rows} rows, {table.domain.n_variables} variables{missing}."


def load_same(path: Path, domain: Domain, separator: str | None, markers: Sequence[str] | None) -> Table:
    """Read a table again, with the variables and levels that a field already has."""
    with plain_errors(path):
        frame, _ = _read_frame(path, (*MISSING_MARKERS, *(markers or ())), separator)
        return encode(frame.select(_split(domain.names, frame)), domain=domain)


def _refuse_typo(column: pl.Series) -> None:
    """Refuse a column of whole numbers in which a few cells are words: one typo makes a reader take all for text."""
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


def _list_rare(table: Table) -> list[str]:
    """List levels so rare that they may be typos."""
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
        return [find_column(word, frame) for word in words]
    if words in frame.columns:
        return [words]
    return [find_column(word.strip(), frame) for word in words.split(",") if word.strip()]


def find_column(name: str, frame: pl.DataFrame) -> str:
    if name in frame.columns:
        return name
    near = difflib.get_close_matches(name, frame.columns, n=1)
    hint = f"Is it {near[0]!r}?" if near else f"The first are {', '.join(map(repr, frame.columns[:5]))}"
    raise TableError(f"There is no column {name!r}", hint, column=name)


def _unescape(separator: str | None) -> str | None:
    return {"tab": "\t", "\\t": "\t"}.get(separator, separator) if separator is not None else None
