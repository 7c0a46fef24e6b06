"""The best draws that there are: all states, else exact draws, else Gibbs chains with a certificate or without."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sparsefield.certificates import Disagreement
from sparsefield.data import Domain
from sparsefield.gradients._exact import ExactMoments
from sparsefield.gradients._fixed import sweep_blindly
from sparsefield.gradients._perfect import PerfectDraws
from sparsefield.gradients._schedule import Estimate, Point, Simulation, check_positive
from sparsefield.inference import MOST_ENTRIES, OutOfReachError, count_entries
from sparsefield.model import count_statistics
from sparsefield.objective import Problem

LESS = "Raise alpha: weaker interactions are certified sooner."


def enumerates(domain: Domain) -> bool:
    """Say whether Newton steps take all states: up to 2^20 of them.

    `make bench-constants` times steps on one thread: 4 ms with 2^18 states, 7 ms with 2^19 and 13 ms with 2^20. A step
    with 10,000 exact draws of 20 variables takes longer, and a fit whose edges are to be those of other seeds too has
    far more of them: a million at least for the 19 variables of a table of symptoms.
    """
    return count_entries(domain) <= MOST_ENTRIES


def negligible_bias(n_draws: int) -> float:
    """Return a tenth of the largest noise that the mean of a single statistic can have."""
    # That noise is 0.5 / sqrt(n), for a variance of 1/4. A bias of a tenth of it adds 1% to the mean squared error
    # there, and makes a confidence of 0.99 one of 0.9896 (of 0.98 at a variance of 0.01). It is the norm of the bias of
    # all statistics that is bounded, so that one of them at most has all of it.
    return float(0.05 / np.sqrt(n_draws))


@dataclass(frozen=True)
class BestDraws:
    """All states of a small field; else exact draws, else Gibbs chains with the sharp certificate, else without one.

    Parameters
    ----------
    max_sweeps : int
        Sweeps within which half of the bounding chains of a pilot run must meet, for exact draws.
    gibbs_sweeps : int
        Sweeps of Gibbs chains at most: until the certificate is negligible. Below half the noise it still certifies.
    max_states : int, optional
        Fields of up to so many states are enumerated, none with 0; up to 2^20 (`enumerates`) unless given.
    """

    max_sweeps: int = 2000
    gibbs_sweeps: int = 200
    max_states: int | None = None

    def __post_init__(self) -> None:
        check_positive("max_sweeps", self.max_sweeps)
        check_positive("gibbs_sweeps", self.gibbs_sweeps)
        if self.max_states is not None and (not isinstance(self.max_states, int | np.integer) or self.max_states < 0):
            raise ValueError(f"max_states is {self.max_states}: use a whole number from zero on, or None.")

    def estimate(self, problem: Problem, point: Point, simulation: Simulation) -> Estimate:
        """Return moments of the best draws there are."""
        if self._enumerates(problem.domain):
            return ExactMoments().estimate(problem, point, simulation)
        try:
            return PerfectDraws(self.max_sweeps).estimate(problem, point, simulation)
        except OutOfReachError as error:
            less = "" if problem.penalty.keeps_support else LESS
            return self._sweep(point, simulation, error.reason, f"{error.remedy} {less}".strip())

    def _enumerates(self, domain: Domain) -> bool:
        if self.max_states is None:
            return enumerates(domain)
        return count_entries(domain) <= min(self.max_states, MOST_ENTRIES)

    def _sweep(self, point: Point, simulation: Simulation, why: str, remedy: str) -> Estimate:
        """Return moments of Gibbs chains, swept until their bias is negligible or the limit is reached."""
        n = simulation.n_chains if simulation.n_total is None else simulation.n_total
        far = Disagreement(point.model)
        trivial = far.bias
        ahead = far.next_biases(self.gibbs_sweeps)
        enough = np.flatnonzero(ahead <= negligible_bias(n))
        n_sweeps = int(enough[0]) + 1 if len(enough) else self.gibbs_sweeps
        found = sweep_blindly(point, simulation, n_sweeps)
        bias = float(ahead[n_sweeps - 1])
        far.sweep(n_sweeps)
        certificate = far.certificate(bias)
        # No variance is above 1/4, so that the norm of the noise is at most sqrt(m / n) / 2; on tables it is 0.33 to
        # 0.49 sqrt(m / n) (`make bench-constants`). An eighth of sqrt(m / n) is a quarter of the largest norm and
        # less than half of these: such a bias adds 1/16 to the largest mean squared error, 1/7 to that of 0.33.
        is_certified = bias <= np.sqrt(count_statistics(point.model.domain) / n) / 8
        too_strong = f", and interactions too strong for the sharp bound: {n_sweeps} Gibbs sweeps"
        return replace(
            found,
            certificate=certificate if is_certified or bias < trivial else None,
            is_certified=bool(is_certified),
            is_promised=True,
            reason=f"{why}: sharp bound" if is_certified else f"{why}{too_strong}",
            remedy="" if is_certified else remedy,
        )
