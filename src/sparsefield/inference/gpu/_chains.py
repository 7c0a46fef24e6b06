"""Chains and bounds on a GPU, one bit for each chain and variable."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sparsefield._deadline import check_time
from sparsefield._threads import fit_call
from sparsefield.data import MISSING, MOST_ROWS, Counts, Domain, Moments
from sparsefield.inference._backend import Bounds, ChainStates
from sparsefield.inference._checks import check_request, check_sweeps
from sparsefield.inference.chains._blocks import CONTINUED, STARTS, SWEEPS
from sparsefield.inference.chains._counting import count_slots
from sparsefield.inference.gpu._dense import FEW_VARIABLES, PRODUCT_WARPS
from sparsefield.inference.gpu._device import Device, Form, guard_memory, name_sweep
from sparsefield.inference.gpu._draws import DeviceDraws, count_each, count_lines
from sparsefield.inference.gpu._scan import DeviceScan

WORD = 32  # chains of a word
_FOUR = 4  # words that the counting reads at one time
_GROUP = 8  # chains that share a stream of random numbers
_THREADS = 64  # of a block: few, so that blocks are spread evenly over the processors; kernels are compiled for them


@guard_memory
class GpuLines:
    """GpuLines of bits on a GPU, some planes of a line for each variable, and random numbers of each eight chains.

    Parameters
    ----------
    device : Device
        The GPU.
    domain : Domain
        Variables with at most two levels.
    n_chains : int
        How many chains.
    states : array of shape (n_planes x n_variables, n_words)
        Where they stand: bit c of word w is chain 32 w + c.
    seed, use : int
        Where the random numbers start, and of which of several independent streams.
    first_word : int
        The number of the first word, which others have before it: random numbers depend on it.
    """

    n_planes = 1
    _kept: Any = None  # laid out like a plane: bits that sweeps must not change

    def __init__(
        self, device: Device, domain: Domain, n_chains: int, states: Any, *, seed: int, use: int, first_word: int = 0
    ) -> None:
        self.domain, self.n_chains, self.n_sweeps = domain, n_chains, 0
        self._device, self._states, self._source = device, states, (seed, use, first_word)

    def sweep(self, scan: DeviceScan, n_sweeps: int = 1) -> None:
        """Sweep all chains; an interrupt takes effect after the current call, of about a tenth of a second."""
        check_sweeps(n_sweeps)
        if scan.n_planes != self.n_planes or not np.array_equal(scan.domain.n_levels, self.domain.n_levels):
            raise ValueError("The scan was made for another domain or number of planes than these chains.")
        for n in cut_sweeps(scan, self._states.shape[1], n_sweeps, is_free=self._kept is None):
            run_sweeps(self._device, scan, self._states, self._streams, n, kept=self._kept)
            self.n_sweeps += n

    def copy(self) -> Self:
        """Return chains in the same state, which go on with the same random numbers."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._states = self._states.copy()
        if "_streams" in self.__dict__:
            other.__dict__["_streams"] = self._streams.copy()
        return other

    @cached_property
    def _streams(self) -> Any:
        """The random numbers, which are seeded when chains are swept: draws that nobody sweeps on need none."""
        return make_streams(self._device, self._states.shape[1], *self._source)

    @cached_property
    def _mask(self) -> Any:
        """Ones for the chains that exist, (n_words,)."""
        return make_mask(self._device, self.n_chains, self._states.shape[1])

    def _slots(self, states: Any, other: Any = None) -> Any:
        """Return the indicators of slots, whose levels have indicators in `states`, or in `other` if they are 0."""
        if self.domain.is_binary:
            return states
        levels, variables = self.domain.slot_levels, self._device.xp.asarray(self.domain.slot_variables)
        flips = self._device.xp.asarray(np.where(levels == 0, 2**32 - 1, 0).astype(np.uint32))[:, None]
        if other is None:
            return states[variables] ^ flips
        return self._device.xp.where(flips != 0, other[variables], states[variables]) ^ flips


