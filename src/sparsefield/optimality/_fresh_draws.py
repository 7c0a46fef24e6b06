"""Fresh draws at some parameters, and what a certificate of the gap asks of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.linalg import cho_factor, cho_solve, cholesky, eigh
from scipy.sparse.linalg import LinearOperator, eigsh

from sparsefield._kernels._bytes import BLOCK
from sparsefield._seeds import Use
from sparsefield._typing import Index, Matrix, Values
from sparsefield.gradients import Drawn, Point, Simulation, draw_exactly
from sparsefield.model import scatter
from sparsefield.objective import Problem, extremes, rarest_share
from sparsefield.optimality._policy import GAPS, GapPolicy

# An eigenvalue from power steps on the inverse is right to as much, and what Cholesky's factor shows is so much below.
_EIGENVALUE_TOL, _BELOW = 1e-3, 0.01


def draw_fresh(problem: Problem, theta: Matrix, simulation: Simulation, use: int, *, policy: GapPolicy = GAPS) -> Drawn:
    """Make exact draws at theta, fewer where memory allows no more; OutOfReachError where there can be none."""
    most = policy.most_bits if np.all(problem.domain.n_levels <= 2) else policy.most_cells
    n = min(simulation.n_chains, max(BLOCK, most // max(1, problem.domain.n_slots)))
    point = Point(Use.ITERATION_ZERO, theta, problem.model(theta), 1.0)
    estimate = draw_exactly(point, replace(simulation, n_chains=n), use, max_sweeps=policy.most_sweeps)
    return Drawn.at(problem, point, estimate, simulation, n)


def furthest(batch: Drawn, a: Index, b: Index) -> Values:
    """Return how far some statistics can be from their means."""
    low, high = extremes(batch.problem)
    means = batch.moments.pair[a, b]
    return np.asarray(np.maximum(means - low[a, b], high[a, b] - means))


def n_seen(batch: Drawn, a: Index, b: Index) -> float:
    """Return how often the rarest event was seen that one of some statistics is about."""
    return batch.n * rarest_share(batch.problem, batch.estimate.moments, a, b)


class Factored:
    """A covariance, its Cholesky factor, and the least eigenvalue of its correlations, in one array.

    Parameters
    ----------
    covariance : ndarray of shape (k, k)
        The covariance, which is overwritten; LinAlgError where it is not positive.
    policy : GapPolicy
        From how many statistics on there is a bound in place of the eigenvalue.
    """

    def __init__(self, covariance: Matrix, *, policy: GapPolicy = GAPS) -> None:
        self.deviations = np.sqrt(np.diagonal(covariance))
        self._least: tuple[float, Values] | None = None
        if 0 < len(covariance) < policy.many:
            correlations = covariance / np.outer(self.deviations, self.deviations)
            least, vectors = eigh(correlations, subset_by_index=[0, 0])
            self._least = float(least[0]), vectors[:, 0]
        # In columns, which is what LAPACK overwrites: the factor takes one triangle, and the other one is kept.
        self._factor, _ = cho_factor(covariance.T, overwrite_a=True)

    def solve(self, values: Values) -> Values:
        """Return the inverse of the covariance times values."""
        return np.asarray(cho_solve((self._factor, False), values))

    def bound_least(self) -> tuple[float, Values]:
        """Return a lower bound of the least eigenvalue of the correlations, and about its eigenvector.

        Power steps on the inverse lead there. That no eigenvalue is below is shown by another Cholesky factor, of the
        covariance less that share of the variances. Nothing can be solved after it.
        """
        if self._least is not None:
            return self._least
        k, own = len(self.deviations), self.deviations
        inverse = LinearOperator((k, k), matvec=lambda x: own * self.solve(own * x.ravel()), dtype=np.float64)
        start = np.random.default_rng(0).normal(size=k)
        values, vectors = eigsh(inverse, k=1, which="LA", v0=start, tol=_EIGENVALUE_TOL)
        least = (1 - _BELOW) / float(values[0])
        self._factor[np.diag_indices(k)] = own**2 * (1 - least)
        try:
            cholesky(self._factor, lower=True, overwrite_a=True)
        except np.linalg.LinAlgError:
            least = 0.0
        return least, vectors[:, 0]


def bound_reach(factored: Factored, batch: Drawn, a: Index, b: Index, z: float) -> float:
    """Bound |H^-1/2 (s - mu)| over all states, as far as the least eigenvalue of H is known from draws.

    With D the standard deviations and R the correlations, it is |R^-1/2 D^-1 (s - mu)|, at most the root of
    sum_j m_j^2 / D_j^2 over the least eigenvalue of R, m_j the furthest that s_j can be from mu_j. That of an estimate
    of R is at most what its own eigenvector u shows of R, whose mean is right to the standard error of the mean of
    (u . D^-1 (s - mean))^2.
    """
    if len(a) == 0:
        return 0.0
    deviations = factored.deviations
    least, vector = factored.bound_least()
    squares = batch.along(scatter(a, b, vector / deviations, len(batch.theta))) ** 2
    relative = z * squares.std() / (np.sqrt(batch.n) * squares.mean())
    if relative >= 1 or least <= 0:
        return np.inf
    largest = (furthest(batch, a, b) ** 2 / deviations**2).sum()
    return float(np.sqrt(largest / (least * (1 - relative))))
