"""Penalties that keep a support: some interactions pay next to nothing, and all others are zero."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sparsefield._typing import Mask, Matrix
from sparsefield.data import Domain
from sparsefield.model import across_variables, count_once, membership
from sparsefield.objective._coordinates import Coordinates, Features
from sparsefield.objective._group import Group
from sparsefield.objective._penalty import L1


@dataclass(frozen=True, eq=False)
class Support(L1):
    """L1 with a weight of its own for each interaction: alpha on a support, and elsewhere more than a gradient can be.

    Frequencies differ by less than one, so that no gradient reaches the weight of what is outside: it stays zero, and
    the optimum is that of the parameters which are left.

    Parameters
    ----------
    domain : Domain
        The variables.
    alpha : float
        What interactions of the support pay. Half a row, 1 / (2 n), keeps those finite whose pair no row shows.
    main : float
        What main effects pay, as a multiple of alpha.
    support : ndarray of shape (n_slots, n_slots), bool
        The interactions that may differ from zero, symmetric. A parameter that several of them share, as those of
        ordered levels do, may differ from zero where one of them may.

    Examples
    --------
    >>> import numpy as np
    >>> import sparsefield as sf
    >>> from sparsefield.objective import Support
    >>> Support(sf.Domain.binary(2), 0.001, 0.0, np.zeros((2, 2), dtype=bool)).weights
    array([[0., 1.],
           [1., 0.]])
    """

    support: Mask = field(default_factory=lambda: np.zeros((0, 0), dtype=bool), repr=False)
    kept: Mask = field(init=False, repr=False)  # the parameters that are interactions of the support

    def __post_init__(self) -> None:
        super().__post_init__()
        marks = _between_variables(self.support & (across_variables(self.domain, 1.0) > 0))
        kept = _between_variables(self.coordinates.is_parameter & _gather(self.coordinates, marks))
        object.__setattr__(self, "kept", kept)
        object.__setattr__(self, "weights", raise_outside(self.weights, self.coordinates, kept))

    @property
    def interactions(self) -> Mask:
        """The interactions of the support, (n_slots, n_slots): pairs of slots of two variables."""
        return self.coordinates.spread(self.kept)

    @property
    def n_parameters(self) -> int:
        """How many parameters there are: main effects, and the interactions of the support."""
        return self.coordinates.size + count_once(self.kept)

    def dual_norm(self, gradient: Matrix) -> float:
        """Return the largest absolute entry, each divided by the multiple of alpha that it pays."""
        sizes = np.abs(np.where(self.coordinates.is_parameter, gradient, 0.0))
        return _weighted_dual_norm(sizes, self.weights, self.alpha)


@dataclass(frozen=True, eq=False)
class GroupSupport(Group):
    """The group penalty on a support, and elsewhere a weight that no gradient reaches: those pairs stay zero.

    Parameters
    ----------
    domain : Domain
        The variables.
    alpha : float
        What the norms of pairs of the support pay. Half a row, 1 / (2 n), keeps those finite that no row contradicts.
    main : float
        What main effects pay, as a multiple of alpha.
    support : ndarray of shape (n_slots, n_slots), bool
        Interactions that may differ from zero, symmetric. Where one of two variables may, all of theirs may.

    Examples
    --------
    >>> import numpy as np
    >>> import sparsefield as sf
    >>> from sparsefield.objective import GroupSupport
    >>> domain = sf.Domain(("a", "b", "c"), ((0, 1, 2), (0, 1), (0, 1)), (0, 0, 0))
    >>> support = np.zeros((4, 4), dtype=bool)
    >>> support[0, 2] = support[2, 0] = True
    >>> GroupSupport(domain, 0.001, 0.0, support).n_parameters  # four main effects, and those of a and b
    6
    """

    support: Mask = field(default_factory=lambda: np.zeros((0, 0), dtype=bool), repr=False)
    kept: Mask = field(init=False, repr=False)  # the parameters that are interactions of the support

    def __post_init__(self) -> None:
        super().__post_init__()
        kept = keep_pairs(self.coordinates, self.domain, self.support)
        object.__setattr__(self, "kept", kept)
        object.__setattr__(self, "weights", raise_outside(self.weights, self.coordinates, kept))

    @property
    def interactions(self) -> Mask:
        """The interactions of the support, (n_slots, n_slots): pairs of slots of two variables."""
        return self.coordinates.spread(self.kept)

    @property
    def n_parameters(self) -> int:
        """How many parameters there are: main effects, and those of the pairs of the support."""
        return self.coordinates.size + count_once(self.kept)

    def dual_norm(self, gradient: Matrix) -> float:
        """Return the largest norm of a group, each divided by the multiple of alpha that it pays."""
        return _weighted_dual_norm(self.sizes(gradient), self.weights, self.alpha)


def keep_pairs(coordinates: Coordinates, domain: Domain, support: Mask) -> Mask:
    """Return the parameters that are interactions of two variables some of whose interactions are in a support."""
    member = membership(domain)
    is_kept = member.T @ _between_variables(support).astype(np.float64) @ member > 0
    variables = coordinates.variables
    return _between_variables(coordinates.is_parameter & is_kept[variables[:, None], variables])


def soft_threshold(values: Matrix, thresholds: Matrix) -> Matrix:
    """Return values moved towards zero by thresholds, and no further."""
    return np.asarray(np.sign(values) * np.maximum(np.abs(values) - thresholds, 0.0))


def _between_variables(marks: Mask) -> Mask:
    """Return marks without those of main effects."""
    found = np.array(marks, dtype=bool)
    np.fill_diagonal(found, val=False)
    return found


def _gather(coordinates: Coordinates, marks: Mask) -> Mask:
    """Return marks of slots as marks of parameters: those that a marked slot is part of."""
    if not isinstance(coordinates, Features):
        return marks
    touched = np.abs(coordinates.basis.rows) > 0
    return np.asarray(touched.T @ (touched.T @ marks.astype(np.float64)).T > 0)


def raise_outside(weights: Matrix, coordinates: Coordinates, kept: Mask) -> Matrix:
    """Return weights that no gradient reaches for interactions that are not kept.

    Frequencies differ by less than one. Means of products of features under distributions P and Q of two variables
    differ by C' (P - Q) D, with C and D the features. Where these are orthogonal, of lengths c and d, the norm of the
    differences is at most c d times that of P - Q, which is below sqrt(2) where all pairs of levels can occur.
    """
    largest = np.ones_like(weights) if coordinates.is_plain else np.maximum(1.0, np.sqrt(2 * coordinates.units))
    return np.where(_between_variables(coordinates.is_parameter & ~kept), largest, weights)


def _weighted_dual_norm(sizes: Matrix, weights: Matrix, alpha: float) -> float:
    """Return the largest size, each divided by the multiple of alpha that it pays; infinite where one pays nothing."""
    if np.any(sizes[weights == 0] > 0):
        return np.inf
    pays = weights > 0
    return float(alpha * (sizes[pays] / weights[pays]).max(initial=0.0))
