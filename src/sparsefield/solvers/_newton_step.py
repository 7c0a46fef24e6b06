"""One proximal Newton step, and its length: as far as the effective sample size of the draws carries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from sparsefield._typing import Matrix, Values
from sparsefield.gradients import Drawn, Known
from sparsefield.inference import Draws
from sparsefield.model import count_once, inner_once, scatter, sum_once
from sparsefield.objective import RARE, Quadratic, SparseQuadratic, choose_active, variances_of
from sparsefield.solvers._newton_policy import NEWTON, NewtonPolicy
from sparsefield.solvers._sparse_step import NEAREST, WIDEST, NearStep, find_near_step

# A decrease is a sum of four terms of the order of the number of variables. With 1000 of these, doubles round it to
# 4 * 1000 * 2^-53 = 4e-13: what rises by less does not rise.
ROUNDING = 1e-12


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
    n_cuts : int
        How often it was taken back.
    """

    whole: Matrix
    share: float
    predicted: float
    decrease: float
    effective: float
    curvature: float
    quadratic: Quadratic | SparseQuadratic
    reach: int | None = None
    n_cuts: int = 0

    @property
    def made(self) -> Matrix:
        """The part of the step that is made."""
        return self.whole if self.share == 1 else self.share * self.whole

    def taken_back(self, left: float) -> Move:
        """Return what is left of the step where this part of it led up (backtracking)."""
        return replace(self, share=left * self.share, n_cuts=self.n_cuts + 1)

    def is_stalled(self, policy: NewtonPolicy) -> bool:
        """Say whether no part of the step that is worth making leads down."""
        return self.n_cuts >= policy.most_cuts


def leads_down(decrease: float, error: float = 0.0) -> bool:
    """Say whether a step that changed the objective so much is kept (a decrease that is no less than rounding)."""
    return decrease >= (0.0 if error else -ROUNDING)


def find_move(here: Drawn, reach: int | None = NEAREST, *, policy: NewtonPolicy = NEWTON) -> Move:
    """Minimise the quadratic model of the objective, and go as far that way as the draws speak and the objective falls.

    Where there are many parameters the curvature is sparse, as long as the draws find it right along the step.

    Parameters
    ----------
    here : Drawn
        Where, and draws there.
    reach : int, optional
        How many neighbours apart statistics may be in a sparse curvature; None where it is dense.
    policy : NewtonPolicy
        Tuning constants.
    """
    problem, draws, theta, moments = here.problem, here.draws, here.theta, here.moments
    tol = partial(_inner_tol, draws, policy)
    while reach is not None:
        near = find_near_step(here, reach, tol, policy=policy)
        if near is None:
            break
        made = _go_near(near, here, policy)
        if made is not None:
            return replace(made, reach=reach)
        reach = reach + 1 if reach < WIDEST else None
    move = find_whole(here, policy=policy)
    a, b = move.quadratic.first, move.quadratic.second
    # Where further draws than those at hand are behind the moments, they shift the mean of all that is reweighted.
    shift = float(move.whole[a, b] @ (moments.pair[a, b] - move.quadratic.means))
    values, toward_data = draws.along(move.whole), inner_once(move.whole, problem.target)
    values += shift
    cost, start = problem.penalty.value, problem.penalty.value(theta)
    share, decrease, effective = _go(
        draws, values, toward_data, start, lambda part: cost(theta + part * move.whole), policy
    )
    return replace(move, share=share, decrease=decrease, effective=effective, reach=reach)


def _go_near(near: NearStep, here: Drawn, policy: NewtonPolicy) -> Move | None:
    """Go as far along a step with a sparse curvature as the draws speak; None where they find that curvature wrong."""
    problem, draws, moments = here.problem, here.draws, here.moments
    a, b = near.quadratic.first, near.quadratic.second
    made = near.moves != 0
    values = draws.along_some(near.moves[made], a[made], b[made])
    bend = float(values.var())
    predicted = near.predict(bend, policy.most_left)
    if predicted is None:
        return None
    values += float(near.moves @ (moments.pair[a, b] - near.quadratic.means))
    toward_data = float(near.moves @ problem.target[a, b])
    share, decrease, effective = _go(draws, values, toward_data, 0.0, near.cost, policy)
    whole = scatter(a, b, near.moves, problem.coordinates.size)
    return Move(whole, share, predicted + near.missed, decrease, effective, bend, near.quadratic)


def find_whole(here: Known, *, policy: NewtonPolicy = NEWTON) -> Move:
    """Minimise the quadratic model of the objective, and go all the way.

    Parameters
    ----------
    here : Drawn or Enumerated
        Where, and the curvature there or nearby.
    policy : NewtonPolicy
        Tuning constants.
    """
    problem, draws, theta, moments = here.problem, here.draws, here.theta, here.moments
    penalty = problem.penalty
    gradient = moments.pair - problem.target
    violation = penalty.subgradient(theta, gradient)
    most = policy.most_active if problem.coordinates.is_plain else policy.most_features
    if draws.n is not None:
        most = min(most, max(1, draws.n // policy.draws_each))
    active = choose_active(theta, penalty.sizes(violation), lambda some: count_once(some) <= most, penalty.groups)
    a, b = np.nonzero(np.triu(active))
    quadratic = here.curvature(a, b)
    tol = _inner_tol(draws, policy, np.abs(violation[a, b]).max(initial=0.0))
    moves, bends = penalty.minimise(quadratic, theta, gradient, tol=tol, max_epochs=policy.most_epochs)
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
    draws: Draws,
    values: Values,
    toward_data: float,
    start: float,
    cost: Callable[[float], float],
    policy: NewtonPolicy,
) -> tuple[float, float, float]:
    """Find the largest share of a step that keeps draws enough and lowers the reweighted objective (line search).

    Values are those of the step times the statistics of each draw, and toward_data those of the data. The penalty is
    `start`, and `cost` at the end of a share of the step.
    """
    share = 1.0
    for _ in range(policy.most_shorter):
        log_mean, effective = draws.reweight(values if share == 1 else share * values)
        decrease = start + share * toward_data - log_mean - cost(share)
        if effective >= policy.least_share and leads_down(decrease):
            return share, decrease, effective
        share *= policy.shorter
    return 0.0, 0.0, 1.0


def _inner_tol(draws: Draws, policy: NewtonPolicy, violation: float) -> float:
    """Return to what the quadratic model is minimised where this is the largest violation."""
    tol = policy.inner_tol * violation
    return tol if draws.n is None else max(tol, policy.inner_noise * 0.5 / np.sqrt(draws.n))
