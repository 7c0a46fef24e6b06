"""Penalties that keep a support: some interactions pay next to nothing, and all others are zero."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sparsefield._typing import Mask, Matrix
from sparsefield.data import Domain
from sparsefield.model import across_variables, count_once, membership
from sparsefield.objective._coordinates import Coordinates
from sparsefield.objective._group import Group
from sparsefield.objective._penalty import L1, Penalty


class Kept(Penalty):
    """What penalties on a support have in common (a mixin): the parameters that may differ from zero.

    Attributes
    ----------
    kept : ndarray of shape (size, size), bool
        The parameters that are interactions of the support.
    """

    coordinates: Coordinates
    kept: Mask

    @property
    def interactions(self) -> Mask:
        """The interactions of the support, (n_slots, n_slots): pairs of slots of two variables."""
        return self.coordinates.spread(self.kept)

    @property
    def n_parameters(self) -> int:
        """How many parameters there are: main effects, and the interactions of the support."""
        return self.coordinates.size + count_once(self.kept)

    def _keep(self, kept: Mask, weights: Matrix) -> None:
        """Keep some parameters, and let the others pay more than any gradient."""
        outside = _between_variables(self.coordinates.is_parameter & ~kept)
        object.__setattr__(self, "kept", kept)
        object.__setattr__(self, "weights", np.where(outside, self.coordinates.steepest, weights))


@dataclass(frozen=True, eq=False)
class Support(L1, Kept):
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
        kept = _between_variables(self.coordinates.is_parameter & self.coordinates.gather(marks))
        self._keep(kept, self.weights)

    def dual_norm(self, gradient: Matrix) -> float:
        """Return the largest absolute entry, each divided by the multiple of alpha that it pays."""
        sizes = np.abs(np.where(self.coordinates.is_parameter, gradient, 0.0))
        return _weighted_dual_norm(sizes, self.weights, self.alpha)


@dataclass(frozen=True, eq=False)
class GroupSupport(Group, Kept):
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
        self._keep(keep_pairs(self.coordinates, self.domain, self.support), self.weights)

    def dual_norm(self, gradient: Matrix) -> float:
        """Return the largest norm of a group, each divided by the multiple of alpha that it pays."""
        return _weighted_dual_norm(self.sizes(gradient), self.weights, self.alpha)


def keep_pairs(coordinates: Coordinates, domain: Domain, support: Mask) -> Mask:
    """Return the parameters that are interactions of two variables some of whose interactions are in a support."""
    member = membership(domain)
    is_kept = member.T @ _between_variables(support).astype(np.float64) @ member > 0
    variables = coordinates.variables
    return _between_variables(coordinates.is_parameter & is_kept[variables[:, None], variables])


def _between_variables(marks: Mask) -> Mask:
    """Return marks without those of main effects."""
    found = np.array(marks, dtype=bool)
    np.fill_diagonal(found, val=False)
    return found


def _weighted_dual_norm(sizes: Matrix, weights: Matrix, alpha: float) -> float:
    """Return the largest size, each divided by the multiple of alpha that it pays; infinite where one pays nothing."""
    if np.any(sizes[weights == 0] > 0):
        return np.inf
    pays = weights > 0
    return float(alpha * (sizes[pays] / weights[pays]).max(initial=0.0))
