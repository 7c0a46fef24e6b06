"""Parameters, and what is known of the field there: by draws, or by all states of a field nearby."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sparsefield._typing import Index, Matrix, Values
from sparsefield.data import Moments
from sparsefield.gradients._schedule import Estimate, Point, Simulation
from sparsefield.inference import Draws
from sparsefield.model import count_once, inner_once, sum_once
from sparsefield.objective import Problem, Quadratic, variances_of


@dataclass(frozen=True, eq=False)
class Drawn:
    """Parameters, and draws there that had no part in choosing them.

    Parameters
    ----------
    problem : Problem
        What is minimised, with the data as they are completed here.
    theta : ndarray of shape (n_slots, n_slots)
        The parameters, laid out as in `Problem`.
    estimate : Estimate
        Moments here.
    draws : Draws
        The draws behind them, as far as they are held, in the coordinates of the problem; all states where moments are
        exact.
    n_asked : int
        How many were asked for.
    missing : float
        The share of the curvature that missing values take from it; at most all of it.
    """

    problem: Problem
    theta: Matrix
    estimate: Estimate
    draws: Draws
    n_asked: int
    missing: float = 1.0

    @classmethod
    def at(cls, problem: Problem, point: Point, estimate: Estimate, simulation: Simulation, n_asked: int) -> Drawn:
        """Return a point with the draws of an estimate there that so many were asked of."""
        draws = problem.coordinates.draws(estimate.draws(point, simulation))
        return cls(problem, point.theta, estimate, draws, n_asked, 0.0 if problem.data.is_fixed else 1.0)

    @cached_property
    def moments(self) -> Moments:
        """Moments of the features here."""
        return self.problem.see(self.estimate.moments)

    @property
    def gradient(self) -> Matrix:
        """The gradient of the smooth part of the objective."""
        return self.problem.gradient(self.moments)

    @property
    def drawn(self) -> Drawn:
        """The draws."""
        return self

    @property
    def log_normaliser(self) -> None:
        """The logarithm of the normalising constant, which draws do not tell."""
        return None

    @property
    def n(self) -> int:
        """Draws behind the moments; 0 if they are exact."""
        return self.estimate.n_chains

    @property
    def is_exact(self) -> bool:
        """Whether the gradient here has no simulation error."""
        return self.estimate.is_exact and bool(np.isinf(self.problem.data.n_effective))

    @property
    def share(self) -> float:
        """The covariance of the gradient's simulation error, as a share of the curvature: 1 / n for n draws.

        Draws of missing values have errors of their own: the missing information over their number, at most.
        """
        return (0.0 if self.estimate.is_exact else 1 / self.n) + self.missing / self.problem.data.n_effective

    @property
    def counts(self) -> float:
        """What a draw counts for in the parameters, for the errors of missing values and what they take away."""
        return (1 - self.missing) ** 2 / (self.share * self.n_asked) if self.share > 0 else np.inf

    @property
    def simulation_error(self) -> float:
        """What a step on the draws here loses to their simulation error: nonzeros / (2 n)."""
        return max(1, count_once(self.theta)) * self.share / 2

    def near(self, theta: Matrix) -> Enumerated | None:
        """Return all states here as those of a field near theta; None where draws or missing values have errors."""
        states = self.estimate.states
        if states is None or not (self.is_exact and self.problem.data.is_fixed):
            return None
        return Enumerated(self.problem, theta, states, self.theta)

    def curvature(self, a: Index, b: Index) -> Quadratic:
        """Return the curvature over some parameters: the covariance of their statistics."""
        return Quadratic.of(self.draws, a, b, self.problem.coordinates.units[a, b])

    def along(self, step: Matrix) -> Values:
        """Return the inner product of a step and the statistics of each draw, less its mean."""
        values = self.draws.along(step)
        return np.asarray(values - values.mean())

    def covariance(self, a: Index, b: Index) -> Matrix:
        """Return the covariance of the statistics s_a s_b, (k, k), with the divisor n - 1."""
        products, scale, _ = self.draws.second_moments(a, b)
        means = self.moments.pair[a, b]
        found = scale * products
        del products
        for line, mean in zip(found, means, strict=True):  # no further matrix of this size
            line -= mean * means
        found *= self.n / (self.n - 1)
        return np.asarray(found)

    def log_rise(self, step: Matrix, least_share: float) -> tuple[float, float]:
        """Return by how much log Z rises with a step from here, or a lower bound, and its squared standard error.

        It is log E exp(step . s), and where fewer than this share of the draws count for that mean E step . s, which is
        less (Jensen's inequality). Limits are made of its error, which is that of a mean of weights: what `log_fall`
        says may be half of it.
        """
        values = self.draws.along(step)
        log_mean, effective = self.draws.reweight(values)
        if effective < least_share:
            return float(values.mean()), float(values.var() / self.n)
        return log_mean, (1 / effective - 1) / self.n

    def log_fall(self, step: Matrix, least_share: float) -> tuple[float, float]:
        """Return by how much log Z fell with a step that led here, or a lower bound, and its squared standard error.

        With x = step . s it is log E exp(-x) >= -E x: the first is estimated where draws at the end speak for the start
        too, else the second, which is convexity. Draws at the start cannot do this: a step may open a phase that they
        never visit.
        """
        mean = inner_once(step, self.moments.pair)
        values = -self.draws.along(step)
        if self.draws.n is None:
            return self.draws.reweight(values)[0], 0.0
        # Where further draws than those at hand are behind the moments, they shift the mean of all that is reweighted,
        # and what is not linear is as uncertain as the draws at hand leave it.
        values -= values.mean()
        log_mean, effective = self.draws.reweight(values)
        variance = float(values.var() / self.n)
        if effective < least_share:
            return -mean, variance
        rest = np.exp(values - log_mean) - values
        return log_mean - mean, variance + float(rest.var() / self.draws.n)


@dataclass(frozen=True, eq=False)
class Enumerated:
    """Parameters, exact moments there, and all states of a field nearby, whose covariance is about the curvature.

    Parameters
    ----------
    problem : Problem
        What is minimised, with the data as they are completed here.
    theta : ndarray of shape (n_slots, n_slots)
        The parameters, laid out as in `Problem`.
    states : Draws
        All states of a field nearby, or draws of it.
    origin : ndarray of shape (n_slots, n_slots)
        The parameters of that.
    estimate : Estimate, optional
        The exact moments at theta, where they are known.
    log_normaliser : float, optional
        The logarithm of the normalising constant at theta, where it is known.
    secants : tuple of (ndarray, ndarray, int)
        Steps that were made since the states were held, what they changed of the gradient, both of shape
        (n_slots, n_slots), and how many parameters they moved.
    log_rows : float, optional
        Of rows with missing values, where there are some: the mean logarithm of the sum over what they could be.
    """

    problem: Problem
    theta: Matrix
    states: Draws
    origin: Matrix
    estimate: Estimate | None = None
    log_normaliser: float | None = None
    secants: tuple[tuple[Matrix, Matrix, int], ...] = ()
    log_rows: float | None = None

    @property
    def drawn(self) -> None:
        """There are no draws of theta."""
        return None

    @property
    def draws(self) -> Draws:
        """The states, in the coordinates of the problem."""
        return self.problem.coordinates.draws(self.states)

    @property
    def moments(self) -> Moments:
        """Moments of the features here."""
        assert self.estimate is not None  # since it was looked at
        return self.problem.see(self.estimate.moments)

    @property
    def gradient(self) -> Matrix:
        """The exact gradient of the smooth part of the objective."""
        return self.problem.gradient(self.moments)

    @property
    def objective(self) -> float:
        """The exact objective."""
        assert self.log_normaliser is not None  # since it was looked at
        rows = sum_once(self.theta * self.problem.target) if self.log_rows is None else self.log_rows
        return self.log_normaliser - rows + self.problem.penalty.value(self.theta)

    @property
    def is_here(self) -> bool:
        """Whether the states are those of theta itself."""
        return self.origin is self.theta or np.array_equal(self.origin, self.theta)

    def near(self, theta: Matrix) -> Enumerated:
        """Return the same states as those of a field near other parameters."""
        if np.array_equal(theta, self.theta):
            return self
        return replace(self, theta=theta, estimate=None, log_normaliser=None)

    def curvature(self, a: Index, b: Index) -> Quadratic:
        """Return the curvature nearby, made to say of each of the last steps what it changed of the gradient (BFGS)."""
        nearby = Quadratic.of(self.draws, a, b, self.problem.coordinates.units[a, b]).centred()
        if self.estimate is not None:
            # Draws of a field nearby may show a rare level too seldom, or never: its own variance is known.
            short = variances_of(self.moments)[a, b] - np.diagonal(nearby)
            rare = np.flatnonzero(short > np.diagonal(nearby))
            nearby[rare, rare] += short[rare]
        for whole_step, whole_change, n_moved in self.secants:
            step, change = whole_step[a, b], whole_change[a, b]
            if np.count_nonzero(step) < n_moved:  # what is zero again is not in the working set
                continue
            bent = nearby @ step
            along, changed = float(step @ bent), float(step @ change)
            if along > 0 and changed > 0:
                nearby += np.outer(change, change) / changed - np.outer(bent, bent) / along
        return Quadratic(a, b, nearby, 1.0, np.zeros(len(a)), None)  # that of centred statistics


Known = Drawn | Enumerated
