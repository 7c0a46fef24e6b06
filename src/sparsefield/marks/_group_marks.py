"""Which groups of parameters the noise of the draws leaves open: zero, or not."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve, cholesky, solve_triangular
from scipy.optimize import brentq
from scipy.special import chdtri

from sparsefield._typing import Index, Mask, Matrix, Values
from sparsefield.marks._optimum import Optimum, margin
from sparsefield.objective import members_of
from sparsefield.solvers import UNDECIDED, mark_quantile

# Sets of what may and what must differ from zero get closer from round to round, and each pair of them is right.
_MOST_NARROWINGS = 10


class OpenGroups:
    """Groups that may differ from zero in the optimum, and those among them that must.

    Parameters
    ----------
    theta : ndarray of shape (w,)
        The parameters of the fit that may differ from zero.
    found : Optimum
        The optimum that draws lead to.
    covariance : ndarray of shape (w, w)
        The covariance of their statistics.
    weights, groups : ndarray of shape (w,)
        What the group of each pays, and which one that is.
    """

    def __init__(self, theta: Values, found: Optimum, covariance: Matrix, weights: Values, groups: Index) -> None:
        self._found, self._covariance, self._theta = found, covariance, theta
        self._there, self._gradient = found.theta, found.gradient
        self._members = members_of(groups)
        self._weights = np.array([weights[own[0]] for own in self._members])

    def compare(self) -> Mask:
        """Say of each parameter whether it is open that its group is zero, or not, as in the fit; (w,)."""
        possible = np.ones(len(self._members), dtype=bool)
        certain = self._weights == 0
        for _ in range(_MOST_NARROWINGS):
            last = np.count_nonzero(possible & ~certain)
            certain = certain | self._must_differ(possible, possible & ~certain)
            possible = possible & ~self._must_vanish(certain, possible & ~certain)
            if np.count_nonzero(possible & ~certain) == last:
                break
        return self._spread(possible & ~certain)

    def _spread(self, marked: Mask) -> Mask:
        """Return marks of groups as marks of parameters."""
        found = np.zeros(len(self._theta), dtype=bool)
        for own in (self._members[g] for g in np.flatnonzero(marked)):
            found[own] = True
        return found

    def _must_differ(self, possible: Mask, wanted: Mask) -> Mask:
        """Return which of the groups wanted differ from zero, whichever of those possible do."""
        is_same = np.array([self._theta[own] @ self._there[own] > 0 for own in self._members])
        chosen = np.flatnonzero(wanted & is_same)
        certain = np.zeros(len(possible), dtype=bool)
        if len(chosen) == 0:
            return certain
        own = np.concatenate([self._members[g] for g in chosen])
        others = self._spread(possible)
        others[own] = False
        some = np.concatenate([np.flatnonzero(others), own])
        # The last rows of the factor are that of what the others leave of the covariance: its inverse is a block of
        # that of the whole.
        factor = cholesky(self._covariance[np.ix_(some, some)], lower=True, overwrite_a=True)
        last = solve_triangular(factor[-len(own) :, -len(own) :], np.eye(len(own)), lower=True)
        start = 0
        for g in map(int, chosen):
            k = len(self._members[g])
            columns = last[:, start : start + k]
            held = np.arange(k) + len(some) - len(own) + start
            certain[g] = self._is_beyond(g, np.asarray(columns.T @ columns), factor, held)
            start += k
        return certain

    def _is_beyond(self, g: int, inverse: Matrix, factor: Matrix, held: Index) -> bool:
        """Say whether a group is further from zero than noise explains, from its block of the inverse covariance.

        With R the inverse of that block, what the others leave of its covariance, and u the direction of the group, its
        norm has the variance 1 / (n u . R u). Noise across u adds to it on average: of a gradient of norm alpha the
        norm grows by the variance across it over 2 alpha. Where alpha is small that is more than the norm of all noise.
        """
        n, own = self._found.n, self._members[g]
        span = self._found.spans[own[0]]
        there, block = self._there[own], self._covariance[np.ix_(own, own)]
        size = float(np.linalg.norm(there))
        u = there / size
        turned = np.linalg.solve(inverse, u)
        curvature = float(u @ turned)
        across = max(0.0, float(np.trace(block) - u @ block @ u)) / (2 * self._weights[g] * n * curvature)
        along = float(margin(np.sqrt(1 / (n * curvature)), span / (n * curvature))) + across
        if len(own) > 1:
            whole = float(np.linalg.eigvalsh(inverse)[-1]) / n
            z = float(np.sqrt(chdtri(len(own), (1 - UNDECIDED) / 2)))
            along = min(along, float(margin(np.sqrt(whole), span * whole, z)))
        if self._found.bias > 0:
            unit = np.zeros(len(factor))
            unit[held] = turned / curvature
            along += self._found.bias * float(np.linalg.norm(cho_solve((factor, True), unit)))
        return bool(size > along)

    def _must_vanish(self, certain: Mask, wanted: Mask) -> Mask:
        """Return which of the groups wanted are zero, if only what is certain differs from zero."""
        is_zero = np.array([not self._theta[own].any() and not self._there[own].any() for own in self._members])
        chosen = np.flatnonzero(wanted & is_zero)
        vanishing = np.zeros(len(certain), dtype=bool)
        if len(chosen) == 0:
            return vanishing
        some, others = np.flatnonzero(self._spread(certain)), np.concatenate([self._members[g] for g in chosen])
        across = self._covariance[np.ix_(some, others)]
        stiff = self._covariance[np.ix_(some, some)] + self._stiffness(certain)[np.ix_(some, some)]
        slopes = cho_solve(cho_factor(stiff, overwrite_a=True), across) if len(some) else across
        # The regression itself takes up one degree of freedom for each parameter.
        n_held = self._found.quadratic.n
        assert n_held is not None
        start = 0
        for g in chosen:
            own = self._members[g]
            part = slice(start, start + len(own))
            left = self._covariance[np.ix_(own, own)] - across[:, part].T @ slopes[:, part]
            left *= n_held / (n_held - len(some))
            largest = _largest_norm(self._gradient[own], left, self._found.n, self._found.spans[own[0]])
            if self._found.bias > 0:
                largest += self._found.bias * np.sqrt(1 + np.linalg.norm(slopes[:, part], 2) ** 2)
            vanishing[g] = largest < self._weights[g]
            start += len(own)
        return vanishing

    def _stiffness(self, certain: Mask) -> Matrix:
        """Return the curvature of the penalty at the groups that differ from zero: across them, alpha / norm."""
        found = np.zeros_like(self._covariance)
        for g in np.flatnonzero(certain & (self._weights > 0)):
            own = self._members[g]
            size = float(np.linalg.norm(self._there[own]))
            u = self._there[own] / size
            found[np.ix_(own, own)] = self._weights[g] / size * (np.eye(len(own)) - np.outer(u, u))
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
