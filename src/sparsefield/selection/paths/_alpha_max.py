"""The smallest penalty that leaves no edge, and penalties below it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sparsefield._typing import Matrix, Values
from sparsefield.data import MISSING, CountedTable, Moments
from sparsefield.fitting import Learner, Options
from sparsefield.model import across_variables
from sparsefield.objective import PenaltyKind
from sparsefield.selection.paths._main_effects import MainEffects
from sparsefield.tables import read_rows

# Where main effects are penalised the smallest penalty is looked for from above, in steps of 2%: an edge that comes and
# goes again within a step is missed. Bisection then finds it as a double has it.
_STEP, _MOST_HALVINGS = 0.98, 53

_ROUNDING = 1e-12  # of frequencies, which are sums and quotients of doubles: at the largest alpha there is no edge

_ROWS_AT_ONCE = 4096


def alpha_max(
    data: Any,
    *,
    penalty: PenaltyKind = "auto",
    penalize_main: bool = False,
    missing: Literal["model", "zero", "drop", "error"] = "model",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the smallest alpha from which on the optimum has no edge.

    With free main effects and no edge, the model has the frequencies of single levels that the table has, and misses
    those of pairs by their distance from independence: alpha must be the largest of these. With the group penalty that
    is the distance of two variables, the norm of what they miss over what the norm of a group counts. Where main
    effects are penalised, the model without edges depends on alpha, and the largest alpha at which it misses a pair by
    as much is looked for. Missing values are those that independent variables would have.

    Parameters
    ----------
    data : Table, array, pandas or polars data frame, or path
        Observations, one row each; see `encode`.
    penalty, penalize_main, missing
        As for `SparseMRF`.
    sample_weight : array-like of shape (n_rows,), optional
        How often each row counts.

    Examples
    --------
    >>> import sparsefield as sf
    >>> table = sf.datasets.make_field(6, strength=(1.0, 1.5), seed=7).sample(5000, method="perfect", seed=1)
    >>> most = sf.selection.alpha_max(table)
    >>> [sf.SparseMRF(alpha).fit(table).graph().number_of_edges() for alpha in (most, 0.99 * most)]
    [0, 1]
    """
    options = Options(penalty=penalty, penalize_main=penalize_main, missing=missing)
    return largest_alpha(Learner(read_rows(data, sample_weight, missing=missing), options))


