"""Screening: which pairs violate optimality, among all, without looking at all of them each time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from sparsefield._typing import Index, Values
from sparsefield.data import Moments
from sparsefield.pseudolikelihood._binary_loss import BinaryPairLoss, PairField, PairNeighbours
from sparsefield.pseudolikelihood._policy import PseudoPolicy

_TILE = 512  # variables whose gradients are looked through at one time

_ROUNDING = 1e-6  # of a gradient in single precision, ten times what it leaves in the norm of a hundred entries


@dataclass(frozen=True, eq=False)
class Violations:
    """Interactions of zero that violate optimality, and by how much."""

    first: Index
    second: Index
    sizes: Values

    @property
    def norm(self) -> float:
        """The norm of their smallest subgradient."""
        return float(np.linalg.norm(self.sizes))


class Screen:
    """The gradient in all interactions at one field, and bounds on what it is at others.

    Half the sum of products of residuals and columns changes by at most half the sum of products of their norms
    (Cauchy and Schwarz): |g_ij - g'_ij| <= (d_i c_j + d_j c_i) / 2, with d_i the root of the mean square by which the
    probabilities of variable i differ, and c_j the root of the mean of column j. Pairs that are below alpha by such a
    bound need not be looked at. The others are, exactly.

    Parameters
    ----------
    loss : BinaryPairLoss
        The loss.
    alpha : float
        What an interaction pays.
    moments : Moments, optional
        Of the data, where the first field that is asked about has no interactions.
    policy : PseudoPolicy
        When bounds are asked for.
    """

    def __init__(self, loss: BinaryPairLoss, alpha: float, moments: Moments | None, policy: PseudoPolicy) -> None:
        self._loss, self._alpha, self._moments, self._policy = loss, alpha, moments, policy
        self._known: PairField | None = None  # where the gradient is known, by slopes or else by moments
        self._slopes: NDArray[np.floating[Any]] | None = None

    def find(self, field: PairField) -> Violations:
        """Find the interactions that violate optimality, outside the pairs of a field."""
        if self._known is None and self._moments is not None:
            self._known = field
            return _keep(self._find_above(field, None), self._alpha)
        if self._known is not None and self._loss.n_variables >= self._policy.fewest_screened:
            changes = self._loss.changes(field, self._known) + _ROUNDING
            first, second, _ = self._find_above(field, changes)
            if len(first) <= self._policy.most_open * self._loss.n_variables**2:
                return self._look_at(field, first, second)
        self._slopes, self._moments = None, None  # before there are others: they are large
        self._slopes, self._known = self._loss.all_slopes(*field), field
        return _keep(self._find_above(field, None), self._alpha)

    def _look_at(self, field: PairField, first: Index, second: Index) -> Violations:
        """Evaluate the gradient of some pairs outside the field."""
        near, main, values = field
        many = [np.concatenate([near.first, first]), np.concatenate([near.second, second])]
        wider = PairNeighbours.of_pairs(self._loss.n_variables, *many)
        gradient = self._loss.evaluate(wider, main, np.concatenate([values, np.zeros(len(first))]))[2]
        return _keep((first, second, np.abs(gradient[len(values) :])), self._alpha)

    def _find_above(self, field: PairField, changes: Values | None) -> tuple[Index, Index, Values]:
        """Find the pairs outside a field whose gradient can be above alpha, and what it is where it is known."""
        loss, p = self._loss, self._loss.n_variables
        inside = np.append(np.sort(field[0].first * p + field[0].second), -1)
        found: list[tuple[Index, Index, Values]] = []
        for start in range(0, p, _TILE):
            own = slice(start, min(start + _TILE, p))
            sizes = np.abs(self._gradient(own, start))
            if changes is not None:
                bound = np.outer(changes[own], loss.norms[start:]) + np.outer(loss.norms[own], changes[start:])
                sizes += bound.astype(sizes.dtype) / 2
            sizes[loss.is_alone[own]] = 0.0
            sizes[:, loss.is_alone[start:]] = 0.0
            a, b = np.nonzero(np.triu(sizes > self._alpha, 1))
            keys = (a + start) * p + b + start
            is_new = inside[np.searchsorted(inside[:-1], keys)] != keys
            a, b = a[is_new], b[is_new]
            found.append((a + start, b + start, sizes[a, b].astype(np.float64)))
        first, second, above = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return first, second, above

    def _gradient(self, own: slice, start: int) -> NDArray[np.floating[Any]]:
        """Return the gradient where it is known, of some variables and all from one of them on."""
        if self._slopes is not None:
            return np.asarray((self._slopes[own, start:] + self._slopes[start:, own].T) / 2)
        assert self._moments is not None
        assert self._known is not None
        data, means = self._moments, expit(self._known[1])
        both = np.outer(means[own], data.main[start:]) + np.outer(data.main[own], means[start:])
        return np.asarray(both / 2 - data.pair[own, start:])


def _keep(found: tuple[Index, Index, Values], alpha: float) -> Violations:
    """Keep what is above alpha."""
    first, second, sizes = found
    is_above = sizes > alpha
    return Violations(first[is_above], second[is_above], sizes[is_above] - alpha)
