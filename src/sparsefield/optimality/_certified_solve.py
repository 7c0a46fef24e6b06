"""Solve and certify in turns: steps and draws until the gap that is certified is what was asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from sparsefield._deadline import OutOfTimeError
from sparsefield._rounding import as_confidence, at_most
from sparsefield._seeds import Use
from sparsefield._typing import Matrix
from sparsefield.data import Moments, Rows, TableError, count
from sparsefield.fits import Fit, Status
from sparsefield.gradients import Simulation
from sparsefield.model import count_once
from sparsefield.objective import Problem
from sparsefield.optimality._certify import assess, assess_slope, problem_of
from sparsefield.optimality._clt_bound import draws_for_targets
from sparsefield.optimality._entropy_bound import entropy_of
from sparsefield.optimality._gap_bound import GapBound
from sparsefield.optimality._policy import GAPS, GapPolicy
from sparsefield.solvers import Limits
from sparsefield.solvers import WatchSteps as Watch

Solve = Callable[[Matrix, float, int, int], Fit]


@dataclass(frozen=True, eq=False)
class Promise:
    """A gap that is to be certified, and what further steps and draws for it are made with.

    Parameters
    ----------
    problem : Problem
        What was minimised.
    rows : Rows
        The rows that were fitted.
    gap : float
        What was asked for.
    solve : callable
        Makes further steps: from where, for which gap, with which seed, and how many at most.
    simulation : Simulation
        Where seeds and draws come from.
    limits : Limits
        When to end at the latest.
    watch : callable, optional
        Called with each StepInfo.
    policy : GapPolicy
        Tuning constants.
    """

    problem: Problem
    rows: Rows
    gap: float
    solve: Solve
    simulation: Simulation
    limits: Limits
    watch: Watch | None = None
    policy: GapPolicy = GAPS

    def keep(self, fit: Fit, moments: Moments | None = None) -> Fit:
        """Certify the gap of a fit, and make further steps and draws until it is at most what was asked for.

        Where time is up, or somebody interrupts, the last fit of which a bound is known is what there is.

        Attempt t has the share 1 / (t (t + 1)) of the risk, so that what the last one says holds with the whole
        confidence.

        Parameters
        ----------
        fit : Fit
            The fit.
        moments : Moments, optional
            Those of the features at the fit, where draws there are at hand: they say how many zeros are near.
        """
        return _conclude(fit, self.gap, self._attempts(fit, moments))

    def _attempts(self, fit: Fit, moments: Moments | None) -> Iterator[Fit]:
        """Return one fit after the other of which a bound is known, as `keep` says."""
        policy, entropy = self.policy, entropy_of(self.rows)
        n_draws = _choose_draws(self.problem, fit, self.gap, moments, policy)
        wanted = policy.own_share * self.gap
        for attempt in range(1, policy.most_attempts + 1):
            found = self._assess(fit, entropy, attempt, n_draws)
            fit = replace(fit, optimality=found.as_optimality(self.problem))
            yield fit
            is_last = attempt == policy.most_attempts or found.is_out_of_reach or self.limits.is_over
            if found.bound <= self.gap or is_last:
                return
            if self._is_too_far(found, attempt):
                n_left = self.limits.max_iter - len(fit.steps)
                if n_left < 1:
                    return
                wanted /= policy.growth
                fit = self._go_on(fit, found.better, wanted, attempt, n_left)
            n_draws = min(policy.steps.most_draws, policy.growth * n_draws)

    def _assess(self, fit: Fit, entropy: float, attempt: int, n_draws: int) -> GapBound:
        """Bound the gap of a fit with the share of an attempt of the risk."""
        most = self.policy.confidence
        seed = self.simulation.seed_of(Use.ITERATION_ZERO, Use.ATTEMPTS + attempt - 1)
        found = assess(
            self.problem,
            fit.model,
            entropy,
            Simulation(n_draws, seed, backend=self.simulation.backend),
            confidence=1 - (1 - most) / (attempt * (attempt + 1)),
            watch=self.watch,
            policy=self.policy,
        )
        return found if found.kind == "exact" else replace(found, confidence=min(most, found.confidence))

    def _is_too_far(self, found: GapBound, attempt: int) -> bool:
        """Say whether the fit itself is too far from its optimum, and not only the bound from the gap."""
        # Draws that are too few to say how far the fit is off say nothing against it, the first time.
        known = (0.0 if attempt == 1 else np.inf) if found.estimate is None else found.estimate
        return known > self.gap / 2 or found.kind == "exact"

    def _go_on(self, fit: Fit, better: Matrix | None, wanted: float, attempt: int, n_left: int) -> Fit:
        """Make further steps, from parameters that are known to be better where there are some."""
        start = self.problem.theta(fit.model) if better is None else better
        seed = self.simulation.seed_of(Use.ITERATION_ZERO, Use.FURTHER_STEPS + attempt - 1)
        further = _join(fit, self.solve(start, wanted, seed, n_left))
        if further.status.code == "interrupted":
            raise KeyboardInterrupt
        return further


def certify_slope(fit: Fit, rows: Rows, gap: float, simulation: Simulation, *, policy: GapPolicy = GAPS) -> Fit:
    """Certify the smallest subgradient of a fit with missing values that the model fills, and say that this is all.

    No draws would certify a gap there: that it is not is a fact about the table, and nothing went wrong.
    """

    def attempt() -> Iterator[Fit]:
        seed, backend = simulation.seed_of(Use.ITERATION_ZERO, Use.ATTEMPTS), simulation.backend
        problem = problem_of(fit, rows, backend)
        n_draws = _choose_draws(problem, fit, gap, None, policy)
        fresh = Simulation(n_draws, seed, backend=backend)
        found = assess_slope(problem, fit.model, fresh, confidence=policy.confidence, policy=policy)
        yield replace(fit, optimality=found.as_optimality(problem))

    try:
        known = _conclude(fit, gap, attempt())
    except TableError as error:  # too many missing values in a row
        known = replace(fit, status=_refuse(fit, gap, f"{error.problem}; {error.remedy}"))
    ended = fit.status if known.status.code == "not_certified" else known.status
    return replace(known, status=Status(ended.code, known.status.sentence))


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


def _choose_draws(problem: Problem, fit: Fit, gap: float, moments: Moments | None, policy: GapPolicy) -> int:
    """Return the draws of a batch with which a bound is about the gap above what it bounds."""
    theta = problem.theta(fit.model)
    wanted = draws_for_targets(problem, theta, moments, policy=policy)
    return int(np.clip(max(wanted, count_once(theta) / gap), policy.fewest_draws, policy.steps.most_draws))


def _join(fit: Fit, further: Fit) -> Fit:
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
    code = fit.status.code if fit.status.code in ("interrupted", "max_seconds") else "not_certified"
    return Status(code, f"{fit.status.sentence} The gap asked for, {gap:g}, is not certified: {why}.")
