"""How far a fit can be above the optimum: what `certify` says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sparsefield._seeds import Use
from sparsefield.certificates import check_confidence
from sparsefield.data import Rows, check_rows
from sparsefield.fits import Fit, Optimality
from sparsefield.gradients import Simulation
from sparsefield.inference import MOST_ENTRIES, Backend, Cpu, OutOfReachError, check_seed
from sparsefield.model import PairwiseMRF
from sparsefield.objective import L1, Group, Observed, Problem, Ridge, expected_moments, make_penalty
from sparsefield.optimality._entropy_bound import USES, Means, bound_by_entropy, entropy_of
from sparsefield.optimality._exact_gap import can_enumerate, rounding
from sparsefield.optimality._gap import bound_gap
from sparsefield.optimality._gap_bound import GapBound
from sparsefield.optimality._policy import GAPS, GapPolicy
from sparsefield.solvers import WatchSteps as Watch

_OUT_OF_REACH = "there are neither exact draws nor a certificate for Gibbs chains at these parameters"
_NOT_CONVEX = "missing values that the model fills make the objective not convex"


def certify_rows(
    fit: Fit,
    rows: Rows,
    *,
    confidence: float = 0.99,
    n_draws: int = 200_000,
    seed: int = 0,
    backend: Backend | None = None,
    watch: Watch | None = None,
    max_states: int = MOST_ENTRIES,
    policy: GapPolicy = GAPS,
) -> Fit:
    """Bound how far the objective of a fit is above its optimum (duality gap), given the rows that it was fitted to.

    Parameters
    ----------
    fit : Fit
        A fit of penalised likelihood, or a relaxed one.
    rows : Rows
        The rows that count, in the codes of the fit, with missing values treated as the fit was told to; other rows are
        refused.
    confidence, n_draws, seed, backend, watch, max_states
        As for `learning.certify`.
    policy : GapPolicy
        Tuning constants.
    """
    check_certifiable(fit, confidence, n_draws, seed)
    check_rows(fit.settings, rows.table, rows.weights)
    if rows.table.domain.n_slots == 0:  # nothing to fit
        return replace(fit, optimality=Optimality(0.0, 0.0, 1.0, 0, kind="exact"))
    simulation = Simulation(n_draws, seed, backend=Cpu() if backend is None else backend)
    problem = problem_of(fit, rows, simulation.backend)
    options: dict[str, Any] = {"confidence": confidence, "max_states": max_states, "policy": policy}
    if rows.table.n_missing.any():
        found = assess_slope(problem, fit.model, simulation, **options)
    else:
        found = assess(problem, fit.model, entropy_of(rows), simulation, watch=watch, **options)
    return replace(fit, optimality=found.as_optimality(problem))


def check_certifiable(fit: Fit, confidence: float, n_draws: int, seed: int) -> None:
    """Refuse what cannot be certified, and draws that are none."""
    check_confidence(confidence)
    check_seed(seed)
    if _penalty_of(fit) is None:
        raise ValueError(
            "This fit is not one of the likelihood with an L1 or a group penalty on all parameters or on interactions "
            "alone, nor one of a support without it, and certify knows no other."
        )
    if n_draws < 2:
        raise ValueError(f"n_draws is {n_draws}: use at least two.")


def problem_of(fit: Fit, rows: Rows, backend: Backend | None = None) -> Problem:
    """Return the problem that a fit solved, with what the model expects of missing values given the observed cells."""
    penalty = _penalty_of(fit)
    assert penalty is not None
    moments, table, weights = rows.moments, rows.table, rows.weights
    if moments is None:
        moments = expected_moments(fit.model, table, np.ones(table.n_rows) if weights is None else weights, backend)
    unseen = rows.unseen(is_free=bool(penalty.frees_main))
    return Problem(Observed(unseen.fill(moments)), table.domain, penalty)


def _penalty_of(fit: Fit) -> L1 | Group | Ridge | None:
    """Return the penalty of a fit, or None where it is not known."""
    return make_penalty(fit.model.domain, fit.alpha, fit.penalty, fit.penalize_main, fit.support)


def assess(
    problem: Problem,
    model: PairwiseMRF,
    entropy: float,
    simulation: Simulation,
    *,
    confidence: float,
    max_states: int = MOST_ENTRIES,
    watch: Watch | None = None,
    policy: GapPolicy = GAPS,
) -> GapBound:
    """Bound how far the objective of a model is above its optimum, and its smallest subgradient.

    Parameters
    ----------
    problem : Problem
        Whose optimum it is; its data moments are those of a distribution with the given entropy at least.
    model : PairwiseMRF
        A model that does not depend on the draws made here.
    entropy : float
        That of the data.
    simulation : Simulation
        Draws of each batch, where random numbers start, and what makes the draws.
    confidence, max_states, watch
        As for `learning.certify`.
    policy : GapPolicy
        Tuning constants.
    """
    theta, n_draws, backend = problem.theta(model), simulation.n_chains, simulation.backend
    if can_enumerate(problem, max_states):
        return replace(bound_gap(problem, theta, backend=backend), subgradient=_largest_entry(problem, model, backend))
    risk = policy.entropy * (1 - confidence) / USES
    try:
        here = Means.of(problem, model, simulation, Use.HERE, risk, policy=policy)
    except OutOfReachError:
        return GapBound(kind="proven", confidence=confidence, why=_OUT_OF_REACH)
    # The data themselves are feasible only where the penalty is a norm.
    by_entropy, n_second = np.inf, 0
    if problem.penalty.bends is None:
        by_entropy, n_second = bound_by_entropy(problem, here, entropy, simulation, risk, watch, policy=policy)
    left = 1 - (1 - policy.entropy) * (1 - confidence)
    options: dict[str, Any] = {"seed": simulation.seed, "backend": backend, "max_states": 0, "policy": policy}
    found = bound_gap(problem, theta, n_draws=n_draws, confidence=left, **options)
    return replace(
        found.or_proven(by_entropy),
        subgradient=_bound_entry(here),
        confidence=confidence,
        n_draws=n_draws + n_second + found.n_draws,
    )


def assess_slope(
    problem: Problem,
    model: PairwiseMRF,
    simulation: Simulation,
    *,
    confidence: float,
    max_states: int = MOST_ENTRIES,
    policy: GapPolicy = GAPS,
) -> GapBound:
    """Bound the smallest subgradient alone: where the model fills missing values, there is no bound on the gap."""
    if can_enumerate(problem, max_states):
        entry = _largest_entry(problem, model, simulation.backend)
        return GapBound(kind="exact", subgradient=entry, why=_NOT_CONVEX)
    none = GapBound(kind="proven", confidence=confidence, why=_OUT_OF_REACH)
    try:
        here = Means.of(problem, model, simulation, Use.HERE, (1 - confidence) / USES, policy=policy)
    except OutOfReachError:
        return none
    return replace(none, subgradient=_bound_entry(here), n_draws=simulation.n_chains, why=_NOT_CONVEX)


def _bound_entry(here: Means) -> float:
    """Bound the largest entry of the smallest subgradient, from draws: by the largest norm of a group of them."""
    problem = here.drawn.problem
    violation = problem.subgradient(here.drawn.theta, here.drawn.gradient)
    return float((problem.penalty.sizes(violation) + here.errors).max(initial=0.0))


def _largest_entry(problem: Problem, model: PairwiseMRF, backend: Backend) -> float:
    """Return the largest entry of the smallest subgradient, by enumeration."""
    theta = problem.theta(model)
    gradient = problem.gradient(problem.see(backend.enumerate(model)[1]))
    return float(np.abs(problem.subgradient(theta, gradient)).max(initial=0.0)) + rounding(problem, theta)
