"""How far a fit can be from the optimum, as a value."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Optimality:
    """How far a fit can be from the optimum.

    Parameters
    ----------
    gap : float
        Bound on what the objective is above its optimum, in nats per row; infinite where none can be had.
    subgradient : float
        Bound on the largest entry of the smallest subgradient of the objective.
    confidence : float
        Probability with which both hold.
    n_draws : int
        Fresh draws behind them.
    note : str
        Why the gap says little, where it does.
    """

    gap: float
    subgradient: float
    confidence: float
    n_draws: int
    note: str = ""

    def __str__(self) -> str:
        """Say in a sentence what is certified."""
        if not np.isfinite(self.subgradient):
            return f"The optimality of the fit cannot be certified: {self.note}."
        surely = f"With confidence {self.confidence:.4g}, from {self.n_draws} fresh draws"
        if not np.isfinite(self.gap):
            return (
                f"{surely}: no entry of the smallest subgradient is above {self.subgradient:.3g}. "
                f"There is no bound on the gap: {self.note}."
            )
        note = f" The gap says little: {self.note}." if self.note else ""
        return (
            f"{surely}: the objective is at most {self.gap:.3g} above its optimum, and no entry of its smallest "
            f"subgradient is above {self.subgradient:.3g}.{note}"
        )
