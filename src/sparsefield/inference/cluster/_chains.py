"""Chains, bounds and draws that stay with the workers of a cluster: whole numbers and values come back."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sparsefield._kernels._bytes import BLOCK
from sparsefield._typing import Index, Matrix
from sparsefield.data import Counts, Domain, Moments
from sparsefield.inference._backend import Bounds, ChainStates
from sparsefield.inference._checks import Storage, check_sweeps
from sparsefield.inference._draws import ROWS_AT_ONCE, ChainDraws, EqualDraws, round_many
from sparsefield.inference._field import Field
from sparsefield.inference.chains._blocks import make_states
from sparsefield.inference.chains._chains import Chains
from sparsefield.inference.chains._counting import subtract_mean
from sparsefield.inference.chains._scan import Scan
from sparsefield.inference.cluster import _tasks as tasks
from sparsefield.inference.cluster._tasks import SentField
from sparsefield.inference.cluster._workers import Workers

# Seconds of a task of sweeps: a thousand times what a task costs beside its work. What is interrupted ends by then.
_LONGEST_TASK = 1.0
_MOST_BYTES = 2**28  # of sums that are under way at a time: workers and this machine hold no more of them


class ClusterScan(Scan):
    """A field ready for sweeps on this machine, and on workers once they sweep with it."""

    def __init__(self, field: Field, workers: Workers, *, order: Any = None, n_planes: int = 1) -> None:
        super().__init__(field, order=order, n_planes=n_planes)
        self.domain = field.domain
        self._workers, self._field = workers, SentField.of(field, n_planes, order)

    @cached_property
    def sent(self) -> Any:
        """The field as workers have it."""
        return self._workers.send(self._field)


class Spread:
    """Blocks of chains or bounds in parts, one for each thread of the workers. A part never changes."""

    n_planes = 1

    def __init__(self, domain: Domain, n_chains: int, workers: Workers, parts: list[Any], cuts: NDArray[Any]) -> None:
        self.domain, self.n_chains, self.n_sweeps = domain, n_chains, 0
        self._workers, self._parts, self._cuts = workers, parts, cuts  # part k has blocks cuts[k] to cuts[k + 1] - 1

    def sweep(self, scan: ClusterScan, n_sweeps: int = 1) -> None:
        """Sweep all chains; this call does not wait for the workers."""
        check_sweeps(n_sweeps)
        if scan.n_planes != self.n_planes or scan.domain != self.domain:
            raise ValueError("The scan was made for another domain or number of planes than these chains.")
        one = scan.seconds_per_block * int(np.diff(self._cuts).max())
        n_at_once = max(1, int(_LONGEST_TASK / one)) if one else n_sweeps
        for done in range(0, n_sweeps, max(1, n_at_once)):
            n = min(n_at_once, n_sweeps - done)
            self._parts = self._workers.call_each(tasks.sweep, self._parts, scan.sent, n)
        self.n_sweeps += n_sweeps

    def copy(self) -> Self:
        """Return chains in the same state, which go on with the same random numbers."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def _add_up(self, function: Any, *shared: Any) -> Any:
        """Return the sum of what a function returns for each part."""
        return self._workers.add_up(self._workers.call_each(function, self._parts, *shared), self._parts)


class ClusterBounds(Spread, Bounds):
    """Bounds on chains from all starts at once, on workers."""

    n_planes = 2

    @property
    def n_open(self) -> int:
        """How many chains have a variable whose bounds have not met."""
        return int(self._add_up(tasks.count_open))

    def open_counts(self) -> NDArray[np.int64]:
        """Count, for each statistic, the chains whose start could still show in it: (n_slots, n_slots)."""
        return np.asarray(self._add_up(tasks.count_open_pairs))


