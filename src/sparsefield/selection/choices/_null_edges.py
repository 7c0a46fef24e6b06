"""Edges under the null: what sampling error alone makes of a penalty among variables that are independent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from sparsefield._typing import Values
from sparsefield.fitting import Learner
from sparsefield.model import MOST_AT_ONCE, tally_sizes
from sparsefield.objective import Group
from sparsefield.selection.choices._quadratic_forms import tail_of_squares
from sparsefield.selection.paths._alpha_max import independent_means

RISK = 0.05  # that an edge is made where there is none, over all pairs together: the convention of tests

_ROUNDING = 1e-12  # of the eigenvalues of a covariance, beside the largest


def null_alpha(learner: Learner, n_rows: float | None = None) -> float:
    """Return the alpha from which on sampling error makes no edge among independent variables, with probability 0.95.

    Where variables are independent, the frequency of a pair of levels differs from the product of theirs by sampling
    error, with the standard error sqrt(q (1 - q) r (1 - r) / n) for levels of frequencies q and r. There is an edge
    where the difference exceeds alpha. That happens somewhere with a probability of the sum of 2 Phi(-alpha / e) over
    all pairs at most, e the error of each (Bonferroni's inequality): alpha is where the sum is 0.05. With m pairs it is
    no more than the largest error times the quantile of 0.025 / m.

    With the group penalty there is an edge where the norm of the differences of two variables exceeds what alpha makes
    it pay, taken of products of their features. Their covariance is that of the features of the one times that of the
    other (a Kronecker product) over n. So the squared norm is a sum of squares of normal variables whose variances are
    the products of an eigenvalue of either, over n, and a pair is one of variables.

    Parameters
    ----------
    learner : Learner
        The table.
    n_rows : float, optional
        How many rows there are; those of the table unless given.
    """
    return _find_errors(learner, n_rows).solve(RISK)


def alpha_of_null_edges(learner: Learner, share: float) -> float:
    """Return the alpha at which sampling error makes edges of a share of all pairs, were all variables independent."""
    errors = _find_errors(learner)
    return errors.solve(share * errors.n_pairs)


def count_null_edges(learner: Learner, alpha: float) -> float:
    """Return how many pairs are expected to have an edge at an alpha, were all variables independent.

    They are pairs of levels, or with the group penalty pairs of variables: what the penalty sets to zero one by one.
    """
    return _find_errors(learner).count(alpha)


def count_along(learner: Learner, alphas: Sequence[float]) -> Values:
    """Return `count_null_edges` at several alphas; the errors, which take a look at all rows, are found once."""
    errors = _find_errors(learner)
    return np.array([errors.count(alpha) for alpha in alphas])


def largest_error(learner: Learner) -> float:
    """Return the largest standard error that the frequency of a pair has among independent variables.

    With the group penalty it is the root of the mean of the squared norm.
    """
    means, penalty = independent_means(learner), learner.make_penalty(0.0)
    if isinstance(penalty, Group):
        sums = np.array([own.sum() for own in _spectra(penalty, means)])
        deviations = np.sqrt(sums / np.maximum(penalty.coordinates.n_interacting, 1))
    else:
        deviations = np.sqrt(penalty.coordinates.main_variances(means)[penalty.coordinates.interacts])
    deviations = np.sort(deviations)[::-1]
    largest = deviations[0] * deviations[1] if len(deviations) > 1 else 0.25
    return float(max(largest, 1e-12) / np.sqrt(learner.rows.n))


@dataclass(frozen=True, eq=False)
class _NullErrors:
    """Sampling errors of what the penalty compares with alpha, among independent variables.

    Parameters
    ----------
    errors : ndarray of shape (n_single,)
        Standard errors of pairs of one parameter.
    counts : ndarray of shape (n_single,)
        How many pairs have each of them.
    variances : ndarray of shape (n_groups, n_squares)
        Of pairs of several parameters, the variances along the axes of their errors; zeros fill rows up.
    """

    errors: Values
    counts: Values
    variances: Values = field(default_factory=lambda: np.zeros((0, 1)))

    @property
    def n_pairs(self) -> int:
        """How many pairs sampling error can give an edge."""
        return int(self.counts.sum()) + len(self.variances)

    def count(self, alpha: float) -> float:
        """Return how many edges sampling error makes at an alpha."""
        single = self.counts * ndtr(-alpha / self.errors)
        return float(2 * single.sum()) + float(tail_of_squares(self.variances, alpha**2).sum())

    def solve(self, n_edges: float) -> float:
        """Return the alpha at which sampling error makes so many edges."""
        if not self.n_pairs:
            return 0.0
        most = -ndtri(n_edges / (2 * self.n_pairs)) * self.errors.max(initial=0.0)
        if len(self.variances):
            most = max(most, float(np.sqrt(self.variances.sum(axis=1).max())))
            while self.count(most) > n_edges:
                most *= 2
        # Rounding may put the sum at its end a little above the number, where all errors are equal.
        return float(brentq(lambda alpha: self.count(alpha) - n_edges, 0.0, 1.01 * most))


def _find_errors(learner: Learner, n_rows: float | None = None) -> _NullErrors:
    """Return the sampling errors of all pairs, of those that have some.

    Rows in which one of the two is missing say nothing of the pair: with a share c of the rows that show both, the
    error is sqrt(c) times that of whole rows.
    """
    means, penalty = independent_means(learner), learner.make_penalty(0.0)
    n = learner.rows.n if n_rows is None else n_rows
    if isinstance(penalty, Group):
        n_own = np.maximum(penalty.coordinates.n_interacting, 1)  # what a norm counts is the root of their product
        return _errors_of_groups(_spectra(penalty, means), _share_observed(learner) / (n * np.outer(n_own, n_own)))
    coordinates = penalty.coordinates
    deviations = np.sqrt(coordinates.main_variances(means) / np.sqrt(n))
    if len(deviations) ** 2 > MOST_AT_ONCE and learner.table.domain.is_binary and not learner.table.n_missing.any():
        return _tally_errors(deviations[deviations > 0])
    a, b = np.triu_indices(len(deviations), 1)
    is_pair = coordinates.is_parameter[a, b]
    errors = (deviations[a] * deviations[b])[is_pair]
    if learner.table.n_missing.any():
        errors *= np.sqrt(_share_observed(learner)[coordinates.variables[a], coordinates.variables[b]][is_pair])
    errors = errors[errors > 0]
    return _NullErrors(errors, np.ones(len(errors)))


def _tally_errors(deviations: Values) -> _NullErrors:
    """Return the sampling errors of all pairs, which are products of two deviations: rounded up to a thousandth."""
    inverses = 1 / deviations
    parts = (inverses[k] * inverses[k + 1 :] for k in range(len(inverses) - 1))
    sizes, counts = tally_sizes(parts)
    return _NullErrors(1 / sizes, counts)


def _errors_of_groups(spectra: Sequence[Values], scales: Values) -> _NullErrors:
    """Return the errors of pairs of variables whose features have covariances with these eigenvalues, times scales."""
    p, size = len(spectra), max((len(own) for own in spectra), default=0)
    table = np.zeros((p, size))
    for row, own in zip(table, spectra, strict=True):
        row[: len(own)] = own
    a, b = np.triu_indices(p, 1)
    scale = scales[a, b]
    counts = (table > 0).sum(axis=1)
    counts = counts[a] * counts[b]
    is_single, is_group = (counts == 1) & (scale > 0), (counts > 1) & (scale > 0)
    errors = np.sqrt(table.max(axis=1, initial=0.0)[a] * table.max(axis=1, initial=0.0)[b] * scale)[is_single]
    first, second = table[a[is_group]], table[b[is_group]]
    variances = (first[:, :, None] * second[:, None, :]).reshape(len(first), size**2) * scale[is_group, None]
    return _NullErrors(errors, np.ones(len(errors)), variances)


def _spectra(penalty: Group, means: Values) -> list[Values]:
    """Return the eigenvalues of the covariance of the features of each variable that interact, without zeros."""
    basis, domain = penalty.coordinates.basis, penalty.coordinates.domain
    levels, found = np.split(penalty.coordinates.level_means(means), np.cumsum(domain.n_levels)[:-1]), []
    starts = np.cumsum(domain.n_levels) - domain.n_levels
    for i, own in enumerate(levels):
        columns = np.flatnonzero((basis.variables == i) & basis.interacts)
        values = basis.values[starts[i] : starts[i] + len(own)][:, columns].toarray()
        values = values - own @ values
        spectrum = np.linalg.eigvalsh((values.T * own) @ values)
        found.append(spectrum[spectrum > _ROUNDING * spectrum.max(initial=0.0)])
    return found


def _share_observed(learner: Learner) -> Values:
    """Return the share of rows that show two variables, for each two."""
    if not learner.table.n_missing.any():
        return np.ones((learner.table.domain.n_variables,) * 2)
    is_seen = (~learner.table.mask).astype(np.float32)  # sums of up to 2^24 rows are whole numbers
    weights = None if learner.weights is None else learner.weights.astype(np.float32)
    both = is_seen.T @ (is_seen if weights is None else is_seen * weights[:, None])
    total = learner.table.n_rows if weights is None else weights.sum()
    return np.asarray(both / total, dtype=np.float64)
