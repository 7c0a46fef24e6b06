"""A few of many values, in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any


def preview(values: Iterable[Any], most: int = 5) -> str:
    """Write the first few of many values."""
    known = list(values)
    text = ", ".join(repr(value) for value in known[:most])
    return f"{text}, ..." if len(known) > most else text


def count(n: int, what: str) -> str:
    """Write a number of things: 1 edge, 2 edges."""
    return f"{n} {what}{'' if n == 1 else 's'}"


def listed(words: Sequence[str]) -> str:
    """Write all words of a choice: 'a', 'b' or 'c'."""
    *first, last = (repr(word) for word in words)
    return f"{', '.join(first)} or {last}" if first else last


def columns_have(columns: Sequence[str]) -> str:
    """Begin a sentence about columns: Column 'a' has; Columns 'a', 'b' have."""
    return f"Column {columns[0]!r} has" if len(columns) == 1 else f"Columns {preview(columns)} have"
