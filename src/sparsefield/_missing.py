"""Holes filled by the model: data moments given the cells that were observed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sparsefield._model import PairwiseMRF
from sparsefield._moments import Moments, weighted_moments
from sparsefield._table import Table
from sparsefield.certificates._certificate import norm
from sparsefield.inference import ClampedChains, Scan

_MOST_COPIES = 100


class Completion:
    """A table whose rows with holes are completed by Gibbs chains that keep the observed cells.

    Each such row has some chains of its own, which go on from one model to the next. The data moments are those of the
    whole rows and of these chains together: an estimate of the moments that the model expects given what was observed.

    Parameters
    ----------
    table : Table
        Observations, some with holes.
    n_chains : int
        Chains for the rows with holes together, about; at least one and at most 100 a row.
    seed : int
        Where the random numbers start.
    weights : ndarray of shape (n_rows,), optional
        How often each row counts.
    """

    def __init__(self, table: Table, n_chains: int, seed: int, weights: NDArray[np.float64] | None = None) -> None:
        has_hole = table.mask.any(axis=1)
        weights = np.ones(table.n_rows) if weights is None else weights
        n_copies = int(np.clip(n_chains // has_hole.sum(), 1, _MOST_COPIES))
        self._chains = ClampedChains(table.domain, np.repeat(table.codes[has_hole], n_copies, axis=0), seed=seed)
        self._weights = np.repeat(weights[has_hole], n_copies)
        self._share = weights[has_hole].sum() / weights.sum()
        # What whole rows contribute does not change.
        self._whole = np.zeros((table.domain.n_slots,) * 2)
        if not has_hole.all():
            whole = Table(table.domain, np.asfortranarray(table.codes[~has_hole]))
            self._whole = weighted_moments(whole, weights[~has_hole]).pair * (1 - self._share)

    def copy(self) -> Completion:
        """Return another one in the same state."""
        other = object.__new__(Completion)
        other.__dict__.update(self.__dict__)
        other._chains = self._chains.copy()
        return other

    def sweep(self, model: PairwiseMRF, n_sweeps: int, n_threads: int | None = None) -> None:
        """Update every hole n times, given the other cells of its row."""
        self._chains.sweep(Scan(model), n_sweeps, n_threads=n_threads)

    def noise(self, moments: Moments, counted: NDArray[np.bool_]) -> float:
        """Return the expected norm of the sampling noise that the chains leave in the counted ones of their moments."""
        means = np.clip(moments.pair, 0.0, 1.0)
        return float(self._share) * norm(np.sqrt(means * (1 - means) / len(self._weights)) * counted)

    def moments(self) -> Moments:
        """Return the data moments."""
        filled = Table(self._chains.domain, self._chains.codes())
        pair = self._whole + weighted_moments(filled, self._weights).pair * self._share
        return Moments(np.diagonal(pair).copy(), pair, len(self._weights))