class ClusterChains(Spread, ChainStates):
    """Chains on workers. Statistics of chains that have not been swept since are counted once."""

    def __init__(
        self,
        domain: Domain,
        n_chains: int,
        workers: Workers,
        parts: list[Any],
        cuts: NDArray[Any],
        counts: Counts | None = None,
    ) -> None:
        super().__init__(domain, n_chains, workers, parts, cuts)
        self._counts = counts

    def sweep(self, scan: ClusterScan, n_sweeps: int = 1) -> None:
        """Sweep all chains; this call does not wait for the workers."""
        super().sweep(scan, n_sweeps)
        self._counts = None

    def moments(self) -> Moments:
        """Return the means of the statistics over the chains."""
        return self.counts().moments()

    def counts(self) -> Counts:
        """Return the sums of the statistics over the chains, whole numbers."""
        found: Counts = self._add_up(tasks.count_pairs) if self._counts is None else self._counts
        self._counts = found
        return found

    def means(self) -> NDArray[np.float64]:
        """Return the main moments alone, (n_slots,)."""
        return np.asarray(self._add_up(tasks.count_single) / self.n_chains)

    def codes(self, n: int | None = None) -> NDArray[np.uint8]:
        """Return the states (n_chains, n_variables) as codes, or those of the first n chains; they are sent here."""
        return self.fetch(n).codes()

    def fetch(self, n: int | None = None) -> Chains:
        """Return chains of this machine that stand where these do, or the first n of them."""
        n = self.n_chains if n is None else min(n, self.n_chains)
        sizes = np.clip(-(-n // BLOCK) - self._cuts[:-1], 0, np.diff(self._cuts))
        calls = [
            self._workers.call(tasks.take_states, part, int(size))
            for part, size in zip(self._parts, sizes, strict=True)
            if size
        ]
        found = np.concatenate(self._workers.collect(calls, self._parts))
        storage: Storage = "packed" if found.dtype == np.uint32 else "bytes"
        states = make_states(self.domain, len(found), storage)
        states[:] = found
        return Chains.from_states(self.domain, n, states, seed=0, storage=storage)

    def draws(self) -> ClusterDraws:
        """Return what a Newton step asks of the chains as they stand."""
        return ClusterDraws(self.copy())

    def count_products(self, a: Index, b: Index) -> NDArray[Any]:
        """Count common ones of the statistics s_a s_b."""
        return np.asarray(self._add_up(tasks.count_products, self._workers.send((a, b))))

    def count_near_products(self, *pairs: NDArray[Any]) -> NDArray[np.int32]:
        """Count ones of statistics s_a s_b, and common ones of some pairs of them, as `count_near` is told."""
        return np.asarray(self._add_up(tasks.count_near_products, self._workers.send(pairs)))

    def project_numbers(self, numbers: Index) -> Matrix:
        """Return n times the covariance of every statistic with numbers of up to eight bits, one for each chain."""
        cuts = BLOCK * self._cuts
        calls = [
            self._workers.call(tasks.add_numbers, part, numbers[first:last].astype(np.uint8))
            for part, (first, last) in zip(self._parts, pairwise(cuts.tolist()), strict=True)
        ]
        total = self._workers.add_up(calls, self._parts)
        return subtract_mean(total, float(numbers.mean()), self.counts().pair)

    def along(self, moves: Matrix, a: Index, b: Index) -> Matrix:
        """Return the inner product of a move and the statistics of each chain; eight bytes a chain are sent here."""
        calls = self._workers.call_each(tasks.measure_along, self._parts, self._workers.send((moves, a, b)))
        return np.concatenate(self._workers.collect(calls, self._parts))

    def sum_weighted(self, weights: Matrix) -> Matrix:
        """Return the sum over chains of a weight times each statistic.

        Workers add up 8192 chains each, and this machine their sums one after the other, as `ChainDraws` does.
        """
        size = self.domain.n_slots
        total = np.zeros((size, size))
        starts = np.arange(0, self.n_chains, ROWS_AT_ONCE)
        n_at_once = max(1, _MOST_BYTES // (8 * size**2 + 1))
        for k in range(0, len(starts), n_at_once):
            calls = [self._project(int(start), weights) for start in starts[k : k + n_at_once]]
            for found in self._workers.collect(calls, self._parts):
                total += found
        return (total + total.T) / 2

    def _project(self, start: int, weights: Matrix) -> Any:
        """Have the sum over one run of 8192 chains made, which may stand in several parts."""
        own = weights[start : start + ROWS_AT_ONCE]
        first = int(np.searchsorted(self._cuts, start // BLOCK, side="right")) - 1
        last = int(np.searchsorted(self._cuts, (start + len(own) - 1) // BLOCK, side="right"))
        return self._workers.call(tasks.project, own, start - BLOCK * int(self._cuts[first]), *self._parts[first:last])


class ClusterDraws(EqualDraws):
    """The states of chains on workers, as `ChainDraws` are those of this machine.

    Counts, values along a move and covariances are made where the draws are. What else is asked of them is computed
    here, of states that are sent once.
    """

    def __init__(self, chains: ClusterChains) -> None:
        super().__init__(chains.domain, chains.n_chains, lambda: self._fetched.codes())
        self._chains = chains

    @cached_property
    def _fetched(self) -> Chains:
        return self._chains.fetch()

    @cached_property
    def _here(self) -> ChainDraws:
        return self._fetched.draws()

    def second_moments(self, a: Index, b: Index) -> tuple[NDArray[Any], float, Matrix]:
        """Return counts of common ones of the statistics s_a s_b, 1 / n, and their means."""
        counts = self._chains.count_products(a, b)
        return counts, 1 / self._n, np.asarray(1 / self._n * np.diagonal(counts))

    def near_moments(
        self, a: Index, b: Index, starts: Index, columns: NDArray[np.int32]
    ) -> tuple[NDArray[Any], float, Matrix]:
        """Return counts of common ones of some pairs of the statistics s_a s_b, 1 / n, and means of all statistics."""
        ones, counts = np.split(self._chains.count_near_products(a, b, starts, columns), [len(a)])
        return counts, 1 / self._n, np.asarray(1 / self._n * ones)

    def along_some(self, moves: Matrix, a: Index, b: Index) -> Matrix:
        """Return the inner product of a move of some statistics and these of each draw."""
        return self._chains.along(moves, a, b)

    def project(self, values: Matrix) -> Matrix:
        """Return the covariance of every statistic with values."""
        return self._chains.sum_weighted((values - values.mean()) / len(values))

    def project_roughly(self, values: Matrix, within: float | None = None) -> tuple[Matrix, float]:
        """Return about the covariance of every statistic with values, and a bound on the error of each."""
        rounded = round_many(values, self._domain, within)
        if rounded is None:
            return self.project(values), 0.0
        return self._chains.project_numbers(rounded.numbers) * (rounded.unit / self._n), rounded.error

    def project_onto(self, values: Matrix, a: Index, b: Index) -> Matrix:
        """Return the covariances of the statistics s_a s_b with values."""
        return self._here.project_onto(values, a, b)
