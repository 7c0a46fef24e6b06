"""Columns as a file has them, settled: numbers of rows and empty edges left out, decimal commas understood."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from sparsefield.data import TableError, check_names, columns_have, preview
from sparsefield.tables.reading._contents import Note
from sparsefield.tables.reading._source import Source

_INDEX = "Unnamed: 0"  # what pandas calls a first column without a name
_KEY = "name"  # what a first column without a name is called in a table of variables
_DECIMAL = r"^\s*[-+]?\d+(,\d+)?\s*$"


def settle_columns(
    source: Source,
    frame: pl.DataFrame,
    names: Sequence[str],
    *,
    is_keyed: bool = False,
    lacks_name: bool = False,
    has_decimals: bool = False,
) -> tuple[pl.DataFrame, tuple[Note, ...]]:
    """Give a frame the names of its columns, and leave out those that are no variables.

    Parameters
    ----------
    source : Source
        The file.
    frame : polars.DataFrame
        Its columns, under any names.
    names : sequence of str
        The names, some of which may be empty.
    is_keyed : bool
        Keep a first column without a name that does not number the rows: it names them.
    lacks_name : bool
        Whether the first column has no name because there is a name less than values in each row.
    has_decimals : bool
        Whether a comma in a number may be a decimal one.
    """
    notes: list[Note] = []
    kept, found, empty = [], [], []
    for j, (name, column) in enumerate(zip(names, frame.iter_columns(), strict=True)):
        if name.strip() and not (j == 0 and name.strip() == _INDEX):
            kept.append(column)
            found.append(name)
        elif not name.strip() and _is_empty(column):
            empty.append(j + 1)
        elif j > 0:
            kept.append(column)
            found.append(name)
        else:
            label, note = _settle_first(source, column, name.strip(), is_keyed, lacks_name)
            notes += [note] if note else []
            if label:
                kept.append(column)
                found.append(label)
    if empty:
        which = f"Column {empty[0]} from the left has" if len(empty) == 1 else f"{len(empty)} columns have"
        notes.append(Note(f"{which} no name and no values: {'it is' if len(empty) == 1 else 'they are'} left out."))
    try:
        check_names(found)
    except TableError as error:
        given = [name for name in names if name.strip()]
        if len(given) == 1 < len(names):
            raise source.error(
                f"has one name, {given[0]!r}, for {len(names)} columns",
                "name all of them; if it is a title, remove what stands above the names",
            ) from None
        raise error.placed(f"File {source.name!r}", source.path, None) from None
    columns = [column.alias(name) for column, name in zip(kept, found, strict=True)]
    if has_decimals:
        columns, more = _read_decimals(columns)
        notes += more
    return pl.DataFrame(columns), tuple(notes)


def _settle_first(
    source: Source, column: pl.Series, name: str, is_keyed: bool, lacks_name: bool
) -> tuple[str, Note | None]:
    """Return the name under which a first column without one is kept, if it is, and what to say of it."""
    which = f"The first column, called {name!r}," if name else "The first column has no name and"
    first = preview(column.head(3).to_list())
    if _is_count(column):
        return "", Note(f"{which} numbers the rows ({first}, ...): it is left out.")
    if is_keyed:
        return name or _KEY, None
    if column.null_count() == 0 and column.n_unique() == len(column):
        return "", Note(f"{which} has a value of its own in each row ({first}, ...): it is left out.")
    if name:
        return name, Note(f"{which} does not number the rows ({first}, ...): it is kept.")
    if lacks_name:
        raise source.error("has a name less than values in each row", "name all columns, or correct the rows")
    raise source.error(
        "has a first column without a name, which does not number the rows", "give it a name, or remove it"
    )


def _is_empty(column: pl.Series) -> bool:
    return column.null_count() == len(column) or (
        column.dtype == pl.String and bool((column.drop_nulls().str.strip_chars() == "").all())
    )


def _is_count(column: pl.Series) -> bool:
    """Say whether a column counts the rows, from zero or one."""
    numbers = column.cast(pl.Int64, strict=False)
    if len(column) == 0 or numbers.null_count() or numbers[0] not in (0, 1):
        return False
    return bool((numbers == pl.int_range(numbers[0], numbers[0] + len(column), eager=True)).all())


def _read_decimals(columns: list[pl.Series]) -> tuple[list[pl.Series], list[Note]]:
    """Read numbers with decimal commas as numbers."""
    found, shown = [], ""
    for j, column in enumerate(columns):
        if column.dtype != pl.String or not len(column):
            continue
        values = column.drop_nulls()
        if len(values) and values.str.contains(",").any() and values.str.contains(_DECIMAL).all():
            columns[j] = column.str.strip_chars().str.replace(",", ".", literal=True).cast(pl.Float64)
            found.append(column.name)
            row = int(column.str.contains(",").fill_null(value=False).arg_true()[0])
            shown = shown or f"{column[row]!r} is read as {columns[j][row]:g}"
    if not found:
        return columns, []
    return columns, [Note(f"{columns_have(found)} numbers with decimal commas: {shown}.")]
