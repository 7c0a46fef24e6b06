"""A walk towards the optimum, whose end is near enough for its gap to be bounded from draws."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from sparsefield.gradients import Simulation
from sparsefield.inference import Backend, OutOfReachError
from sparsefield.model import Matrix, sum_once
from sparsefield.objective import Problem
from sparsefield.solvers._batch import Batch, Factored, bound_reach
from sparsefield.solvers._decrement import Tail, find_excess
from sparsefield.solvers._extremes import depends
from sparsefield.solvers._finite import prove_gap
from sparsefield.solvers._gap_bound import GapBound
from sparsefield.solvers._judge import Verdict, check_draws, judge, outside_quantile
from sparsefield.solvers._move import find_move
from sparsefield.solvers._targets import RefusalError, Targets, choose_targets

# Of the risk, this share goes to what holds for every number of draws, where it counts by its logarithm; the rest to
# the central limit theorem.
_PROVEN = 0.02

# Of the rest, this share goes to either side of the fall of the objective along a walk, where there is one; and of
# what is then left, this share to a second try, which is seldom made.
_FALL = 0.15
_SECOND = 0.05

# A squared decrement above this is walked down first. Of a normal direction of norm delta the terms of higher order
# add 0.27 delta + delta^2 to a bound, relative to delta^2 / 2: 8% here. A walk takes two more batches.
_NEAR = 0.03

# A step is made where its decrement is above its noise by this many standard errors. Steps on noise go uphill.
_STANDARD_ERRORS = 2.0

# An excess up to this costs a bound next to nothing; beyond, it may not be one at all on fresh draws.
_SMALL_EXCESS = 0.003

# A Newton step squares the distance from the optimum once it is small; eight are enough from far away.
_MOST_STEPS = 8

# Batches have uses of the seeds of iteration 0 from here on. A fit has iterations from 1 on, and `certify` uses 1 to 3.
_FIRST_USE = 10


class Walk:
    """Newton steps to where the decrement is small, what the objective fell on the way, and the gap at their end.

    Parameters
    ----------
    problem : Problem
        Whose gap it is.
    theta : ndarray of shape (size, size)
        Where it begins.
    n : int
        Draws of each batch.
    confidence : float
        Probability with which all limits are to hold.
    seed : int
        Where random numbers start.
    backend : Backend
        What makes the draws.
    """

    def __init__(self, problem: Problem, theta: Matrix, n: int, confidence: float, seed: int, backend: Backend) -> None:
        self._problem, self._theta, self._n = problem, theta, n
        self._confidence, self._risk = confidence, 1 - confidence
        self._seeds, self._backend = Simulation(seed=seed), backend
        self._n_batches, self._n_drawn = 0, 0
        self._n_steps, self._fall, self._variance = 0, 0.0, 0.0

    def run(self) -> GapBound:
        """Walk, and bound the gap at the end."""
        if depends(self._problem):
            return self._refuse("statistics depend on each other where all levels have parameters")
        try:
            targets, chose = self._approach()
            return self._conclude(targets, chose)
        except OutOfReachError:
            return self._refuse("there are no exact draws")
        except RefusalError as error:
            return self._refuse(str(error))

    def _approach(self) -> tuple[Targets, Batch]:
        """Make steps until none is worth it; return targets there, and the batch that they were chosen by."""
        z = outside_quantile(self._problem, (1 - _PROVEN) * self._risk)
        is_stuck = False
        while True:
            chose = self._draw()
            targets = choose_targets(self._problem, self._theta, chose, z)
            if is_stuck or self._n_steps >= _MOST_STEPS or not self._should_step(targets, chose):
                return targets, chose
            is_stuck = not self._step(chose)

    def _draw(self) -> Batch:
        seed = self._seeds.seed_of(0, _FIRST_USE + self._n_batches)
        batch = Batch(self._problem, self._theta, self._n, seed, self._backend)
        self._n_batches += 1
        self._n_drawn += batch.n
        return batch

    def _should_step(self, targets: Targets, chose: Batch) -> bool:
        """Say whether the decrement is too large to be judged here, and above its noise."""
        k, n = targets.n, chose.n
        above = targets.decrement - k / n
        if above <= _STANDARD_ERRORS * np.sqrt(2 * k + 4 * n * max(above, 0.0)) / n:
            return False
        if above > _NEAR:
            return True
        check_draws(targets, chose)
        # Would the tails do on fresh draws, with as much noise as these add?
        a, b = targets.first, targets.second
        h = np.sqrt(1 + k / (n * targets.decrement)) * chose.along(targets.move)
        try:
            reach = bound_reach(Factored(chose.covariance(a, b)), chose, a, b, _STANDARD_ERRORS)
        except np.linalg.LinAlgError:  # the draws do not tell all statistics apart
            return True
        return find_excess(Tail.of(h), reach) > _SMALL_EXCESS

    def _step(self, chose: Batch) -> bool:
        """Make a step that one batch chooses, and measure the fall on another; say whether there was one to make."""
        problem, here = self._problem, self._theta
        made = find_move(problem, chose.draws, here, chose.moments).made
        if not made.any():
            return False
        fresh = self._draw()
        values = fresh.draws.along(made)
        log_mean, effective = fresh.draws.reweight(values)
        there = here + made
        penalties = problem.penalty.value(here) - problem.penalty.value(there)
        self._fall += sum_once(made * problem.target) - log_mean + penalties
        self._variance += (1 / effective - 1) / fresh.n  # of the logarithm of a mean of weights
        self._theta, self._n_steps = there, self._n_steps + 1
        return True

    def _conclude(self, targets: Targets, chose: Batch) -> GapBound:
        """Judge the end of the walk on draws that chose nothing."""
        risk = (1 - _PROVEN) * self._risk * (1 - 2 * _FALL if self._n_steps else 1.0)
        fresh = self._draw()
        proven = np.inf
        if self._n_steps == 0:
            proven = prove_gap(self._problem, self._theta, targets, chose, fresh, _PROVEN * self._risk)
        return self._report(self._judge(targets, chose, fresh, risk), proven)

    def _judge(self, targets: Targets, chose: Batch, fresh: Batch, risk: float) -> Verdict:
        """Judge, a second time on other draws where a zero near its penalty is all that is in the way."""
        try:
            found = judge(self._problem, self._theta, targets, chose, fresh, (1 - _SECOND) * risk)
            if found.more is None:
                return found
            return judge(self._problem, self._theta, found.more, fresh, self._draw(), _SECOND * risk)
        except RefusalError as error:
            return Verdict(np.inf, None, str(error))

    def _refuse(self, why: str) -> GapBound:
        """Return that there is no upper limit, and why."""
        return self._report(Verdict(np.inf, None, why), np.inf)

    def _report(self, found: Verdict, proven: float) -> GapBound:
        """Add what the objective fell on the way."""
        quantile = float(-ndtri(_FALL * (1 - _PROVEN) * self._risk)) if self._n_steps else 0.0
        error = quantile * float(np.sqrt(self._variance))
        bound = max(0.0, self._fall + error + found.bound)
        least = min(bound, proven)
        return GapBound(
            bound=least,
            kind="proven" if proven <= bound and np.isfinite(proven) else "asymptotic",
            proven=proven,
            lower=max(0.0, self._fall - error),
            estimate=None if found.estimate is None else max(0.0, self._fall + found.estimate),
            confidence=self._confidence,
            n_draws=self._n_drawn,
            better=self._theta if self._n_steps and self._fall > error else None,
            why="" if np.isfinite(least) else found.why,
        )
