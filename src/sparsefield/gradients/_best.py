"""The best draws that there are: exact ones, else Gibbs chains with a certificate, else without one."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sparsefield.certificates import Disagreement
from sparsefield.gradients._fixed import sweep_blindly
from sparsefield.gradients._perfect import PerfectDraws
from sparsefield.gradients._schedule import Estimate, Point, Simulation, check_positive
from sparsefield.inference import OutOfReachError
from sparsefield.model import count_statistics
from sparsefield.objective import Problem

LESS = "Raise alpha: weaker interactions are certified sooner."


def negligible_bias(n_draws: int) -> float:
    """Return a tenth of the largest noise that the mean of a single statistic can have."""
    # That noise is 0.5 / sqrt(n), for a variance of 1/4. A bias of a tenth of it adds 1% to the mean squared error
    # there, and makes a confidence of 0.99 one of 0.9896 (of 0.98 at a variance of 0.01). It is the norm of the bias of
    # all statistics that is bounded, so that one of them at most has all of it.
    return float(0.05 / np.sqrt(n_draws))


@dataclass(frozen=True)
class BestDraws:
    """Exact draws where they can be had, else Gibbs chains with the sharp certificate, else without one.

    Parameters
    ----------
    max_sweeps : int
        Sweeps within which half of the bounding chains of a pilot run must meet, for exact draws.
    gibbs_sweeps : int
        Sweeps of Gibbs chains at most: until the certificate is negligible. Below half the noise it still certifies.
    """

    max_sweeps: int = 2000
    gibbs_sweeps: int = 200

    def __post_init__(self) -> None:
        check_positive("max_sweeps", self.max_sweeps)
        check_positive("gibbs_sweeps", self.gibbs_sweeps)

    def estimate(self, problem: Problem, point: Point, simulation: Simulation) -> Estimate:
        """Return moments of the best draws there are."""
        try:
            return PerfectDraws(self.max_sweeps).estimate(problem, point, simulation)
        except OutOfReachError as error:
            return self._sweep(point, simulation, error.reason, f"{error.remedy} {LESS}".lstrip())

    def _sweep(self, point: Point, simulation: Simulation, why: str, remedy: str) -> Estimate:
        """Return moments of Gibbs chains, swept until their bias is negligible or the limit is reached."""
        far = Disagreement(point.model)
        trivial = far.bias
        ahead = far.next_biases(self.gibbs_sweeps)
        enough = np.flatnonzero(ahead <= negligible_bias(simulation.n_chains))
        n_sweeps = int(enough[0]) + 1 if len(enough) else self.gibbs_sweeps
        found = sweep_blindly(point, simulation, n_sweeps)
        bias = float(ahead[n_sweeps - 1])
        far.sweep(n_sweeps)
        certificate = far.certificate(bias)
        # No variance is above 1/4, so that the norm of the noise is at most sqrt(m / n) / 2; on tables it is 0.33 to
        # 0.49 sqrt(m / n) (`make bench-constants`). An eighth of sqrt(m / n) is a quarter of the largest norm and
        # less than half of these: such a bias adds 1/16 to the largest mean squared error, 1/7 to that of 0.33.
        is_certified = bias <= np.sqrt(count_statistics(point.model.domain) / simulation.n_chains) / 8
        too_strong = f", and interactions too strong for the sharp bound: {n_sweeps} Gibbs sweeps"
        return replace(
            found,
            certificate=certificate if is_certified or bias < trivial else None,
            is_certified=bool(is_certified),
            is_promised=True,
            reason=f"{why}: sharp bound" if is_certified else f"{why}{too_strong}",
            remedy="" if is_certified else remedy,
        )
