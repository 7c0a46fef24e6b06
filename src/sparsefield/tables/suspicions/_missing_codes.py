"""Levels that stand for missing values: conventional numbers apart from a scale, and words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sparsefield.data import Level, Suspicion, Table, columns_have, preview
from sparsefield.tables.sequences._alignments import AMINO_ACIDS

Columns = Sequence[tuple[str, tuple[Level, ...], NDArray[np.int64]]]

# What survey programs write for "refused", "don't know" and "no answer": repeated sevens, eights and nines, also with a
# minus, and -1.
_DIGITS = (7, 8, 9)
_CODES = frozenset({-1, *(sign * int(str(k) * n) for k in _DIGITS for n in range(1, 6) for sign in (1, -1))})

# Whole cells, without case and blanks around them. "None" and "unknown" are levels more often than not.
_WORDS = {"missing", "refused", "no answer", "not answered", "don't know", "don\u2019t know", "dont know"}
_WORDS |= {"na", "n/a", "n.a.", "#n/a", "#na", "<na>", "nan", "null", "#null!", "-", "--", "_", ".", "..", "?"}

_TAIL = 0.05  # of the rows: the highest level of a count is seldom seen, and numbers above it are its tail


def find_codes(columns: Columns) -> list[Suspicion]:
    """Find numbers that lie apart from a scale and are conventional codes for missing answers."""
    found: dict[tuple[Level, ...], list[str]] = {}
    known = known_codes(columns)
    for name, levels, seen in columns:
        codes = _codes_of(levels, seen, known)
        if codes:
            found.setdefault(codes, []).append(name)
    return [
        _ask("missing code", f"{columns_have(columns)} {_number(codes)} apart from the other levels", columns, codes)
        for codes, columns in found.items()
    ]


def known_codes(columns: Columns) -> frozenset[int]:
    """Return the codes of all columns: what is a code in one of them is hardly the tail of a count in another."""
    return frozenset(code for _, levels, seen in columns for code in _codes_of(levels, seen, frozenset()))


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

    -1, which may belong to a scale of -1, 0, 1, does where the scale begins at zero or one, and has a two. Other codes
    below zero do where the scale is not negative. Codes below other scales, and those of several digits above a scale,
    must be further away than the scale is wide. A single digit must leave out two numbers above a scale without gaps; 9
    may leave out one above a scale from 1 to 7.
    """
    low, high = scale[0], scale[-1]
    if code == -1:
        return low >= 0 and high >= 2
    if code < 0 and -code not in scale:
        return low >= 0 or low - code > high - low + 1
    if code > 9:
        return code - high > high - low + 1
    is_scale = low in (0, 1) and high - low + 1 == len(scale)
    return is_scale and (code - high > 2 or (low, high, code) == (1, 7, 9))


def _is_tail(code: int, scale: list[int], counts: dict[int, int]) -> bool:
    """Say whether a single digit may be the tail of a count, in which higher numbers are seen less and less often.

    Counts mostly begin at zero; where a scale does not, its highest number must be rare. What is further away than the
    scale is wide is no tail.
    """
    if not 0 < code <= 9 or code - scale[-1] > len(scale):
        return False
    highest, second = counts[scale[-1]], counts[scale[-2]]
    is_falling = counts[code] <= highest <= second
    return is_falling and (scale[0] == 0 or highest < _TAIL * sum(counts.values()))


def find_words(columns: Columns) -> list[Suspicion]:
    """Find levels that are words for a missing value."""
    if _is_alignment(columns):
        return []
    found: dict[tuple[Level, ...], list[str]] = {}
    for name, levels, seen in columns:
        words = tuple(
            word for word, n in zip(levels, seen, strict=True) if n and str(word).strip().casefold() in _WORDS
        )
        if words and not ("+" in levels and set(words) == {"-"}):
            found.setdefault(words, []).append(name)
    return [
        _ask(
            "missing word",
            f"{columns_have(columns)} {preview(words)} as {'levels' if len(words) > 1 else 'a level'}",
            columns,
            words,
        )
        for words, columns in found.items()
    ]


def _ask(kind: str, problem: str, columns: Sequence[str], values: tuple[Level, ...]) -> Suspicion:
    """Ask whether levels of some columns mean missing values."""
    return Suspicion(
        kind=kind,
        problem=problem,
        remedy="If this means a missing value, leave such cells empty, or read the file with {option}",
        columns=tuple(columns),
        values=values,
        option="missing_markers",
    )


def _is_alignment(columns: Columns) -> bool:
    """Say whether all levels are amino acids and gaps, whose sign is no word for a missing value."""
    letters = set(AMINO_ACIDS)
    sizes = [len(levels) for _, levels, _ in columns]
    # Yes, no and "-" are amino acids too; four letters are hardly answers.
    return max(sizes) > 3 and all(level in letters for _, levels, _ in columns for level in levels)


def columns_of(table: Table) -> Columns:
    """Return name, levels, and how many rows show each level, of all columns: rows are counted once for all rules."""
    return tuple(zip(table.domain.names, table.domain.levels, table.level_counts(), strict=True))


def _number(codes: Sequence[Level]) -> str:
    return f"the number {codes[0]}" if len(codes) == 1 else f"the numbers {preview(codes)}"
