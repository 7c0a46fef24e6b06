"""Concentration inequalities: errors of means over draws that hold for every number of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsefield._typing import Matrix
from sparsefield.certificates import concentration
from sparsefield.data import Moments
from sparsefield.model import PairwiseMRF
from sparsefield.objective import Problem, count_statements, largest_variances, widths


@dataclass(frozen=True, eq=False)
class Errors:
    """How far means and standard deviations of statistics can be from those of draws, with one confidence for all.

    Parameters
    ----------
    means : ndarray of shape (size, size)
        Bounds on the errors of means. In a group they are for combinations u whose coefficients have norm one and that
        the draws did not choose, two for each group.
    deviations : ndarray of shape (size, size)
        Upper limits of standard deviations, of the same combinations in a group.
    """

    means: Matrix
    deviations: Matrix


def bound_errors(problem: Problem, model: PairwiseMRF, moments: Moments, risk: float) -> Errors:
    """Bound the errors of means over independent draws, except with a probability of `risk` in all.

    Indicators have the limits of Clopper and Pearson. Other statistics, of range w and variance V over n draws, have
    means and standard deviations that are off by no more than

        sqrt(2 V x / n) + 7 w x / (3 (n - 1))  and  w sqrt(2 x / (n - 1)),    x = log(2 / share of the risk),

    by Theorems 4 and 10 of Maurer and Pontil (2009); both hold together, since the first is made of the second.

    Parameters
    ----------
    problem : Problem
        Whose statistics they are.
    model : PairwiseMRF
        What was drawn from.
    moments : Moments
        Means of slots over the draws.
    risk : float
        Probability with which any of the bounds may fail.
    """
    if problem.coordinates.is_plain:
        errors = concentration(model, moments, confidence=1 - risk, kind="sharp").pair
        nearest = np.clip(0.5, moments.pair - errors, moments.pair + errors)
        return Errors(errors, np.sqrt(np.clip(nearest * (1 - nearest), 0.0, 0.25)))
    n = moments.n
    assert n is not None
    x, width = np.log(2 * 2 * max(1, count_statements(problem)) / risk), widths(problem)
    variances = largest_variances(problem, moments) * (n / (n - 1))
    errors = np.sqrt(2 * variances * x / n) + 7 * width * x / (3 * (n - 1))
    deviations = np.minimum(width / 2, np.sqrt(variances) + width * np.sqrt(2 * x / (n - 1)))
    is_parameter = problem.coordinates.is_parameter
    return Errors(np.where(is_parameter, errors, 0.0), np.where(is_parameter, deviations, 0.0))


def pull_bounds(problem: Problem, bounds: Matrix) -> Matrix:
    """Return bounds on the biases of features, or on the norms of those of their groups, from bounds for slots."""
    return problem.penalty.sizes(problem.coordinates.pull_bounds(bounds))
