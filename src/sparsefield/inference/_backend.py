"""What makes chains, bounding chains, exact draws and enumerations: this machine, or another behind one protocol."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from sparsefield._typing import Index, Values
from sparsefield.data import Domain, Moments
from sparsefield.inference._draws import Draws, States
from sparsefield.inference._field import Field
from sparsefield.inference.chains._chains import Chains
from sparsefield.inference.chains._fused_checks import StepRule
from sparsefield.inference.chains._scan import Scan
from sparsefield.inference.enumeration._exact import enumerate_states
from sparsefield.inference.enumeration._states import EnumeratedStates
from sparsefield.inference.exact_draws._bounds import BoundingChains
from sparsefield.inference.exact_draws._perfect import Perfect, PerfectRun
from sparsefield.inference.missing._clamped import ClampedChains
from sparsefield.inference.missing._enumerated_rows import conditional_variances, expected_products
from sparsefield.inference.missing._missing import ClampedRun, draw_missing

Met = tuple[int, Moments | None]  # sweeps that were made, and the moments after them where a criterion is met


class ChainStates(Protocol):
    """Chains that stand somewhere and can be swept on. A seed gives the same states whatever does the work.

    Chains of a backend inherit from it what they do no better.
    """

    domain: Domain
    n_chains: int

    def sweep(self, scan: Any, n_sweeps: int = 1) -> None:
        """Sweep all chains towards the field that a scan was prepared for."""
        ...

    def sweep_until(self, scan: Any, biases: Values, limit: float, rule: StepRule) -> Met | None:  # noqa: ARG002
        """Sweep until a bias is below half the norm of the step map, as `Chains` do, or return None and do nothing."""
        return None

    def moments(self) -> Moments:
        """Return the means of the statistics over the chains."""
        ...

    def means(self) -> NDArray[np.float64]:
        """Return the main moments alone, (n_slots,)."""
        ...

    def codes(self, n: int | None = None) -> NDArray[np.uint8]:
        """Return the states (n_chains, n_variables), or those of the first n chains."""
        ...

    def draws(self) -> Draws:
        """Return what a Newton step asks of the chains as they stand."""
        ...

    def copy(self) -> Self:
        """Return chains in the same state, which go on with the same random numbers."""
        ...


class Bounds(Protocol):
    """Bounds on chains from all starts at once. Those of a backend inherit from it what they do no better."""

    domain: Domain
    n_chains: int
    n_sweeps: int

    @property
    def n_open(self) -> int:
        """How many chains have a variable whose bounds have not met."""
        ...

    def sweep(self, scan: Any, n_sweeps: int = 1) -> None:
        """Sweep the bounds towards the field that a scan with two planes was prepared for."""
        ...

    def sweep_below(self, scan: Any, checks: Index, risks: Values, target: float) -> int | None:  # noqa: ARG002
        """Sweep until a bound is below about a target, as `BoundingChains` do, or return None and do nothing."""
        return None

    def drop_met(self) -> None:
        """Leave out chains that have met, where that saves work; they count as met from then on."""
        return

    def open_counts(self) -> NDArray[np.int64]:
        """Count, for each statistic, the chains whose start could still show in it: (n_slots, n_slots)."""
        ...


class Backend(Protocol):
    """What makes chains and draws. Solvers and gradients ask a backend and construct none of them."""

    def prepare(self, field: Field, *, n_planes: int = 1, order: Sequence[int] | None = None) -> Any:
        """Make a field ready for sweeps of chains (one plane) or of bounds (two planes), in an order of variables."""
        ...

    def chains(self, domain: Domain, n_chains: int, *, seed: int) -> ChainStates:
        """Return chains that start at independent uniform levels."""
        ...

    def clamped_chains(self, domain: Domain, codes: NDArray[np.uint8], *, seed: int) -> ChainStates:
        """Return a chain for each row of codes, whose sweeps update missing values alone."""
        ...

    def bounding_chains(self, domain: Domain, n_chains: int, *, seed: int) -> Bounds:
        """Return bounds on chains from all starts."""
        ...

    def draw(
        self, field: Field, n_draws: int, *, seed: int, max_sweeps: int, order: Sequence[int] | None = None
    ) -> tuple[ChainStates, PerfectRun]:
        """Return chains that stand at exact draws, and what these took; or raise OutOfReachError."""
        ...

    def clamped_draw(
        self, field: Field, codes: NDArray[np.uint8], *, seed: int, max_sweeps: int
    ) -> tuple[ChainStates, ClampedRun]:
        """Return a chain for each row of codes whose missing values are an exact draw given the observed cells.

        What the draws took comes with them. Where they cannot be had, raise OutOfReachError.
        """
        ...

    def clamped_products(
        self, field: Field, codes: NDArray[np.uint8], weights: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the expected products of statistics given the observed cells, (n_slots, n_slots), over weighted rows.

        The missing values are enumerated: they must have few states in each row.
        """
        ...

    def clamped_variances(
        self, field: Field, codes: NDArray[np.uint8], move: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the variance of a move times the statistics given the observed cells of each row, (n,)."""
        ...

    def enumerate(self, field: Field) -> tuple[float, Moments]:
        """Return the logarithm of the normalising constant and the exact moments of a small field."""
        ...

    def states(self, field: Field) -> States:
        """Return all states of a small field as draws without error, which know moments and normalising constant."""
        ...


@dataclass(frozen=True)
class Cpu:
    """The processors of this machine.

    Parameters
    ----------
    n_threads : int, optional
        Threads to use, all processors unless given; results do not depend on it.

    Examples
    --------
    >>> import sparsefield as sf
    >>> from sparsefield.inference import Cpu
    >>> backend, model = Cpu(n_threads=1), sf.datasets.make_field(10, seed=1)
    >>> chains = backend.chains(model.domain, 1000, seed=1)
    >>> chains.sweep(backend.prepare(model), 10)
    >>> chains.moments().pair.shape
    (10, 10)
    """

    n_threads: int | None = None

    def prepare(self, field: Field, *, n_planes: int = 1, order: Sequence[int] | None = None) -> Scan:
        """Make a field ready for sweeps."""
        return Scan(field, n_planes=n_planes, order=order)

    def chains(self, domain: Domain, n_chains: int, *, seed: int) -> ChainStates:
        """Return chains that start at independent uniform levels."""
        return Chains(domain, n_chains, seed=seed, n_threads=self.n_threads)

    def clamped_chains(self, domain: Domain, codes: NDArray[np.uint8], *, seed: int) -> ClampedChains:
        """Return a chain for each row of codes, whose sweeps update missing values alone."""
        return ClampedChains(domain, codes, seed=seed, n_threads=self.n_threads)

    def bounding_chains(self, domain: Domain, n_chains: int, *, seed: int) -> Bounds:
        """Return bounds on chains from all starts."""
        return BoundingChains(domain, n_chains, seed=seed, n_threads=self.n_threads)

    def draw(
        self, field: Field, n_draws: int, *, seed: int, max_sweeps: int, order: Sequence[int] | None = None
    ) -> tuple[ChainStates, PerfectRun]:
        """Return chains that stand at exact draws, and what these took."""
        kept = None if order is None else tuple(order)
        return Perfect(n_draws, seed, order=kept, max_sweeps=max_sweeps, n_threads=self.n_threads).draw(field)

    def clamped_draw(
        self, field: Field, codes: NDArray[np.uint8], *, seed: int, max_sweeps: int
    ) -> tuple[ClampedChains, ClampedRun]:
        """Return chains whose missing values are exact draws given the observed cells, and what these took."""
        return draw_missing(field, codes, seed=seed, max_sweeps=max_sweeps, n_threads=self.n_threads)

    def clamped_products(
        self, field: Field, codes: NDArray[np.uint8], weights: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the expected products of statistics given the observed cells, over weighted rows."""
        return expected_products(field, codes, weights, n_threads=self.n_threads)

    def clamped_variances(
        self, field: Field, codes: NDArray[np.uint8], move: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the variance of a move times the statistics given the observed cells of each row."""
        return conditional_variances(field, codes, move, n_threads=self.n_threads)

    def enumerate(self, field: Field) -> tuple[float, Moments]:
        """Return the logarithm of the normalising constant and the exact moments."""
        return enumerate_states(field, n_threads=self.n_threads)

    def states(self, field: Field) -> EnumeratedStates:
        """Return all states as draws without error."""
        return EnumeratedStates(field, self.n_threads)
