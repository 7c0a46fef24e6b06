"""The fast solver: a few proximal Newton steps, with more draws from one to the next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from numbers import Real

import numpy as np

from sparsefield._typing import Matrix
from sparsefield.fits import Fit, Status, StepInfo
from sparsefield.gradients import Drawn, Known, Schedule, Simulation
from sparsefield.inference import check_request
from sparsefield.objective import Problem, describe_penalty
from sparsefield.solvers._loop import Limits, Watch, run
from sparsefield.solvers._newton import (
    NewtonState,
    NewtonTask,
    afford,
    decide,
    draw,
    end,
    init,
    look,
    return_unless_lower,
    step,
)
from sparsefield.solvers._newton_policy import NEWTON, NewtonPolicy
from sparsefield.solvers._newton_status import add_advice
from sparsefield.solvers._newton_step import Move


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
    policy: NewtonPolicy = NEWTON,
) -> Fit:
    """Make Newton steps, with more draws from step to step, until what is left to gain is lost in their errors.

    Each step is judged at its end, on draws that had no part in choosing it: one that leads up is taken back, and one
    that is not worth its simulation error is not made. A fit whose objective is not surely below that of its start is
    the start.

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
        How far above its optimum the objective may be, on average: the simulation error of n draws costs about
        nonzeros / (2 n), which chooses n, up to four million. There are at least as many draws as it takes until their
        simulation error is not expected to make an edge (`draws_for_penalty`), up to 65,536, to the number of rows, or
        to what the gap would ask for were all parameters not zero.
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
    policy : NewtonPolicy
        Tuning constants.
    """
    limits, simulation = Limits(max_iter, tol, max_seconds, began), simulation or Simulation()
    return run_newton(problem, schedule, simulation, limits, start, gap, agreement, watch, policy=policy).fit()


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
    last : (Drawn, Move), optional
        Draws at the end, or exact moments there, and the step that they suggest; nothing where there were none.
    more : callable
        Makes so many draws at the end, which may be more than there are.
    afford : callable
        Returns so many draws, or as many as there is time for.
    """

    problem: Problem
    theta: Matrix
    steps: tuple[StepInfo, ...]
    status: Status
    last: tuple[Drawn, Move] | None
    more: Callable[[Drawn, int], Drawn]
    afford: Callable[[int], int]

    @property
    def known(self) -> Known | None:
        """Return the draws at the end, where there are some, or the states that were enumerated last."""
        if self.last is None:
            return None
        here, _ = self.last
        return here.near(self.theta) or (here if np.array_equal(here.theta, self.theta) else None)

    def fit(self) -> Fit:
        """Return the fit, of which nothing is marked yet."""
        model, facts = self.problem.model(self.theta), describe_penalty(self.problem.penalty)
        return Fit(model, add_advice(self.status, self.steps), self.steps, None, **facts)


def run_newton(
    problem: Problem,
    schedule: Schedule,
    simulation: Simulation,
    limits: Limits,
    start: Matrix | None,
    gap: float,
    agreement: float | None,
    watch: Watch | None,
    *,
    known: Drawn | None = None,
    policy: NewtonPolicy = NEWTON,
) -> NewtonEnd:
    """Make Newton steps as `solve_newton` does, and return their end; from draws that are known, where there are."""
    check_request(simulation.n_chains, simulation.seed)
    check_gap(gap)
    task = NewtonTask(schedule, simulation, limits, float(gap), agreement, policy)
    method = _NewtonSteps(task, init(task, problem, start, known))
    steps, status = run(method, limits, watch)
    method.state, status = return_unless_lower(task, method.state, status)
    state = method.state
    return NewtonEnd(problem, state.theta, steps, status, state.last, method.look_again, method.afford)


def check_gap(gap: float) -> None:
    """Refuse what is not a gap."""
    if not (isinstance(gap, Real) and gap > 0):
        raise ValueError(f"gap is {gap!r}: use a positive number.")


class _NewtonSteps:
    """Newton steps for the loop, and for what looks again at their end: the one place where states change."""

    def __init__(self, task: NewtonTask, state: NewtonState) -> None:
        self._task, self.state = task, state

    def advance(self) -> StepInfo:
        """Look where the last step led, and find the next one.

        Seeds turn first, so that those of a look that does not come to its end are not used again.
        """
        self.state = self.state.turned()
        self.state, arrival = look(self._task, self.state)
        self.state, info = step(self._task, self.state, arrival)
        return info

    def judge(self, steps: Sequence[StepInfo]) -> Status | None:
        """Decide what comes next, and say whether there is nothing left to gain, and why."""
        self.state = decide(self._task, self.state, steps[-1].violation)
        return end(self._task, self.state, len(steps))

    def look_again(self, here: Drawn, n: int) -> Drawn:
        """Make so many draws where there are some, with random numbers of their own."""
        self.state = self.state.turned()
        self.state, there = draw(self._task, self.state, here.theta, n)
        return replace(there, missing=here.missing)

    def afford(self, n: int) -> int:
        """Return so many draws, or as many as there is time for; as many as last time at least."""
        return afford(self._task, self.state, n)
