"""How far a fit can be from the optimum, as a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from sparsefield._rounding import as_confidence, at_least, at_most

GapKind = Literal["exact", "proven", "asymptotic"]


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
        Probability with which all of this holds together, as draws become many where the gap is asymptotic; 1 where it
        is exact.
    n_draws : int
        Fresh draws behind it.
    note : str
        Why there is no gap, or why it says little.
    kind : "exact", "proven" or "asymptotic"
        How the gap is bounded: by enumeration, by inequalities that hold for every number of draws, or by the central
        limit theorem.
    proven : float
        The smallest bound on the gap that is not asymptotic; infinite where there is none.
    lower : float
        Bound on the gap from below, where a walk to better parameters has found one; zero elsewhere.
    estimate : float or None
        The gap itself, as far as the draws tell.
    n_parameters : int, optional
        How many parameters the objective has, where all others are kept at zero: its optimum is that of these.

    Examples
    --------
    >>> import sparsefield as sf
    >>> table = sf.datasets.make_field(5, seed=1).sample(400, method="perfect", seed=1)
    >>> optimality = sf.certify(sf.learn(table, 0.03), table).optimality
    >>> optimality.kind, optimality.confidence, optimality.gap < 1e-9
    ('exact', 1.0, True)
    """

    gap: float
    subgradient: float
    confidence: float
    n_draws: int
    note: str = ""
    kind: GapKind = "proven"
    proven: float = np.inf
    lower: float = 0.0
    estimate: float | None = None
    n_parameters: int | None = None

    def __post_init__(self) -> None:
        if self.kind != "asymptotic":
            object.__setattr__(self, "proven", self.gap)

    def __str__(self) -> str:
        """Say in a sentence what is certified; bounds are rounded up, and the confidence down."""
        if not np.isfinite(self.subgradient):
            return f"The optimality of the fit cannot be certified: {self.note}."
        subgradient = f"no entry of its smallest subgradient is above {at_most(self.subgradient)}"
        if not np.isfinite(self.gap):
            return f"{self._surely()}: {subgradient}. There is no bound on the gap: {self.note}."
        above = (
            f"the objective{self.scope} is {self._at_least()}at most {at_most(self.gap)} above its optimum{self._by()}"
        )
        note = f" The gap says little: {self.note}." if self.note else ""
        return f"{self._surely()}: {above}, and {subgradient}.{self._said_proven()}{note}"

    @property
    def scope(self) -> str:
        """Which parameters the objective has, in words, where these are not all."""
        return "" if self.n_parameters is None else f" on these {self.n_parameters} parameters"

    def _surely(self) -> str:
        if self.kind == "exact":
            return "By enumeration"
        return f"With confidence {as_confidence(self.confidence)}, from {self.n_draws} fresh draws"

    def _at_least(self) -> str:
        return f"at least {at_least(self.lower)} and " if self.kind == "asymptotic" and self.lower > 0 else ""

    def _by(self) -> str:
        return " by the central limit theorem" if self.kind == "asymptotic" else ""

    def _said_proven(self) -> str:
        if self.kind != "asymptotic" or not np.isfinite(self.proven):
            return ""
        return f" For every number of draws it is proven to be at most {at_most(self.proven)} above it."
