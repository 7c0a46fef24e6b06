"""The data term: what the gradient of the likelihood needs to know of the data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sparsefield.data import Moments, Table, Unseen, weighted_moments
from sparsefield.inference import Backend
from sparsefield.model import PairwiseMRF, norm

_MOST_COPIES = 100  # chains of a row, which leave a tenth of the noise of one


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

    def given(self, model: PairwiseMRF, n_sweeps: int) -> DataTerm:
        """Return the data term at a model, after so many sweeps where it is estimated; this one does not change."""
        ...

    def noise(self, counted: NDArray[np.bool_]) -> float:
        """Return the expected norm of the simulation error in the counted ones of the moments."""
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

    def given(self, model: PairwiseMRF, n_sweeps: int) -> Observed:  # noqa: ARG002
        """Return the same data term."""
        return self

    def noise(self, counted: NDArray[np.bool_]) -> float:  # noqa: ARG002
        """Return zero: there is no simulation error."""
        return 0.0


class Completed:
    """A table whose rows with missing values are completed by Gibbs chains that keep the observed cells.

    Each such row has some chains of its own, which go on from one model to the next. The data moments are those of the
    whole rows and of these chains together: an estimate of the moments that the model expects given what was observed.

    Parameters
    ----------
    table : Table
        Observations, some of them missing.
    n_chains : int
        Chains for the rows with missing values together, about; at least one and at most 100 for each.
    seed : int
        Where the random numbers start.
    weights : ndarray of shape (n_rows,), optional
        How often each row counts.
    backend : Backend
        What runs the chains.
    unseen : Unseen, optional
        Levels that no row shows, and that count all the same.
    """

    is_fixed = False
    caveat = "missing values are filled by chains without a certificate"

    def __init__(
        self,
        table: Table,
        n_chains: int,
        seed: int,
        weights: NDArray[np.float64] | None,
        backend: Backend,
        unseen: Unseen | None = None,
    ) -> None:
        is_whole = ~table.mask.any(axis=1)
        weights = np.ones(table.n_rows) if weights is None else weights
        n_copies = int(np.clip(n_chains // (~is_whole).sum(), 1, _MOST_COPIES))
        codes = np.repeat(table.codes[~is_whole], n_copies, axis=0)
        self._backend = backend
        self._unseen = Unseen(table.domain, (), table.n_rows) if unseen is None else unseen
        self._chains = backend.clamped_chains(table.domain, codes, seed=seed)
        self._weights = np.repeat(weights[~is_whole], n_copies)
        self._share = weights[~is_whole].sum() / weights.sum()
        # What whole rows contribute does not change.
        self._whole = np.zeros((table.domain.n_slots,) * 2)
        if is_whole.any():
            whole = Table(table.domain, np.asfortranarray(table.codes[is_whole]))
            self._whole = weighted_moments(whole, weights[is_whole]).pair * (1 - self._share)
        self.moments = self._find_moments()

    def given(self, model: PairwiseMRF, n_sweeps: int) -> Completed:
        """Return the data term after every missing value was updated n times, given the other cells of its row."""
        other = object.__new__(Completed)
        other.__dict__.update(self.__dict__)
        other._chains = self._chains.copy()
        other._chains.sweep(self._backend.prepare(model), n_sweeps)
        other.moments = other._find_moments()
        return other

    def noise(self, counted: NDArray[np.bool_]) -> float:
        """Return the expected norm of the simulation error that the chains leave in the counted ones of the moments."""
        means = np.clip(self.moments.pair, 0.0, 1.0)
        return float(self._share) * norm(np.sqrt(means * (1 - means) / len(self._weights)) * counted)

    def _find_moments(self) -> Moments:
        filled = Table(self._chains.domain, self._chains.codes())
        pair = self._whole + weighted_moments(filled, self._weights).pair * self._share
        return self._unseen.fill(Moments.of_pairs(pair, len(self._weights)))
