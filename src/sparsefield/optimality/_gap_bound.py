"""A bound on a gap, as a value: what every bound returns, and what is said of a fit is made of."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sparsefield._typing import Matrix
from sparsefield.fits import GapKind, Optimality
from sparsefield.objective import Problem


@dataclass(frozen=True, eq=False)
class GapBound:
    """How far an objective can be above its optimum (duality gap).

    Parameters
    ----------
    bound : float
        Upper limit; infinite where there is none.
    kind : "exact", "proven" or "asymptotic"
        By enumeration; for every number of draws; or by the central limit theorem.
    proven : float
        The smallest limit that is not asymptotic; infinite where there is none.
    lower : float
        Lower limit; zero where no walk has found one.
    estimate : float or None
        The gap itself, as far as the draws tell.
    subgradient : float
        Bound on the largest entry of the smallest subgradient; infinite where it is not known.
    confidence : float
        Probability with which all limits hold together.
    n_draws : int
        Draws behind them.
    better : ndarray of shape (size, size), optional
        Parameters with a lower objective, where a walk has led to some.
    why : str
        Why there is no bound, as a clause.
    """

    bound: float = np.inf
    kind: GapKind = "asymptotic"
    proven: float = np.inf
    lower: float = 0.0
    estimate: float | None = None
    subgradient: float = np.inf
    confidence: float = 1.0
    n_draws: int = 0
    better: Matrix | None = None
    why: str = ""

    @property
    def is_out_of_reach(self) -> bool:
        """Whether not even a subgradient is bounded: no draws can be had, and more of them would not help."""
        return not np.isfinite(self.subgradient)

    def or_proven(self, proven: float) -> GapBound:
        """Return the smaller of this bound from draws and another one that holds for every number of them."""
        bound, proven = min(self.bound, proven), min(self.proven, proven)
        kind: GapKind = "asymptotic" if self.kind == "asymptotic" and bound < proven else "proven"
        return replace(self, bound=bound, proven=proven, kind=kind)

    def as_optimality(self, problem: Problem) -> Optimality:
        """Return what is said of a fit of a problem."""
        return Optimality(
            gap=self.bound,
            subgradient=self.subgradient,
            confidence=self.confidence,
            n_draws=self.n_draws,
            note=self.why,
            kind=self.kind,
            proven=self.proven,
            lower=self.lower,
            estimate=self.estimate,
            n_parameters=problem.penalty.n_parameters,
        )
