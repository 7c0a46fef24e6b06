"""The problem that a fit solves: the penalised likelihood, and its proximal step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from sparsefield._domain import Domain
from sparsefield._kernels._proximal import largest_step_norm, step_norm
from sparsefield._model import PairwiseMRF
from sparsefield._moments import Moments
from sparsefield.certificates._certificate import across_variables
from sparsefield.inference import enumerate_states

Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Problem:
    """Minimise g(theta) = log partition(theta) - theta . data + alpha ||theta||_1.

    Parameters are held in a symmetric matrix laid out like `Moments.pair`: main effects on the diagonal, interactions
    beside it, zero between levels of one variable. Norms and sums count every parameter once.

    Parameters
    ----------
    data : Moments
        Moments of the data.
    domain : Domain
        The variables.
    alpha : float
        Strength of the penalty.
    penalize_main : bool
        Whether main effects are penalised like interactions, as in the paper.
    """

    data: Moments
    domain: Domain
    alpha: float
    penalize_main: bool = True
    penalty: Matrix = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not (isinstance(self.alpha, Real) and np.isfinite(self.alpha) and self.alpha >= 0):
            raise ValueError(f"alpha is {self.alpha!r}: use a number from zero on.")
        size = self.domain.n_slots
        if self.data.pair.shape != (size, size):
            raise ValueError(f"The data have {len(self.data.pair)} main statistics, but the domain has {size}.")
        penalty = across_variables(self.domain, self.alpha)
        if not self.penalize_main:
            np.fill_diagonal(penalty, 0.0)
        object.__setattr__(self, "penalty", penalty)

    def model(self, theta: Matrix) -> PairwiseMRF:
        """Return the field with these parameters."""
        main = np.diagonal(theta)
        return PairwiseMRF(self.domain, main, theta - np.diag(main))

    def gradient(self, moments: Moments) -> Matrix:
        """Return the gradient of the smooth part: model moments minus data moments."""
        return moments.pair - self.data.pair

    def update(self, theta: Matrix, gradient: Matrix, step_size: float) -> Matrix:
        """Return the proximal update: a gradient step, then soft thresholds."""
        moved = theta - step_size * gradient
        return np.asarray(np.sign(moved) * np.maximum(np.abs(moved) - step_size * self.penalty, 0.0))

    def step_map(self, theta: Matrix, gradient: Matrix, step_size: float) -> Matrix:
        """Return the paper's G(theta) = (theta - updated theta) / step_size, which is zero at the optimum."""
        return np.asarray((theta - self.update(theta, gradient, step_size)) / step_size)

    def step_norm(self, theta: Matrix, moments: Moments, step_size: float) -> float:
        """Return the norm of the step map."""
        return float(step_norm(theta, moments.pair, self.data.pair, self.penalty, step_size))

    def largest_step_norm(self, theta: Matrix, step_size: float, means: NDArray[np.float64] | None = None) -> float:
        """Bound the norm of the step map over all moments that chains can have.

        A moment lies between 0 and 1, and an entry of the step map rises with it: the ends decide. Where the means a
        and b of two main statistics are known, that of their product lies between max(0, a + b - 1) and min(a, b).
        """
        size = self.domain.n_slots
        low, high = (np.zeros(size), np.ones(size)) if means is None else (means, means)
        slots = self.domain.slot_variables
        return float(largest_step_norm(theta, low, high, self.data.pair, self.penalty, slots, step_size))

    def violation(self, theta: Matrix, gradient: Matrix) -> Matrix:
        """Return the smallest subgradient of g: how far each entry is from what an optimum would have."""
        slope = gradient + self.penalty * np.sign(theta)
        at_zero = np.sign(gradient) * np.maximum(np.abs(gradient) - self.penalty, 0.0)
        return np.where(theta != 0, slope, at_zero)

    def penalty_of(self, theta: Matrix) -> float:
        """Return what the penalty adds to the objective."""
        return sum_once(self.penalty * np.abs(theta))

    def objective(self, theta: Matrix) -> float:
        """Return g(theta), by enumeration."""
        smooth = enumerate_states(self.model(theta))[0] - sum_once(theta * self.data.pair)
        return smooth + self.penalty_of(theta)


def sum_once(values: Matrix) -> float:
    """Add up a symmetric matrix of parameters, each once: the diagonal and one triangle."""
    return float((values.sum() + np.trace(values)) / 2)


def choose_active(theta: Matrix, violation: Matrix, fits: Callable[[NDArray[np.bool_]], bool]) -> NDArray[np.bool_]:
    """Choose a working set: what is not zero, and about as many of the zeros that violate optimality most.

    Where that does not fit there are fewer zeros; where what is not zero leaves no room for any, those go first that
    violate optimality most, zero or not.
    """
    inside = theta != 0
    sizes = np.abs(violation)
    n_new = max(2 * len(theta), int(np.count_nonzero(np.triu(inside))))
    active = inside | _largest(np.where(inside, 0.0, sizes), n_new)
    while n_new > 0 and not fits(active):
        n_new //= 2
        active = inside | _largest(np.where(inside, 0.0, sizes), n_new)
    if n_new > 0:
        return np.asarray(active)
    n = int(np.count_nonzero(np.triu(inside)))
    active = _largest(sizes, n)
    while n > 1 and not fits(active):
        n = 3 * n // 4
        active = _largest(sizes, n)
    return active


def _largest(sizes: Matrix, n: int) -> NDArray[np.bool_]:
    """Mark the n largest entries of a symmetric matrix that are not zero, a pair of equal ones counted once."""
    a, b = np.nonzero(np.triu(sizes))
    if n < len(a):
        some = np.argpartition(-sizes[a, b], n)[:n] if n else np.zeros(0, dtype=np.int64)
        a, b = a[some], b[some]
    marked = np.zeros(sizes.shape, dtype=bool)
    marked[a, b] = marked[b, a] = True
    return marked
