"""A batch of exact draws at some parameters, as a certificate of the gap asks for it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from sparsefield.inference import BLOCK, Backend
from sparsefield.model import Matrix, scatter
from sparsefield.objective import Problem
from sparsefield.solvers._extremes import extremes
from sparsefield.solvers._frequencies import Frequencies

Index = NDArray[np.int64]
Values = NDArray[np.float64]

# Sweeps within which half of the bounding chains of a pilot run must meet.
_MOST_SWEEPS = 10_000

# A batch has at most so many cells, which are bytes where every statistic is projected on values: 256 MiB.
_MOST_CELLS = 2**28


class Batch:
    """Exact draws at theta.

    Parameters
    ----------
    problem : Problem
        Whose gap is certified.
    theta : ndarray of shape (n_slots, n_slots)
        Where.
    n : int
        How many draws; fewer where memory allows no more.
    seed : int
        Where their random numbers start.
    backend : Backend
        What makes them; it may raise OutOfReachError.
    """

    def __init__(self, problem: Problem, theta: Matrix, n: int, seed: int, backend: Backend) -> None:
        self.n = min(n, max(BLOCK, _MOST_CELLS // max(1, problem.domain.n_slots)))
        chains, _ = backend.draw(problem.model(theta), self.n, seed=seed, max_sweeps=_MOST_SWEEPS)
        self.draws = problem.coordinates.draws(chains.draws())
        self._problem, self.slots = problem, chains.moments()
        self.moments = problem.see(self.slots)
        self.pair = self.moments.pair
        self.gradient = self.pair - problem.target

    def covariance(self, a: Index, b: Index) -> Matrix:
        """Return the covariance of the statistics s_a s_b, (k, k), with the divisor n - 1."""
        products, scale, _ = self.draws.second_moments(a, b)
        means = self.pair[a, b]
        return np.asarray((scale * products - np.outer(means, means)) * (self.n / (self.n - 1)))

    def along(self, move: Matrix) -> Values:
        """Return the inner product of a move and the statistics of each draw, less its mean."""
        values = self.draws.along(move)
        return np.asarray(values - values.mean())

    def furthest(self, a: Index, b: Index) -> Values:
        """Return how far some statistics can be from their means."""
        low, high = extremes(self._problem)
        means = self.pair[a, b]
        return np.asarray(np.maximum(means - low[a, b], high[a, b] - means))

    def n_seen(self, a: Index, b: Index) -> float:
        """Return how often the rarest event was seen that one of some statistics is about."""
        if not self._problem.coordinates.is_plain:
            return self.n * Frequencies(self._problem, self.slots).least_share(a, b)
        means = self.pair[a, b]
        return float(self.n * np.minimum(means, 1 - means).min(initial=1.0))


def bound_reach(covariance: Matrix, batch: Batch, a: Index, b: Index, z: float) -> float:
    """Bound |H^-1/2 (s - mu)| over all states, as far as the least eigenvalue of H is known from draws.

    With D the standard deviations and R the correlations, it is |R^-1/2 D^-1 (s - mu)|, at most the root of
    sum_j m_j^2 / D_j^2 over the least eigenvalue of R, m_j the furthest that s_j can be from mu_j. That of an estimate
    of R is at most what its own eigenvector u shows of R, whose mean is right to the standard error of the mean of
    (u . D^-1 (s - mean))^2.
    """
    if len(a) == 0:
        return 0.0
    deviations = np.sqrt(np.diagonal(covariance))
    least, vectors = eigh(covariance / np.outer(deviations, deviations), subset_by_index=[0, 0])
    squares = batch.along(scatter(a, b, vectors[:, 0] / deviations, len(batch.pair))) ** 2
    relative = z * squares.std() / (np.sqrt(batch.n) * squares.mean())
    if relative >= 1 or least[0] <= 0:
        return np.inf
    largest = (batch.furthest(a, b) ** 2 / deviations**2).sum()
    return float(np.sqrt(largest / (least[0] * (1 - relative))))
