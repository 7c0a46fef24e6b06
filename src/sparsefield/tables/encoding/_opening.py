"""Names and columns of whatever holds rows: a data frame, an array, records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl

from sparsefield.data import Domain, Table, TableError, check_names, count, make_names, preview
from sparsefield.tables.encoding._records import open_records

_PLAIN = frozenset({pl.Boolean, pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64})


def open_columns(data: Any) -> tuple[tuple[str, ...], Callable[[int], Any], int]:
    """Find names, a way to take one column, and the number of rows, without copying the table."""
    if isinstance(data, Table):
        data = data.to_frame()
    if isinstance(data, pl.DataFrame):
        return tuple(data.columns), lambda i: _open_series(data.to_series(i)), data.height
    if nw.dependencies.is_into_dataframe(data):
        if nw.dependencies.is_pandas_dataframe(data):
            # pandas numbers columns that were given no name, and allows two of one name.
            check_names([str(name) if isinstance(name, int) else name for name in data.columns])
        frame = nw.from_native(data, eager_only=True)
        return tuple(str(name) for name in frame.columns), lambda i: frame[:, i], len(frame)
    if nw.dependencies.is_into_lazyframe(data):
        raise TableError("The table is lazy, its rows are not there yet", "call collect() first, or compute() of Dask")
    if (opened := open_records(data)) is not None:
        return opened
    try:
        array = np.ma.asarray(data) if isinstance(data, np.ma.MaskedArray) else np.asarray(data)
        if array.dtype.kind in "US" and not isinstance(data, np.ndarray):
            array = np.asarray(data, dtype=object)  # numpy would turn numbers beside text into text
    except ValueError as error:
        raise TableError(
            "The rows of the table have different lengths", "give each the same number of values"
        ) from error
    if array.ndim != 2:
        raise TableError(
            f"The table has {count(array.ndim, 'dimension')}",
            "give rows and columns, a data frame, or the path of a file",
        )
    if isinstance(array, np.ma.MaskedArray):
        return make_names(array.shape[1]), lambda i: np.array(array[:, i].tolist(), dtype=object), array.shape[0]
    return make_names(array.shape[1]), lambda i: array[:, i], array.shape[0]


def _open_series(column: pl.Series) -> Any:
    """Return whole numbers and booleans as an array, without a copy: asking a series takes longer than reading it."""
    if column.dtype in _PLAIN and not column.null_count():
        return column.to_numpy()
    return nw.from_native(column, series_only=True)


def check_same_names(names: tuple[str, ...], domain: Domain) -> None:
    """Refuse a table that has other columns than a domain."""
    if names == domain.names:
        return
    if len(names) == domain.n_variables and names == make_names(len(names)):
        return  # an array has no names of its own
    odd = [name for name in (*names, *domain.names) if (name in names) != (name in domain.names)]
    if odd:
        where = "is not in the domain" if odd[0] in names else "is missing from the table"
        raise TableError(f"Column {odd[0]!r} {where}", f"give the columns {preview(domain.names)}", column=odd[0])
    raise TableError("The columns are in another order than in the domain", f"give them as {preview(domain.names)}")
