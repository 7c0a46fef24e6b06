"""Safeguard: no fit is worse than its start."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sparsefield._deadline import OutOfTimeError, until
from sparsefield._typing import Matrix
from sparsefield.fits import Fit, Status
from sparsefield.gradients import BestDraws, Drawn, Point, Simulation
from sparsefield.objective import Problem
from sparsefield.solvers._batched_estimate import estimate_in_batches
from sparsefield.solvers._decrease import measure_decrease
from sparsefield.solvers._loop import Limits
from sparsefield.solvers._newton_policy import NEWTON, NewtonPolicy
from sparsefield.solvers._newton_status import RETURNED
from sparsefield.solvers._proximal_policy import PROXIMAL, ProximalPolicy


def keep_if_lower(
    problem: Problem,
    fit: Fit,
    start: Matrix | None,
    simulation: Simulation,
    limits: Limits,
    *,
    policy: ProximalPolicy = PROXIMAL,
    newton: NewtonPolicy = NEWTON,
) -> Fit:
    """Return a fit, or its start where the objective is not surely lower than there, by fresh draws.

    Gradient steps have no objective: steps that are too long, or on few sweeps, may lead up.

    Parameters
    ----------
    problem : Problem
        What is minimised, with missing values that are drawn from seeds of their own.
    fit : Fit
        The fit.
    start : ndarray of shape (n_slots, n_slots), optional
        Where it began; at zero unless given.
    simulation : Simulation
        Draws to begin with, their seed, and what makes them.
    limits : Limits
        When to end at the latest.
    policy, newton : ProximalPolicy and NewtonPolicy
        Tuning constants.
    """
    theta = problem.theta(fit.model)
    first = np.zeros_like(theta) if start is None else start
    if fit.status.code == "interrupted" or np.array_equal(theta, first):
        return fit
    try:
        with until(limits.end):
            is_lower = _is_lower(problem, first, theta, len(fit.steps), simulation, policy, newton)
    except OutOfTimeError:
        said = "There was no time to compare it with its start."
    except KeyboardInterrupt:
        status = Status("interrupted", f"{fit.status.sentence} Interrupted while it was compared with its start.")
        return replace(fit, status=status)
    else:
        if is_lower:
            return fit
        fit = replace(fit, model=problem.model(first))
        said = RETURNED
    return replace(fit, status=replace(fit.status, sentence=f"{fit.status.sentence} {said}"))


def _is_lower(
    problem: Problem,
    first: Matrix,
    theta: Matrix,
    n_made: int,
    simulation: Simulation,
    policy: ProximalPolicy,
    newton: NewtonPolicy,
) -> bool:
    n = simulation.n_chains
    for attempt in range(1, policy.most_tries + 1):
        before = problem.with_data(problem.data.given(problem.model(first), n))
        point = Point(n_made + attempt, theta, problem.model(theta), 1.0)
        estimate = estimate_in_batches(problem, point, BestDraws(), replace(simulation, n_chains=n), policy=newton)
        there = Drawn.at(problem, point, estimate, simulation, n)
        decrease, error = measure_decrease(first, before, there, policy=newton)
        if abs(decrease) > newton.surely * error or n >= newton.most_draws:
            break
        n = min(newton.most_draws, policy.growth * n)
    return decrease > newton.surely * error
