"""The largest curvature of the smooth part, by power steps on chains: the inverse of the longest safe step."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sparsefield.gradients import Point, Simulation
from sparsefield.inference import ChainStates
from sparsefield.model import Matrix, norm
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


def power_step(direction: Matrix, s: NDArray[np.float32]) -> tuple[Matrix, float]:
    """Improve a direction by a product with the covariance of the statistics over chains; return the step size too.

    The chains are given by their indicators s, (chains, n_slots).
    """
    v = (direction / max(norm(direction), 1e-300)).astype(np.float32)
    # sum_{a <= b} v_ab s_a s_b for each chain, centred.
    along = (((s @ v) * s).sum(axis=1) + s @ np.diagonal(v)) / 2
    along -= along.mean()
    product = (s.T * along).astype(np.float64) @ s / len(s)
    return product, 1 / max(norm(product), _LEAST)


def rough_curvature(chains: ChainStates) -> tuple[Matrix, float]:
    """Return a direction of large curvature at some chains, and the step size that it allows."""
    size, s = chains.domain.n_slots, _indicators(chains)
    direction, step_size = np.ones((size, size)), 1.0
    for _ in range(_ROUGH_STEPS):
        direction, step_size = power_step(direction, s)
    return direction, step_size


def initial_curvature(problem: Problem, simulation: Simulation) -> tuple[Matrix, float]:
    """Return the curvature where chains start, at independent uniform levels."""
    return rough_curvature(simulation.backend.chains(problem.domain, _N_CHAINS, seed=simulation.seed_of(0)))


def follow_curvature(
    direction: Matrix, chains: ChainStates | None, point: Point, simulation: Simulation
) -> tuple[Matrix, float]:
    """Follow the curvature at a point, seen by its chains, or by some of its own if it has none."""
    if chains is None:
        chains = simulation.backend.chains(point.model.domain, _N_CHAINS, seed=simulation.seed_of(point.iteration))
        chains.sweep(simulation.backend.prepare(point.model), _ROUGH_SWEEPS)
    return power_step(direction, _indicators(chains))


def _indicators(chains: ChainStates) -> NDArray[np.float32]:
    """Return the indicators of some of the chains, (chains, n_slots)."""
    return chains.domain.indicators(chains.codes(_N_CHAINS)).astype(np.float32)
