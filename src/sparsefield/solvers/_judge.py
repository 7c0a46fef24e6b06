"""A limit on the gap by the central limit theorem, from draws that chose nothing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import ndtri

from sparsefield.model import Matrix, count_statistics
from sparsefield.objective import Problem
from sparsefield.solvers._batch import Batch, bound_reach, scatter
from sparsefield.solvers._decrement import Tail, bound_divergence, bound_powers, find_excess, spill
from sparsefield.solvers._hotelling import limit_decrement, remove_noise, widen_limit
from sparsefield.solvers._targets import RefusalError, Targets, mean_error

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
    bound, estimate : float
        The upper limit, infinite where there is none, and the estimate.
    why : str
        Why there is none.
    more : Targets, optional
        What a second try is to be made with.
    """

    bound: float
    estimate: float
    why: str = ""
    more: Targets | None = None


def outside_quantile(problem: Problem, risk: float) -> float:
    """Return the normal quantile for the gradients of all statistics together."""
    return float(-ndtri(_OUTSIDE * risk / (2 * max(1, count_statistics(problem.domain)))))


def judge(problem: Problem, theta: Matrix, targets: Targets, chose: Batch, fresh: Batch, risk: float) -> Verdict:
    """Bound the gap at theta from draws that are independent of the targets and of the draws that these come from."""
    check_draws(targets, fresh)
    a, b, k, n = targets.first, targets.second, targets.n, fresh.n
    covariance = fresh.covariance(a, b)
    v = fresh.gradient[a, b] + targets.t
    try:
        c = cho_solve(cho_factor(covariance), v)
    except np.linalg.LinAlgError:
        raise RefusalError("the draws do not tell all statistics of the support apart: use more of them") from None
    decrement = float(v @ c)
    direction = scatter(a, b, c, len(theta))
    values = fresh.along(direction)
    limit = limit_decrement(decrement, k, n, _DECREMENT * risk) if k else 0.0
    limit = widen_limit(limit, decrement, k, values) if k else 0.0
    gradients = fresh.gradient - fresh.draws.project(values)
    # The direction of the fresh draws has their noise, and other draws show its moments: noise only adds to means of
    # convex functions. It is made as long as the limit at least.
    h = -chose.along(direction)
    h *= max(1.0, np.sqrt(limit / max(h.var(), 1e-300)))
    z = float(-ndtri(_TAIL * risk / 3))
    tail, reach = Tail.of(h), bound_reach(covariance, fresh.pair[a, b], fresh, a, b, z)
    excess = find_excess(tail, reach)
    cost = targets.slackness(problem, theta)
    bound = cost + bound_divergence(limit, *bound_powers(h, z), excess, reach)
    estimate = cost + remove_noise(decrement, k, n) / 2
    if not np.isfinite(bound):
        return Verdict(np.inf, estimate, "the tails of a step are too long for these draws: use more of them")
    z = outside_quantile(problem, risk)
    errors = mean_error(targets.rest * (1 + decrement), z, n)
    if targets.find_near(gradients, errors + spill(tail, excess)).any():
        more = targets.with_more(targets.find_near(gradients, _NEAR * errors), gradients)
        return Verdict(np.inf, estimate, "a zero is too near to its penalty for these draws: use more of them", more)
    return Verdict(bound, estimate)


def check_draws(targets: Targets, batch: Batch) -> None:
    """Refuse draws that are too few for the statistics of S."""
    if batch.n < _DRAWS_EACH * targets.n:
        raise RefusalError(f"{batch.n} draws are too few for {targets.n} statistics: use more than ten for each")
    if batch.n_seen(targets.first, targets.second) < _LEAST_SEEN:
        raise RefusalError("statistics of the support are hardly ever seen: use more draws")
