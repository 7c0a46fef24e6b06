"""Exact draws: read-once coupling from the past (Wilson 2000) on bounding chains."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr

from sparsefield._kernels._bytes import BLOCK
from sparsefield.data import Moments, count
from sparsefield.inference._checks import check_bounded, check_request
from sparsefield.inference._field import Field
from sparsefield.inference.chains._blocks import PILOT, SWEEPS, make_streams
from sparsefield.inference.chains._chains import Chains
from sparsefield.inference.chains._scan import Scan
from sparsefield.inference.exact_draws._bounds import BoundingChains, make_widest
from sparsefield.inference.exact_draws._coupled import Coupled, mark_spare

FEWEST_MEETING = 0.5  # share of the chains that must meet within a block of sweeps
MOST_DRAWS = 16  # of a chain, but for what is more than 64 blocks of chains would give
# At most so many blocks of chains, so that every chain gives several draws and few wait for the slowest. Where that
# would be more than 64 draws of each chain there are more blocks, for machines that have more processors together: four
# million draws take 8% more sweeps with 128 blocks (the paper's field of 20 variables).
_BLOCKS_OF_CHAINS = 64
_ENOUGH_DRAWS = 64


class OutOfReachError(ValueError):
    """Exact draws cannot be had.

    Parameters
    ----------
    message : str
        What to tell people who asked for them.
    reason : str
        Why, in a few words.
    remedy : str
        What would help, as a sentence; empty where nothing would.
    """

    def __init__(
        self, message: str, reason: str = "exact draws out of reach", remedy: str = "Raise max_sweeps for them."
    ) -> None:
        super().__init__(message)
        self.reason, self.remedy = reason, remedy


@dataclass(frozen=True)
class PerfectRun:
    """What exact draws took.

    Parameters
    ----------
    block_length : int
        Sweeps of a block, chosen by a pilot run with random numbers of its own.
    n_blocks : int
        Blocks run, over all chains.
    n_met : int
        Blocks in which chains from all starts met.
    n_pilot_sweeps : int
        Sweeps of 512 bounding chains that the choice of the block length took.
    sweeps_per_draw : float
        Sweeps of a chain for each draw, waiting for the slowest chain included; the pilot is not.
    """

    block_length: int
    n_blocks: int
    n_met: int
    n_pilot_sweeps: int
    sweeps_per_draw: float


@dataclass(frozen=True)
class Perfect:
    """Inference by exact draws: no bias at all, whatever the interactions.

    Chains and their bounds run in blocks of sweeps. When the bounds meet within a block, the state after it does not
    depend on the state before; carried on through the blocks that follow, up to the next one in which bounds meet, it
    is a draw from the field, and independent of all others. Every chain gives as many draws as it was told to
    beforehand, and all are waited for: to drop the slow ones would favour states that are reached fast.

    "Exact" is up to the rounding of conditional probabilities (`Scan`): events that a block of sweeps has with
    probability n_sweeps p 2^-31 or less may be missed.

    Parameters
    ----------
    n_chains : int
        How many draws.
    seed : int
        Where the random numbers start.
    order : tuple of int, optional
        The order in which a sweep updates the variables.
    max_sweeps : int
        Sweeps within which half of the bounding chains of a pilot run must meet. Where they do not, the field is
        refused: raise the limit then.
    n_threads : int, optional
        Threads to use; the result does not depend on it.

    Examples
    --------
    >>> from sparsefield.datasets import make_field
    >>> from sparsefield.inference import Perfect
    >>> draws = Perfect(10_000, seed=1).run(make_field(20, seed=1))
    >>> draws.codes().shape
    (10000, 20)
    """

    n_chains: int
    seed: int
    order: tuple[int, ...] | None = None
    max_sweeps: int = 10_000
    n_threads: int | None = None

    def moments(self, field: Field) -> Moments:
        """Return the means over the draws."""
        return self.run(field).moments()

    def run(self, field: Field) -> Chains:
        """Return chains that stand at the draws."""
        return self.draw(field)[0]

    def draw(self, field: Field) -> tuple[Chains, PerfectRun]:
        """Return chains that stand at the draws, and what they took."""
        length, n_pilot = self.choose_length(field)
        draws, n_run, n_met = self.draw_some(field, length, 0, self.n_blocks)
        return draws, self.describe(length, n_pilot, n_run, n_met)

    @property
    def n_rounds(self) -> int:
        """How many blocks of 512 the draws fill."""
        return -(-self.n_chains // BLOCK)

    @property
    def n_blocks(self) -> int:
        """How many blocks of chains give the draws; it depends on the number of draws alone."""
        # With 1, 5 and 14 draws of each chain, waiting for the slowest takes 4.8, 2.0 and 1.5 times the sweeps that a
        # draw needs (the paper's field of 20 variables): up to 16 of them, and at least two blocks, for two cores.
        n_most = max(_BLOCKS_OF_CHAINS, self.n_rounds // _ENOUGH_DRAWS)
        return min(self.n_rounds, 2 * -(-self.n_rounds // (2 * MOST_DRAWS)), n_most)

    @property
    def cuts(self) -> NDArray[np.int64]:
        """The rounds of draws that each block of chains gives: block b from cuts[b] on, up to cuts[b + 1]."""
        return np.asarray(self.n_rounds * np.arange(self.n_blocks + 1) // self.n_blocks)

    def choose_length(self, field: Field, most_draws: int | None = None) -> tuple[int, int]:
        """Choose the sweeps of a block by a pilot run; return them and the sweeps that this took.

        Chains give so many draws at most; as many as they do on this machine unless given.
        """
        _refuse_levels(field)
        check_request(self.n_chains, self.seed)
        if self.max_sweeps < 1:
            raise ValueError(f"max_sweeps is {self.max_sweeps}: use at least one.")
        return _choose_length(field, self, most_draws or int(np.diff(self.cuts).max()))

    def draw_some(self, field: Field, length: int, first: int, last: int) -> tuple[Chains, int, int]:
        """Run blocks of chains first to last - 1 alone.

        Return chains that stand at their draws, the blocks of sweeps that they ran, and in how many of these a chain
        met.
        """
        coupled = _make_coupled(field, self, first, last)
        coupled.run(np.full(len(coupled.n_run), length), self.n_threads)
        begin, end = int(self.cuts[first]), int(self.cuts[last])
        draws = Chains.from_states(
            field.domain,
            min(self.n_chains, BLOCK * end) - BLOCK * begin,
            coupled.draws,
            seed=self.seed,
            storage=coupled.storage,
            n_threads=self.n_threads,
            first_block=begin,
        )
        return draws, int(coupled.n_run.sum()), int(coupled.n_met.sum())

    def describe(self, length: int, n_pilot: int, n_run: int, n_met: int) -> PerfectRun:
        """Say what all blocks of chains took together."""
        return PerfectRun(length, BLOCK * n_run, n_met, n_pilot, BLOCK * n_run * length / self.n_chains)


def _refuse_levels(field: Field) -> None:
    """Refuse variables with more levels than bounding chains can hold."""
    try:
        check_bounded(field.domain, "exact draws")
    except ValueError as error:
        raise OutOfReachError(str(error), reason="a variable with too many levels", remedy="") from None


def _make_coupled(field: Field, wanted: Perfect, first: int, last: int) -> Coupled:
    """Make blocks of chains that give draws."""
    scan = Scan(field, order=wanted.order, n_planes=3)
    cuts = wanted.cuts[first : last + 1]
    starts = make_widest(field.domain, last - first, scan.storage)
    streams = make_streams(wanted.seed, last - first, SWEEPS, first)
    spare = mark_spare(wanted.n_rounds, wanted.n_chains)[cuts[0] : cuts[-1]]
    return Coupled(scan, field.domain, streams, starts, cuts - cuts[0], spare)


def _choose_length(field: Field, wanted: Perfect, most_draws: int) -> tuple[int, int]:
    """Choose the sweeps of a block by a pilot run; return them and the sweeps that this took.

    Long blocks meet more often, short ones waste less: what counts is the time until the slowest of 512 chains has met
    once for each draw and once before, which no block length beats that is itself longer than the best so far.
    """
    pilot = BoundingChains(field.domain, BLOCK, seed=wanted.seed, n_threads=1, use=PILOT)
    scan = Scan(field, order=wanted.order, n_planes=2)
    best_cost, best = np.inf, 0
    share = 0.0
    while pilot.n_sweeps < wanted.max_sweeps and pilot.n_sweeps * (most_draws + 1) < best_cost:
        step = min(max(1, pilot.n_sweeps // 16), wanted.max_sweeps - pilot.n_sweeps)
        pilot.sweep(scan, step)
        share = 1 - pilot.n_open / BLOCK
        if share >= FEWEST_MEETING:
            cost = pilot.n_sweeps * blocks_needed(share, most_draws + 1)
            if cost < best_cost:
                best_cost, best = cost, pilot.n_sweeps
    if not best:
        raise OutOfReachError(
            "Exact draws are out of reach: chains from all starts met within "
            f"{count(wanted.max_sweeps, 'sweep')} in only {int(100 * share)}% of a pilot run, and half are needed. The "
            "interactions are too strong for that. Raise max_sweeps, or draw with method='gibbs' and ask "
            "sparsefield.certificates how far off that can be."
        )
    return best, pilot.n_sweeps


def blocks_needed(share: float, n_meetings: int) -> int:
    """Return how many blocks give all of 512 chains n meetings, with probability one half or more."""
    # With a share of one half, one of 512 chains misses n meetings in 4 n + 59 blocks with probability below 2e-15.
    n = np.arange(n_meetings, 4 * n_meetings + 60)
    fails = BLOCK * bdtr(n_meetings - 1, n, min(share, 1 - 0.5 / BLOCK))
    return int(n[np.argmax(fails <= 0.5)])
