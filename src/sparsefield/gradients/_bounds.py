"""Bounds on the bias of chains, followed sweep by sweep for interim checks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sparsefield._kernels._bytes import BLOCK
from sparsefield.certificates import Certificate, Disagreement, certify_bounds
from sparsefield.inference import Backend, Bounds
from sparsefield.model import PairwiseMRF, count_statistics

_SWEEPS_AHEAD = 8  # of bounds that are known beforehand: found so many at first, then twice as many, and so on

# With N bounding chains of which none is open the bound is sqrt(m) log(2 / risk) / N. Half as many again leave room for
# one or two open ones: with 1.2, 1.6, 2.5 and 4 times as many an iteration of 20 variables takes 7.5, 6.7, 5.7 and 5.3
# sweeps, and 1.3, 1.2, 1.6 and 3.5 ms. The risk is that of about the sixth check.
_ROOM, _USUAL_CHECK = 1.6, 6
_CHECKS_AHEAD = 8  # of bounding chains that one call may pass over
# The noise of n chains keeps half the step map above about 0.2 sqrt(m / n) (`make bench-constants`), which a million
# chains need 50,000 bounding chains for.
_MOST_CHAINS = 2**16


class SharedRisk:
    """Confidences of interim checks of the simulation error: check t takes 1 / (t (t + 1)) of half the risk."""

    def __init__(self, confidence: float) -> None:
        self._risk, self._n = (1 - confidence) / 2, 0

    def next(self) -> float:
        """Return the confidence of the next check."""
        self._n += 1
        return 1 - self._risk / (self._n * (self._n + 1))


class BiasBound(Protocol):
    """A bound on the bias of chains that falls from sweep to sweep."""

    def ahead(self, max_sweeps: int) -> Iterator[NDArray[np.float64]]:
        """Return bounds after each of the next few sweeps, infinite where there is no check, and so on to the last."""
        ...

    def end(self, n_sweeps: int, bias: float) -> tuple[Certificate, Disagreement | None]:
        """Return what is certified after so many sweeps, and what the next iteration can go on from."""
        ...


class Followed:
    """A disagreement, whose bounds are known before any sweep is made."""

    def __init__(self, disagreement: Disagreement) -> None:
        self._disagreement = disagreement

    def ahead(self, max_sweeps: int) -> Iterator[NDArray[np.float64]]:
        """Return bounds after each of the next few sweeps, and so on to the last."""
        w, made, n = self._disagreement.values, 0, _SWEEPS_AHEAD
        while made < max_sweeps:
            n = min(n, max_sweeps - made)
            yield self._disagreement.sweep_ahead(w, n)
            made, n = made + n, 2 * n

    def end(self, n_sweeps: int, bias: float) -> tuple[Certificate, Disagreement]:
        """Return what is certified after so many sweeps, and the disagreement."""
        self._disagreement.sweep(n_sweeps)
        return self._disagreement.certificate(bias), self._disagreement


class Watched:
    """Bounding chains, as many as are needed, checked at growing intervals.

    Check t takes 1 / (t (t + 1)) of the risk, of which the k-th number of chains that is tried takes 1 / (k (k + 1)).
    The sweeps at which there are checks, and the numbers of chains that can be tried, are chosen before any of the
    chains is seen, so that the shares of all checks that might be made add up to the risk.

    Parameters
    ----------
    model : PairwiseMRF
        What the chains are swept towards.
    seed : int
        Where the random numbers start.
    confidence : float
        That with which all checks hold.
    backend : Backend
        What makes bounding chains.
    needed : float, optional
        The bias that will probably be needed, by what was needed before; anything unless given.
    """

    def __init__(
        self, model: PairwiseMRF, seed: int, confidence: float, backend: Backend, needed: float | None = None
    ) -> None:
        self._model, self._seed, self._risk, self._backend = model, seed, 1 - confidence, backend
        self._needed = needed
        self._scan = backend.prepare(model, n_planes=2)
        self._bounds = self._begin(choose_number(model, self._risk, needed))
        self._n_tried = 1

    def ahead(self, max_sweeps: int) -> Iterator[NDArray[np.float64]]:
        """Return the bound at the next check, infinite before it, and so on to the last."""
        checks = list(sweeps_to_check(max_sweeps))
        made = t = 0
        while made < max_sweeps:
            t += self._sweep(checks[t:], t)
            risk = self._risk_of(t)
            self._certificate = certify_bounds(self._model, self._bounds, confidence=1 - risk)
            biases = np.full(checks[t - 1] - made, np.inf)
            biases[-1] = self._certificate.bias
            yield biases
            made = checks[t - 1]
            # All have met, and that is not enough: further sweeps would not help, but further chains do.
            if self._bounds.n_open == 0 and 2 * self._bounds.n_chains <= _MOST_CHAINS:
                self._bounds = self._begin(2 * self._bounds.n_chains)
                self._n_tried += 1

    def _sweep(self, checks: list[int], before: int) -> int:
        """Sweep to one of the next checks, the first that may lead somewhere; return how many checks that is."""
        steps = np.diff([self._bounds.n_sweeps, *checks])
        if self._needed is not None:
            steps = steps[:_CHECKS_AHEAD]
            numbers = before + 1 + np.arange(len(steps))
            own = -np.log(self._risk_of(numbers) / 2)
            risks = np.column_stack([own + np.log(count_statistics(self._model.domain)), own])
            passed = self._bounds.sweep_below(self._scan, steps, risks, self._needed)
            if passed is not None:
                return passed
        self._bounds.sweep(self._scan, int(steps[0]))
        self._bounds.drop_met()
        return 1

    def _risk_of(self, t: Any) -> Any:
        """Return the risk of check t with the number of chains that is tried now."""
        return self._risk / (t * (t + 1) * self._n_tried * (self._n_tried + 1))

    def _begin(self, n_chains: int) -> Bounds:
        return self._backend.bounding_chains(self._model.domain, n_chains, seed=self._seed)

    def end(self, n_sweeps: int, bias: float) -> tuple[Certificate, None]:  # noqa: ARG002
        """Return what the last check certifies; bounding chains start anew in the next iteration."""
        return self._certificate, None


def sweeps_to_check(max_sweeps: int) -> Iterator[int]:
    """Return the sweeps after which there are checks, at intervals of a quarter: 1, 2, ..., 8, 10, 12, 15, ..., max."""
    n = 1
    while n < max_sweeps:
        yield n
        n += max(1, n // 4)
    yield max_sweeps


def choose_number(model: PairwiseMRF, risk: float, needed: float | None) -> int:
    """Choose how many bounding chains to begin with, in whole blocks: enough for the bias that will be needed."""
    if not needed:
        return BLOCK
    own = risk / (2 * _USUAL_CHECK * (_USUAL_CHECK + 1))
    wanted = _ROOM * np.sqrt(count_statistics(model.domain)) * np.log(2 / own) / needed
    return int(BLOCK * np.ceil(min(wanted, _MOST_CHAINS) / BLOCK))
