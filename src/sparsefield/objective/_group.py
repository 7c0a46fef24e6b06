"""The group penalty: the interactions of two variables vanish together."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sparsefield._kernels._groups import descend_groups
from sparsefield._typing import Matrix
from sparsefield.data import Domain
from sparsefield.model import sum_once
from sparsefield.objective._coordinates import Features
from sparsefield.objective._penalty import Penalty, check_strength, largest_of
from sparsefield.objective._quadratic import Quadratic


@dataclass(frozen=True, eq=False)
class Group(Penalty):
    """The sum over pairs of variables of the Frobenius norm of their interactions in the zero-sum gauge.

    In that gauge interactions add up to zero over the levels of either variable, so that no level is the reference: the
    penalty does not depend on which one has no parameters, nor on the order of levels. With K and L levels a norm
    counts 4 sqrt(d e / (K L)) times, d = K - 1 and e = L - 1 being the numbers of contrasts, or 1 for an ordered
    variable. So noise has the same part in each pair: where variables are independent and all levels equally likely,
    the gradient of a pair has a norm of about sqrt(d e / n) / 4 in the parameters of contrasts. Of two variables with
    two levels the penalty is the absolute value of their interaction, as with `L1` where main effects are free. Of
    ordered variables it does not depend on the unit of the scores.

    Parameters
    ----------
    domain : Domain
        The variables.
    alpha : float
        Strength of the penalty.
    main : float
        What the norm of the main effects of a variable (contrasts of its levels) pays, as a multiple of alpha; 0
        leaves them free.

    Examples
    --------
    >>> import numpy as np
    >>> import sparsefield as sf
    >>> from sparsefield.objective import Group
    >>> domain = sf.Domain(("a", "b"), ((0, 1, 2), (0, 1)), (0, 0))
    >>> theta = np.array([[1.0, 0.0, 0.3], [0.0, 1.0, 0.4], [0.3, 0.4, 1.0]])
    >>> Group(domain, 0.1 / np.sqrt(2)).prox(theta, step_size=1.0).round(2)  # of two parameters
    array([[1.  , 0.  , 0.24],
           [0.  , 1.  , 0.32],
           [0.24, 0.32, 1.  ]])
    """

    domain: Domain
    alpha: float
    main: float = 0.0
    coordinates: Features = field(init=False, repr=False)
    weights: Matrix = field(init=False, repr=False)
    groups: NDArray[np.int64] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_strength(self.alpha, self.main)
        coordinates = Features(self.domain, "contrasts")
        variables, p = coordinates.variables, self.domain.n_variables
        is_parameter = coordinates.is_parameter
        n_own = coordinates.n_interacting[variables]
        weights = np.where(is_parameter, self.alpha * np.sqrt(np.outer(n_own, n_own)), 0.0)
        np.fill_diagonal(weights, self.alpha * self.main)
        groups = np.minimum(variables[:, None], variables) * p + np.maximum(variables[:, None], variables)
        # What is no parameter is in no group of others.
        groups = np.where(is_parameter, groups, -1)
        for name, value in (("coordinates", coordinates), ("weights", weights), ("groups", groups)):
            object.__setattr__(self, name, value)

    def sizes(self, values: Matrix) -> Matrix:
        """Return the norm of the group of each parameter; the diagonal has those of main effects."""
        own = np.where(self.coordinates.is_parameter, values, 0.0)
        squares = own**2
        diagonal = np.diagonal(squares).copy()
        np.fill_diagonal(squares, 0.0)
        member = self._member
        found = np.sqrt(member @ (member.T @ squares @ member) @ member.T)
        np.fill_diagonal(found, np.sqrt(member @ (member.T @ diagonal)))
        return np.where(self.coordinates.is_parameter, found, 0.0)

    @property
    def _member(self) -> Matrix:
        """Ones where a feature is of a variable, (size, n_variables)."""
        variables = self.coordinates.variables
        return np.asarray(variables[:, None] == np.arange(self.domain.n_variables), dtype=np.float64)

    def value(self, theta: Matrix) -> float:
        """Return the sum of the norms of all groups, each times what it pays."""
        return sum_once(self.direction(theta) * theta)

    def direction(self, theta: Matrix) -> Matrix:
        """Return the gradient of the penalty where groups are not zero, and zero elsewhere."""
        return np.asarray(self.weights * theta / np.maximum(self.sizes(theta), 1e-300))

    def project(self, values: Matrix) -> Matrix:
        """Return the nearest values whose groups have norms within their weights."""
        return np.asarray(values * np.minimum(1.0, self.weights / np.maximum(self.sizes(values), 1e-300)))

    def prox(self, theta: Matrix, step_size: float) -> Matrix:
        """Return theta with every group moved towards zero, and no further."""
        kept = 1 - step_size * self.weights / np.maximum(self.sizes(theta), 1e-300)
        return np.asarray(theta * np.maximum(kept, 0.0))

    def subgradient(self, theta: Matrix, gradient: Matrix) -> Matrix:
        """Return the smallest subgradient of the objective."""
        own = np.where(self.coordinates.is_parameter, gradient, 0.0)
        at_zero = own - self.project(own)
        return np.where(self.sizes(theta) > 0, own + self.direction(theta), at_zero)

    def dual_norm(self, gradient: Matrix) -> float:
        """Return the largest norm of a group, each divided by the multiple of alpha that it pays."""
        sizes = self.sizes(gradient)
        counts = self.coordinates.n_interacting[self.coordinates.variables]
        pays = np.sqrt(np.outer(counts, counts))
        np.fill_diagonal(pays, 1.0)
        return largest_of(sizes / pays, self.main)

    def largest_dual_norm(self, gradient: Matrix, errors: Matrix) -> float:
        """Return the largest dual norm of gradients whose entries, or combinations of a group, are off by errors."""
        own = self.coordinates.is_parameter
        if np.any(self.weights[own] == 0):
            return np.inf
        return float(self.alpha * ((self.sizes(gradient) + errors)[own] / self.weights[own]).max(initial=0.0))

    @property
    def mean_group_size(self) -> float:
        """How many interactions vanish together, on average over pairs of variables."""
        p, sizes = self.domain.n_variables, self.coordinates.n_interacting
        return float((sizes.sum() ** 2 - (sizes**2).sum()) / (p * (p - 1))) if p > 1 else 1.0

    def minimise(
        self, quadratic: Quadratic, theta: Matrix, gradient: Matrix, *, tol: float, max_epochs: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Minimise a quadratic model plus the penalty, group by group."""
        a, b = quadratic.first, quadratic.second
        curvature = quadratic.covariance(np.arange(len(a)))
        moves = descend_by_group(self, a, b, curvature, theta[a, b], gradient[a, b], tol=tol, max_epochs=max_epochs)
        return moves, curvature @ moves - quadratic.ridge * moves


