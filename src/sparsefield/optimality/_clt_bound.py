"""A limit on the gap by the central limit theorem, from draws that chose nothing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from sparsefield._typing import Matrix, Values
from sparsefield.data import Moments, count
from sparsefield.model import scatter
from sparsefield.objective import Problem, count_statements, widths
from sparsefield.optimality._decrement import Tail, bound_divergence, bound_powers, find_excess, spill
from sparsefield.optimality._dual_point import RefusalError, Targets, count_targets, mean_error
from sparsefield.optimality._fresh_draws import Batch, Factored, bound_reach
from sparsefield.optimality._hotelling import limit_decrement, remove_noise, widen_limit
from sparsefield.solvers import least_draws, move_gradients

# Of the risk of a certificate this share goes to the limit on the decrement, the next to all statistics outside S
# together, and the last to powers of h and the reach. The first has the largest part in the bound, which moves with
# the normal quantile of its share: by 4% from 0.85 to 0.7. The others move by their logarithms, in small terms.
_DECREMENT, _OUTSIDE, _TAIL = 0.85, 0.1, 0.05

# Hotelling's limit is for normal means. Statistics of S must be seen, and not seen, as often: Cochran's (1954) rule for
# chi-square is five to ten.
_LEAST_SEEN = 10

# The covariance of k statistics over n draws is off by factors from (1 - sqrt(k / n))^2 on: 0.47 with ten for each.
_DRAWS_EACH = 10

# Statistics outside S that come as near to their penalties as this multiple of their errors join it for a second try.
_NEAR = 1.5


@dataclass(frozen=True, eq=False)
class Verdict:
    """What draws say of the gap at theta.

    Parameters
    ----------
    bound : float
        The upper limit, infinite where there is none.
    estimate : float or None
        The gap itself, as far as the draws tell.
    why : str
        Why there is none.
    more : Targets, optional
        What a second try is to be made with.
    """

    bound: float
    estimate: float | None
    why: str = ""
    more: Targets | None = None


def outside_quantile(problem: Problem, risk: float) -> float:
    """Return the normal quantile for the gradients of all statistics, or groups of them, together."""
    return float(-ndtri(_OUTSIDE * risk / (2 * max(1, count_statements(problem)))))


def draws_for_targets(problem: Problem, theta: Matrix, moments: Moments | None, risk: float, each: int) -> int:
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
    risk : float
        That of the bound.
    each : int
        How many draws each is to have.
    """
    if problem.penalty.weights is None:
        return 1
    gradient = np.zeros_like(theta) if moments is None else problem.gradient(moments)
    z = outside_quantile(problem, risk)
    return least_draws(lambda n: n >= each * count_targets(problem, theta, gradient, z, n))


def judge(problem: Problem, theta: Matrix, targets: Targets, chose: Batch, fresh: Batch, risk: float) -> Verdict:
    """Bound the gap at theta from draws that are independent of the targets and of the draws that these come from."""
    check_draws(targets, fresh)
    factored = _factor_covariance(targets, fresh)
    v = fresh.gradient[targets.first, targets.second] + targets.t
    c = factored.solve(v)
    decrement = float(v @ c)
    direction = scatter(targets.first, targets.second, c, len(theta))
    values = fresh.along(direction)
    limit = 0.0
    if targets.n:
        limit = limit_decrement(decrement, targets.n, fresh.n, _DECREMENT * risk)
        limit = widen_limit(limit, decrement, targets.n, values)
    divergence, moved = _bound_tails(-chose.along(direction), limit, targets, fresh, factored, risk)
    cost = targets.slackness(problem, theta)
    estimate = cost + remove_noise(decrement, targets.n, fresh.n) / 2
    if not np.isfinite(divergence):
        return Verdict(np.inf, estimate, "the tails of a step are too long for these draws: use more of them")
    errors = mean_error(problem, targets.rest * (1 + decrement), outside_quantile(problem, risk), fresh.n)
    margins = errors + moved * widths(problem)
    # Rough gradients are left alone only where neither question below can have another answer.
    largest = np.maximum(margins, _NEAR * errors)
    gradients = move_gradients(
        fresh.gradient, fresh.draws, values, lambda rough, error: targets.find_near(rough, largest + error), -1.0
    )
    if targets.find_near(gradients, margins).any():
        more = targets.with_more(targets.find_near(gradients, _NEAR * errors), gradients)
        return Verdict(np.inf, estimate, "a zero is too near to its penalty for these draws: use more of them", more)
    return Verdict(cost + divergence, estimate)


def _factor_covariance(targets: Targets, batch: Batch) -> Factored:
    """Return the covariance of the statistics of S over draws, RefusalError where they do not tell all apart."""
    try:
        return Factored(batch.covariance(targets.first, targets.second))
    except np.linalg.LinAlgError:
        raise RefusalError("the draws do not tell all statistics of the support apart: use more of them") from None


def _bound_tails(
    h: Values, limit: float, targets: Targets, fresh: Batch, factored: Factored, risk: float
) -> tuple[float, float]:
    """Bound the divergence, and how far negative states move the moments outside S, as a share of their ranges.

    The direction of h is that of the fresh draws, with their noise, and its values are those of other draws: noise only
    adds to means of convex functions of h. It is made as long as the limit at least.
    """
    h = h * max(1.0, np.sqrt(limit / max(h.var(), 1e-300)))
    z = float(-ndtri(_TAIL * risk / 3))  # two powers and the reach
    tail, reach = Tail.of(h), bound_reach(factored, fresh, targets.first, targets.second, z)
    excess = find_excess(tail, reach)
    divergence = bound_divergence(limit, *bound_powers(h, z), excess, reach)
    return divergence, spill(tail, excess) if np.isfinite(excess) else np.inf


def check_draws(targets: Targets, batch: Batch) -> None:
    """Refuse draws that are too few for the statistics of S."""
    if batch.n < _DRAWS_EACH * targets.n:
        wanted = f"use more than {_DRAWS_EACH} for each, from n_draws={_DRAWS_EACH * targets.n} on"
        raise RefusalError(f"{batch.n} draws are too few for {targets.n} statistics: {wanted}")
    n_seen = batch.n_seen(targets.first, targets.second)
    if n_seen < _LEAST_SEEN:
        # Draws in proportion, and half as many again for chance.
        wanted = "" if n_seen == 0 else f", about n_draws={1.5 * batch.n * _LEAST_SEEN / n_seen:.2g}"
        seen = f"one of them in {count(int(n_seen), 'draw')} of {batch.n}"
        raise RefusalError(f"statistics of the support are hardly ever seen, {seen}: use more draws{wanted}")
