"""Many Gibbs chains side by side, which can be continued."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsefield import _threads
from sparsefield._domain import Domain
from sparsefield._kernels._bytes import BLOCK
from sparsefield._kernels._target import make_aligned
from sparsefield._moments import Moments, moments_of_chains, moments_of_codes
from sparsefield.inference._scan import Scan, Storage, choose_storage

_LANES, _STEPS = 16, 32  # chain 16 t + m of a block is bit t of lane m
_LONGEST_CALL = 0.1  # seconds between two chances to interrupt


class Chains:
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
        One bit or one byte a chain and variable; the best that the processor can use unless given.

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
    ) -> None:
        if n_chains < 1:
            raise ValueError(f"n_chains is {n_chains}: use at least one.")
        if seed < 0:
            raise ValueError(f"seed is {seed}: use a number from zero on.")
        self.domain = domain
        self.n_chains = n_chains
        self.n_sweeps = 0
        self.storage = choose_storage(domain, storage)
        n_blocks = -(-n_chains // BLOCK)
        self._streams = np.stack([_make_stream(seed, block) for block in range(n_blocks)])
        if start is None:
            self._states = _start_uniform(domain, n_blocks, seed, self.storage)
        else:
            self._states = _start_from(domain, n_chains, n_blocks, start, self.storage)

    def sweep(self, scan: Scan, n_sweeps: int = 1, *, n_threads: int | None = None) -> None:
        """Sweep all chains.

        Long work is cut into calls of about a tenth of a second; an interrupt takes effect after the current one,
        which may have advanced some chains by up to that many sweeps more than `n_sweeps` says.
        """
        if n_sweeps < 0:
            raise ValueError(f"n_sweeps is {n_sweeps}: use a number from zero on.")
        if scan.storage != self.storage or not np.array_equal(scan.n_levels, self.domain.n_levels):
            raise ValueError("The scan was made for another domain or storage than these chains.")
        n_blocks = len(self._states)
        one = scan.seconds_per_block * n_blocks
        done = 0
        while done < n_sweeps:
            n = min(n_sweeps - done, max(1, int(_LONGEST_CALL / one))) if one else n_sweeps
            shares = _threads.share(n_blocks, n_threads, one * n)
            _threads.run(scan.sweep, [(self._states[s], self._streams[s], n) for s in shares])
            done += n
            self.n_sweeps += n

    def moments(self, *, n_threads: int | None = None) -> Moments:
        """Return the means of the statistics over the chains."""
        if self.storage == "packed":
            return moments_of_chains(self._states, self.domain, self.n_chains, n_threads)
        return moments_of_codes(self.codes(), self.domain, n_threads)

    def codes(self) -> NDArray[np.uint8]:
        """Return the states (n_chains, n_variables) as codes."""
        p = self.domain.n_variables
        states = self._states[:, :p]
        if self.storage == "packed":
            states = _unpack(states)
        rows = np.empty((p, len(states) * BLOCK), dtype=np.uint8)
        rows.reshape(p, len(states), BLOCK)[:] = states.transpose(1, 0, 2)
        return rows[:, : self.n_chains].T

    def copy(self) -> Chains:
        """Return chains in the same state, which go on with the same random numbers."""
        other = object.__new__(Chains)
        other.__dict__.update(self.__dict__)
        other._states = make_aligned(self._states.shape, self._states.dtype)
        other._states[:] = self._states
        other._streams = self._streams.copy()
        return other


def _make_stream(seed: int, block: int) -> NDArray[np.uint64]:
    """Seed the eight xoshiro256+ generators of a block."""
    words = np.random.SeedSequence(seed, spawn_key=(block, 0)).generate_state(32, np.uint64)
    return np.asarray(words, dtype=np.uint64).reshape(4, 8)


def _start_uniform(domain: Domain, n_blocks: int, seed: int, storage: Storage) -> NDArray[Any]:
    """Draw every level with equal probability, from streams of their own."""
    p = domain.n_variables
    two = bool(np.all(domain.n_levels <= 2))
    states = make_aligned(
        (n_blocks, _padded(p), _LANES) if storage == "packed" else (n_blocks, p, BLOCK), _type(storage)
    )
    for block in range(n_blocks):
        source = np.random.SFC64(np.random.SeedSequence(seed, spawn_key=(block, 1)))
        if two:
            bits = source.random_raw(p * 8).view(np.uint32).reshape(1, p, _LANES)
            bits[:, domain.n_levels == 1] = 0
            states[block, :p] = bits[0] if storage == "packed" else _unpack(bits)[0]
        else:
            draw = np.random.Generator(source).integers
            states[block] = draw(0, domain.n_levels[:, None], size=(p, BLOCK), dtype=np.uint8)
    return states


def _start_from(domain: Domain, n_chains: int, n_blocks: int, start: Any, storage: Storage) -> NDArray[Any]:
    codes = domain.check_codes(start)
    if len(codes) != n_chains:
        raise ValueError(f"start has {len(codes)} states for {n_chains} chains: give one a chain.")
    p = domain.n_variables
    states = np.zeros((n_blocks * BLOCK, p), dtype=np.uint8)
    states[:n_chains] = codes
    by_block = states.reshape(n_blocks, BLOCK, p).transpose(0, 2, 1)
    held = make_aligned((n_blocks, _padded(p), _LANES) if storage == "packed" else by_block.shape, _type(storage))
    held[:, :p] = _pack(by_block) if storage == "packed" else by_block
    return held


def _padded(p: int) -> int:
    """Round up to whole groups of eight variables, which the counting of moments takes at a time."""
    return -(-p // 8) * 8


def _type(storage: Storage) -> type[np.unsignedinteger[Any]]:
    return np.uint32 if storage == "packed" else np.uint8


def _pack(codes: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """Turn (blocks, variables, 512) codes 0 and 1 into (blocks, variables, 16) words."""
    by_lane = codes.reshape(*codes.shape[:2], _STEPS, _LANES).transpose(0, 1, 3, 2)
    bits = np.packbits(by_lane, axis=-1, bitorder="little")
    return np.ascontiguousarray(bits).view("<u4")[..., 0]


def _unpack(words: NDArray[np.uint32]) -> NDArray[np.uint8]:
    """Turn (blocks, variables, 16) words into (blocks, variables, 512) codes."""
    small = np.ascontiguousarray(words, dtype="<u4").view(np.uint8).reshape(*words.shape, 4)
    bits = np.unpackbits(small, axis=-1, bitorder="little")
    return bits.transpose(0, 1, 3, 2).reshape(*words.shape[:2], BLOCK)
