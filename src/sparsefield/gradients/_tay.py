"""TAY: as many sweeps as the certificate needs, and no more."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from sparsefield.certificates import Disagreement, chains_needed, check_confidence, concentration
from sparsefield.data import Moments
from sparsefield.gradients._best import LESS
from sparsefield.gradients._bounds import BiasBound, Followed, SharedRisk, Watched
from sparsefield.gradients._schedule import Estimate, Point, Simulation, check_positive
from sparsefield.inference import ChainStates
from sparsefield.objective import Problem

CertificateKind = Literal["paper", "sharp", "persistent", "coalescence"]

_ROUNDED_UP = 1 + 1e-9  # sums of rounded means are not the means of sums


@dataclass(frozen=True)
class Tay:
    """TAY: sweep until the certificate is below half the norm of the step map, and no longer.

    Parameters
    ----------
    certificate : "paper", "sharp", "persistent" or "coalescence"
        Which bound. "persistent" needs chains that persist.
    max_sweeps : int
        Sweeps after which an iteration goes on without a certificate, and says so.
    confidence : float
        For coalescence: that with which all interim checks of an iteration hold. Conservative: that of the whole
        certificate, half of the risk for the bias and half for the simulation error, over all checks of an iteration.
    conservative : bool
        Whether the certificate bounds the whole error, simulation error included, with as many chains as that takes.
    max_chains : int
        Conservative: chains at most.
    """

    certificate: CertificateKind = "sharp"
    max_sweeps: int = 100
    confidence: float = 0.95
    conservative: bool = False
    max_chains: int = 1_000_000

    def __post_init__(self) -> None:
        if self.certificate not in get_args(CertificateKind):
            raise ValueError(
                f"certificate is {self.certificate!r}: use 'paper', 'sharp', 'persistent' or 'coalescence'."
            )
        check_positive("max_sweeps", self.max_sweeps)
        check_positive("max_chains", self.max_chains)
        check_confidence(self.confidence)
        if self.conservative and self.certificate == "persistent":
            raise ValueError("The conservative form starts its chains anew: use certificate='sharp' or 'coalescence'.")

    def estimate(self, problem: Problem, point: Point, simulation: Simulation) -> Estimate:
        """Return moments after the fewest sweeps that meet the criterion."""
        if self.conservative and simulation.persist:
            raise ValueError("The conservative form needs chains that start anew: use chains='restart'.")
        n_chains, attempt, risk = simulation.n_chains, 0, SharedRisk(self.confidence)
        found, lacks_chains = self._sweep(problem, point, simulation, n_chains, attempt, risk)
        while lacks_chains and n_chains < self.max_chains:
            attempt += 1
            n_chains = self._more_chains(problem, point, found, n_chains)
            found, lacks_chains = self._sweep(problem, point, simulation, n_chains, attempt, risk)
        return found

    def _sweep(
        self, problem: Problem, point: Point, simulation: Simulation, n_chains: int, attempt: int, risk: SharedRisk
    ) -> tuple[Estimate, bool]:
        """Return an estimate with so many chains, and whether more of them are what the criterion lacks."""
        scan = simulation.backend.prepare(point.model)
        bound, chains = self._bound(point, simulation, n_chains, attempt)
        # No moments are taken while the bound is above everything that the criterion can compare it with.
        most = problem.largest_step_norm(point.theta, point.step_size) / 2
        for n in bound.checks(most, self.max_sweeps):
            chains.sweep(scan, n)
            # (The conservative form checks after every one of these sweeps: each check has its share of the risk.)
            if not self.conservative and _is_above(bound.bias, problem, point, chains):
                continue
            moments = chains.moments()
            simulation_error = self._simulation_error(point, moments, risk)
            error, step = bound.bias + simulation_error, problem.step_norm(point.theta, moments, point.step_size)
            if error < step / 2 or error == 0:
                return self._certify(bound, moments, chains, simulation_error), False
            if self.conservative and bound.bias < error / 4 and step > 0:
                return self._give_up(bound, moments, chains, simulation_error, "too few chains", _MORE_CHAINS), True
        # Out of reach: a good gradient all the same, and no claim.
        chains.sweep(scan, bound.sweep_on(self.max_sweeps))
        moments = chains.moments()
        reason = "max_sweeps reached" if bound.bias < most else "certificate says nothing"
        remedy = self._remedy(point)
        return self._give_up(
            bound, moments, chains, self._simulation_error(point, moments, risk), reason, remedy
        ), False

    def _certify(self, bound: BiasBound, moments: Moments, chains: ChainStates, simulation_error: float) -> Estimate:
        """Return an estimate whose certificate meets the criterion."""
        n_sweeps, certificate, disagreement = bound.end()
        is_random = self.conservative or self.certificate == "coalescence"
        confidence = self.confidence if is_random else 1.0
        return Estimate(
            moments,
            n_sweeps,
            "certificate met",
            chains,
            replace(certificate, confidence=confidence, simulation_error=simulation_error),
            is_certified=True,
            is_promised=True,
            disagreement=disagreement,
        )

    def _give_up(
        self, bound: BiasBound, moments: Moments, chains: ChainStates, simulation_error: float, reason: str, remedy: str
    ) -> Estimate:
        """Return an estimate whose certificate does not meet the criterion."""
        found = self._certify(bound, moments, chains, simulation_error)
        return replace(found, is_certified=False, reason=reason, remedy=remedy)

    def _bound(
        self, point: Point, simulation: Simulation, n_chains: int, attempt: int
    ) -> tuple[BiasBound, ChainStates]:
        """Return what bounds the bias, and the chains that it is about."""
        if self.certificate == "coalescence":
            # The conservative form leaves half of the risk to simulation error.
            confidence = (1 + self.confidence) / 2 if self.conservative else self.confidence
            seed = simulation.seed_of(point.iteration, 1)
            watched = Watched(point.model, seed, confidence, simulation.backend)
            return watched, simulation.begin(point, n_chains, attempt)
        if self.certificate != "persistent":
            fresh = Disagreement(point.model, kind=self.certificate)
            return Followed(fresh), simulation.begin(point, n_chains, attempt)
        if point.chains is None or point.disagreement is None:
            # Uniform starts are exact draws of a model without parameters.
            is_exact = point.chains is None and not point.theta.any()
            start = Disagreement(point.model, start="exact" if is_exact else "any")
            return Followed(start), simulation.begin(point, n_chains, attempt)
        followed = point.disagreement.copy()
        try:
            followed.move(point.model)
        except ValueError:  # the radius is not below 1: nothing is known of these chains any more
            followed = Disagreement(point.model)
        return Followed(followed), point.chains.copy()

    def _simulation_error(self, point: Point, moments: Moments, risk: SharedRisk) -> float:
        """Bound the simulation error, where the certificate is to include it."""
        if not self.conservative:
            return 0.0
        return concentration(point.model, moments, confidence=risk.next()).simulation_error

    def _more_chains(self, problem: Problem, point: Point, found: Estimate, n_chains: int) -> int:
        """Choose how many chains to try next: what the step map now seen needs, at least twice as many."""
        step = problem.step_norm(point.theta, found.moments, point.step_size)
        try:
            needed = chains_needed(point.model, found.moments, step / 4, confidence=self.confidence)
        except ValueError:  # more than can be counted
            needed = self.max_chains
        return min(self.max_chains, max(2 * n_chains, needed))

    def _remedy(self, point: Point) -> str:
        if self.certificate == "coalescence" or np.any(point.model.domain.n_levels > 2):
            return f"Raise max_sweeps. {LESS}"
        return "Use certificate='coalescence', or schedule='perfect'."


_MORE_CHAINS = "Raise max_chains, or use certificates of the bias alone (schedule='tay')."


def _is_above(bias: float, problem: Problem, point: Point, chains: ChainStates) -> bool:
    """Say whether a bound is above half of every step map that the main moments of the chains allow."""
    largest = problem.largest_step_norm(point.theta, point.step_size, chains.means())
    return bias > 0 and bias >= _ROUNDED_UP * largest / 2
