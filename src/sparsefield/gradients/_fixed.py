"""Numbers of sweeps that are given beforehand: SPG and SPG-Inc."""

from __future__ import annotations

from dataclasses import dataclass

from sparsefield.gradients._schedule import Estimate, Point, Simulation, check_positive
from sparsefield.objective import Problem


@dataclass(frozen=True)
class Fixed:
    """SPG: the same number of sweeps in every iteration.

    Parameters
    ----------
    n_sweeps : int
        How many.
    """

    n_sweeps: int

    def __post_init__(self) -> None:
        check_positive("n_sweeps", self.n_sweeps)

    def estimate(self, problem: Problem, point: Point, simulation: Simulation) -> Estimate:  # noqa: ARG002
        """Return moments after the sweeps."""
        return sweep_blindly(point, simulation, self.n_sweeps)


@dataclass(frozen=True)
class Increasing:
    """SPG-Inc: k sweeps in iteration k."""

    def estimate(self, problem: Problem, point: Point, simulation: Simulation) -> Estimate:  # noqa: ARG002
        """Return moments after the sweeps."""
        return sweep_blindly(point, simulation, point.iteration)


def sweep_blindly(point: Point, simulation: Simulation, n_sweeps: int) -> Estimate:
    """Return moments after so many sweeps, without a certificate."""
    chains = simulation.begin(point)
    chains.sweep(simulation.backend.prepare(point.model), n_sweeps)
    return Estimate(chains.moments(), n_sweeps, "number of sweeps given", chains)
