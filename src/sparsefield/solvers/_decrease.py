"""Decrease of the objective (importance sampling): measured at the end of a step, on draws that did not choose it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sparsefield._typing import Matrix
from sparsefield.data import Moments
from sparsefield.gradients import Estimate, Point, Simulation
from sparsefield.inference import Draws, States
from sparsefield.model import count_once, inner_once
from sparsefield.objective import Problem
from sparsefield.solvers._newton_policy import NEWTON, NewtonPolicy
from sparsefield.solvers._newton_step import Move, leads_down


@dataclass(frozen=True, eq=False)
class Stand:
    """Parameters, and draws there that had no part in choosing them.

    Parameters
    ----------
    theta : ndarray of shape (n_slots, n_slots)
        The parameters, laid out as in `Problem`.
    problem : Problem
        What is minimised, with the data as they are completed here.
    estimate : Estimate
        Moments here.
    draws : Draws
        The draws behind them, as far as they are held, in the coordinates of the problem.
    n_asked : int
        How many were asked for.
    missing : float
        The share of the curvature that missing values take from it; at most all of it.
    """

    theta: Matrix
    problem: Problem
    estimate: Estimate
    draws: Draws
    n_asked: int
    missing: float = 1.0

    @cached_property
    def moments(self) -> Moments:
        """Moments of the features here."""
        return self.problem.see(self.estimate.moments)

    @property
    def is_exact(self) -> bool:
        """Whether the gradient here has no simulation error."""
        return self.estimate.is_exact and bool(np.isinf(self.problem.data.n_effective))

    @property
    def share(self) -> float:
        """The covariance of the gradient's simulation error, as a share of the curvature: 1 / n for n draws.

        Draws of missing values have errors of their own: the missing information over their number, at most.
        """
        n = self.estimate.n_chains
        return (0.0 if self.estimate.is_exact else 1 / n) + self.missing / self.problem.data.n_effective

    @property
    def counts(self) -> float:
        """What a draw counts for in the parameters, for the errors of missing values and what they take away."""
        return (1 - self.missing) ** 2 / (self.share * self.n_asked) if self.share > 0 else np.inf

    @property
    def simulation_error(self) -> float:
        """What a step on the draws here loses to their simulation error: nonzeros / (2 n)."""
        return max(1, count_once(self.theta)) * self.share / 2


def make_stand(problem: Problem, point: Point, estimate: Estimate, simulation: Simulation, n: int) -> Stand:
    """Return where a fit stands at a point, with the draws of an estimate that so many were asked of."""
    draws = problem.coordinates.draws(estimate.draws(point, simulation))
    return Stand(point.theta, problem, estimate, draws, n)


@dataclass(frozen=True)
class Fall:
    """By how much a step lowered the objective.

    Parameters
    ----------
    decrease : float
        Decrease of the objective, estimated from the draws at the end of the step; where these say nothing of the
        start, its lower bound by convexity.
    error : float
        Standard error of the decrease.
    allowed : float
        By how much the objective may seem to rise, since the step was chosen on draws and fits their simulation error
        too, and is judged on others that have errors of their own.
    """

    decrease: float
    error: float
    allowed: float

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


def measure_fall(before: Stand, move: Move, after: Stand, *, policy: NewtonPolicy = NEWTON) -> Fall:
    """Measure by how much the made part of a move lowered the objective."""
    decrease, error = measure_decrease(before.theta, before.problem, after, before.estimate.states, policy=policy)
    return Fall(decrease, error, _allowance(before, move, policy) + policy.standard_errors * error)


def measure_decrease(
    start: Matrix, problem: Problem, after: Stand, states: States | None = None, *, policy: NewtonPolicy = NEWTON
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
    after : Stand
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
        decrease, variance = log_ratio(step, after.moments, after.estimate.n_chains, after.draws, policy.least_share)
    return known + decrease, float(np.sqrt(variance + by_data))


def log_ratio(
    step: Matrix, moments: Moments, n: int, draws: Draws, least_share: float = NEWTON.least_share
) -> tuple[float, float]:
    """Return log Z(before) - log Z(after) by draws after a step, or a lower bound, and its squared standard error.

    With x = step . s it is log E exp(-x) >= -E x: the first is estimated where draws at the end speak for the start
    too, else the second, which is convexity. Draws at the start cannot do this: a step may open a phase that they never
    visit.
    """
    mean = inner_once(step, moments.pair)
    values = -draws.along(step)
    if draws.n is None:
        return draws.reweight(values)[0], 0.0
    # Where further draws than those at hand are behind the moments, they shift the mean of all that is reweighted, and
    # what is not linear is as uncertain as the draws at hand leave it.
    values -= values.mean()
    log_mean, effective = draws.reweight(values)
    variance = float(values.var() / n)
    if effective < least_share:
        return -mean, variance
    rest = np.exp(values - log_mean) - values
    return log_mean - mean, variance + float(rest.var() / draws.n)


def _allowance(before: Stand, move: Move, policy: NewtonPolicy) -> float:
    """Return what a step may cost that was chosen on n draws.

    The error of their gradient e has covariance H / n, and a Newton step that fits it raises the objective by
    e . H^-1 e / 2: half a chi-square with as many degrees of freedom as parameters move, over n. An H that is itself
    estimated, over w statistics, has an inverse that is too large by the factor 1 / (1 - w / n), and it is used twice.
    """
    k, w = count_once(move.whole), move.quadratic.n_together
    most = (k + policy.standard_errors * np.sqrt(2 * k)) * before.share / 2
    return float(most / max(1 - w / (before.draws.n or np.inf), 0.5) ** 2)


def missing_share(here: Stand, move: Move, *, policy: NewtonPolicy = NEWTON) -> float:
    """Return the share of the curvature along a move that missing values take from it; zero where there are none."""
    if here.problem.data.is_fixed or move.curvature <= 0:
        return 0.0
    return min(policy.largest_share, here.problem.variance_along(move.whole) / move.curvature)
