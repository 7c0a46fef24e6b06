"""The ridge penalty on a support: a normal prior for the interactions that there are."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from sparsefield._typing import Mask, Matrix, Values
from sparsefield.data import Domain
from sparsefield.model import sum_rows_once
from sparsefield.objective._coordinates import Coordinates, Features, Slots
from sparsefield.objective._penalty import check_strength
from sparsefield.objective._quadratic import Quadratic
from sparsefield.objective._soft_threshold import smallest_subgradient, soft_threshold
from sparsefield.objective._support import Kept, keep_pairs


@dataclass(frozen=True, eq=False)
class Ridge(Kept):
    """Half of alpha times the sum of squares of the interactions of a support; all others are zero.

    With n rows the optimum is the most probable field where interactions have independent normal priors of mean zero
    and variance 1 / (n alpha) (ridge regression, MAP). Of two variables with two levels the square is that of their
    interaction; with more levels it is that of contrasts, as for `Group`, and of ordered variables that of their one
    parameter. Main effects are free. Frequencies differ by less than one, so that what is outside the support, which
    pays its absolute value once at least, stays zero.

    Parameters
    ----------
    domain : Domain
        The variables.
    alpha : float
        Strength of the penalty; 0 leaves the support free.
    support : ndarray of shape (n_slots, n_slots), bool
        Interactions that may differ from zero, symmetric. Where one of two variables may, all of theirs may.

    Examples
    --------
    >>> import numpy as np
    >>> import sparsefield as sf
    >>> from sparsefield.objective import Ridge
    >>> support = np.array([[False, True, False], [True, False, False], [False, False, False]])
    >>> penalty = Ridge(sf.Domain.binary(3), 0.1, support)
    >>> penalty.value(np.array([[1.0, 2.0, 0.0], [2.0, -1.0, 0.0], [0.0, 0.0, 3.0]]))
    0.2
    """

    domain: Domain
    alpha: float
    support: Mask = field(repr=False)
    coordinates: Coordinates = field(init=False, repr=False)
    weights: Matrix = field(init=False, repr=False)
    bends: Matrix = field(init=False, repr=False)
    kept: Mask = field(init=False, repr=False)  # the parameters that are interactions of the support
    keeps_support: bool = field(init=False, repr=False, default=True)
    main: float = field(init=False, repr=False, default=0.0)

    def __post_init__(self) -> None:
        check_strength(self.alpha)
        has_two = np.all(self.domain.n_levels <= 2) and not self.domain.is_ordered.any()
        coordinates = Slots(self.domain) if has_two else Features(self.domain, "contrasts")
        kept = keep_pairs(coordinates, self.domain, self.support)
        object.__setattr__(self, "coordinates", coordinates)
        object.__setattr__(self, "bends", self.alpha * kept)
        self._keep(kept, np.zeros((coordinates.size,) * 2))

    def freed(self) -> Ridge:
        """Return the same support without a penalty."""
        return self if self.alpha == 0 else replace(self, alpha=0.0)

    def value(self, theta: Matrix) -> float:
        """Return half of alpha times the sum of squares, and what is paid outside of the support."""

        def pay(rows: slice) -> Matrix:
            own = theta[rows]
            return np.asarray(self.weights[rows] * np.abs(own) + self.bends[rows] * own**2 / 2)

        return sum_rows_once(pay, len(theta))

    def prox(self, theta: Matrix, step_size: float) -> Matrix:
        """Return theta shrunken on the support, and with soft thresholds elsewhere."""
        return np.asarray(soft_threshold(theta, step_size * self.weights) / (1 + step_size * self.bends))

    def subgradient(self, theta: Matrix, gradient: Matrix) -> Matrix:
        """Return the smallest subgradient of the objective."""
        return smallest_subgradient(theta, gradient + self.bends * theta, self.weights)

    def direction(self, theta: Matrix) -> Matrix:
        """Return the gradient of the penalty where theta is not zero, and zero elsewhere."""
        return np.asarray(self.weights * np.sign(theta) + self.bends * theta)

    def dual_norm(self, gradient: Matrix) -> float:
        """Return infinity, or zero where no parameter is free to leave zero: no alpha keeps the others there."""
        is_free = self.coordinates.is_parameter & (self.weights == 0)
        return np.inf if np.any(gradient[is_free]) else 0.0

    def minimise(
        self,
        quadratic: Quadratic,
        theta: Matrix,
        gradient: Matrix,
        *,
        tol: float,  # noqa: ARG002
        max_epochs: int,  # noqa: ARG002
    ) -> tuple[Values, Values]:
        """Minimise a quadratic model plus the penalty over the working set, which is on the support: exactly."""
        a, b = quadratic.first, quadratic.second
        curvature = quadratic.covariance(np.arange(len(a)))
        bends = self.bends[a, b]
        whole = curvature + np.diag(bends)
        moves = np.where(self.weights[a, b] > 0, -theta[a, b], 0.0)
        free = self.weights[a, b] == 0
        slopes = (gradient[a, b] + bends * theta[a, b] + whole @ moves)[free]
        moves[free] -= _solve(whole[np.ix_(free, free)], slopes)
        return moves, curvature @ moves - quadratic.ridge * moves


def _solve(curvature: Matrix, slopes: Values) -> Values:
    """Return the least solution where statistics depend on each other."""
    try:
        return np.asarray(cho_solve(cho_factor(curvature), slopes))
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(curvature, slopes, rcond=None)[0])
