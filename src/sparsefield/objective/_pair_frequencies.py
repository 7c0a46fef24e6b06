"""Covariances of the statistics of two variables, from the frequencies of their pairs of levels."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sparsefield._typing import Index, Matrix
from sparsefield.data import Moments
from sparsefield.objective._coordinates import Features
from sparsefield.objective._problem import Problem

# So that what is singular can be inverted. Variances of features are of order one, so that nothing else is changed.
_RIDGE = 1e-12

# Pairs that are taken together: two variables with five levels have a covariance of 24 statistics, 19 MiB for all.
_MOST_PAIRS = 4096


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Pairs of variables with the same features, and the frequencies of their levels.

    Parameters
    ----------
    first, second : ndarray of shape (n, .)
        The main features of both variables of each pair.
    crossed : tuple of two ndarrays of shape (n, .)
        Those whose products are statistics.
    values : ndarray of shape (cells, w)
        Statistics at each pair of levels: main ones of both variables, and products.
    shares : ndarray of shape (n, cells)
        The frequency of each pair of levels.
    """

    first: Index
    second: Index
    crossed: tuple[Index, Index]
    values: Matrix
    shares: Matrix

    def means(self) -> Matrix:
        """Return the means of the statistics, (n, w)."""
        return np.asarray(self.shares @ self.values)

    def covariances(self) -> NDArray[np.float64]:
        """Return the covariances of the statistics, (n, w, w)."""
        cells, w = self.values.shape
        products = (self.values[:, :, None] * self.values[:, None, :]).reshape(cells, w * w)
        means = self.means()
        return np.asarray((self.shares @ products).reshape(-1, w, w) - means[:, :, None] * means[:, None, :])


