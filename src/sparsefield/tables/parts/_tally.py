"""What one pass over some rows knows of them: levels, whole-number counts and a sample, which add up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sparsefield.data import MISSING, MOST_ROWS, Level, TableError
from sparsefield.tables.parts._row_sample import RowSample

# None stands for missing values that count, which become the first level in the end.
Levels = tuple[tuple[Level | None, ...], ...]


@dataclass(frozen=True, eq=False)
class Tally:
    """Counts of some rows, with the levels that these show, in any order.

    The first level of each variable has no slot: how often it was seen is what the others leave. So neither levels that
    come later nor another order of them change a count that was made.

    Parameters
    ----------
    names : tuple of str
        The variables.
    levels : tuple of tuples
        The levels of each that were seen, by their codes in this tally.
    pair : ndarray of shape (n_slots, n_slots), integers
        Rows on which two slots are both one.
    n : int
        Rows counted.
    n_missing : ndarray of shape (n_variables,)
        Missing values of each variable, in rows that count and in those that are left out.
    n_dropped : int
        Rows that are left out.
    sample : RowSample
        Some of the rows.
    """

    names: tuple[str, ...]
    levels: Levels
    pair: NDArray[np.integer] = field(repr=False)
    n: int
    n_missing: NDArray[np.int64] = field(repr=False)
    n_dropped: int
    sample: RowSample = field(repr=False)

    def __add__(self, other: Tally) -> Tally:
        """Return the tally of both parts together."""
        _check_columns(self.names, other.names)
        levels = tuple(map(_join, self.names, self.levels, other.levels))
        wanted = [(i, level) for i, own in enumerate(levels) for level in own[1:]]
        first, second = (part.pair if part.levels == levels else part.counts_of(wanted) for part in (self, other))
        sample = other.sample if other.levels == levels else other.sample.recoded(new_codes(other.levels, levels))
        n = self.n + other.n
        return Tally(
            self.names,
            levels,
            first.astype(np.int64 if n > MOST_ROWS else first.dtype, copy=False) + second,
            n,
            self.n_missing + other.n_missing,
            self.n_dropped + other.n_dropped,
            self.sample + sample,
        )

    def counts_of(
        self, wanted: Sequence[tuple[int, Level | None]], fills: Sequence[Level] | None = None
    ) -> NDArray[np.integer]:
        """Return the counts of other slots.

        Parameters
        ----------
        wanted : sequence of (int, level)
            The variable and the level of each.
        fills : sequence of levels, optional
            The level of each variable that its missing values count as.
        """
        starts = np.cumsum([1, *(max(0, len(own) - 1) for own in self.levels)])
        recipes = []
        for i, level in wanted:
            same = (level, None) if fills is not None and level == fills[i] else (level,)
            recipes.append(_recipe(int(starts[i]), self.levels[i], same))
        extended = np.zeros((len(self.pair) + 1,) * 2, dtype=np.int64)
        extended[0, 0], extended[1:, 1:] = self.n, self.pair
        extended[0, 1:] = extended[1:, 0] = np.diagonal(self.pair)
        return _combine(_combine(extended, recipes).T, recipes).astype(self.pair.dtype)


def _recipe(
    start: int, levels: tuple[Level | None, ...], same: tuple[Level | None, ...]
) -> tuple[bool, list[int], list[int]]:
    """Say of which indicators that of some levels is the sum: whether of the constant one, and what is added or taken.

    The indicator of the first level is one less those of all others.
    """
    own = [k for k, level in enumerate(levels) if level in same]
    if 0 in own:
        return True, [], [start + k - 1 for k in range(1, len(levels)) if k not in own]
    return False, [start + k - 1 for k in own], []


def _combine(rows: NDArray[np.int64], recipes: Sequence[tuple[bool, list[int], list[int]]]) -> NDArray[np.int64]:
    """Return sums of rows, as recipes say."""
    found = np.zeros((len(recipes), rows.shape[1]), dtype=np.int64)
    for own, (has_one, plus, minus) in zip(found, recipes, strict=True):
        if has_one:
            own += rows[0]
        for k in plus:
            own += rows[k]
        for k in minus:
            own -= rows[k]
    return found


def _check_columns(names: tuple[str, ...], others: tuple[str, ...]) -> None:
    if names == others:
        return
    odd = [name for name in (*others, *names) if (name in names) != (name in others)]
    problem = f"Column {odd[0]!r} is not in all parts" if odd else "The columns of parts are in different orders"
    raise TableError(problem, "give all parts the same columns, in the same order", column=odd[0] if odd else None)


def _join(name: str, first: tuple[Level | None, ...], second: tuple[Level | None, ...]) -> tuple[Level | None, ...]:
    """Return the levels of both parts: those of the first, and others after them."""
    if first == second:
        return first
    kinds = {type(level): level for level in (*first, *second) if level is not None}
    if len(kinds) > 1:
        raise TableError(
            f"Column {name!r} mixes kinds of values, such as {' and '.join(map(repr, kinds.values()))}, in different "
            "parts",
            "make them all text or all numbers",
            column=name,
        )
    found = (*first, *(level for level in second if level not in first))
    if len(found) > MISSING:
        raise TableError(
            f"Column {name!r} has more than {MISSING - 1} levels", "group them, or leave it out", column=name
        )
    return found


def new_codes(old: Levels, new: Levels) -> NDArray[np.uint8]:
    """Return which code of new levels each code of the old ones is, (p, 256); those without one are the first."""
    table = np.zeros((len(old), MISSING + 1), dtype=np.uint8)
    for row, own, others in zip(table, old, new, strict=True):
        row[: len(own)] = [others.index(level) if level in others else 0 for level in own]
    return table
