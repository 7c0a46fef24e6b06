"""Marks of a fit: what simulation error leaves open, by draws at its end that had no part in choosing it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sparsefield._deadline import OutOfTimeError, until
from sparsefield._rounding import at_most
from sparsefield._typing import Mask, Matrix
from sparsefield.data import count
from sparsefield.fits import Fit, Status
from sparsefield.gradients import Schedule, Simulation
from sparsefield.marks._parameter_marks import find_undecided
from sparsefield.marks._policy import MARKS, MarksPolicy
from sparsefield.objective import Problem
from sparsefield.solvers import (
    NEWTON,
    Limits,
    NewtonEnd,
    NewtonPolicy,
    find_edge_errors,
    find_spread,
    run_newton,
)
from sparsefield.solvers import WatchSteps as Watch


def fit_newton(
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
    marks: MarksPolicy = MARKS,
) -> Fit:
    """Make Newton steps as `solve_newton` does, and mark what simulation error leaves open."""
    limits, simulation = Limits(max_iter, tol, max_seconds, began), simulation or Simulation()
    end = run_newton(problem, schedule, simulation, limits, start, gap, agreement, watch, policy=policy)
    return mark(end, limits, policy=marks)


def mark(end: NewtonEnd, limits: Limits, *, policy: MarksPolicy = MARKS) -> Fit:
    """Return the fit at the end of Newton steps, with marks and simulation error where there is time for them."""
    status, undecided, spread = end.status, None, None
    try:
        if status.code not in ("interrupted", "max_seconds"):
            with until(limits.end):
                spread = _find_spread(end)
                undecided = _find_undecided(end, policy=policy)
    except OutOfTimeError:
        said = f"{status.sentence} There was no time to mark what simulation error leaves open."
        status = replace(status, sentence=said)
    except KeyboardInterrupt:
        said = f"Interrupted after {count(len(end.steps), 'iteration')}, while what simulation error leaves open"
        status = Status("interrupted", f"{said} was marked.")
    if spread:
        said = f"Simulation error: weights of another seed and as many draws differ by {at_most(spread)} at most."
        status = replace(status, sentence=f"{status.sentence} {said}")
    return replace(replace(end, status=status).fit(), undecided=undecided, spread=spread)


def _find_undecided(end: NewtonEnd, *, policy: MarksPolicy) -> Mask | None:
    """Mark what simulation error leaves open, by the draws at the end of the last step, which had no say in it.

    None where that is not known: of exact moments whose optimum was not reached, or with missing values whose draws
    alone are random, and where there were no draws.
    """
    if end.last is None:
        return None
    here, _ = end.last
    nothing = np.zeros((end.problem.domain.n_slots,) * 2, dtype=bool)
    if here.is_exact:
        return nothing if end.status.code == "converged" else None
    if end.problem.penalty.keeps_support:
        return nothing
    if here.estimate.is_exact:
        return None
    most = min(policy.growth**policy.most_looks * here.n_asked, policy.most_draws)
    while True:
        marks = find_undecided(here, policy=policy)
        n = end.afford(policy.growth * here.n_asked)
        if marks is None or n <= here.n_asked or n > most:
            return marks
        is_edge = np.triu(end.problem.model(here.theta).interactions != 0, 1)
        if np.count_nonzero(marks & is_edge) <= policy.most_marked * np.count_nonzero(is_edge):
            return marks
        here = end.more(here, n)


def _find_spread(end: NewtonEnd) -> float | None:
    """Return by how much weights of another seed differ at most; None where that is not known."""
    if end.last is None or end.status.code not in ("converged", "simulation_error"):
        return None
    here, move = end.last
    if here.is_exact:
        return 0.0
    return find_spread(find_edge_errors(here, move), here)
