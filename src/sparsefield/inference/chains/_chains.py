"""Many Gibbs chains side by side, which can be continued."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsefield._kernels._bytes import BLOCK
from sparsefield._kernels._seeds import MOST_SEED, fill_bits
from sparsefield.data import Counts, Domain, Moments, count
from sparsefield.inference._checks import Storage
from sparsefield.inference._draws import ChainDraws
from sparsefield.inference.chains._blocks import (
    CONTINUED,
    LANES,
    STARTS,
    USES,
    Blocks,
    as_words,
    lay_out,
    make_source,
    make_states,
    unpack,
)
from sparsefield.inference.chains._counting import count_chains, count_single, indicators_of_chains
from sparsefield.inference.chains._fused_checks import StepRule, fits_one_call, sweep_with_checks
from sparsefield.inference.chains._scan import Scan

# Starts of so many blocks come from one source of random words, and those of the next from another. Who makes some of
# the blocks has nothing to make of other sources, and at most 63 blocks of one in vain.
_BLOCKS_OF_A_SOURCE = 64


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
    first_block : int
        The first block of 512 chains: chains 512 first_block, ... of the seed are made, and none before.

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
        first_block: int = 0,
    ) -> None:
        super().__init__(domain, n_chains, seed=seed, storage=storage, n_threads=n_threads, first_block=first_block)
        if start is None:
            self._states = _start_uniform(domain, first_block, self.n_blocks, seed, self.storage)
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
        first_block: int = 0,
    ) -> Chains:
        """Make chains that stand at some states, in the layout of their storage, and have not been swept."""
        chains = cls.__new__(cls)
        how: dict[str, Any] = {"storage": storage, "n_threads": n_threads, "first_block": first_block}
        Blocks.__init__(chains, domain, n_chains, seed=seed, use=CONTINUED, **how)
        chains._states = states
        return chains

    def sweep_until(
        self, scan: Scan, biases: NDArray[np.float64], limit: float, rule: StepRule
    ) -> tuple[int, Moments | None] | None:
        """Sweep until a bias is below half the norm of the step map that the chains show, checked after each sweep.

        It is what `sweep` and `moments` do, in one call where the field is small. There is no check where a bias is
        neither zero nor below `limit`.

        Parameters
        ----------
        scan : Scan
            The field, ready for sweeps.
        biases : ndarray of shape (n,)
            Bounds on the bias after one sweep, two, ..., n: so many are made at most.
        limit : float
            Half of the largest norm that a step map can have.
        rule : StepRule
            What the step map is made of.

        Returns
        -------
        tuple of int and Moments, or None
            The sweeps made, and the moments after them where the criterion is met; None where such sweeps are not a
            single call, and nothing has been done.
        """
        if not fits_one_call(self, scan, 1, len(biases)):
            return None
        return sweep_with_checks(self, scan, biases, limit, rule)

    def moments(self) -> Moments:
        """Return the means of the statistics over the chains."""
        return self.counts().moments()

    def counts(self) -> Counts:
        """Return the sums of the statistics over the chains, whole numbers."""
        return count_chains(self._states, self.domain, self.n_chains, self.n_threads)

    def draws(self) -> ChainDraws:
        """Return what a Newton step asks of the chains as they stand; to be used before they are swept on."""
        return ChainDraws(self.domain, self.n_chains, self.indicators(), self.codes, self.n_threads)

    def means(self) -> NDArray[np.float64]:
        """Return the main moments alone, (n_slots,): these take a fraction of the time of all moments."""
        return self.single_counts() / self.n_chains

    def single_counts(self) -> NDArray[np.int64]:
        """Return the sums of the main statistics alone, (n_slots,)."""
        return count_single(self._states, self.domain, self.n_chains)

    def indicators(self) -> NDArray[np.uint32]:
        """Return the main statistics packed, (n_blocks, n_slots, 16): bit t of lane m is chain 16 t + m of a block."""
        return indicators_of_chains(self._states, self.domain)

    def take_states(self, n_blocks: int) -> NDArray[Any]:
        """Return the states of the first blocks as they are held, bits or bytes."""
        return self._states[:n_blocks]

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


def _start_uniform(domain: Domain, first_block: int, n_blocks: int, seed: int, storage: Storage) -> NDArray[Any]:
    """Draw every level with equal probability, block by block."""
    states = make_states(domain, n_blocks, storage)
    last_block = first_block + n_blocks
    if storage == "packed" and seed < MOST_SEED and first_block == 0 and n_blocks <= _BLOCKS_OF_A_SOURCE:
        fill_bits(*as_words(seed), USES[STARTS], domain.n_levels, states.view(np.uint64))
        return states
    for part in range(first_block // _BLOCKS_OF_A_SOURCE, -(-last_block // _BLOCKS_OF_A_SOURCE)):
        source = make_source(seed, STARTS, *((part,) if part else ()))
        begin = part * _BLOCKS_OF_A_SOURCE
        first, last = max(first_block, begin), min(last_block, begin + _BLOCKS_OF_A_SOURCE)
        _draw_uniform(domain, source, first - begin, states[first - first_block : last - first_block])
    return states


def _draw_uniform(domain: Domain, source: np.random.SFC64, n_before: int, states: NDArray[Any]) -> None:
    """Fill blocks of states with uniform levels, after those of so many blocks before them."""
    p, n_blocks = domain.n_variables, len(states)
    if np.all(domain.n_levels <= 2):
        source.random_raw(n_before * p * 8, output=False)
        bits = source.random_raw(n_blocks * p * 8).view(np.uint32).reshape(n_blocks, p, LANES)
        bits[:, domain.n_levels == 1] = 0
        states[:, :p] = bits if states.dtype == np.uint32 else unpack(bits)
        return
    draw = np.random.Generator(source).integers
    for block in range(-n_before, n_blocks):
        drawn = draw(0, domain.n_levels[:, None], size=(p, BLOCK), dtype=np.uint8)
        if block >= 0:
            states[block] = drawn


def _start_from(domain: Domain, n_chains: int, start: Any, storage: Storage) -> NDArray[Any]:
    codes = domain.check_codes(start)
    if len(codes) != n_chains:
        raise ValueError(f"start has {count(len(codes), 'state')} for {count(n_chains, 'chain')}: give one per chain.")
    return lay_out(codes, domain, storage)
