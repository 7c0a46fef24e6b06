"""How a gradient is estimated: how many sweeps, of how many chains, and when it is good enough.

A schedule is a value with one method, `estimate`. The paper's algorithms: `fixed(n)` is SPG, `increasing()` SPG-Inc,
`tay()` TAY. `perfect()` and `exact()` have no bias to control.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from sparsefield._model import PairwiseMRF
from sparsefield._moments import Moments
from sparsefield._problem import Matrix, Problem
from sparsefield.certificates import Disagreement, chains_needed, concentration
from sparsefield.certificates._certificate import norm
from sparsefield.certificates._coalescence import certify_bounds
from sparsefield.inference import BoundingChains, Chains, Exact, Perfect, Scan

CertificateKind = Literal["paper", "sharp", "persistent", "coalescence"]

_STALLED = 3  # sweeps without a lower certificate after which more are not waited for
_BOUNDING_CHAINS = 5000


@dataclass(frozen=True)
class Sampler:
    """The chains that a fit uses.

    Parameters
    ----------
    n_chains : int
        How many.
    seed : int
        Where the random numbers start; every iteration has its own.
    persist : bool
        Whether chains go on from the last iteration, or start anew (the paper's).
    n_threads : int, optional
        Threads to use; results do not depend on it.
    """

    n_chains: int = 2000
    seed: int = 0
    persist: bool = False
    n_threads: int | None = None

    def seed_of(self, iteration: int, use: int = 0) -> int:
        """Return the seed of an iteration, for one of several independent uses."""
        words = np.random.SeedSequence(self.seed, spawn_key=(iteration, use)).generate_state(1, np.uint64)
        return int(words[0])


@dataclass(frozen=True, eq=False)
class Point:
    """Where a gradient is wanted, and what the last iteration left for it."""

    iteration: int
    theta: Matrix
    model: PairwiseMRF
    step_size: float
    chains: Chains | None = None
    disagreement: Disagreement | None = None


@dataclass(frozen=True, eq=False)
class Estimate:
    """Estimated moments, what is known of their error, and what the next iteration can go on from."""

    moments: Moments
    n_sweeps: float
    n_chains: int
    certificate: float | None
    is_certified: bool
    reason: str
    chains: Chains | None = None
    disagreement: Disagreement | None = None


class Schedule(Protocol):
    """A way to estimate the gradient of an iteration."""

    def estimate(self, problem: Problem, point: Point, sampler: Sampler) -> Estimate:
        """Return moments at the point."""
        ...


def _begin(point: Point, sampler: Sampler, n_chains: int | None = None) -> Chains:
    """Return chains to sweep: those of the last iteration, or new ones from uniform starts."""
    if sampler.persist and point.chains is not None:
        return point.chains.copy()
    n = sampler.n_chains if n_chains is None else n_chains
    return Chains(point.model.domain, n, seed=sampler.seed_of(point.iteration))


@dataclass(frozen=True)
class Fixed:
    """SPG: the same number of sweeps in every iteration."""

    n_sweeps: int

    def estimate(self, problem: Problem, point: Point, sampler: Sampler) -> Estimate:
        """Return moments after the sweeps."""
        return _sweep_blindly(problem, point, sampler, self.n_sweeps)


@dataclass(frozen=True)
class Increasing:
    """SPG-Inc: k sweeps in iteration k."""

    def estimate(self, problem: Problem, point: Point, sampler: Sampler) -> Estimate:
        """Return moments after the sweeps."""
        return _sweep_blindly(problem, point, sampler, point.iteration)


def _sweep_blindly(_problem: Problem, point: Point, sampler: Sampler, n_sweeps: int) -> Estimate:
    chains = _begin(point, sampler)
    chains.sweep(Scan(point.model), n_sweeps, n_threads=sampler.n_threads)
    moments = chains.moments(n_threads=sampler.n_threads)
    return Estimate(moments, n_sweeps, chains.n_chains, None, False, "number of sweeps given", chains)


@dataclass(frozen=True)
class PerfectDraws:
    """Exact draws: no bias."""

    max_sweeps: int = 10_000

    def estimate(self, problem: Problem, point: Point, sampler: Sampler) -> Estimate:  # noqa: ARG002
        """Return moments of exact draws."""
        seed = sampler.seed_of(point.iteration)
        draws = Perfect(sampler.n_chains, seed, max_sweeps=self.max_sweeps, n_threads=sampler.n_threads)
        chains, run = draws.draw(point.model)
        moments = chains.moments(n_threads=sampler.n_threads)
        return Estimate(moments, run.sweeps_per_draw, sampler.n_chains, 0.0, True, "exact draws", chains)


@dataclass(frozen=True)
class ExactMoments:
    """Enumeration: no error at all, for small fields."""

    def estimate(self, problem: Problem, point: Point, sampler: Sampler) -> Estimate:  # noqa: ARG002
        """Return exact moments."""
        return Estimate(Exact(n_threads=sampler.n_threads).moments(point.model), 0, 0, 0.0, True, "enumeration")


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
        For coalescence: that with which all looks of an iteration hold. Conservative: that of the whole certificate.
    conservative : bool
        Whether the certificate bounds the whole error, sampling error included, with as many chains as that takes.
    max_chains : int
        Conservative: chains at most.
    """

    certificate: CertificateKind = "sharp"
    max_sweeps: int = 100
    confidence: float = 0.95
    conservative: bool = False
    max_chains: int = 1_000_000

    def estimate(self, problem: Problem, point: Point, sampler: Sampler) -> Estimate:
        """Return moments after the fewest sweeps that meet the criterion."""
        n_chains = sampler.n_chains
        while True:
            found = self._sweep(problem, point, sampler, n_chains)
            if found.is_certified or not self.conservative or n_chains >= self.max_chains:
                return found
            n_chains = self._more_chains(problem, point, found, n_chains)

    def _sweep(self, problem: Problem, point: Point, sampler: Sampler, n_chains: int) -> Estimate:
        scan = Scan(point.model)
        bound, chains = self._bound(point, sampler, n_chains)
        # No moments are taken while the bound is above everything that the criterion can compare it with.
        most = problem.largest_step_map(point.theta, point.step_size) / 2
        n_swept, n_stalled, last = 0, 0, np.inf
        while bound.n_sweeps < self.max_sweeps and n_stalled < _STALLED:
            bound.sweep()
            n_stalled = n_stalled + 1 if bound.bias >= last * (1 - 1e-9) else 0
            last = min(last, bound.bias)
            if bound.bias >= most and bound.bias > 0:
                continue
            chains.sweep(scan, bound.n_sweeps - n_swept, n_threads=sampler.n_threads)
            n_swept = bound.n_sweeps
            moments = chains.moments(n_threads=sampler.n_threads)
            error = self._error(point, moments, bound)
            step = norm(problem.step_map(point.theta, problem.gradient(moments), point.step_size))
            if error < step / 2 or error == 0:
                return self._found(moments, chains, bound, error, is_certified=True, reason="certificate met")
            if self.conservative and bound.bias < error / 4:
                return self._found(moments, chains, bound, error, is_certified=False, reason="too few chains")
        # Out of reach: a good gradient all the same, and no claim.
        chains.sweep(scan, self.max_sweeps - n_swept, n_threads=sampler.n_threads)
        bound.sweep(self.max_sweeps - bound.n_sweeps)
        moments = chains.moments(n_threads=sampler.n_threads)
        reason = "max_sweeps reached" if n_stalled < _STALLED else "certificate does not fall"
        error = self._error(point, moments, bound)
        return self._found(moments, chains, bound, error, is_certified=False, reason=reason)

    def _bound(self, point: Point, sampler: Sampler, n_chains: int) -> tuple[Disagreement | _Watched, Chains]:
        """Return what bounds the bias, and the chains that it is about."""
        if self.certificate == "coalescence":
            seed = sampler.seed_of(point.iteration, 1)
            return _Watched(point.model, seed, self.confidence, sampler.n_threads), _begin(point, sampler, n_chains)
        if self.certificate != "persistent":
            return Disagreement(point.model, kind=self.certificate), _begin(point, sampler, n_chains)
        if point.chains is None or point.disagreement is None:
            # Uniform starts are exact draws of a model without parameters.
            start: Literal["any", "exact"] = "any" if point.theta.any() else "exact"
            return Disagreement(point.model, start=start), _begin(point, sampler, n_chains)
        followed = point.disagreement.copy()
        try:
            followed.move(point.model)
        except ValueError:  # the radius is not below 1: nothing is known of these chains any more
            return Disagreement(point.model), point.chains.copy()
        return followed, point.chains.copy()

    def _error(self, point: Point, moments: Moments, bound: Disagreement | _Watched) -> float:
        if not self.conservative:
            return bound.bias
        return bound.bias + concentration(point.model, moments, confidence=self.confidence).sampling

    def _more_chains(self, problem: Problem, point: Point, found: Estimate, n_chains: int) -> int:
        """Choose how many chains to try next: what the step map now seen needs, at least twice as many."""
        step = norm(problem.step_map(point.theta, problem.gradient(found.moments), point.step_size))
        try:
            needed = chains_needed(point.model, found.moments, step / 4, confidence=self.confidence)
        except ValueError:  # more than can be counted
            needed = self.max_chains
        return min(self.max_chains, max(2 * n_chains, needed))

    @staticmethod
    def _found(
        moments: Moments,
        chains: Chains,
        bound: Disagreement | _Watched,
        error: float,
        *,
        is_certified: bool,
        reason: str,
    ) -> Estimate:
        followed = bound if isinstance(bound, Disagreement) else None
        n = bound.n_sweeps
        return Estimate(moments, n, chains.n_chains, error, is_certified, reason, chains, followed)


class _Watched:
    """Bounding chains that are looked at after every sweep: look t takes 1 / (t (t + 1)) of the risk."""

    def __init__(self, model: PairwiseMRF, seed: int, confidence: float, n_threads: int | None) -> None:
        self._model, self._confidence, self._n_threads = model, confidence, n_threads
        self._bounds = BoundingChains(model.domain, _BOUNDING_CHAINS, seed=seed)
        self._scan = Scan(model, n_planes=2)
        self.bias = np.inf

    @property
    def n_sweeps(self) -> int:
        return self._bounds.n_sweeps

    def sweep(self, n_sweeps: int = 1) -> None:
        self._bounds.sweep(self._scan, n_sweeps, n_threads=self._n_threads)
        t = self.n_sweeps
        confidence = 1 - (1 - self._confidence) / (t * (t + 1))
        self.bias = certify_bounds(self._model, self._bounds, confidence=confidence, n_threads=self._n_threads).bias


def fixed(n_sweeps: int) -> Fixed:
    """Return the schedule of SPG: n sweeps in every iteration."""
    if n_sweeps < 1:
        raise ValueError(f"n_sweeps is {n_sweeps}: use at least one.")
    return Fixed(n_sweeps)


def increasing() -> Increasing:
    """Return the schedule of SPG-Inc: k sweeps in iteration k."""
    return Increasing()


def tay(
    certificate: CertificateKind = "sharp",
    *,
    max_sweeps: int = 100,
    confidence: float = 0.95,
    conservative: bool = False,
    max_chains: int = 1_000_000,
) -> Tay:
    """Return the schedule of TAY: sweep until the certificate is below half the norm of the step map (see `Tay`)."""
    if certificate not in ("paper", "sharp", "persistent", "coalescence"):
        raise ValueError(f"certificate is {certificate!r}: use 'paper', 'sharp', 'persistent' or 'coalescence'.")
    if max_sweeps < 1:
        raise ValueError(f"max_sweeps is {max_sweeps}: use at least one.")
    if conservative and certificate == "persistent":
        raise ValueError("The conservative form starts its chains anew: use certificate='sharp' or 'coalescence'.")
    return Tay(certificate, max_sweeps, confidence, conservative, max_chains)


def perfect(*, max_sweeps: int = 10_000) -> PerfectDraws:
    """Return the schedule of exact draws: gradients without bias."""
    return PerfectDraws(max_sweeps)


def exact() -> ExactMoments:
    """Return the schedule of enumeration: exact gradients, for small fields."""
    return ExactMoments()
