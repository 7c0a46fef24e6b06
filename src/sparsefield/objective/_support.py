"""A penalty that keeps a support: some interactions pay next to nothing, and all others are zero."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sparsefield.model import Matrix, across_variables, count_once
from sparsefield.objective._penalty import L1


@dataclass(frozen=True, eq=False)
class Support(L1):
    """L1 with a weight of its own for each interaction: alpha on a support, and one elsewhere.

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
        The interactions that may differ from zero, symmetric.

    Examples
    --------
    >>> import numpy as np
    >>> import sparsefield as sf
    >>> from sparsefield.objective import Support
    >>> Support(sf.Domain.binary(2), 0.001, 0.0, np.zeros((2, 2), dtype=bool)).weights
    array([[0., 1.],
           [1., 0.]])
    """

    support: NDArray[np.bool_] = field(default_factory=lambda: np.zeros((0, 0), dtype=bool), repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        outside = (across_variables(self.domain, 1.0) > 0) & ~self.interactions
        np.fill_diagonal(outside, val=False)
        object.__setattr__(self, "weights", np.where(outside, 1.0, self.weights))

    @property
    def interactions(self) -> NDArray[np.bool_]:
        """The interactions of the support, (n_slots, n_slots): pairs of slots of two variables."""
        found = (across_variables(self.domain, 1.0) > 0) & self.support
        np.fill_diagonal(found, val=False)
        return np.asarray(found)

    @property
    def n_parameters(self) -> int:
        """How many parameters there are: main effects, and the interactions of the support."""
        return self.domain.n_slots + count_once(self.interactions)

    def dual_norm(self, gradient: Matrix) -> float:
        """Return the largest absolute entry, each divided by the multiple of alpha that it pays."""
        sizes = np.abs(across_variables(self.domain, gradient))
        if np.any(sizes[self.weights == 0] > 0):
            return np.inf
        pays = self.weights > 0
        return float(self.alpha * (sizes[pays] / self.weights[pays]).max(initial=0.0))
