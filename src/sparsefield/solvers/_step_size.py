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
from sparsefield.solvers._proximal_policy import PROXIMAL, ProximalPolicy

# Chains that all stand at one state show no curvature; that of a single balanced variable is 1/4.
_LEAST = 0.25


def power_step(problem: Problem, direction: Matrix, rows: _Indicators) -> tuple[Matrix, float]:
    """Improve a direction by a product with the covariance of the statistics over chains; return the step size too."""
    seen: Any = problem.coordinates.draws(cast(Draws, rows))
    with _threads.one_for_products():
        product = seen.project(seen.along(direction / max(norm(direction), 1e-300)))
    return product, 1 / max(norm(product), _LEAST)


def rough_curvature(
    problem: Problem, chains: ChainStates, *, policy: ProximalPolicy = PROXIMAL
) -> tuple[Matrix, float]:
    """Return a direction of large curvature at some chains, and the step size that it allows."""
    size, rows = problem.coordinates.size, _Indicators(problem.domain, chains, policy.n_chains)
    direction, step_size = np.ones((size, size)), 1.0
    if not problem.coordinates.is_plain:
        direction = np.where(problem.coordinates.is_parameter, direction, 0.0)
    for _ in range(policy.rough_steps):
        direction, step_size = power_step(problem, direction, rows)
    return direction, step_size


def initial_curvature(
    problem: Problem, simulation: Simulation, *, policy: ProximalPolicy = PROXIMAL
) -> tuple[Matrix, float]:
    """Return the curvature where chains start, at independent uniform levels."""
    seed = simulation.seed_of(Use.ITERATION_ZERO, Use.STEP_SIZE)
    chains = simulation.backend.chains(problem.domain, policy.n_chains, seed=seed)
    return rough_curvature(problem, chains, policy=policy)


def follow_curvature(
    problem: Problem,
    direction: Matrix,
    chains: ChainStates | None,
    point: Point,
    simulation: Simulation,
    *,
    policy: ProximalPolicy = PROXIMAL,
) -> tuple[Matrix, float]:
    """Follow the curvature at a point, seen by its chains, or by some of its own if it has none."""
    if chains is None:
        seed = simulation.seed_of(point.iteration)
        chains = simulation.backend.chains(point.model.domain, policy.n_chains, seed=seed)
        chains.sweep(simulation.backend.prepare(point.model), policy.rough_sweeps)
    return power_step(problem, direction, _Indicators(problem.domain, chains, policy.n_chains))


class _Indicators:
    """The indicators of some of the chains, which know no more than inner products."""

    def __init__(self, domain: Domain, chains: ChainStates, n_chains: int) -> None:
        self.n: int | None = None
        self._s = domain.indicators(chains.codes(n_chains)).astype(np.float32)

    def along(self, move: Matrix) -> NDArray[np.float32]:
        """Return sum_{a <= b} move_ab s_a s_b for each chain."""
        s, v = self._s, move.astype(np.float32)
        return np.asarray((((s @ v) * s).sum(axis=1) + s @ np.diagonal(v)) / 2)

    def project(self, values: NDArray[np.float32]) -> Matrix:
        """Return the covariance of every statistic with values."""
        values = values - values.mean()
        return np.asarray((self._s.T * values).astype(np.float64) @ self._s / len(self._s))
