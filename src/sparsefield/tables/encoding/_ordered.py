"""Which columns have ordered levels, in which order, and with which scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any

from sparsefield.data import Level, TableError, count, preview
from sparsefield.tables.encoding._columns import is_ordered_column, is_text_column

Ordinal = Mapping[str, Sequence[Any]] | Sequence[str] | bool | None


def check_ordinal(names: tuple[str, ...], ordinal: Any) -> Ordinal:
    """Return what `ordinal` says, with lists as tuples; refuse names of columns that the table does not have."""
    if ordinal is None or isinstance(ordinal, bool):
        return ordinal
    found: Mapping[str, Sequence[Any]] | Sequence[str]
    if isinstance(ordinal, Mapping):
        found = {name: _check_list(name, own) for name, own in ordinal.items()}
    else:
        found = (ordinal,) if isinstance(ordinal, str) else tuple(ordinal)
    for name in found:
        if name not in names:
            raise TableError(
                f"ordinal names column {name!r}, which the table does not have", f"its columns are {preview(names)}"
            )
    return found


def _check_list(name: str, own: Any) -> tuple[Any, ...]:
    """Return levels in order, or scores, as a tuple; refuse what is neither."""
    values = tuple(own) if isinstance(own, Iterable) and not isinstance(own, str) else (own,)
    is_text = [isinstance(value, str) for value in values]
    is_number = [isinstance(value, Real) and not isinstance(value, bool) for value in values]
    if not (all(is_text) or all(is_number)) or isinstance(own, str):
        raise TableError(
            f"ordinal has {own!r} for column {name!r}",
            "give a list of its levels in order, or of a number for each level",
            column=name,
        )
    return values


def find_order(name: str, column: Any, ordinal: Ordinal) -> tuple[Level, ...] | None:
    """Return the levels of a column in the order that was given for it, or None where none was."""
    own = ordinal[name] if isinstance(ordinal, Mapping) and name in ordinal else ()
    if not own or not all(isinstance(level, str) for level in own):
        return None
    if len(set(own)) < len(own):
        raise TableError(f"The order of column {name!r} lists a level twice", "list each once", column=name)
    if not (is_text_column(column) or is_ordered_column(column)):
        raise TableError(
            f"Column {name!r} is not text, but its order is",
            "give scores, or the name of the column alone",
            column=name,
        )
    return tuple(own)


def find_scores(
    name: str, column: Any, levels: tuple[Level, ...], order: tuple[Level, ...] | None, ordinal: Ordinal
) -> tuple[float, ...] | None:
    """Return the scores of the levels of a column, or None where they are not ordered.

    They are those that were given; the positions of levels in the order that was given, or that the column declares;
    or, of numbers, the numbers themselves less the first of them.
    """
    if ordinal is False or len(levels) < 3:
        return None
    if order is not None:
        return tuple(float(order.index(level)) for level in levels)
    if isinstance(ordinal, Mapping) and ordinal.get(name):
        own = tuple(ordinal[name])
        if is_text_column(column):
            raise TableError(
                f"Column {name!r} is text, and scores do not say in which order its levels are",
                "list the levels in order, make it an ordered category, or use numbers",
                column=name,
            )
        if len(own) != len(levels):
            raise TableError(
                f"Column {name!r} has {count(len(levels), 'level')}, {preview(levels)}, but {count(len(own), 'score')}",
                "give one for each, in their order",
                column=name,
            )
        return tuple(float(score) for score in own)
    if is_ordered_column(column):
        declared = column.cat.get_categories().to_list()
        return tuple(float(declared.index(level)) for level in levels)
    if not _is_named(name, ordinal):
        return None
    if is_text_column(column):
        if ordinal is True:  # words stay categories
            return None
        raise TableError(
            f"Column {name!r} is text, whose alphabetical order says nothing",
            "give the order of its levels, make it an ordered category, or use numbers",
            column=name,
        )
    return tuple(float(level) - float(levels[0]) for level in levels)


def _is_named(name: str, ordinal: Ordinal) -> bool:
    """Say whether a column is among those that are to be ordered."""
    if isinstance(ordinal, bool) or ordinal is None:
        return bool(ordinal)
    return name in ordinal
