"""How a gradient is estimated: how many sweeps, of how many chains, and when it is good enough.

A schedule is a value with one method, `estimate`. The paper's algorithms: `fixed(n)` is SPG, `increasing()` SPG-Inc,
`tay()` TAY. `perfect()` and `exact()` have no bias to control.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import numpy as np

from sparsefield._model import PairwiseMRF
from sparsefield._moments import Moments
from sparsefield._problem import Matrix, Problem
from sparsefield.certificates import Disagreement, chains_needed, concentration
from sparsefield.certificates._certificate import count_statistics
from sparsefield.certificates._coalescence import certify_bounds
from sparsefield.inference import BoundingChains, Chains, Exact, OutOfReachError, Perfect, Scan

CertificateKind = Literal["paper", "sharp", "persistent", "coalescence"]

_BOUNDING_CHAINS = 5000  # behind a coalescence certificate: its floor is about sqrt(m) 10 / 5000
_ROUNDED_UP = 1 + 1e-9  # sums of rounded means are not the means of sums
TOO_FEW = "too few chains"


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
    confidence: float | None
    is_certified: bool
    reason: str
    chains: Chains | None = None
    disagreement: Disagreement | None = None


class Schedule(Protocol):
    """A way to estimate the gradient of an iteration."""

    def estimate(self, problem: Problem, point: Point, sampler: Sampler) -> Estimate:
        """Return moments at the point."""
        ...


def _begin(point: Point, sampler: Sampler, n_chains: int | None = None, attempt: int = 0) -> Chains:
    """Return chains to sweep: those of the last iteration, or new ones from uniform starts."""
    if sampler.persist and point.chains is not None:
        return point.chains.copy()
    n = sampler.n_chains if n_chains is None else n_chains
    # Use 1 is that of bounding chains.
    return Chains(point.model.domain, n, seed=sampler.seed_of(point.iteration, attempt + (attempt > 0)))


@dataclass(frozen=True)
class Fixed:
    """SPG: the same number of sweeps in every iteration."""

    n_sweeps: int

    def estimate(self, problem: Problem, point: Point, sampler: Sampler) -> Estimate:  # noqa: ARG002
        """Return moments after the sweeps."""
        return _sweep_blindly(point, sampler, self.n_sweeps)


@dataclass(frozen=True)
class Increasing:
    """SPG-Inc: k sweeps in iteration k."""

    def estimate(self, problem: Problem, point: Point, sampler: Sampler) -> Estimate:  # noqa: ARG002
        """Return moments after the sweeps."""
        return _sweep_blindly(point, sampler, point.iteration)


def _sweep_blindly(point: Point, sampler: Sampler, n_sweeps: int) -> Estimate:
    chains = _begin(point, sampler)
    chains.sweep(Scan(point.model), n_sweeps, n_threads=sampler.n_threads)
    moments = chains.moments(n_threads=sampler.n_threads)
    return Estimate(moments, n_sweeps, chains.n_chains, None, None, False, "number of sweeps given", chains)


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
        return Estimate(moments, run.sweeps_per_draw, sampler.n_chains, 0.0, 1.0, True, "exact draws", chains)


def negligible_bias(n_draws: int) -> float:
    """Return a tenth of the largest noise that the mean of a single statistic can have."""
    return float(0.05 / np.sqrt(n_draws))


@dataclass(frozen=True)
class BestDraws:
    """Exact draws where they can be had, else Gibbs chains with the sharp certificate, else without one.

    Parameters
    ----------
    max_sweeps : int
        Sweeps within which half of the bounding chains of a pilot run must meet, for exact draws.
    gibbs_sweeps : int
        Sweeps of Gibbs chains at most: until the certificate is negligible. Below half the noise it still certifies.
    """

    max_sweeps: int = 2000
    gibbs_sweeps: int = 200

    def estimate(self, problem: Problem, point: Point, sampler: Sampler) -> Estimate:
        """Return moments of the best draws there are."""
        why = "variables with more than two levels"
        if not np.any(point.model.domain.n_levels > 2):
            try:
                return PerfectDraws(self.max_sweeps).estimate(problem, point, sampler)
            except OutOfReachError:
                why = "exact draws out of reach"
        ahead = Disagreement(point.model).next_biases(self.gibbs_sweeps)
        places = np.flatnonzero(ahead <= negligible_bias(sampler.n_chains))
        n_sweeps = int(places[0]) + 1 if len(places) else self.gibbs_sweeps
        found = _sweep_blindly(point, sampler, n_sweeps)
        bias = float(ahead[n_sweeps - 1])
        # The norm of the noise is at most sqrt(m / n) / 2, and about half of that as a rule: half of what is usual.
        if bias <= np.sqrt(count_statistics(point.model.domain) / sampler.n_chains) / 8:
            return replace(found, certificate=bias, confidence=1.0, is_certified=True, reason=f"{why}: sharp bound")
        is_vacuous = bias >= Disagreement(point.model).bias
        return replace(
            found,
            certificate=None if is_vacuous else bias,
            confidence=None if is_vacuous else 1.0,
            reason=f"{why}, and interactions too strong for the sharp bound: {n_sweeps} Gibbs sweeps",
        )


@dataclass(frozen=True)
class ExactMoments:
    """Enumeration: no error at all, for small fields."""

    def estimate(self, problem: Problem, point: Point, sampler: Sampler) -> Estimate:  # noqa: ARG002
        """Return exact moments."""
        return Estimate(Exact(n_threads=sampler.n_threads).moments(point.model), 0, 0, 0.0, 1.0, True, "enumeration")


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
        For coalescence: that with which all looks of an iteration hold. Conservative: that of the whole certificate,
        half of the risk for the bias and half for sampling error, over all looks of an iteration.
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
        if self.conservative and sampler.persist:
            raise ValueError("The conservative form needs chains that start anew: use chains='restart'.")
        n_chains, looks = sampler.n_chains, _Looks(self.confidence)
        attempt = 0
        found = self._sweep(problem, point, sampler, n_chains, attempt, looks)
        while found.reason == TOO_FEW and n_chains < self.max_chains:
            attempt += 1
            n_chains = self._more_chains(problem, point, found, n_chains)
            found = self._sweep(problem, point, sampler, n_chains, attempt, looks)
        return found

    def _sweep(
        self, problem: Problem, point: Point, sampler: Sampler, n_chains: int, attempt: int, looks: _Looks
    ) -> Estimate:
        scan = Scan(point.model)
        bound, chains = self._bound(point, sampler, n_chains, attempt)
        # No moments are taken while the bound is above everything that the criterion can compare it with.
        most = problem.largest_step_norm(point.theta, point.step_size) / 2
        for n in bound.looks(most, self.max_sweeps):
            chains.sweep(scan, n, n_threads=sampler.n_threads)
            # (The conservative form looks at every place: each look has its share of the risk.)
            if not self.conservative and _is_above(bound.bias, problem, point, chains):
                continue
            moments = chains.moments(n_threads=sampler.n_threads)
            error = self._error(point, moments, bound, looks)
            step = problem.step_norm(point.theta, moments, point.step_size)
            if error < step / 2 or error == 0:
                return self._found(bound, moments, chains, error, is_certified=True, reason="certificate met")
            if self.conservative and bound.bias < error / 4 and step > 0:
                return self._found(bound, moments, chains, error, is_certified=False, reason=TOO_FEW)
        # Out of reach: a good gradient all the same, and no claim.
        chains.sweep(scan, bound.sweep_on(self.max_sweeps), n_threads=sampler.n_threads)
        moments = chains.moments(n_threads=sampler.n_threads)
        error = self._error(point, moments, bound, looks)
        reason = "max_sweeps reached" if bound.bias < most else "certificate says nothing"
        return self._found(bound, moments, chains, error, is_certified=False, reason=reason)

    def _found(
        self,
        bound: _Followed | _Watched,
        moments: Moments,
        chains: Chains,
        error: float,
        *,
        is_certified: bool,
        reason: str,
    ) -> Estimate:
        is_chance = self.conservative or self.certificate == "coalescence"
        confidence = self.confidence if is_chance else 1.0
        n_sweeps, disagreement = bound.end()
        return Estimate(
            moments, n_sweeps, chains.n_chains, error, confidence, is_certified, reason, chains, disagreement
        )

    def _bound(
        self, point: Point, sampler: Sampler, n_chains: int, attempt: int
    ) -> tuple[_Followed | _Watched, Chains]:
        """Return what bounds the bias, and the chains that it is about."""
        if self.certificate == "coalescence":
            # The conservative form leaves half of the risk to sampling error.
            confidence = (1 + self.confidence) / 2 if self.conservative else self.confidence
            seed = sampler.seed_of(point.iteration, 1)
            return _Watched(point.model, seed, confidence, sampler.n_threads), _begin(point, sampler, n_chains, attempt)
        if self.certificate != "persistent":
            fresh = Disagreement(point.model, kind=self.certificate)
            return _Followed(fresh), _begin(point, sampler, n_chains, attempt)
        if point.chains is None or point.disagreement is None:
            # Uniform starts are exact draws of a model without parameters.
            is_exact = point.chains is None and not point.theta.any()
            start = Disagreement(point.model, start="exact" if is_exact else "any")
            return _Followed(start), _begin(point, sampler, n_chains, attempt)
        followed = point.disagreement.copy()
        try:
            followed.move(point.model)
        except ValueError:  # the radius is not below 1: nothing is known of these chains any more
            followed = Disagreement(point.model)
        return _Followed(followed), point.chains.copy()

    def _error(self, point: Point, moments: Moments, bound: _Followed | _Watched, looks: _Looks) -> float:
        if not self.conservative:
            return bound.bias
        return bound.bias + concentration(point.model, moments, confidence=looks.next()).sampling

    def _more_chains(self, problem: Problem, point: Point, found: Estimate, n_chains: int) -> int:
        """Choose how many chains to try next: what the step map now seen needs, at least twice as many."""
        step = problem.step_norm(point.theta, found.moments, point.step_size)
        try:
            needed = chains_needed(point.model, found.moments, step / 4, confidence=self.confidence)
        except ValueError:  # more than can be counted
            needed = self.max_chains
        return min(self.max_chains, max(2 * n_chains, needed))


def _is_above(bias: float, problem: Problem, point: Point, chains: Chains) -> bool:
    """Say whether a bound is above half of every step map that the main moments of the chains allow."""
    largest = problem.largest_step_norm(point.theta, point.step_size, chains.means())
    return bias > 0 and bias >= _ROUNDED_UP * largest / 2


class _Looks:
    """Confidences of repeated looks at sampling error: look t takes 1 / (t (t + 1)) of half the risk."""

    def __init__(self, confidence: float) -> None:
        self._risk, self._n = (1 - confidence) / 2, 0

    def next(self) -> float:
        self._n += 1
        return 1 - self._risk / (self._n * (self._n + 1))


class _Followed:
    """A disagreement, whose bounds are known before any sweep is made."""

    def __init__(self, disagreement: Disagreement) -> None:
        self._disagreement = disagreement
        self.bias, self._n_sweeps = np.inf, 0

    def looks(self, most: float, max_sweeps: int) -> Iterator[int]:
        """Go to each place where the bound is below `most`, and say how many sweeps away it is."""
        ahead = self._disagreement.next_biases(max_sweeps)
        for place in np.flatnonzero((ahead < most) | (ahead == 0)):
            self.bias = float(ahead[place])
            yield self.sweep_on(int(place) + 1)
        self.bias = float(ahead[-1])

    def sweep_on(self, n_sweeps: int) -> int:
        """Say how many sweeps are left until n have been made, and count them as made."""
        left = n_sweeps - self._n_sweeps
        self._n_sweeps = n_sweeps
        return left

    def end(self) -> tuple[int, Disagreement]:
        """Return the sweeps made, and the disagreement after them."""
        self._disagreement.sweep(self._n_sweeps)
        return self._n_sweeps, self._disagreement


class _Watched:
    """Bounding chains that are looked at after every sweep: look t takes 1 / (t (t + 1)) of the risk."""

    def __init__(self, model: PairwiseMRF, seed: int, confidence: float, n_threads: int | None) -> None:
        self._model, self._confidence, self._n_threads = model, confidence, n_threads
        self._bounds = BoundingChains(model.domain, _BOUNDING_CHAINS, seed=seed)
        self._scan = Scan(model, n_planes=2)
        self.bias, self._n_sweeps = np.inf, 0

    def looks(self, most: float, max_sweeps: int) -> Iterator[int]:
        """Sweep until the bound is below `most`, and say how many sweeps away that is; and so on."""
        while self._bounds.n_sweeps < max_sweeps:
            self._look_after(1)
            if self.bias < most or self.bias == 0:
                yield self.sweep_on(self._bounds.n_sweeps)

    def sweep_on(self, n_sweeps: int) -> int:
        """Say how many sweeps of the chains are left until n have been made, and count them as made."""
        left = n_sweeps - self._n_sweeps
        self._n_sweeps = n_sweeps
        return left

    def _look_after(self, n_sweeps: int) -> None:
        self._bounds.sweep(self._scan, n_sweeps, n_threads=self._n_threads)
        t = self._bounds.n_sweeps
        confidence = 1 - (1 - self._confidence) / (t * (t + 1))
        self.bias = certify_bounds(self._model, self._bounds, confidence=confidence, n_threads=self._n_threads).bias

    def end(self) -> tuple[int, None]:
        """Return the sweeps made; bounding chains start anew in the next iteration."""
        return self._n_sweeps, None


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


def best(*, max_sweeps: int = 2000) -> BestDraws:
    """Return the schedule of the Newton solver: exact draws if possible, else Gibbs chains, certified if possible."""
    if max_sweeps < 1:
        raise ValueError(f"max_sweeps is {max_sweeps}: use at least one.")
    return BestDraws(max_sweeps)


def exact() -> ExactMoments:
    """Return the schedule of enumeration: exact gradients, for small fields."""
    return ExactMoments()
