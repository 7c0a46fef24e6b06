"""The pseudo-likelihood: an alternative to the likelihood that needs no sampling."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from sparsefield.data import Domain, Moments, Table, Unseen, weighted_moments
from sparsefield.model import Matrix, PairwiseMRF

_ROWS_AT_ONCE = 8192  # whose indicators are held as floats at one time
_MOST_HELD = 2**28  # cells whose indicators are kept from one iteration to the next
_MOST_DOUBLE = 2**18  # cells that are computed with in double precision; in single precision beyond that

Floats = NDArray[np.floating[Any]]


class PseudoLikelihoodLoss:
    """Half the mean negative pseudo-log-likelihood of a table without missing values; theta as in `Problem`.

    The pseudo-likelihood of a row is the product of the probabilities of each value given the others. An interaction
    is in two of them. Half of it makes its gradient comparable with that of the likelihood, and so the penalty: where
    main effects are fitted and there are no interactions, the entries for interactions are the same.

    Parameters
    ----------
    table : Table
        Observations.
    weights : ndarray of shape (n_rows,)
        How often each row counts.
    unseen : Unseen, optional
        Levels that no row shows, and that count as half a row: each row shows them with a small probability in place of
        its own level. They have no interactions, as those of independent variables have none.
    """

    def __init__(self, table: Table, weights: NDArray[np.float64], unseen: Unseen | None = None) -> None:
        self.domain = table.domain
        n_cells = table.n_rows * self.domain.n_slots
        self.dtype: type[np.floating[Any]] = np.float64 if n_cells <= _MOST_DOUBLE else np.float32
        self._table, self._weights = table, weights / weights.sum()
        unseen = Unseen(self.domain, (), table.n_rows) if unseen is None else unseen
        kept, added = unseen.shares()
        self._mixed = np.flatnonzero((kept < 1) | (added > 0))
        self._lost: Floats = (1 - kept[self._mixed, None]).astype(self.dtype)
        self._added: Floats = added[self._mixed, None].astype(self.dtype)
        self._is_alone = unseen.is_alone[:, None] | unseen.is_alone
        self._held = list(self._make_rows()) if n_cells <= _MOST_HELD else None

    def _make_rows(self) -> Iterator[tuple[Floats, Floats]]:
        for start in range(0, self._table.n_rows, _ROWS_AT_ONCE):
            part = slice(start, start + _ROWS_AT_ONCE)
            s = self.domain.indicators(self._table.codes[part]).T
            yield np.ascontiguousarray(s, dtype=self.dtype), self._weights[part].astype(self.dtype)

    def _rows(self) -> Iterable[tuple[Floats, Floats]]:
        """Return indicators (n_slots, rows) and weights (rows,), some rows at a time."""
        return self._make_rows() if self._held is None else self._held

    def moments(self) -> Moments:
        """Return the data moments."""
        return weighted_moments(self._table, self._weights)

    def evaluate(self, theta: Matrix) -> tuple[float, Matrix]:
        """Return the loss and its gradient."""
        size = self.domain.n_slots
        total, pairs, main_gradient = 0.0, np.zeros((size, size), dtype=self.dtype), np.zeros(size)
        for s, w in self._rows():
            exponents = _exponents(s, theta)
            probabilities, seen = _conditionals(exponents, s, self.domain)
            residuals = probabilities - s
            if len(self._mixed):
                change = self._added - self._lost * s[self._mixed]
                seen = seen + (change * exponents[self._mixed]).sum(axis=0, dtype=np.float64)
                residuals[self._mixed] -= change
            total -= float(seen @ w)
            residuals *= w
            pairs += residuals @ s.T
            main_gradient += residuals.sum(axis=1, dtype=np.float64)
        gradient = (pairs + pairs.T).astype(np.float64) / 2
        # Inside a variable there is nothing to learn but the main effects.
        gradient[self._is_alone | (self.domain.slot_variables[:, None] == self.domain.slot_variables)] = 0.0
        np.fill_diagonal(gradient, main_gradient / 2)
        return total / 2, gradient

    def curvatures(self, theta: Matrix, active: NDArray[np.bool_]) -> tuple[Floats, NDArray[np.int64]]:
        """Return the Hessian of each conditional in the parameters that are active, (n_slots, n_slots) and symmetric.

        Block i is about the exponents of the slots of variable i: the parameters of their rows of `active`, row by row,
        where a slot's own entry is its main effect. Blocks come by rows, one after the other, with their starts.
        """
        sizes = count_by_variable(self.domain, active)
        starts = np.concatenate([[0], np.cumsum(sizes**2)])
        blocks = np.zeros(starts[-1], dtype=self.dtype)
        slots = [np.flatnonzero(self.domain.slot_variables == i) for i in range(len(sizes))]
        members = [np.flatnonzero(row) for row in active]
        for s, w in self._rows():
            probabilities, _ = _conditionals(_exponents(s, theta), s, self.domain)
            for i, own in enumerate(slots):
                block = blocks[starts[i] : starts[i + 1]].reshape(sizes[i], sizes[i])
                cuts = np.cumsum([0, *(len(members[a]) for a in own)])
                features = [s[members[a]] for a in own]
                for a, rows in zip(own, features, strict=True):
                    rows[members[a] == a] = 1
                # The Hessian of a logistic conditional in its exponents is diag(q) - q q'.
                for (k, a), (m, b) in itertools.product(enumerate(own), repeat=2):
                    spread = probabilities[a] * ((a == b) - probabilities[b]) * w
                    part = block[cuts[k] : cuts[k + 1], cuts[m] : cuts[m + 1]]
                    part += (features[k] * spread) @ features[m].T
        return blocks, starts


def count_by_variable(domain: Domain, active: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Count the parameters of `active` that are in the exponents of each variable."""
    counts = np.zeros(domain.n_variables, dtype=np.int64)
    np.add.at(counts, domain.slot_variables, active.sum(axis=1))
    return counts


