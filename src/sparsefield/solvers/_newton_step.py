"""One proximal Newton step: where it leads, and how far the draws carry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from sparsefield._typing import Matrix, Values
from sparsefield.data import Moments
from sparsefield.inference import Draws
from sparsefield.model import count_once, inner_once, scatter, sum_once
from sparsefield.objective import RARE, Problem, Quadratic, SparseQuadratic, choose_active, variances_of
from sparsefield.solvers._sparse_step import NEAREST, WIDEST, NearStep, find_near_step

# `make bench-constants` varies what is chosen here, and measured the numbers of steps, draws and gaps below. Gaps are
# exact, over what was asked for: with the values in use 1.04 on average for fits that start from the pseudo-likelihood,
# and 0.96 for those that start from zero, with standard errors of about 0.07.

# This share of the draws must still count at the end of a step. Steps are judged at their end, so that all fits reach
# the gap whatever it is. From zero, with 0, 0.1, 0.3, 0.6 and 0.9 there are 8.8, 7.2, 7.5, 8.3 and 13.7 steps, and
# 140,000, 100,000, 80,000, 115,000 and 250,000 draws; from the pseudo-likelihood it makes no difference.
LEAST_SHARE = 0.3

# A step that goes too far is cut to this share of it, again and again. The value hardly matters: 0.5, 0.7 and 0.9 take
# 7.7, 7.5 and 7.1 steps from zero, and 86,000, 80,000 and 92,000 draws.
_SHORTER = 0.7

# After sixty cuts 0.7^60 = 5e-10 of a step is left, which gains as small a part of what was promised. The noise of 2^22
# draws costs 1e-7 for each parameter that is not zero: a step that has been cut so often is not worth making.
_MOST_CUTS = 60

# A decrease is a sum of four terms of the order of the number of variables. With 1000 of these, doubles round it to
# 4 * 1000 * 2^-53 = 4e-13: what rises by less does not rise.
ROUNDING = 1e-12

# A working set of 8192 parameters has 8192^2 second moments, which are counts of four bytes: 256 MiB. While they are
# counted, memory holds three to four times as much (measured: 224 MiB for the 64 MiB of 4096 parameters).
_MOST_ACTIVE = 8192

# Of features they are doubles: 128 MiB with 4096 parameters, and groups are minimised on a copy in another order.
_MOST_FEATURES = 4096

# Coordinate descent ends by its tolerance before: 10,000 epochs lead to the same fits. With 100 gaps are 0.98 and 1.01,
# within their errors; with 10 they are 1.40 and 1.54.
_MOST_EPOCHS = 1000

# A covariance of w statistics over n draws has eigenvalues that are off by factors from (1 - sqrt(w / n))^2 to
# (1 + sqrt(w / n))^2 (Marchenko and Pastur 1967, for equal ones): 1/4 to 9/4 with four draws for each parameter, and
# down to zero with one. With the ridge on top it hardly matters: 1, 4 and 16 take 8.0, 7.5 and 8.2 steps from zero,
# and 116,000, 80,000 and 84,000 draws.
DRAWS_EACH = 4

# The quadratic model is minimised to this share of the largest noise that a gradient can have, 0.5 / sqrt(n). With 0.01
# gaps are hardly smaller (1.00 and 0.90), with 0.5 they are larger (1.18 and 1.46).
_INNER_NOISE = 0.05

# It is minimised no further than to this share of the largest violation, which is what counts where moments are exact.
# With 1e-4 fits are the same, and with 1e-2 gaps are no larger (0.99 and 0.82) but draws more (70,000 and 95,000 in
# place of 63,000 and 80,000). With 0.1 there are 86,000 and 103,000, and exact moments take 7.3 steps in place of 7.0.
_INNER_TOL = 1e-3


@dataclass(frozen=True, eq=False)
class Move:
    """A Newton step: where it leads, and how far the draws carry.

    Parameters
    ----------
    whole : ndarray of shape (n_slots, n_slots)
        The whole step, laid out as in `Problem`.
    share : float
        The part of it that is made.
    predicted : float
        Decrease of the objective that the quadratic model promises for the whole step, and for what is outside the
        working set, each parameter by itself.
    decrease : float
        Decrease of the objective for the part made, by the reweighted draws; as the quadratic model has it, where
        nobody has judged how far to go.
    effective : float
        Share of the draws that still count at the end of the step.
    curvature : float
        Curvature along the whole step, by the quadratic model or, where that is sparse, by the draws.
    quadratic : Quadratic or SparseQuadratic
        What the step was made with.
    reach : int, optional
        How far the statistics of the next curvature may be apart; None where it is to be dense.
    """

    whole: Matrix
    share: float
    predicted: float
    decrease: float
    effective: float
    curvature: float
    quadratic: Quadratic | SparseQuadratic
    reach: int | None = None

    @property
    def made(self) -> Matrix:
        """The part of the step that is made."""
        return self.whole if self.share == 1 else self.share * self.whole


def find_move(problem: Problem, draws: Draws, theta: Matrix, moments: Moments, reach: int | None = NEAREST) -> Move:
    """Minimise the quadratic model of the objective, and go as far that way as the draws speak and the objective falls.

    Where there are many parameters the curvature is sparse, as long as the draws find it right along the step.

    Parameters
    ----------
    problem : Problem
        What is minimised.
    draws : Draws
        Draws at theta.
    theta : ndarray of shape (n_slots, n_slots)
        Where.
    moments : Moments
        Moments of the features at theta.
    reach : int, optional
        How many neighbours apart statistics may be in a sparse curvature; None where it is dense.
    """
    while reach is not None:
        near = find_near_step(problem, draws, theta, moments, reach, partial(_inner_tol, draws), _MOST_EPOCHS)
        if near is None:
            break
        made = _go_near(near, problem, draws, moments)
        if made is not None:
            return replace(made, reach=reach)
        reach = reach + 1 if reach < WIDEST else None
    move = find_whole(problem, draws, theta, moments)
    a, b = move.quadratic.first, move.quadratic.second
    # Where further draws than those at hand are behind the moments, they shift the mean of all that is reweighted.
    shift = float(move.whole[a, b] @ (moments.pair[a, b] - move.quadratic.means))
    values, toward_data = draws.along(move.whole), inner_once(move.whole, problem.target)
    values += shift
    cost, start = problem.penalty.value, problem.penalty.value(theta)
    share, decrease, effective = _go(draws, values, toward_data, start, lambda part: cost(theta + part * move.whole))
    return replace(move, share=share, decrease=decrease, effective=effective, reach=reach)


def _go_near(near: NearStep, problem: Problem, draws: Draws, moments: Moments) -> Move | None:
    """Go as far along a step with a sparse curvature as the draws speak; None where they find that curvature wrong."""
    a, b = near.quadratic.first, near.quadratic.second
    made = near.moves != 0
    values = draws.along_some(near.moves[made], a[made], b[made])
    bend = float(values.var())
    predicted = near.predict(bend)
    if predicted is None:
        return None
    values += float(near.moves @ (moments.pair[a, b] - near.quadratic.means))
    gone = _go(draws, values, float(near.moves @ problem.target[a, b]), 0.0, near.cost)
    share, decrease, effective = gone
    whole = scatter(a, b, near.moves, problem.coordinates.size)
    return Move(whole, share, predicted + near.missed, decrease, effective, bend, near.quadratic)


def find_whole(
    problem: Problem,
    draws: Draws,
    theta: Matrix,
    moments: Moments,
    correct: Callable[[Quadratic], Quadratic] | None = None,
) -> Move:
    """Minimise the quadratic model of the objective, and go all the way.

    Parameters
    ----------
    problem : Problem
        What is minimised.
    draws : Draws
        Draws at theta, or near it: their covariance is the curvature.
    theta : ndarray of shape (n_slots, n_slots)
        Where.
    moments : Moments
        Moments of the features at theta.
    correct : callable, optional
        Returns a curvature that is nearer to that at theta.
    """
    penalty = problem.penalty
    gradient = moments.pair - problem.target
    violation = penalty.subgradient(theta, gradient)
    most = _MOST_ACTIVE if problem.coordinates.is_plain else _MOST_FEATURES
    if draws.n is not None:
        most = min(most, max(1, draws.n // DRAWS_EACH))
    sizes = np.abs(violation) if penalty.groups is None else penalty.sizes(violation)
    active = choose_active(theta, sizes, lambda some: count_once(some) <= most, penalty.groups)
    a, b = np.nonzero(np.triu(active))
    quadratic = Quadratic.of(draws, a, b, problem.coordinates.units[a, b])
    quadratic = quadratic if correct is None else correct(quadratic)
    tol = _inner_tol(draws, np.abs(violation[a, b]).max(initial=0.0))
    moves, bends = penalty.minimise(quadratic, theta, gradient, tol=tol, max_epochs=_MOST_EPOCHS)
    whole = scatter(a, b, moves, len(theta))
    by_penalty = penalty.value(theta + whole) - penalty.value(theta)
    curvature = float(moves @ bends)
    predicted = -(float(moves @ gradient[a, b]) + curvature / 2 + by_penalty)
    # What is outside the working set would gain this, each parameter by itself. Exact variances may be zero, and are
    # not divided by then.
    variances = np.maximum(
        variances_of(moments), 1e-12 if draws.n is None else problem.coordinates.units * RARE / draws.n
    )
    missed = sum_once(np.where(active, 0.0, violation**2 / (2 * variances)))
    return Move(whole, 1.0, predicted + missed, predicted, 1.0, curvature, quadratic)


def _go(
    draws: Draws, values: Values, toward_data: float, start: float, cost: Callable[[float], float]
) -> tuple[float, float, float]:
    """Find the largest share of a step that keeps draws enough and lowers the reweighted objective.

    Values are those of the step times the statistics of each draw, and toward_data those of the data. The penalty is
    `start`, and `cost` at the end of a share of the step.
    """
    share = 1.0
    for _ in range(_MOST_CUTS):
        log_mean, effective = draws.reweight(values if share == 1 else share * values)
        decrease = start + share * toward_data - log_mean - cost(share)
        if effective >= LEAST_SHARE and decrease >= -ROUNDING:
            return share, decrease, effective
        share *= _SHORTER
    return 0.0, 0.0, 1.0


def _inner_tol(draws: Draws, violation: float) -> float:
    """Return to what the quadratic model is minimised where this is the largest violation."""
    tol = _INNER_TOL * violation
    return tol if draws.n is None else max(tol, _INNER_NOISE * 0.5 / np.sqrt(draws.n))
