"""Gap by draws: Newton steps to a dual point that is near enough for the duality gap to be bounded there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import ndtri

from sparsefield._seeds import Use
from sparsefield._typing import Matrix
from sparsefield.gradients import Simulation
from sparsefield.inference import OutOfReachError
from sparsefield.model import sum_once
from sparsefield.objective import Problem, depends
from sparsefield.optimality._clt_bound import check_draws, judge, outside_quantile
from sparsefield.optimality._decrement import Tail, find_excess
from sparsefield.optimality._dual_point import RefusalError, Targets, choose_targets
from sparsefield.optimality._finite_bound import prove_gap
from sparsefield.optimality._fresh_draws import Batch, Factored, bound_reach
from sparsefield.optimality._gap_bound import GapBound
from sparsefield.optimality._policy import GAPS, GapPolicy
from sparsefield.solvers import find_move


class Walk:
    """Newton steps to where the decrement is small, what the objective fell on the way, and the gap at their end.

    Parameters
    ----------
    problem : Problem
        Whose gap it is.
    theta : ndarray of shape (size, size)
        Where it begins.
    simulation : Simulation
        Draws of each batch, where random numbers start, and what makes the draws.
    confidence : float
        Probability with which all limits are to hold.
    policy : GapPolicy
        How the risk is shared, and when a step is made.
    """

    def __init__(
        self,
        problem: Problem,
        theta: Matrix,
        simulation: Simulation,
        confidence: float,
        *,
        policy: GapPolicy = GAPS,
    ) -> None:
        self._problem, self._theta, self._simulation, self._policy = problem, theta, simulation, policy
        self._confidence, self._risk = confidence, 1 - confidence
        self._n_batches, self._n_drawn = 0, 0
        # The fall so far, as it is measured from above and from below, and the squared standard errors of both.
        self._n_steps, self._falls, self._variances = 0, np.zeros(2), np.zeros(2)

    def run(self) -> GapBound:
        """Walk, and bound the gap at the end."""
        if depends(self._problem):
            return self._report(GapBound(why="statistics depend on each other where all levels have parameters"))
        try:
            targets, chose = self._approach()
            return self._conclude(targets, chose)
        except OutOfReachError:
            return self._report(GapBound(why="there are no exact draws"))
        except RefusalError as error:
            return self._report(GapBound(why=str(error)))

    def _approach(self) -> tuple[Targets, Batch]:
        """Make steps until none is worth it; return targets there, and the batch that they were chosen by."""
        policy = self._policy
        z = outside_quantile(self._problem, (1 - policy.proven) * self._risk, policy=policy)
        chose = self._draw(self._theta)
        while True:
            targets = choose_targets(self._problem, self._theta, chose, z, policy=policy)
            if self._n_steps >= policy.most_steps or not self._should_step(targets, chose):
                return targets, chose
            made = find_move(self._problem, chose.draws, self._theta, chose.moments, policy=policy.steps).made
            if not made.any():
                return targets, chose
            chose = self._step(made)

    def _draw(self, theta: Matrix) -> Batch:
        n, backend = self._simulation.n_chains, self._simulation.backend
        seed = self._simulation.seed_of(Use.ITERATION_ZERO, Use.GAP + self._n_batches)
        batch = Batch.draw(self._problem, theta, n, seed, backend, policy=self._policy)
        self._n_batches += 1
        self._n_drawn += batch.n
        return batch

    def _should_step(self, targets: Targets, chose: Batch) -> bool:
        """Say whether the decrement is too large to be judged here, and above its simulation error."""
        k, n, policy = targets.n, chose.n, self._policy
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

    def _step(self, made: Matrix) -> Batch:
        """Make a step, measure the fall on draws at both of its ends, and return those at the second one.

        The logarithm of Z rises by log E exp(x), x = step . s, over draws at the first end, and by -log E exp(-x) over
        draws at the second one. Either mean is too small where no draw shows a state that counts at the other end. The
        first is for the limit from above and the second for that from below, so that both limits are too far apart
        then, and not too near.
        """
        problem, here, there = self._problem, self._theta, self._theta + made
        least = self._policy.steps.least_share
        gain = sum_once(made * problem.target) + problem.penalty.value(here) - problem.penalty.value(there)
        rise, above = _log_mean(self._draw(here), made, least)
        arrived = self._draw(there)
        fall, below = _log_mean(arrived, -made, least)
        self._falls += gain + np.array([-rise, fall])
        self._variances += np.array([above, below])
        self._theta, self._n_steps = there, self._n_steps + 1
        return arrived

    def _conclude(self, targets: Targets, chose: Batch) -> GapBound:
        """Judge the end of the walk on draws that chose nothing."""
        policy = self._policy
        risk = (1 - policy.proven) * self._risk * (1 - 2 * policy.fall if self._n_steps else 1.0)
        fresh = self._draw(self._theta)
        proven = np.inf
        if self._n_steps == 0:
            proven = prove_gap(self._problem, self._theta, targets, chose, fresh, policy.proven * self._risk)
        return self._report(self._judge(targets, chose, fresh, risk), proven)

    def _judge(self, targets: Targets, chose: Batch, fresh: Batch, risk: float) -> GapBound:
        """Judge, a second time on other draws where a zero near its penalty is all that is in the way."""
        problem, theta, policy = self._problem, self._theta, self._policy
        try:
            found, more = judge(problem, theta, targets, chose, fresh, (1 - policy.second) * risk, policy=policy)
            if more is not None:
                again = self._draw(theta)
                found, _ = judge(problem, theta, more, fresh, again, policy.second * risk, policy=policy)
            return found
        except RefusalError as error:
            return GapBound(why=str(error))

    def _report(self, found: GapBound, proven: float = np.inf) -> GapBound:
        """Add what the objective fell on the way, and what holds for every number of draws."""
        policy = self._policy
        quantile = float(-ndtri(policy.fall * (1 - policy.proven) * self._risk)) if self._n_steps else 0.0
        errors = quantile * np.sqrt(self._variances)
        most, lower = float(self._falls[0] + errors[0]), max(0.0, float(self._falls[1] - errors[1]))
        above = replace(found, bound=max(0.0, most + found.bound))
        if np.isfinite(proven):
            above = above.or_proven(proven)
        if lower > above.bound:  # one of both is wrong: a fall of weights whose few large ones no draw shows
            lower = 0.0
        return replace(
            above,
            lower=lower,
            estimate=None if found.estimate is None else max(0.0, float(self._falls.mean()) + found.estimate),
            confidence=self._confidence,
            n_draws=self._n_drawn,
            better=self._theta if lower > 0 else None,
            why="" if np.isfinite(above.bound) else found.why,
        )


def _log_mean(batch: Batch, step: Matrix, least: float) -> tuple[float, float]:
    """Return log E exp(step . s), and its squared standard error.

    Where few draws count for that mean it is E step . s, which is less (Jensen's inequality).
    """
    values = batch.draws.along(step)
    log_mean, effective = batch.draws.reweight(values)
    if effective < least:
        return float(values.mean()), float(values.var() / batch.n)
    return log_mean, (1 / effective - 1) / batch.n
