"""Regressions of variables on features of their neighbours: what edges of parameters of features tell, refitted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag
from scipy.special import logsumexp

from sparsefield._typing import Codes, Mask, Values
from sparsefield.data import MISSING, Table
from sparsefield.model import PairwiseMRF
from sparsefield.objective import L1, Features, Group, find_nonzero
from sparsefield.pseudolikelihood._newton_ascent import (
    PRECISION,
    PRECISION_OF_MAIN,
    TOLERANCE,
    climb,
    solve_by_conjugates,
)

# Up to so many parameters the curvature is held as a matrix. With more, thirty products with it, about as many as
# conjugate gradients take for a step, are cheaper: one takes 4 n w operations, and the matrix n w^2 / 2.
_MOST_HELD = 240

_MOST_KEYS = 2**62  # ways to combine levels that a whole number can tell apart


class FeatureNodes:
    """The regressions of all variables on the features of their neighbours.

    The exponent of level k of a variable is sum_a f_a(k) (h_a + sum_b Z_ab f_b), with f_b the features of neighbours: a
    multinomial regression. Of an ordered variable only the score interacts, and a single slope tells of two of them.
    The prior is the same in all directions of an edge, so that with contrasts nothing depends on which level is the
    reference, nor on the order of levels.

    Parameters
    ----------
    table : Table
        The rows, some cells of which may be missing.
    codes : ndarray of shape (n_filled, n_variables)
        Filled rows.
    rows : ndarray of shape (n_filled,)
        Which row of the table each of them was.
    weights : ndarray of shape (n_filled,)
        How often each counts.
    penalty : L1 or Group
        Whose features they are.
    """

    def __init__(
        self, table: Table, codes: Codes, rows: NDArray[np.int64], weights: Values, penalty: L1 | Group
    ) -> None:
        assert isinstance(penalty.coordinates, Features)
        self._codes, self._rows, self._weights, self._filled = table.codes, rows, weights, np.asfortranarray(codes)
        self._penalty, self._coordinates, self._n_levels = penalty, penalty.coordinates, table.domain.n_levels
        ends = np.cumsum(self._n_levels)
        self._columns = [np.flatnonzero(penalty.coordinates.variables == i) for i in range(len(ends))]
        values = penalty.coordinates.basis.values
        self._features = [
            values[end - n : end][:, own].toarray()
            for end, n, own in zip(ends, self._n_levels, self._columns, strict=True)
        ]
        self._known: dict[tuple[int, bytes], float] = {}
        self._last: dict[int, tuple[Values, Values]] = {}

    def refit(self, model: PairwiseMRF) -> float:
        """Return the sum of the log-likelihoods of all variables given their neighbours, refitted."""
        support = find_nonzero(self._penalty, model)
        np.fill_diagonal(support, val=False)
        return sum(self._refit_node(i, support[own]) for i, own in enumerate(self._columns))

    def _refit_node(self, variable: int, support: Mask) -> float:
        key = variable, np.packbits(support).tobytes()
        if key not in self._known:
            self._known[key] = self._maximise(variable, support) if len(support) else 0.0
        return self._known[key]

    def _maximise(self, variable: int, support: Mask) -> float:
        """Refit one variable, from where its last neighbours left it."""
        is_there = self._codes[self._rows, variable] != MISSING
        used = np.flatnonzero(support.any(axis=0))
        neighbours = np.unique(self._coordinates.variables[used])
        first, ways = _find_distinct(self._filled[is_there][:, neighbours], self._n_levels[neighbours])
        rows = np.flatnonzero(is_there)[first]
        levels = [self._filled[rows, j, None] == np.arange(self._n_levels[j]) for j in neighbours]
        columns = np.concatenate([used[:0], *(self._columns[j] for j in neighbours)])
        features = block_diag(np.ones((1, 1)), *(self._features[j] for j in neighbours))
        is_used = np.isin(columns, used)
        features, columns = features[:, np.append(True, is_used)], columns[is_used]
        taken = np.bincount(
            ways * self._n_levels[variable] + self._filled[is_there, variable],
            self._weights[is_there],
            len(rows) * self._n_levels[variable],
        )
        counts = taken.astype(np.float64).reshape(len(rows), int(self._n_levels[variable]))
        indicators = np.column_stack([np.ones(len(rows)), *levels]).astype(np.float64)
        regression = _Regression(indicators, features, counts, self._features[variable], support[:, columns])
        main, slopes = self._last.get(variable, (np.zeros(len(support)), np.zeros(support.shape)))
        theta, value = regression.maximise(np.column_stack([main, np.where(support, slopes, 0.0)[:, columns]]))
        slopes = np.zeros(support.shape)
        slopes[:, columns] = theta[:, 1:]
        self._last[variable] = theta[:, 0], slopes
        return value


def _find_distinct(codes: Codes, n_levels: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first row of each combination of levels, and which combination each row has."""
    keys, n_keys = np.zeros(len(codes), dtype=np.int64), 1
    for column, n in zip(codes.T, n_levels, strict=True):
        if n_keys > _MOST_KEYS // int(n):
            keys, n_keys = np.unique(keys, return_inverse=True)[1], len(keys)
        keys, n_keys = keys * n + column, n_keys * int(n)
    _, first, ways = np.unique(keys, return_index=True, return_inverse=True)
    return first, ways


