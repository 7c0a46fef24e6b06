"""A gap that is kept: steps and draws until what is certified is what was asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sparsefield._deadline import OutOfTimeError
from sparsefield._rounding import as_confidence, at_most
from sparsefield._seeds import Use
from sparsefield._typing import Matrix
from sparsefield.data import Moments, Table, TableError, count
from sparsefield.fits import Fit, Status
from sparsefield.gradients import Simulation
from sparsefield.model import count_once
from sparsefield.objective import Problem
from sparsefield.optimality._certify import assess, assess_slope, problem_of
from sparsefield.optimality._clt_bound import draws_for_targets
from sparsefield.optimality._entropy_bound import entropy_of
from sparsefield.solvers import MOST_DRAWS, Limits
from sparsefield.solvers import WatchSteps as Watch

CONFIDENCE = 0.99  # a convention, as for `certify`

# A fit that is to be certified gets this share of the gap for itself; what is left is for the noise of the certificate.
OWN_SHARE = 1 / 3

# Bounds from n draws are above the gap by about z sqrt(2 k) / (2 n) for the noise of k parameters that are not zero,
# and by u / (2 n) for u zeros near their penalties, of which there are about as many: together k / n, at most. With
# fewer than 100 draws for each parameter bounds are often refused, since tails are too long (docs/math/optimality.md).
# Zeros that so many draws leave near their penalties count as well.
_EACH = 100
_FEWEST = 50_000

# Draws grow by this factor from attempt to attempt, and the gap of further steps falls by it.
_GROWTH = 4

# Four attempts have 64 times the draws of the first, which brings a bound of order sqrt(k) / n down by as much.
_MOST_ATTEMPTS = 4

Solve = Callable[[Matrix, float, int, int], Fit]


def keep_gap(
    problem: Problem,
    fit: Fit,
    table: Table,
    weights: NDArray[np.float64] | None,
    gap: float,
    solve: Solve,
    *,
    simulation: Simulation,
    limits: Limits,
    moments: Moments | None = None,
    watch: Watch | None = None,
) -> Fit:
    """Certify the gap of a fit, and make further steps and draws until it is at most what was asked for.

    Where time is up, or somebody interrupts, the last fit of which a bound is known is what there is.

    Attempt t has the share 1 / (t (t + 1)) of the risk, so that what the last one says holds with the whole confidence.

    Parameters
    ----------
    problem : Problem
        What was minimised.
    fit : Fit
        The fit.
    table, weights
        The rows that were fitted, and how often each counts.
    gap : float
        What was asked for.
    solve : callable
        Makes further steps: from where, for which gap, with which seed, and how many at most.
    simulation : Simulation
        Where seeds and draws come from.
    limits : Limits
        When to end at the latest.
    moments : Moments, optional
        Those of the features at the fit, where draws there are at hand: they say how many zeros are near.
    watch : callable, optional
        Called with each StepInfo.
    """
    n_draws = _choose_draws(problem, fit, gap, moments)
    return _conclude(fit, gap, _attempts(problem, fit, table, weights, gap, solve, simulation, limits, n_draws, watch))


def _conclude(fit: Fit, gap: float, attempts: Iterable[Fit]) -> Fit:
    """Return the last of several fits of which a bound is known, or the first one, and say what became of the gap."""
    why = ""
    try:
        for known in attempts:
            fit = known
    except OutOfTimeError:
        why = "there was no time for it"
    except KeyboardInterrupt:
        said = f"{fit.status.sentence} Interrupted while it was certified: the fit is whole."
        return replace(fit, status=Status("interrupted", said))
    return replace(fit, status=_say(fit, gap, why))


def _attempts(
    problem: Problem,
    fit: Fit,
    table: Table,
    weights: NDArray[np.float64] | None,
    gap: float,
    solve: Solve,
    simulation: Simulation,
    limits: Limits,
    n_draws: int,
    watch: Watch | None,
) -> Iterator[Fit]:
    """Return one fit after the other of which a bound is known, as `keep_gap` says."""
    entropy = entropy_of(table, weights)
    wanted = OWN_SHARE * gap
    for attempt in range(1, _MOST_ATTEMPTS + 1):
        optimality, found = assess(
            problem,
            fit.model,
            entropy,
            confidence=1 - (1 - CONFIDENCE) / (attempt * (attempt + 1)),
            n_draws=n_draws,
            seed=simulation.seed_of(Use.ITERATION_ZERO, Use.ATTEMPTS + attempt - 1),
            backend=simulation.backend,
            watch=watch,
        )
        is_exact = optimality.kind == "exact"
        confidence = optimality.confidence if is_exact else min(CONFIDENCE, optimality.confidence)
        fit = replace(fit, optimality=replace(optimality, confidence=confidence))
        yield fit
        if optimality.gap <= gap or attempt == _MOST_ATTEMPTS or found is None or limits.is_over:
            return
        # Draws that are too few to say how far the fit is off say nothing against it, the first time.
        known = (0.0 if attempt == 1 else np.inf) if found.estimate is None else found.estimate
        if known > gap / 2 or is_exact:
            n_left = limits.max_iter - len(fit.steps)
            if n_left < 1:
                return
            wanted /= _GROWTH
            start = problem.theta(fit.model) if found.better is None else found.better
            seed = simulation.seed_of(Use.ITERATION_ZERO, Use.FURTHER_STEPS + attempt - 1)
            fit = _go_on(fit, solve(start, wanted, seed, n_left))
            if fit.status.code == "interrupted":
                raise KeyboardInterrupt
        n_draws = min(MOST_DRAWS, _GROWTH * n_draws)


def certify_slope(
    fit: Fit, table: Table, weights: NDArray[np.float64] | None, gap: float, simulation: Simulation
) -> Fit:
    """Certify the smallest subgradient of a fit with missing values that the model fills, and say that this is all.

    No draws would certify a gap there: that it is not is a fact about the table, and nothing went wrong.
    """

    def attempt() -> Iterator[Fit]:
        seed, backend = simulation.seed_of(Use.ITERATION_ZERO, Use.ATTEMPTS), simulation.backend
        problem = problem_of(fit, table, weights, backend)
        n_draws = _choose_draws(problem, fit, gap, None)
        found = assess_slope(problem, fit.model, confidence=CONFIDENCE, n_draws=n_draws, seed=seed, backend=backend)
        yield replace(fit, optimality=found)

    try:
        known = _conclude(fit, gap, attempt())
    except TableError as error:  # too many missing values in a row
        known = replace(fit, status=_refuse(fit, gap, f"{error.problem}; {error.remedy}"))
    ended = fit.status if known.status.code == "not certified" else known.status
    return replace(known, status=Status(ended.code, known.status.sentence))


def _choose_draws(problem: Problem, fit: Fit, gap: float, moments: Moments | None) -> int:
    """Return the draws of a batch with which a bound is about the gap above what it bounds."""
    theta = problem.theta(fit.model)
    wanted = draws_for_targets(problem, theta, moments, 1 - CONFIDENCE, _EACH)
    return int(np.clip(max(wanted, count_once(theta) / gap), _FEWEST, MOST_DRAWS))


def _go_on(fit: Fit, further: Fit) -> Fit:
    """Return a fit that goes on from another, with the iterations of both where they are of one kind."""
    n = len(fit.steps)
    is_same = {type(step) for step in fit.steps} == {type(step) for step in further.steps}
    steps = tuple(replace(step, iteration=n + step.iteration) for step in further.steps)
    before = f"{count(n, 'iteration')} {'was' if n == 1 else 'were'} for a larger gap"
    said = (
        f"{before}. {further.status.sentence}" if is_same else f"{before}, of another kind. {further.status.sentence}"
    )
    return replace(
        further, steps=fit.steps + steps if is_same else steps, status=replace(further.status, sentence=said)
    )


def _say(fit: Fit, gap: float, why: str) -> Status:
    """Say in the status whether the gap is kept, and why not."""
    if fit.optimality is None:
        return _refuse(fit, gap, why)
    bound, note = fit.optimality.gap, fit.optimality.note
    if bound <= gap:
        by = {"exact": "by enumeration", "proven": "proven", "asymptotic": "by the central limit theorem"}
        surely = f"with confidence {as_confidence(fit.optimality.confidence)}, {by[fit.optimality.kind]}"
        above = f"at most {at_most(bound)} above its optimum{fit.optimality.scope}"
        said = f"{fit.status.sentence} Certified: it is {above}, {surely}."
        return replace(fit.status, sentence=said)
    if np.isfinite(bound):
        note = f"it is certified to be at most {at_most(bound)}"
    return _refuse(fit, gap, f"{note}; {why}" if why else note)


def _refuse(fit: Fit, gap: float, why: str) -> Status:
    code = fit.status.code if fit.status.code in ("interrupted", "time") else "not certified"
    return Status(code, f"{fit.status.sentence} The gap asked for, {gap:g}, is not certified: {why}.")
