"""Cells that mean missing values, in files whose columns have types."""

from __future__ import annotations

import math
from collections.abc import Iterable

import polars as pl


def drop_marked(frame: pl.DataFrame, markers: Iterable[str]) -> pl.DataFrame:
    """Make cells missing that hold a marker: a word, or a number that is written as one.

    Parameters
    ----------
    frame : polars.DataFrame
        The cells.
    markers : iterable of str
        What means a missing value.
    """
    words = list(markers)
    numbers = [number for number in map(_as_number, words) if number is not None]
    columns = []
    for column in frame.iter_columns():
        if column.dtype.is_numeric() and numbers:
            is_marked = column.cast(pl.Float64).is_in(numbers)
        elif column.dtype in (pl.String, pl.Categorical, pl.Enum) and words:
            is_marked = column.cast(pl.String).is_in(words)
        else:
            is_marked = pl.Series([False])
        kept = pl.when(is_marked.fill_null(value=False)).then(None).otherwise(column)
        columns.append(pl.select(kept.alias(column.name)).to_series() if is_marked.any() else column)
    return pl.DataFrame(columns)


def _as_number(word: str) -> float | None:
    try:
        number = float(word)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
