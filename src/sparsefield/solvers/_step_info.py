"""What the steps of both solvers on draws have in common: how a row of the trace is made."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsefield._typing import Matrix
from sparsefield.fits import NewtonStep
from sparsefield.gradients import Estimate, Known
from sparsefield.inference import States, count_states
from sparsefield.model import count_once, inner_once, norm, norm_of_rows
from sparsefield.objective import Problem, variances_of
from sparsefield.solvers._decrease import Fall
from sparsefield.solvers._newton_step import Move

# Fields up to this size have their objective computed in every iteration. That takes 0.5 ms with 2^10 states and 1.7 ms
# with 2^12; the rest of a gradient step on 2000 exact draws of 10 variables takes 1.3 ms (`make bench-constants`).
_STATES_TRACKED = 2**12


def is_small(problem: Problem) -> bool:
    """Say whether the objective is computed in every iteration.

    It is that of the data as they are: where missing values are filled it is another one.
    """
    return count_states(problem.domain) <= _STATES_TRACKED and problem.data.is_fixed


def find_objective(problem: Problem, theta: Matrix, states: States | None) -> float | None:
    """Return the objective of a small field, or that which all states tell of; None where it is not known."""
    if states is None or not problem.data.is_fixed:
        return problem.objective(theta) if is_small(problem) else None
    return states.log_normaliser - inner_once(theta, problem.target) + problem.penalty.value(theta)


def check_start(problem: Problem, start: Matrix | None) -> Matrix:
    """Return the parameters to start from, zero unless given."""
    size = problem.coordinates.size
    theta = np.zeros((size, size)) if start is None else np.array(start, dtype=np.float64)
    if theta.shape != (size, size) or not np.array_equal(theta, theta.T):
        raise ValueError(f"start must be a symmetric matrix of shape {(size, size)}.")
    return theta


def describe(iteration: int, estimate: Estimate, problem: Problem, violation: Matrix, theta: Matrix) -> dict[str, Any]:
    """Return what a StepInfo says of a step to theta whose gradient was estimated with the data of a problem.

    `violation` is the step map or the smallest subgradient: simulation error counts where it is not zero.
    """
    data, counted = problem.data, violation != 0
    certificate, caveat = estimate.certificate, data.caveat
    if certificate is not None and certificate.simulation_error and np.isfinite(data.n_effective):
        caveat = caveat or "the simulation error of missing values is not part of the bound"
    if caveat:  # what fills missing values has no certificate, so neither has the gradient
        certificate = None
    return {
        "iteration": iteration,
        "n_sweeps": estimate.n_sweeps,
        "n_chains": estimate.n_chains,
        "certificate": None if certificate is None else certificate.total,
        "confidence": None if certificate is None else certificate.confidence,
        "is_certified": estimate.is_certified and not caveat,
        "is_promised": estimate.is_promised and not caveat,
        "simulation_error_norm": math.hypot(
            _error_norm(problem, estimate, counted), data.simulation_error(problem.coordinates.spread(counted))
        ),
        "n_nonzero": count_once(theta),
        "seconds": 0.0,  # told by the loop
        "reason": f"{estimate.reason}; {caveat}" if caveat else estimate.reason,
        "remedy": "" if caveat else estimate.remedy,
        "condition": "" if certificate is None else certificate.condition,
    }


def describe_newton(
    iteration: int, here: Known, objective: float | None, fall: Fall | None, move: Move | None
) -> NewtonStep:
    """Return a row of the trace: where a step led, which lowered the objective so much, and the next move from there.

    Without a move the step was taken back.
    """
    assert here.estimate is not None  # since it was looked at
    violation = here.problem.violation(here.theta, here.moments)
    said = describe(iteration, here.estimate, here.problem, violation, here.theta)
    if move is None:
        said["reason"] += "; taken back, since the objective is no lower here"
    return NewtonStep(
        **said,
        objective=objective,
        subgradient_norm=norm(violation),
        share=0.0 if move is None else move.share,
        predicted=None if move is None else move.predicted,
        decrease=None if fall is None else fall.decrease,
        effective=None if move is None else move.effective,
    )


def _error_norm(problem: Problem, estimate: Estimate, counted: NDArray[np.bool_]) -> float:
    """Return the expected norm of the simulation error in those entries that are not thresholded away."""
    if estimate.is_exact:
        return 0.0
    seen, n = problem.see(estimate.moments), estimate.n_chains
    return norm_of_rows(lambda rows: np.sqrt(variances_of(seen, rows) / n) * counted[rows], len(counted))