def _exponents(s: Floats, theta: Matrix) -> Floats:
    main = np.diagonal(theta)
    return np.asarray((theta - np.diag(main)).astype(s.dtype) @ s + main.astype(s.dtype)[:, None])


def _conditionals(exponents: Floats, s: Floats, domain: Domain) -> tuple[Floats, NDArray[np.float64]]:
    """Return P(slot | the others) for slots and rows, and the log-probability of each row: what was seen, given it."""
    if domain.is_binary:
        seen = np.logaddexp(0, np.where(s == 1, -exponents, exponents)).sum(axis=0, dtype=np.float64)
        return np.asarray(expit(exponents)), -seen
    variables = domain.slot_variables
    starts = np.flatnonzero(np.diff(variables, prepend=-1))
    own = np.searchsorted(variables[starts], variables)  # the index of each slot's variable among those with slots
    floor = exponents.dtype.type(-np.inf if domain.reference is None else 0.0)  # the exponent of the reference level
    top = np.maximum(np.maximum.reduceat(exponents, starts, axis=0), floor)
    weights = np.exp(exponents - top[own])
    totals = np.add.reduceat(weights, starts, axis=0) + np.exp(floor - top)
    seen = (s * exponents).sum(axis=0, dtype=np.float64) - (top + np.log(totals)).sum(axis=0, dtype=np.float64)
    return weights / totals[own], seen


def pseudo_log_likelihood(model: PairwiseMRF, table: Table) -> float:
    """Return the mean over rows of the sum of the log-probabilities of each value given the others."""
    total = 0.0
    for i in range(model.domain.n_variables):
        rows = np.log(np.maximum(model.conditional(i, table.codes), 1e-300))
        total += float(rows[np.arange(table.n_rows), table.codes[:, i]].mean())
    return total
