"""Decrease of the objective (importance sampling): measured at the end of a step, on draws that did not choose it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sparsefield._typing import Matrix
from sparsefield.gradients import Drawn
from sparsefield.inference import States
from sparsefield.model import count_once, inner_once
from sparsefield.objective import Problem
from sparsefield.solvers._newton_policy import NEWTON, NewtonPolicy
from sparsefield.solvers._newton_step import Move, leads_down


@dataclass(frozen=True)
class Fall:
    """By how much a step lowered the objective.

    Parameters
    ----------
    decrease : float
        Decrease of the objective, estimated from the draws at the end of the step; where these say nothing of the
        start, its lower bound by convexity.
    error : float
        Drawnard error of the decrease.
    allowed : float
        By how much the objective may seem to rise, since the step was chosen on draws and fits their simulation error
        too, and is judged on others that have errors of their own.
    """

    decrease: float
    error: float = 0.0
    allowed: float = 0.0

    @property
    def is_down(self) -> bool:
        """Whether the objective has fallen, by these draws."""
        return leads_down(self.decrease, self.error)

    @property
    def is_chance(self) -> bool:
        """Whether chance explains all by which the objective seems to have risen."""
        return self.decrease >= -self.allowed


@dataclass(frozen=True, eq=False)
class Gain:
    """Where a fit starts, and by how much the objective fell since, step by step.

    Parameters
    ----------
    theta : ndarray of shape (n_slots, n_slots)
        The start.
    problem : Problem
        What is minimised, with the data as they are completed there.
    n_asked : int
        How many draws were asked for there.
    decrease : float
        The sum of all decreases since.
    variance : float
        The squared standard error of that.
    """

    theta: Matrix
    problem: Problem
    n_asked: int
    decrease: float = 0.0
    variance: float = 0.0

    def add(self, fall: Fall) -> Gain:
        """Return what was gained after one more step."""
        return replace(self, decrease=self.decrease + fall.decrease, variance=self.variance + fall.error**2)

    def is_sure(self, surely: float) -> bool:
        """Say whether the objective fell, by as many standard errors."""
        return bool(self.decrease >= surely * np.sqrt(self.variance))


def measure_fall(before: Drawn, move: Move, after: Drawn, *, policy: NewtonPolicy = NEWTON) -> Fall:
    """Measure by how much the made part of a move lowered the objective."""
    decrease, error = measure_decrease(before.theta, before.problem, after, before.estimate.states, policy=policy)
    return Fall(decrease, error, _allowance(before, move, policy) + policy.standard_errors * error)


def measure_decrease(
    start: Matrix, problem: Problem, after: Drawn, states: States | None = None, *, policy: NewtonPolicy = NEWTON
) -> tuple[float, float]:
    """Measure by how much lower the objective is than at a start, and the standard error of that.

    Where missing values are completed, the data moments are those at the start: the objective falls by at least as much
    as with these (that is why EM rises), and they are as uncertain as draws of missing values leave them.

    Parameters
    ----------
    start : ndarray of shape (n_slots, n_slots)
        The start.
    problem : Problem
        What is minimised, with the data as they are completed at the start.
    after : Drawn
        Where it is to be lower.
    states : States, optional
        All states at the start, where they are at hand: their normalising constant is known then.
    policy : NewtonPolicy
        Tuning constants.
    """
    penalty, data, step = problem.penalty, problem.data, after.theta - start
    known = inner_once(step, problem.target) + penalty.value(start) - penalty.value(after.theta)
    by_data = 0.0 if np.isinf(data.n_effective) else problem.variance_along(step) / data.n_effective
    if states is not None and after.estimate.states is not None:
        decrease, variance = states.log_normaliser - after.estimate.states.log_normaliser, 0.0
    else:
        decrease, variance = after.log_fall(step, policy.least_share)
    return known + decrease, float(np.sqrt(variance + by_data))


def _allowance(before: Drawn, move: Move, policy: NewtonPolicy) -> float:
    """Return what a step may cost that was chosen on n draws.

    The error of their gradient e has covariance H / n, and a Newton step that fits it raises the objective by
    e . H^-1 e / 2: half a chi-square with as many degrees of freedom as parameters move, over n. An H that is itself
    estimated, over w statistics, has an inverse that is too large by the factor 1 / (1 - w / n), and it is used twice.
    """
    k, w = count_once(move.whole), move.quadratic.n_together
    most = (k + policy.standard_errors * np.sqrt(2 * k)) * before.share / 2
    return float(most / max(1 - w / (before.draws.n or np.inf), 0.5) ** 2)


def missing_share(here: Drawn, move: Move, *, policy: NewtonPolicy = NEWTON) -> float:
    """Return the share of the curvature along a move that missing values take from it; zero where there are none."""
    if here.problem.data.is_fixed or move.curvature <= 0:
        return 0.0
    return min(policy.largest_share, here.problem.variance_along(move.whole) / move.curvature)
