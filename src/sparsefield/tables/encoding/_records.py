"""Tables of plain Python: lists of values by the names of their columns, or rows that are dictionaries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from sparsefield.data import TableError, count

Opened = tuple[tuple[str, ...], Callable[[int], Any], int]


def open_records(data: Any) -> Opened | None:
    """Return names, a way to take one column, and the number of rows; None where the data are something else.

    Rows need not have all names: what a row does not have is a missing value.
    """
    if isinstance(data, Mapping):
        columns = {name: _as_column(name, own) for name, own in data.items()}
        _check_lengths(columns)
    elif isinstance(data, Sequence) and data and all(isinstance(row, Mapping) for row in data):
        names = dict.fromkeys(name for row in data for name in row)
        columns = {name: _as_objects([row.get(name) for row in data]) for name in names}
    else:
        return None
    known = list(columns.values())
    return tuple(columns), lambda i: known[i], len(known[0]) if known else 0


def _as_column(name: Any, values: Any) -> Any:
    if isinstance(values, np.ndarray) and values.ndim == 1:
        return values
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise TableError(f"Column {name!r} is not a list of values", "give a value for each row", column=name)
    return _as_objects(list(values))


def _as_objects(values: list[Any]) -> Any:
    found = np.empty(len(values), dtype=object)
    for k, value in enumerate(values):  # one by one: numpy would unpack lists within the list
        found[k] = value
    return found


def _check_lengths(columns: Mapping[str, Any]) -> None:
    sizes = [(name, len(own)) for name, own in columns.items()]
    for name, size in sizes:
        if size != sizes[0][1]:
            raise TableError(
                f"Column {name!r} has {count(size, 'value')}, but {sizes[0][0]!r} has {sizes[0][1]}",
                "give each the same number of values",
                column=name,
            )
