"""A number that is exact or known by simulation, with its standard error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import ndtri

from sparsefield._rounding import as_confidence

SimulationMethod = Literal["exact", "draws", "annealed"]


@dataclass(frozen=True)
class Simulated:
    """A number, and how well it is known.

    Parameters
    ----------
    value : float
        The number; `float` of this object returns it.
    error : float
        Its standard error; zero where it is exact.
    method : "exact", "draws" or "annealed"
        How it was found.
    n_draws : int
        Draws or chains behind it; none where it is exact.
    """

    value: float
    error: float = 0.0
    method: SimulationMethod = "exact"
    n_draws: int = 0

    def __float__(self) -> float:
        return self.value

    def interval(self, confidence: float = 0.99) -> tuple[float, float]:
        """Return bounds that hold with a confidence, by the central limit theorem."""
        if not 0 < confidence < 1:
            raise ValueError(f"confidence is {confidence}: use a number between 0 and 1.")
        far = -float(ndtri((1 - confidence) / 2)) * self.error
        return self.value - far, self.value + far

    def describe(self, what: str, unit: str = "") -> str:
        """Say in a sentence what is known of the number that is called so."""
        if self.method == "exact":
            return f"The {what} is {self.value:.10g}{unit}."
        ways = {"draws": f"{self.n_draws} exact draws", "annealed": f"{self.n_draws} annealed chains"}
        low, high = self.interval()
        digits = max(2, 2 - int(np.floor(np.log10(max(self.error, 1e-12)))))
        return (
            f"The {what} is {self.value:.{digits}f}{unit} with a standard error of {self.error:.2g}, "
            f"by {ways[self.method]}: between {low:.{digits}f} and {high:.{digits}f} with confidence "
            f"{as_confidence(0.99)}, by the central limit theorem."
        )
