"""Gibbs chains that keep the cells that were observed, and update the others."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsefield._domain import HOLE, Domain
from sparsefield._kernels._target import make_aligned
from sparsefield.inference._blocks import pack
from sparsefield.inference._chains import Chains
from sparsefield.inference._scan import Scan


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
        free = codes == HOLE
        uniform = np.random.default_rng(seed).integers(0, domain.n_levels, codes.shape)
        super().__init__(domain, len(codes), seed=seed, start=np.where(free, uniform, codes))
        self._free = self._lay_out(free)
        self._updated = np.flatnonzero(free.any(axis=0) & (domain.n_levels > 1))

    def _lay_out(self, flags: NDArray[np.bool_]) -> NDArray[Any]:
        """Lay flags (n_chains, n_variables) out like states: all bits of a cell one, or all zero."""
        n, p = flags.shape
        rows = np.zeros((self.n_blocks * 512, p), dtype=np.uint8)
        rows[:n] = flags
        by_block = rows.reshape(self.n_blocks, 512, p).transpose(0, 2, 1)
        return pack(by_block) if self.storage == "packed" else np.ascontiguousarray(by_block) * np.uint8(255)

    def sweep(self, scan: Scan, n_sweeps: int = 1, *, n_threads: int | None = None) -> None:
        """Update every hole, variable by variable in the order of the scan."""
        order = scan.order
        done = self.n_sweeps
        try:
            for k in range(n_sweeps):
                for i in order[np.isin(order, self._updated)]:
                    before = self._states[:, i].copy()
                    scan.order = np.array([i])
                    super().sweep(scan, 1, n_threads=n_threads)
                    self._states[:, i] ^= (self._states[:, i] ^ before) & ~self._free[:, i]
                self.n_sweeps = done + k + 1
        finally:
            scan.order = order

    def copy(self) -> ClampedChains:
        """Return chains in the same state, which go on with the same random numbers."""
        other = object.__new__(ClampedChains)
        other.__dict__.update(self.__dict__)
        other._states = make_aligned(self._states.shape, self._states.dtype)
        other._states[:] = self._states
        other._streams = self._streams.copy()
        return other
