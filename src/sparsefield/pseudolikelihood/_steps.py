"""What Newton steps on the pseudo-likelihood have in common, whatever the variables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from sparsefield.data import Domain, count
from sparsefield.fits import NewtonStep, Status, StepInfo
from sparsefield.model import PairwiseMRF
from sparsefield.objective import backtrack
from sparsefield.pseudolikelihood._policy import PseudoPolicy
from sparsefield.solvers import stalled

_T = TypeVar("_T")


class Steps(ABC):
    """Proximal Newton steps: how far they go, what is said of each, and when there is nothing left to gain.

    Parameters
    ----------
    tol : float
        When the smallest subgradient vanishes.
    dtype : type
        The precision of the loss.
    policy : PseudoPolicy
        How steps are made.
    """

    def __init__(self, tol: float, dtype: type[np.floating[Any]], policy: PseudoPolicy) -> None:
        self._tol, self._dtype, self._policy = tol, dtype, policy
        self._n_made, self._is_stalled = 0, False

    @abstractmethod
    def advance(self) -> StepInfo:
        """Make one iteration."""

    @abstractmethod
    def model(self, domain: Domain) -> PairwiseMRF:
        """Return the field that the steps have led to."""

    def judge(self, steps: Sequence[StepInfo]) -> Status | None:
        """Say whether the smallest subgradient vanished, or no step leads down any more."""
        left = steps[-1].violation
        if left > self._tol:
            return stalled(len(steps)) if self._is_stalled else None
        said = f"Converged in {count(len(steps), 'iteration')}: the smallest subgradient is down to {left:.2g}."
        return Status("converged", said)

    def _search(self, go: Callable[[float], tuple[float, _T]], last: float) -> tuple[float, float, _T] | None:
        """Go as far along a step as the objective falls, but for rounding, or nowhere (`backtrack`)."""
        made = backtrack(go, last + np.finfo(self._dtype).eps * abs(last), self._policy.most_halvings)
        self._is_stalled |= made is None
        return made

    def _describe(self, objective: float, n_nonzero: int, left: float, share: float) -> NewtonStep:
        """Count an iteration, and return what is said of it."""
        self._n_made += 1
        return NewtonStep(
            iteration=self._n_made,
            objective=objective,
            n_nonzero=n_nonzero,
            seconds=0.0,  # told by the loop
            reason="no sampling",
            subgradient_norm=left,
            share=share,
        )
