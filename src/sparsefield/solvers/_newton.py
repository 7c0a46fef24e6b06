"""The fast solver: a few proximal Newton steps, on draws whose covariance is the curvature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from sparsefield.certificates import Certificate
from sparsefield.data import Moments
from sparsefield.fits import Fit, NewtonStep, Status, StepInfo
from sparsefield.gradients import Estimate, Point, Schedule, Simulation
from sparsefield.inference import BLOCK, Draws, check_request
from sparsefield.model import Matrix, count_once, norm
from sparsefield.objective import Problem, describe_penalty
from sparsefield.solvers._describe import check_start, describe, is_small
from sparsefield.solvers._loop import Limits, Watch, run
from sparsefield.solvers._move import DRAWS_EACH, Move, find_move
from sparsefield.solvers._undecided import find_undecided

# `make bench-constants` varies what is chosen here, and measured the numbers of steps, draws and gaps below. Gaps are
# exact, over what was asked for: with the values in use 0.94 on average for fits that start from the pseudo-likelihood,
# and 0.87 for those that start from zero, with standard errors of about 0.05.

# An iteration has at most this multiple of the draws of the last one. With 2, 4 and 16 there are 4.8, 3.5 and 3.1 steps
# from the pseudo-likelihood, with 55,000, 49,000 and 49,000 draws, and 9.1, 7.0 and 6.5 steps from zero, with 52,000,
# 51,000 and 72,000 draws.
_GROWTH = 4

# This is a limit on time: one thread makes 1 to 3 million exact draws of 10 or 20 variables a second (`make
# bench-certificates`), so that four million take seconds. A mean is then right to 0.5 / 2^11 = 0.00024.
_MOST_DRAWS = 2**22

# The number of draws wanted moves a little with the support. With nine tenths of it noise costs 1 / 0.9 = 1.11 times
# the gap, at most. All of it takes 60,600 draws in place of 49,000 from the pseudo-likelihood, for gaps that are no
# smaller (1.04); with half of it the mean gap is 2.2, and the largest 5.3, where a pair is never seen.
_ENOUGH = 0.9

# A predicted decrease below this multiple of nonzeros / (2 n) ends a fit. At the optimum a step from what n draws led
# to, on n others, is promised about twice that: once for the noise of either. With 1, six of ten fits do not end
# in 50 steps, and with 2 fits take 1.7 to 2.1 times the draws. With 16 they take 15 to 19% less, and gaps are within
# their errors (0.97 and 0.89), but up to 1.95 in place of 1.45 where a pair is never seen: 4 is on the safe side.
_NOISE = 4.0

# The draws that are held at one time have this many indicators, one bit each: 64 MiB. (Chains of more than two levels
# hold a byte for each variable besides.) Further draws count for the moments only.
_MOST_CELLS = 2**29

# Batch k of an iteration has use 10 + k of its seeds, k from 1 on. Use 0 is that of draws, 1 that of bounding chains,
# and 2 to 10 are those of attempts with more chains, which double at least: nine times from 2000 to a million.
_BATCHES = 10

# The chains that fill missing values make this many sweeps in an iteration, and go on from the last one. With a tenth
# of the values missing, 1, 5 and 20 end at smallest subgradients of the same norm (medians of 0.0132, 0.0138 and
# 0.0138), in the same time: one sweep would do there, and five are a reserve that costs next to nothing.
_COMPLETING_SWEEPS = 5


def solve_newton(
    problem: Problem,
    schedule: Schedule,
    simulation: Simulation | None = None,
    *,
    start: Matrix | None = None,
    gap: float = 0.01,
    n_draws: int = 1,
    max_iter: int = 50,
    tol: float = 1e-4,
    max_seconds: float | None = None,
    watch: Watch | None = None,
) -> Fit:
    """Make Newton steps, with more draws from step to step, until what is left to gain is lost in their noise.

    Parameters
    ----------
    problem : Problem
        What is minimised. Where missing values are completed, the data moments are estimated anew in every iteration,
        given the model.
    schedule : Schedule
        Where draws come from.
    simulation : Simulation, optional
        Draws to begin with, their seed, and what makes them.
    start : ndarray of shape (n_slots, n_slots), optional
        Parameters to start from, laid out as in `Problem`; zero unless given.
    gap : float
        How far above its optimum the objective may be, on average: the noise of n draws costs about
        nonzeros / (2 n), which chooses n, up to four million.
    n_draws : int
        Draws of the last step, at least.
    max_iter : int
        Steps at most.
    tol : float
        The fit has also converged when the norm of the smallest subgradient is at most this.
    max_seconds : float, optional
        Time after which no further step is begun.
    watch : callable, optional
        Called with each StepInfo.
    """
    simulation = Simulation() if simulation is None else simulation
    limits = Limits(max_iter, tol, max_seconds)
    check_request(simulation.n_chains, simulation.seed)
    check_gap(gap)
    theta = check_start(problem, start)
    method = _NewtonSteps(problem, schedule, simulation, theta, float(gap), n_draws, tol)
    steps, status = run(method, limits, watch)
    return Fit(
        problem.model(method.theta),
        _advise(status, steps),
        steps,
        method.undecided,
        **describe_penalty(problem.penalty),
    )


def check_gap(gap: float) -> None:
    """Refuse what is not a gap."""
    if not (isinstance(gap, Real) and gap > 0):
        raise ValueError(f"gap is {gap!r}: use a positive number.")


class _NewtonSteps:
    """Newton steps, one after the other, each with the draws that the gap asks for."""

    def __init__(
        self,
        problem: Problem,
        schedule: Schedule,
        simulation: Simulation,
        theta: Matrix,
        gap: float,
        n_draws: int,
        tol: float,
    ) -> None:
        self._problem, self._schedule, self._simulation = problem, schedule, simulation
        self._gap, self._n_draws, self._tol = gap, n_draws, tol
        self._is_tracked, self._n_now = is_small(problem), _at_least(simulation.n_chains, theta)
        self._n_made, self._wanted, self._n_asked = 0, 1, 0
        self.theta = theta
        self.undecided: NDArray[np.bool_] | None = None
        self._last: tuple[Estimate, Draws, Move, NewtonStep]

    def advance(self) -> StepInfo:
        """Make one step."""
        self._n_made += 1
        self._n_asked = self._n_now
        point = Point(self._n_made, self.theta, self._problem.model(self.theta), 1.0)
        self._problem = self._problem.with_data(self._problem.data.given(point.model, _COMPLETING_SWEEPS))
        estimate = _estimate(self._problem, point, self._schedule, replace(self._simulation, n_chains=self._n_now))
        draws = estimate.draws(point, self._simulation)
        found = find_move(self._problem, draws, self.theta, estimate.moments.pair)
        info = self._describe(point, estimate, found)
        self.theta = self.theta + found.made
        self._last = estimate, draws, found, info
        self._wanted = min(_MOST_DRAWS, max(self._n_draws, _wanted_draws(info.n_nonzero, self._gap)))
        if found.share == 1:
            self._n_now = int(np.clip(self._wanted, self._n_now, _GROWTH * self._n_now))
        self._n_now = _at_least(self._n_now, self.theta)
        return info

    def _describe(self, point: Point, estimate: Estimate, found: Move) -> NewtonStep:
        problem = self._problem
        violation = problem.subgradient(point.theta, problem.gradient(estimate.moments))
        return NewtonStep(
            **describe(point.iteration, estimate, problem.data, violation, point.theta + found.made),
            objective=problem.objective(point.theta) if self._is_tracked else None,
            subgradient_norm=norm(violation),
            share=found.share,
            predicted=found.predicted,
            decrease=found.decrease,
            effective=found.effective,
        )

    def judge(self, steps: Sequence[StepInfo]) -> Status | None:
        """Say whether what is left to gain is lost in the noise of enough draws; if so, mark what that leaves open."""
        status = self._find_end(len(steps))
        if status is not None and self._problem.data.is_fixed:
            estimate, draws, found, _ = self._last
            self.undecided = find_undecided(self._problem, draws, self.theta, estimate, found)
        return status

    def _find_end(self, k: int) -> Status | None:
        estimate, _, found, info = self._last
        if info.subgradient_norm <= self._tol:
            said = f"Converged in {k} iterations: the smallest subgradient is down to {info.subgradient_norm:.2g}."
            return Status("converged", said)
        n = info.n_chains
        is_limited = n < self._n_asked  # by the schedule, which makes no more
        if estimate.is_exact or (n < _ENOUGH * self._wanted and not is_limited) or found.share != 1:
            return None
        noise = info.n_nonzero / (2 * n)
        if found.predicted > _NOISE * max(noise, 1 / (2 * n)):
            return None
        about = f"the objective is about {noise:.2g} above its optimum, which is what the noise of {n} "
        if is_limited or self._wanted == _MOST_DRAWS:
            return Status("noise floor", f"After {k} iterations {about}draws costs, and no more are made.")
        return Status(
            "converged", f"Converged in {k} iterations: {about}draws costs. A smaller gap makes more of them."
        )


def _estimate(problem: Problem, point: Point, schedule: Schedule, simulation: Simulation) -> Estimate:
    """Return moments of many draws, of which no more than memory allows are kept for the curvature."""
    most = max(BLOCK, _MOST_CELLS // max(1, problem.domain.n_slots))
    first = schedule.estimate(problem, point, replace(simulation, n_chains=min(most, simulation.n_chains)))
    if first.is_exact or first.n_chains == simulation.n_chains:
        return first
    found = [first]
    n = first.n_chains
    while most <= n < simulation.n_chains:
        seed = simulation.seed_of(point.iteration, _BATCHES + len(found))
        some = replace(simulation, n_chains=min(most, simulation.n_chains - n), seed=seed)
        found.append(schedule.estimate(problem, point, some))
        n += found[-1].n_chains
    return _join(found, n)


def _join(found: list[Estimate], n: int) -> Estimate:
    """Join batches: moments of all of them, the worst of their certificates, and the chains of the first."""
    pair = found[0].n_chains * found[0].moments.pair
    for own in found[1:]:
        pair = pair + own.n_chains * own.moments.pair
    known = [own.certificate for own in found if own.certificate is not None]
    return replace(
        found[0],
        moments=Moments(np.diagonal(pair) / n, pair / n, n),
        certificate=_join_certificates(known) if len(known) == len(found) else None,
        is_certified=all(own.is_certified for own in found),
    )


def _join_certificates(known: list[Certificate]) -> Certificate:
    """Return the worst of several certificates, with the confidence that all of them hold."""
    worst = max(known, key=lambda own: own.total)
    return replace(worst, confidence=max(0.0, 1 - sum(1 - own.confidence for own in known)))


def _at_least(n_draws: int, theta: Matrix) -> int:
    """Return a number of draws that is enough for a covariance of what is not zero."""
    return max(n_draws, min(_MOST_DRAWS, 2 * DRAWS_EACH * count_once(theta)))


def _wanted_draws(n_nonzero: int, gap: float) -> int:
    """Return the draws with which noise costs about the gap: nonzeros / (2 n) in the objective."""
    return int(min(np.ceil(max(1, n_nonzero) / (2 * gap)), _MOST_DRAWS))


def _advise(status: Status, steps: Sequence[StepInfo]) -> Status:
    """Say so where the last gradient is not certified and was meant to be."""
    if not steps or status.code == "interrupted" or steps[-1].is_certified or not steps[-1].is_promised:
        return status
    last = steps[-1]
    got = "" if last.certificate is None else f", bias at most {last.certificate:.3g}"
    said = f"{status.sentence} The last gradient is not certified ({last.reason}{got}). {last.remedy}"
    return Status("not certified", said.rstrip())
