"""A variable given its neighbours: a logistic regression, and what it tells of rows and of pairs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sparsefield._kernels._cholesky import invert
from sparsefield._typing import Index, Values
from sparsefield.structure._design import Design, Variable


@dataclass(frozen=True, eq=False)
class Regression:
    """One variable given its neighbours: a logistic regression on their features.

    Parameters
    ----------
    neighbours : ndarray of integers
        They, in ascending order.
    columns : ndarray of integers
        Where their columns are in the design.
    starts : ndarray of integers
        Where those of each begin among them, and where the last end.
    intercepts, slopes : ndarray of shape (n_levels,) and (d, k)
        The parameters: what columns make of the features of the variable.
    value : float
        The log-likelihood of all rows and the logarithm of the prior of the slopes, up to a constant.
    factor : ndarray of shape (m, m)
        The Cholesky factor of the curvature: of intercepts but the first, then of slopes.
    """

    neighbours: Index
    columns: Index
    starts: Index
    intercepts: Values
    slopes: Values
    value: float
    factor: Values

    @classmethod
    def alone(cls, variable: Variable) -> Regression:
        """Return the regression of a variable that has no neighbours, up to its likelihood."""
        none, d = np.zeros(0, dtype=np.int64), variable.features.shape[1]
        size = max(0, len(variable.log_odds) - 1)
        return cls(none, none, np.zeros(1, dtype=np.int64), variable.log_odds, np.zeros((d, 0)), 0.0, np.eye(size))

    def slopes_of(self, neighbour: int) -> Values:
        """Return the slopes of a neighbour, (d, its number of features); none where it is not one."""
        at = int(np.searchsorted(self.neighbours, neighbour))
        if at == len(self.neighbours) or self.neighbours[at] != neighbour:
            return self.slopes[:, :0]
        return self.slopes[:, self.starts[at] : self.starts[at + 1]]

    @cached_property
    def wald(self) -> Values:
        """Wald's statistic of each neighbour: the squared length of its slopes in their standard errors."""
        if not len(self.neighbours):
            return np.zeros(0)
        d, k = self.slopes.shape
        first = len(self.intercepts) - 1
        if d == 1 and k == len(self.neighbours):
            return np.asarray(self.slopes[0] ** 2 / np.diagonal(self._covariance)[first:])
        found = []
        for a, b in zip(self.starts[:-1], self.starts[1:], strict=True):
            own = (first + np.arange(d)[:, None] * k + np.arange(a, b)).ravel()
            slopes = self.slopes[:, a:b].ravel()
            found.append(slopes @ np.linalg.solve(self._covariance[np.ix_(own, own)], slopes))
        return np.array(found)

    def variances_of(self, neighbour: int) -> Values:
        """Return the variances of the slopes of a neighbour, with the prior, (d, its number of features)."""
        at = int(np.searchsorted(self.neighbours, neighbour))
        variances = np.diagonal(self._covariance)[len(self.intercepts) - 1 :].reshape(self.slopes.shape)
        return variances[:, self.starts[at] : self.starts[at + 1]]

    @cached_property
    def _covariance(self) -> Values:
        """The covariance of all parameters, with the prior."""
        covariance = np.empty_like(self.factor)
        invert(self.factor, covariance, len(self.factor))
        return covariance


class Weighed(NamedTuple):
    """What a variable has in each row, given its neighbours, times how often the row counts (`weigh_rows`).

    Parameters
    ----------
    residuals : ndarray of shape (n, d)
        Its features less their means.
    spreads : ndarray of shape (n, d, d)
        The covariances of its features.
    mixed : ndarray of shape (n, m, d)
        The covariances of its features with the statistics of the parameters.
    """

    residuals: Values
    spreads: Values
    mixed: Values


@dataclass(frozen=True, eq=False)
class Evidence:
    """What rows tell of a pair, the mean of both of its ends: without a prior, were log-likelihoods quadratic.

    Parameters
    ----------
    ratio : float
        The likelihood ratio statistic: twice what an edge adds to the log-likelihood of either variable.
    square : float
        Its squared weight, in the parameters of contrasts.
    variance : float
        The sampling variance of a parameter of it, the mean of all.
    """

    ratio: float
    square: float
    variance: float


@dataclass(frozen=True, eq=False)
class Filling:
    """What the neighbours of a variable say of it in the rows that lack it.

    Parameters
    ----------
    features : ndarray of shape (n_levels, d)
        Its features.
    intercepts : ndarray of shape (n_levels,)
        The exponents of its levels, without neighbours.
    parts : dict of ndarray of shape (n_missing, d)
        What each neighbour adds along the features.
    whole : ndarray of shape (n_missing, d)
        What all of them add.
    """

    features: Values
    intercepts: Values
    parts: dict[int, Values]
    whole: Values

    @classmethod
    def of(cls, design: Design, j: int, fit: Regression) -> Filling:
        """Find what the regression of a variable says of the rows that lack it."""
        rows, starts = design.missing[j], design.starts
        parts = {
            int(m): design.columns[rows, starts[m] : starts[m + 1]] @ fit.slopes_of(int(m)).T for m in fit.neighbours
        }
        whole = sum(parts.values(), np.zeros((len(rows), len(fit.slopes))))
        return cls(design.variables[j].features, fit.intercepts, parts, whole)

    def expect(self, but: int) -> Values:
        """Return the means of the features given all neighbours but one, (n_missing, d).

        A regression of that one on what is expected without it is right to first order (regression calibration).
        """
        along = self.whole - self.parts.get(but, 0.0)
        exponents = self.intercepts + along @ self.features.T
        exponents = np.exp(exponents - exponents.max(axis=1, keepdims=True))
        return np.asarray(exponents @ self.features / exponents.sum(axis=1, keepdims=True))
