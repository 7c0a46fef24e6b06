"""The columns that options name, and cells that no column should have."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

import polars as pl

from sparsefield.data import TableError, is_numbering, names_rows

_RARE = 0.05  # of the cells of a column: words among numbers are then taken for typos


def split_columns(words: str | Sequence[str], frame: pl.DataFrame) -> list[str]:
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


def read_order(words: str, frame: pl.DataFrame) -> bool | dict[str, list[str]]:
    """Read which columns are ordered: 'all', or names, each of which may have the order of its levels."""
    if words == "all" and "all" not in frame.columns:
        return True
    found: dict[str, list[str]] = {}
    for word in [words] if words in frame.columns else words.split(","):
        name, is_given, order = (word.strip(), "", "") if word in frame.columns else word.strip().partition("=")
        found[find_column(name, frame)] = [level.strip() for level in order.split("<")] if is_given else []
    return found


def refuse_row_names(column: pl.Series, max_levels: int) -> None:
    """Refuse a column that names the rows, and has more values than levels are allowed."""
    n_cells, n_levels = len(column) - column.null_count(), column.drop_nulls().n_unique()
    if n_levels <= max_levels:
        return
    is_running = column.dtype.is_integer() and n_cells == len(column) and is_numbering(column.to_numpy())
    if is_running or (column.dtype == pl.String and names_rows(n_levels, n_cells)):
        raise TableError(
            f"Column {column.name!r} has {n_levels} levels in {n_cells} rows, and seems to name them",
            f"leave it out with --id {column.name!r} or --ignore {column.name!r}; if it is a variable, group its "
            f"values, or raise --max-levels ({max_levels})",
            column=column.name,
        )


def refuse_typo(column: pl.Series) -> None:
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
