"""What is done about missing values and about rows that do not count: decided here, and nowhere else."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from sparsefield.data._counted import CountedTable
from sparsefield.data._errors import TableError
from sparsefield.data._phrases import count, listed
from sparsefield.data._table import Table, check_weights

WAYS_WITH_MISSING = ("model", "zero", "drop", "error")


def resolve_missing(
    table: Table,
    missing: str,
    weights: NDArray[np.float64] | None = None,
    *,
    ways: Sequence[str] = WAYS_WITH_MISSING,
) -> tuple[Table, NDArray[np.float64] | None]:
    """Do with missing values what was asked for: keep them for the model, fill them, drop their rows, or refuse them.

    Parameters
    ----------
    table : Table
        Observations, with or without missing values.
    missing : "model", "zero", "drop" or "error"
        Keep missing values, for the model to fill; count them as the first level of their variable; drop the rows that
        have any; or refuse them.
    weights : ndarray of shape (n_rows,), optional
        How often each row counts.
    ways : sequence of str
        Those of the four that the caller can deal with.
    """
    if missing not in ways:
        raise ValueError(f"missing is {missing!r}: use {listed(ways)}.")
    if not table.n_missing.any() or missing == "model":
        return table, weights
    if missing == "zero":
        return table.fill_first(), weights
    if missing == "drop":
        is_whole = ~table.mask.any(axis=1)
        return table.drop_missing(), None if weights is None else weights[is_whole]
    name = table.domain.names[int(table.n_missing.argmax())]
    raise TableError(
        f"The table has {count(table.n_missing.sum(), 'missing value')} (NaN or null), most in column {name!r}",
        f"set {{option}} to {listed([way for way in ways if way != 'error'])}",
        column=name,
        option="missing",
    )


def take_counted(table: Table, sample_weight: ArrayLike | None) -> tuple[Table, NDArray[np.float64] | None]:
    """Check the weights of rows, and leave out the rows that do not count."""
    if sample_weight is None:
        return table, None
    if isinstance(table, CountedTable):
        raise TableError(
            "Rows that are counted part by part count once each",
            "leave {option} out, or give a table that is in memory (encode)",
            option="sample_weight",
        )
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"Weights must be {table.n_rows} numbers from zero on, one per row.") from error
    check_weights(weights, table.n_rows)
    if weights.all():
        return table, weights
    return Table(table.domain, np.asfortranarray(table.codes[weights > 0])), weights[weights > 0]


def read_weights(column: pl.Series) -> NDArray[np.float64]:
    """Return the weights of rows that a column holds; refuse cells that are none, with their row.

    Parameters
    ----------
    column : polars.Series
        Numbers from zero on, or text that reads as such.
    """
    name = column.name
    numbers = column.cast(pl.Float64, strict=False) if column.dtype != pl.Boolean else pl.Series([None] * len(column))
    values = numbers.cast(pl.Float64).fill_null(np.nan).to_numpy()
    bad = ~(np.isfinite(values) & (values >= 0))
    if bad.any():
        row = int(bad.argmax())
        value = column[row]
        what = "has no weight" if value is None else f"has the weight {value!r}"
        raise TableError(
            f"Column {name!r} says how often rows count, but row {row} {what}",
            "give each row a number from zero on; rows with zero do not count",
            column=name,
            row=row,
            value=value,
        )
    return np.asarray(values, dtype=np.float64)
