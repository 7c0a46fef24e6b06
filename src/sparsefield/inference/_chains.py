"""Many Gibbs chains side by side, which can be continued."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sparsefield._kernels._bytes import BLOCK
from sparsefield._kernels._target import make_aligned
from sparsefield.data import Domain, Moments, count
from sparsefield.inference._blocks import (
    CONTINUED,
    LANES,
    STARTS,
    Blocks,
    lay_out,
    make_source,
    make_states,
    unpack,
)
from sparsefield.inference._checks import Storage
from sparsefield.inference._counting import indicators_of_chains, means_of_chains, moments_of_chains
from sparsefield.inference._draws import ChainDraws


class Chains(Blocks):
    """Chains of one domain, all swept together.

    Chain c of a seed is the same whatever the number of chains and threads. The object changes in place; `copy` it
    to keep a state.

    Parameters
    ----------
    domain : Domain
        The variables.
    n_chains : int
        How many chains.
    seed : int
        Where the random numbers start.
    start : ndarray of shape (n_chains, n_variables), optional
        Codes to start from; independent uniform levels unless given.
    storage : "packed" or "bytes", optional
        One bit or one byte for each chain and variable; the best that the processor can use unless given.
    n_threads : int, optional
        Threads to use, all processors unless given; the states do not depend on it.

    Examples
    --------
    >>> from sparsefield import PairwiseMRF
    >>> from sparsefield.inference import Chains, Scan
    >>> model = PairwiseMRF.binary([0.0, 0.0], [[0.0, 2.0], [2.0, 0.0]])
    >>> chains = Chains(model.domain, 1000, seed=1)
    >>> chains.sweep(Scan(model), 10)
    >>> chains.n_sweeps
    10
    """

    def __init__(
        self,
        domain: Domain,
        n_chains: int,
        *,
        seed: int,
        start: Any = None,
        storage: Storage | None = None,
        n_threads: int | None = None,
    ) -> None:
        super().__init__(domain, n_chains, seed=seed, storage=storage, n_threads=n_threads)
        if start is None:
            self._states = _start_uniform(domain, self.n_blocks, seed, self.storage)
        else:
            self._states = _start_from(domain, n_chains, start, self.storage)

    @classmethod
    def from_states(
        cls,
        domain: Domain,
        n_chains: int,
        states: NDArray[Any],
        *,
        seed: int,
        storage: Storage,
        n_threads: int | None = None,
    ) -> Chains:
        """Make chains that stand at some states, in the layout of their storage, and have not been swept."""
        chains = cls.__new__(cls)
        Blocks.__init__(chains, domain, n_chains, seed=seed, storage=storage, n_threads=n_threads, use=CONTINUED)
        chains._states = states
        return chains

    def moments(self) -> Moments:
        """Return the means of the statistics over the chains."""
        return moments_of_chains(self._states, self.domain, self.n_chains, self.n_threads)

    def draws(self) -> ChainDraws:
        """Return what a Newton step asks of the chains as they stand; to be used before they are swept on."""
        return ChainDraws(self.domain, self.n_chains, self.indicators(), self.codes, self.n_threads)

    def means(self) -> NDArray[np.float64]:
        """Return the main moments alone, (n_slots,): these take a fraction of the time of all moments."""
        return means_of_chains(self._states, self.domain, self.n_chains)

    def indicators(self) -> NDArray[np.uint32]:
        """Return the main statistics packed, (n_blocks, n_slots, 16): bit t of lane m is chain 16 t + m of a block."""
        return indicators_of_chains(self._states, self.domain)

    def codes(self, n: int | None = None) -> NDArray[np.uint8]:
        """Return the states (n_chains, n_variables) as codes, or those of the first n chains."""
        n = self.n_chains if n is None else min(n, self.n_chains)
        p = self.domain.n_variables
        states = self._states[: -(-n // BLOCK), :p]
        if self.storage == "packed":
            states = unpack(states)
        rows = np.empty((p, len(states) * BLOCK), dtype=np.uint8)
        rows.reshape(p, len(states), BLOCK)[:] = states.transpose(1, 0, 2)
        return rows[:, :n].T

    def copy(self) -> Self:
        """Return chains in the same state, which go on with the same random numbers."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._states = make_aligned(self._states.shape, self._states.dtype)
        other._states[:] = self._states
        other._streams = self._streams.copy()
        return other


def _start_uniform(domain: Domain, n_blocks: int, seed: int, storage: Storage) -> NDArray[Any]:
    """Draw every level with equal probability, block by block."""
    p = domain.n_variables
    two = bool(np.all(domain.n_levels <= 2))
    states = make_states(domain, n_blocks, storage)
    source = make_source(seed, STARTS)
    if two:
        bits = source.random_raw(n_blocks * p * 8).view(np.uint32).reshape(n_blocks, p, LANES)
        bits[:, domain.n_levels == 1] = 0
        states[:, :p] = bits if storage == "packed" else unpack(bits)
        return states
    draw = np.random.Generator(source).integers
    for block in range(n_blocks):
        states[block] = draw(0, domain.n_levels[:, None], size=(p, BLOCK), dtype=np.uint8)
    return states


def _start_from(domain: Domain, n_chains: int, start: Any, storage: Storage) -> NDArray[Any]:
    codes = domain.check_codes(start)
    if len(codes) != n_chains:
        raise ValueError(f"start has {count(len(codes), 'state')} for {count(n_chains, 'chain')}: give one per chain.")
    return lay_out(codes, domain, storage)
