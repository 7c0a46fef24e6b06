"""The pseudo-likelihood in the parameters of some pairs of variables, where all others are zero."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from sparsefield._deadline import check_time
from sparsefield._kernels._pairs import add_variable
from sparsefield._typing import Matrix, Values
from sparsefield.data import Table, Unseen
from sparsefield.objective import Features
from sparsefield.pseudolikelihood._policy import PSEUDO, PseudoPolicy


class PairLoss:
    """Half the mean negative pseudo-log-likelihood over main effects and the interactions of some pairs of variables.

    Rows are read level by level: with few pairs that takes a fraction of the time of products with all indicators.

    Parameters
    ----------
    table : Table
        Observations without missing values.
    weights : ndarray of shape (n_rows,)
        How often each row counts; they add up to one.
    unseen : Unseen
        Levels that no row shows, and that count as half a row.
    coordinates : Features
        What the parameters are parameters of.
    pairs : sequence of (int, int)
        Which variables interact.
    is_free : bool
        Whether main effects pay no penalty.
    policy : PseudoPolicy, optional
        How main effects are scaled.
    """

    def __init__(
        self,
        table: Table,
        weights: Values,
        unseen: Unseen,
        coordinates: Features,
        pairs: Sequence[tuple[int, int]],
        *,
        is_free: bool,
        policy: PseudoPolicy = PSEUDO,
    ) -> None:
        domain, basis = table.domain, coordinates.basis
        self._pairs, self._weights, self._policy = list(pairs), weights, policy
        self._codes = np.ascontiguousarray(table.codes.T)
        self._cuts = np.concatenate([[0], np.cumsum(domain.n_levels)]).astype(np.int64)
        values, p = basis.values.toarray(), domain.n_variables
        self._shares = [np.bincount(self._codes[i], weights, minlength=n) for i, n in enumerate(domain.n_levels)]
        rows = [slice(self._cuts[i], self._cuts[i + 1]) for i in range(p)]
        own = [np.flatnonzero(basis.variables == i) for i in range(p)]
        self._own = own
        self._turns = self._whiten([values[rows[i]][:, own[i]] for i in range(p)], is_free=is_free)
        self._mains = [values[rows[i]][:, own[i]] @ turn for i, turn in enumerate(self._turns)]
        self._joined = [features[basis.interacts[features]] for features in own]
        self._features = [values[rows[i]][:, joined] for i, joined in enumerate(self._joined)]
        self._sizes = [len(self._joined[i]) * len(self._joined[j]) for i, j in self._pairs]
        self._lay_out(domain.n_levels, p)
        n_unseen = np.bincount([i for i, _ in unseen.levels], minlength=p)
        self._kept = 2 * unseen.n / (2 * unseen.n + n_unseen)
        self._added = np.zeros(self._cuts[-1])
        for i, code in unseen.levels:
            self._added[self._cuts[i] + code] = 1 / (2 * unseen.n + n_unseen[i])
        self._seen = self._added + np.repeat(self._kept, domain.n_levels) * np.concatenate(self._shares)

    def _whiten(self, features: list[Values], *, is_free: bool) -> list[Values]:
        """Return what makes main effects of the numbers that steps are made in, for each variable.

        The curvature of main effects is about the covariance of their features, in which rare levels have next to
        nothing. Where main effects are free, steps are made in others that have the same curvature in all directions.
        """
        found = []
        for i, own in enumerate(features):
            if not is_free or own.shape[1] == 0:
                found.append(np.eye(own.shape[1]))
                continue
            shares = self._shares[i] + 1 / self._codes.shape[1]  # a level that is never seen may be seen once
            shares /= shares.sum()
            centred = own - shares @ own
            values, axes = np.linalg.eigh((centred.T * shares) @ centred)
            found.append(self._policy.deviation * axes / np.sqrt(values))
        return found

    def _lay_out(self, n_levels: NDArray[np.int64], p: int) -> None:
        """Find where the table of each neighbour of each variable stands: two for each pair."""
        sizes = np.array([n_levels[i] * n_levels[j] for i, j in self._pairs], dtype=np.int64)
        self._places = np.concatenate([[0], np.cumsum(2 * sizes)]).astype(np.int64)
        of = [(i, j, self._places[k]) for k, (i, j) in enumerate(self._pairs)]
        of += [(j, i, self._places[k] + sizes[k]) for k, (i, j) in enumerate(self._pairs)]
        of.sort()
        self._neighbours = np.array([j for _, j, _ in of], dtype=np.int64)
        self._of_neighbours = np.array([place for *_, place in of], dtype=np.int64)
        counts = np.bincount([i for i, *_ in of], minlength=p)
        self._starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)

    @property
    def starts(self) -> NDArray[np.int64]:
        """Where main effects end and the block of each pair begins, among all parameters, and the end."""
        n_main = sum(len(own) for own in self._own)
        return np.concatenate([[n_main], n_main + np.cumsum(self._sizes)]).astype(np.int64)

    def take(self, theta: Matrix) -> Values:
        """Return the parameters of a matrix as a vector: main effects, and one block after the other."""
        blocks = [theta[np.ix_(self._joined[i], self._joined[j])].ravel() for i, j in self._pairs]
        main = np.diagonal(theta)
        mains = [np.linalg.solve(turn, main[own]) for turn, own in zip(self._turns, self._own, strict=True)]
        return np.concatenate([*mains, *blocks])

    def put(self, values: Values, size: int) -> Matrix:
        """Return parameters as a symmetric matrix."""
        found, starts = np.zeros((size, size)), self.starts
        mains = [turn @ values[own] for turn, own in zip(self._turns, self._own, strict=True)]
        np.fill_diagonal(found, np.concatenate(mains))
        for k, (i, j) in enumerate(self._pairs):
            place = np.ix_(self._joined[i], self._joined[j])
            found[place] = values[starts[k] : starts[k + 1]].reshape(found[place].shape)
            found[place[1].T, place[0].T] = found[place].T
        return found

    def evaluate(self, values: Values) -> tuple[float, Values]:
        """Return the loss and its gradient."""
        starts = self.starts
        main = np.concatenate([c @ values[own] for c, own in zip(self._mains, self._own, strict=True)])
        tables = np.empty(self._places[-1])
        for k, (i, j) in enumerate(self._pairs):
            block = values[starts[k] : starts[k + 1]].reshape(len(self._joined[i]), -1)
            levels = self._features[i] @ block @ self._features[j].T
            half = (self._places[k] + self._places[k + 1]) // 2
            tables[self._places[k] : half] = levels.T.ravel()
            tables[half : self._places[k + 1]] = levels.ravel()
        total, slopes, main_slopes = self._add(main, tables)
        parts = [c.T @ main_slopes[self._cuts[i] : self._cuts[i + 1]] for i, c in enumerate(self._mains)]
        for k, (i, j) in enumerate(self._pairs):
            half = (self._places[k] + self._places[k + 1]) // 2
            shape = len(self._features[i]), len(self._features[j])
            one = slopes[self._places[k] : half].reshape(shape[::-1]).T
            both = one + slopes[half : self._places[k + 1]].reshape(shape)
            parts.append((self._features[i].T @ both @ self._features[j]).ravel())
        return total / 2, np.concatenate(parts) / 2

    def _add(self, main: Values, tables: Values) -> tuple[float, Values, Values]:
        """Add up over all rows, variable by variable; one without neighbours has the same probabilities in each."""
        slopes, main_slopes = np.zeros(len(tables)), np.zeros(len(main))
        total = 0.0
        for i, cut in enumerate(self._cuts[:-1]):
            check_time()
            own, near = slice(cut, self._cuts[i + 1]), slice(self._starts[i], self._starts[i + 1])
            if near.start == near.stop:
                logs = log_softmax(main[own])
                total -= float(self._seen[own] @ logs)
                main_slopes[own] = np.exp(logs) - self._seen[own]
                continue
            neighbours, places = self._neighbours[near], self._of_neighbours[near]
            parts = main[own], self._kept[i], self._added[own], slopes, main_slopes[own]
            total += add_variable(self._codes, self._weights, i, neighbours, places, tables, *parts)
        return total, slopes, main_slopes
