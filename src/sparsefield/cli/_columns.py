"""The columns that options name, and cells that no column should have."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Sequence
from fnmatch import fnmatchcase

import polars as pl

from sparsefield.data import TableError, count, preview
from sparsefield.tables import is_numbering, names_rows

_RARE = 0.05  # of the cells of a column: words among numbers are then taken for typos


def split_columns(words: str, columns: Sequence[str], option: str, left_out: Collection[str] = ()) -> list[str]:
    """Read a list of columns, separated by commas; a name that has a comma in it may stand alone.

    'q1-q20' is all columns from one to the other, in the order of the file, and 'phq*' all that begin so.

    Parameters
    ----------
    words : str
        The list.
    columns : sequence of str
        The columns that there are.
    option : str
        The option that has the list, as it is typed.
    left_out : collection of str
        Other columns of the file, which are no variables.
    """
    if words in columns:
        return [words]
    asked = [word.strip() for word in words.split(",") if word.strip()]
    several = [_find_several(word, columns) for word in asked]
    unknown = [word for word, own in zip(asked, several, strict=True) if not own and word not in {*columns, *left_out}]
    if len(unknown) > 1:
        raise TableError(f"There are no columns {preview(unknown)}", f"The first are {preview(columns)}")
    single = [find_column(word, columns, option, left_out) for word in asked if not _find_several(word, columns)]
    refuse_twice(single, option)
    found = [own or [find_column(word, columns, option)] for word, own in zip(asked, several, strict=True)]
    return list(dict.fromkeys(name for own in found for name in own))


def _find_several(word: str, columns: Sequence[str]) -> list[str]:
    """Return the columns from one to another, or those that a pattern is for; none where a word is neither."""
    if word in columns:
        return []
    if "*" in word:
        return [name for name in columns if fnmatchcase(name, word)]
    for k, mark in enumerate(word):
        first, last = word[:k].strip(), word[k + 1 :].strip()
        if mark == "-" and (first in columns) != (last in columns) and word not in columns:
            end = last if first in columns else first
            raise TableError(f"There is no column {end!r}, at which {word!r} ends", "name columns that are there")
        if mark == "-" and first in columns and last in columns:
            a, b = columns.index(first), columns.index(last)
            return list(columns[min(a, b) : max(a, b) + 1])
    return []


def refuse_twice(names: Sequence[str], option: str) -> None:
    """Refuse a list that names a column twice."""
    twice = next((name for k, name in enumerate(names) if name in names[:k]), None)
    if twice is not None:
        raise TableError(f"{option} names column {twice!r} twice", "name it once", column=twice)


def find_column(name: str, columns: Sequence[str], option: str, left_out: Collection[str] = ()) -> str:
    """Return the name of a column; say which one may be meant where there is none of that name."""
    if name in columns:
        return name
    if name in left_out:
        raise TableError(f"{option} names column {name!r}, which is left out", "name a variable", column=name)
    if "," in name and all(word.strip() in columns for word in name.split(",")):
        raise TableError(f"{option} takes a single column", "leave others out with --ignore", column=name)
    folded = {column.casefold(): column for column in columns}
    near = [folded[word] for word in difflib.get_close_matches(name.casefold(), folded, n=1)]
    hint = f"Is it {near[0]!r}?" if near else f"The first are {', '.join(map(repr, columns[:5]))}"
    raise TableError(f"There is no column {name!r}", hint, column=name)


def read_order(words: str, frame: pl.DataFrame, left_out: Collection[str] = ()) -> bool | dict[str, list[str]]:
    """Read which columns are ordered: 'all', or names, each of which may have the order of its levels."""
    columns = frame.columns
    if words == "all" and "all" not in columns:
        return True
    parts = [words] if words in columns else [word.strip() for word in words.split(",") if word.strip()]
    pairs = [(part, "", "") if part in columns else part.partition("=") for part in parts]
    names = [find_column(name.strip(), columns, "--ordinal", left_out) for name, _, _ in pairs]
    refuse_twice(names, "--ordinal")
    return {
        name: _check_order(frame[name], [level.strip() for level in order.split("<")]) if is_given else []
        for name, (_, is_given, order) in zip(names, pairs, strict=True)
    }


def _check_order(column: pl.Series, levels: list[str]) -> list[str]:
    """Return the order of levels that are words; numbers have their own, which is all that can be asked of them."""
    if not column.dtype.is_numeric():
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
            f"values, or raise {{option}} ({max_levels})",
            column=column.name,
            option="max_levels",
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
            f"Column {column.name!r} holds numbers, but row {row} has {column[row]!r} ({count(n_words, 'such cell')})",
            f"correct it, name it with --missing-marker if it means a missing value, or use --text {column.name!r} if "
            "it is a level",
            column=column.name,
            row=row,
            value=column[row],
        )


def split_pair(words: str, names: Sequence[str]) -> tuple[str, str]:
    """Read the names of two variables, which a comma separates; a name may have commas in it."""
    parts = words.split(",")
    cuts = [(",".join(parts[:k]).strip(), ",".join(parts[k:]).strip()) for k in range(1, len(parts))]
    found = [pair for pair in cuts if pair[0] in names and pair[1] in names] or cuts
    if len(found) != 1:
        raise TableError(f"--pair is {words!r}", "name two variables, with a comma between them")
    first, second = (find_column(name, names, "--pair") for name in found[0])
    refuse_twice([first, second], "--pair")
    return first, second
