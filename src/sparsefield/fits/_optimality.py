"""How far a fit can be from the optimum, as a value."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Literal

import numpy as np

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
        Probability with which all of this holds together.
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

    def __post_init__(self) -> None:
        if self.kind != "asymptotic":
            object.__setattr__(self, "proven", self.gap)

    def __str__(self) -> str:
        """Say in a sentence what is certified; bounds are rounded up, and the confidence down."""
        if not np.isfinite(self.subgradient):
            return f"The optimality of the fit cannot be certified: {self.note}."
        subgradient = f"no entry of its smallest subgradient is above {_round_up(self.subgradient)}"
        if not np.isfinite(self.gap):
            return f"{self._surely()}: {subgradient}. There is no bound on the gap: {self.note}."
        above = f"the objective is {self._at_least()}at most {_round_up(self.gap)} above its optimum{self._by()}"
        note = f" The gap says little: {self.note}." if self.note else ""
        return f"{self._surely()}: {above}, and {subgradient}.{self._said_proven()}{note}"

    def _surely(self) -> str:
        if self.kind == "exact":
            return "By enumeration"
        return f"With confidence {_round_down(self.confidence, 4)}, from {self.n_draws} fresh draws"

    def _at_least(self) -> str:
        return f"at least {_round_down(self.lower)} and " if self.kind == "asymptotic" and self.lower > 0 else ""

    def _by(self) -> str:
        return " by the central limit theorem" if self.kind == "asymptotic" else ""

    def _said_proven(self) -> str:
        if self.kind != "asymptotic" or not np.isfinite(self.proven):
            return ""
        return f" For every number of draws it is proven to be at most {_round_up(self.proven)} above it."


def _round_up(value: float, n_digits: int = 3) -> str:
    """Write a bound with a few digits, none of which makes it smaller."""
    return _round(value, n_digits, ROUND_CEILING)


def _round_down(value: float, n_digits: int = 3) -> str:
    """Write a confidence or a lower bound with a few digits, none of which makes it larger."""
    return _round(value, n_digits, ROUND_FLOOR)


def _round(value: float, n_digits: int, rounding: str) -> str:
    # The shortest decimal that is the same double: 0.99 is meant where the double is a little more or less.
    rounded = Context(prec=n_digits, rounding=rounding).create_decimal(Decimal(repr(float(value))))
    return f"{float(rounded):.{n_digits}g}"
