"""What workers of a cluster are asked to do: functions of their arguments alone, so that what is lost is made again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from importlib.metadata import version
from operator import add
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from sparsefield._kernels._bytes import BLOCK
from sparsefield._typing import Index, Matrix
from sparsefield.data import Counts, Domain
from sparsefield.inference._draws import project_rows
from sparsefield.inference._field import Field
from sparsefield.inference.chains._blocks import Blocks
from sparsefield.inference.chains._chains import Chains
from sparsefield.inference.chains._counting import count_near, sum_numbers
from sparsefield.inference.chains._scan import Scan
from sparsefield.inference.exact_draws._bounds import BoundingChains
from sparsefield.inference.exact_draws._perfect import Perfect

# A task has one thread: a worker runs as many tasks at a time as it has threads.
ONE = 1


@dataclass(frozen=True, eq=False)
class SentMatrix:
    """A matrix by its entries that are not zero: fields and steps have few of them."""

    shape: tuple[int, ...]
    indices: NDArray[np.int64]
    values: NDArray[np.float64]

    @classmethod
    def of(cls, matrix: Matrix) -> SentMatrix:
        """Take the entries that are not zero."""
        indices = np.flatnonzero(matrix)
        return cls(matrix.shape, indices, matrix.reshape(-1)[indices])

    def unpack(self) -> Matrix:
        """Return the matrix."""
        matrix = np.zeros(self.shape)
        matrix.reshape(-1)[self.indices] = self.values
        return matrix


@dataclass(frozen=True)
class SentField:
    """A field on its way to workers, and how it is to be swept; the name tells it from others."""

    name: str
    domain: Domain
    main: NDArray[np.float64]
    entries: SentMatrix
    n_planes: int
    order: tuple[int, ...] | None

    @classmethod
    def of(cls, field: Field, n_planes: int = 1, order: Sequence[int] | None = None) -> SentField:
        """Take what workers need to know of a field."""
        kept = None if order is None else tuple(int(i) for i in order)
        return cls(uuid4().hex, field.domain, field.main, SentMatrix.of(field.interactions), n_planes, kept)

    @property
    def interactions(self) -> Matrix:
        """The interactions, (n_slots, n_slots)."""
        return self.entries.unpack()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SentField) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


@lru_cache(maxsize=4)  # the parts of a worker are swept with the same field one after the other
def make_scan(sent: SentField) -> Scan:
    """Make a field ready for sweeps, once in a process."""
    return Scan(sent, order=sent.order, n_planes=sent.n_planes)


def hold(value: Any) -> Any:
    """Return what was sent: workers get it from each other then, and from the scheduler where it is lost."""
    return value


def make_chains(run: tuple[int, int], domain: Domain, n_chains: int, seed: int) -> Chains:
    """Make blocks run[0] to run[1] - 1 of so many chains, from uniform starts."""
    first, last = run
    own = min(n_chains, BLOCK * last) - BLOCK * first
    return Chains(domain, own, seed=seed, n_threads=ONE, first_block=first)


def make_bounds(run: tuple[int, int], domain: Domain, n_chains: int, seed: int) -> BoundingChains:
    """Make blocks run[0] to run[1] - 1 of so many bounding chains."""
    first, last = run
    own = min(n_chains, BLOCK * last) - BLOCK * first
    return BoundingChains(domain, own, seed=seed, n_threads=ONE, first_block=first)


def sweep(blocks: Blocks, sent: SentField, n_sweeps: int) -> Blocks:
    """Return chains or bounds after some sweeps; those before stay as they are."""
    swept = blocks.copy()
    swept.sweep(make_scan(sent), n_sweeps)
    return swept


@dataclass(frozen=True, eq=False)
class Run:
    """What exact draws took, and how often they have each statistic: whole numbers, which add up."""

    n_run: int
    n_met: int
    counts: Counts

    def __add__(self, other: Run) -> Run:
        """Return both parts together."""
        return Run(self.n_run + other.n_run, self.n_met + other.n_met, self.counts + other.counts)


class DrawnChains(Chains):
    """Chains that stand at exact draws, and what these took."""

    n_run, n_met = 0, 0


def draw(run: tuple[int, int], wanted: Perfect, sent: SentField, length: int) -> DrawnChains:
    """Make the exact draws of blocks of chains run[0] to run[1] - 1."""
    chains, n_run, n_met = wanted.draw_some(sent, length, *run)
    drawn = DrawnChains.__new__(DrawnChains)
    drawn.__dict__.update(chains.__dict__, n_run=n_run, n_met=n_met)
    return drawn


def describe_run(drawn: DrawnChains) -> Run:
    """Return what exact draws took, and count all statistics."""
    return Run(drawn.n_run, drawn.n_met, drawn.counts())


def count_pairs(chains: Chains) -> Counts:
    """Count all statistics."""
    return chains.counts()


def count_single(chains: Chains) -> NDArray[np.int64]:
    """Count the main statistics."""
    return chains.single_counts()


def count_products(chains: Chains, indices: tuple[Index, Index]) -> NDArray[Any]:
    """Count common ones of pair statistics."""
    a, b = (np.array(own) for own in indices)  # kernels are compiled for arrays that can be written, which is not sent
    return chains.draws().second_moments(a, b)[0]


def count_near_products(chains: Chains, pairs: tuple[NDArray[Any], ...]) -> NDArray[np.int32]:
    """Count ones of pair statistics, and then common ones of some pairs of these."""
    a, b, starts, columns = (np.array(own) for own in pairs)
    counts, ones = count_near(chains.indicators(), chains.n_chains, a, b, starts, columns, ONE)
    return np.concatenate([ones.astype(np.int32), counts])


def add_numbers(chains: Chains, numbers: NDArray[np.uint8]) -> Matrix:
    """Add up the number of each draw over the statistics that it has."""
    return sum_numbers(chains.indicators(), numbers.astype(np.int64), chains.domain.n_slots, ONE)


def count_open(bounds: BoundingChains) -> int:
    """Count the chains whose bounds have not met."""
    return bounds.n_open


def count_open_pairs(bounds: BoundingChains) -> NDArray[np.int64]:
    """Count the chains whose start could still show in each statistic."""
    return bounds.open_counts()


def add_up(*parts: Any) -> Any:
    """Return the sum of what several parts have."""
    return reduce(add, parts)


def take_states(chains: Chains, n_blocks: int) -> NDArray[Any]:
    """Return the states of the first blocks as they are held."""
    return chains.take_states(n_blocks)


def measure_along(chains: Chains, move: tuple[Matrix, Index, Index]) -> Matrix:
    """Return the inner product of a move of some statistics and these of each draw."""
    return chains.draws().along_some(*move)


def project(weights: Matrix, n_before: int, *parts: Chains) -> Matrix:
    """Return the sum of weights times statistics over some rows, which begin after so many rows of the first part."""
    codes = np.concatenate([part.codes() for part in parts])[n_before : n_before + len(weights)]
    return project_rows(codes, parts[0].domain, np.array(weights))


def name_versions() -> dict[str, str]:
    """Name the versions on which bits depend."""
    names = ("sparsefield", "numpy", "numba")
    return {name: version(name) for name in names}
