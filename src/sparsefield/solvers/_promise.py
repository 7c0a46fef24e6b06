"""A gap that is kept: steps and draws until what is certified is what was asked for."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sparsefield._rounding import as_confidence, at_most
from sparsefield.data import Table, TableError
from sparsefield.fits import Fit, Status
from sparsefield.gradients import Simulation
from sparsefield.model import Matrix, as_theta, count_once
from sparsefield.objective import Problem
from sparsefield.solvers._loop import Limits, Watch
from sparsefield.solvers._optimality import assess, assess_slope, problem_of

CONFIDENCE = 0.99  # a convention, as for `certify`

# A fit that is to be certified gets this share of the gap for itself; what is left is for the noise of the certificate.
OWN_SHARE = 1 / 3

# Bounds from n draws are above the gap by about z sqrt(2 k) / (2 n) for the noise of k parameters that are not zero,
# and by u / (2 n) for u zeros near their penalties, of which there are about as many: together k / n, at most. With
# fewer than 100 draws for each parameter bounds are often refused, since tails are too long (docs/math/optimality.md).
_EACH = 100
_FEWEST, _MOST = 50_000, 2**22

# Draws grow by this factor from attempt to attempt, and the gap of further steps falls by it.
_GROWTH = 4

# Four attempts have 64 times the draws of the first, which brings a bound of order sqrt(k) / n down by as much.
_MOST_ATTEMPTS = 4

Solve = Callable[[Matrix, float, int], Fit]


def keep_gap(
    problem: Problem,
    fit: Fit,
    entropy: float,
    gap: float,
    solve: Solve,
    *,
    simulation: Simulation,
    limits: Limits,
    watch: Watch | None = None,
) -> Fit:
    """Certify the gap of a fit, and make further steps and draws until it is at most what was asked for.

    Attempt t has the share 1 / (t (t + 1)) of the risk, so that what the last one says holds with the whole confidence.

    Parameters
    ----------
    problem : Problem
        What was minimised.
    fit : Fit
        The fit.
    entropy : float
        That of the data.
    gap : float
        What was asked for.
    solve : callable
        Makes further steps: from where, for which gap, and with which seed.
    simulation : Simulation
        Where seeds and draws come from.
    limits : Limits
        When to end at the latest.
    watch : callable, optional
        Called with each StepInfo.
    """
    n_draws, wanted = _choose_draws(fit, gap), OWN_SHARE * gap
    for attempt in range(1, _MOST_ATTEMPTS + 1):
        optimality, found = assess(
            problem,
            fit.model,
            entropy,
            confidence=1 - (1 - CONFIDENCE) / (attempt * (attempt + 1)),
            n_draws=n_draws,
            seed=simulation.seed_of(0, attempt),
            backend=simulation.backend,
            watch=watch,
        )
        fit = replace(fit, optimality=replace(optimality, confidence=min(CONFIDENCE, optimality.confidence)))
        if optimality.kind == "exact":
            fit = replace(fit, optimality=optimality)
        if optimality.gap <= gap or attempt == _MOST_ATTEMPTS or found is None or _is_late(limits):
            break
        known = np.inf if found.estimate is None else found.estimate
        if known > gap / 2 or optimality.kind == "exact":
            wanted /= _GROWTH
            start = as_theta(fit.model) if found.better is None else found.better
            fit = _go_on(fit, solve(start, wanted, simulation.seed_of(0, _MOST_ATTEMPTS + attempt)))
            if fit.status.code == "interrupted":
                raise KeyboardInterrupt
        n_draws = min(_MOST, _GROWTH * n_draws)
    return replace(fit, status=_say(fit, gap))


def certify_slope(
    fit: Fit, table: Table, weights: NDArray[np.float64] | None, gap: float, simulation: Simulation
) -> Fit:
    """Certify the smallest subgradient of a fit with missing values that the model fills, and say that this is all."""
    try:
        problem = problem_of(fit, table, weights)
    except TableError as error:  # too many missing values in a row
        return replace(fit, status=refuse(fit, gap, f"{error.problem}; {error.remedy}"))
    seed, backend = simulation.seed_of(0, 1), simulation.backend
    found = assess_slope(
        problem, fit.model, confidence=CONFIDENCE, n_draws=_choose_draws(fit, gap), seed=seed, backend=backend
    )
    return replace(fit, optimality=found, status=refuse(fit, gap, found.note))


def _choose_draws(fit: Fit, gap: float) -> int:
    """Return the draws of a batch with which a bound is about the gap above what it bounds."""
    k = max(1, count_once(as_theta(fit.model)))
    return int(np.clip(max(_EACH * k, k / gap), _FEWEST, _MOST))


def _is_late(limits: Limits) -> bool:
    return limits.max_seconds is not None and time.perf_counter() - limits.clock >= limits.max_seconds


def _go_on(fit: Fit, further: Fit) -> Fit:
    """Return a fit that goes on from another, with the iterations of both."""
    n = len(fit.steps)
    steps = fit.steps + tuple(replace(step, iteration=n + step.iteration) for step in further.steps)
    return replace(further, steps=steps)


def _say(fit: Fit, gap: float) -> Status:
    """Say in the status whether the gap is kept, and why not."""
    assert fit.optimality is not None
    bound, note = fit.optimality.gap, fit.optimality.note
    if bound <= gap:
        by = {"exact": "by enumeration", "proven": "proven", "asymptotic": "by the central limit theorem"}
        surely = f"with confidence {as_confidence(fit.optimality.confidence)}, {by[fit.optimality.kind]}"
        said = f"{fit.status.sentence} Certified: it is at most {at_most(bound)} above its optimum, {surely}."
        return replace(fit.status, sentence=said)
    if np.isfinite(bound):
        note = f"it is certified to be at most {at_most(bound)}"
    return refuse(fit, gap, note)


def refuse(fit: Fit, gap: float, why: str) -> Status:
    """Say why the gap is not kept."""
    code = fit.status.code if fit.status.code in ("interrupted", "time") else "not certified"
    return Status(code, f"{fit.status.sentence} The gap asked for, {gap:g}, is not certified: {why}.")
