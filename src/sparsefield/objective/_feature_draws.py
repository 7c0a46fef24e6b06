"""Draws whose statistics are features of levels, in place of their indicators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from sparsefield._typing import Index, Matrix, Values
from sparsefield.data import Domain
from sparsefield.inference import Draws, pick_near
from sparsefield.model import scatter
from sparsefield.objective._features import Basis

_ROWS_AT_ONCE = 8192  # whose features are held as floats at one time

# Common ones of bits are counted about as many times faster as products of floats are added up: 1500 and 63 pairs a
# nanosecond on one core of a Zen 4, 1000 statistics of 65,536 draws.
_COUNTS_FASTER = 20.0

# Statistics that are sums of more than this many of slots are added up by dense products, pair of variables by pair.
# (With 21 levels they are sums of 440: 1.3 s in place of 5.3 for 4100 statistics.)
_DENSE = 32


class FeatureDraws:
    """Draws as a Newton step sees them that is made in features.

    Parameters
    ----------
    draws : Draws
        The draws, whose statistics are indicators of levels.
    domain : Domain
        The variables.
    basis : Basis
        The features.
    to_slots, pull : callable
        Make parameters of slots of those of features, and gradients of features of those of slots.
    """

    def __init__(
        self,
        draws: Draws,
        domain: Domain,
        basis: Basis,
        to_slots: Callable[[Matrix], Matrix],
        pull: Callable[[Matrix], Matrix],
    ) -> None:
        self._draws, self._domain, self._basis, self._to_slots, self._pull = draws, domain, basis, to_slots, pull
        self.n = draws.n

    def along(self, move: Matrix) -> Values:
        """Return the inner product of a move and the statistics of each draw."""
        return self._draws.along(self._to_slots(move))

    def along_some(self, moves: Values, a: Index, b: Index) -> Values:
        """Return the same of a move of some statistics alone."""
        return self.along(scatter(a, b, moves, len(self._basis.variables)))

    def reweight(self, values: Values) -> tuple[float, float]:
        """Return log E exp(values), and the share of the draws that still count when weighted by exp(values)."""
        return self._draws.reweight(values)

    def project(self, values: Values) -> Matrix:
        """Return the covariance of every statistic with values."""
        return self._pull(self._draws.project(values))

    def project_roughly(self, values: Values, within: float | None = None) -> tuple[Matrix, float]:  # noqa: ARG002
        """Return the covariance of every statistic with values, which is exact: errors of slots would add up."""
        return self.project(values), 0.0

    def project_onto(self, values: Values, a: Index, b: Index) -> Values:
        """Return the covariances of some statistics with values."""
        return np.asarray(self.project(values)[a, b])

    def codes(self) -> NDArray[np.uint8] | None:
        """Return the codes of the draws; None if they are all states."""
        return self._draws.codes()

    def second_moments(self, a: Index, b: Index) -> tuple[NDArray[Any], float, Values]:
        """Return means of products of the statistics, 1, and the means of the statistics."""
        stats = _Statistics(self._domain, self._basis, a, b)
        codes = self._draws.codes() if _COUNTS_FASTER * len(a) ** 2 < stats.n_slots**2 else None
        if codes is not None:
            return _add_products(codes, self._domain, self._basis, a, b)
        products, scale, means = self._draws.second_moments(stats.first, stats.second)
        covariance = stats.combine(scale * products - np.outer(means, means))
        found = np.asarray(stats.of_slots.T @ means)
        return covariance + np.outer(found, found), 1.0, found

    def near_moments(
        self, a: Index, b: Index, starts: Index, columns: NDArray[np.int32]
    ) -> tuple[NDArray[Any], float, Values]:
        """Return means of products of some pairs of the statistics, 1, and means of all statistics."""
        found, scale, means = self.second_moments(a, b)
        return pick_near(found, starts, columns), scale, means


class _Statistics:
    """Statistics of features as sums of statistics of slots, of_slots' s.

    With f_a = r_a + sum_k A_ka s_k the product f_a f_b has main statistics of both variables, and products of these.
    """

    def __init__(self, domain: Domain, basis: Basis, a: Index, b: Index) -> None:
        rows, at, size = basis.rows.toarray(), basis.reference, domain.n_slots
        bounds = np.searchsorted(
            domain.slot_variables, [np.arange(domain.n_variables), np.arange(domain.n_variables) + 1]
        )
        own = [np.arange(*bounds[:, i]) for i in range(domain.n_variables)]
        keys, weights, counts = [], [], np.zeros(len(a), dtype=np.int64)
        for c, (p, q) in enumerate(zip(a, b, strict=True)):
            k, m = own[basis.variables[p]], own[basis.variables[q]]
            if p == q:
                keys.append(k * (size + 1))
                weights.append(rows[k, p])
            else:  # main statistics of either variable, and their products
                keys += [k * (size + 1), m * (size + 1), (k[:, None] * size + m).ravel()]
                weights += [at[q] * rows[k, p], at[p] * rows[m, q], np.outer(rows[k, p], rows[m, q]).ravel()]
            counts[c] = len(k) if p == q else len(k) + len(m) + len(k) * len(m)
        found, places = np.unique(np.concatenate([*keys, np.zeros(0, dtype=np.int64)]), return_inverse=True)
        self.first, self.second = found // max(size, 1), found % max(size, 1)
        values = np.concatenate([*weights, np.zeros(0)])
        columns = np.repeat(np.arange(len(a)), counts)
        self.of_slots = csr_array(coo_array((values, (places, columns)), shape=(len(found), len(a))))
        self._kinds = basis.variables[a] * domain.n_variables + basis.variables[b]

    @property
    def n_slots(self) -> int:
        """How many statistics of slots there are."""
        return len(self.first)

    def combine(self, covariance: Matrix) -> Matrix:
        """Return the covariance of features, from that of slots."""
        blocks = self._blocks() if self.of_slots.nnz > _DENSE * max(1, self.of_slots.shape[1]) else []
        half = self._turn(covariance, blocks)
        found = self._turn(half.T, blocks)
        return np.asarray((found + found.T) / 2)

    def _blocks(self) -> list[tuple[Index, Index, Matrix]]:
        """Return for each pair of variables its statistics, those of slots that they are made of, and how."""
        found, by_columns = [], self.of_slots.tocsc()
        for kind in np.unique(self._kinds):
            columns = np.flatnonzero(self._kinds == kind)
            own = by_columns[:, columns]
            rows = np.unique(own.indices)
            found.append((columns, rows, csr_array(own)[rows].toarray()))
        return found

    def _turn(self, matrix: Matrix, blocks: list[tuple[Index, Index, Matrix]]) -> Matrix:
        """Return of_slots' times a matrix."""
        if not blocks:
            return np.asarray(self.of_slots.T @ matrix)
        found = np.empty((self.of_slots.shape[1], matrix.shape[1]))
        for columns, rows, block in blocks:
            found[columns] = block.T @ matrix[rows]
        return found


