"""How many draws it takes until noise makes no edges, and fits with different seeds agree on them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import chdtrc, ndtr

from sparsefield.model import MOST_AT_ONCE, Matrix, row_parts, tally_sizes
from sparsefield.objective import Problem, SparseQuadratic
from sparsefield.solvers._batch import Index, Values
from sparsefield.solvers._fall import Stand
from sparsefield.solvers._move import Move
from sparsefield.solvers._regression import rest_variances
from sparsefield.solvers._targets import by_group

# Noise makes no edge at all in about 60 of 100 batches of draws then, exp(-1/2), where few pairs are near.
_MOST_NOISE_EDGES = 0.5

# So many edges, evenly spaced in the order of their sizes, stand for all: a share of them is then right to 1 / 2048.
_MOST_REGRESSED = 2048

_LEAST_VARIANCE = 1e-30  # what never varies has no noise, and no quotient overflows


def draws_for_penalty(problem: Problem) -> int:
    """Return the draws whose noise is expected to make half an edge, were all variables independent.

    On n draws the gradient of an interaction has variance V / n, V what a regression on free main effects leaves of the
    variance of its statistic. It makes an edge where it is beyond the penalty w, with the probability that a chi-square
    of one degree of freedom is above n w^2 / V, or of as many as a group has parameters. The number of rows has no part
    in this: a table may have more of them than its penalty needs draws.
    """
    weights, groups = problem.penalty.weights, problem.penalty.groups
    if weights is None:
        return 1
    is_free = np.diagonal(weights) == 0
    variances = rest_variances(problem, problem.data.moments, is_free)
    if groups is None:
        ratios, counts = _find_ratios(weights, variances)
        return least_draws(lambda n: bool(2 * (counts * ndtr(-ratios * np.sqrt(n))).sum() <= _MOST_NOISE_EDGES))
    a, b = np.nonzero(np.triu(problem.coordinates.is_parameter & (weights > 0), 1))
    _, first, sizes = np.unique(groups[a, b], return_index=True, return_counts=True)
    squares = weights[a, b][first] ** 2 / np.maximum(variances[a, b][first], _LEAST_VARIANCE)
    return least_draws(lambda n: bool(chdtrc(sizes, n * squares).sum() <= _MOST_NOISE_EDGES))


def _find_ratios(weights: Matrix, variances: Matrix) -> tuple[Values, Values]:
    """Return the penalty of each interaction over the standard deviation of its statistic, and how many have it.

    Where there are millions of them, ratios are rounded down to a thousandth, so that draws are no fewer.
    """

    def find(rows: slice) -> Values:
        own = np.triu(weights[rows], rows.start + 1)
        a, b = np.nonzero(own)
        return np.asarray(own[a, b] / np.sqrt(np.maximum(variances[rows][a, b], _LEAST_VARIANCE)))

    if len(weights) ** 2 <= MOST_AT_ONCE:
        ratios = find(slice(0, len(weights)))
        return ratios, np.ones(len(ratios))
    return tally_sizes(find(rows) for rows in row_parts(len(weights)))


def draws_for_agreement(here: Stand, move: Move, share: float) -> int:
    """Return the draws with which another seed is expected to find this share of the edges of a fit.

    On n draws a parameter that is not zero has standard error sd / sqrt(n), from the inverse of the covariance over all
    that are not zero. The difference of two fits has sqrt(2) times that, so that the second one loses an edge of weight
    t with probability Phi(-t sqrt(n / 2) / sd), where it would have the other sign. The mean of this over the edges of
    the fit is brought down to 1 - share. Where the parameters of an edge vanish together, t is their norm, and sd that
    of the norm as it becomes zero: 1 / sd^2 is the curvature along them that the other parameters leave.

    Parameters
    ----------
    here : Stand
        The fit, with draws that had no part in choosing it.
    move : Move
        The step that these suggest, for its curvature.
    share : float
        The share of the edges that the second fit is to have too.
    """
    quadratic, theta = move.quadratic, here.theta
    a, b = quadratic.first, quadratic.second
    some = np.flatnonzero(theta[a, b])
    is_edge = (a != b)[some]
    if not is_edge.any():
        return 1
    if isinstance(quadratic, SparseQuadratic):
        sizes = _sizes_of_near(quadratic, theta[a, b])
        return least_draws(lambda n: bool(ndtr(-sizes * np.sqrt(n)).mean() <= 1 - share))
    factor = cho_factor(quadratic.covariance(some), overwrite_a=True)
    inverse = cho_solve(factor, np.eye(len(some)), overwrite_b=True)
    groups = here.problem.penalty.groups
    if groups is None:
        sizes = np.abs(theta[a, b][some][is_edge]) / np.sqrt(2 * np.diagonal(inverse)[is_edge])
    else:
        own = np.flatnonzero(is_edge)
        sizes = _sizes_of_groups(theta[a, b][some][own], inverse[np.ix_(own, own)], groups[a, b][some][own])
    return least_draws(lambda n: bool(ndtr(-sizes * np.sqrt(n)).mean() <= 1 - share))


def least_draws(is_enough: Callable[[float], bool]) -> int:
    """Return the least number of draws that is enough, to a hundredth."""
    low, high = 0.0, 100.0  # base-2 logarithms of the number of draws
    while high - low > 0.01:
        middle = (low + high) / 2
        low, high = (low, middle) if is_enough(2**middle) else (middle, high)
    return int(np.ceil(2**high))


def _sizes_of_near(quadratic: SparseQuadratic, theta: Values) -> Values:
    """Return the sizes of edges over sqrt(2) standard errors, of as many edges as stand for all of them.

    The standard errors are by regressions on what is near and not zero.
    """
    edges = np.flatnonzero((theta != 0) & (quadratic.first != quadratic.second))
    edges = edges[np.argsort(np.abs(theta[edges]), kind="stable")]
    some = edges[:: -(-len(edges) // _MOST_REGRESSED)]
    return np.asarray(np.abs(theta[some]) * np.sqrt(quadratic.rests(some, theta != 0) / 2))


def _sizes_of_groups(theta: Values, inverse: Matrix, groups: Index) -> Values:
    """Return the norms of groups over sqrt(2) standard errors, from the inverse covariance of their statistics.

    With R the inverse of the block of a group and x its parameters, the squared ratio of norm and standard error is
    x . R x.
    """
    members = by_group(groups)
    squares = [theta[own] @ np.linalg.solve(inverse[np.ix_(own, own)], theta[own]) for own in members]
    return np.sqrt(np.array(squares) / 2)
