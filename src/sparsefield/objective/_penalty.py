"""Penalties: what sparsity costs, and the steps that it asks for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Real

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from sparsefield._kernels._descent import descend_moments
from sparsefield._typing import Mask, Matrix
from sparsefield.data import Domain
from sparsefield.model import MOST_AT_ONCE, count_once, row_parts, sum_rows_once
from sparsefield.objective._coordinates import Coordinates, Features, Slots
from sparsefield.objective._quadratic import Quadratic
from sparsefield.objective._soft_threshold import smallest_subgradient, soft_threshold


class Penalty(ABC):
    """A convex penalty, alpha times a norm of the parameters, some of which may be free.

    Parameters are laid out like `Moments.pair`: matrices are symmetric, and every parameter counts once. A penalty of
    one's own needs `alpha`, `value`, `prox`, `subgradient` and `dual_norm`; what else is here can be replaced by
    something faster.

    Attributes
    ----------
    alpha : float
        Strength of the penalty.
    weights : ndarray of shape (size, size) or None
        What each parameter pays for its absolute value, or its group for its norm, where the penalty is a sum of
        these; else None. Free parameters pay nothing.
    groups : ndarray of shape (size, size), integers, or None
        The group of each parameter, symmetric, where some of them vanish together; a parameter that is on its own, or
        free, has a number of its own. None where each is on its own.
    coordinates : Coordinates or None
        What the parameters are parameters of; those of the field itself where it is None.
    is_threshold : bool
        Whether the proximal step is a soft threshold of each parameter by its weight, so that kernels may take it.
    bends : ndarray of shape (size, size) or None
        The curvature of the penalty, where it has one besides what `weights` say.
    keeps_support : bool
        Whether it says which parameters are zero, whatever the data.
    main : float or None
        What main effects pay, as a multiple of alpha; None where that is not one number.
    """

    alpha: float
    weights: Matrix | None = None
    groups: NDArray[np.int64] | None = None
    coordinates: Coordinates | None = None
    is_threshold: bool = False
    bends: Matrix | None = None
    keeps_support: bool = False
    main: float | None = None

    @property
    def frees_main(self) -> bool | None:
        """Whether some main effect pays nothing, so that data must keep it finite; None where that is not known."""
        return None if self.weights is None else not np.diagonal(self.weights).all()

    @property
    def interactions(self) -> Mask | None:
        """Which interactions may differ from zero, (n_slots, n_slots), where the penalty says so; else None."""
        return None

    @property
    def n_parameters(self) -> int | None:
        """How many parameters may differ from zero, where the penalty says which; None where the data choose."""
        return None

    @property
    def mean_group_size(self) -> float:
        """How many interactions vanish together, on average over pairs of variables; one where each is on its own."""
        return 1.0

    def freed(self) -> Penalty:
        """Return what is left of the penalty without its curvature: itself where it has none."""
        return self

    @abstractmethod
    def value(self, theta: Matrix) -> float:
        """Return what the penalty adds to the objective."""

    @abstractmethod
    def prox(self, theta: Matrix, step_size: float) -> Matrix:
        """Return the parameters that minimise half the squared distance to theta plus step_size times the penalty."""

    @abstractmethod
    def subgradient(self, theta: Matrix, gradient: Matrix) -> Matrix:
        """Return the smallest subgradient of the objective: how far each entry is from what an optimum would have.

        The gradient is that of the smooth part at theta.
        """

    def violation(self, theta: Matrix, pair: Matrix, data: Matrix) -> Matrix:
        """Return the smallest subgradient of the objective where moments are `pair`, and those of the data `data`."""
        return self.subgradient(theta, pair - data)

    @abstractmethod
    def dual_norm(self, gradient: Matrix) -> float:
        """Return the least alpha at which zero would be optimal for a smooth part with this gradient there.

        It is infinite where the gradient of a free parameter is not zero.
        """

    def largest_dual_norm(self, gradient: Matrix, errors: Matrix) -> float:
        """Return the largest dual norm of gradients whose entries, or combinations of a group, are off by errors."""
        return self.dual_norm(np.abs(gradient) + errors)

    def count_chosen(self, marks: Mask) -> int:
        """Count what the penalty chooses one by one: parameters that are marked, or groups that have one."""
        return count_once(marks) if self.groups is None else len(np.unique(self.groups[marks]))

    def sizes(self, values: Matrix) -> Matrix:
        """Return for each parameter what its weight is to be compared with: its absolute value, or its group's norm."""
        return np.abs(values)

    def project(self, values: Matrix) -> Matrix:
        """Return the nearest values whose sizes are within the weights: what subgradients of the penalty can be."""
        assert self.weights is not None
        return np.clip(values, -self.weights, self.weights)

    def direction(self, theta: Matrix) -> Matrix:
        """Return the gradient of the penalty where theta is not zero, and zero elsewhere."""
        assert self.weights is not None
        return self.weights * np.sign(theta)

    def minimise(
        self, quadratic: Quadratic, theta: Matrix, gradient: Matrix, *, tol: float, max_epochs: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Minimise a quadratic model of the smooth part plus the penalty, over the working set of the model.

        Returns the moves (w,) of its parameters, and what the covariance makes of them, (w,). This one takes
        accelerated proximal gradient steps until no entry of the smallest subgradient is above tol.
        """
        a, b = quadratic.first, quadratic.second
        curvature = quadratic.covariance(np.arange(len(a)))
        step_size = 1 / max(float(np.abs(curvature).sum(axis=1).max(initial=0.0)), 1e-300)

        def scatter(values: NDArray[np.float64]) -> Matrix:
            whole = theta.copy()
            whole[a, b] = whole[b, a] = values
            return whole

        first, start = gradient[a, b], theta[a, b]
        now = ahead = start
        momentum = 1.0
        for _ in range(max_epochs):
            after = self.prox(scatter(ahead - step_size * (first + curvature @ (ahead - start))), step_size)[a, b]
            following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
            ahead = after + (momentum - 1) / following * (after - now)
            now, momentum = after, following
            whole_gradient = np.zeros_like(theta)
            whole_gradient[a, b] = whole_gradient[b, a] = first + curvature @ (now - start)
            if np.abs(self.subgradient(scatter(now), whole_gradient)[a, b]).max(initial=0.0) <= tol:
                break
        moves = now - start
        return moves, curvature @ moves - quadratic.ridge * moves


@dataclass(frozen=True, eq=False)
class L1(Penalty):
    """The sum of absolute values, times alpha.

    Parameters
    ----------
    domain : Domain
        The variables.
    alpha : float
        Strength of the penalty.
    main : float
        What main effects pay, as a multiple of what interactions pay: 1 is the paper's choice, 0 leaves them free.

    Examples
    --------
    >>> import numpy as np
    >>> import sparsefield as sf
    >>> from sparsefield.objective import L1
    >>> penalty = L1(sf.Domain.binary(2), 0.1, main=0.0)
    >>> penalty.prox(np.array([[1.0, -0.5], [-0.5, 2.0]]), step_size=1.0)
    array([[ 1. , -0.4],
           [-0.4,  2. ]])
    """

    domain: Domain
    alpha: float
    main: float = 1.0
    weights: Matrix = field(init=False, repr=False)
    coordinates: Coordinates = field(init=False, repr=False)
    is_threshold: bool = field(init=False, repr=False, default=True)

    def __post_init__(self) -> None:
        check_strength(self.alpha, self.main)
        # Indicators of ordered levels do not interact one by one.
        is_plain = not self.domain.is_ordered.any()
        coordinates = Slots(self.domain) if is_plain else Features(self.domain, "levels")
        object.__setattr__(self, "coordinates", coordinates)
        object.__setattr__(self, "weights", _lay_out(coordinates, self.alpha, self.alpha * self.main))

    def value(self, theta: Matrix) -> float:
        """Return the weighted sum of absolute values."""
        return sum_rows_once(lambda rows: self.weights[rows] * np.abs(theta[rows]), len(theta))

    def prox(self, theta: Matrix, step_size: float) -> Matrix:
        """Return theta with soft thresholds."""
        return soft_threshold(theta, step_size * self.weights)

    def subgradient(self, theta: Matrix, gradient: Matrix) -> Matrix:
        """Return the smallest subgradient of the objective."""
        return self._fill(lambda rows: gradient[rows], theta)

    def violation(self, theta: Matrix, pair: Matrix, data: Matrix) -> Matrix:
        """Return the smallest subgradient of the objective where moments are `pair`, and those of the data `data`."""
        return self._fill(lambda rows: pair[rows] - data[rows], theta)

    def _fill(self, find_gradient: Callable[[slice], Matrix], theta: Matrix) -> Matrix:
        found = np.empty_like(theta)
        for rows in row_parts(len(theta)):
            found[rows] = smallest_subgradient(theta[rows], find_gradient(rows), self.weights[rows])
        return found

    def dual_norm(self, gradient: Matrix) -> float:
        """Return the largest absolute entry, each divided by the multiple of alpha that it pays."""
        sizes = np.abs(np.where(self.coordinates.is_parameter, gradient, 0.0))
        return largest_of(sizes, self.main)

    def minimise(
        self, quadratic: Quadratic, theta: Matrix, gradient: Matrix, *, tol: float, max_epochs: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Minimise a quadratic model plus the penalty by coordinate descent."""
        a, b = quadratic.first, quadratic.second
        moves, bends = descend_moments(
            quadratic.products,
            quadratic.scale,
            quadratic.means,
            theta[a, b],
            gradient[a, b],
            self.weights[a, b],
            quadratic.ridge,
            max_epochs,
            tol,
        )
        return moves, bends


def check_strength(alpha: float, main: float = 1.0) -> None:
    """Refuse what is no strength of a penalty, or no multiple of it that main effects pay."""
    if not (isinstance(alpha, Real) and np.isfinite(alpha) and alpha >= 0):
        raise ValueError(f"alpha is {alpha!r}: use a number from zero on.")
    if not 0 <= main <= 1:
        raise ValueError(f"main is {main!r}: use a multiple from 0 to 1.")


def largest_of(sizes: Matrix, main: float) -> float:
    """Return the largest size where those of main effects, on the diagonal, are divided by what they pay."""
    on = float(np.diagonal(sizes).max(initial=0.0))
    if on > 0 and main == 0:
        return np.inf
    beside = sizes.copy()
    np.fill_diagonal(beside, 0.0)
    return max(float(beside.max(initial=0.0)), on / main if on > 0 else 0.0)


def _lay_out(coordinates: Coordinates, beside: float, on: float) -> Matrix:
    """Lay out what parameters pay: one number on the diagonal, and another one beside it.

    A large matrix that would be full of one number is a view of a vector: its entry (i, j) is entry size - 1 + j - i of
    that.
    """
    size = coordinates.size
    if size * size > MOST_AT_ONCE and coordinates.is_plain and size == coordinates.domain.n_variables:
        vector = np.full(2 * size - 1, beside)
        vector[size - 1] = on
        return sliding_window_view(vector, size)[::-1]
    weights = np.where(coordinates.is_parameter, beside, 0.0)
    np.fill_diagonal(weights, on)
    return weights
