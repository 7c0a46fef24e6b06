"""Numbers of things, and lists of words, as people write them."""

from __future__ import annotations


def count_of(n: int, what: str) -> str:
    """Write a number of things, thousands apart: 1 edge, 4,950 pairs."""
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def and_last(words: list[str]) -> str:
    """Write words one after the other: a, b and c."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last
