"""One column of a table: its levels, and the index of each value among them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from sparsefield.data import MISSING, ConstantColumnWarning, Level, TableError, preview, unknown_value
from sparsefield.tables.encoding._row_names import is_numbering, names_rows


def encode_column(
    name: str, raw: Any, known: tuple[Level, ...] | None, max_levels: int, out: NDArray[np.uint8]
) -> tuple[Level, ...]:
    """Write the codes of one column and return its levels; refuse one without any value, and warn of a constant one."""
    levels = code_column(name, raw, known, max_levels, out)
    if not levels:
        raise TableError(f"Column {name!r} has no observed value", "leave it out", column=name)
    if len(levels) == 1 and known is None:
        warnings.warn(ConstantColumnWarning(name, levels[0]), stacklevel=3)
    return levels


def code_column(
    name: str, raw: Any, known: tuple[Level, ...] | None, max_levels: int, out: NDArray[np.uint8]
) -> tuple[Level, ...]:
    """Write the codes of one column, or of a part of it, and return its levels: none where all cells are empty."""
    column = _with_type(name, raw)
    if isinstance(column, np.ndarray):
        kind = bool if column.dtype.kind == "b" else int
        levels = _encode_numbers(name, column, None, kind, known, max_levels, out)
    elif column.dtype == nw.Boolean or column.dtype.is_integer() or column.dtype.is_float():
        kind = bool if column.dtype == nw.Boolean else int
        missing = column.is_null().to_numpy() if column.null_count() else None
        numbers = column.to_numpy() if missing is None else column.fill_null(kind(0)).to_numpy()
        levels = _encode_numbers(name, numbers, missing, kind, known, max_levels, out)
    elif column.dtype in (nw.String, nw.Categorical, nw.Enum):
        levels = _encode_text(name, column, known, max_levels, out)
    elif column.is_null().all():
        levels = known or ()
        out[:] = MISSING
    elif column.dtype.is_temporal():
        raise TableError(
            f"Column {name!r} holds dates or times", "Leave it out, or make a few levels of them", column=name
        )
    else:
        raise _wrong_type(name, column.dtype, "turn it into text, booleans or whole numbers")
    return levels


def is_ordered_column(raw: Any) -> bool:
    """Say whether a column declares that its levels are ordered: an ordered category of pandas, an Enum of polars."""
    return not isinstance(raw, np.ndarray) and raw.dtype == nw.Enum


def is_text_column(raw: Any) -> bool:
    """Say whether a column holds text, whose alphabetical order says nothing about its levels."""
    if isinstance(raw, np.ndarray):
        return raw.dtype.kind in "OUT" and any(isinstance(value, str) for value in raw.tolist())
    return raw.dtype in (nw.String, nw.Categorical) or (
        raw.dtype == nw.Object and any(isinstance(value, str) for value in raw.to_list())
    )


def _with_type(name: str, raw: Any) -> Any:
    """Return an array of numbers as it is, and everything else as a series whose type says what it holds."""
    if isinstance(raw, np.ndarray):
        if raw.dtype.kind in "buif":
            return np.ascontiguousarray(raw)  # a column of an array lies scattered: gather it once
        if raw.dtype.kind not in "OUT":
            raise _wrong_type(name, raw.dtype, "turn it into text or whole numbers")
        return _series_of_objects(name, raw.tolist())
    if raw.dtype in (nw.Object, nw.Unknown, nw.Int128, nw.UInt128):
        return _series_of_objects(name, raw.to_list())
    return raw


def _wrong_type(name: str, dtype: Any, remedy: str) -> TableError:
    kind = str(dtype).partition("(")[0]  # a record of many values has a type of many names
    return TableError(f"Column {name!r} has type {kind}", remedy, column=name)


def _series_of_objects(name: str, objects: list[Any]) -> Any:
    """Give Python objects the type that they share."""
    values = [None if _is_missing(value) else value for value in objects]
    kinds = {_kind_of(value) for value in values if value is not None}
    if None in kinds:
        raise TableError(
            f"Column {name!r} holds objects that are not text or numbers", "turn them into text", column=name
        )
    if any(isinstance(value, int) and not -(2**63) <= value < 2**63 for value in values):
        raise TableError(f"Column {name!r} has numbers beyond 64 bits", "turn them into text", column=name)
    if kinds == {int, float}:
        kinds = {float}
        values = [None if value is None else float(value) for value in values]
    if len(kinds) > 1:
        raise _mixed(name, values)
    dtypes: dict[type | None, Any] = {bool: pl.Boolean, int: pl.Int64, float: pl.Float64, str: pl.String}
    dtype = dtypes[kinds.pop()] if kinds else pl.Null
    return nw.from_native(pl.Series(values, dtype=dtype), series_only=True)


def _is_missing(value: Any) -> bool:
    # pandas' NA answers no comparison, so it is known by the name of its type.
    return value is None or type(value).__name__ == "NAType" or (isinstance(value, float) and math.isnan(value))


def _kind_of(value: Any) -> type | None:
    if isinstance(value, str):
        return str
    if isinstance(value, bool | np.bool_):
        return bool
    if isinstance(value, int | np.integer):
        return int
    return float if isinstance(value, float | np.floating) else None


def _mixed(name: str, values: Iterable[Any]) -> TableError:
    kinds = {type(value): value for value in values if value is not None}
    return TableError(
        f"Column {name!r} mixes kinds of values, such as {preview(kinds.values(), 2)}",
        "make them all text or all numbers",
        column=name,
    )


def _encode_numbers(
    name: str,
    numbers: NDArray[Any],
    missing: NDArray[np.bool_] | None,
    kind: type,
    known: tuple[Level, ...] | None,
    max_levels: int,
    out: NDArray[np.uint8],
) -> tuple[Level, ...]:
    if numbers.dtype.kind == "f":
        numbers, missing = _whole_numbers(name, numbers, missing)
    observed = numbers if missing is None else numbers[~missing]
    if observed.size == 0:
        out[:] = MISSING
        return known or ()
    low, high = observed.min(), observed.max()
    if known is None:
        levels: tuple[Level, ...] = tuple(kind(value) for value in _distinct(observed, low, high))
        is_name = len(levels) > max_levels and missing is None and is_numbering(numbers)
        _check_count(name, len(levels), levels, max_levels, is_name=is_name)
    else:
        levels = known
        if not (_is_run(levels) and kind(low) in levels and kind(high) in levels):
            strange = [kind(value) for value in _distinct(observed, low, high) if kind(value) not in known]
            if strange:
                raise unknown_value(name, strange[0], known)
    _write_codes(numbers, low, levels, levels.index(kind(low)), out)
    if missing is not None:
        out[missing] = MISSING
    return levels


def _is_run(levels: tuple[Level, ...]) -> bool:
    """Say whether levels are whole numbers that follow one another, or False and True."""
    if isinstance(levels[0], str):
        return False
    first = int(levels[0])
    return [int(level) for level in levels] == list(range(first, first + len(levels)))


def _write_codes(
    numbers: NDArray[Any], low: Any, levels: tuple[Level, ...], first: int, out: NDArray[np.uint8]
) -> None:
    """Write the codes of numbers, the least of which has the code `first`; those of missing values are any.

    Numbers that follow one another are subtracted: a table of bytes is encoded in 0.4 ns a cell, and in 10 ns where
    each level is compared with all cells.
    """
    if _is_run(levels):
        if numbers.dtype.kind == "b":
            numbers, low = numbers.view(np.uint8), np.uint8(low)
        with np.errstate(invalid="ignore"):  # missing values among floats
            np.subtract(numbers, low, out=out, casting="unsafe")
        if first:
            out += np.uint8(first)
        return
    out[:] = MISSING
    for code, level in enumerate(levels):
        np.copyto(out, code, where=numbers == level)


def _whole_numbers(
    name: str, numbers: NDArray[Any], missing: NDArray[np.bool_] | None
) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """Check that floats hold whole numbers; NaN is a missing value."""
    empty = np.isnan(numbers)
    if missing is not None:
        empty |= missing
    bad = ~empty & ~(np.trunc(numbers) == numbers)
    endless = np.isinf(numbers)
    if endless.any():
        row = int(endless.argmax())
        raise TableError(
            f"Column {name!r} is infinite in row {row} ({numbers[row]})",
            "correct it or leave it empty",
            column=name,
            row=row,
            value=float(numbers[row]),
        )
    if bad.any():
        row = int(bad.argmax())
        raise TableError(
            f"Column {name!r} is continuous: row {row} holds {numbers[row]}",
            "Cut it into a few levels, or leave it out",
            column=name,
            row=row,
            value=float(numbers[row]),
        )
    return numbers, empty if empty.any() else None


def _distinct(observed: NDArray[Any], low: Any, high: Any) -> NDArray[Any]:
    """Return the distinct whole numbers between the least and the largest of them, sorted."""
    width = int(high) - int(low)
    if width < 2:  # 0 and 1, mostly
        return np.array([low, high])[: width + 1]
    if width < MISSING:
        steps = np.empty(len(observed), dtype=np.uint8)
        np.subtract(observed, low, out=steps, casting="unsafe")
        return np.asarray(low + np.flatnonzero(np.bincount(steps)).astype(observed.dtype), dtype=observed.dtype)
    return np.unique(observed)


def _check_count(name: str, n: int, levels: Iterable[Any], max_levels: int, *, is_name: bool = False) -> None:
    if n > max_levels:
        if is_name:
            raise TableError(
                f"Column {name!r} has {n} levels ({preview(levels, 3)}), and seems to name the rows",
                f"leave it out; if it is a variable, group its values, or raise {{option}} ({max_levels})",
                column=name,
                option="max_levels",
            )
        raise TableError(
            f"Column {name!r} has {n} levels ({preview(levels, 3)})",
            f"group them, leave the column out, or raise {{option}} ({max_levels})",
            column=name,
            option="max_levels",
        )


def _encode_text(
    name: str, column: Any, known: tuple[Level, ...] | None, max_levels: int, out: NDArray[np.uint8]
) -> tuple[Level, ...]:
    declared = _declared_levels(column)
    distinct = {value for value in column.drop_nulls().unique().to_list() if value != ""}
    values = sorted(distinct) if declared is None else [value for value in declared if value in distinct]
    found = tuple(_as_level(name, value) for value in values)
    if known is None:
        n_cells = len(column) - column.null_count()
        _check_count(name, len(found), found, max_levels, is_name=names_rows(len(found), n_cells))
        known = found
    strange = [level for level in found if level not in known]
    if strange:
        raise unknown_value(name, strange[0], known)
    codes = [known.index(level) for level in found]
    if all(isinstance(value, str) for value in values):
        text = column.cast(nw.String).fill_null("")
        out[:] = text.replace_strict([*values, ""], [*codes, MISSING], return_dtype=nw.UInt8).to_numpy()
    else:  # categories that are numbers: rare, so one by one
        index = dict(zip(values, codes, strict=True))
        out[:] = [index.get(value, MISSING) for value in column.to_list()]
    return known


def _declared_levels(column: Any) -> list[Any] | None:
    """Return the levels that a column lists, in their order; None where it lists none.

    Categories of polars have a list of their own where that has a name, and stand in it as they were put there. Those
    without, and those of Arrow, stand as rows happen to show them, in this table or in others.
    """
    if column.dtype == nw.Enum or (column.dtype == nw.Categorical and column.implementation.is_pandas_like()):
        return list(column.cat.get_categories().to_list())
    native = column.to_native()
    if not isinstance(native.dtype if isinstance(native, pl.Series) else None, pl.Categorical):
        return None
    if native.dtype.categories.is_global():
        return None
    distinct = native.drop_nulls().unique()
    return list(distinct.cast(pl.String).gather(distinct.to_physical().arg_sort()).to_list())


def _as_level(name: str, value: Any) -> Level:
    """Turn a category, which pandas allows to be any object, into a level."""
    if isinstance(value, str | bool | int):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    raise TableError(
        f"Column {name!r} has the category {value!r}",
        "turn categories into text or whole numbers",
        column=name,
        value=value,
    )
