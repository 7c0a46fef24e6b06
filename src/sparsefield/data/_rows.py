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
    are_counts : bool, optional
        Whether weights are counts of equal rows, or those of a survey, whose scale does not matter; counts where they
        are whole numbers, unless told.

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
    are_counts: bool | None = None

    @classmethod
    def of(
        cls,
        table: Table,
        sample_weight: ArrayLike | None = None,
        missing: str = "model",
        *,
        are_counts: bool | None = None,
    ) -> Self:
        """Leave out the rows that do not count, and do with missing values what was asked for.

        Parameters
        ----------
        table : Table
            Observations.
        sample_weight : array-like of shape (n_rows,), optional
            How often each row counts.
        missing : "model", "zero", "drop" or "error"
            See `resolve_missing`.
        are_counts : bool, optional
            Whether weights are counts; see `Rows`.
        """
        counted, weights = take_counted(table, sample_weight)
        return cls(*resolve_missing(counted, missing, weights), are_counts)

    def __getitem__(self, which: NDArray[np.int64]) -> Rows:
        """Return some of the rows, with their weights."""
        return Rows(self.table[which], None if self.weights is None else self.weights[which], self.counts_rows)

    @property
    def n(self) -> float:
        """How many rows the weights say that there are.

        Weights say how often a row counts: those of sequences, for example, add up to the effective number of these.
        Weights that add up to less than two are shares of the rows, and not counts.
        """
        total = self.table.n_rows if self.weights is None else float(self.weights.sum())
        return float(self.table.n_rows if total < _SHARES else total)

    @property
    def counts_rows(self) -> bool:
        """Whether each row counts as often as its weight says; else weights are those of a survey."""
        if self.weights is None or self.are_counts is not None:
            return bool(self.are_counts)
        return bool((self.weights % 1 == 0).all())

    @property
    def n_effective(self) -> float:
        """How many rows of equal weight tell as much (Kish 1965): (sum w)^2 / sum w^2 by the weights of a survey."""
        if self.weights is None:
            return float(self.table.n_rows)
        total = float(self.weights.sum())
        return total if self.counts_rows else total**2 / float((self.weights**2).sum())

    @property
    def counts(self) -> NDArray[np.float64] | None:
        """The weights, as counts of rows that add up to as many as they tell as much as."""
        if self.weights is None or self.counts_rows:
            return self.weights
        return np.asarray(self.weights * (self.n_effective / self.weights.sum()))

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
