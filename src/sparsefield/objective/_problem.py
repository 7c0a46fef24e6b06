"""The problem that a fit solves: the likelihood of the data, and a penalty."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sparsefield.data import Domain, Moments
from sparsefield.inference import enumerate_states
from sparsefield.model import Matrix, PairwiseMRF, sum_once
from sparsefield.objective._data import DataTerm, Observed
from sparsefield.objective._penalty import L1, Penalty


@dataclass(frozen=True, eq=False)
class Problem:
    """Minimise g(theta) = log partition(theta) - theta . data + penalty(theta).

    Parameters are held in a symmetric matrix laid out like `Moments.pair`: main effects on the diagonal, interactions
    beside it, zero between levels of one variable. Norms and sums count every parameter once.

    Parameters
    ----------
    data : DataTerm
        The data moments, observed or completed.
    domain : Domain
        The variables.
    penalty : Penalty
        What sparsity costs.
    """

    data: DataTerm
    domain: Domain
    penalty: Penalty

    def __post_init__(self) -> None:
        size = self.domain.n_slots
        if self.data.moments.pair.shape != (size, size):
            n = len(self.data.moments.pair)
            raise ValueError(f"The data have {n} main statistics, but the domain has {size}.")
        if getattr(self.penalty, "domain", self.domain) != self.domain:
            raise ValueError("The penalty was made for other variables or levels than the problem has.")

    @classmethod
    def with_l1(cls, data: Moments, domain: Domain, alpha: float, penalize_main: bool = True) -> Problem:
        """Return the problem of observed moments with an L1 penalty, on main effects too unless they are to be free."""
        return cls(Observed(data), domain, L1(domain, alpha, float(penalize_main)))

    def with_data(self, data: DataTerm) -> Problem:
        """Return the problem with another data term."""
        return self if data is self.data else replace(self, data=data)

    def model(self, theta: Matrix) -> PairwiseMRF:
        """Return the field with these parameters."""
        main = np.diagonal(theta)
        return PairwiseMRF(self.domain, main, theta - np.diag(main))

    def gradient(self, moments: Moments) -> Matrix:
        """Return the gradient of the smooth part: model moments minus data moments."""
        return moments.pair - self.data.moments.pair

    def update(self, theta: Matrix, gradient: Matrix, step_size: float) -> Matrix:
        """Return the proximal update: a gradient step, then what the penalty makes of it."""
        return self.penalty.prox(theta - step_size * gradient, step_size)

    def step_map(self, theta: Matrix, gradient: Matrix, step_size: float) -> Matrix:
        """Return the paper's G(theta) = (theta - updated theta) / step_size, which is zero at the optimum."""
        return np.asarray((theta - self.update(theta, gradient, step_size)) / step_size)

    def step_norm(self, theta: Matrix, moments: Moments, step_size: float) -> float:
        """Return the norm of the step map."""
        return self.penalty.step_norm(theta, moments.pair, self.data.moments.pair, step_size)

    def largest_step_norm(self, theta: Matrix, step_size: float, means: NDArray[np.float64] | None = None) -> float:
        """Bound the norm of the step map over all moments that chains can have.

        A moment lies between 0 and 1. Where the means a and b of two main statistics are known, that of their product
        lies between max(0, a + b - 1) and min(a, b).
        """
        size = self.domain.n_slots
        low, high = (np.zeros(size), np.ones(size)) if means is None else (means, means)
        data = self.data.moments.pair
        return self.penalty.largest_step_norm(theta, low, high, data, self.domain.slot_variables, step_size)

    def subgradient(self, theta: Matrix, gradient: Matrix) -> Matrix:
        """Return the smallest subgradient of g: how far each entry is from what an optimum would have."""
        return self.penalty.subgradient(theta, gradient)

    def objective(self, theta: Matrix) -> float:
        """Return g(theta), by enumeration."""
        smooth = enumerate_states(self.model(theta))[0] - sum_once(theta * self.data.moments.pair)
        return smooth + self.penalty.value(theta)
