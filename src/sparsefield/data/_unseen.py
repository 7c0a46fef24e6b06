"""Levels that no row shows: what counts in place of nothing, so that free main effects are finite."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sparsefield.data._domain import Domain
from sparsefield.data._moments import Moments
from sparsefield.data._phrases import preview
from sparsefield.data._table import Table


@dataclass(frozen=True)
class Unseen:
    """Levels that no row of a table shows, each of which counts as half a row.

    The main effect of a level that is never seen has no finite optimum unless it is penalised. Half an observation,
    independent of all other variables, makes it finite. A variable with m such levels has n + m / 2 observations then:
    the moments are those of a table in which each row has each of these levels with probability 1 / (2 n + m), whatever
    the rest of the row. The main effect of a variable of two levels that shows one of them is log(2 n) in size.

    These rows have at least the entropy of the table, as bounds on gaps ask (`assess`): given the other variables it
    changes by h(q) + q log m - q H, with q = m / (2 n + m) and an entropy H of at most log n. That is at least
    q (log(2 n + m) - H), because h(q), the entropy of a coin, is at least q log(1 / q).

    Parameters
    ----------
    domain : Domain
        The variables.
    levels : tuple of (int, int)
        The variable and the code of each level.
    n : float
        How many rows there are, or the weights say that there are.

    Examples
    --------
    >>> import sparsefield as sf
    >>> from sparsefield.data import find_unseen
    >>> table = sf.encode([[0, 0], [0, 1], [0, 0], [0, 1]], domain=sf.Domain.binary(2))
    >>> find_unseen(table).fill(sf.data.moments_of_table(table)).pair
    array([[0.11111111, 0.05555556],
           [0.05555556, 0.5       ]])
    """

    domain: Domain
    levels: tuple[tuple[int, int], ...]
    n: float

    def fill(self, moments: Moments) -> Moments:
        """Return the moments with half a row of each of these levels; the same ones where there are none."""
        if not self.levels:
            return moments
        kept, added = self.shares()
        main = kept * moments.main
        pair = np.outer(kept, kept) * moments.pair + np.outer(main, added) + np.outer(added, main + added)
        variables = self.domain.slot_variables
        pair[variables[:, None] == variables] = 0.0
        np.fill_diagonal(pair, main + added)
        return Moments.of_pairs(pair, moments.n)

    @property
    def is_alone(self) -> NDArray[np.bool_]:
        """Which main statistics no other variable says anything about: of unseen levels and constant variables."""
        is_constant = (self._n_unseen > 0) & (self._n_unseen >= self.domain.n_levels - 1)
        return np.asarray((self.shares()[1] > 0) | is_constant[self.domain.slot_variables])

    def shares(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return what is kept of the mean of each main statistic, and what is added to it, (n_slots,) each."""
        n_halves, variables = 2 * self.n + self._n_unseen, self.domain.slot_variables
        kept = np.asarray(2 * self.n / n_halves, dtype=np.float64)
        added = np.zeros(self.domain.n_slots)
        for variable, code in self.levels:
            added[(variables == variable) & (self.domain.slot_levels == code)] = 1 / n_halves[variable]
        return kept[variables], added

    @property
    def _n_unseen(self) -> NDArray[np.int64]:
        """How many of its levels no row shows, for each variable."""
        return np.bincount([i for i, _ in self.levels], minlength=self.domain.n_variables)

    def __str__(self) -> str:
        """Say what counts as half a row; nothing where there are no such levels."""
        if not self.levels:
            return ""
        names = [f"{self.domain.names[i]}={self.domain.levels[i][k]}" for i, k in self.levels]
        which = "" if len(names) == 1 else "any of "
        return (
            f"No row has {which}{preview(names)}: so that free main effects are finite, a level that is never seen "
            "counts as half a row."
        )


def find_unseen(table: Table, weights: NDArray[np.float64] | None = None, *, is_free: bool = True) -> Unseen:
    """Find the levels that count as half a row: those that no row of a table shows, where main effects are free.

    Parameters
    ----------
    table : Table
        Observations, each of which counts; they may have missing values.
    weights : ndarray of shape (n_rows,), optional
        How often each row counts. There are as many rows as they add up to, and no fewer than the table has: the
        bound on the entropy of the rows, log n, is of all of them.
    is_free : bool
        Whether main effects are free. Where they are penalised, they are finite, and no level counts as half a row.
    """
    domain = table.domain
    if not is_free:
        return Unseen(domain, (), table.n_rows)
    levels = tuple((i, int(code)) for i, seen in enumerate(table.level_counts()) for code in np.flatnonzero(seen == 0))
    total = 0.0 if weights is None else float(weights.sum())
    return Unseen(domain, levels, max(table.n_rows, total))
