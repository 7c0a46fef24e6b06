"""Blocks of 512 chains and their random numbers: what plain and bounding chains have in common."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sparsefield import _threads
from sparsefield._kernels._bytes import BLOCK
from sparsefield._kernels._seeds import MOST_SEED, fill_words
from sparsefield._kernels._target import make_aligned
from sparsefield.data import Domain
from sparsefield.inference._checks import Storage, check_request, check_sweeps, choose_storage, count_lines
from sparsefield.inference.chains._scan import Scan

LANES, STEPS = 16, 32  # chain 16 t + m of a block is bit t of lane m
SWEEPS, STARTS, PILOT, CONTINUED, CHOICES = range(5)  # independent streams of random numbers of a block
USES = tuple(np.array([use], dtype=np.uint32) for use in range(5))  # the same as kernels take them
_ONES = 2**64 - 1


class Blocks:
    """Blocks of chains, all swept together: states in one or more planes, and random numbers of each block's own.

    Blocks are numbered: those from `first_block` on have the random numbers that they have among all from 0 on, so that
    several machines can make some each.
    """

    n_planes = 1
    _states: NDArray[Any]
    _kept: NDArray[Any] | None = None  # laid out like the states: bits that sweeps must not change

    def __init__(
        self,
        domain: Domain,
        n_chains: int,
        *,
        seed: int,
        storage: Storage | None,
        n_threads: int | None,
        use: int = SWEEPS,
        first_block: int = 0,
    ) -> None:
        check_request(n_chains, seed)
        self.domain = domain
        self.n_chains = n_chains
        self.n_sweeps = 0
        self.n_threads = n_threads
        self.storage = choose_storage(domain, storage)
        self.n_blocks = -(-n_chains // BLOCK)
        self._streams = make_streams(seed, self.n_blocks, use, first_block)

    def sweep(self, scan: Scan, n_sweeps: int = 1) -> None:
        """Sweep all chains.

        Long work is cut into calls of about a tenth of a second; an interrupt takes effect after the current one,
        which may have advanced some chains by up to that many sweeps more than `n_sweeps` says.
        """
        check_sweeps(n_sweeps)
        self.check_scan(scan)
        one = scan.seconds_per_block * self.n_blocks
        done = 0
        while done < n_sweeps:
            n = min(n_sweeps - done, _threads.fit_call(one, n_sweeps))
            shares = _threads.share(self.n_blocks, self.n_threads, one * n)
            kept = [None if self._kept is None else self._kept[s] for s in shares]
            calls = [(self._states[s], self._streams[s], n, k) for s, k in zip(shares, kept, strict=True)]
            _threads.run(scan.sweep, calls)
            done += n
            self.n_sweeps += n

    def copy(self) -> Self:
        """Return chains in the same state, which go on with the same random numbers."""
        other = object.__new__(type(self))
        other.__setstate__(self.__dict__)
        return other

    def __setstate__(self, state: dict[str, Any]) -> None:
        # What comes from another process is neither aligned nor has it room behind, as sweeps ask for.
        self.__dict__.update(state)
        self._states = make_aligned(self._states.shape, self._states.dtype)
        self._states[:] = state["_states"]
        self._streams = self._streams.copy()

    def check_scan(self, scan: Scan) -> None:
        """Refuse a scan that was not made for these chains."""
        fits = scan.storage == self.storage and scan.n_planes == self.n_planes
        levels = self.domain.n_levels
        if not (fits and (scan.n_levels is levels or np.array_equal(scan.n_levels, levels))):
            raise ValueError("The scan was made for another domain, storage or number of planes than these chains.")


def make_source(seed: int, use: int, *part: int) -> np.random.SFC64:
    """Make the source of random words for one of several independent uses, or for a numbered part of one."""
    return np.random.SFC64(np.random.SeedSequence(seed, spawn_key=(use, *part)))


def make_streams(seed: int, n_blocks: int, use: int, first_block: int = 0) -> NDArray[np.uint64]:
    """Seed the eight xoshiro256+ generators of each block, (blocks, 4, 8); the first blocks are those of fewer."""
    if seed < MOST_SEED and first_block == 0:
        words = np.empty((n_blocks, 4, 8), dtype=np.uint64)
        fill_words(*as_words(seed), USES[use], words.reshape(-1))
        return words
    source = make_source(seed, use)
    # 0.06 microseconds a block; one sweep of a block of 20 variables takes 6.
    source.random_raw(32 * first_block, output=False)
    return np.asarray(source.random_raw(32 * n_blocks), dtype=np.uint64).reshape(n_blocks, 4, 8)


def as_words(seed: int) -> tuple[np.uint64, np.uint64]:
    """Return the two words of 64 bits of a seed below 2^128."""
    seed = int(seed)
    return np.uint64(seed & _ONES), np.uint64(seed >> 64)


def make_states(domain: Domain, n_blocks: int, storage: Storage, n_planes: int = 1) -> NDArray[Any]:
    """Make room for the states of some blocks, all zero."""
    n_lines = n_planes * count_lines(domain.n_variables, storage)
    if storage == "packed":
        return make_aligned((n_blocks, n_lines, LANES), np.uint32)
    return make_aligned((n_blocks, n_lines, BLOCK), np.uint8)


def lay_out(codes: NDArray[np.uint8], domain: Domain, storage: Storage) -> NDArray[Any]:
    """Lay codes (n, n_variables) out in blocks of 512 chains, the last one filled up with zeros."""
    n, p = codes.shape
    n_blocks = -(-n // BLOCK)
    padded = np.zeros((n_blocks * BLOCK, p), dtype=np.uint8)
    padded[:n] = codes
    by_block = padded.reshape(n_blocks, BLOCK, p).transpose(0, 2, 1)
    states = make_states(domain, n_blocks, storage)
    states[:, :p] = pack(by_block) if storage == "packed" else by_block
    return states


def pack(codes: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """Turn (blocks, variables, 512) codes 0 and 1 into (blocks, variables, 16) words."""
    by_lane = codes.reshape(*codes.shape[:2], STEPS, LANES).transpose(0, 1, 3, 2)
    bits = np.packbits(by_lane, axis=-1, bitorder="little")
    return np.ascontiguousarray(bits).view("<u4")[..., 0]


def unpack(words: NDArray[np.uint32]) -> NDArray[np.uint8]:
    """Turn (blocks, variables, 16) words into (blocks, variables, 512) codes."""
    small = np.ascontiguousarray(words, dtype="<u4").view(np.uint8).reshape(*words.shape, 4)
    bits = np.unpackbits(small, axis=-1, bitorder="little")
    return bits.transpose(0, 1, 3, 2).reshape(*words.shape[:2], BLOCK)
