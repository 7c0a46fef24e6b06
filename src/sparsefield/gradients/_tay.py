"""TAY: as many sweeps as the certificate needs, and no more."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sparsefield._seeds import Use
from sparsefield.certificates import Disagreement, chains_needed, check_confidence, concentration
from sparsefield.data import Moments
from sparsefield.gradients._best import LESS
from sparsefield.gradients._bounds import BiasBound, Followed, SharedRisk, Watched
from sparsefield.gradients._criterion import Criterion
from sparsefield.gradients._proximal_step import ProximalStep
from sparsefield.gradients._schedule import Estimate, Point, Simulation, check_positive
from sparsefield.inference import ChainStates
from sparsefield.objective import Problem

CertificateKind = Literal["paper", "sharp", "persistent", "coalescence"]


@dataclass(frozen=True)
class Tay:
    """TAY: sweep until the certificate is below half the norm of the step map, and no longer.

    Parameters
    ----------
    bound : "paper", "sharp", "persistent" or "coalescence"
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

    bound: CertificateKind = "sharp"
    max_sweeps: int = 100
    confidence: float = 0.95
    conservative: bool = False
    max_chains: int = 1_000_000

    def __post_init__(self) -> None:
        if self.bound not in get_args(CertificateKind):
            raise ValueError(f"bound is {self.bound!r}: use 'paper', 'sharp', 'persistent' or 'coalescence'.")
        check_positive("max_sweeps", self.max_sweeps)
        check_positive("max_chains", self.max_chains)
        check_confidence(self.confidence)
        if self.conservative and self.bound == "persistent":
            raise ValueError("The conservative form starts its chains anew: use bound='sharp' or 'coalescence'.")

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
        criterion = Criterion(problem, point)
        made, bias = 0, np.inf
        for biases in bound.ahead(self.max_sweeps):
            if self.conservative:
                n, decided = self._check_whole(criterion, bound, chains, scan, (made, biases), point, risk)
                if decided is not None:
                    return decided
            else:
                n, moments = criterion.sweep(chains, scan, biases)
                if moments is not None:
                    return self._certify(bound, made + n, float(biases[n - 1]), moments, chains, 0.0), False
            made, bias = made + n, float(biases[-1])
        # Out of reach: a good gradient all the same, and no claim.
        moments = chains.moments()
        error = self._simulation_error(point, moments, risk)
        found = self._certify(bound, made, bias, moments, chains, error)
        reason = "max_sweeps reached" if bias < criterion.limit else "certificate says nothing"
        return replace(found, is_certified=False, reason=reason, remedy=self._remedy(point)), False

    def _check_whole(
        self,
        criterion: Criterion,
        bound: BiasBound,
        chains: ChainStates,
        scan: Any,
        ahead: tuple[int, NDArray[np.float64]],
        point: Point,
        risk: SharedRisk,
    ) -> tuple[int, tuple[Estimate, bool] | None]:
        """Sweep and check the whole error wherever the bias allows that, each check with its share of the risk.

        Returns the sweeps made, and what `_sweep` is to return where that is decided.
        """
        before, biases = ahead
        made = 0
        for n in 1 + np.flatnonzero([criterion.can_hold(bias) for bias in biases]):
            chains.sweep(scan, int(n) - made)
            made, bias = int(n), float(biases[n - 1])
            moments = chains.moments()
            simulation_error = self._simulation_error(point, moments, risk)
            error, step = bias + simulation_error, criterion.step_norm(moments)
            is_met = error < step / 2 or error == 0
            if is_met or (bias < error / 4 and step > 0):
                found = self._certify(bound, before + made, bias, moments, chains, simulation_error)
                lacking = replace(found, is_certified=False, reason="too few chains", remedy=_MORE_CHAINS)
                return made, (found, False) if is_met else (lacking, True)
        chains.sweep(scan, len(biases) - made)
        return len(biases), None

    def _certify(
        self,
        bound: BiasBound,
        n_sweeps: int,
        bias: float,
        moments: Moments,
        chains: ChainStates,
        simulation_error: float,
    ) -> Estimate:
        """Return an estimate whose certificate meets the criterion."""
        certificate, disagreement = bound.end(n_sweeps, bias)
        is_random = self.conservative or self.bound == "coalescence"
        if is_random:
            certificate = replace(certificate, confidence=self.confidence, simulation_error=simulation_error)
        return Estimate(
            moments,
            n_sweeps,
            "certificate met",
            chains,
            certificate,
            is_certified=True,
            is_promised=True,
            disagreement=disagreement,
        )

    def _bound(
        self, point: Point, simulation: Simulation, n_chains: int, attempt: int
    ) -> tuple[BiasBound, ChainStates]:
        """Return what bounds the bias, and the chains that it is about."""
        if self.bound == "coalescence":
            # The conservative form leaves half of the risk to simulation error.
            confidence = (1 + self.confidence) / 2 if self.conservative else self.confidence
            seed = simulation.seed_of(point.iteration, Use.BOUNDING_CHAINS)
            needed = None if point.last_step is None else point.last_step / 2
            watched = Watched(point.model, seed, confidence, simulation.backend, needed)
            return watched, simulation.begin(point, n_chains, attempt)
        if self.bound != "persistent":
            fresh = Disagreement(point.model, kind=self.bound)
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
        step = ProximalStep(problem, point.theta, point.step_size).norm(found.moments)
        try:
            needed = chains_needed(point.model, found.moments, step / 4, confidence=self.confidence)
        except ValueError:  # more than can be counted
            needed = self.max_chains
        return min(self.max_chains, max(2 * n_chains, needed))

    def _remedy(self, point: Point) -> str:
        if self.bound == "coalescence" or np.any(point.model.domain.n_levels > 2):
            return f"Raise max_sweeps. {LESS}"
        return "Use Proximal(bound='coalescence'), or schedule='perfect'."


_MORE_CHAINS = "Raise max_chains, or use certificates of the bias alone (schedule='tay')."
