"""Exact draws on a GPU: read-once coupling from the past on bounding chains, as `Perfect` makes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsefield.inference._field import Field
from sparsefield.inference.chains._blocks import SWEEPS
from sparsefield.inference.exact_draws._perfect import Perfect, PerfectRun
from sparsefield.inference.gpu._chains import (
    WORD,
    DeviceChains,
    check_number,
    count_words,
    cut_sweeps,
    make_may,
    make_streams,
    run_sweeps,
)
from sparsefield.inference.gpu._device import Device, too_little_memory
from sparsefield.inference.gpu._scan import DeviceScan

# Chains give several draws each, so that few wait for the slowest, and there are many of them, so that a large GPU is
# busy: 2^20 of 100 variables are swept at 0.9 of the rate of 2^22, 2^18 at 0.6 (`make bench-gpu`). What they give
# depends on the number of draws alone.
_MANY_CHAINS = 2**20
_FEWEST_DRAWS, _MOST_DRAWS = 4, 64
_THREADS = 64


def draw_exactly(
    device: Device, field: Field, n_draws: int, *, seed: int, max_sweeps: int, order: Sequence[int] | None = None
) -> tuple[DeviceChains, PerfectRun]:
    """Return chains that stand at exact draws, and what these took.

    The length of a block of sweeps is chosen by a pilot run on this machine's processor.
    """
    check_number(n_draws, seed)
    plan = _Plan.of(n_draws)
    wanted = Perfect(n_draws, seed, order=None if order is None else tuple(order), max_sweeps=max_sweeps)
    length, n_pilot = wanted.choose_length(field, plan.n_rounds)
    scan = DeviceScan(device, field, order=order, n_planes=3)
    p = field.domain.n_variables
    draws = device.make((p, plan.n_rounds * plan.n_words), np.uint32)
    n_run = n_met = 0
    for first, last in plan.cut(p, device):
        place = Place(draws, plan.n_rounds, plan.n_words, first)
        some = DeviceCoupled(device, scan, place, plan.mark_spare(first, last), seed=seed, first_word=first)
        some.run(length)
        n_run, n_met = n_run + some.n_run, n_met + some.n_met
        del some  # its memory is that of the next
    chains = DeviceChains.standing_at(device, field.domain, n_draws, draws, seed=seed)
    return chains, PerfectRun(length, WORD * n_run, n_met, n_pilot, WORD * n_run * length / n_draws)


@dataclass(frozen=True)
class _Plan:
    """Which chain gives which draws: draw 32 (r n_words + w) + c is draw r of chain 32 w + c."""

    n_draws: int
    n_rounds: int
    n_words: int

    @classmethod
    def of(cls, n_draws: int) -> _Plan:
        n_rounds = int(np.clip(-(-n_draws // _MANY_CHAINS), _FEWEST_DRAWS, _MOST_DRAWS))
        return cls(n_draws, n_rounds, count_words(-(-n_draws // n_rounds)))

    def mark_spare(self, first: int, last: int) -> NDArray[np.uint32]:
        """Return ones for draws (n_rounds, words) of some words that nobody asked for, as if they had been given."""
        starts = WORD * (self.n_words * np.arange(self.n_rounds)[:, None] + np.arange(first, last))
        n_wanted = np.clip(self.n_draws - starts, 0, WORD).astype(np.uint64)
        return np.asarray(np.uint64(2**32 - 1) ^ ((np.uint64(1) << n_wanted) - np.uint64(1)), dtype=np.uint32)

    def cut(self, n_lines: int, device: Device) -> list[tuple[int, int]]:
        """Cut the words of chains into parts whose bounds the device has room for; draws are the same."""
        each = 4 * (4 * n_lines + self.n_rounds) + 128  # three planes, and one before the block; what else a word has
        most = device.free_bytes // (2 * each) // 4 * 4
        if most < 4:
            raise too_little_memory(8 * each, device.free_bytes)
        return [(first, min(first + most, self.n_words)) for first in range(0, self.n_words, most)]


class Place(NamedTuple):
    """Where draws (n_lines, n_rounds, n_words) of some chains go: from one of the words on."""

    draws: Any
    n_rounds: int
    n_words: int
    first: int


class DeviceCoupled:
    """Words of chains carried along between their bounds, which fill the draws that are theirs.

    Parameters
    ----------
    device : Device
        The GPU.
    scan : DeviceScan
        The field, ready for three planes.
    place : Place
        Where the draws go.
    spare : ndarray of shape (n_rounds, n_words)
        Ones for draws that nobody asked for, as if they had been given.
    seed, first_word : int
        Where random numbers start, and the number of the first word of chains.
    starts : array of shape (2 x n_variables, n_words), optional
        Where bounds begin; at all states unless given.
    kept : array of shape (n_variables, n_words), optional
        Bits that sweeps must not change; bounds begin there with one value.

    Attributes
    ----------
    n_run, n_met : int
        Blocks of sweeps of a word that were run, and how many times a chain met in them.
    """

    def __init__(
        self,
        device: Device,
        scan: DeviceScan,
        place: Place,
        spare: NDArray[np.uint32],
        *,
        seed: int,
        first_word: int,
        starts: Any = None,
        kept: Any = None,
    ) -> None:
        self._device, self._scan, self._place, self._starts, self._kept = device, scan, place, starts, kept
        p, n = scan.domain.n_variables, spare.shape[1]
        self._may = make_may(device, scan.domain)
        self._planes, self._before = device.make((3 * p, n), np.uint32), device.make((p, n), np.uint32)
        if starts is None:
            self._planes[p : 2 * p] = self._may[:, None]
        else:
            self._planes[: 2 * p] = starts
            self._planes[2 * p :] = self._before[:] = starts[:p]
        self._held, self._done = device.make((n,), np.uint32), device.make((n,), np.uint8)
        self._filled = device.xp.asarray(spare)
        self._done[:] = device.xp.asarray((spare == np.uint32(2**32 - 1)).all(axis=0))
        self._streams = make_streams(device, n, seed, SWEEPS, first_word)
        self.n_run = self.n_met = 0

    def run(self, length: int) -> None:
        """Run blocks of so many sweeps until every chain has given its draws; all are waited for."""
        left = int((self._device.fetch(self._done) == 0).sum())
        while left:
            self.n_run += left
            for n in cut_sweeps(self._scan, left, length, is_free=False):
                self._sweep(n)
            left = self._settle()

    def _sweep(self, n: int) -> None:
        run_sweeps(self._device, self._scan, self._planes, self._streams, n, kept=self._kept, done=self._done)

    def _settle(self) -> int:
        """Keep the draws that a block has completed; return how many words have not given all of theirs."""
        (p, n_words), place = self._before.shape, self._place
        left, n_met = self._device.make((1,), np.uint32), self._device.make((1,), np.uint64)
        arrays = self._planes, self._may, self._starts, self._before, self._held, self._filled, place.draws, self._done
        rounds = np.uint32(place.n_rounds), np.uint64(place.n_words), np.uint64(place.first)
        sizes = np.uint32(p), np.uint64(n_words), *rounds
        self._device.launch("settle", (-(-n_words // _THREADS),), _THREADS, *arrays, *sizes, left, n_met)
        self.n_met += int(self._device.fetch(n_met)[0])
        return int(self._device.fetch(left)[0])
