"""Confidence limit of the gap by the central limit theorem, from draws that chose nothing."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from sparsefield._typing import Matrix, Values
from sparsefield.data import Moments, count
from sparsefield.gradients import Drawn
from sparsefield.model import scatter
from sparsefield.objective import Problem, count_statements, widths
from sparsefield.optimality._decrement import Tail, bound_divergence, bound_powers, find_excess, spill
from sparsefield.optimality._dual_point import RefusalError, Targets, count_targets, mean_error
from sparsefield.optimality._fresh_draws import Factored, bound_reach, n_seen
from sparsefield.optimality._gap_bound import GapBound
from sparsefield.optimality._hotelling import limit_decrement, remove_errors, widen_limit
from sparsefield.optimality._policy import GAPS, GapPolicy
from sparsefield.solvers import least_draws, move_gradients


def outside_quantile(problem: Problem, risk: float, *, policy: GapPolicy = GAPS) -> float:
    """Return the normal quantile for the gradients of all statistics, or groups of them, together."""
    return float(-ndtri(policy.outside * risk / (2 * max(1, count_statements(problem)))))


def draws_for_targets(problem: Problem, theta: Matrix, moments: Moments | None, *, policy: GapPolicy = GAPS) -> int:
    """Return the draws with which there are so many for each statistic that a feasible distribution is made of.

    These are the parameters that are not zero or free, and the zeros that so many draws leave near their penalties.

    Parameters
    ----------
    problem : Problem
        Whose gap is to be bounded.
    theta : ndarray of shape (size, size)
        Where.
    moments : Moments, optional
        Those of the features there; unless they are known gradients count as zero.
    policy : GapPolicy
        The confidence of the bound, and how many draws each is to have.
    """
    if problem.penalty.weights is None:
        return 1
    gradient = np.zeros_like(theta) if moments is None else problem.gradient(moments)
    z = outside_quantile(problem, 1 - policy.confidence, policy=policy)
    return least_draws(lambda n: n >= policy.draws_each * count_targets(problem, theta, gradient, z, n))


def judge(
    targets: Targets,
    chose: Drawn,
    fresh: Drawn,
    risk: float,
    *,
    policy: GapPolicy = GAPS,
) -> tuple[GapBound, Targets | None]:
    """Bound the gap where fresh draws are, which are independent of the targets and of the draws that these come from.

    Where a zero near its penalty is all that is in the way, also return targets for a second try on other draws.
    """
    problem, theta = fresh.problem, fresh.theta
    check_draws(targets, fresh, policy=policy)
    factored = _factor_covariance(targets, fresh, policy)
    v = fresh.gradient[targets.first, targets.second] + targets.t
    c = factored.solve(v)
    decrement = float(v @ c)
    direction = scatter(targets.first, targets.second, c, len(theta))
    values = fresh.along(direction)
    limit = 0.0
    if targets.n:
        limit = limit_decrement(decrement, targets.n, fresh.n, policy.decrement * risk)
        limit = widen_limit(limit, decrement, targets.n, values)
    divergence, moved = _bound_tails(-chose.along(direction), limit, targets, fresh, factored, policy.tail * risk)
    cost = targets.slackness(problem, theta)
    estimate = cost + remove_errors(decrement, targets.n, fresh.n) / 2
    if not np.isfinite(divergence):
        why = "the tails of a step are too long for these draws: use more of them"
        return GapBound(estimate=estimate, why=why), None
    z = outside_quantile(problem, risk, policy=policy)
    errors = mean_error(problem, targets.rest * (1 + decrement), z, fresh.n)
    margins = errors + moved * widths(problem)
    # Rough gradients are left alone only where neither question below can have another answer.
    largest = np.maximum(margins, policy.near * errors)
    gradients = move_gradients(
        fresh.gradient, fresh.draws, values, lambda rough, error: targets.find_near(rough, largest + error), -1.0
    )
    if targets.find_near(gradients, margins).any():
        why = "a zero is too near to its penalty for these draws: use more of them"
        more = targets.with_more(targets.find_near(gradients, policy.near * errors), gradients)
        return GapBound(estimate=estimate, why=why), more
    return GapBound(cost + divergence, estimate=estimate), None


def _factor_covariance(targets: Targets, batch: Drawn, policy: GapPolicy) -> Factored:
    """Return the covariance of the statistics of S over draws, RefusalError where they do not tell all apart."""
    try:
        return Factored(batch.covariance(targets.first, targets.second), policy=policy)
    except np.linalg.LinAlgError:
        raise RefusalError("the draws do not tell all statistics of the support apart: use more of them") from None


def _bound_tails(
    h: Values, limit: float, targets: Targets, fresh: Drawn, factored: Factored, risk: float
) -> tuple[float, float]:
    """Bound the divergence, and how far negative states move the moments outside S, as a share of their ranges.

    The direction of h is that of the fresh draws, with their simulation error, and its values are those of other draws:
    error only adds to means of convex functions of h. It is made as long as the limit at least.
    """
    h = h * max(1.0, np.sqrt(limit / max(h.var(), 1e-300)))
    z = float(-ndtri(risk / 3))  # two powers and the reach
    tail, reach = Tail.of(h), bound_reach(factored, fresh, targets.first, targets.second, z)
    excess = find_excess(tail, reach)
    divergence = bound_divergence(limit, *bound_powers(h, z), excess, reach)
    return divergence, spill(tail, excess) if np.isfinite(excess) else np.inf


def check_draws(targets: Targets, batch: Drawn, *, policy: GapPolicy = GAPS) -> None:
    """Refuse draws that are too few for the statistics of S."""
    each = policy.judging_draws_each
    if batch.n < each * targets.n:
        wanted = f"use more than {each} for each, from n_draws={each * targets.n} on"
        raise RefusalError(f"{batch.n} draws are too few for {targets.n} statistics: {wanted}")
    seen = n_seen(batch, targets.first, targets.second)
    if seen < policy.least_seen:
        # Draws in proportion, and half as many again for chance.
        wanted = "" if seen == 0 else f", about n_draws={1.5 * batch.n * policy.least_seen / seen:.2g}"
        said = f"one of them in {count(int(seen), 'draw')} of {batch.n}"
        raise RefusalError(f"statistics of the support are hardly ever seen, {said}: use more draws{wanted}")
