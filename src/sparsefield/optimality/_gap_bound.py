"""A bound on a gap, as a value."""

from __future__ import annotations

from dataclasses import dataclass

from sparsefield._typing import Matrix
from sparsefield.fits import GapKind


@dataclass(frozen=True, eq=False)
class GapBound:
    """How far an objective can be above its optimum.

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
    confidence : float
        Probability with which all limits hold together.
    n_draws : int
        Draws behind them.
    better : ndarray of shape (size, size), optional
        Parameters with a lower objective, where a walk has led to some.
    why : str
        Why there is no bound, as a clause.
    """

    bound: float
    kind: GapKind
    proven: float
    lower: float
    estimate: float | None
    confidence: float
    n_draws: int
    better: Matrix | None = None
    why: str = ""
