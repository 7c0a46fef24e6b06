"""Sample size of a step: draws that gap, penalty and agreement of seeds ask for, and how fast they may grow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import chdtrc, ndtr

from sparsefield._typing import Matrix, Values
from sparsefield.gradients import Drawn
from sparsefield.model import MOST_AT_ONCE, count_once, row_parts, tally_sizes
from sparsefield.objective import Problem, rest_variances
from sparsefield.solvers._edge_errors import EdgeErrors, find_edge_errors, mark_quantile
from sparsefield.solvers._newton_policy import NEWTON, NewtonPolicy
from sparsefield.solvers._newton_step import Move

_LEAST_VARIANCE = 1e-30  # what never varies has no error, and no quotient overflows


@dataclass(frozen=True)
class Budget:
    """How many draws Newton steps have (sample size schedule).

    Parameters
    ----------
    least : int
        At least so many: that simulation error makes no edges, or what turned out to be needed.
    n_next : int
        Where the next step looks.
    wanted : int
        What the gap asks for there, and no less than the least.
    agreed : int
        With which seeds would agree, where that was asked.
    pace : float
        Seconds for a draw, last time; 0 before.
    """

    least: int
    n_next: int
    wanted: int = 1
    agreed: int = 0
    pace: float = 0.0

    def raised(self, n: int) -> Budget:
        """Return the budget with so many draws next, and at least so many from then on."""
        return replace(self, least=max(self.least, n), n_next=n)

    def afford(self, n: int, n_before: int, seconds: float) -> int:
        """Return so many draws, or as many as there is time for; as many as last time at least."""
        return n if self.pace == 0 else int(np.clip(seconds / self.pace, min(n, n_before), n))


def begin_budget(
    problem: Problem,
    theta: Matrix,
    n_first: int | None,
    gap: float,
    agreement: float | None,
    *,
    n_chains: int,
    is_timed: bool,
    policy: NewtonPolicy = NEWTON,
) -> Budget:
    """Return how many draws a fit begins with.

    Parameters
    ----------
    problem : Problem
        What is minimised.
    theta : ndarray of shape (n_slots, n_slots)
        Where the fit begins.
    n_first : int, optional
        Draws there that are at hand.
    gap, agreement
        As of `solve_newton`.
    n_chains : int
        Draws that were asked for to begin with.
    is_timed : bool
        Whether time is limited.
    policy : NewtonPolicy
        Tuning constants.
    """
    least = _find_least(problem, gap, agreement, len(theta), policy)
    if n_first is None:
        n_first = max(n_chains, min(least, policy.most_unasked) if is_timed else least)
    return Budget(least, _enough_for_covariance(n_first, theta, policy))


def plan_draws(budget: Budget, here: Drawn, move: Move, gap: float, *, policy: NewtonPolicy = NEWTON) -> Budget:
    """Return how many draws there are where a move leads: all that are wanted after a short step, else so many more.

    Draws of missing values add their simulation error, to a gradient that counts for more.
    """
    ahead, n = here.theta + move.made, budget.n_next
    wanted = _wanted_draws(count_once(ahead), gap * (1 - here.missing) / (1 + here.missing), policy)
    wanted = min(policy.most_draws, max(budget.least, wanted))
    if move.share in (0, 1):
        n = max(n, wanted) if move.effective >= policy.near else grow(n, wanted, policy)
    return replace(budget, n_next=_enough_for_covariance(n, ahead, policy), wanted=wanted)


def seek_agreement(
    budget: Budget, here: Drawn, move: Move, share: float, *, policy: NewtonPolicy = NEWTON
) -> tuple[Budget, bool]:
    """Return a budget until another seed would find this share of the edges, and whether there are draws enough here.

    Variances of a few draws, away from the optimum, may ask for far too many: they are found anew on the way.
    """
    n = here.n_asked
    wanted = draws_for_agreement(find_edge_errors(here, move), share, policy.spread)
    budget = replace(budget, agreed=int(min(wanted / here.counts, 2.0**62)))
    enough = min(max(n, _most_agreed(len(here.theta), policy)), budget.agreed)
    if is_enough(n, enough, policy):
        return budget, True
    return budget.raised(grow(n, enough, policy)), False


def grow(n: int, wanted: int, policy: NewtonPolicy) -> int:
    """Return how many draws come after n where so many are wanted: no fewer, and as many as growth and limit allow."""
    return max(n, min(wanted, policy.growth * n, policy.most_draws))


def is_enough(n: int, wanted: int, policy: NewtonPolicy) -> bool:
    """Say whether n draws are about as many as are wanted."""
    return n >= policy.enough * wanted


def _find_least(problem: Problem, gap: float, agreement: float | None, size: int, policy: NewtonPolicy) -> int:
    """Return how many draws there are at least, so that simulation error makes no edges.

    A gap that is given asks for no more than it takes were all parameters not zero: where the penalty is so small
    that nearly all of them are, simulation error has few edges left to make. Nor for more than there are rows: below
    that penalty the sampling error of the rows makes edges itself.
    """
    most = _most_agreed(size, policy)
    if agreement is None:
        everything = count_once(problem.coordinates.is_parameter)
        n_rows = problem.data.moments.n or 0
        most = min(most, max(policy.most_unasked, n_rows, _wanted_draws(everything, gap, policy)))
    return min(draws_for_penalty(problem, policy=policy), most)


def _enough_for_covariance(n_draws: int, theta: Matrix, policy: NewtonPolicy) -> int:
    """Return a number of draws that is enough for a covariance of what is not zero."""
    return max(n_draws, min(policy.most_draws, 2 * policy.draws_each * count_once(theta)))


def _most_agreed(size: int, policy: NewtonPolicy) -> int:
    """Return how many draws are made at most so that seeds agree, with so many slots or features."""
    return max(1, min(policy.most_draws, policy.most_agreed // max(1, size)))


def _wanted_draws(n_nonzero: int, gap: float, policy: NewtonPolicy) -> int:
    """Return the draws with which simulation error costs about the gap: nonzeros / (2 n) in the objective."""
    return int(min(np.ceil(max(1, n_nonzero) / (2 * gap)), policy.most_draws))


def draws_for_penalty(problem: Problem, *, policy: NewtonPolicy = NEWTON) -> int:
    """Return the draws whose simulation error is expected to make half an edge, were all variables independent.

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
        return least_draws(lambda n: bool(2 * (counts * ndtr(-ratios * np.sqrt(n))).sum() <= policy.most_chance_edges))
    a, b = np.nonzero(np.triu(problem.coordinates.is_parameter & (weights > 0), 1))
    _, first, sizes = np.unique(groups[a, b], return_index=True, return_counts=True)
    squares = weights[a, b][first] ** 2 / np.maximum(variances[a, b][first], _LEAST_VARIANCE)
    return least_draws(lambda n: bool(chdtrc(sizes, n * squares).sum() <= policy.most_chance_edges))


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


def draws_for_agreement(edges: EdgeErrors | None, share: float, within: float = np.inf) -> int:
    """Return the draws with which another seed is expected to find this share of the edges of a fit.

    On n draws the second fit loses an edge of size t with probability Phi(-t sqrt(n)), where it would have the other
    sign. The mean of this over the edges of the fit is brought down to 1 - share. Weights of this share of them then
    differ by no more than `within`, or by that part of themselves where they are above 1, 99 times out of 100 each.
    """
    if edges is None:
        return 1
    n = least_draws(lambda n: bool(ndtr(-edges.sizes * np.sqrt(n)).mean() <= 1 - share))
    ratios = mark_quantile() * edges.errors / (within * np.maximum(1.0, edges.weights))
    return max(n, int(np.ceil(min(np.quantile(ratios, share, method="higher") ** 2, 2.0**100))))


def least_draws(is_enough: Callable[[float], bool]) -> int:
    """Return the least number of draws that is enough, to a hundredth."""
    low, high = 0.0, 100.0  # base-2 logarithms of the number of draws
    while high - low > 0.01:
        middle = (low + high) / 2
        low, high = (low, middle) if is_enough(2**middle) else (middle, high)
    return int(np.ceil(2**high))
