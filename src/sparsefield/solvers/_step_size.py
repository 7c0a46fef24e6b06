"""Step size of proximal gradients: the inverse of the largest curvature (Lipschitz constant), by power iteration."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from sparsefield import _threads
from sparsefield._seeds import Use
from sparsefield._typing import Matrix
from sparsefield.data import Domain
from sparsefield.gradients import Point, Simulation
from sparsefield.inference import ChainStates, Draws
from sparsefield.model import norm
from sparsefield.objective import Problem

# A power step on n chains finds the largest eigenvalue of their covariance, which is right to about sqrt(2 / n) of it:
# 1000 chains are enough for a step size, and the covariance itself is never formed. That is 4.5%; `make
# bench-constants` finds a standard deviation of 4.4%.
_N_CHAINS = 1000

# The first estimate takes this many power steps; the direction is followed by one more in every iteration. 1, 3, 10 and
# 30 steps find 0.74, 0.95, 0.99 and 1.01 of the largest eigenvalue (`make bench-constants`).
_ROUGH_STEPS = 10

# Chains that are there for the curvature alone are swept so often. With 1, 3, 30 and 100 sweeps they show 0.97, 1.00,
# 0.99 and 1.00 of the largest eigenvalue (`make bench-constants`, 10 variables): three would do there, and thirty are
# a reserve for fields that mix more slowly.
_ROUGH_SWEEPS = 30

# Chains that all stand at one state show no curvature; that of a single balanced variable is 1/4.
_LEAST = 0.25


def power_step(problem: Problem, direction: Matrix, rows: _Indicators) -> tuple[Matrix, float]:
    """Improve a direction by a product with the covariance of the statistics over chains; return the step size too."""
    seen: Any = problem.coordinates.draws(cast(Draws, rows))
    with _threads.one_for_products():
        product = seen.project(seen.along(direction / max(norm(direction), 1e-300)))
    return product, 1 / max(norm(product), _LEAST)


def rough_curvature(problem: Problem, chains: ChainStates) -> tuple[Matrix, float]:
    """Return a direction of large curvature at some chains, and the step size that it allows."""
    size, rows = problem.coordinates.size, _Indicators(problem.domain, chains)
    direction, step_size = np.ones((size, size)), 1.0
    if not problem.coordinates.is_plain:
        direction = np.where(problem.coordinates.is_parameter, direction, 0.0)
    for _ in range(_ROUGH_STEPS):
        direction, step_size = power_step(problem, direction, rows)
    return direction, step_size


def initial_curvature(problem: Problem, simulation: Simulation) -> tuple[Matrix, float]:
    """Return the curvature where chains start, at independent uniform levels."""
    seed = simulation.seed_of(Use.ITERATION_ZERO, Use.STEP_SIZE)
    return rough_curvature(problem, simulation.backend.chains(problem.domain, _N_CHAINS, seed=seed))


def follow_curvature(
    problem: Problem, direction: Matrix, chains: ChainStates | None, point: Point, simulation: Simulation
) -> tuple[Matrix, float]:
    """Follow the curvature at a point, seen by its chains, or by some of its own if it has none."""
    if chains is None:
        chains = simulation.backend.chains(point.model.domain, _N_CHAINS, seed=simulation.seed_of(point.iteration))
        chains.sweep(simulation.backend.prepare(point.model), _ROUGH_SWEEPS)
    return power_step(problem, direction, _Indicators(problem.domain, chains))


class _Indicators:
    """The indicators of some of the chains, which know no more than inner products."""

    def __init__(self, domain: Domain, chains: ChainStates) -> None:
        self.n: int | None = None
        self._s = domain.indicators(chains.codes(_N_CHAINS)).astype(np.float32)

    def along(self, move: Matrix) -> NDArray[np.float32]:
        """Return sum_{a <= b} move_ab s_a s_b for each chain."""
        s, v = self._s, move.astype(np.float32)
        return np.asarray((((s @ v) * s).sum(axis=1) + s @ np.diagonal(v)) / 2)

    def project(self, values: NDArray[np.float32]) -> Matrix:
        """Return the covariance of every statistic with values."""
        values = values - values.mean()
        return np.asarray((self._s.T * values).astype(np.float64) @ self._s / len(self._s))
