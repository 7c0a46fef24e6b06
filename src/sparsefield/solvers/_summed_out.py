"""Fits of sparse fields of any size whose moments are exact, since variables can be summed out one by one."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sparsefield._typing import Matrix
from sparsefield.data import MISSING, Moments
from sparsefield.fits import Fit
from sparsefield.gradients import Enumerated, Simulation
from sparsefield.inference import ELIMINATION, Backend, Draws, Field, Given, count_states
from sparsefield.model import PairwiseMRF
from sparsefield.objective import Completed, Problem, Ridge, variances_of
from sparsefield.solvers._loop import Limits, Watch
from sparsefield.solvers._newton_policy import NEWTON, NewtonPolicy
from sparsefield.solvers._quasi_newton import follow


@dataclass(frozen=True)
class SumsPolicy:
    """When variables are summed out, and in which order."""

    # Entries of all tables that are summed over for a gradient, at most, which take a second or two.
    most_work: int = 2**24

    # Fields with fewer states are enumerated: with 2^16 that takes 30 ms and this 50, with 2^20 it takes 85 and this
    # 60.
    fewest_states: int = 2**17

    # Orders to sum out variables in that are tried. Of the votes of the Senate the first has tables of 2^23 entries,
    # the best of ten 2^21.
    n_trials: int = 10

    # The covariance of so many draws is the curvature that steps begin with; exact gradients correct it. With w
    # statistics it is off by a share of about sqrt(w / n), whose square is what a step leaves of what it promised.
    fewest_draws: int = 2**11
    draws_each: int = 64
    most_draws: int = 2**17

    # So many of the draws show the rarest statistic of the rows, if `most_draws` allows it: a curvature that knows it
    # from a draw or two is wrong about all that it goes with. Of the table in the README one level is in no row and
    # counts as half a one in 2000: with 4096 draws fits took 24 steps in the mean, and of 16 seeds one ended at the
    # limit of 50 and two stalled; with eight such draws they take 16 or 17, with 32 of them 15 in twice the time.
    least_seen: int = 8


SUMS = SumsPolicy()


@dataclass(frozen=True)
class SummedOut:
    """Fields whose variables are summed out one by one.

    Moments of pairs that do not interact are not asked for, and taken for those of independent variables.

    Parameters
    ----------
    whole : Given
        A row of which no value is known, and which variables interact.
    backend : Backend
        What counts draws, for curvatures.
    n_draws : int
        How many.
    seed : int
        Where their random numbers start.
    """

    whole: Given
    backend: Backend
    n_draws: int
    seed: int

    def enumerate(self, field: Field) -> tuple[float, Moments]:
        """Return the logarithm of the normalising constant and the moments of pairs that interact."""
        log_sums, products = self.whole.at(field).expect(np.ones(1))
        return float(log_sums[0]), Moments.of_pairs(products, None)

    def states(self, field: Field) -> Draws:
        """Return exact draws, whose covariance is about the curvature."""
        codes = self.whole.at(field).draw_all(self.n_draws, self.seed)
        return self.backend.clamped_chains(field.domain, codes, seed=self.seed).draws()


def solve_summed(
    problem: Problem,
    simulation: Simulation,
    limits: Limits,
    start: Matrix,
    watch: Watch | None,
    *,
    policy: NewtonPolicy = NEWTON,
    sums: SumsPolicy = SUMS,
) -> tuple[Fit, Enumerated] | None:
    """Minimise a ridge on a support with exact gradients; None where variables of the support cannot be summed out.

    None too where all states are enumerated in less time.

    No random number has a part in where it ends: those of draws choose steps, which exact objectives judge.

    Parameters
    ----------
    problem : Problem
        What is minimised.
    simulation : Simulation
        Where random numbers start, and what counts draws.
    limits : Limits
        When to end at the latest.
    start : ndarray of shape (n_slots, n_slots)
        The parameters to start from, laid out as in `Problem`; those outside of the support are left out.
    watch : callable, optional
        Called with each StepInfo.
    policy : NewtonPolicy
        Tuning constants.
    sums : SumsPolicy
        When variables are summed out, and in which order.
    """
    penalty = problem.penalty
    assert isinstance(penalty, Ridge)
    if count_states(problem.domain) < sums.fewest_states:
        return None
    field = PairwiseMRF(problem.domain, np.zeros(problem.domain.n_slots), penalty.interactions.astype(np.float64))
    nothing = np.full((1, problem.domain.n_variables), MISSING, dtype=np.uint8)
    whole = Given(field, nothing, policy=replace(ELIMINATION, n_trials=sums.n_trials))
    if not whole.is_in_reach.all() or whole.work > sums.most_work:
        return None
    rows = problem.data.expecting(field, sums.most_work) if isinstance(problem.data, Completed) else None
    if rows is None and not problem.data.is_fixed:
        return None
    start = np.where(penalty.weights > 0, 0.0, start)  # else they would count in the objective and not in the sums
    variances = variances_of(problem.see(problem.data.moments))[
        penalty.coordinates.is_parameter & (penalty.weights == 0)
    ]
    rarest = float(variances[variances > 0].min(initial=1.0))
    n_wanted = max(sums.fewest_draws, sums.draws_each * penalty.n_parameters, sums.least_seen / rarest)
    n = int(min(sums.most_draws, n_wanted))
    exact = SummedOut(whole, simulation.backend, n, simulation.seed)
    first = Enumerated(problem, start, exact.states(problem.model(start)), start)
    fit, known = follow(problem, exact, limits, first, 0.0, watch, rows, policy=policy)
    is_done = fit.status.code == "converged"
    none = np.zeros((problem.domain.n_slots,) * 2, dtype=bool)
    return replace(fit, undecided=none if is_done else None, spread=0.0 if is_done else None), known
