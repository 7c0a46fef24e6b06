"""The fast solver: a few proximal Newton steps, on draws whose covariance is the curvature."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import NamedTuple

import numpy as np

from sparsefield._typing import Matrix
from sparsefield.data import count
from sparsefield.fits import Fit, NewtonStep, Status, StepInfo
from sparsefield.gradients import Point, Schedule, Simulation
from sparsefield.inference import check_request
from sparsefield.model import count_once, norm
from sparsefield.objective import Problem, describe_penalty
from sparsefield.solvers._batched_estimate import MOST_DRAWS, estimate_in_batches
from sparsefield.solvers._decrease import SURELY, Fall, Stand, make_stand, measure_decrease, measure_fall, missing_share
from sparsefield.solvers._draw_budget import draws_for_agreement, draws_for_penalty, find_edge_noise
from sparsefield.solvers._loop import Limits, Watch, run, stalled
from sparsefield.solvers._newton_status import add_advice, say_noise
from sparsefield.solvers._newton_step import DRAWS_EACH, Move, find_move
from sparsefield.solvers._quasi_newton import ExactStand
from sparsefield.solvers._sparse_step import NEAREST
from sparsefield.solvers._step_info import check_start, describe, find_objective

# `make bench-constants` varies what is chosen here. Gaps are exact, over what was asked for.

# An iteration has at most this multiple of the draws of the last one, unless its step was short. With 2, 4 and 16 there
# are 7.5, 7.5 and 7.1 steps from zero, with 91,000, 80,000 and 83,000 draws.
_GROWTH = 4

# So that seeds agree, at most so many indicators are drawn, one for each slot and draw: 2.7 million draws of 100
# variables, which take about ten seconds on two cores (190,000 took 0.75 s), and 540,000 of 500.
_MOST_AGREED = 2**28

# So that seeds agree, weights of nearly all edges are to differ by less than this between two of them: `find_spread`.
# With 0.1, 0.05 and 0.02 the fits of seven tables with 8 to 60 variables (`tests/estimators/test_seeds.py`) take 0.8,
# 1.0 and 3.3 s on average (two cores).
_SPREAD = 0.05

# So that noise makes no edges, more draws than this are made at once only where their time is known, or not limited,
# and at all only where the gap may ask for them too. They take 0.03 s of a sparse field of 60 variables, and 2.3 s
# where 1529 of its 1770 pairs interact, whose exact draws are long (one core).
_MOST_UNASKED = 2**16

# The number of draws wanted moves a little with the support. With nine tenths of it noise costs 1 / 0.9 = 1.11 times
# the gap, at most; it hardly matters, since draws are mostly as many as are wanted.
_ENOUGH = 0.9

# A step that promises less than this multiple of nonzeros / (2 n) is not made, and ends a fit. At the optimum a step
# from what n draws led to, on n others, is promised about twice that: once for the noise of either. With 2, 2.5 and 4
# mean gaps are 0.68, 1.04 and 1.50 from the pseudo-likelihood, with 157,000, 63,000 and 51,000 draws, and 0.70, 0.96
# and 1.40 from zero, with 118,000, 80,000 and 71,000. With 1 two fits of three do not end.
_NOISE = 2.5

# A step at whose end this share of the draws still counts is short: what comes next has all draws that are wanted. With
# 0.6, 0.8 and never 63,000, 63,000 and 58,000 draws are made from the pseudo-likelihood, in 3.5, 3.5 and 3.9 steps, and
# 118,000, 80,000 and 64,000 from zero, in 7.5, 7.5 and 7.6.
_NEAR = 0.8

# A step that led up is cut to this share, and to it again, twelve times at most: 0.3^12 = 5e-7 of it is then left,
# which gains as small a part of what was promised.
_CUT = 0.3
_MOST_TAKEN_BACK = 12

_RETURNED = "No steps led to an objective that is surely lower: this is the start."


def solve_newton(
    problem: Problem,
    schedule: Schedule,
    simulation: Simulation | None = None,
    *,
    start: Matrix | None = None,
    gap: float = 0.01,
    agreement: float | None = None,
    max_iter: int = 50,
    tol: float = 1e-4,
    max_seconds: float | None = None,
    began: float | None = None,
    watch: Watch | None = None,
) -> Fit:
    """Make Newton steps, with more draws from step to step, until what is left to gain is lost in their noise.

    Each step is judged at its end, on draws that had no part in choosing it: one that leads up is taken back, and one
    that is not worth its noise is not made. A fit whose objective is not surely below that of its start is the start.

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
        nonzeros / (2 n), which chooses n, up to four million. There are at least as many draws as it takes until their
        noise is not expected to make an edge (`draws_for_penalty`), up to 65,536, to the number of rows, or to what the
        gap would ask for were all parameters not zero.
    agreement : float, optional
        The share of its edges that a fit with another seed is expected to have too: there are as many draws as that
        takes, up to four million or 2^28 over the number of slots.
    max_iter : int
        Iterations at most: each makes draws, the first of them at the start.
    tol : float
        The fit has also converged when the norm of the smallest subgradient is at most this.
    max_seconds : float, optional
        Time after which the fit ends; the draws of a step are no more than there is time for.
    began : float, optional
        When the fit began, by `time.perf_counter`; now unless given.
    watch : callable, optional
        Called with each StepInfo.
    """
    limits = Limits(max_iter, tol, max_seconds, began)
    return run_newton(problem, schedule, simulation or Simulation(), limits, start, gap, agreement, watch).fit()


@dataclass(frozen=True, eq=False)
class NewtonEnd:
    """How Newton steps ended, and what draws there are to judge that by.

    Parameters
    ----------
    problem : Problem
        What was minimised.
    theta : ndarray of shape (n_slots, n_slots)
        Where they ended.
    steps : tuple of StepInfo
        The trace.
    status : Status
        How they ended.
    last : (Stand, Move), optional
        Draws at the end, or exact moments there, and the step that they suggest; nothing where there were none.
    more : callable
        Makes so many draws at a stand, which may be more than it has.
    afford : callable
        Returns so many draws, or as many as there is time for.
    """

    problem: Problem
    theta: Matrix
    steps: tuple[StepInfo, ...]
    status: Status
    last: tuple[Stand, Move] | None
    more: Callable[[Stand, int], Stand]
    afford: Callable[[int], int]

    @property
    def stand(self) -> Stand | ExactStand | None:
        """Return the draws at the end, where there are some, or the states that were enumerated last."""
        if self.last is None:
            return None
        here, _ = self.last
        if here.is_exact and here.estimate.states is not None and here.problem.data.is_fixed:
            return ExactStand(self.theta, here.estimate.states, here.theta)
        return here if np.array_equal(here.theta, self.theta) else None

    def fit(self) -> Fit:
        """Return the fit, of which nothing is marked yet."""
        model, facts = self.problem.model(self.theta), describe_penalty(self.problem.penalty)
        return Fit(model, add_advice(self.status, self.steps), self.steps, None, **facts)


def run_newton(
    problem: Problem,
    schedule: Schedule,
    simulation: Simulation,
    limits: Limits,
    start: Matrix | Stand | None,
    gap: float,
    agreement: float | None,
    watch: Watch | None,
) -> NewtonEnd:
    """Make Newton steps as `solve_newton` does, and return their end. A start may be draws where it begins (Stand)."""
    check_request(simulation.n_chains, simulation.seed)
    check_gap(gap)
    first = start if isinstance(start, Stand) else None
    theta = check_start(problem, start.theta if isinstance(start, Stand) else start)
    method = _NewtonSteps(problem, schedule, simulation, theta, float(gap), agreement, limits, first)
    steps, status = run(method, limits, watch)
    status = method.return_unless_lower(status)
    return NewtonEnd(problem, method.theta, steps, status, method.last, method.look_again, method.afford)


def check_gap(gap: float) -> None:
    """Refuse what is not a gap."""
    if not (isinstance(gap, Real) and gap > 0):
        raise ValueError(f"gap is {gap!r}: use a positive number.")


class _Start(NamedTuple):
    """Where a fit starts, the problem with the data as they are completed there, and how many draws were asked for."""

    theta: Matrix
    problem: Problem
    n_asked: int


class _NewtonSteps:
    """Newton steps, one after the other, each with the draws that the gap asks for and judged on draws at its end."""

    def __init__(
        self,
        problem: Problem,
        schedule: Schedule,
        simulation: Simulation,
        theta: Matrix,
        gap: float,
        agreement: float | None,
        limits: Limits,
        first: Stand | None = None,
    ) -> None:
        self._problem, self._schedule, self._simulation = problem, schedule, simulation
        self._gap, self._agreement, self._limits = gap, agreement, limits
        self._n_draws = 1  # of the last step, at least
        self._n_least = self._find_least(len(theta))
        n_first = self._n_least if limits.max_seconds is None else min(self._n_least, _MOST_UNASKED)
        self._n_now = _at_least(max(simulation.n_chains, n_first) if first is None else first.n_asked, theta)
        self._n_made, self._n_cuts, self._wanted = 0, 0, 1
        self._n_agreed = 0  # draws with which seeds would agree, where that was asked
        self._has_retried = False  # with more draws, since the objective was not surely below that of the start
        self._is_settled = False  # whether as many draws as there are now gained nothing by their step
        self._pace = 0.0  # seconds for a draw, last time
        self._reach: int | None = NEAREST  # of sparse curvatures, as long as steps find them right
        self.theta, self._ahead = theta, theta
        self._known = first  # draws at the start that are at hand
        self._first: _Start | None = None
        self._gained, self._variance = 0.0, 0.0  # step by step since then, and the squared standard error of that
        self.last: tuple[Stand, Move] | None = None  # draws at theta, and the step that they suggest

    def _find_least(self, size: int) -> int:
        """Return how many draws there are at least, so that noise makes no edges.

        A gap that is given asks for no more than it takes were all parameters not zero: where the penalty is so small
        that nearly all of them are, noise has few edges left to make. Nor for more than there are rows: below that
        penalty the noise of the rows makes edges itself.
        """
        most = _most_agreed(size)
        if self._agreement is None:
            everything = count_once(self._problem.coordinates.is_parameter)
            n_rows = self._problem.data.moments.n or 0
            most = min(most, max(_MOST_UNASKED, n_rows, _wanted_draws(everything, self._gap)))
        return min(draws_for_penalty(self._problem), most)

    def advance(self) -> StepInfo:
        """Go where the last step led, judge it on draws there, and find the next one."""
        self._n_made += 1
        self._n_now = self.afford(self._n_now)
        there = self._look(self._ahead, self._n_now)
        fall = self._measure_fall(there)
        if fall is not None and not fall.is_down:
            self._take_back(fall)
            return self._describe(there, fall, None)
        self._first = _Start(there.theta, there.problem, there.n_asked) if self._first is None else self._first
        self.theta, self._n_cuts = there.theta, 0
        whole = self.last is not None and self.last[1].share == 1
        n_before = 0 if self.last is None else self.last[0].n_asked
        self.last = None  # whose draws and moments are not needed any more
        there, move = self._find_move(there)
        move = self._go_on(there, move, fall, n_before if whole else None)
        self.last = there, move
        return self._describe(there, fall, move)

    def _measure_fall(self, there: Stand) -> Fall | None:
        """Measure by how much the last step lowered the objective, if one was made."""
        if self.last is None or self.last[1].share == 0:
            return None
        before, move = self.last
        fall = measure_fall(replace(before, problem=self._complete_anew(before)), move, there)
        if fall.is_down:
            self._gained += fall.decrease
            self._variance += fall.error**2
        return fall

    def _look(self, theta: Matrix, n: int) -> Stand:
        """Make draws at some parameters, unless there are as many."""
        known, self._known = self._known, None
        if known is not None and known.n_asked >= n:
            self._problem = self._problem.with_data(known.problem.data)
            return replace(known, problem=self._problem)
        clock = time.perf_counter()
        point = Point(self._n_made, theta, self._problem.model(theta), 1.0)
        self._problem = self._problem.with_data(self._problem.data.given(point.model, n))
        estimate = estimate_in_batches(self._problem, point, self._schedule, replace(self._simulation, n_chains=n))
        self._pace = (time.perf_counter() - clock) / n
        return make_stand(self._problem, point, estimate, self._simulation, n)

    def _complete_anew(self, before: Stand | _Start) -> Problem:
        """Draw the missing values before a step again: those that chose it speak for it, since it fits their noise."""
        if np.isinf(before.problem.data.n_effective):
            return before.problem
        data = self._problem.data.given(self._problem.model(before.theta), before.n_asked)
        self._problem = self._problem.with_data(data)  # for its seeds: the next one has others
        return before.problem.with_data(data)

    def afford(self, n: int) -> int:
        """Return so many draws, or as many as there is time for; as many as last time at least."""
        if self._limits.max_seconds is None or self._pace == 0 or self.last is None:
            return n
        left = self._limits.end - time.perf_counter()
        return int(np.clip(left / self._pace, min(n, self.last[0].n_asked), n))

    def _go_on(self, here: Stand, move: Move, fall: Fall | None, n_before: int | None) -> Move:
        """Choose where to look next, and with how many draws; a step that is not worth its noise is not made.

        Nor is one after a whole step that gained no more than its noise, where seeds are to agree and draws are soon to
        be many: where thousands of zeros are near their penalties, noise promises more than nonzeros / n for long. A
        whole step was made with `n_before` draws.
        """
        is_spent = self._agreement is not None and fall is not None and fall.decrease <= here.noise
        is_spent = is_spent and n_before is not None
        self._is_settled = is_spent and n_before is not None and n_before >= _ENOUGH * here.n_asked
        if not here.is_exact and (is_spent or move.predicted <= _NOISE * here.noise):
            move = replace(move, share=0.0)
        self._ahead = here.theta + move.made
        # Draws of missing values add their noise, to a gradient that counts for more.
        wanted = _wanted_draws(count_once(self._ahead), self._gap * (1 - here.missing) / (1 + here.missing))
        self._wanted = min(MOST_DRAWS, max(self._n_draws, self._n_least, wanted))
        n_now = n_next = self._n_now
        if move.share in (0, 1):
            most = self._wanted if move.effective >= _NEAR else _GROWTH * n_now
            n_next = int(np.clip(self._wanted, n_now, max(most, n_now)))
        self._n_now = _at_least(n_next, self._ahead)
        return move

    def _take_back(self, fall: Fall) -> None:
        """Stay, with more draws: where noise explains that a step led up, find another one, else make it shorter."""
        assert self.last is not None  # as there was a step
        here, move = self.last
        self._n_cuts += 1
        move = replace(move, share=0.0 if fall.is_noise else _CUT * move.share)
        self.last, self._ahead = (here, move), here.theta + move.made
        self._n_now = max(self._n_now, min(2 * self._n_now, MOST_DRAWS))

    def _describe(self, stand: Stand, fall: Fall | None, move: Move | None) -> NewtonStep:
        problem, theta = stand.problem, stand.theta
        violation = problem.violation(theta, stand.moments)
        said = describe(self._n_made, stand.estimate, problem, violation, theta)
        if move is None:
            said["reason"] += "; taken back, since the objective is no lower here"
        return NewtonStep(
            **said,
            objective=find_objective(problem, theta, stand.estimate.states),
            subgradient_norm=norm(violation),
            share=0.0 if move is None else move.share,
            predicted=None if move is None else move.predicted,
            decrease=None if fall is None else fall.decrease,
            effective=None if move is None else move.effective,
        )

    def judge(self, steps: Sequence[StepInfo]) -> Status | None:
        """Say whether there is nothing left to gain: by the gradient, or by as many draws as the gap asks for."""
        k, left = len(steps), steps[-1].violation
        if self.last is None or 0 < self._n_cuts < _MOST_TAKEN_BACK:
            return None
        if self._n_cuts:
            return stalled(k)
        here, move = self.last
        if here.is_exact:
            return self._judge_exact(move, k, left)
        if left <= self._limits.tol:
            return Status(
                "converged", f"Converged in {count(k, 'iteration')}: the smallest subgradient is down to {left:.2g}."
            )
        n = here.n_asked
        is_limited = not here.estimate.is_exact and here.estimate.n_chains < n  # by the schedule, which makes no more
        if move.share > 0 or (n < _ENOUGH * self._wanted and not is_limited):
            return None
        if not self._is_lower(here):
            return self._return_to_start(k, n, is_last=is_limited or self._has_retried or n >= MOST_DRAWS)
        # More draws do not help where their bias is what they are off by.
        is_wanted = self._agreement is not None and here.estimate.is_certified and not is_limited
        if is_wanted and not self._agrees(here, move, self._agreement or 0.0):
            return None
        status = say_noise(here, move, k, is_limited=is_limited or self._wanted == MOST_DRAWS)
        if n >= _ENOUGH * self._n_agreed:
            return status
        said = f"{self._agreement:.0%} of the edges would be those of another seed with {self._n_agreed:.2g} draws."
        return replace(status, sentence=f"{status.sentence} {said}")

    def _is_lower(self, here: Stand | None) -> bool:
        """Say whether the objective is surely no higher than at the start: step by step, or by the draws here at once.

        Draws near the start know best what a long way gained, and those at its end what a short one did.
        """
        if self._first is None or self._gained >= SURELY * np.sqrt(self._variance):
            return True
        if here is None:
            return False
        decrease, error = measure_decrease(self._first.theta, self._complete_anew(self._first), here)
        return decrease >= SURELY * error

    def return_unless_lower(self, status: Status) -> Status:
        """Return to the start where a limit ended the fit, and its objective is not surely below that of the start."""
        if self._first is None or np.array_equal(self.theta, self._first.theta):
            return status
        here = None if self.last is None else self.last[0]
        if (here is not None and here.is_exact) or self._is_lower(here):
            return status
        self.theta, self.last = self._first.theta, None
        return replace(status, sentence=f"{status.sentence} {_RETURNED}")

    def _agrees(self, here: Stand, move: Move, share: float) -> bool:
        """Say whether another seed would find this share of the edges; if not, see to it."""
        n = here.n_asked
        most = max(n, _most_agreed(len(here.theta)))
        wanted = draws_for_agreement(find_edge_noise(here, move), share, _SPREAD)
        self._n_agreed = int(min(wanted / here.counts, 2.0**62))
        enough = min(most, self._n_agreed)
        if n < _ENOUGH * enough:
            # Variances of a few draws, away from the optimum, may ask for far too many: they are found anew on the way.
            self._n_draws = self._n_now = min(enough, _GROWTH * n)
            return False
        # From what as many draws led to, a step is promised the noise of both, on average and but for a standard
        # deviation of half a non-central chi-square. Where it is more, these would choose better than those that did.
        # Zeros near their penalties promise more than that for ever: a step that gained no more than its noise ends it.
        if self._is_settled or move.predicted <= (2 + np.sqrt(6 / max(1, count_once(here.theta)))) * here.noise:
            return True
        move = replace(move, share=1.0)
        self.last, self._ahead = (here, move), here.theta + move.whole
        return False

    def _judge_exact(self, move: Move, k: int, left: float) -> Status | None:
        """Say whether the gradient is small enough; the last step is made, since no draws are needed to judge it."""
        if left > self._limits.tol and move.share > 0:
            return None
        self.theta = self._ahead
        if left > self._limits.tol:
            return stalled(k)
        said = f"Converged in {count(k, 'iteration')}: the smallest subgradient is down to {left:.2g}"
        return Status("converged", f"{said}, without simulation error.")

    def look_again(self, here: Stand, n: int) -> Stand:
        """Make so many draws where there are some, with random numbers of their own."""
        self._n_made += 1
        return replace(self._look(here.theta, n), missing=here.missing)

    def _return_to_start(self, k: int, n: int, *, is_last: bool) -> Status | None:
        """Go on with more draws where the objective is not known to be below that of the start, or return to that."""
        if not is_last:
            self._has_retried = True
            self._n_draws = self._n_now = min(MOST_DRAWS, _GROWTH * n)
            return None
        assert self._first is not None
        self._n_made += 1
        self.theta, there = self._first.theta, self._look(self._first.theta, n)
        self.last = self._find_move(there)
        status = say_noise(*self.last, k, is_limited=self.last[1].predicted > _NOISE * self.last[0].noise)
        return replace(status, sentence=f"{status.sentence} {_RETURNED}")

    def _find_move(self, there: Stand) -> tuple[Stand, Move]:
        """Find the step that the draws at some parameters suggest, and what missing values take from the curvature."""
        move = find_move(there.problem, there.draws, there.theta, there.moments, self._reach)
        self._reach = move.reach
        return replace(there, missing=missing_share(there, move)), move


def _at_least(n_draws: int, theta: Matrix) -> int:
    """Return a number of draws that is enough for a covariance of what is not zero."""
    return max(n_draws, min(MOST_DRAWS, 2 * DRAWS_EACH * count_once(theta)))


def _most_agreed(size: int) -> int:
    """Return how many draws are made at most so that seeds agree, with so many slots or features."""
    return max(1, min(MOST_DRAWS, _MOST_AGREED // max(1, size)))


def _wanted_draws(n_nonzero: int, gap: float) -> int:
    """Return the draws with which noise costs about the gap: nonzeros / (2 n) in the objective."""
    return int(min(np.ceil(max(1, n_nonzero) / (2 * gap)), MOST_DRAWS))
