"""Coupling from the past of chains that keep the observed cells of a row each."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsefield import _threads
from sparsefield._kernels._bytes import BLOCK
from sparsefield._typing import Codes, Index
from sparsefield.data import MISSING, Domain, count
from sparsefield.inference._checks import Storage
from sparsefield.inference._field import Field
from sparsefield.inference.chains._blocks import PILOT, SWEEPS, make_streams, unpack
from sparsefield.inference.chains._scan import Scan
from sparsefield.inference.exact_draws._bounds import find_met, lay_out_bounds
from sparsefield.inference.exact_draws._coupled import Coupled
from sparsefield.inference.exact_draws._perfect import FEWEST_MEETING, MOST_DRAWS, OutOfReachError, blocks_needed
from sparsefield.inference.missing._clamped import lay_out_kept
from sparsefield.inference.missing._enumerated_rows import MOST_ALTOGETHER, MOST_STATES, count_ways, is_enumerable

_MOST_CELLS = 2**26  # of draws that are made at one time: 64 MiB as codes
_MOST_BLOCKS = 64  # of chains that run at one time


@dataclass(frozen=True, eq=False)
class MissingRows:
    """Rows with missing values, and which draws are of which.

    Parameters
    ----------
    codes : ndarray of shape (n, n_variables)
        The rows, 255 where a value is missing.
    first, last : ndarray of shape (n,)
        Draws first[r] to last[r] - 1 are of row r.
    """

    codes: Codes
    first: Index
    last: Index

    @classmethod
    def of(cls, codes: Codes) -> MissingRows:
        """Return the rows of which some codes, one for each draw, are repeats."""
        first = np.flatnonzero(np.append(True, (codes[1:] != codes[:-1]).any(axis=1)))
        return cls(codes[first], first, np.append(first[1:], len(codes)))


def refuse_row(domain: Domain, row: Codes, why: str, remedy: str) -> OutOfReachError:
    """Return the error for a row that can neither be enumerated nor coupled."""
    n_states = float(count_ways(domain, row[None])[0])
    return OutOfReachError(
        f"Exact draws of missing values are out of reach: a row has {np.count_nonzero(row == MISSING)} of them, with "
        f"{n_states:.3g} ways to fill them. Enumeration is for up to {MOST_STATES} of a row and {MOST_ALTOGETHER} of "
        f"all, and {why}. {remedy}".rstrip(),
        reason="exact draws of missing values out of reach",
        remedy=remedy,
    )


class _Plan:
    """Which chain draws for which row: a number of draws for each that is fixed beforehand, up to 16.

    Rows with few missing values come first, so that chains of a block need about the same time.
    """

    def __init__(self, rows: MissingRows, chosen: Index) -> None:
        n_missing = np.count_nonzero(rows.codes[chosen] == MISSING, axis=1)
        order = chosen[np.argsort(n_missing, kind="stable")]
        counts = rows.last[order] - rows.first[order]
        self.most_draws = int(np.clip(counts.sum() // (2 * BLOCK), 1, MOST_DRAWS))
        n_chains = -(-counts // self.most_draws)
        self.rows = np.repeat(order, n_chains)  # of each chain
        k = np.arange(len(self.rows)) - np.repeat(np.cumsum(n_chains) - n_chains, n_chains)
        counts, n_chains = np.repeat(counts, n_chains), np.repeat(n_chains, n_chains)
        self.first = rows.first[self.rows] + counts * k // n_chains
        self.n_draws = rows.first[self.rows] + counts * (k + 1) // n_chains - self.first
        self.n_blocks = -(-len(self.rows) // BLOCK)
        self._codes = rows.codes

    def codes_of(self, chains: slice) -> Codes:
        """Return the rows that some chains draw for."""
        return np.asarray(self._codes[self.rows[chains]])

    def bounds(self, domain: Domain, storage: Storage, blocks: range) -> tuple[NDArray[Any], ...]:
        """Return where the bounds of some blocks of chains begin, and what is kept. Spare chains keep everything."""
        own = self.codes_of(slice(blocks.start * BLOCK, blocks.stop * BLOCK))
        codes = np.zeros((len(blocks) * BLOCK, domain.n_variables), dtype=np.uint8)
        codes[: len(own)] = own
        return lay_out_bounds(codes, domain, storage), lay_out_kept(codes != MISSING, domain, storage)

    def spare(self, blocks: range) -> Codes:
        """Return ones for the draws (rounds, 512) of some blocks that nobody asked for."""
        n_draws = np.zeros(len(blocks) * BLOCK, dtype=np.int64)
        own = self.n_draws[blocks.start * BLOCK : blocks.stop * BLOCK]
        n_draws[: len(own)] = own
        rounds = np.arange(self.most_draws)[:, None]
        return (rounds >= n_draws.reshape(-1, 1, BLOCK)).astype(np.uint8).reshape(-1, BLOCK)

    def hand_out(self, draws: NDArray[Any], storage: Storage, blocks: range, filled: Codes) -> None:
        """Write the draws of some blocks of chains to the draws (n, n_variables) of their rows."""
        p = filled.shape[1]
        codes = unpack(draws[:, :p]) if storage == "packed" else draws[:, :p]
        by_chain = codes.reshape(len(blocks), self.most_draws, p, BLOCK).transpose(0, 3, 1, 2)
        own = slice(blocks.start * BLOCK, min(blocks.stop * BLOCK, len(self.rows)))
        by_chain = by_chain.reshape(-1, self.most_draws, p)[: own.stop - own.start]
        for k in range(self.most_draws):
            has = self.n_draws[own] > k
            filled[self.first[own][has] + k] = by_chain[has, k]


class Coupling:
    """Chains that draw the missing values of rows.

    The lengths of blocks of sweeps are chosen here, by pilot runs with random numbers of their own. Rows whose chains
    do not meet often enough are left out if they can be enumerated; others are refused.

    Parameters
    ----------
    field : Field
        The model.
    rows : MissingRows
        Rows with missing values.
    chosen : ndarray of int
        Those of them that are to be drawn.
    seed, max_sweeps, n_threads : int
        As for `draw_missing`.

    Attributes
    ----------
    rows : ndarray of int
        Those that will be drawn.
    """

    def __init__(
        self, field: Field, rows: MissingRows, chosen: Index, *, seed: int, max_sweeps: int, n_threads: int | None
    ) -> None:
        self._field, self._seed, self._max_sweeps, self._n_threads = field, seed, max_sweeps, n_threads
        self._scan = Scan(field, n_planes=3)
        self.rows = chosen
        pilot = Scan(field, n_planes=2)
        while len(self.rows):
            self._plan = _Plan(rows, self.rows)
            self._lengths, slow = self._choose_lengths(pilot, rows)
            if not len(slow):
                break
            self.rows = np.setdiff1d(self.rows, slow)

    def _choose_lengths(self, pilot: Scan, rows: MissingRows) -> tuple[Index, Index]:
        """Choose the sweeps of a block for each block of chains; return them, and the rows that do not meet."""
        n_blocks = self._plan.n_blocks
        streams = make_streams(self._seed, n_blocks, PILOT)
        lengths = np.zeros(n_blocks, dtype=np.int64)
        slow: list[int] = []

        def run(blocks: Iterable[int]) -> Iterator[int]:
            for b in blocks:
                lengths[b], own = yield from self._choose_length(pilot, b, streams[b : b + 1])
                slow.extend(own)

        _run_in_pieces([run([n_blocks - 1])], pilot)  # the hardest first: if it is out of reach, others do not matter
        self._check(rows, np.array(slow, dtype=np.int64))
        if n_blocks > 1:
            seconds = pilot.seconds_per_block * int(lengths[-1] or self._max_sweeps) * n_blocks
            shares = _threads.share(n_blocks - 1, self._n_threads, seconds)
            _run_in_pieces([run(range(n_blocks - 1)[share]) for share in shares], pilot)
        unmet = np.unique(np.array(slow, dtype=np.int64))
        self._check(rows, unmet)
        return lengths, unmet

    def _check(self, rows: MissingRows, slow: Index) -> None:
        """Refuse rows that can neither be coupled nor enumerated."""
        n_states = count_ways(self._field.domain, rows.codes[slow])
        if not is_enumerable(n_states):
            why = (
                f"chains from all starts met within {count(self._max_sweeps, 'sweep')} in less than half of a pilot run"
            )
            raise refuse_row(self._field.domain, rows.codes[slow[n_states.argmax()]], why, "Raise max_sweeps for them.")

    def _choose_length(
        self, pilot: Scan, b: int, stream: NDArray[np.uint64]
    ) -> Generator[int, None, tuple[int, list[int]]]:
        """Choose the sweeps of a block for one block of chains; return them, and the rows that do not meet.

        On the way it yields how many sweeps it has just made.

        As for draws of the field, what counts is the time until the slowest chain has met once for each draw and once
        before. In addition, half of the chains of each row must meet: those of other rows say nothing of it.
        """
        plan, domain, storage = self._plan, self._field.domain, pilot.storage
        bounds, kept = plan.bounds(domain, storage, range(b, b + 1))
        own = plan.rows[b * BLOCK : (b + 1) * BLOCK]
        starts = np.flatnonzero(np.append(True, own[1:] != own[:-1]))
        sizes = np.diff(np.append(starts, len(own)))
        at_once = _sweeps_at_once(pilot, 1)
        n, best_cost, best, shares = 0, np.inf, 0, np.zeros(len(starts))
        while n < self._max_sweeps and n * (plan.most_draws + 1) < best_cost:
            step = min(max(1, n // 16), self._max_sweeps - n)
            for left in range(step, 0, -at_once):
                made = min(left, at_once)
                pilot.sweep(bounds, stream, made, kept)
                yield made
            n += step
            met = find_met(bounds, domain, storage)[0, : len(own)]
            shares = np.add.reduceat(met.astype(np.float64), starts) / sizes
            if shares.min() >= FEWEST_MEETING:
                cost = n * blocks_needed(float(met.mean()), plan.most_draws + 1)
                if cost < best_cost:
                    best_cost, best = cost, n
        return best, [] if best else own[starts[shares < FEWEST_MEETING]].tolist()

    def fill(self, filled: Codes) -> float:
        """Write the draws to codes (n, n_variables); return the sweeps that all chains made together."""
        if not len(self.rows):
            return 0.0
        plan, domain, storage = self._plan, self._field.domain, self._scan.storage
        streams = make_streams(self._seed, plan.n_blocks, SWEEPS)
        at_once = int(np.clip(_MOST_CELLS // (BLOCK * plan.most_draws * domain.n_variables), 1, _MOST_BLOCKS))
        total = 0.0
        for start in range(0, plan.n_blocks, at_once):
            blocks = range(start, min(start + at_once, plan.n_blocks))
            some = slice(blocks.start, blocks.stop)
            starts, kept = plan.bounds(domain, storage, blocks)
            cuts = plan.most_draws * np.arange(len(blocks) + 1)
            chains = Coupled(self._scan, domain, streams[some], starts, cuts, plan.spare(blocks), kept)
            chains.run(self._lengths[some], self._n_threads)
            total += BLOCK * float((chains.n_run * self._lengths[some]).sum())
            plan.hand_out(chains.draws, storage, blocks, filled)
        return total


def _run_in_pieces(runs: list[Iterator[int]], pilot: Scan) -> None:
    """Go on with pilot runs that yield the sweeps they make, one thread for each, a tenth of a second at a time."""
    most = _sweeps_at_once(pilot, len(runs))
    while runs:
        are_done = _threads.run(_go_on, [(run, most) for run in runs])
        runs = [run for run, is_done in zip(runs, are_done, strict=True) if not is_done]


def _go_on(run: Iterator[int], most: int) -> bool:
    """Go on with a pilot run until it has made so many sweeps; say whether it has ended."""
    n_made = 0
    for n in run:
        n_made += n
        if n_made >= most:
            return False
    return True


def _sweeps_at_once(pilot: Scan, n_blocks: int) -> int:
    """Return how many sweeps some blocks of chains make in a tenth of a second, each of them."""
    return _threads.fit_call(pilot.seconds_per_block * n_blocks, 1)
