"""How far theta is above the optimum at most: by enumeration, or from draws made for it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sparsefield._typing import Matrix
from sparsefield.certificates import check_confidence
from sparsefield.gradients import Simulation
from sparsefield.inference import MOST_ENTRIES, Backend, Cpu
from sparsefield.objective import Problem
from sparsefield.optimality._exact_gap import bound_by_states, can_enumerate, polish, rounding
from sparsefield.optimality._gap_bound import GapBound
from sparsefield.optimality._gap_by_draws import walk_to_gap
from sparsefield.optimality._policy import GAPS, GapPolicy


def bound_gap(
    problem: Problem,
    theta: Matrix,
    *,
    n_draws: int = 200_000,
    confidence: float = 0.99,
    seed: int = 0,
    backend: Backend | None = None,
    max_states: int = MOST_ENTRIES,
    policy: GapPolicy = GAPS,
) -> GapBound:
    """Bound how far the objective at theta is above its optimum.

    Small fields are enumerated. Elsewhere two batches of exact draws are made: the first chooses what a feasible
    distribution is to be like, and the second judges. Where theta is far from the optimum, Newton steps are made first,
    each on a batch of its own, and the fall of the objective is measured on another one.

    Parameters
    ----------
    problem : Problem
        Whose gap it is; its data term must be the same for every model.
    theta : ndarray of shape (size, size)
        Parameters that do not depend on the draws made here, laid out as in `Problem`.
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
    policy : GapPolicy
        Tuning constants.

    Examples
    --------
    >>> import numpy as np
    >>> import sparsefield as sf
    >>> from sparsefield.objective import Problem
    >>> from sparsefield.optimality import bound_gap
    >>> table = sf.datasets.make_field(8, seed=1).sample(2000, method="perfect", seed=1)
    >>> fit = sf.learn(table, 0.05, seed=1)
    >>> problem = Problem.with_l1(sf.data.moments_of_table(table), table.domain, fit.alpha, fit.penalize_main)
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
    if can_enumerate(problem, max_states):
        return _enumerate_gap(problem, theta, backend)
    simulation = Simulation(n_draws, seed, backend=backend)
    found = walk_to_gap(problem.linearised(theta), theta, simulation, confidence, policy=policy)
    # That the linear problem is lower elsewhere does not say that this one is.
    return found if problem.penalty.bends is None else replace(found, lower=0.0)


def _enumerate_gap(problem: Problem, theta: Matrix, backend: Backend) -> GapBound:
    """Walk to the optimum by exact steps, and bound what is left there."""
    if problem.penalty.weights is None:
        return GapBound(kind="exact", why="the penalty is not a sum over parameters")
    end, fall = polish(problem, theta, backend)
    allowance = rounding(problem, theta, end)
    bound = max(0.0, fall + bound_by_states(problem.linearised(end), end, backend)) + allowance
    why = "" if np.isfinite(bound) else "free parameters have no optimum, or none that is found"
    lower = max(0.0, fall - allowance)
    better = end if lower > 0 else None
    return GapBound(bound, "exact", bound, lower, estimate=max(0.0, fall), better=better, why=why)
