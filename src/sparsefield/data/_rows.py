"""The rows that a fit is made of: a table, how often each row counts, and what both tell, counted once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sparsefield.data._fingerprint import describe_rows
from sparsefield.data._moments import Moments, weighted_moments
from sparsefield.data._policies import resolve_missing, take_counted
from sparsefield.data._table import Table
from sparsefield.data._unseen import Unseen, find_unseen

_SHARES = 2.0  # shares add up to one; from this on weights count rows


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows that count (observations with case weights), after missing values are filled or dropped.

    Parameters
    ----------
    table : Table
        The rows.
    weights : ndarray of shape (n_rows,), optional
        How often each counts.

    Examples
    --------
    >>> import sparsefield as sf
    >>> from sparsefield.data import Rows
    >>> rows = Rows.of(sf.encode([[0, 0], [0, 1], [1, 1]]), [2, 0, 3])
    >>> rows.table.n_rows, rows.n, rows.moments.main.tolist()
    (2, 5.0, [0.6, 0.6])
    """

    table: Table
    weights: NDArray[np.float64] | None = None

    @classmethod
    def of(cls, table: Table, sample_weight: ArrayLike | None = None, missing: str = "model") -> Self:
        """Leave out the rows that do not count, and do with missing values what was asked for.

        Parameters
        ----------
        table : Table
            Observations.
        sample_weight : array-like of shape (n_rows,), optional
            How often each row counts.
        missing : "model", "zero", "drop" or "error"
            See `resolve_missing`.
        """
        counted, weights = take_counted(table, sample_weight)
        return cls(*resolve_missing(counted, missing, weights))

    def __getitem__(self, which: NDArray[np.int64]) -> Rows:
        """Return some of the rows, with their weights."""
        return Rows(self.table[which], None if self.weights is None else self.weights[which])

    @property
    def n(self) -> float:
        """How many rows the weights say that there are.

        Weights say how often a row counts: those of sequences, for example, add up to the effective number of these.
        Weights that add up to less than two are shares of the rows, and not counts.
        """
        total = self.table.n_rows if self.weights is None else float(self.weights.sum())
        return float(self.table.n_rows if total < _SHARES else total)

    @property
    def counts(self) -> NDArray[np.float64] | None:
        """The weights, as counts of rows also where they are shares."""
        if self.weights is None or self.weights.sum() >= _SHARES:
            return self.weights
        return np.asarray(self.weights * (self.n / self.weights.sum()))

    @cached_property
    def moments(self) -> Moments | None:
        """The moments of the rows, counted when they are first asked for; None where cells are missing."""
        return None if self.table.n_missing.any() else weighted_moments(self.table, self.weights)

    @cached_property
    def facts(self) -> dict[str, Any]:
        """What tells these rows and weights from others (`describe_rows`)."""
        return describe_rows(self.table, self.weights)

    def unseen(self, *, is_free: bool = True) -> Unseen:
        """Return the levels that count as half a row, where main effects are free (`find_unseen`)."""
        return find_unseen(self.table, self.weights, is_free=is_free)
