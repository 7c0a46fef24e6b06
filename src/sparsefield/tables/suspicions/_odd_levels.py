"""Levels that are legal and may not be meant: variants of one word, typos, counts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sparsefield.data import Level, Suspicion, Table, preview
from sparsefield.tables.encoding._variants import fold
from sparsefield.tables.suspicions._missing_codes import Columns, known_codes

FEW_LEVELS = 11  # numbers with as many levels are mostly scales: 0 to 10 is the longest in use

_MANY_ROWS = 50  # from which on a level that is seen once or twice stands out
_SELDOM, _OFTEN = 2, 10  # rows that a typo is seen in, and how many times as many its right spelling is
_SHORT = 3  # letters: of fewer, one letter makes another word


def find_variants(columns: Columns) -> list[Suspicion]:
    """Find levels that differ in case and blanks alone.

    Where all levels of a column do, as the genotypes AA, Aa and aa, they are meant.
    """
    found = []
    for name, levels, _ in columns:
        groups: dict[str, list[Level]] = {}
        for level in levels:
            groups.setdefault(fold(str(level)), []).append(level)
        alike = [own for own in groups.values() if len(own) > 1]
        if alike and len(groups) > 1:
            which = "; ".join(preview(own) for own in alike[:3]) + ("; ..." if len(alike) > 3 else "")
            found.append(
                Suspicion(
                    kind="variants",
                    problem=f"Column {name!r} has levels that differ in case or blanks alone: {which}",
                    remedy="If they mean the same, merge them with {option}",
                    columns=(name,),
                    values=tuple(level for own in alike for level in own),
                    option="merge_levels",
                )
            )
    return found


def find_counts(table: Table, columns: Columns) -> list[Suspicion]:
    """Find numbers with more levels than scales have, codes for missing values apart."""
    domain, known = table.domain, known_codes(columns)
    names = [
        name
        for name, levels, is_ordered in zip(domain.names, domain.levels, domain.is_ordered, strict=True)
        if not is_ordered and is_count([level for level in levels if level not in known])
    ]
    if not names:
        return []
    name, levels = names[0], domain.levels[domain.names.index(names[0])]
    what = f"{name!r} holds {len(levels)} different numbers, from {levels[0]} to {levels[-1]}"
    more = f", and so do {preview(names[1:])}" if len(names) > 1 else ""
    return [
        Suspicion(
            kind="count",
            problem=f"Column {what}{more}: each counts as a category of its own",
            remedy="Cut counts and measurements into a few levels, such as 0, 1, 2, 3 or more; or name them in "
            "{option}, and each of their edges is a single number",
            columns=tuple(names),
            option="ordinal",
        )
    ]


def is_count(levels: Sequence[Level]) -> bool:
    """Say whether levels are numbers, and more than scales have."""
    return len(levels) > FEW_LEVELS and all(type(level) is int for level in levels)


def find_rare(table: Table, columns: Columns, whole: Table) -> list[Suspicion]:
    """Find levels that are seen once or twice and may be typos.

    They are words one letter away from a frequent level, and numbers with more digits than all others and further away
    than these are from each other, as 44 is from 1 to 5. What is rare and neither may well be meant. Rows are counted
    in the whole table, some of whose rows may have been left out.
    """
    if table.n_rows < _MANY_ROWS:
        return []
    found, known = [], known_codes(columns)
    for (name, levels, seen), codes in zip(columns, whole.codes.T, strict=True):
        for k in np.flatnonzero((seen > 0) & (seen <= _SELDOM)):
            if levels[k] not in known and _is_typo(levels, seen, int(k)):
                row = int(np.argmax(codes == k))
                where = f"in {seen[k]} of {table.n_rows} rows, the first in row {row}"
                problem = f"Column {name!r} has the value {levels[k]!r} {where}"
                found.append(Suspicion("rare", problem, "is it a typo?", (name,), (levels[k],), row=row))
    return found


def _is_typo(levels: Sequence[Level], seen: NDArray[np.int64], k: int) -> bool:
    """Say whether a level looks like another one that was typed wrong."""
    own = levels[k]
    if isinstance(own, str):
        frequent = [level for level, n in zip(levels, seen, strict=True) if n >= _OFTEN * seen[k]]
        return any(_is_near(own, level) for level in frequent if isinstance(level, str))
    others = [int(level) for level in levels if level != own]
    if type(own) is not int or len(others) < 2 or is_count(levels):
        return False
    return (
        len(str(own)) > max(len(str(other)) for other in others) and own - max(others) > max(others) - min(others) + 1
    )


def _is_near(word: str, other: str) -> bool:
    """Say whether two words differ in one letter that is left out, put in, another one, or changed with the next."""
    if min(len(word), len(other)) < _SHORT or any(mark.isdigit() for mark in word + other):
        return False
    while word and other and word[0] == other[0]:
        word, other = word[1:], other[1:]
    while word and other and word[-1] == other[-1]:
        word, other = word[:-1], other[:-1]
    return max(len(word), len(other)) == 1 or (len(word) == 2 and word[::-1] == other)
