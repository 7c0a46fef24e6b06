"""Standard errors of weights by simulation error: how draws move the edges of a fit between two seeds."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import ndtri

from sparsefield._typing import Index, Matrix, Values
from sparsefield.gradients import Drawn
from sparsefield.objective import SparseQuadratic, members_of
from sparsefield.solvers._newton_step import Move

# This is the confidence with which each parameter that is not marked is zero, or not: a convention. With 0.9, 0.99 and
# 0.999, 484, 819 and 1117 of 3180 parameters are marked, and 1, 0 and 0 of the others are zero in the fit or in the
# exact optimum alone (`make bench-constants`).
UNDECIDED = 0.99

# So many edges, evenly spaced in the order of their sizes, stand for all: a share of them is then right to 1 / 2048.
_MOST_REGRESSED = 2048


def mark_quantile() -> float:
    """Return the normal quantile of the margins of marks.

    Simulation error leads to a wrong answer from one side alone, which takes half of the risk. The other half is for
    what it does to the parameters beside it, and to the estimate through these.
    """
    return float(ndtri((1 + UNDECIDED) / 2))


class EdgeErrors(NamedTuple):
    """How simulation error moves the edges of a fit, were there one draw; of n the squares are smaller by n.

    Parameters
    ----------
    weights : ndarray of shape (n_edges,)
        Their weights without a sign; where the parameters of an edge vanish together, their norms.
    errors : ndarray of shape (n_edges,)
        Standard deviations of the difference of the weights of two fits.
    sizes : ndarray of shape (n_edges,)
        Weights over the standard deviation of that difference as an edge becomes zero.
    """

    weights: Values
    errors: Values
    sizes: Values


def find_edge_errors(here: Drawn, move: Move) -> EdgeErrors | None:
    """Return how simulation error moves the edges of a fit; None if it has none.

    A parameter that is not zero has a variance from the inverse of the covariance over all that are not zero, and the
    difference of two fits has twice that. Where the parameters x of an edge vanish together, 1 / sd^2 of their norm as
    it becomes zero is the curvature along them that the other parameters leave; elsewhere the penalty holds them by a
    curvature of its own, w / |x| across x, and errors move their norm by what they move x along itself.

    Parameters
    ----------
    here : Drawn
        The fit, with draws that had no part in choosing it.
    move : Move
        The step that these suggest, for its curvature.
    """
    quadratic, theta = move.quadratic, here.theta
    a, b = quadratic.first, quadratic.second
    some = np.flatnonzero(theta[a, b])
    is_edge = (a != b)[some]
    if not is_edge.any():
        return None
    penalty = here.problem.penalty
    if isinstance(quadratic, SparseQuadratic):
        return _errors_of_near(quadratic, theta[a, b], is_sure=penalty.keeps_support)
    covariance, groups, weights = quadratic.covariance(some), penalty.groups, penalty.weights
    own = np.flatnonzero(is_edge)
    values = theta[a, b][some]
    if groups is None:
        bends = None if penalty.bends is None else penalty.bends[a, b][some]
        errors = np.sqrt(2 * _variances(covariance, bends)[own])
        sizes = np.full(len(own), np.inf) if penalty.keeps_support else np.abs(values[own]) / errors
        return EdgeErrors(np.abs(values[own]), errors, sizes)
    inverse = _invert(covariance)
    assert weights is not None
    members = [own[among] for among in members_of(groups[a, b][some][own])]
    return _errors_of_groups(values, covariance, inverse, weights[a, b][some], members)


def find_spread(edges: EdgeErrors | None, here: Drawn) -> float:
    """Return by how much weights of another seed differ at most, 99 times out of 100 for each of them.

    Missing values take their share of the curvature, and add the simulation error of their own draws.
    """
    if edges is None:
        return 0.0
    return float(mark_quantile() * edges.errors.max() * np.sqrt(here.share) / (1 - here.missing))


def _variances(covariance: Matrix, bends: Values | None) -> Values:
    """Return the variances of parameters on one draw: the curvature is the covariance, and what the penalty adds."""
    if bends is None or not bends.any():
        return np.diagonal(_invert(covariance))
    inverse = _invert(covariance + np.diag(bends))
    return np.asarray(np.einsum("ij,ij->i", inverse @ covariance, inverse))


def _errors_of_near(quadratic: SparseQuadratic, theta: Values, *, is_sure: bool) -> EdgeErrors:
    """Return the errors of as many edges as stand for all of them, by regressions on what is near and not zero.

    The curvature of a penalty is left out, so that it is no less. Edges that are sure are never lost.
    """
    edges = np.flatnonzero((theta != 0) & (quadratic.first != quadratic.second))
    edges = edges[np.argsort(np.abs(theta[edges]), kind="stable")]
    some = edges[:: -(-len(edges) // _MOST_REGRESSED)]
    sizes, errors = np.abs(theta[some]), np.sqrt(2 / quadratic.rests(some, theta != 0))
    return EdgeErrors(sizes, errors, np.full(len(sizes), np.inf) if is_sure else sizes / errors)


def _errors_of_groups(
    theta: Values, covariance: Matrix, inverse: Matrix, weights: Values, members: list[Index]
) -> EdgeErrors:
    """Return the errors of groups of parameters that vanish together.

    With R the inverse of the block of a group in the inverse covariance, and x its parameters, the squared ratio of
    norm and standard error is x . R x as they vanish.
    """
    norms = np.array([np.linalg.norm(theta[own]) for own in members])
    squares = [theta[own] @ np.linalg.solve(inverse[np.ix_(own, own)], theta[own]) for own in members]
    held, along = covariance.copy(), np.zeros((len(theta), len(members)))
    for k, (own, size) in enumerate(zip(members, norms, strict=True)):
        along[own, k] = theta[own] / size
        across = np.eye(len(own)) - np.outer(along[own, k], along[own, k])
        held[np.ix_(own, own)] += weights[own[0]] / size * across
    moved = _invert(held) @ along
    errors = np.sqrt(2 * np.einsum("ak,ak->k", moved, covariance @ moved))
    return EdgeErrors(norms, errors, np.sqrt(np.array(squares) / 2))


def _invert(matrix: Matrix) -> Matrix:
    return np.asarray(cho_solve(cho_factor(matrix), np.eye(len(matrix)), overwrite_b=True))
