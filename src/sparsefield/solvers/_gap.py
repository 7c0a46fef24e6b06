"""How far theta is above the optimum at most: by enumeration, or from draws made for it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from sparsefield.certificates import check_confidence
from sparsefield.fits import GapKind
from sparsefield.gradients import Simulation
from sparsefield.inference import Backend, Cpu, OutOfReachError, count_states
from sparsefield.model import Matrix, sum_once
from sparsefield.objective import Problem
from sparsefield.solvers._batch import Batch, bound_reach
from sparsefield.solvers._decrement import Tail, find_excess
from sparsefield.solvers._enumerated import MOST_STATES, bound_by_states, enumerate_fall, polish, rounding
from sparsefield.solvers._finite import prove_gap
from sparsefield.solvers._hotelling import remove_noise
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


@dataclass(frozen=True, eq=False)
class GapBound:
    """How far an objective can be above its optimum.

    Parameters
    ----------
    bound : float
        Upper limit; infinite where there is none.
    kind : "exact", "proven" or "asymptotic"
        By enumeration; for every number of draws; or by the central limit theorem.
    proven : float
        The smallest limit that is not asymptotic; infinite where there is none.
    lower : float
        Lower limit; zero where no walk has found one.
    estimate : float or None
        The gap itself, as far as the draws tell.
    confidence : float
        Probability with which all limits hold together.
    n_draws : int
        Draws behind them.
    better : ndarray of shape (n_slots, n_slots), optional
        Parameters with a lower objective, where a walk has led to some.
    why : str
        Why there is no bound, as a clause.
    """

    bound: float
    kind: GapKind
    proven: float
    lower: float
    estimate: float | None
    confidence: float
    n_draws: int
    better: Matrix | None = None
    why: str = ""


def bound_gap(
    problem: Problem,
    theta: Matrix,
    *,
    n_draws: int = 200_000,
    confidence: float = 0.99,
    seed: int = 0,
    backend: Backend | None = None,
    max_states: int = MOST_STATES,
) -> GapBound:
    """Bound how far the objective at theta is above its optimum.

    Small fields are enumerated. Elsewhere two batches of exact draws are made: the first chooses what a feasible
    distribution is to be like, and the second judges. Where theta is far from the optimum, Newton steps are made first,
    each on a batch of its own, and the fall of the objective is measured on another one.

    Parameters
    ----------
    problem : Problem
        Whose gap it is; its data term must be the same for every model.
    theta : ndarray of shape (n_slots, n_slots)
        Parameters that do not depend on the draws made here.
    n_draws : int
        Draws of each batch. The bound of a fit that had n draws is about twice its gap with five n, and tends to it.
    confidence : float
        Probability with which the limits hold.
    seed : int
        Where random numbers start. Bounds at several thetas with one confidence each need seeds of their own.
    backend : Backend, optional
        What makes the draws; this machine's processors unless given.
    max_states : int
        Fields with no more states are enumerated.

    Examples
    --------
    >>> import numpy as np
    >>> import sparsefield as sf
    >>> from sparsefield.objective import Problem
    >>> from sparsefield.solvers import bound_gap
    >>> table = sf.datasets.make_field(8, seed=1).sample(2000, method="perfect", seed=1)
    >>> problem = Problem.with_l1(sf.moments_of_table(table), table.domain, 0.05)
    >>> fit = sf.learn(table, 0.05, seed=1)
    >>> found = bound_gap(problem, fit.model.interactions + np.diag(fit.model.main))
    >>> found.kind, found.bound < 0.02
    ('exact', True)
    """
    check_confidence(confidence)
    if n_draws < 2:
        raise ValueError(f"n_draws is {n_draws}: use at least two.")
    if not problem.data.is_fixed:
        raise ValueError(
            "Missing values that the model fills make the objective not convex: there is no bound on gaps."
        )
    backend = Cpu() if backend is None else backend
    if count_states(problem.domain) <= min(max_states, MOST_STATES):
        return _enumerate_gap(problem, theta, backend)
    walk = _Walk(problem, theta, n_draws, 1 - confidence, seed, backend)
    if problem.domain.reference is None:
        return walk.refuse("statistics depend on each other where all levels have parameters")
    try:
        return walk.run()
    except OutOfReachError:
        return walk.refuse("there are no exact draws")
    except RefusalError as error:
        return walk.refuse(str(error))


def _enumerate_gap(problem: Problem, theta: Matrix, backend: Backend) -> GapBound:
    """Walk to the optimum by exact steps, and bound what is left there."""
    if problem.penalty.weights is None:
        why = "the penalty is not a sum over parameters"
        return GapBound(np.inf, "exact", np.inf, 0.0, None, 1.0, 0, None, why)
    end = polish(problem, theta, backend)
    fall, allowance = enumerate_fall(problem, theta, end, backend), rounding(problem, theta, end)
    bound = max(0.0, fall + bound_by_states(problem, end, backend)) + allowance
    why = "" if np.isfinite(bound) else "free parameters have no optimum, or none that is found"
    lower = max(0.0, fall - allowance)
    return GapBound(bound, "exact", bound, lower, max(0.0, fall), 1.0, 0, end if lower > 0 else None, why)


class _Walk:
    """Newton steps to where the decrement is small, and what the objective fell on the way."""

    def __init__(self, problem: Problem, theta: Matrix, n: int, risk: float, seed: int, backend: Backend) -> None:
        self._problem, self._start, self._theta, self._n, self._risk = problem, theta, theta, n, risk
        self._seeds, self._backend = Simulation(seed=seed), backend
        self._n_batches, self._n_drawn = 0, 0
        self._n_steps, self._fall, self._variance = 0, 0.0, 0.0

    def run(self) -> GapBound:
        """Walk, and bound the gap at the end."""
        z = outside_quantile(self._problem, (1 - _PROVEN) * self._risk)
        while True:
            chose = self._draw()
            targets = choose_targets(self._problem, self._theta, chose, z, self._n)
            if self._n_steps >= _MOST_STEPS or not self._should_step(targets, chose):
                break
            self._step(chose)
        return self._conclude(targets, chose)

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
        reach = bound_reach(chose.covariance(a, b), chose.pair[a, b], chose, a, b, _STANDARD_ERRORS)
        return find_excess(Tail.of(h), reach) > _SMALL_EXCESS

    def _step(self, chose: Batch) -> None:
        """Make a step that one batch chooses, and measure the fall of the objective on another."""
        problem, here = self._problem, self._theta
        made = find_move(problem, chose.draws, here, chose.pair).made
        fresh = self._draw()
        values = fresh.draws.along(made)
        log_mean, effective = fresh.draws.reweight(values)
        there = here + made
        penalties = problem.penalty.value(here) - problem.penalty.value(there)
        self._fall += sum_once(made * problem.data.moments.pair) - log_mean + penalties
        self._variance += (1 / effective - 1) / fresh.n  # of the logarithm of a mean of weights
        self._theta, self._n_steps = there, self._n_steps + 1

    def _conclude(self, targets: Targets, chose: Batch) -> GapBound:
        risk = (1 - _PROVEN) * self._risk
        z = float(-ndtri(_FALL * risk)) if self._n_steps else 0.0
        error = z * float(np.sqrt(self._variance))
        if self._n_steps:
            risk *= 1 - 2 * _FALL
        fresh = self._draw()
        proven = np.inf
        if self._n_steps == 0:
            proven = prove_gap(self._problem, self._theta, targets, chose, fresh, _PROVEN * self._risk)
        found = self._judge(targets, chose, fresh, risk)
        bound = max(0.0, self._fall + error + found.bound)
        return GapBound(
            bound=min(bound, proven),
            kind="proven" if proven <= bound and np.isfinite(proven) else "asymptotic",
            proven=proven,
            lower=max(0.0, self._fall - error),
            estimate=max(0.0, self._fall + found.estimate),
            confidence=1 - self._risk,
            n_draws=self._n_drawn,
            better=self._theta if self._n_steps and self._fall > error else None,
            why=found.why if not np.isfinite(min(bound, proven)) else "",
        )

    def _judge(self, targets: Targets, chose: Batch, fresh: Batch, risk: float) -> Verdict:
        """Judge, a second time on other draws where a zero near its penalty is all that is in the way."""
        try:
            found = judge(self._problem, self._theta, targets, chose, fresh, (1 - _SECOND) * risk)
            if found.more is None:
                return found
            return judge(self._problem, self._theta, found.more, fresh, self._draw(), _SECOND * risk)
        except RefusalError as error:
            return Verdict(np.inf, remove_noise(targets.decrement, targets.n, chose.n) / 2, str(error))

    def refuse(self, why: str) -> GapBound:
        """Return that there is no bound, and why."""
        return GapBound(np.inf, "asymptotic", np.inf, 0.0, None, 1 - self._risk, self._n_drawn, None, why)
