"""Codes turned back into the levels that they stand for: columns of polars and pandas, arrays of numpy."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sparsefield.data._domain import MISSING, Domain, Level

_EXACT = 2**53  # whole numbers up to this are exact as floats


def make_series(codes: NDArray[np.uint8], levels: tuple[Level, ...], is_ordered: bool) -> pl.Series:
    """Return the values of a column as a polars series: an Enum where levels are text with an order."""
    is_enum = is_ordered and isinstance(levels[0], str)
    values = pl.Series(list(levels), dtype=pl.Enum([str(level) for level in levels]) if is_enum else None)
    indices = pl.Series(codes, dtype=pl.UInt32)
    return values.gather(indices.set(indices == MISSING, None))


def make_pandas(domain: Domain, codes: NDArray[np.uint8]) -> Any:
    """Return the values of a table as a pandas data frame; see `Table.to_pandas`."""
    try:
        pandas = import_module("pandas")
    except ImportError as error:
        raise ImportError("pandas is not installed: install it (pip install pandas), or use to_frame().") from error
    columns = {}
    for name, levels, own, is_ordered in zip(domain.names, domain.levels, codes.T, domain.is_ordered, strict=True):
        if isinstance(levels[0], str):
            indices = np.where(own == MISSING, -1, own.astype(np.int16))
            dtype = pandas.CategoricalDtype(list(levels), ordered=bool(is_ordered))
            columns[name] = pandas.Categorical.from_codes(indices, dtype=dtype)
            continue
        is_missing = own == MISSING
        values = np.array(levels)[np.where(is_missing, 0, own)]
        if is_missing.any():
            values = pandas.array(values, dtype="boolean" if isinstance(levels[0], bool) else "Int64")
            values[is_missing] = pandas.NA
        columns[name] = values
    return pandas.DataFrame(columns)


def make_array(domain: Domain, codes: NDArray[np.uint8]) -> NDArray[Any]:
    """Return the values of a table as an array; see `Table.to_numpy`."""
    dtype, missing = _find_dtype(domain, has_missing=bool(np.equal(codes, MISSING).any()))
    found: NDArray[Any] = np.empty(codes.shape, dtype=dtype)
    for i, levels in enumerate(domain.levels):
        values: NDArray[Any] = np.empty(MISSING + 1, dtype=dtype)
        values[: len(levels)] = levels
        if missing is not False:
            values[MISSING] = missing
        found[:, i] = values[codes[:, i]]
    return found


def _find_dtype(domain: Domain, *, has_missing: bool) -> tuple[type, Any]:
    """Return the type that all levels share, and what stands for a missing value: False where there is none."""
    kinds = {type(level) for levels in domain.levels for level in levels}
    if kinds == {int}:
        most = max(abs(int(level)) for levels in domain.levels for level in levels)
        if not has_missing and most < 2**63:
            return np.int64, False
        if has_missing and most <= _EXACT:
            return np.float64, np.nan
    if kinds == {bool} and not has_missing:
        return np.bool_, False
    return object, None
