"""Gibbs chains that keep the cells that were observed, and update the others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sparsefield._domain import HOLE, Domain
from sparsefield._kernels._bytes import BLOCK
from sparsefield.inference._blocks import make_states, pack
from sparsefield.inference._chains import Chains


class ClampedChains(Chains):
    """Chains of rows with holes: a sweep updates the holes, given the observed cells of the same row.

    Parameters
    ----------
    domain : Domain
        The variables.
    codes : ndarray of shape (n_chains, n_variables)
        Observed codes, 255 where there is a hole. Holes start at uniform levels.
    seed : int
        Where the random numbers start.
    """

    def __init__(self, domain: Domain, codes: NDArray[np.uint8], *, seed: int) -> None:
        is_hole = codes == HOLE
        uniform = np.random.default_rng(seed).integers(0, domain.n_levels, codes.shape)
        super().__init__(domain, len(codes), seed=seed, start=np.where(is_hole, uniform, codes))
        flags = np.zeros((self.n_blocks * BLOCK, domain.n_variables), dtype=np.uint8)
        flags[: len(codes)] = ~is_hole
        by_block = flags.reshape(self.n_blocks, BLOCK, -1).transpose(0, 2, 1)
        self._kept = make_states(domain, self.n_blocks, self.storage)
        self._kept[:, : domain.n_variables] = pack(by_block) if self.storage == "packed" else by_block * np.uint8(255)
