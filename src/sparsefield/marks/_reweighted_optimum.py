"""The optimum that draws at some parameters lead to: what the exact one is, but for their noise."""

from __future__ import annotations

from functools import partial

import numpy as np

from sparsefield._deadline import check_time
from sparsefield._typing import Mask, Matrix
from sparsefield.gradients import Estimate
from sparsefield.inference import Draws
from sparsefield.marks._curvatures import WholeModel, is_feasible
from sparsefield.model import count_once, scatter
from sparsefield.objective import RARE, Penalty, Problem
from sparsefield.solvers import move_gradients

# This share of the draws must still count at the optimum that they lead to; else they say little of it, and all is
# marked.
LEAST_SHARE = 0.3

# Moves whose norm by the curvature is below a fifth of 1 / sqrt(n) change no parameter and no gradient by more than a
# fifth of its standard error (the inequality of Cauchy and Schwarz). All of that in one of them would make 0.991 of a
# confidence of 0.995.
SETTLED = 0.2
MOST_ROUNDS = 30

# The curvature is that of the draws as they are, and not as they are reweighted. Where it is too small by up to a half,
# whole moves go there and back again with errors that fall slowly: moves are halved where the squared norm of a move is
# more than half that of the last one. (The Senate at alpha 0.12 takes 8 rounds in place of 20, and at 0.15 they went on
# for ever.)
SLOWEST, SHORTEST = 0.5, 0.25

# Quadratic models are minimised to this share of the largest violation, and once a round moves no parameter by more
# than its standard error, to a fifth of the noise, 2 / n, of a mean over n draws to which four of them contribute.
INNER_TOL = 0.03


def reweight_to_optimum(
    problem: Problem,
    theta: Matrix,
    draws: Draws,
    estimate: Estimate,
    active: Mask,
    margins: Matrix | float = 0.0,
) -> tuple[Matrix, Matrix, float] | None:
    """Find the optimum that draws at theta lead to, by Newton steps on the draws as they are reweighted.

    Gradients are followed over a working set. Once the optimum over that is found, those of all others say whether any
    of them is to join it.

    Parameters
    ----------
    problem : Problem
        What is minimised.
    theta : ndarray of shape (size, size)
        Where the draws were made.
    draws : Draws
        The draws.
    estimate : Estimate
        Moments of these draws, or of more.
    active : ndarray of shape (size, size), bool
        What the first step is about. Others join where they violate optimality.
    margins : ndarray of shape (size, size) or float
        Gradients of zeros may be rough where they are further than this from what parameters pay.

    Returns
    -------
    tuple of ndarray, ndarray and float, or None
        The optimum, the gradient of the smooth part there, and the number of draws that count there. None if the draws
        do not reach that far.
    """
    n = estimate.n_chains
    size, finest = SETTLED / np.sqrt(n), SETTLED * np.sqrt(RARE) / n
    start = problem.gradient(problem.see(estimate.moments))
    gradient = start.copy()
    there, model, is_near = theta, None, False
    stride, last = 1.0, np.inf
    for _ in range(MOST_ROUNDS):
        check_time()
        if model is None or not is_near:
            violation = problem.penalty.sizes(problem.subgradient(there, gradient))
        if model is None:
            active = active | (violation > finest)
            if not is_feasible(count_once(active), draws, WholeModel):
                return None
            model = WholeModel(problem, draws, active)
            a, b = model.quadratic.first, model.quadratic.second
        tol = finest if is_near else max(finest, INNER_TOL * float(violation[a, b].max(initial=0.0)))
        moves, decrement = model.minimise(there, gradient, tol)
        is_settled, is_near = tol == finest and decrement <= size**2, decrement <= 1 / n
        if decrement > SLOWEST * last:
            stride = max(SHORTEST, stride / 2)
        last = decrement
        there = there + scatter(a, b, stride * moves, len(theta))
        values = draws.along(there - theta)
        log_mean, share = draws.reweight(values)
        if share < LEAST_SHARE:
            return None
        ratios = np.exp(values - log_mean)
        gradient[a, b] = gradient[b, a] = start[a, b] + draws.project_onto(ratios, a, b)
        if is_settled:
            gradient = move_gradients(start, draws, ratios, partial(_find_near, problem.penalty, active, margins))
            violation = problem.penalty.sizes(problem.subgradient(there, gradient))
            if not np.any(~active & (violation > finest)):
                return there, gradient, share * n
            model = None
    return None


def _find_near(penalty: Penalty, active: Mask, margins: Matrix | float, rough: Matrix, error: float) -> Mask:
    """Mark the gradients of a working set, and those that rough ones do not show to be far from what parameters pay."""
    assert penalty.weights is not None
    return np.asarray(active | (penalty.sizes(rough) + (margins + error) >= penalty.weights))
