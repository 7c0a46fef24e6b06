"""Gibbs chains that keep the cells that were observed, and update the missing ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sparsefield._kernels._bytes import BLOCK
from sparsefield.data import MISSING, Domain
from sparsefield.inference._blocks import make_states, pack
from sparsefield.inference._chains import Chains


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
        flags = np.zeros((self.n_blocks * BLOCK, domain.n_variables), dtype=np.uint8)
        flags[: len(codes)] = ~is_missing
        by_block = flags.reshape(self.n_blocks, BLOCK, -1).transpose(0, 2, 1)
        self._kept = make_states(domain, self.n_blocks, self.storage)
        self._kept[:, : domain.n_variables] = pack(by_block) if self.storage == "packed" else by_block * np.uint8(255)
