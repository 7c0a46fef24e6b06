"""How far theta is above the optimum at most, for every number of draws: entropies of fields near the optimum."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sparsefield._seeds import Use
from sparsefield._typing import Matrix
from sparsefield.certificates import Disagreement
from sparsefield.data import CountedTable, Rows, distinct_rows
from sparsefield.gradients import BestDraws, Drawn, Estimate, Point, Simulation, draw_exactly
from sparsefield.inference import OutOfReachError
from sparsefield.model import PairwiseMRF, count_once, count_statistics, sum_once
from sparsefield.objective import L1, Group, Problem, count_statements, describe_penalty, extremes
from sparsefield.optimality._mean_errors import bound_errors, pull_bounds
from sparsefield.optimality._policy import GAPS, GapPolicy
from sparsefield.solvers import WatchSteps as Watch
from sparsefield.solvers import solve_newton

USES = 5  # bounds that must hold together, each with its share of the risk: errors and means here and there


def bound_by_entropy(
    problem: Problem,
    here: Means,
    entropy: float,
    simulation: Simulation,
    risk: float,
    watch: Watch | None,
    *,
    policy: GapPolicy = GAPS,
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
    simulation : Simulation
        Draws at the second fit, where all random numbers start, and what makes draws.
    risk : float
        Probability with which each of several bounds may fail.
    watch : callable, optional
        Called with each StepInfo of the second fit.
    policy : GapPolicy
        How much smaller the penalty of the second fit may be.
    """
    second = _fit_tighter(problem, here, simulation, risk, watch, policy)
    others = [here] if second is None else [here, second]
    return min(_bound_gap(here, there, entropy) for there in others), sum(own.drawn.n for own in others[1:])


def _bound_gap(here: Means, there: Means, entropy: float) -> float:
    """Bound g(here) - H(P) from above, P the field of `there` with as much of the data mixed in as it takes."""
    problem, theta = here.drawn.problem, here.drawn.theta
    # Free parameters are equalities, which only the data meet.
    excess = problem.penalty.largest_dual_norm(there.drawn.gradient, there.errors)
    mixed = max(0.0, 1 - problem.penalty.alpha / max(excess, 1e-300))
    largest = float(np.log(problem.domain.n_levels).sum())
    gap = here.upper(theta - there.drawn.theta) + there.upper(there.drawn.theta) - sum_once(theta * problem.target)
    return max(0.0, gap + problem.penalty.value(theta) + mixed * (largest - entropy))


@dataclass(frozen=True, eq=False)
class Means:
    """Fresh draws, with bounds on the errors of their means that hold together.

    Parameters
    ----------
    drawn : Drawn
        The draws.
    bias, errors : ndarray of shape (size, size)
        Bounds on what the means of features are off by: the bias of the draws, and that with their simulation error.
    risk : float
        Probability with which the bounds may fail.
    """

    drawn: Drawn
    bias: Matrix
    errors: Matrix
    risk: float

    @classmethod
    def of(
        cls,
        problem: Problem,
        model: PairwiseMRF,
        simulation: Simulation,
        use: Use,
        risk: float,
        *,
        policy: GapPolicy = GAPS,
    ) -> Means:
        """Draw from a model; OutOfReachError where draws can be had in no way."""
        point = Point(Use.ITERATION_ZERO, problem.theta(model), model, 1.0)
        estimate = _estimate(point, simulation, use, policy)
        assert estimate.certificate is not None
        bias = pull_bounds(problem, estimate.certificate.pair)
        errors = bound_errors(problem, model, estimate.moments, risk).means + bias
        return cls(Drawn.at(problem, point, estimate, simulation, simulation.n_chains), bias, errors, risk)

    def upper(self, weights: Matrix) -> float:
        """Bound from above the expectation of the statistics times weights (Maurer and Pontil 2009, Theorem 4)."""
        values, n = self.drawn.draws.along(weights), self.drawn.n
        low, high = extremes(self.drawn.problem)
        width = sum_once(np.abs(weights) * (high - low))
        tail = np.log(2 / self.risk)
        error = np.sqrt(2 * values.var(ddof=1) * tail / n) + 7 * width * tail / (3 * (n - 1))
        return float(values.mean() + error + sum_once(np.abs(weights) * self.bias))


def _estimate(point: Point, simulation: Simulation, use: Use, policy: GapPolicy) -> Estimate:
    """Return moments with bounds on their biases: of exact draws, or of Gibbs chains that are swept long enough."""
    try:
        return draw_exactly(point, simulation, use, max_sweeps=policy.most_sweeps)
    except OutOfReachError:
        model, n, backend = point.model, simulation.n_chains, simulation.backend
        far = Disagreement(model)
        ahead = far.next_biases(policy.most_gibbs_sweeps)
        enough = np.flatnonzero(ahead <= policy.small_bias * np.sqrt(count_statistics(model.domain) / n))
        if len(enough) == 0:
            raise
        n_sweeps = int(enough[0]) + 1
        far.sweep(n_sweeps)
        chains = backend.chains(model.domain, n, seed=simulation.seed_of(point.iteration, use))
        chains.sweep(backend.prepare(model), n_sweeps)
        return Estimate(chains.moments(), n_sweeps, "negligible bias", chains, far.certificate())


def _fit_tighter(
    problem: Problem,
    here: Means,
    simulation: Simulation,
    risk: float,
    watch: Watch | None,
    policy: GapPolicy,
) -> Means | None:
    """Return fresh means of a second fit with a smaller penalty, where there can be one."""
    n_draws = simulation.n_chains
    # Twice the largest errors that means can have: once for these, and once for the simulation error of the second fit.
    # The draws here must have no say in it: the second fit may not depend on them.
    margin = 2 * float(np.sqrt(np.log(2 * count_statements(problem) / risk) / (2 * n_draws)))
    alpha, known = problem.penalty.alpha, describe_penalty(problem.penalty)
    if margin >= policy.most_margin * alpha or known["penalty"] not in ("L1", "Group") or not known["penalize_main"]:
        return None
    kind = Group if known["penalty"] == "Group" else L1
    tighter = replace(problem, penalty=kind(problem.domain, alpha - margin, 1.0))
    seed = simulation.seed_of(Use.ITERATION_ZERO, Use.TIGHTER_FIT)
    fewer = Simulation(max(1, n_draws // 4), seed, backend=simulation.backend)
    gap = max(1, count_once(here.drawn.theta)) / (2 * n_draws)
    second = solve_newton(tighter, BestDraws(), fewer, start=here.drawn.theta, gap=gap, max_iter=6, watch=watch)
    if second.status.code == "interrupted":
        raise KeyboardInterrupt
    try:
        return Means.of(problem, second.model, simulation, Use.TIGHTER, risk, policy=policy)
    except OutOfReachError:
        return None


def entropy_of(rows: Rows) -> float:
    """Return the entropy of weighted rows; of those that are not in memory, what it is at least."""
    if isinstance(rows.table, CountedTable):
        return rows.table.least_entropy()
    shares = np.bincount(distinct_rows(rows.table.codes)[1], rows.weights)
    shares = shares[shares > 0] / shares.sum()
    return float(-(shares * np.log(shares)).sum())
