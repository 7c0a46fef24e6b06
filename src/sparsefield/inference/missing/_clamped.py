"""Gibbs chains that keep the cells that were observed, and update the missing ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsefield.data import MISSING, Domain
from sparsefield.inference._checks import Storage
from sparsefield.inference.chains._blocks import CONTINUED, Blocks, lay_out
from sparsefield.inference.chains._chains import Chains


class ClampedChains(Chains):
    """Chains of rows with missing values: a sweep updates these, given the observed cells of the same row.

    Parameters
    ----------
    domain : Domain
        The variables.
    codes : ndarray of shape (n_chains, n_variables)
        Observed codes, 255 where a value is missing. Missing values start at uniform levels.
    seed : int
        Where the random numbers start.
    n_threads : int, optional
        As for `Chains`.
    """

    def __init__(self, domain: Domain, codes: NDArray[np.uint8], *, seed: int, n_threads: int | None = None) -> None:
        is_missing = codes == MISSING
        uniform = np.random.default_rng(seed).integers(0, domain.n_levels, codes.shape)
        start = np.where(is_missing, uniform, codes)
        super().__init__(domain, len(codes), seed=seed, start=start, n_threads=n_threads)
        self._kept = lay_out_kept(~is_missing, domain, self.storage)

    @classmethod
    def standing_at(
        cls,
        domain: Domain,
        codes: NDArray[np.uint8],
        filled: NDArray[np.uint8],
        *,
        seed: int,
        n_threads: int | None = None,
    ) -> ClampedChains:
        """Make chains of rows whose missing values stand at given levels, and that have not been swept."""
        chains = cls.__new__(cls)
        Blocks.__init__(chains, domain, len(codes), seed=seed, storage=None, n_threads=n_threads, use=CONTINUED)
        chains._states = lay_out(filled, domain, chains.storage)
        chains._kept = lay_out_kept(codes != MISSING, domain, chains.storage)
        return chains


def lay_out_kept(is_kept: NDArray[np.bool_], domain: Domain, storage: Storage) -> NDArray[Any]:
    """Lay out which cells (n, n_variables) sweeps must not change, as masks of the words of states."""
    kept = lay_out(is_kept.astype(np.uint8), domain, storage)
    return kept if storage == "packed" else kept * np.uint8(255)
