"""Bounding chains: the states that Gibbs chains from any start can have."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsefield._kernels._bytes import BLOCK
from sparsefield._kernels._coupling import count_open, find_closed, find_closed_sets, gather_open
from sparsefield.data import MISSING, Domain
from sparsefield.inference._checks import Storage, check_bounded
from sparsefield.inference.chains._blocks import SWEEPS, lay_out, make_states, unpack
from sparsefield.inference.chains._chains import Chains
from sparsefield.inference.chains._counting import chain_masks, count_packed
from sparsefield.inference.chains._fused_checks import BoundedBlocks, fits_one_call, sweep_below_target
from sparsefield.inference.chains._scan import Scan
from sparsefield.inference.exact_draws._sets import as_sets, has_sets, make_sets


class BoundingChains(BoundedBlocks):
    """Bounds on Gibbs chains from all starts at once.

    Each variable of a chain has a least and a largest level, at first its two levels. An update takes the least and the
    largest log-odds that neighbours within their bounds allow, and compares one random number with both probabilities.
    A Gibbs chain that uses the same random numbers stays between the bounds wherever it started; where they have met,
    every start has led to the same level. (`Chains` of the same seed, swept in the same form, use the same random
    numbers.)

    With more than two levels each variable has the set of levels that it can have, at first all of them; an update
    leaves those that some state within the sets of its neighbours leads to. Where interactions are super- or submodular
    pair by pair of variables, as those of ordered levels are, sets are all levels from the least to the largest one.

    Parameters
    ----------
    domain : Domain
        Variables with at most 64 levels.
    n_chains : int
        How many pairs of bounds.
    seed : int
        Where the random numbers start.
    storage : "packed" or "bytes", optional
        As for `Chains`.
    n_threads : int, optional
        As for `Chains`.
    first_block : int
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
        first_block: int = 0,
    ) -> None:
        check_bounded(domain, "bounds of chains")
        how: dict[str, Any] = {"storage": storage, "n_threads": n_threads, "first_block": first_block}
        super().__init__(domain, n_chains, seed=seed, use=use, **how)
        self._states = make_widest(domain, self.n_blocks, self.storage)

    def sweep_below(
        self, scan: Scan, checks: NDArray[np.int64], risks: NDArray[np.float64], target: float
    ) -> int | None:
        """Sweep until a certificate would bound the norm of the bias by about a target, or to the last check.

        It leaves out checks that would lead nowhere, and sweeps of chains that have met, in one call where the field is
        small. Chains that are left change places, and so their random numbers, as soon
        as three quarters have met: which ones go on depends on the past alone, so that they are as independent as
        before.

        Parameters
        ----------
        scan : Scan
            The field, ready for sweeps of two planes.
        checks : ndarray of shape (n,)
            The sweeps to make before each check.
        risks : ndarray of shape (n, 2)
            Minus the logarithms of what each check may fail with: for a statistic, and for whether any is open.
        target : float
            The bias.

        Returns
        -------
        int or None
            How many checks were passed, the last of them the one to make in earnest; None where such sweeps are not a
            single call, and nothing has been done.
        """
        if not fits_one_call(self, scan, int(checks.max()), int(checks.sum())):
            return None
        return sweep_below_target(self, scan, checks, risks, target)

    def drop_met(self) -> None:
        """Go on with the chains that have not met alone, once three quarters have: the others never open again.

        As in `sweep_below`; they count as met from then on. Chains held as bytes are all kept.
        """
        if self.storage == "packed" and self.n_blocks > 1 and 4 * self.n_open <= BLOCK * self.n_blocks:
            masks = chain_masks(self.n_blocks, self.n_chains)
            self.keep_blocks(max(1, -(-int(gather_open(self._states, masks.view(np.uint32))) // BLOCK)))

    @property
    def n_open(self) -> int:
        """How many chains have a variable whose bounds have not met."""
        if self.storage == "packed":
            return int(count_open(self._states.view(np.uint64), chain_masks(self.n_blocks, self.n_chains)))
        met = find_met(self._states, self.domain, self.storage)
        return self.n_chains - int(met.reshape(-1)[: self.n_chains].sum())

    def open_counts(self) -> NDArray[np.int64]:
        """Count, for each statistic, the chains whose start could still show in it: (n_slots, n_slots).

        The diagonal is for main statistics. A pair statistic is a product of two indicators, which is settled as soon
        as the products of their least and of their largest values agree, even where one variable is open.
        """
        domain = self.domain
        size = domain.n_slots
        if size == 0:
            return np.zeros((0, 0), dtype=np.int64)
        if domain.is_binary and self.storage == "packed":
            planes = (np.ascontiguousarray(plane) for plane in self.planes())
            low, high = (count_packed(plane, size, self.n_chains, self.n_threads) for plane in planes)
            return (high - low).astype(np.int64)
        counts = []
        for chains in self._slot_bounds():
            moments = chains.moments()
            counts.append(np.rint(moments.pair * self.n_chains).astype(np.int64))  # whole numbers, up to 2^31
        least, largest = counts
        own = (domain.slot_variables[:, None] == domain.slot_variables) & ~np.eye(size, dtype=bool)
        return np.where(own, 0, largest - least)

    def _slot_bounds(self) -> tuple[Chains, Chains]:
        """Return the least and the largest indicator of each slot."""
        slots = Domain.binary(self.domain.n_slots)
        bounds = []
        for indicators in self._least_and_largest():
            states = make_states(slots, self.n_blocks, self.storage)
            states[:, : indicators.shape[1]] = indicators
            bounds.append(
                Chains.from_states(slots, self.n_chains, states, seed=0, storage=self.storage, n_threads=self.n_threads)
            )
        return bounds[0], bounds[1]

    def _least_and_largest(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return bounds on the indicators of slots: one where there is no other level, and where it is among others."""
        variables, levels = self.domain.slot_variables, self.domain.slot_levels[:, None]
        if has_sets(self.domain):
            alone, sets = np.uint64(1) << levels.astype(np.uint64), self._states[:, variables]
            return sets == alone, sets & alone != 0
        low, high = (plane[:, variables] for plane in self.planes())
        full = full_word(self.storage)
        # That of level 0 is least where the level is largest.
        return np.where(levels == 0, high ^ full, low), np.where(levels == 0, low ^ full, high)

    def planes(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the least and the largest states, (blocks, lines, words) in the layout of the storage."""
        return split(self._states)

    def sets(self) -> NDArray[np.uint64]:
        """Return the levels that each variable of a chain can have, (blocks, n_variables, 512), bit a for level a."""
        if has_sets(self.domain):
            return np.asarray(self._states)
        p = self.domain.n_variables
        low, high = ((unpack(plane) if self.storage == "packed" else plane)[:, :p] for plane in self.planes())
        return np.asarray((np.uint64(1) << low.astype(np.uint64)) | (np.uint64(1) << high.astype(np.uint64)))


def split(states: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the two planes of states."""
    n_lines = states.shape[1] // 2
    return states[:, :n_lines], states[:, n_lines:]


def full_word(storage: Storage) -> Any:
    """Return a word with a one for each chain in it."""
    return np.uint32(2**32 - 1) if storage == "packed" else np.uint8(1)


def find_met(bounds: NDArray[Any], domain: Domain, storage: Storage) -> NDArray[np.uint8]:
    """Return ones (blocks, 512) for the chains all of whose bounds have met."""
    if has_sets(domain):
        met = np.empty((len(bounds), bounds.shape[2]), dtype=np.uint8)
        for block, own in enumerate(bounds):
            find_closed_sets(own, np.uint8(1), met[block])
        return met
    low, high = split(bounds)
    closed = np.empty((len(bounds), 1, low.shape[2]), dtype=low.dtype)
    for block in range(len(bounds)):
        find_closed(low[block], high[block], full_word(storage), closed[block, 0])
    return np.asarray((unpack(closed) if storage == "packed" else closed)[:, 0])


def make_widest(domain: Domain, n_blocks: int, storage: Storage) -> NDArray[Any]:
    """Return the bounds of chains that can have every state: least and largest states, or sets of levels."""
    if has_sets(domain):
        return make_sets(domain, n_blocks)
    states = make_states(domain, n_blocks, storage, n_planes=2)
    split(states)[1][:, : domain.n_variables][:, domain.n_levels == 2] = full_word(storage)
    return states


def lay_out_bounds(codes: NDArray[np.uint8], domain: Domain, storage: Storage) -> NDArray[Any]:
    """Return the bounds of chains (n, n_variables) that can have every level where a value is missing."""
    if has_sets(domain):
        return as_sets(codes, domain)
    is_missing = codes == MISSING
    ends = (np.where(is_missing, end, codes).astype(np.uint8) for end in (0, domain.n_levels - 1))
    return np.concatenate([lay_out(end, domain, storage) for end in ends], axis=1)
