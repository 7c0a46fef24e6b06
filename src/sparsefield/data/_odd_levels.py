"""Levels that are legal and may not be meant: codes for missing values, variants of one word, typos, counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from sparsefield.data._alignments import AMINO_ACIDS
from sparsefield.data._domain import Level
from sparsefield.data._errors import Suspicion
from sparsefield.data._listing import preview
from sparsefield.data._table import Table
from sparsefield.data._variants import fold

FEW_LEVELS = 11  # numbers with as many levels are mostly scales: 0 to 10 is the longest in use

# What survey programs write for "refused", "don't know" and "no answer": repeated sevens, eights and nines, also with a
# minus, and -1.
_DIGITS = (7, 8, 9)
_CODES = frozenset({-1, *(sign * int(str(k) * n) for k in _DIGITS for n in range(1, 6) for sign in (1, -1))})

# Whole cells, without case and blanks around them. "None" and "unknown" are levels more often than not.
_WORDS = {"missing", "refused", "no answer", "not answered", "don't know", "don\u2019t know", "dont know"}
_WORDS |= {"na", "n/a", "n.a.", "#n/a", "#na", "<na>", "nan", "null", "#null!", "-", "--", "_", ".", "..", "?"}

_MANY_ROWS = 50  # from which on a level that is seen once or twice stands out
_SELDOM, _OFTEN = 2, 10  # rows that a typo is seen in, and how many times as many its right spelling is
_SHORT = 3  # letters: of fewer, one letter makes another word
_TAIL = 0.05  # of the rows: the highest level of a count is seldom seen, and numbers above it are its tail


def find_codes(table: Table) -> list[Suspicion]:
    """Find numbers that lie apart from a scale and are conventional codes for missing answers."""
    found: dict[tuple[Level, ...], list[str]] = {}
    known = _known_codes(table)
    for name, levels, seen in _columns(table):
        codes = _codes_of(levels, seen, known)
        if codes:
            found.setdefault(codes, []).append(name)
    return [
        Suspicion(
            kind="missing code",
            problem=f"{_name(columns)} {_number(codes)} apart from the other levels",
            remedy="If this means a missing value, leave such cells empty, or read the file with {option}",
            columns=tuple(columns),
            values=codes,
            option="missing_markers",
        )
        for codes, columns in found.items()
    ]


def _known_codes(table: Table) -> frozenset[int]:
    """Return the codes of all columns: what is a code in one of them is hardly the tail of a count in another."""
    return frozenset(code for _, levels, seen in _columns(table) for code in _codes_of(levels, seen, frozenset()))


def _codes_of(levels: Sequence[Level], seen: NDArray[np.int64], known: frozenset[int]) -> tuple[int, ...]:
    """Return the levels that are codes: what is left must be a scale of at least two levels, apart from all of them."""
    if not all(type(level) is int for level in levels):
        return ()
    counts = {int(level): int(n) for level, n in zip(levels, seen, strict=True) if n}
    codes = [level for level in counts if level in _CODES]
    while codes:
        scale = sorted(level for level in counts if level not in codes)
        if len(scale) < 2:
            return ()
        kept = [
            code for code in codes if _is_apart(code, scale) and (code in known or not _is_tail(code, scale, counts))
        ]
        if kept == codes:
            return tuple(sorted(codes))
        codes = kept
    return ()


def _is_apart(code: int, scale: list[int]) -> bool:
    """Say whether a conventional code lies apart from a scale.

    Below zero it does where the scale is not negative; -1, which may belong to a scale of -1, 0, 1, where there are two
    levels above zero. A repeated digit of several places lies further above the scale than the scale is wide. A single
    digit must leave out two numbers (the conventional 9, one) above a scale without gaps.
    """
    low, high = scale[0], scale[-1]
    if code < 0:
        is_signed = low < 0 or (-code in scale and code != -1)
        return not is_signed and (code < -1 or high >= 2)
    if code > 9:
        return code - high > high - low + 1
    is_scale = low in (0, 1) and high - low + 1 == len(scale)
    return is_scale and code - high >= (2 if code == 9 else 3)


def _is_tail(code: int, scale: list[int], counts: dict[int, int]) -> bool:
    """Say whether a single digit may be the tail of a count, in which higher numbers are seen less and less often."""
    highest = counts[scale[-1]]
    return 0 < code <= 9 and counts[code] <= highest < _TAIL * sum(counts.values())


def find_words(table: Table) -> list[Suspicion]:
    """Find levels that are words for a missing value."""
    if _is_alignment(table):
        return []
    found: dict[tuple[Level, ...], list[str]] = {}
    for name, levels, seen in _columns(table):
        words = tuple(
            word for word, n in zip(levels, seen, strict=True) if n and str(word).strip().casefold() in _WORDS
        )
        if words and not ("+" in levels and set(words) == {"-"}):
            found.setdefault(words, []).append(name)
    return [
        Suspicion(
            kind="missing word",
            problem=f"{_name(columns)} {preview(words)} as {'levels' if len(words) > 1 else 'a level'}",
            remedy="If this means a missing value, leave such cells empty, or read the file with {option}",
            columns=tuple(columns),
            values=words,
            option="missing_markers",
        )
        for words, columns in found.items()
    ]


def _is_alignment(table: Table) -> bool:
    """Say whether all levels are amino acids and gaps, whose sign is no word for a missing value."""
    letters = set(AMINO_ACIDS)
    sizes = [len(levels) for levels in table.domain.levels]
    # Yes, no and "-" are amino acids too; four letters are hardly answers.
    return max(sizes) > 3 and all(level in letters for levels in table.domain.levels for level in levels)


def find_variants(table: Table) -> list[Suspicion]:
    """Find levels that differ in case and blanks alone.

    Where all levels of a column do, as the genotypes AA, Aa and aa, they are meant.
    """
    found = []
    for name, levels, _ in _columns(table):
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


def find_counts(table: Table) -> list[Suspicion]:
    """Find numbers with more levels than scales have."""
    found = [
        (name, levels)
        for (name, levels, _), is_ordered in zip(_columns(table), table.domain.is_ordered, strict=True)
        if is_count(levels) and not is_ordered
    ]
    if not found:
        return []
    (name, levels), names = found[0], [name for name, _ in found]
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


def find_rare(table: Table) -> list[Suspicion]:
    """Find levels that are seen once or twice and may be typos.

    They are words one letter away from a frequent level, and numbers with more digits than all others and further away
    than these are from each other, as 44 is from 1 to 5. What is rare and neither may well be meant.
    """
    if table.n_rows < _MANY_ROWS:
        return []
    found, known = [], _known_codes(table)
    for (name, levels, seen), codes in zip(_columns(table), table.codes.T, strict=True):
        for k in np.flatnonzero((seen > 0) & (seen <= _SELDOM)):
            if levels[k] not in known and _is_typo(levels, seen, int(k)):
                row = int(np.argmax(codes == k))
                problem = (
                    f"Column {name!r} has the value {levels[k]!r} in {seen[k]} of {table.n_rows} rows, the first in"
                )
                problem = f"{problem} row {row}"
                found.append(Suspicion("rare", problem, "is it a typo?", columns=(name,), values=(levels[k],)))
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


def _columns(table: Table) -> Iterator[tuple[str, tuple[Level, ...], NDArray[np.int64]]]:
    """Yield name, levels, and how many rows show each level."""
    for name, levels, codes in zip(table.domain.names, table.domain.levels, table.codes.T, strict=True):
        yield name, levels, np.bincount(codes, minlength=256)[: len(levels)]


def _name(columns: Sequence[str]) -> str:
    return f"Column {columns[0]!r} has" if len(columns) == 1 else f"Columns {preview(columns)} have"


def _number(codes: Sequence[Level]) -> str:
    return f"the number {codes[0]}" if len(codes) == 1 else f"the numbers {preview(codes)}"
