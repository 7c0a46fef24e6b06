"""The data term: what the gradient of the likelihood needs to know of the data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sparsefield._typing import Matrix
from sparsefield.data import Moments
from sparsefield.model import PairwiseMRF


class DataTerm(Protocol):
    """Data moments, which may depend on the model."""

    @property
    def moments(self) -> Moments:
        """The data moments."""
        ...

    @property
    def is_fixed(self) -> bool:
        """Whether the moments are the same for every model, so that the objective is that of `Problem`."""
        ...

    @property
    def caveat(self) -> str:
        """Why gradients with these moments are not certified; empty where they can be."""
        ...

    @property
    def n_effective(self) -> float:
        """How many draws of a model would be as good, infinite where there is no simulation error.

        The covariance of the simulation error is at most the missing information (see `variance_along`) over it.
        """
        ...

    def given(self, model: PairwiseMRF, n_draws: int) -> DataTerm:
        """Return the data term at a model; this one does not change.

        Where it is estimated, its simulation error is about that of so many draws of the model, or less.
        """
        ...

    def simulation_error(self, counted: NDArray[np.bool_]) -> float:
        """Return the expected norm of the simulation error in the counted ones of the moments."""
        ...

    def variance_along(self, move: Matrix) -> float:
        """Return the mean over rows of the variance, given the observed cells, of a move times the statistics.

        A move is laid out like `Moments.pair`, and each parameter counts once. The answer is move . M move, M the
        missing information: the curvature of the likelihood is that of whole rows minus M.
        """
        ...


@dataclass(frozen=True, eq=False)
class Observed:
    """Data of which every cell was observed: their moments are what they are.

    Parameters
    ----------
    moments : Moments
        The data moments.
    """

    moments: Moments
    is_fixed: bool = field(default=True, init=False)
    caveat: str = field(default="", init=False)
    n_effective: float = field(default=np.inf, init=False)

    def given(self, model: PairwiseMRF, n_draws: int) -> Observed:  # noqa: ARG002
        """Return the same data term."""
        return self

    def simulation_error(self, counted: NDArray[np.bool_]) -> float:  # noqa: ARG002
        """Return zero: there is no simulation error."""
        return 0.0

    def variance_along(self, move: Matrix) -> float:  # noqa: ARG002
        """Return zero: nothing is missing."""
        return 0.0