@guard_memory
class DeviceChains(GpuLines, ChainStates):
    """Chains on a GPU. Chain c of a seed is the same whatever the number of chains, and whatever the GPU."""

    @classmethod
    def start(cls, device: Device, domain: Domain, n_chains: int, *, seed: int) -> DeviceChains:
        """Return chains that start at independent uniform levels."""
        check_number(n_chains, seed)
        states = device.make((domain.n_variables, count_words(n_chains)), np.uint32)
        n_lines, n_words = states.shape
        grid = (-(-n_words // _THREADS), -(-n_lines // 4))
        may = make_may(device, domain)
        sizes = np.uint64(n_words), np.uint32(n_lines)
        device.launch("fill_bits", grid, _THREADS, states, *sizes, may, *make_key(seed), np.uint32(STARTS))
        return cls(device, domain, n_chains, states, seed=seed, use=SWEEPS)

    @classmethod
    def clamped(
        cls, device: Device, domain: Domain, codes: NDArray[np.uint8], filled: NDArray[np.uint8], *, seed: int, use: int
    ) -> DeviceChains:
        """Return a chain for each row of codes, which stands at filled codes; sweeps update missing values alone."""
        states, kept = (device.xp.asarray(lay_out(own)) for own in (filled, codes != MISSING))
        chains = cls(device, domain, len(codes), states, seed=seed, use=use)
        chains._kept = kept
        return chains

    @classmethod
    def standing_at(cls, device: Device, domain: Domain, n_chains: int, states: Any, *, seed: int) -> DeviceChains:
        """Return chains that stand at some states, and have not been swept."""
        return cls(device, domain, n_chains, states, seed=seed, use=CONTINUED)

    def moments(self) -> Moments:
        """Return the means of the statistics over the chains."""
        return self.counts().moments()

    def counts(self) -> Counts:
        """Return the sums of the statistics over the chains, whole numbers."""
        counts = count_lines(self._device, self._states, self._mask)
        return Counts(
            counts if self.domain.is_binary else count_slots(counts, self.domain, self.n_chains), self.n_chains
        )

    def means(self) -> NDArray[np.float64]:
        """Return the main moments alone, (n_slots,)."""
        ones = count_each(self._device, self._slots(self._states), self._mask)
        return np.asarray(ones / self.n_chains)

    def codes(self, n: int | None = None) -> NDArray[np.uint8]:
        """Return the states (n_chains, n_variables) as codes, or those of the first n chains; these are sent here."""
        n = self.n_chains if n is None else min(n, self.n_chains)
        words = np.ascontiguousarray(self._device.fetch(self._states[:, : -(-n // WORD)]), dtype="<u4")
        return np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")[:, :n].T

    def draws(self) -> DeviceDraws:
        """Return what a Newton step asks of the chains as they stand; to be used before they are swept on."""
        return DeviceDraws(self._device, self.domain, self.n_chains, self._slots(self._states), self._mask, self.codes)


@guard_memory
class DeviceBounds(GpuLines, Bounds):
    """Bounds on chains from all starts at once, on a GPU, as `BoundingChains` has them."""

    n_planes = 2

    @classmethod
    def start(cls, device: Device, domain: Domain, n_chains: int, *, seed: int) -> DeviceBounds:
        """Return bounds on chains that can have every state."""
        check_number(n_chains, seed)
        states = device.make((2 * domain.n_variables, count_words(n_chains)), np.uint32)
        states[domain.n_variables :] = make_may(device, domain)[:, None]
        return cls(device, domain, n_chains, states, seed=seed, use=SWEEPS)

    @property
    def n_open(self) -> int:
        """How many chains have a variable whose bounds have not met."""
        n_lines, n_words = self.domain.n_variables, self._states.shape[1]
        met = self._device.make((1, n_words), np.uint32)
        grid = (-(-n_words // _THREADS),)
        self._device.launch("find_met", grid, _THREADS, self._states, np.uint32(n_lines), np.uint64(n_words), met)
        return self.n_chains - int(count_each(self._device, met, self._mask)[0])

    def open_counts(self) -> NDArray[np.int64]:
        """Count, for each statistic, the chains whose start could still show in it: (n_slots, n_slots)."""
        p = self.domain.n_variables
        low, high = self._states[:p], self._states[p:]
        least, largest = (
            count_lines(self._device, self._slots(own, other), self._mask).astype(np.int64)
            for own, other in ((low, high), (high, low))
        )
        variables = self.domain.slot_variables
        own = (variables[:, None] == variables) & ~np.eye(len(variables), dtype=bool)
        return np.where(own, 0, largest - least)


def cut_sweeps(scan: DeviceScan, n_words: int, n_sweeps: int, *, is_free: bool) -> list[int]:
    """Cut sweeps into calls of about a tenth of a second."""
    one = scan.n_updated * scan.seconds(WORD * n_words, scan.multiplies and is_free)
    at_once = fit_call(one, max(1, n_sweeps))
    return [min(at_once, n_sweeps - done) for done in range(0, n_sweeps, at_once)]


def run_sweeps(
    device: Device, scan: DeviceScan, states: Any, streams: Any, n_sweeps: int, *, kept: Any = None, done: Any = None
) -> None:
    """Sweep chains in place, in one call, and wait for it. Words that are done are left alone."""
    check_time()
    if scan.multiplies and kept is None and done is None:
        _run_products(device, scan, states, streams, n_sweeps)
        return
    n_words, n_lines = states.shape[1], len(states) // scan.n_planes
    # Fewer chains a thread where there are few: states are the same.
    bits = next((bits for bits in (32, 16) if 32 * n_words >= bits * device.n_full), 8)
    n_each = 32 // bits * n_words
    n_blocks, near = -(-n_each // _THREADS), len(states) * _THREADS * bits // 8
    is_near = bits < 32 and device.has_room(n_blocks, near)
    form: Form = "product" if scan.form == "product" else "sum"
    name = name_sweep(form, scan.n_planes, bits, is_near, scan.group)
    sizes = np.uint32(n_lines), np.uint64(n_each), np.int32(scan.n_updated), np.int32(n_sweeps)
    arguments = states, streams, *scan.arguments, kept, done, *sizes
    device.launch(name, (n_blocks,), _THREADS, *arguments, near_bytes=near if is_near else 0)
    device.wait()


def _run_products(device: Device, scan: DeviceScan, states: Any, streams: Any, n_sweeps: int) -> None:
    """Sweep chains of a field in which most variables interact, by products of matrices."""
    n_words = states.shape[1]
    sizes = np.uint64(n_words), np.int32(scan.n_updated), np.int32(n_sweeps)
    grid, n_threads = (-(-n_words // PRODUCT_WARPS),), WORD * PRODUCT_WARPS
    name = f"sweep_dense_{'few' if scan.n_updated <= FEW_VARIABLES else 'many'}"
    device.launch(name, grid, n_threads, states, streams, *scan.products, *sizes, near_bytes=scan.near_bytes)
    device.wait()


def check_number(n_chains: int, seed: int) -> None:
    """Refuse numbers of chains and seeds that make no sense, and more chains than a count of 32 bits can hold."""
    check_request(n_chains, seed)
    if n_chains > MOST_ROWS:
        raise ValueError(f"n_chains is {n_chains}: a GPU counts up to {MOST_ROWS} of them. Use several seeds.")


def count_words(n_chains: int) -> int:
    """Count the words of a line, in fours."""
    return _FOUR * -(-n_chains // (WORD * _FOUR))


def make_key(seed: int) -> tuple[np.uint32, np.uint32]:
    """Return the key of a seed's random numbers."""
    first, second = np.random.SeedSequence(seed).generate_state(2, np.uint32)
    return first, second


def make_streams(device: Device, n_words: int, seed: int, use: int, first_word: int = 0) -> Any:
    """Seed a stream of random numbers for each eight chains."""
    each = WORD // _GROUP
    streams = device.make((each * n_words, 4), np.uint32)
    sizes = np.uint64(each * n_words), np.uint64(each * first_word)
    grid = (-(-each * n_words // _THREADS),)
    device.launch("seed_streams", grid, _THREADS, streams, *sizes, *make_key(seed), np.uint32(use))
    return streams


def make_may(device: Device, domain: Domain) -> Any:
    """Return words (n_variables,) of ones for variables that have two levels, and of zeros for others."""
    return device.xp.asarray(np.where(domain.n_levels == 2, 2**32 - 1, 0).astype(np.uint32))


def make_mask(device: Device, n_chains: int, n_words: int) -> Any:
    """Return ones for the chains that exist, (n_words,)."""
    mask = np.zeros(n_words, dtype=np.uint32)
    mask[: n_chains // WORD] = 2**32 - 1
    if n_chains % WORD:
        mask[n_chains // WORD] = 2 ** (n_chains % WORD) - 1
    return device.xp.asarray(mask)


def lay_out(codes: NDArray[Any]) -> NDArray[np.uint32]:
    """Lay codes (n, n_variables) of zeros and ones out in lines of bits, filled up with zeros."""
    n, p = codes.shape
    lines = np.zeros((p, _FOUR * count_words(n)), dtype=np.uint8)
    lines[:, : -(-n // 8)] = np.packbits(codes.T.astype(bool), axis=1, bitorder="little")
    return lines.view("<u4").astype(np.uint32, copy=False)
