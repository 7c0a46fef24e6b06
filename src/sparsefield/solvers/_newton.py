"""Proximal Newton steps on draws whose covariance is the curvature: from one frozen state to the next."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from sparsefield._typing import Matrix
from sparsefield.fits import NewtonStep, Status
from sparsefield.gradients import Drawn, Point, Schedule, Simulation
from sparsefield.model import count_once
from sparsefield.objective import Problem
from sparsefield.solvers._batched_estimate import estimate_in_batches
from sparsefield.solvers._decrease import Fall, Gain, measure_decrease, measure_fall, missing_share
from sparsefield.solvers._draw_budget import Budget, begin_budget, grow, is_enough, plan_draws, seek_agreement
from sparsefield.solvers._loop import Limits
from sparsefield.solvers._newton_policy import NewtonPolicy
from sparsefield.solvers._newton_status import RETURNED, Ending, say_ending
from sparsefield.solvers._newton_step import Move, find_move
from sparsefield.solvers._sparse_step import NEAREST
from sparsefield.solvers._step_info import check_start, describe_newton, find_objective


@dataclass(frozen=True, eq=False)
class NewtonTask:
    """What is asked of Newton steps, the same for all of them.

    Parameters
    ----------
    schedule, simulation, gap, agreement
        As of `solve_newton`.
    limits : Limits
        When to end at the latest.
    policy : NewtonPolicy
        Tuning constants.
    """

    schedule: Schedule
    simulation: Simulation
    limits: Limits
    gap: float
    agreement: float | None
    policy: NewtonPolicy


@dataclass(frozen=True, eq=False)
class NewtonState:
    """Where Newton steps stand: all that the next one goes on from.

    Parameters
    ----------
    problem : Problem
        What is minimised, with the data as they were completed last: those that come next have other seeds.
    theta : ndarray of shape (n_slots, n_slots)
        The parameters.
    budget : Budget
        How many draws there are.
    known : Drawn, optional
        Draws at the start that are at hand.
    here : Drawn, optional
        Draws at theta, once they are made.
    move : Move, optional
        The step that these suggest, as far as it is to be made next.
    gain : Gain, optional
        What was gained since the start.
    n_looks : int
        How often draws were made, with those that are to be made now: the number of their seeds.
    reach : int, optional
        How far the statistics of sparse curvatures are apart, as long as steps find them right.
    has_retried : bool
        Whether there were more draws since the objective was not surely below that of the start.
    is_settled : bool
        Whether the last step was a whole one of as many draws, and gained no more than its simulation error.
    ending : Ending, optional
        Why there is no next step.
    """

    problem: Problem
    theta: Matrix
    budget: Budget
    known: Drawn | None = None
    here: Drawn | None = None
    move: Move | None = None
    gain: Gain | None = None
    n_looks: int = 0
    reach: int | None = NEAREST
    has_retried: bool = False
    is_settled: bool = False
    ending: Ending | None = None

    @property
    def ahead(self) -> Matrix:
        """Where the step leads that is made next."""
        return self.theta if self.here is None or self.move is None else self.here.theta + self.move.made

    @property
    def last(self) -> tuple[Drawn, Move] | None:
        """Draws at theta, and the step that they suggest."""
        return None if self.here is None or self.move is None else (self.here, self.move)

    def turned(self) -> NewtonState:
        """Return the state whose next draws have seeds of their own."""
        return replace(self, n_looks=self.n_looks + 1)


@dataclass(frozen=True, eq=False)
class Arrival:
    """Draws where a step led, which had no part in choosing it.

    Parameters
    ----------
    there : Drawn
        The draws.
    fall : Fall, optional
        By how much the step lowered the objective, if one was made.
    n_whole : int, optional
        Draws that chose the step, where it was a whole one that is kept.
    """

    there: Drawn
    fall: Fall | None
    n_whole: int | None = None


def init(task: NewtonTask, problem: Problem, start: Matrix | None, known: Drawn | None = None) -> NewtonState:
    """Return the state before any draws, of steps that begin at some parameters, or at draws there that are known."""
    theta = check_start(problem, start if known is None else known.theta)
    budget = begin_budget(
        problem,
        theta,
        None if known is None else known.n_asked,
        task.gap,
        task.agreement,
        n_chains=task.simulation.n_chains,
        is_timed=task.limits.max_seconds is not None,
        policy=task.policy,
    )
    return NewtonState(problem, theta, budget, known)


def look(task: NewtonTask, state: NewtonState) -> tuple[NewtonState, Arrival]:
    """Make draws where the last step led, and measure on them by how much it lowered the objective.

    The state that is returned is there, unless the step led up. It holds no draws of before, nor their moments, which
    are not needed any more and may be large.
    """
    n = afford(task, state, state.budget.n_next)
    state = replace(state, budget=replace(state.budget, n_next=n))
    state, there = draw(task, state, state.ahead, n)
    before, move, fall, n_whole = state.here, state.move, None, None
    if before is not None and move is not None and move.share > 0:
        state, problem = _complete_anew(state, before)
        fall = measure_fall(replace(before, problem=problem), move, there, policy=task.policy)
        if not fall.is_down:
            return state, Arrival(there, fall)
        n_whole = before.n_asked if move.share == 1 else None
    gain = Gain(there.theta, there.problem, there.n_asked) if state.gain is None else state.gain
    gain = gain if fall is None else gain.add(fall)
    return replace(state, theta=there.theta, here=None, move=None, gain=gain), Arrival(there, fall, n_whole)


def step(task: NewtonTask, state: NewtonState, arrival: Arrival) -> tuple[NewtonState, NewtonStep]:
    """Keep the step that led here, and find the next one; or take it back, and make a shorter one."""
    there, fall = arrival.there, arrival.fall
    if fall is not None and not fall.is_down:
        return _take_back(task, state, fall), _describe(state, there, fall, None)
    here, move = _find_move(task, state, there)
    is_spent = _is_spent(task, here, arrival)
    if not here.is_exact and (is_spent or move.predicted <= task.policy.noise * here.simulation_error):
        move = replace(move, share=0.0)
    budget = plan_draws(state.budget, here, move, task.gap, policy=task.policy)
    is_settled = is_spent and is_enough(arrival.n_whole or 0, here.n_asked, task.policy)
    state = replace(state, here=here, move=move, reach=move.reach, budget=budget, is_settled=is_settled)
    return state, _describe(state, here, fall, move)


def end(task: NewtonTask, state: NewtonState, n_steps: int) -> Status | None:
    """Say whether there is nothing left to gain, and why: by the gradient, or by as many draws as the gap asks for."""
    if state.ending is None or state.here is None or state.move is None:
        return None
    status = say_ending(state.ending, state.here, state.move, n_steps)
    agreed = state.budget.agreed
    if (
        state.ending.kind != "simulation error"
        or task.agreement is None
        or is_enough(state.here.n_asked, agreed, task.policy)
    ):
        return status
    said = f"{task.agreement:.0%} of the edges would be those of another seed with {agreed:.2g} draws."
    return replace(status, sentence=f"{status.sentence} {said}")


def afford(task: NewtonTask, state: NewtonState, n: int) -> int:
    """Return so many draws, or as many as there is time for; as many as last time at least."""
    seconds = task.limits.end - time.perf_counter()
    return n if state.here is None else state.budget.afford(n, state.here.n_asked, seconds)


def draw(task: NewtonTask, state: NewtonState, theta: Matrix, n: int) -> tuple[NewtonState, Drawn]:
    """Make draws at some parameters, unless as many are known."""
    known, problem = state.known, state.problem
    if known is not None and known.n_asked >= n:
        problem = problem.with_data(known.problem.data)
        return replace(state, problem=problem, known=None), replace(known, problem=problem)
    clock = time.perf_counter()
    point = Point(state.n_looks, theta, problem.model(theta), 1.0)
    problem = problem.with_data(problem.data.given(point.model, n))
    simulation = replace(task.simulation, n_chains=n)
    estimate = estimate_in_batches(problem, point, task.schedule, simulation, policy=task.policy)
    budget = replace(state.budget, pace=(time.perf_counter() - clock) / n)
    there = Drawn.at(problem, point, estimate, task.simulation, n)
    return replace(state, problem=problem, known=None, budget=budget), there


def return_unless_lower(task: NewtonTask, state: NewtonState, status: Status) -> tuple[NewtonState, Status]:
    """Return to the start where a limit ended the fit, and its objective is not surely below that of the start."""
    gain = state.gain
    if gain is None or np.array_equal(state.theta, gain.theta):
        return state, status
    if state.here is not None and state.here.is_exact:
        return state, status
    state, is_lower = _is_lower(task, state)
    if is_lower:
        return state, status
    status = replace(status, sentence=f"{status.sentence} {RETURNED}")
    return replace(state, theta=gain.theta, here=None, move=None), status


def _find_move(task: NewtonTask, state: NewtonState, there: Drawn) -> tuple[Drawn, Move]:
    """Find the step that the draws at some parameters suggest, and what missing values take from the curvature."""
    move = find_move(there, state.reach, policy=task.policy)
    return replace(there, missing=missing_share(there, move, policy=task.policy)), move


def _complete_anew(state: NewtonState, before: Drawn | Gain) -> tuple[NewtonState, Problem]:
    """Draw the missing values before a step again: those that chose it speak for it, since it fits their errors."""
    if np.isinf(before.problem.data.n_effective):
        return state, before.problem
    data = state.problem.data.given(state.problem.model(before.theta), before.n_asked)
    return replace(state, problem=state.problem.with_data(data)), before.problem.with_data(data)


def _is_spent(task: NewtonTask, here: Drawn, arrival: Arrival) -> bool:
    """Say whether a whole step gained no more than its simulation error, where seeds are to agree.

    No further one is made then, since draws are soon to be many: where thousands of zeros are near their penalties,
    simulation error promises more than nonzeros / n for long.
    """
    if task.agreement is None or arrival.fall is None or arrival.n_whole is None:
        return False
    return arrival.fall.decrease <= here.simulation_error


def _take_back(task: NewtonTask, state: NewtonState, fall: Fall) -> NewtonState:
    """Stay, with more draws: where chance explains that a step led up, find another one, else make it shorter."""
    assert state.move is not None  # as there was a step
    policy, n = task.policy, state.budget.n_next
    move = state.move.taken_back(0.0 if fall.is_chance else policy.cut)
    budget = replace(state.budget, n_next=grow(n, 2 * n, policy))
    ending = Ending("stalled") if move.is_stalled(policy) else None
    return replace(state, move=move, budget=budget, ending=ending)


def decide(task: NewtonTask, state: NewtonState, left: float) -> NewtonState:
    """Decide what comes next: the step, one more look at the same place, more draws, the start again, or the end.

    What is left is the norm of the smallest subgradient. A step that was taken back is made shorter whatever it is.
    """
    if state.here is None or state.move is None or state.move.n_cuts > 0:
        return state
    here, move, policy, n = state.here, state.move, task.policy, state.here.n_asked
    is_optimal = left <= task.limits.tol
    if here.is_exact:
        if not is_optimal and move.share > 0:
            return state
        # The last step is made, since no draws are needed to judge it.
        return replace(state, theta=state.ahead, ending=Ending("optimal" if is_optimal else "stalled", left))
    if is_optimal:
        return replace(state, ending=Ending("optimal", left))
    is_limited = not here.estimate.is_exact and here.n < n  # by the schedule, which makes no more
    if move.share > 0 or not (is_limited or is_enough(n, state.budget.wanted, policy)):
        return state
    state, is_lower = _is_lower(task, state)
    if not is_lower and (is_limited or state.has_retried or n >= policy.most_draws):
        return _return_to_start(task, state, n)
    if not is_lower:
        return replace(state, has_retried=True, budget=state.budget.raised(grow(n, policy.most_draws, policy)))
    # More draws do not help where their bias is what they are off by, and edges are to be chosen by it.
    is_sound = here.estimate.is_certified or state.problem.penalty.keeps_support
    if task.agreement is not None and is_sound and not is_limited:
        budget, is_many = seek_agreement(state.budget, here, move, task.agreement, policy=policy)
        state = replace(state, budget=budget)
        if not is_many:
            return state
        if not (state.is_settled or _is_within_error(here, move)):
            return replace(state, move=replace(move, share=1.0))
    is_limited = is_limited or state.budget.wanted == policy.most_draws
    return replace(state, ending=Ending("simulation error", left, is_limited))


def _is_within_error(here: Drawn, move: Move) -> bool:
    """Say whether a step promises no more than the errors of the draws that led here and of those that suggest it.

    From what as many draws led to, a step is promised the simulation error of both, on average and but for a standard
    deviation of half a non-central chi-square. Where it is more, the draws here would choose better than those that led
    here. Zeros near their penalties promise more than that for ever: a step that gained no more than its simulation
    error ends it.
    """
    return bool(move.predicted <= (2 + np.sqrt(6 / max(1, count_once(here.theta)))) * here.simulation_error)


def _is_lower(task: NewtonTask, state: NewtonState) -> tuple[NewtonState, bool]:
    """Say whether the objective is surely no higher than at the start: step by step, or by the draws here at once.

    Draws near the start know best what a long way gained, and those at its end what a short one did.
    """
    gain, here, surely = state.gain, state.here, task.policy.surely
    if gain is None or gain.is_sure(surely):
        return state, True
    if here is None:
        return state, False
    state, problem = _complete_anew(state, gain)
    decrease, error = measure_decrease(gain.theta, problem, here, policy=task.policy)
    return state, decrease >= surely * error


def _return_to_start(task: NewtonTask, state: NewtonState, n: int) -> NewtonState:
    """Return to where the fit began, and find by draws there how far that is from the optimum."""
    assert state.gain is not None  # since there were draws
    state = replace(state.turned(), theta=state.gain.theta)
    state, there = draw(task, state, state.theta, n)
    here, move = _find_move(task, state, there)
    ending = Ending("start", is_limited=move.predicted > task.policy.noise * here.simulation_error)
    return replace(state, here=here, move=move, reach=move.reach, ending=ending)


def _describe(state: NewtonState, there: Drawn, fall: Fall | None, move: Move | None) -> NewtonStep:
    objective = find_objective(there.problem, there.theta, there.estimate.states)
    return describe_newton(state.n_looks, there, objective, fall, move)