def _invert(features: Values) -> Values:
    """Return orthogonal features over the squares of their lengths."""
    return np.asarray(features / np.maximum((features**2).sum(axis=0), 1e-300))


class _Regression:
    """A multinomial regression on rows that are all different, each of which has counts of outcomes.

    Parameters
    ----------
    levels : ndarray of shape (n, n_neighbours)
        Ones, and the indicators of the levels of neighbours.
    of_levels : ndarray of shape (n_neighbours, m)
        The features of these.
    counts : ndarray of shape (n, n_levels)
        How often the variable has each level.
    features : ndarray of shape (n_levels, d)
        The features of the variable.
    support : ndarray of shape (d, m - 1), bool
        Which slopes there are; every feature has a main effect.
    """

    def __init__(self, levels: Values, of_levels: Values, counts: Values, features: Values, support: Mask) -> None:
        self._levels, self._of_levels, self._design = levels, of_levels, levels @ of_levels
        is_seen = counts.any(axis=0)  # a level that is never seen has no probability, which tells nothing
        self._counts, self._features = counts[:, is_seen], features[is_seen]
        self._totals = self._counts.sum(axis=1)
        self._is_free = np.column_stack([np.ones(len(support), dtype=bool), support])
        self._precision = np.full(self._is_free.shape, PRECISION)
        self._precision[:, 0] = PRECISION_OF_MAIN

    def maximise(self, start: Values) -> tuple[Values, float]:
        """Return the parameters (d, m), and the log-likelihood."""
        return climb(start, self._evaluate, self._find_step, TOLERANCE * int(self._is_free.sum()))

    def _evaluate(self, theta: Values) -> tuple[float, float, Values]:
        """Return the log-likelihood with and without the prior, and the probabilities of the levels in each row."""
        exponents = self._design @ theta.T @ self._features.T
        exponents = exponents - logsumexp(exponents, axis=1, keepdims=True)
        likelihood = float(np.vdot(self._counts, exponents))
        return likelihood - float(np.vdot(self._precision, theta**2)) / 2, likelihood, np.exp(exponents)

    def _find_step(self, theta: Values, probabilities: Values) -> Values:
        """Return the Newton step."""
        residuals = (self._counts - self._totals[:, None] * probabilities) @ self._features
        gradient = np.where(self._is_free, residuals.T @ self._design - self._precision * theta, 0.0)
        if np.count_nonzero(self._is_free) <= _MOST_HELD:
            step = np.zeros_like(theta)
            step[self._is_free] = np.linalg.solve(self._make_curvature(probabilities), gradient[self._is_free])
            return step
        counted = self._totals[:, None] * probabilities

        def bend(move: Values) -> Values:
            exponents = self._design @ move.T @ self._features.T
            exponents -= np.einsum("nk,nk->n", probabilities, exponents)[:, None]
            along = (counted * exponents) @ self._features
            return np.where(self._is_free, along.T @ self._design + self._precision * move, 0.0)

        # Of parameters of pairs of levels, in place of features, the curvature is nearly diagonal: pairs that hardly
        # any row shows have next to none but that of the prior. Features are orthogonal, so that these parameters are
        # their transpose, over the squares of their lengths.
        left, right = _invert(self._features), _invert(self._of_levels)
        prior = PRECISION * np.outer((left**2).sum(axis=1), (right**2).sum(axis=1))
        diagonal = (counted * (1 - probabilities)).T @ self._levels + np.maximum(prior, PRECISION_OF_MAIN)

        def precondition(own: Values) -> Values:
            return np.where(self._is_free, left.T @ ((left @ own @ right.T) / diagonal) @ right, 0.0)

        return solve_by_conjugates(bend, precondition, gradient)

    def _spread(self, probabilities: Values) -> Values:
        """Return the covariance of the features in each row, times how often the row counts, (n, d, d)."""
        means = probabilities @ self._features
        products = (self._features[:, :, None] * self._features[:, None, :]).reshape(len(self._features), -1)
        squares = (probabilities @ products).reshape(len(probabilities), *means.shape[1:] * 2)
        return np.asarray(self._totals[:, None, None] * (squares - means[:, :, None] * means[:, None, :]))

    def _make_curvature(self, probabilities: Values) -> Values:
        """Return the curvature in the parameters that there are, as a matrix."""
        spread, (d, m) = self._spread(probabilities), self._is_free.shape
        whole = np.empty((d, m, d, m))
        for a in range(d):
            for b in range(a + 1):
                block = self._design.T @ (self._design * spread[:, a, b, None])
                whole[a, :, b], whole[b, :, a] = block, block
        free = self._is_free.ravel()
        return np.asarray(whole.reshape(d * m, d * m)[np.ix_(free, free)] + np.diag(self._precision.ravel()[free]))
