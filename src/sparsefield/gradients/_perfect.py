"""Exact draws: gradients without bias."""

from __future__ import annotations

from dataclasses import dataclass

from sparsefield._seeds import Use
from sparsefield.certificates import Certificate
from sparsefield.gradients._schedule import Estimate, Point, Simulation, check_positive
from sparsefield.objective import Problem


@dataclass(frozen=True)
class PerfectDraws:
    """Exact draws: no bias.

    Parameters
    ----------
    max_sweeps : int
        Sweeps within which half of the bounding chains of a pilot run must meet.
    """

    max_sweeps: int = 10_000

    def __post_init__(self) -> None:
        check_positive("max_sweeps", self.max_sweeps)

    def estimate(self, problem: Problem, point: Point, simulation: Simulation) -> Estimate:  # noqa: ARG002
        """Return moments of exact draws."""
        return draw_exactly(point, simulation, max_sweeps=self.max_sweeps)


def draw_exactly(point: Point, simulation: Simulation, use: int = Use.DRAWS, *, max_sweeps: int) -> Estimate:
    """Return moments of exact draws, from the seeds of one of several uses; OutOfReachError where there can be none."""
    seed, n = simulation.seed_of(point.iteration, use), simulation.n_chains
    chains, run = simulation.backend.draw(point.model, n, seed=seed, max_sweeps=max_sweeps)
    return Estimate(
        chains.moments(),
        run.sweeps_per_draw,
        "exact draws",
        chains,
        Certificate.exact(point.model, run.sweeps_per_draw),
        is_certified=True,
        is_promised=True,
    )
