"""Bounding chains: the least and the largest state that Gibbs chains from any start can have."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsefield._kernels._coupling import find_closed
from sparsefield.data import Domain
from sparsefield.inference._blocks import SWEEPS, Blocks, make_states, unpack
from sparsefield.inference._chains import Chains
from sparsefield.inference._checks import Storage, check_two_levels


class BoundingChains(Blocks):
    """Bounds on Gibbs chains from all starts at once.

    Each variable of a chain has a least and a largest level, at first its two levels. An update takes the least and the
    largest log-odds that neighbours within their bounds allow, and compares one random number with both probabilities.
    A Gibbs chain that uses the same random numbers stays between the bounds wherever it started; where they have met,
    every start has led to the same level. (`Chains` of the same seed, swept in the same form, use the same random
    numbers.)

    Parameters
    ----------
    domain : Domain
        Variables with at most two levels.
    n_chains : int
        How many pairs of bounds.
    seed : int
        Where the random numbers start.
    storage : "packed" or "bytes", optional
        As for `Chains`.
    n_threads : int, optional
        As for `Chains`.

    Examples
    --------
    >>> from sparsefield import PairwiseMRF
    >>> from sparsefield.inference import BoundingChains, Scan
    >>> model = PairwiseMRF.binary([0.0, 0.0], [[0.0, 2.0], [2.0, 0.0]])
    >>> bounds = BoundingChains(model.domain, 1000, seed=1)
    >>> bounds.sweep(Scan(model, n_planes=2), 20)
    >>> bounds.n_open
    0
    """

    n_planes = 2

    def __init__(
        self,
        domain: Domain,
        n_chains: int,
        *,
        seed: int,
        storage: Storage | None = None,
        n_threads: int | None = None,
        use: int = SWEEPS,
    ) -> None:
        check_two_levels(domain, "bounds of chains")
        super().__init__(domain, n_chains, seed=seed, storage=storage, n_threads=n_threads, use=use)
        self._states = make_states(domain, self.n_blocks, self.storage, n_planes=2)
        self.planes()[1][:] = make_widest(domain, self.storage)

    @property
    def n_open(self) -> int:
        """How many chains have a variable whose bounds have not met."""
        low, high = self.planes()
        closed = np.empty((self.n_blocks, 1, low.shape[2]), dtype=low.dtype)
        for block in range(self.n_blocks):
            find_closed(low[block], high[block], full_word(self.storage), closed[block, 0])
        by_chain = unpack(closed) if self.storage == "packed" else closed
        return self.n_chains - int(by_chain.reshape(-1)[: self.n_chains].sum())

    def open_counts(self) -> NDArray[np.int64]:
        """Count, for each statistic, the chains whose start could still show in it: (n_slots, n_slots).

        The diagonal is for main statistics. A pair statistic is a product of two indicators, which is settled as soon
        as the products of their least and of their largest values agree, even where one variable is open.
        """
        domain = self.domain
        size = domain.n_slots
        if size == 0:
            return np.zeros((0, 0), dtype=np.int64)
        counts = []
        for chains in self._slot_bounds():
            moments = chains.moments()
            counts.append(np.rint(moments.pair * self.n_chains).astype(np.int64))  # whole numbers, up to 2^31
        least, largest = counts
        own = (domain.slot_variables[:, None] == domain.slot_variables) & ~np.eye(size, dtype=bool)
        return np.where(own, 0, largest - least)

    def _slot_bounds(self) -> tuple[Chains, Chains]:
        """Return the least and the largest indicator of each slot: of level 0, where the level is largest and least."""
        slots = Domain.binary(self.domain.n_slots)
        zero = (self.domain.slot_levels == 0)[:, None]
        low, high = (plane[:, self.domain.slot_variables] for plane in self.planes())
        full = full_word(self.storage)
        bounds = []
        for ones, zeros in ((low, high), (high, low)):
            states = make_states(slots, self.n_blocks, self.storage)
            states[:, : len(zero)] = np.where(zero, zeros ^ full, ones)
            bounds.append(
                Chains.from_states(slots, self.n_chains, states, seed=0, storage=self.storage, n_threads=self.n_threads)
            )
        return bounds[0], bounds[1]

    def planes(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the least and the largest states, (blocks, lines, words) in the layout of the storage."""
        n_lines = self._states.shape[1] // 2
        return self._states[:, :n_lines], self._states[:, n_lines:]


def full_word(storage: Storage) -> Any:
    """Return a word with a one for each chain in it."""
    return np.uint32(2**32 - 1) if storage == "packed" else np.uint8(1)


def make_widest(domain: Domain, storage: Storage) -> NDArray[Any]:
    """Return the largest state of a block: ones where there are two levels, (lines, words)."""
    widest: NDArray[Any] = make_states(domain, 1, storage)[0]
    widest[: domain.n_variables][domain.n_levels == 2] = full_word(storage)
    return widest
