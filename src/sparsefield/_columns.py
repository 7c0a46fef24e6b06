"""One column of a table: its levels, and the place of each value among them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from sparsefield._domain import HOLE, Level, preview


def code_of(value: Level, name: str, levels: tuple[Level, ...]) -> int:
    for code, level in enumerate(levels):
        if level == value:
            return code
    raise ValueError(f"Column {name!r} has no level {value!r}; its levels are {preview(levels)}.")


def encode_column(
    name: str, raw: Any, known: tuple[Level, ...] | None, max_levels: int, out: NDArray[np.uint8]
) -> tuple[Level, ...]:
    """Write the codes of one column and return its levels."""
    column = _with_type(name, raw)
    if isinstance(column, np.ndarray):
        kind = bool if column.dtype.kind == "b" else int
        levels = _encode_numbers(name, column, None, kind, known, max_levels, out)
    elif column.dtype == nw.Boolean or column.dtype.is_integer() or column.dtype.is_float():
        kind = bool if column.dtype == nw.Boolean else int
        holes = column.is_null().to_numpy()
        numbers = column.fill_null(kind(0)).to_numpy() if holes.any() else column.to_numpy()
        levels = _encode_numbers(name, numbers, holes if holes.any() else None, kind, known, max_levels, out)
    elif column.dtype in (nw.String, nw.Categorical, nw.Enum):
        levels = _encode_text(name, column, known, max_levels, out)
    elif column.is_null().all():
        levels = known or ()
        out[:] = HOLE
    else:
        raise ValueError(f"Column {name!r} has type {column.dtype}: turn it into text, booleans or whole numbers.")
    if not levels:
        raise ValueError(f"Column {name!r} has no observed value: leave it out.")
    if len(levels) == 1 and known is None:
        warnings.warn(
            f"Column {name!r} is constant ({levels[0]!r}): it gets no parameters and no edges.",
            UserWarning,
            stacklevel=3,
        )
    return levels


def _with_type(name: str, raw: Any) -> Any:
    """Return an array of numbers as it is, and everything else as a series whose type says what it holds."""
    if isinstance(raw, np.ndarray):
        if raw.dtype.kind in "buif":
            return np.ascontiguousarray(raw)  # a column of an array lies scattered: gather it once
        if raw.dtype.kind not in "OUT":
            raise ValueError(f"Column {name!r} has type {raw.dtype}: turn it into text or whole numbers.")
        return _series_of_objects(name, raw.tolist())
    if raw.dtype in (nw.Object, nw.Unknown, nw.Int128, nw.UInt128):
        return _series_of_objects(name, raw.to_list())
    return raw


def _series_of_objects(name: str, objects: list[Any]) -> Any:
    """Give Python objects the type that they share."""
    values = [None if _is_missing(value) else value for value in objects]
    kinds = {_kind_of(value) for value in values if value is not None}
    if None in kinds:
        raise ValueError(f"Column {name!r} holds objects that are not text or numbers: turn them into text.")
    if any(isinstance(value, int) and not -(2**63) <= value < 2**63 for value in values):
        raise ValueError(f"Column {name!r} has numbers beyond 64 bits: turn them into text.")
    if kinds == {int, float}:
        kinds = {float}
        values = [None if value is None else float(value) for value in values]
    if len(kinds) > 1:
        raise ValueError(_mixed(name, values))
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


def _mixed(name: str, values: Iterable[Any]) -> str:
    kinds = {type(value): value for value in values if value is not None}
    return (
        f"Column {name!r} mixes kinds of values, such as {preview(kinds.values(), 2)}: "
        "make them all text or all numbers."
    )


def _encode_numbers(
    name: str,
    numbers: NDArray[Any],
    holes: NDArray[np.bool_] | None,
    kind: type,
    known: tuple[Level, ...] | None,
    max_levels: int,
    out: NDArray[np.uint8],
) -> tuple[Level, ...]:
    if numbers.dtype.kind == "f":
        numbers, holes = _whole_numbers(name, numbers, holes)
    observed = numbers if holes is None else numbers[~holes]
    if observed.size == 0:
        levels: tuple[Level, ...] = known or ()
    elif known is None:
        levels = tuple(kind(value) for value in _distinct(observed))
        _check_count(name, len(levels), levels, max_levels)
    else:
        levels = known
        strange = [kind(value) for value in _distinct(observed) if kind(value) not in known]
        if strange:
            raise ValueError(
                f"Column {name!r} has value {strange[0]!r}, which is not a level; they are {preview(known)}."
            )
    out[:] = HOLE
    for code, level in enumerate(levels):
        np.copyto(out, code, where=numbers == level)
    if holes is not None:
        out[holes] = HOLE
    return levels


def _whole_numbers(
    name: str, numbers: NDArray[Any], holes: NDArray[np.bool_] | None
) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """Check that floats hold whole numbers; NaN is a hole."""
    empty = np.isnan(numbers)
    if holes is not None:
        empty |= holes
    bad = ~empty & ~(np.trunc(numbers) == numbers)
    endless = np.isinf(numbers)
    if endless.any():
        row = int(endless.argmax())
        raise ValueError(f"Column {name!r} is infinite in row {row} ({numbers[row]}): correct it or leave it empty.")
    if bad.any():
        row = int(bad.argmax())
        raise ValueError(
            f"Column {name!r} is continuous: row {row} holds {numbers[row]}. Cut it into a few levels, or leave it out."
        )
    return numbers, empty if empty.any() else None


def _distinct(observed: NDArray[Any]) -> NDArray[Any]:
    """Return the distinct whole numbers, sorted; by looking for each where their range is small."""
    low, high = observed.min(), observed.max()
    if int(high) - int(low) < 8:
        candidates = np.array([low + observed.dtype.type(k) for k in range(int(high) - int(low) + 1)])
        return candidates[[bool((observed == value).any()) for value in candidates]]
    return np.unique(observed)


def _check_count(name: str, n: int, levels: Iterable[Any], max_levels: int) -> None:
    if n > max_levels:
        raise ValueError(
            f"Column {name!r} has {n} levels ({preview(levels, 3)}): "
            f"group them, leave the column out, or raise max_levels ({max_levels})."
        )


def _encode_text(
    name: str, column: Any, known: tuple[Level, ...] | None, max_levels: int, out: NDArray[np.uint8]
) -> tuple[Level, ...]:
    declared = column.cat.get_categories().to_list() if column.dtype in (nw.Categorical, nw.Enum) else None
    distinct = {value for value in column.drop_nulls().unique().to_list() if value != ""}
    values = sorted(distinct) if declared is None else [value for value in declared if value in distinct]
    found = tuple(_as_level(name, value) for value in values)
    if known is None:
        _check_count(name, len(found), found, max_levels)
        known = found
    strange = [level for level in found if level not in known]
    if strange:
        raise ValueError(f"Column {name!r} has value {strange[0]!r}, which is not a level; they are {preview(known)}.")
    codes = [known.index(level) for level in found]
    if all(isinstance(value, str) for value in values):
        text = column.cast(nw.String).fill_null("")
        out[:] = text.replace_strict([*values, ""], [*codes, HOLE], return_dtype=nw.UInt8).to_numpy()
    else:  # categories that are numbers: rare, so one by one
        place = dict(zip(values, codes, strict=True))
        out[:] = [place.get(value, HOLE) for value in column.to_list()]
    return known


def _as_level(name: str, value: Any) -> Level:
    """Turn a category, which pandas allows to be any object, into a level."""
    if isinstance(value, str | bool | int):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    raise ValueError(f"Column {name!r} has the category {value!r}: turn categories into text or whole numbers.")
