"""The straight path from independent variables, whose normalising constant is known, to a field (annealing path)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sparsefield._typing import Matrix
from sparsefield.model._layout import as_theta, independent_main

if TYPE_CHECKING:
    from sparsefield.model._pairwise import PairwiseMRF


@dataclass(frozen=True, eq=False)
class TemperedPath:
    """Fields on the straight path from independent variables (time 0) to a field (time 1).

    Parameters
    ----------
    start : PairwiseMRF
        Independent variables: a field without interactions.
    end : PairwiseMRF
        The field.
    """

    start: PairwiseMRF
    end: PairwiseMRF

    @classmethod
    def with_means(cls, end: PairwiseMRF, means: NDArray[np.float64], n: int) -> TemperedPath:
        """Begin with independent variables that have the means of n draws of the main statistics.

        Of all independent variables, those with the means of a field itself are nearest to it, by the Kullback-Leibler
        divergence from the field. Any others would do, with a larger error. Variables without interactions are
        what they are in the field, so that they add no error.
        """
        domain = end.domain
        # Half a draw more of each level (the prior of Jeffreys), so that no level is impossible.
        n_levels = domain.n_levels[domain.slot_variables]
        main = independent_main(domain, (n * means + 0.5) / (n + 0.5 * n_levels))
        is_bound = np.zeros(domain.n_variables, dtype=bool)
        is_bound[domain.slot_variables[end.interactions.any(axis=1)]] = True
        main = np.where(is_bound[domain.slot_variables], main, end.main)
        return cls(replace(end, main=main, interactions=np.zeros_like(end.interactions)), end)

    def at(self, time: float) -> PairwiseMRF:
        """Return the field at a time between 0 and 1."""
        if time == 1:
            return self.end
        main = self.start.main + time * (self.end.main - self.start.main)
        return replace(self.end, main=main, interactions=time * self.end.interactions)

    @property
    def move(self) -> Matrix:
        """What all parameters change by from start to end, laid out like `Moments.pair`."""
        return as_theta(self.end) - as_theta(self.start)


def sum_independent(field: PairwiseMRF) -> float:
    """Return the logarithm of the normalising constant of independent variables: a sum over the variables."""
    domain = field.domain
    starts = np.cumsum(domain.n_levels) - domain.n_levels
    exponents = np.zeros(int(domain.n_levels.sum()))
    exponents[starts[domain.slot_variables] + domain.slot_levels] = field.main
    return float(np.logaddexp.reduceat(exponents, starts).sum())
