"""What a schedule is asked, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from sparsefield._kernels._seeds import MOST_SEED, find_seed
from sparsefield._seeds import Use, derive_seed
from sparsefield._typing import Matrix
from sparsefield.certificates import Certificate, Disagreement
from sparsefield.data import Moments
from sparsefield.inference import Backend, ChainStates, Cpu, Draws, States
from sparsefield.model import PairwiseMRF
from sparsefield.objective import Problem


@dataclass(frozen=True, eq=False)
class Point:
    """Where a gradient is wanted, and what the last iteration left for it.

    Parameters
    ----------
    iteration : int
        Which one, from 1 on.
    theta : ndarray of shape (n_slots, n_slots)
        The parameters, laid out as in `Problem`.
    model : PairwiseMRF
        The field with these parameters.
    step_size : float
        Length of the proximal step that the gradient is for; 1 for Newton steps.
    chains : ChainStates, optional
        Where the chains of the last iteration stand.
    disagreement : Disagreement, optional
        How far they can be from the model that they were swept towards.
    last_step : float, optional
        The norm of the last step map, which says how small a bias will be needed.
    """

    iteration: int
    theta: Matrix
    model: PairwiseMRF
    step_size: float
    chains: ChainStates | None = None
    disagreement: Disagreement | None = None
    last_step: float | None = None


@dataclass(frozen=True)
class Simulation:
    """How a fit simulates.

    Parameters
    ----------
    n_chains : int
        Chains or draws behind a gradient.
    seed : int
        Where the random numbers start; every iteration has its own.
    persist : bool
        Whether chains go on from the last iteration, or start anew (the paper's choice).
    backend : Backend
        What makes chains and draws.
    n_total : int, optional
        Chains or draws that the moments will be of, where these are a batch of them: a bias that is to be small beside
        noise must be small beside the noise of them all. As many as `n_chains` unless given.
    """

    n_chains: int = 2000
    seed: int = 0
    persist: bool = False
    backend: Backend = field(default_factory=Cpu)
    n_total: int | None = None

    def seed_of(self, iteration: int, use: int = Use.DRAWS) -> int:
        """Return the seed of an iteration, for one of several independent uses."""
        if not 0 <= self.seed < MOST_SEED:
            return derive_seed(self.seed, iteration, use)
        low, high = np.uint64(int(self.seed) & (2**64 - 1)), np.uint64(int(self.seed) >> 64)
        return int(find_seed(low, high, np.array([iteration, use], dtype=np.uint32)))

    def begin(self, point: Point, n_chains: int | None = None, attempt: int = 0) -> ChainStates:
        """Return chains to sweep: those of the last iteration, or new ones from uniform starts."""
        n = self.n_chains if n_chains is None else n_chains
        if self.persist and point.chains is not None and n_chains in (None, point.chains.n_chains):
            return point.chains.copy()
        use = Use.MORE_CHAINS + attempt - 1 if attempt else Use.DRAWS
        seed = self.seed_of(point.iteration, use)
        return self.backend.chains(point.model.domain, n, seed=seed)


@dataclass(frozen=True, eq=False)
class Estimate:
    """Estimated moments, what is known of their error, and what the next iteration can go on from.

    Parameters
    ----------
    moments : Moments
        Moments at the point; with `n` None they are exact.
    n_sweeps : float
        Sweeps of each chain; for exact draws, the average.
    reason : str
        Why sweeping stopped, for people.
    chains : ChainStates, optional
        Where the chains stand. Newton steps need them, unless the moments are exact.
    certificate : Certificate, optional
        What is certified of the error of the moments.
    is_certified : bool
        Whether that meets the criterion of the schedule.
    is_promised : bool
        Whether the schedule set out to certify.
    remedy : str
        What would help where a promised certificate does not meet the criterion.
    disagreement : Disagreement, optional
        How far the chains can be from the model, for schedules that follow that from iteration to iteration.
    states : States, optional
        All states, where exact moments were made of them: Newton steps go on with these.
    """

    moments: Moments
    n_sweeps: float
    reason: str
    chains: ChainStates | None = None
    certificate: Certificate | None = None
    is_certified: bool = False
    is_promised: bool = False
    remedy: str = ""
    disagreement: Disagreement | None = None
    states: States | None = None

    @property
    def is_exact(self) -> bool:
        """Whether the moments are exact."""
        return self.moments.n is None

    @property
    def n_chains(self) -> int:
        """Chains or draws behind the moments; 0 if they are exact."""
        return 0 if self.moments.n is None else self.moments.n

    def draws(self, point: Point, simulation: Simulation) -> Draws:
        """Return what a Newton step asks of the draws behind the moments."""
        if self.states is not None:
            return self.states
        if self.is_exact:
            return simulation.backend.states(point.model)
        if self.chains is None:
            raise ValueError(
                "The estimates of this schedule have no chains, and Newton steps need draws: return chains with the "
                "estimate, or use solver=Proximal(schedule=...)."
            )
        return self.chains.draws()


class Schedule(Protocol):
    """A way to estimate the gradient of an iteration.

    Whatever has this method is a schedule, and works with both solvers.
    """

    def estimate(self, problem: Problem, point: Point, simulation: Simulation) -> Estimate:
        """Return moments at a point, with the chains that a simulation allows."""
        ...


def check_positive(name: str, value: int) -> None:
    """Refuse a number of sweeps or chains that is not positive."""
    if not isinstance(value, int | np.integer) or value < 1:
        raise ValueError(f"{name} is {value}: use a whole number from one on.")
