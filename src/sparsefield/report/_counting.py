"""Numbers of things, and lists of words, as people write them."""

from __future__ import annotations

import re

_LONGEST = 60  # letters of a name in a sentence, which is a line of a card; the table of edges has whole names
_TURNS = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069]")  # marks that turn the direction of what follows


def count_of(n: int, what: str) -> str:
    """Write a number of things, thousands apart: 1 edge, 4,950 pairs."""
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def and_last(words: list[str]) -> str:
    """Write words one after the other: a, b and c."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def as_name(name: str) -> str:
    """Write a name inside a sentence: on one line, cut if it is long, and without marks that turn the sentence around.

    Examples
    --------
    >>> from sparsefield.report._counting import as_name
    >>> as_name("little interest"), len(as_name("very " * 100))
    ('little interest', 60)
    """
    line = " ".join(_TURNS.sub("", name).splitlines())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1].rstrip()}…"
