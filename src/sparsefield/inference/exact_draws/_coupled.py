"""Chains carried along between their bounds, which give exact draws: read-once coupling from the past."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsefield import _threads
from sparsefield._kernels._bytes import BLOCK
from sparsefield._kernels._coupling import settle, settle_sets
from sparsefield.data import Domain
from sparsefield.inference._checks import Storage
from sparsefield.inference.chains._blocks import make_states, pack
from sparsefield.inference.chains._scan import Scan
from sparsefield.inference.exact_draws._bounds import full_word, split
from sparsefield.inference.exact_draws._sets import carry_along, has_sets


class Coupled:
    """Blocks of chains carried along between their bounds, and the draws that they have completed.

    Draws come 512 at a time, one from each chain of a block: block b of chains gives the rounds cuts[b] to
    cuts[b + 1] - 1 of them.

    Parameters
    ----------
    scan : Scan
        The field, ready for three planes.
    domain : Domain
        The variables.
    streams : ndarray of shape (n_blocks, 4, 8)
        The random numbers of each block.
    starts : ndarray of shape (n_blocks, n_lines, n_words)
        Where bounds begin: two planes in the layout of the storage, or sets of levels.
    cuts : ndarray of shape (n_blocks + 1,)
        The rounds of draws of each block.
    filled : ndarray of shape (n_rounds, 512)
        Ones for draws that nobody asked for, as if they had been given.
    kept : ndarray of shape (n_blocks, n_lines, n_words), optional
        Bits that sweeps must not change; bounds begin there with one value.

    Attributes
    ----------
    draws : ndarray of shape (n_rounds, n_lines, n_words)
        The draws, once all are filled.
    most_draws : int
        Of a chain.
    n_run, n_met : ndarray of shape (n_blocks,)
        Blocks of sweeps that were run, and how many times a chain met in them.
    """

    def __init__(
        self,
        scan: Scan,
        domain: Domain,
        streams: NDArray[np.uint64],
        starts: NDArray[Any],
        cuts: NDArray[np.int64],
        filled: NDArray[np.uint8],
        kept: NDArray[Any] | None = None,
    ) -> None:
        self._scan, self._streams, self._cuts, self._kept, self._starts = scan, streams, cuts, kept, starts
        self.storage = scan.storage
        self.most_draws = int(np.diff(cuts).max())
        if has_sets(domain):
            self._settle, self._full = settle_sets, np.uint8(255)
            self._planes = carry_along(starts)
            self._before = split(self._planes)[1].astype(np.uint8)
            self._filled = filled * self._full
        else:
            self._settle, self._full = settle, full_word(scan.storage)
            self._before = split(starts)[0].copy()
            self._planes = make_states(domain, len(starts), scan.storage, n_planes=3)
            self._planes[:] = np.concatenate([starts, self._before], axis=1)
            self._filled = _as_words(filled, scan.storage)
        n_blocks, _, n_words = starts.shape
        self._held = np.zeros((n_blocks, n_words), dtype=self._before.dtype)
        self.draws = make_states(domain, int(cuts[-1]), scan.storage)
        self.n_run = np.zeros(n_blocks, dtype=np.int64)
        self.n_met = np.zeros(n_blocks, dtype=np.int64)
        self._n_swept = np.zeros(n_blocks, dtype=np.int64)  # of the block of sweeps that is under way

    def run(self, lengths: NDArray[np.int64], n_threads: int | None) -> None:
        """Run blocks of sweeps, of these lengths, until every chain has given its draws."""
        left = np.arange(len(self.n_run))
        while len(left):
            one = self._scan.seconds_per_block * len(left)
            n_sweeps = _threads.fit_call(one, int(lengths.max()))
            shares = _threads.share(len(left), n_threads, one * n_sweeps)
            _threads.run(self._run_some, [(left[share], lengths, n_sweeps) for share in shares])
            left = left[[not self._is_done(int(b)) for b in left]]

    def _is_done(self, b: int) -> bool:
        return bool((self._filled[self._cuts[b] : self._cuts[b + 1]] == self._full).all())

    def _run_some(self, blocks: NDArray[np.int64], lengths: NDArray[np.int64], n_sweeps: int) -> None:
        """Make some sweeps with each block of chains, and settle whenever a block of sweeps is full."""
        for b in blocks:
            own, one = slice(self._cuts[b], self._cuts[b + 1]), slice(b, b + 1)
            kept = None if self._kept is None else self._kept[one]
            left, is_done = n_sweeps, False
            while left and not is_done:
                n = min(left, int(lengths[b] - self._n_swept[b]))
                self._scan.sweep(self._planes[one], self._streams[one], n, kept)
                left -= n
                self._n_swept[b] += n
                if self._n_swept[b] == lengths[b]:
                    arrays = self._before[b], self._held[b], self._filled[own], self.draws[own]
                    n_met, is_done = self._settle(self._planes[b], self._starts[b], *arrays, self._full)
                    self._n_swept[b] = 0
                    self.n_run[b] += 1
                    self.n_met[b] += n_met


def _as_words(flags: NDArray[np.uint8], storage: Storage) -> NDArray[Any]:
    """Lay zeros and ones (rounds, 512) of chains out like a line of their states."""
    return np.ascontiguousarray(pack(flags[:, None])[:, 0]) if storage == "packed" else flags


def mark_spare(n_rounds: int, n_draws: int) -> NDArray[np.uint8]:
    """Return ones for the chains (rounds, 512) whose draws nobody asked for, as if they had been given."""
    spare = np.zeros((n_rounds, BLOCK), dtype=np.uint8)
    spare.reshape(-1)[n_draws:] = 1
    return spare