def largest_alpha(learner: Learner) -> float:
    """Return `alpha_max` of a table that is read and counted."""
    rows = _RowFrequencies(learner)
    if not learner.options.penalize_main:
        worst = rows.worst(rows.means(0.0))
        return worst * (1 + _ROUNDING) if worst > _ROUNDING else 0.0  # independent, but for rounding
    high = low = rows.largest
    while rows.excess(low) <= 0:
        high, low = low, _STEP * low
        if low < 1e-12:
            return 0.0
    for _ in range(_MOST_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if rows.excess(middle) <= 0 else (middle, high)
    return high * (1 + _ROUNDING)


def independent_means(learner: Learner) -> Values:
    """Return the frequencies of single levels, (n_slots,), where main effects are free and there is no edge."""
    return _RowFrequencies(learner).means(0.0)


class _RowFrequencies:
    """What independent variables make of a table.

    Parameters
    ----------
    learner : Learner
        The table, as it enters the objective.
    """

    def __init__(self, learner: Learner) -> None:
        self._table, self._unseen, self._domain = learner.table, learner.unseen, learner.table.domain
        self._pair = None if self._table.n_missing.any() else learner.data.moments.pair
        if isinstance(self._table, CountedTable):
            self._seen, self._observed = np.ones(self._domain.n_slots), self._table.counts.moments().main
        else:
            weights = np.ones(self._table.n_rows) if learner.weights is None else learner.weights
            self._shares = weights / weights.sum()
            self._seen, self._observed = self._count()
        self._penalty = learner.make_penalty(1.0)
        self._is_pair = self._penalty.coordinates.is_parameter & ~np.eye(self._penalty.coordinates.size, dtype=bool)
        self._main: MainEffects | None = None

    def _count(self) -> tuple[Values, Values]:
        """Return the share of rows in which each slot's variable is observed, and of these with its level."""
        i, levels = self._domain.slot_variables, self._domain.slot_levels
        seen, level = np.zeros(len(i)), np.zeros(len(i))
        for codes, shares in self._parts():
            seen += shares @ (codes[:, i] != MISSING)
            level += shares @ (codes[:, i] == levels)
        return seen, level / np.maximum(seen, 1e-300)

    def means(self, alpha: float) -> Values:
        """Return the frequencies of single levels, (n_slots,), in the optimum without edges; free ones with alpha zero.

        The model expects of missing cells what its own frequencies are. A penalty of alpha moves these by at most alpha
        over the observed share, towards levels that are all as likely as the reference: that one's frequency is where
        all of them add up to one. Of other parameters than those of slots, they are found by Newton steps.
        """
        if alpha == 0:
            kept, added = self._unseen.shares()
            return np.asarray((kept * self._seen * self._observed + added) / (1 - kept * (1 - self._seen)))
        if not self._penalty.coordinates.is_plain:
            if self._main is None:
                self._main = MainEffects(self._penalty, self._observed, self._seen)
            return self._main.means(alpha)
        reach = alpha / np.maximum(self._seen, 1e-300)
        found = np.empty(len(reach))
        for variable in range(self._domain.n_variables):
            mine = np.flatnonzero(self._domain.slot_variables == variable)
            has_reference = self._domain.reference is not None
            found[mine] = _even_out(self._observed[mine], reach[mine], has_reference=has_reference)
        return found

    def worst(self, means: Values) -> float:
        """Return by how much a pair differs from independent variables, at most, as the penalty has it."""
        pair = self._fill(means) if self._pair is None else self._pair
        distances = across_variables(self._domain, pair - np.outer(means, means))
        np.fill_diagonal(distances, np.diagonal(pair) - means)
        sizes = self._penalty.sizes(self._penalty.coordinates.pull(distances))
        return float((sizes[self._is_pair] / self._penalty.weights[self._is_pair]).max(initial=0.0))

    @property
    def largest(self) -> float:
        """A bound on the distance of two variables: what no gradient reaches, over what is paid at alpha one."""
        distances = self._penalty.coordinates.steepest / np.where(self._is_pair, self._penalty.weights, np.inf)
        return max(1.0, float(distances.max(initial=0.0)))

    def _fill(self, means: Values) -> Matrix:
        """Return the moments of the rows, with missing cells as independent variables have them."""
        pair, i = np.zeros((len(means), len(means))), self._domain.slot_variables
        for codes, shares in self._parts():
            s = np.where(codes[:, i] == MISSING, means, self._domain.indicators(codes))
            pair += (s.T * shares) @ s
        np.fill_diagonal(pair, self._seen * self._observed + (1 - self._seen) * means)
        return self._unseen.fill(Moments.of_pairs(across_variables(self._domain, pair), self._table.n_rows)).pair

    def excess(self, alpha: float) -> float:
        """Return by how much more than alpha the frequency of a pair is missed without edges."""
        return self.worst(self.means(alpha)) - alpha

    def _parts(self) -> Iterator[tuple[NDArray[np.uint8], Values]]:
        for start in range(0, self._table.n_rows, _ROWS_AT_ONCE):
            part = slice(start, start + _ROWS_AT_ONCE)
            yield np.asarray(self._table.codes[part]), self._shares[part]


def _even_out(own: Values, reach: Values, *, has_reference: bool) -> Values:
    """Return frequencies within `reach` of own ones, as equal to that of the reference level as that allows."""
    low, high = 0.0, 1.0
    for _ in range(_MOST_HALVINGS):
        middle = (low + high) / 2
        found = np.clip(middle, own - reach, own + reach)
        is_more = found.sum() + (middle if has_reference else 0.0) > 1
        low, high = (low, middle) if is_more else (middle, high)
    return np.asarray(np.clip(low, own - reach, own + reach))
