"""The problem that a fit solves: the likelihood of the data, and a penalty."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from sparsefield._typing import Matrix
from sparsefield.data import Domain, Moments
from sparsefield.inference import enumerate_states
from sparsefield.model import PairwiseMRF, as_theta, inner_once
from sparsefield.objective._coordinates import Coordinates, Slots
from sparsefield.objective._data import DataTerm, Observed
from sparsefield.objective._penalty import L1, Penalty


@dataclass(frozen=True, eq=False)
class Problem:
    """Minimise g(theta) = log partition(theta) - theta . data + penalty(theta).

    Parameters are held in a symmetric matrix laid out like `Moments.pair`: main effects on the diagonal, interactions
    beside it, zero between features of one variable. Norms and sums count every parameter once. The features, whose
    parameters these are, are for the penalty to choose (`Penalty.coordinates`); unless it does, they are the slots.

    Parameters
    ----------
    data : DataTerm
        The data moments, observed or completed.
    domain : Domain
        The variables.
    penalty : Penalty
        What sparsity costs.
    tilt : ndarray, optional
        Subtracted from the data moments of the features: a linear function of theta that is added to the objective.
    """

    data: DataTerm
    domain: Domain
    penalty: Penalty
    tilt: Matrix | None = None

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

    @cached_property
    def coordinates(self) -> Coordinates:
        """What the parameters are parameters of."""
        own = self.penalty.coordinates
        return Slots(self.domain) if own is None else own

    @property
    def is_by_slots(self) -> bool:
        """Whether parameters are those of the field itself, slot by slot, and none of them vanish together."""
        return self.coordinates.is_plain and self.penalty.groups is None

    @cached_property
    def target(self) -> Matrix:
        """The data moments of the features, less the tilt."""
        moments = self.coordinates.moments(self.data.moments).pair
        return moments if self.tilt is None else moments - self.tilt

    def linearised(self, theta: Matrix) -> Problem:
        """Return the problem in which the curvature of the penalty is left out: it is a linear function, as at theta.

        A convex penalty is nowhere below its tangent, so that the gap of theta is no larger than that in this problem.
        """
        freed = self.penalty.freed()
        if self.penalty.bends is None or freed is self.penalty:
            return self
        return replace(self, penalty=freed, tilt=self.penalty.bends * theta)

    def model(self, theta: Matrix) -> PairwiseMRF:
        """Return the field with these parameters."""
        return PairwiseMRF.of_theta(self.domain, self.coordinates.to_slots(theta))

    def theta(self, model: PairwiseMRF) -> Matrix:
        """Return the parameters of a field."""
        return self.coordinates.of_slots(as_theta(model))

    def see(self, moments: Moments) -> Moments:
        """Return moments of the features, from those of slots."""
        return self.coordinates.moments(moments)

    def variance_along(self, move: Matrix) -> float:
        """Return the variance of a move times the statistics that missing values have (`DataTerm.variance_along`)."""
        return self.data.variance_along(self.coordinates.to_slots(move))

    def gradient(self, moments: Moments) -> Matrix:
        """Return the gradient of the smooth part: moments of the model, of features, minus those of the data."""
        return moments.pair - self.target

    def violation(self, theta: Matrix, moments: Moments) -> Matrix:
        """Return the smallest subgradient of g, from moments of features; no matrix of gradients is made."""
        return self.penalty.violation(theta, moments.pair, self.target)

    def subgradient(self, theta: Matrix, gradient: Matrix) -> Matrix:
        """Return the smallest subgradient of g: how far each entry is from what an optimum would have."""
        return self.penalty.subgradient(theta, gradient)

    def objective(self, theta: Matrix) -> float:
        """Return g(theta), by enumeration."""
        smooth = enumerate_states(self.model(theta))[0] - inner_once(theta, self.target)
        return smooth + self.penalty.value(theta)
