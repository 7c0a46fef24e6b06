"""Bounds on the bias of chains, followed sweep by sweep for interim checks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np

from sparsefield.certificates import Certificate, Disagreement, certify_bounds
from sparsefield.inference import Backend
from sparsefield.model import PairwiseMRF

_BOUNDING_CHAINS = 5000  # behind a coalescence certificate: its floor is about sqrt(m) 10 / 5000


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

    bias: float

    def checks(self, most: float, max_sweeps: int) -> Iterator[int]:
        """Go to each number of sweeps after which the bound is below `most`, and say how many sweeps away it is."""
        ...

    def sweep_on(self, n_sweeps: int) -> int:
        """Say how many sweeps are left until n have been made, and count them as made."""
        ...

    def end(self) -> tuple[int, Certificate, Disagreement | None]:
        """Return the sweeps made, what is certified after them, and what the next iteration can go on from."""
        ...


class Followed:
    """A disagreement, whose bounds are known before any sweep is made."""

    def __init__(self, disagreement: Disagreement) -> None:
        self._disagreement = disagreement
        self.bias, self._n_sweeps = np.inf, 0

    def checks(self, most: float, max_sweeps: int) -> Iterator[int]:
        """Go to each number of sweeps after which the bound is below `most`, and say how many sweeps away it is."""
        ahead = self._disagreement.next_biases(max_sweeps)
        for index in np.flatnonzero((ahead < most) | (ahead == 0)):
            self.bias = float(ahead[index])
            yield self.sweep_on(int(index) + 1)
        self.bias = float(ahead[-1])

    def sweep_on(self, n_sweeps: int) -> int:
        """Say how many sweeps are left until n have been made, and count them as made."""
        left = n_sweeps - self._n_sweeps
        self._n_sweeps = n_sweeps
        return left

    def end(self) -> tuple[int, Certificate, Disagreement]:
        """Return the sweeps made, what is certified after them, and the disagreement."""
        self._disagreement.sweep(self._n_sweeps)
        return self._n_sweeps, self._disagreement.certificate(self.bias), self._disagreement


class Watched:
    """Bounding chains with an interim check after every sweep: check t takes 1 / (t (t + 1)) of the risk."""

    def __init__(self, model: PairwiseMRF, seed: int, confidence: float, backend: Backend) -> None:
        self._model, self._confidence = model, confidence
        self._bounds = backend.bounding_chains(model.domain, _BOUNDING_CHAINS, seed=seed)
        self._scan = backend.prepare(model, n_planes=2)
        self.bias, self._n_sweeps = np.inf, 0

    def checks(self, most: float, max_sweeps: int) -> Iterator[int]:
        """Sweep until the bound is below `most`, and say how many sweeps away that is; and so on."""
        while self._bounds.n_sweeps < max_sweeps:
            self._sweep_once()
            if self.bias < most or self.bias == 0:
                yield self.sweep_on(self._bounds.n_sweeps)

    def sweep_on(self, n_sweeps: int) -> int:
        """Say how many sweeps of the chains are left until n have been made, and count them as made."""
        left = n_sweeps - self._n_sweeps
        self._n_sweeps = n_sweeps
        return left

    def _sweep_once(self) -> None:
        self._bounds.sweep(self._scan, 1)
        t = self._bounds.n_sweeps
        confidence = 1 - (1 - self._confidence) / (t * (t + 1))
        self._certificate = certify_bounds(self._model, self._bounds, confidence=confidence)
        self.bias = self._certificate.bias

    def end(self) -> tuple[int, Certificate, None]:
        """Return the sweeps made and what is certified after them; bounding chains start anew in the next iteration."""
        return self._n_sweeps, self._certificate, None
