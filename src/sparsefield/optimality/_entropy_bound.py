"""How far theta is above the optimum at most, for every number of draws: entropies of fields near the optimum."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sparsefield._seeds import Use, derive_seed
from sparsefield._typing import Matrix
from sparsefield.certificates import Disagreement
from sparsefield.data import CountedTable, Table, distinct_rows
from sparsefield.gradients import BestDraws, Simulation
from sparsefield.inference import Backend, ChainStates, OutOfReachError
from sparsefield.model import PairwiseMRF, count_once, count_statistics, sum_once
from sparsefield.objective import L1, Group, Problem, count_statements, describe_penalty, extremes
from sparsefield.optimality._mean_errors import bound_errors, pull_bounds
from sparsefield.solvers import WatchSteps as Watch
from sparsefield.solvers import solve_newton

USES = 5  # bounds that must hold together, each with its share of the risk: errors and means here and there
_MOST_SWEEPS = 1000  # of Gibbs chains, where there are no exact draws
_MOST_MARGIN = 0.7  # of alpha, by which the penalty of the second fit may be smaller
_SMALL = 1e-3  # share of the simulation error that their bias may have


def bound_by_entropy(
    problem: Problem,
    here: Means,
    entropy: float,
    n_draws: int,
    seed: int,
    risk: float,
    backend: Backend,
    watch: Watch | None,
) -> tuple[float, int]:
    """Bound the gap by the entropy of the field here, or of one with a smaller penalty, mixed with the data.

    Returns the bound, and the number of draws at the second fit.

    Parameters
    ----------
    problem : Problem
        Whose gap it is.
    here : Means
        Draws at theta.
    entropy : float
        That of the data.
    n_draws, seed : int
        Draws at the second fit, and where all random numbers start.
    risk : float
        Probability with which each of several bounds may fail.
    backend : Backend
        What makes draws.
    watch : callable, optional
        Called with each StepInfo of the second fit.
    """
    others = [here, *_fit_tighter(problem, here, n_draws, seed, risk, backend, watch)]
    return min(_bound_gap(problem, here, there, entropy) for there in others), n_draws * (len(others) - 1)


def _bound_gap(problem: Problem, here: Means, there: Means, entropy: float) -> float:
    """Bound g(here) - H(P) from above, P the field of `there` with as much of the data mixed in as it takes."""
    domain, data = problem.domain, problem.target
    # Free parameters are equalities, which only the data meet.
    excess = _dual_norm(problem, there.pair - data, there.errors)
    mixed = max(0.0, 1 - problem.penalty.alpha / max(excess, 1e-300))
    largest = float(np.log(domain.n_levels).sum())
    gap = here.upper(here.theta - there.theta) + there.upper(there.theta) - sum_once(here.theta * data)
    return max(0.0, gap + problem.penalty.value(here.theta) + mixed * (largest - entropy))


def _dual_norm(problem: Problem, gradient: Matrix, errors: Matrix) -> float:
    """Bound the dual norm of a gradient whose entries, or combinations of those of a group, are off by errors."""
    penalty, weights, is_real = problem.penalty, problem.penalty.weights, problem.coordinates.is_parameter
    if penalty.groups is None:
        return penalty.dual_norm(np.abs(gradient) + errors)
    assert weights is not None
    if np.any(weights[is_real] == 0):
        return np.inf
    return float(penalty.alpha * ((penalty.sizes(gradient) + errors)[is_real] / weights[is_real]).max(initial=0.0))


class Means:
    """Moments of a model from fresh draws, with bounds on their errors that hold together.

    Parameters
    ----------
    problem : Problem
        Which says of what features the moments are.
    model : PairwiseMRF
        The model.
    n, seed, use : int
        How many draws, and where their random numbers start.
    risk : float
        Probability with which the bounds may fail.
    backend : Backend
        What makes draws; OutOfReachError where these can be had in no way.
    """

    def __init__(
        self, problem: Problem, model: PairwiseMRF, n: int, seed: int, use: int, risk: float, backend: Backend
    ) -> None:
        self._problem, self._risk, self._n, self.theta = problem, risk, n, problem.theta(model)
        chains, bias = _draw(model, n, derive_seed(seed, Use.ITERATION_ZERO, use), backend)
        self._bias = pull_bounds(problem, bias)
        moments = chains.moments()
        self.pair = problem.see(moments).pair
        self.errors = bound_errors(problem, model, moments, risk).means + self._bias
        self._draws = problem.coordinates.draws(chains.draws())

    def upper(self, weights: Matrix) -> float:
        """Bound from above the expectation of the statistics times weights (Maurer and Pontil 2009, Theorem 4)."""
        values = self._draws.along(weights)
        low, high = extremes(self._problem)
        width = sum_once(np.abs(weights) * (high - low))
        tail = np.log(2 / self._risk)
        noise = np.sqrt(2 * values.var(ddof=1) * tail / self._n) + 7 * width * tail / (3 * (self._n - 1))
        return float(values.mean() + noise + sum_once(np.abs(weights) * self._bias))


def _draw(model: PairwiseMRF, n: int, seed: int, backend: Backend) -> tuple[ChainStates, Matrix]:
    """Return draws and bounds on their biases: exact ones, or those of Gibbs chains that are swept long enough."""
    domain = model.domain
    try:
        chains, _ = backend.draw(model, n, seed=seed, max_sweeps=10_000)
        return chains, np.zeros((domain.n_slots, domain.n_slots))
    except OutOfReachError:
        far = Disagreement(model)
        ahead = far.next_biases(_MOST_SWEEPS)
        enough = np.flatnonzero(ahead <= _SMALL * np.sqrt(count_statistics(domain) / n))
        if len(enough) == 0:
            raise
        n_sweeps = int(enough[0]) + 1
        far.sweep(n_sweeps)
        chains = backend.chains(domain, n, seed=seed)
        chains.sweep(backend.prepare(model), n_sweeps)
        return chains, far.certificate().pair


def _fit_tighter(
    problem: Problem,
    here: Means,
    n_draws: int,
    seed: int,
    risk: float,
    backend: Backend,
    watch: Watch | None,
) -> list[Means]:
    """Return fresh means of a second fit with a smaller penalty, where there can be one."""
    # Twice the largest errors that means can have: once for these, and once for the noise of the second fit. The draws
    # here must have no say in it: the second fit may not depend on them.
    margin = 2 * float(np.sqrt(np.log(2 * count_statements(problem) / risk) / (2 * n_draws)))
    alpha, known = problem.penalty.alpha, describe_penalty(problem.penalty)
    if margin >= _MOST_MARGIN * alpha or known["penalty"] not in ("L1", "Group") or not known["penalize_main"]:
        return []
    kind = Group if known["penalty"] == "Group" else L1
    tighter = replace(problem, penalty=kind(problem.domain, alpha - margin, 1.0))
    own = derive_seed(seed, Use.ITERATION_ZERO, Use.TIGHTER_FIT)
    simulation = Simulation(max(1, n_draws // 4), own, backend=backend)
    gap = max(1, count_once(here.theta)) / (2 * n_draws)
    second = solve_newton(tighter, BestDraws(), simulation, start=here.theta, gap=gap, max_iter=6, watch=watch)
    if second.status.code == "interrupted":
        raise KeyboardInterrupt
    try:
        return [Means(problem, second.model, n_draws, seed, Use.TIGHTER, risk, backend)]
    except OutOfReachError:
        return []


def entropy_of(table: Table, weights: NDArray[np.float64] | None = None) -> float:
    """Return the entropy of the weighted rows of a table; of one that is not in memory, what it is at least."""
    if isinstance(table, CountedTable):
        return table.least_entropy()
    shares = np.bincount(distinct_rows(table.codes)[1], weights)
    shares = shares[shares > 0] / shares.sum()
    return float(-(shares * np.log(shares)).sum())
