"""What noise alone makes of a penalty: edges among variables that are independent."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from sparsefield.selection._alpha_max import independent_means
from sparsefield.selection._rows import count_rows
from sparsefield.solvers import Learner

RISK = 0.05  # that noise makes an edge where there is none, over all pairs together: the convention of tests


def edge_of_noise(learner: Learner, n_rows: float | None = None) -> float:
    """Return the alpha from which on noise makes no edge among independent variables, with probability 0.95.

    Where variables are independent, the frequency of a pair of levels differs from the product of theirs by noise, with
    the standard error sqrt(q (1 - q) r (1 - r) / n) for levels of frequencies q and r. There is an edge where the
    difference exceeds alpha. That happens somewhere with a probability of the sum of 2 Phi(-alpha / e) over all pairs
    at most, e the error of each (Bonferroni's inequality): alpha is where the sum is 0.05. With m pairs it is no more
    than the largest error times the quantile of 0.025 / m.

    Parameters
    ----------
    learner : Learner
        The table.
    n_rows : float, optional
        How many rows there are; those of the table unless given.
    """
    return _solve(_errors(learner, n_rows), RISK)


def alpha_of_noise(learner: Learner, share: float) -> float:
    """Return the alpha at which noise makes edges of a share of all pairs, were all variables independent."""
    errors = _errors(learner)
    return _solve(errors, share * len(errors))


def _solve(errors: NDArray[np.float64], n_pairs: float) -> float:
    """Return the alpha at which noise makes so many edges, of pairs with these errors."""
    if not len(errors):
        return 0.0
    most = -ndtri(n_pairs / (2 * len(errors))) * errors.max()
    # Rounding may put the sum at its end a little above the number, where all errors are equal.
    return float(brentq(lambda alpha: _count(errors, alpha) - n_pairs, 0.0, 1.01 * most))


def count_noise(learner: Learner, alpha: float) -> float:
    """Return how many pairs of levels are expected to have an edge at an alpha, were all variables independent."""
    return _count(_errors(learner), alpha)


def count_along(learner: Learner, alphas: Sequence[float]) -> NDArray[np.float64]:
    """Return `count_noise` at several alphas; the errors, which take a look at all rows, are found once."""
    errors = _errors(learner)
    return np.array([_count(errors, alpha) for alpha in alphas])


def _count(errors: NDArray[np.float64], alpha: float) -> float:
    return float(2 * ndtr(-alpha / errors).sum())


def _errors(learner: Learner, n_rows: float | None = None) -> NDArray[np.float64]:
    """Return the standard error of each pair's frequency among independent variables, where it is not zero.

    Rows in which one of the two is missing say nothing of the pair: with a share c of the rows that show both, the
    error is sqrt(c) times that of whole rows.
    """
    domain = learner.table.domain
    variables = domain.slot_variables
    means = independent_means(learner)
    deviations = np.sqrt(
        means * (1 - means) / np.sqrt(count_rows(learner.table, learner.weights) if n_rows is None else n_rows)
    )
    a, b = np.triu_indices(len(means), 1)
    is_pair = variables[a] != variables[b]
    errors = (deviations[a] * deviations[b])[is_pair]
    if learner.table.n_missing.any():
        errors *= np.sqrt(_share_observed(learner)[variables[a], variables[b]][is_pair])
    return np.asarray(errors[errors > 0])


def _share_observed(learner: Learner) -> NDArray[np.float64]:
    """Return the share of rows that show two variables, for each two."""
    is_seen = (~learner.table.mask).astype(np.float32)  # sums of up to 2^24 rows are whole numbers
    weights = None if learner.weights is None else learner.weights.astype(np.float32)
    both = is_seen.T @ (is_seen if weights is None else is_seen * weights[:, None])
    total = learner.table.n_rows if weights is None else weights.sum()
    return np.asarray(both / total, dtype=np.float64)