class Frequencies:
    """Frequencies of all pairs of levels, and what the statistics of features do there.

    Parameters
    ----------
    problem : Problem
        Whose statistics are features of levels.
    moments : Moments
        Moments of slots.
    """

    def __init__(self, problem: Problem, moments: Moments) -> None:
        assert isinstance(problem.coordinates, Features)
        self._problem, self._coordinates = problem, problem.coordinates
        domain = problem.domain
        starts = np.cumsum(domain.n_levels) - domain.n_levels
        size = int(domain.n_levels.sum())
        turn, at = np.zeros((size, domain.n_slots)), np.zeros(size)
        turn[starts[domain.slot_variables] + domain.slot_levels, np.arange(domain.n_slots)] = 1.0
        if domain.reference is not None:  # whose levels are what is left
            left = starts + np.array(domain.reference, dtype=np.int64)
            turn[left[domain.slot_variables], np.arange(domain.n_slots)] = -1.0
            at[left] = 1.0
        main = turn @ np.diagonal(moments.pair)
        shares = turn @ moments.pair @ turn.T + np.outer(main, at) + np.outer(at, main) + np.outer(at, at)
        self.shares = np.maximum(shares, 0.0)
        self.main = np.maximum(main + at, 0.0)
        self._levels = [np.arange(start, start + n) for start, n in zip(starts, domain.n_levels, strict=True)]
        variables = self._coordinates.variables
        self._features = [np.flatnonzero(variables == i) for i in range(domain.n_variables)]
        self._values = np.asarray(self._coordinates.basis.values.toarray())

    def largest(self, is_held: NDArray[np.bool_]) -> Matrix:
        """Return the largest variance that a regression on main effects leaves of each parameter's statistics.

        It is that of one statistic where each parameter is on its own, and the largest of all combinations whose
        coefficients have norm one where parameters vanish in groups: the largest eigenvalue of their covariance.

        Parameters
        ----------
        is_held : ndarray of shape (size,), bool
            The main features that are regressed on, where all of a variable are.
        """
        size = self._coordinates.size
        found = np.zeros((size, size))
        is_whole = np.array([bool(is_held[own].all()) for own in self._features])
        for own, levels in zip(self._features, self._levels, strict=True):
            values = self._values[np.ix_(levels, own)]
            means = self.main[levels] @ values
            covariance = (values.T * self.main[levels]) @ values - np.outer(means, means)
            found[own, own] = self._sizes(covariance[None])[0]
        for pairs in self._pairs():
            held = np.concatenate(
                [
                    np.repeat(is_whole[self._coordinates.variables[some[:, :1]]], some.shape[1], axis=1)
                    for some in (pairs.first, pairs.second)
                ],
                axis=1,
            )
            sizes = self._sizes(_regress(pairs.covariances(), held))
            a, b = pairs.crossed
            sizes = sizes.reshape(len(a), a.shape[1], b.shape[1])
            found[a[:, :, None], b[:, None, :]] = sizes
            found[b[:, None, :], a[:, :, None]] = sizes
        return found

    def least_share(self, a: Index, b: Index) -> float:
        """Return the frequency of the rarest event that some statistics s_a s_b, and main ones, tell apart.

        It is 1 / (1 + x), x being the largest squared distance of a pair of levels from the mean in the metric of the
        inverse of the covariance. Of a single indicator this is the frequency of its rarer value, and of all statistics
        of two variables that of their rarest pair of levels.
        """
        variables = self._coordinates.variables
        wanted = np.zeros((self._problem.domain.n_variables,) * 2, dtype=bool)
        wanted[variables[a], variables[b]] = True
        least = min((float(self.main[self._levels[i]].min()) for i in np.unique(variables[np.append(a, b)])), default=1)
        for pairs in self._pairs(wanted | wanted.T):
            w = pairs.values.shape[1]
            covariances = pairs.covariances() + _RIDGE * np.eye(w)
            far = pairs.values - pairs.means()[:, None, :]
            distances = (far * np.linalg.solve(covariances, far.transpose(0, 2, 1)).transpose(0, 2, 1)).sum(axis=2)
            least = min(least, float(1 / (1 + distances.max(initial=0.0))))
        return least

    def _sizes(self, covariances: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the variances (n, w) that (n, w, w) have: the largest of any combination where there are groups."""
        if self._problem.penalty.groups is None or covariances.shape[1] == 0:
            return np.maximum(np.diagonal(covariances, axis1=1, axis2=2), 0.0)
        largest = np.maximum(np.linalg.eigvalsh(covariances)[:, -1:], 0.0)
        return np.asarray(np.repeat(largest, covariances.shape[1], axis=1))

    def _pairs(self, wanted: NDArray[np.bool_] | None = None) -> Iterator[_Pairs]:
        """Return pairs of variables, those with the same features together."""
        kinds: dict[bytes, list[int]] = {}
        for i, (own, levels) in enumerate(zip(self._features, self._levels, strict=True)):
            kind = self._values[np.ix_(levels, own)].tobytes() + self._coordinates.basis.interacts[own].tobytes()
            if len(own):
                kinds.setdefault(kind + bytes([len(levels)]), []).append(i)
        members = [np.array(some) for some in kinds.values()]
        for first, second in itertools.combinations_with_replacement(members, 2):
            i, j = (index.ravel() for index in np.meshgrid(first, second, indexing="ij"))
            own = i < j if first is second else np.ones(len(i), dtype=bool)
            if wanted is not None:
                own = own & wanted[i, j]
            i, j = i[own], j[own]
            for start in range(0, len(i), _MOST_PAIRS):
                yield self._make(i[start : start + _MOST_PAIRS], j[start : start + _MOST_PAIRS])

    def _make(self, i: Index, j: Index) -> _Pairs:
        """Return pairs of variables that have the same features."""
        basis = self._coordinates.basis
        first, second = (np.stack([self._features[k] for k in some]) for some in (i, j))
        levels = [np.stack([self._levels[k] for k in some]) for some in (i, j)]
        f, g = (
            self._values[np.ix_(own[0], features[0])] for own, features in zip(levels, (first, second), strict=True)
        )
        inner = [basis.interacts[features[0]] for features in (first, second)]
        n, m = len(f), len(g)
        products = (f[:, None, inner[0], None] * g[None, :, None, inner[1]]).reshape(n * m, -1)
        values = np.hstack([np.repeat(f, m, axis=0), np.tile(g, (n, 1)), products])
        shares = self.shares[levels[0][:, :, None], levels[1][:, None, :]].reshape(len(i), n * m)
        return _Pairs(first, second, (first[:, inner[0]], second[:, inner[1]]), values, shares)


def _regress(covariances: NDArray[np.float64], held: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return what a regression on those held of the first statistics leaves of the covariances of the others."""
    m = held.shape[1]
    own = covariances[:, m:, m:]
    both = held[:, :, None] & held[:, None, :]
    inner = np.where(both, covariances[:, :m, :m], 0.0) + np.where(held, _RIDGE, 1.0)[:, :, None] * np.eye(m)
    across = np.where(held[:, :, None], covariances[:, :m, m:], 0.0)
    return np.asarray(own - across.transpose(0, 2, 1) @ np.linalg.solve(inner, across))
