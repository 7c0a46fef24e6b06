"""Margins of groups of parameters (group lasso), which are zero together or not at all."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.linalg import cho_solve
from scipy.optimize import brentq
from scipy.special import chdtri

from sparsefield._typing import Index, Mask, Matrix, Values
from sparsefield.marks._covariance import Covariance
from sparsefield.marks._curvatures import Curvature
from sparsefield.marks._narrowing import Candidates
from sparsefield.marks._optimum import Optimum, margin
from sparsefield.objective import members_of
from sparsefield.solvers import UNDECIDED, mark_quantile


class GroupMargins:
    """Margins of the norms of groups, and of those of their gradients.

    Parameters
    ----------
    theta : ndarray of shape (w,)
        The parameters of the fit that may differ from zero.
    found : Optimum
        The optimum that draws lead to.
    covariance : Covariance
        The covariance of their statistics.
    weights, groups : ndarray of shape (w,)
        What the group of each pays, and which one that is.
    """

    def __init__(
        self, theta: Values, found: Optimum[Curvature], covariance: Covariance, weights: Values, groups: Index
    ) -> None:
        self._found, self._covariance, there = found, covariance, found.theta
        self._members = members_of(groups)
        self.candidates = Candidates(
            np.array([np.linalg.norm(there[own]) for own in self._members]),
            np.array([weights[own[0]] for own in self._members]),
            np.array([theta[own] @ there[own] > 0 for own in self._members], dtype=bool),
            np.array([not theta[own].any() and not there[own].any() for own in self._members], dtype=bool),
        )

    def spread(self, marked: Mask) -> Mask:
        """Return marks of groups as marks of parameters."""
        found = np.zeros(len(self._found.theta), dtype=bool)
        for own in (self._members[g] for g in np.flatnonzero(marked)):
            found[own] = True
        return found

    def _parts(self, chosen: Index) -> Iterator[tuple[int, Index, slice]]:
        """Run through groups: each with its parameters, and their places where those of all groups are in a row."""
        start = 0
        for g in map(int, chosen):
            own = self._members[g]
            yield g, own, slice(start, start + len(own))
            start += len(own)

    def value_margins(self, some: Index, possible: Mask) -> Values:
        """Return how far from zero each of some groups must be to differ from it, whichever of those possible do."""
        last = np.concatenate([self._members[g] for g in some])
        factor, root = self._covariance.factor(self.spread(possible), last)
        places, margins = np.arange(len(factor) - len(last), len(factor)), []
        for g, _, part in self._parts(some):
            columns = root[:, part]
            margins.append(self._margin(g, np.asarray(columns.T @ columns), factor, places[part]))
        return np.array(margins)

    def _margin(self, g: int, inverse: Matrix, factor: Matrix, held: Index) -> float:
        """Return the margin of the norm of a group, from its standard error by the inverse covariance.

        With R the inverse of its block of that, what the others leave of its covariance, and u its direction, its norm
        has the variance 1 / (n u . R u). Simulation error across u adds to it on average: of a gradient of norm alpha
        the norm grows by the variance across it over 2 alpha. Where alpha is small that is more than the norm of the
        whole error.
        """
        n, own = self._found.n, self._members[g]
        span, block = self._found.spans[own[0]], self._covariance.matrix[np.ix_(own, own)]
        u = self._found.theta[own] / self.candidates.sizes[g]
        turned = np.linalg.solve(inverse, u)
        curvature = float(u @ turned)
        across = max(0.0, float(np.trace(block) - u @ block @ u)) / (2 * self.candidates.weights[g] * n * curvature)
        along = float(margin(np.sqrt(1 / (n * curvature)), span / (n * curvature))) + across
        if len(own) > 1:
            whole = float(np.linalg.eigvalsh(inverse)[-1]) / n
            z = float(np.sqrt(chdtri(len(own), (1 - UNDECIDED) / 2)))
            along = min(along, float(margin(np.sqrt(whole), span * whole, z)))
        if self._found.bias > 0:
            unit = np.zeros(len(factor))
            unit[held] = turned / curvature
            along += self._found.bias * float(np.linalg.norm(cho_solve((factor, True), unit)))
        return float(along)

    def largest_gradients(self, some: Index, certain: Mask) -> Values:
        """Return how large the gradient of each of some groups may be, if only what is certain differs from zero."""
        others, held, found = np.concatenate([self._members[g] for g in some]), self.spread(certain), self._found
        stiffness = self._stiffness(certain)[np.ix_(held, held)]
        across, slopes, grown = self._covariance.regress(others, np.flatnonzero(held), stiffness)
        largest = []
        for _, own, part in self._parts(some):
            left = self._covariance.matrix[np.ix_(own, own)] - across[:, part].T @ slopes[:, part]
            size = _largest_norm(found.gradient[own], left * grown, found.n, found.spans[own[0]])
            bias = found.bias * np.sqrt(1 + np.linalg.norm(slopes[:, part], 2) ** 2) if found.bias > 0 else 0.0
            largest.append(size + bias)
        return np.array(largest)

    def _stiffness(self, certain: Mask) -> Matrix:
        """Return the curvature of the penalty at the groups that differ from zero: across them, alpha / norm."""
        found, weights = np.zeros_like(self._covariance.matrix), self.candidates.weights
        for g in np.flatnonzero(certain & (weights > 0)):
            own, size = self._members[g], self.candidates.sizes[g]
            u = self._found.theta[own] / size
            found[np.ix_(own, own)] = weights[g] / size * (np.eye(len(own)) - np.outer(u, u))
        return found


def _largest_norm(gradient: Values, covariance: Matrix, n: float, span: float) -> float:
    """Return the largest norm of gradients g that each have no combination further from an estimate than its margin.

    If the norm of the exact gradients is alpha, the combination u along these has a mean of alpha, and an estimate of
    it that is below alpha by the margin of u with a probability of half the risk. So the largest norm is that of the
    furthest point of an ellipsoid about the estimate: y in z^2 covariance with y = (m - covariance)^-1 covariance g for
    the m above all eigenvalues at which y is on its surface.
    """
    z = mark_quantile()
    values, vectors = np.linalg.eigh(covariance)
    values = np.maximum(values, 0.0) / n + (z * span / (2 * n)) ** 2
    own = vectors.T @ gradient
    size, top = float(np.linalg.norm(gradient)), float(values[-1])

    def beyond(m: float) -> float:
        return float((own**2 * values / (m - values) ** 2).sum()) - z**2

    # Were all variances the largest one, m would be so much above it; less where gradients have no part in that.
    high = top + size * np.sqrt(top) / z
    low = top * (1 + 1e-9)
    furthest = size + z * np.sqrt(top)
    if low < high and beyond(low) > 0 >= beyond(high * (1 + 1e-12)):
        m = brentq(beyond, low, high * (1 + 1e-12))
        furthest = float(np.linalg.norm(own * m / (m - values)))
    return float(furthest + z**2 * span / (2 * n))
