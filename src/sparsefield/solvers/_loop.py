"""The loop of all solvers: limits, interrupts, the trace, and how a fit ended."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from sparsefield._deadline import OutOfTimeError, until
from sparsefield.data import count
from sparsefield.fits import Status, StepInfo
from sparsefield.inference import OutOfReachError

Watch = Callable[[StepInfo], None]


@dataclass(frozen=True)
class Limits:
    """When a fit ends at the latest.

    Parameters
    ----------
    max_iter : int
        Iterations at most.
    tol : float
        The fit has converged when what an iteration says is left to do (`StepInfo.violation`) is at most this.
    max_seconds : float, optional
        Time after which no further iteration is begun, and one that is under way ends.
    began : float, optional
        When the fit began, by `time.perf_counter`: what was done before the first iteration counts too; now unless
        given.
    """

    max_iter: int
    tol: float = 1e-4
    max_seconds: float | None = None
    began: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.max_iter, int | np.integer) or self.max_iter < 1:
            raise ValueError(f"max_iter is {self.max_iter}: use a whole number from one on.")
        if not self.tol >= 0:
            raise ValueError(f"tol is {self.tol}: use a number from zero on.")
        if self.max_seconds is not None and not self.max_seconds >= 0:
            raise ValueError(f"max_seconds is {self.max_seconds}: use a number from zero on, or None for no limit.")
        if self.began is None:
            object.__setattr__(self, "began", time.perf_counter())

    @property
    def clock(self) -> float:
        """When the fit began, by `time.perf_counter`."""
        assert self.began is not None  # since it was made
        return self.began

    @property
    def is_over(self) -> bool:
        """Whether the time is up."""
        return time.perf_counter() >= self.end

    @property
    def end(self) -> float:
        """When the fit ends, by the same clock."""
        return np.inf if self.max_seconds is None else self.clock + self.max_seconds


class Method(Protocol):
    """What a solver adds to the loop."""

    def advance(self) -> StepInfo:
        """Make one iteration, and keep what it leads to."""
        ...

    def judge(self, steps: Sequence[StepInfo]) -> Status | None:
        """Say whether there is nothing left to gain, and why."""
        ...


def run(method: Method, limits: Limits, watch: Watch | None = None) -> tuple[tuple[StepInfo, ...], Status]:
    """Make iterations until there is nothing left to gain, a limit is reached, or somebody interrupts.

    What was reached by then is kept: an interrupt ends a fit, and so do draws that get out of reach after the first
    iteration. An iteration that is under way when the time is up does not count.

    Parameters
    ----------
    method : Method
        The solver.
    limits : Limits
        When to end at the latest.
    watch : callable, optional
        Called with each StepInfo.

    Returns
    -------
    tuple of StepInfo
        The iterations.
    Status
        How it ended.
    """
    clock = limits.clock
    steps: list[StepInfo] = []
    status = _check_time(limits, time.perf_counter() - clock, 0)
    try:
        while status is None:
            began = time.perf_counter()
            with until(limits.end):
                info = replace(method.advance(), seconds=time.perf_counter() - clock)
                steps.append(info)
                if watch is not None:
                    watch(info)
                status = method.judge(steps) or _check_count(limits, info)
            # An iteration takes as long as the last one at least: where it would not fit, it is not begun.
            status = status or _check_time(limits, 2 * time.perf_counter() - began - clock, info.iteration)
    except KeyboardInterrupt:
        status = Status(
            "interrupted", f"Interrupted after {count(len(steps), 'iteration')}: this is what there was by then."
        )
    except OutOfTimeError:
        status = _say_time(limits, len(steps))
    except OutOfReachError as error:
        if not steps:
            raise
        status = Status("not_certified", f"Stopped after {count(len(steps), 'iteration')}. {error}")
    return tuple(steps), status


def _check_count(limits: Limits, info: StepInfo) -> Status | None:
    """Say whether there were as many iterations as there may be."""
    if info.iteration >= limits.max_iter:
        return Status(
            "max_iter",
            f"Stopped after max_iter = {count(limits.max_iter, 'iteration')}{info.progress}: raise max_iter to go on.",
        )
    return None


def _check_time(limits: Limits, expected: float, n_made: int) -> Status | None:
    """Say whether the time is up, or would be after another iteration."""
    if limits.max_seconds is None or expected < limits.max_seconds:
        return None
    return _say_time(limits, n_made)


def _say_time(limits: Limits, n_made: int) -> Status:
    """Say after how long the time was up."""
    seconds = time.perf_counter() - limits.clock
    after = count(n_made, "iteration") if n_made else "before the first iteration: this is where it started"
    return Status(
        "max_seconds", f"Stopped after {seconds:.1f} s {'and ' if n_made else ''}{after}. Raise max_seconds to go on."
    )


def stalled(n_made: int) -> Status:
    """Say that no step leads down any more, though there should be one."""
    said = f"Stopped after {count(n_made, 'iteration')}: no step, however short, lowers the objective any further."
    return Status("stalled", said)
