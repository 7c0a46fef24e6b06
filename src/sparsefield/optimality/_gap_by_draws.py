"""Gap by draws: Newton steps to a dual point that is near enough for the duality gap to be bounded there."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from scipy.special import ndtri

from sparsefield._seeds import Use
from sparsefield._typing import Matrix, Values
from sparsefield.gradients import Drawn, Simulation
from sparsefield.inference import OutOfReachError
from sparsefield.model import sum_once
from sparsefield.objective import Problem, depends
from sparsefield.optimality._clt_bound import check_draws, judge, outside_quantile
from sparsefield.optimality._decrement import Tail, find_excess
from sparsefield.optimality._dual_point import RefusalError, Targets, choose_targets
from sparsefield.optimality._finite_bound import prove_gap
from sparsefield.optimality._fresh_draws import Factored, bound_reach, draw_fresh
from sparsefield.optimality._gap_bound import GapBound
from sparsefield.optimality._policy import GAPS, GapPolicy
from sparsefield.solvers import find_move


@dataclass(frozen=True, eq=False)
class WalkTask:
    """What is asked of a walk, the same for all of its steps.

    Parameters
    ----------
    problem : Problem
        Whose gap it is.
    simulation : Simulation
        Draws of each batch, where random numbers start, and what makes the draws.
    confidence : float
        Probability with which all limits are to hold.
    policy : GapPolicy
        How the risk is shared, and when a step is made.
    """

    problem: Problem
    simulation: Simulation
    confidence: float
    policy: GapPolicy

    @property
    def risk(self) -> float:
        """Probability with which any of the limits may fail, but for those that hold for every number of draws."""
        return (1 - self.policy.proven) * (1 - self.confidence)


@dataclass(frozen=True, eq=False)
class Walk:
    """Where a walk stands, and what the objective fell on the way there.

    Parameters
    ----------
    theta : ndarray of shape (size, size)
        The parameters.
    n_batches, n_drawn : int
        Batches so far, and the draws of them all.
    n_steps : int
        Steps so far.
    falls, variances : ndarray of shape (2,)
        The fall so far, as it is measured from above and from below, and the squared standard errors of both.
    """

    theta: Matrix
    n_batches: int = 0
    n_drawn: int = 0
    n_steps: int = 0
    falls: Values = field(default_factory=lambda: np.zeros(2))
    variances: Values = field(default_factory=lambda: np.zeros(2))


def walk_to_gap(
    problem: Problem, theta: Matrix, simulation: Simulation, confidence: float, *, policy: GapPolicy = GAPS
) -> GapBound:
    """Make Newton steps from theta until the decrement is small, and bound the gap by their falls and at their end."""
    task, walk = WalkTask(problem, simulation, confidence, policy), Walk(theta)
    if depends(problem):
        return _report(task, walk, GapBound(why="statistics depend on each other where all levels have parameters"))
    z, proven = outside_quantile(problem, task.risk, policy=policy), np.inf
    try:
        walk, chose = _draw(task, walk, theta)
        targets = choose_targets(chose, z, policy=policy)
        while should_step(task, walk, targets, chose):
            made = find_move(chose, policy=policy.steps).made
            if not made.any():
                break
            walk, rise = _measure_rise(task, walk, made)
            walk, chose = _draw(task, walk, walk.theta + made)
            walk = _add_fall(task, walk, made, rise, chose)
            targets = choose_targets(chose, z, policy=policy)
        walk, fresh = _draw(task, walk, walk.theta)
        if walk.n_steps == 0:
            proven = prove_gap(targets, chose, fresh, policy.proven * (1 - confidence))
        walk, found = _judge(task, walk, targets, chose, fresh)
    except OutOfReachError:
        return _report(task, walk, GapBound(why="there are no exact draws"))
    except RefusalError as error:
        return _report(task, walk, GapBound(why=str(error)))
    return _report(task, walk, found, proven)


def _draw(task: WalkTask, walk: Walk, theta: Matrix) -> tuple[Walk, Drawn]:
    """Make a batch of draws that has had no part in anything."""
    batch = draw_fresh(task.problem, theta, task.simulation, Use.GAP + walk.n_batches, policy=task.policy)
    return replace(walk, n_batches=walk.n_batches + 1, n_drawn=walk.n_drawn + batch.n), batch


def should_step(task: WalkTask, walk: Walk, targets: Targets, chose: Drawn) -> bool:
    """Say whether the decrement is too large to be judged here, and above its simulation error."""
    k, n, policy = targets.n, chose.n, task.policy
    if walk.n_steps >= policy.most_steps:
        return False
    above = targets.decrement - k / n
    if above <= policy.standard_errors * np.sqrt(2 * k + 4 * n * max(above, 0.0)) / n:
        return False
    check_draws(targets, chose, policy=policy)  # what no draw shows has no curvature, and a step on it no end
    if above > policy.largest_decrement:
        return True
    # Would the tails do on fresh draws, with as much simulation error as these add?
    a, b = targets.first, targets.second
    h = np.sqrt(1 + k / (n * targets.decrement)) * chose.along(targets.move)
    try:
        factored = Factored(chose.covariance(a, b), policy=policy)
        reach = bound_reach(factored, chose, a, b, policy.standard_errors)
    except np.linalg.LinAlgError:  # the draws do not tell all statistics apart
        return True
    return find_excess(Tail.of(h), reach) > policy.small_excess


def _measure_rise(task: WalkTask, walk: Walk, made: Matrix) -> tuple[Walk, tuple[float, float]]:
    """Return by how much the logarithm of Z rises with a step, by draws at its start, and its squared error."""
    walk, before = _draw(task, walk, walk.theta)
    return walk, before.log_rise(made, task.policy.steps.least_share)


def _add_fall(task: WalkTask, walk: Walk, made: Matrix, rise: tuple[float, float], after: Drawn) -> Walk:
    """Return a walk at the end of a step, whose fall is measured on draws at both of its ends.

    The logarithm of Z rises by log E exp(x), x = step . s, over draws at the first end, and by -log E exp(-x) over
    draws at the second one. Either mean is too small where no draw shows a state that counts at the other end. The
    first is for the limit from above and the second for that from below, so that both limits are too far apart then,
    and not too near.
    """
    problem = task.problem
    gain = sum_once(made * problem.target) + problem.penalty.value(walk.theta) - problem.penalty.value(after.theta)
    fall, below = after.log_rise(-made, task.policy.steps.least_share)
    falls, variances = gain + np.array([-rise[0], fall]), np.array([rise[1], below])
    return replace(
        walk,
        theta=after.theta,
        n_steps=walk.n_steps + 1,
        falls=walk.falls + falls,
        variances=walk.variances + variances,
    )


def _judge(task: WalkTask, walk: Walk, targets: Targets, chose: Drawn, fresh: Drawn) -> tuple[Walk, GapBound]:
    """Judge on draws that chose nothing, and on others where a zero near its penalty is all that is in the way."""
    policy = task.policy
    risk = task.risk * (1 - 2 * policy.fall if walk.n_steps else 1.0)
    try:
        found, more = judge(targets, chose, fresh, (1 - policy.second) * risk, policy=policy)
        if more is not None:
            walk, again = _draw(task, walk, walk.theta)
            found, _ = judge(more, fresh, again, policy.second * risk, policy=policy)
    except RefusalError as error:
        return walk, GapBound(why=str(error))
    return walk, found


def _report(task: WalkTask, walk: Walk, found: GapBound, proven: float = np.inf) -> GapBound:
    """Add what the objective fell on the way, and what holds for every number of draws."""
    policy = task.policy
    quantile = float(-ndtri(policy.fall * (1 - policy.proven) * (1 - task.confidence))) if walk.n_steps else 0.0
    errors = quantile * np.sqrt(walk.variances)
    most, lower = float(walk.falls[0] + errors[0]), max(0.0, float(walk.falls[1] - errors[1]))
    above = replace(found, bound=max(0.0, most + found.bound))
    if np.isfinite(proven):
        above = above.or_proven(proven)
    if lower > above.bound:  # one of both is wrong: a fall of weights whose few large ones no draw shows
        lower = 0.0
    return replace(
        above,
        lower=lower,
        estimate=None if found.estimate is None else max(0.0, float(walk.falls.mean()) + found.estimate),
        confidence=task.confidence,
        n_draws=walk.n_drawn,
        better=walk.theta if lower > 0 else None,
        why="" if np.isfinite(above.bound) else found.why,
    )
