"""Levels that differ in case and blanks alone, made one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from sparsefield.data import Level, TableError, preview
from sparsefield.tables.encoding._columns import is_ordered_column, is_text_column

MergeLevels = bool | Sequence[str]


def fold(level: str) -> str:
    """Return a level without case and needless blanks: what its variants share."""
    return " ".join(level.split()).casefold()


def check_merged(names: Sequence[str], merge_levels: Any) -> frozenset[str]:
    """Return the columns whose variants are merged; refuse names of columns that the table does not have."""
    if isinstance(merge_levels, bool):
        return frozenset(names if merge_levels else ())
    asked = (merge_levels,) if isinstance(merge_levels, str) else tuple(merge_levels)
    for name in asked:
        if name not in names:
            raise TableError(
                f"merge_levels names column {name!r}, which the table does not have",
                f"its columns are {preview(names)}",
            )
    return frozenset(asked)


def merge_variants(name: str, column: Any, known: Iterable[Level] | None = None) -> Any:
    """Merge values of a column that differ in case and blanks alone; numbers stay what they are.

    Parameters
    ----------
    name : str
        The column.
    column : ndarray or narwhals Series
        Its values.
    known : iterable of levels, optional
        Spellings to keep; of others the most frequent is kept, and of equally frequent ones the first in the alphabet.

    Returns
    -------
    ndarray or narwhals Series
        The column, as an array of objects where it has changed.
    """
    if not (is_text_column(column) or is_ordered_column(column)):
        return column
    values = column.tolist() if isinstance(column, np.ndarray) else column.to_list()
    counts = Counter(value for value in values if isinstance(value, str) and value.strip())
    kept = {fold(level): level for level in known or () if isinstance(level, str)}
    for value in sorted(counts, key=lambda value: (-counts[value], value)):
        kept.setdefault(fold(value), value)
    merged = list_variants(counts, kept.values())
    if not merged:
        return column
    if is_ordered_column(column):
        level, others = next(iter(merged.items()))
        raise TableError(
            f"Column {name!r} has ordered categories that differ in case or blanks alone: {preview((level, *others))}",
            "merge them before, so that their order is known",
            column=name,
        )
    # Categories lose the order in which they happen to be listed: text is ordered by the alphabet.
    spelled = {value: level for level, others in merged.items() for value in others}
    changed = np.empty(len(values), dtype=object)
    changed[:] = [spelled.get(value, value) if isinstance(value, str) else value for value in values]
    return changed


def list_variants(values: Iterable[str], levels: Iterable[Level]) -> dict[str, tuple[str, ...]]:
    """Return, for each level that has some, its other spellings among values."""
    kept = {fold(level): level for level in levels if isinstance(level, str)}
    found: dict[str, list[str]] = {}
    for value in sorted(values):
        level = kept.get(fold(value), value)
        if level != value:
            found.setdefault(level, []).append(value)
    return {level: tuple(found[level]) for level in sorted(found)}
