"""Which parameters the noise of the draws leaves open: zero, or not."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.special import ndtri

from sparsefield.gradients import Estimate, negligible_bias
from sparsefield.inference import Draws
from sparsefield.model import Matrix, count_once
from sparsefield.objective import RARE, Problem
from sparsefield.solvers._move import Move
from sparsefield.solvers._regression import rest_variances

# This is the confidence with which each parameter that is not marked is zero, or not: a convention. With 0.9, 0.99 and
# 0.999, 627, 920 and 1169 of 3180 parameters are marked, and 4, 0 and 0 of the others are zero in the fit or in the
# exact optimum alone (`make bench-constants`).
UNDECIDED = 0.99


def find_undecided(
    problem: Problem, draws: Draws, theta: Matrix, estimate: Estimate, found: Move
) -> NDArray[np.bool_] | None:
    """Mark the parameters that are zero, or not, only as far as one can tell from these draws.

    The step led from draws at its start to the optimum of the quadratic model, so that what it found is off by the
    noise of these draws alone. A parameter that is not zero has then a standard error, from the inverse of the
    covariance over all that are not zero; the gradient of one that is zero has that of the mean of a statistic, less
    what main effects that are not zero explain of it. Those nearer to a change than the confidence allows are marked.
    None where that is not known.
    """
    if draws.n is None:
        return np.zeros(theta.shape, dtype=bool)
    if problem.penalty.weights is None or not _is_known(estimate, draws.n, theta, found):
        return None
    z, n = float(ndtri((1 + UNDECIDED) / 2)), estimate.n_chains
    weights = problem.penalty.weights
    gradients = problem.gradient(estimate.moments) + draws.project(draws.along(found.whole))
    noise = np.sqrt(np.maximum(rest_variances(estimate.moments.pair, np.diagonal(theta) != 0), RARE / n) / n)
    near_zero = np.abs(theta) < z * _standard_errors(theta, found, draws.n, n)
    near_edge = np.abs(gradients) > weights - z * noise
    return np.where(theta != 0, near_zero, near_edge) & (weights > 0)


def _is_known(estimate: Estimate, n_draws: int, theta: Matrix, found: Move) -> bool:
    """Say whether the last step was whole, moved all that is not zero, and rests on draws without bias to speak of."""
    a, b = found.quadratic.first, found.quadratic.second
    if found.share != 1 or np.count_nonzero(theta[a, b]) < count_once(theta):
        return False  # what the step left where it was is off by more than these draws tell
    certificate = estimate.certificate
    if certificate is None or certificate.confidence < UNDECIDED:
        return False
    return estimate.is_certified and certificate.total <= negligible_bias(n_draws)


def _standard_errors(theta: Matrix, found: Move, n_held: int, n: int) -> Matrix:
    """Return the standard error of each parameter that is not zero, from n draws of which some are held."""
    a, b = found.quadratic.first, found.quadratic.second
    some = np.flatnonzero(theta[a, b])
    factor = cho_factor(found.quadratic.covariance(some), overwrite_a=True)
    inverse = cho_solve(factor, np.eye(len(some)), overwrite_b=True)
    # Of parameters whose statistics are hardly ever seen nothing is known.
    is_seen = found.quadratic.means[some] * n_held >= RARE
    errors = np.zeros_like(theta)
    values = np.where(is_seen, np.sqrt(np.diagonal(inverse) / n), np.inf)
    errors[a[some], b[some]] = errors[b[some], a[some]] = values
    return errors