def _add_products(
    codes: NDArray[np.uint8], domain: Domain, basis: Basis, a: Index, b: Index
) -> tuple[Matrix, float, Values]:
    """Return means of products of the statistics, 1, and their means, from the features of each draw."""
    starts = np.cumsum(domain.n_levels) - domain.n_levels
    used, at = np.unique(np.concatenate([a, b])), basis.reference
    table = basis.values[:, used].toarray().astype(np.float32)
    first, second, variables = np.searchsorted(used, a), np.searchsorted(used, b), basis.variables[used]
    columns = np.arange(len(used))
    total, sums, n = np.zeros((len(a), len(a))), np.zeros(len(a)), len(codes)
    centre: NDArray[np.float32] | None = None
    for start in range(0, n, _ROWS_AT_ONCE):
        part = codes[start : start + _ROWS_AT_ONCE]
        f = table[part[:, variables].astype(np.int64) + starts[variables], columns]
        s = np.where(first == second, f[:, first], f[:, first] * f[:, second])
        # Squares of what is about centred lose nothing in single precision.
        centre = s.mean(axis=0) if centre is None else centre
        s -= centre
        total += s.T @ s
        sums += s.sum(axis=0, dtype=np.float64)
    assert centre is not None
    means = sums / n
    found = centre.astype(np.float64) + means - np.where(a != b, at[a] * at[b], at[a])
    return total / n - np.outer(means, means) + np.outer(found, found), 1.0, found