def descend_by_group(
    penalty: Group,
    a: NDArray[np.int64],
    b: NDArray[np.int64],
    curvature: Matrix,
    theta: NDArray[np.float64],
    gradient: NDArray[np.float64],
    *,
    tol: float,
    max_epochs: int,
) -> NDArray[np.float64]:
    """Minimise gradient . moves + moves . curvature moves / 2 + penalty over moves of some parameters, (w,).

    Groups are minimised one after the other, each exactly: with the eigenvalues of its own curvature its minimum is
    the root of a function of one variable.
    """
    order = np.argsort(penalty.groups[a, b], kind="stable")
    cuts = np.flatnonzero(np.diff(penalty.groups[a, b][order], prepend=-2))
    starts = np.append(cuts, len(a)).astype(np.int64)
    sorted_curvature = np.ascontiguousarray(curvature[np.ix_(order, order)])
    sizes = np.diff(starts)
    places = np.concatenate([[0], np.cumsum(sizes**2)]).astype(np.int64)
    values, vectors = np.zeros(len(a)), np.zeros(int(places[-1]))
    for k, (first, last) in enumerate(itertools.pairwise(starts)):
        own, axes = np.linalg.eigh(sorted_curvature[first:last, first:last])
        values[first:last] = own
        vectors[places[k] : places[k + 1]] = axes.ravel()
    weights = penalty.weights[a, b][order][starts[:-1]]
    found = descend_groups(
        sorted_curvature, starts, places, values, vectors, theta[order], gradient[order], weights, max_epochs, tol
    )
    moves = np.empty(len(a))
    moves[order] = found
    return moves


def members_of(groups: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the indices of the members of each group."""
    order = np.argsort(groups, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(groups[order])) + 1) if len(groups) else []
