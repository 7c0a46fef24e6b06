"""The pseudo-likelihood: an alternative to the likelihood that needs no sampling."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from sparsefield._typing import Floats, Matrix
from sparsefield.data import MISSING, Domain, Moments, Table, Unseen, weighted_moments
from sparsefield.model import PairwiseMRF
from sparsefield.objective import Coordinates, Features, Slots
from sparsefield.pseudolikelihood._pair_loss import PairLoss
from sparsefield.pseudolikelihood._policy import PSEUDO, PseudoPolicy


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
        its own level. Where the parameters are those of slots they have no interactions, as those of independent
        variables have none.
    coordinates : Coordinates, optional
        What theta are parameters of; of slots unless given.
    policy : PseudoPolicy, optional
        What is held, and in which precision.
    """

    def __init__(
        self,
        table: Table,
        weights: NDArray[np.float64],
        unseen: Unseen | None = None,
        coordinates: Coordinates | None = None,
        policy: PseudoPolicy = PSEUDO,
    ) -> None:
        self.domain = table.domain
        self.coordinates: Coordinates = Slots(table.domain) if coordinates is None else coordinates
        n_cells = table.n_rows * self.domain.n_slots
        self.dtype: type[np.floating[Any]] = np.float64 if n_cells <= policy.most_double else np.float32
        self._table, self._weights, self._policy = table, weights / weights.sum(), policy
        unseen = Unseen(self.domain, (), table.n_rows) if unseen is None else unseen
        kept, added = unseen.shares()
        self._mixed = np.flatnonzero((kept < 1) | (added > 0))
        self._lost: Floats = (1 - kept[self._mixed, None]).astype(self.dtype)
        self._added: Floats = added[self._mixed, None].astype(self.dtype)
        self._is_alone = unseen.is_alone[:, None] | unseen.is_alone
        self._unseen = unseen
        self._held = list(self._make_rows()) if n_cells <= policy.most_held else None

    def _make_rows(self) -> Iterator[tuple[Floats, Floats]]:
        for start in range(0, self._table.n_rows, self._policy.rows_at_once):
            part = slice(start, start + self._policy.rows_at_once)
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
        theta, size = self.coordinates.to_slots(theta), self.domain.n_slots
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
        gradient[self.domain.slot_variables[:, None] == self.domain.slot_variables] = 0.0
        if self.coordinates.is_plain:
            gradient[self._is_alone] = 0.0
        np.fill_diagonal(gradient, main_gradient / 2)
        return total / 2, self.coordinates.pull(gradient)

    def curvatures(self, theta: Matrix, active: NDArray[np.bool_]) -> tuple[Floats, NDArray[np.int64]]:
        """Return the Hessian of each conditional in the parameters that are active, (n_slots, n_slots) and symmetric.

        Block i is about the exponents of the slots of variable i: the parameters of their rows of `active`, row by row,
        where a slot's own entry is its main effect. Blocks come by rows, one after the other, with their starts.
        """
        sizes = count_by_variable(self.domain.slot_variables, active)
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

    def of_pairs(self, pairs: Sequence[tuple[int, int]], *, is_free: bool) -> PairLoss:
        """Return the loss in the parameters of some pairs of variables, where all other interactions are zero."""
        assert isinstance(self.coordinates, Features)
        given = self._table, self._weights, self._unseen, self.coordinates
        return PairLoss(*given, pairs, is_free=is_free, policy=self._policy)

    def feature_curvature(self, theta: Matrix, a: NDArray[np.int64], b: NDArray[np.int64]) -> Matrix:
        """Return the Hessian of the loss in the parameters theta[a, b] of features, (w, w).

        In the conditional of a variable a parameter multiplies a feature of its own by one of another variable, or by
        one. The Hessian is the mean over rows of the covariance of the former, given the others, times products of the
        latter.
        """
        assert isinstance(self.coordinates, Features)
        basis, slots = self.coordinates.basis, self.coordinates.to_slots(theta)
        variables, size, found = basis.variables, len(a), np.zeros((len(a), len(a)))
        rows, at = basis.rows.toarray().astype(self.dtype), basis.reference.astype(self.dtype)
        # Each parameter is in the conditionals of both its variables; main effects in one.
        parts = np.concatenate([np.arange(size), np.flatnonzero(a != b)])
        own, other = np.concatenate([a, b[a != b]]), np.concatenate([b, a[a != b]])
        of = [np.flatnonzero(variables[own] == i) for i in range(self.domain.n_variables)]
        for s, w in self._rows():
            probabilities, _ = _conditionals(_exponents(s, slots), s, self.domain)
            f = rows.T @ s + at[:, None]
            for i, mine in enumerate(of):
                if not len(mine):
                    continue
                features = np.flatnonzero(variables == i)
                spread = self._spread(probabilities, i, rows, features)
                index, column = parts[mine], np.searchsorted(features, own[mine])
                values = np.where((own[mine] == other[mine])[:, None], self.dtype(1), f[other[mine]])
                for k, m in itertools.combinations_with_replacement(range(len(features)), 2):
                    first, second = column == k, column == m
                    if not (first.any() and second.any()):
                        continue
                    product = (values[first] * (spread[k, m] * w)) @ values[second].T
                    found[np.ix_(index[first], index[second])] += product
                    if k != m:
                        found[np.ix_(index[second], index[first])] += product.T
        return (found + found.T) / 4

    def _spread(self, probabilities: Floats, i: int, rows: Floats, features: NDArray[np.int64]) -> Floats:
        """Return the covariances of the features of variable i given the others, (d, d, rows of the table)."""
        mine = np.flatnonzero(self.domain.slot_variables == i)
        q, own = probabilities[mine], rows[np.ix_(mine, features)]
        means = own.T @ q
        squares = np.einsum("ka,kb,kn->abn", own, own, q, optimize=True)
        return np.asarray(squares - means[:, None] * means[None])


def count_by_variable(variables: NDArray[np.int64], active: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Count the parameters of `active` that are in the exponents of each variable, given those of the rows."""
    counts = np.zeros(variables.max(initial=-1) + 1, dtype=np.int64)
    np.add.at(counts, variables, active.sum(axis=1))
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


def pseudo_log_likelihoods(model: PairwiseMRF, table: Table) -> NDArray[np.float64]:
    """Return, for each row, the sum of the log-probabilities of its observed values given the other observed ones.

    Where values are missing this is a composite likelihood of the observed cells alone: missing values are summed out
    of the conditional probability of each observed one (`PairwiseMRF.conditional`), and add nothing themselves.
    """
    total, rows = np.zeros(table.n_rows), np.arange(table.n_rows)
    for i, column in enumerate(table.codes.T):
        is_seen = column != MISSING
        probabilities = model.conditional(i, table.codes)[rows[is_seen], column[is_seen]]
        total[is_seen] += np.log(np.maximum(probabilities, 1e-300))
    return total
