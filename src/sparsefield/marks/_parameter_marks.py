"""Which parameters the noise of the draws leaves open: zero, or not."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, cholesky, solve_triangular

from sparsefield._typing import Index, Mask, Matrix
from sparsefield.certificates import Certificate
from sparsefield.gradients import Estimate, negligible_bias
from sparsefield.inference import Draws
from sparsefield.marks._block_marks import NearMarks
from sparsefield.marks._curvatures import Curvature, NotLocalError, WholeModel, choose_reach, is_feasible
from sparsefield.marks._group_marks import OpenGroups
from sparsefield.marks._optimum import Optimum, margin
from sparsefield.marks._reweighted_optimum import LEAST_SHARE, reweight_to_optimum
from sparsefield.marks._sparse_optimum import find_near_optimum
from sparsefield.model import count_once, norm
from sparsefield.objective import Problem, rest_variances, spans
from sparsefield.solvers import UNDECIDED

# Sets of what may and what must differ from zero get closer from round to round, and each pair of them is right.
_MOST_NARROWINGS = 10


def find_undecided(
    problem: Problem, theta: Matrix, draws: Draws, estimate: Estimate, counts: float = 1.0
) -> Mask | None:
    """Mark the parameters of which draws do not settle whether they are zero in the optimum, as they are in theta.

    Draws at theta that had no say in it lead to an optimum which is off by their noise alone. It is a continuous
    function of that noise, linear as long as the same parameters differ from zero: the optimum moves most where as many
    as possible do, and the gradient of one that is zero moves most where as few as possible do. So there are two sets:
    parameters that may differ from zero, with standard errors from the inverse of the covariance of them all, and
    parameters that must, by these errors. Gradients of zeros have the variance that is left by a regression on those
    that must. What is in the first set and not in the second is undecided (`docs/math/optimality.md`).

    Parameters
    ----------
    problem : Problem
        What is minimised.
    theta : ndarray of shape (size, size)
        The parameters of the fit.
    draws : Draws
        Draws at theta, others than those that led there.
    estimate : Estimate
        Moments at theta of these draws, or of more.
    counts : float
        What a draw counts for: less than one where missing values take from the curvature, and add noise of their own.

    Returns
    -------
    ndarray of shape (n_slots, n_slots) or None
        The marks: of slots, where a parameter is one of a feature or of a group, all that it is part of. They are all
        set where the draws do not reach the optimum, and none is where moments are exact. None where nothing is known:
        of draws whose bias is not negligible, and of a penalty that is no sum over parameters or groups.
    """
    if draws.n is None:
        return np.zeros((problem.domain.n_slots,) * 2, dtype=bool)
    weights, certificate = problem.penalty.weights, estimate.certificate
    if weights is None or certificate is None or not estimate.is_certified:
        return None
    if certificate.confidence < UNDECIDED or certificate.total > negligible_bias(estimate.n_chains):
        return None
    is_free = _find_free(problem)
    marks: Mask = is_free & (theta == 0)  # the optimum has no such zeros: no step has reached them
    if not weights.any():
        return problem.coordinates.spread(marks)
    found = _find_open(problem, theta, draws, estimate, counts)
    if found is None:
        return problem.coordinates.spread(np.asarray(marks | (weights > 0)))
    a, b, is_open = found
    marks[a, b] = marks[b, a] = marks[a, b] | is_open
    return problem.coordinates.spread(marks)


def _find_open(
    problem: Problem, theta: Matrix, draws: Draws, estimate: Estimate, counts: float
) -> tuple[Index, Index, Mask] | None:
    """Return the parameters that may differ from zero and which of them are open; None if that is out of reach."""
    certificate = estimate.certificate
    assert certificate is not None
    # Biases of statistics far apart may add up.
    is_for_blocks = certificate.total == 0 and counts == 1
    reach = choose_reach(problem, theta, (theta != 0) | _find_free(problem)) if is_for_blocks else None
    if reach is not None:
        # Where far covariances matter, or keep steps from ending, the whole one serves, if there is memory for it.
        with suppress(NotLocalError):
            found = find_near_optimum(problem, theta, draws, estimate, reach)
            if found is not None:
                is_open = NearMarks(problem, theta, draws, found, reach).compare(_MOST_NARROWINGS)
                return found.quadratic.first, found.quadratic.second, is_open
    found = _find_optimum(problem, theta, draws, estimate, counts)
    if found is None:
        return None
    assert isinstance(found.quadratic, Curvature)
    a, b = found.quadratic.first, found.quadratic.second
    covariance, groups, weights = _covariance(problem, found.quadratic), problem.penalty.groups, problem.penalty.weights
    assert weights is not None
    if groups is None:
        return a, b, _compare(theta[a, b], found, covariance, weights[a, b])
    return a, b, OpenGroups(theta[a, b], found, covariance, weights[a, b], groups[a, b]).compare()


def _find_free(problem: Problem) -> Mask:
    """Return which parameters pay nothing."""
    return np.asarray(problem.coordinates.is_parameter & (problem.penalty.weights == 0))


def _find_optimum(
    problem: Problem, theta: Matrix, draws: Draws, estimate: Estimate, counts: float = 1.0
) -> Optimum | None:
    """Find the optimum that draws at theta lead to, and all that may differ from zero; None if it is out of reach."""
    weights, certificate = problem.penalty.weights, estimate.certificate
    assert weights is not None
    assert certificate is not None
    is_free = _find_free(problem)
    variances, each = rest_variances(problem, estimate.moments, np.diagonal(is_free)), spans(problem)
    penalty, bias = problem.penalty, _bias(problem, certificate)
    n, sizes = counts * estimate.n_chains, penalty.sizes(problem.gradient(problem.see(estimate.moments)))
    is_held = (penalty.sizes(theta) > 0) | is_free
    # About as many as at the optimum: where these are too many, the way there is not made.
    possible = is_held | _may_differ(sizes, weights, _margins(variances, each, n, bias))
    if not is_feasible(count_once(possible), draws, WholeModel):
        return None
    near = sizes > weights - np.sqrt(variances / n)
    # No fewer draws count at the optimum than the least share of them: margins are no larger there.
    margins = _margins(variances, each, LEAST_SHARE * n, bias)
    found = reweight_to_optimum(problem, theta, draws, estimate, is_held | ((weights > 0) & near), margins)
    if found is None:
        return None
    there, gradient, left = found
    left *= counts
    possible = is_held | (penalty.sizes(there) > 0)
    possible = possible | _may_differ(penalty.sizes(gradient), weights, _margins(variances, each, left, bias))
    if not is_feasible(count_once(possible), draws, WholeModel):
        return None
    curvature = WholeModel(problem, draws, possible).quadratic
    a, b = curvature.first, curvature.second
    return Optimum(there[a, b], gradient[a, b], curvature, left, bias, each[a, b])


def _bias(problem: Problem, certificate: Certificate) -> float:
    """Return a bound on the norm of the bias of the gradient."""
    if problem.coordinates.is_plain or certificate.total == 0:
        return certificate.total
    return norm(problem.coordinates.pull_bounds(certificate.pair))


def _margins(variances: Matrix, each: Matrix, n: float, bias: float) -> Matrix:
    """Return how far from its penalty the gradient of a zero must be over n draws, by its own variance."""
    # A regression on one or two free main effects adds at most as much again of the bias of each.
    return np.asarray(margin(np.sqrt(variances / n), each / n) + np.sqrt(3) * bias)


def _may_differ(sizes: Matrix, weights: Matrix, margins: Matrix) -> Mask:
    """Return which parameters that pay may differ from zero, by the sizes of their gradients."""
    return np.asarray((weights > 0) & (sizes + margins >= weights))


def _compare(theta: NDArray[np.float64], found: Optimum, covariance: Matrix, weights: NDArray[np.float64]) -> Mask:
    """Say of each parameter that may differ from zero whether that is open, given what it is in the fit."""
    there, gradient = found.theta, found.gradient
    possible, certain, is_same = np.ones(len(there), dtype=bool), weights == 0, theta * there > 0
    for _ in range(_MOST_NARROWINGS):
        last = np.count_nonzero(possible & ~certain)
        if is_same.any():
            certain = certain | (np.abs(there) > _value_margins(covariance, possible, is_same, found))
        margins = _gradient_margins(covariance, certain, possible & ~certain, found)
        is_zero = (theta == 0) & (there == 0) & (np.abs(gradient) + margins < weights)
        possible = possible & (certain | ~is_zero)
        if np.count_nonzero(possible & ~certain) == last:
            break
    return np.asarray(possible & ~certain)


def _value_margins(covariance: Matrix, possible: Mask, wanted: Mask, found: Optimum) -> NDArray[np.float64]:
    """Return how far from zero each one wanted must be to differ from it, whichever of those possible do."""
    own = np.flatnonzero(possible & wanted)
    some = np.concatenate([np.flatnonzero(possible & ~wanted), own])
    # The last rows of the factor are that of what the others leave of the covariance: its inverse is a block of that of
    # the whole.
    factor = cholesky(covariance[np.ix_(some, some)], lower=True, overwrite_a=True)
    last = factor[-len(own) :, -len(own) :]
    variances = (solve_triangular(last, np.eye(len(own)), lower=True) ** 2).sum(axis=0) / found.n
    margins = np.full(len(possible), np.inf)
    margins[own] = margin(np.sqrt(variances), variances * found.spans[own])
    if found.bias > 0:
        inverse = cho_solve((factor, True), np.eye(len(some))[:, -len(own) :], overwrite_b=True)
        margins[own] += found.bias * np.linalg.norm(inverse, axis=0)
    return margins


def _gradient_margins(covariance: Matrix, certain: Mask, wanted: Mask, found: Optimum) -> NDArray[np.float64]:
    """Return how far from its weight the gradient of a zero must be, if only what is certain differs from zero."""
    some, others = np.flatnonzero(certain), np.flatnonzero(wanted)
    across = covariance[np.ix_(some, others)]
    factor = cho_factor(covariance[np.ix_(some, some)], overwrite_a=True) if len(some) else None
    slopes = across if factor is None else cho_solve(factor, across)
    left = np.maximum(covariance[others, others] - (across * slopes).sum(axis=0), 0.0)
    # The regression itself takes up one degree of freedom for each parameter.
    n_held = found.quadratic.n
    assert n_held is not None
    left *= n_held / (n_held - len(some))
    margins = np.full(len(certain), np.inf)
    bias = found.bias * np.sqrt(1 + (slopes**2).sum(axis=0))
    margins[others] = margin(np.sqrt(left / found.n), found.spans[others] / found.n) + bias
    return margins


def _covariance(problem: Problem, quadratic: Curvature) -> Matrix:
    """Return the covariance of all statistics, with no more of a ridge than it takes to invert it.

    What is singular without one leaves parameters with standard errors that are larger than any parameter. Products of
    features are added up in single precision: there the ridge grows until there is an inverse.
    """
    found, share = quadratic.centred(), 1e-9
    own, places = np.diagonal(found).copy(), np.diag_indices(len(found))
    found[places] += 1e-12 + share * own
    while not problem.coordinates.is_plain and not _is_definite(found):
        share *= 10
        found[places] += 1e-12 + share * own
    return found


def _is_definite(matrix: Matrix) -> bool:
    try:
        cholesky(matrix, lower=True)
    except np.linalg.LinAlgError:
        return False
    return True
