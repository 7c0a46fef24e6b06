"""What inference needs to know of a model, and what it answers."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sparsefield._domain import Domain
from sparsefield._moments import Moments


class Field(Protocol):
    """A pairwise field: P(x) is proportional to exp(main . s + s . interactions . s / 2), s the indicators of x."""

    @property
    def domain(self) -> Domain: ...

    @property
    def main(self) -> NDArray[np.float64]: ...

    @property
    def interactions(self) -> NDArray[np.float64]: ...


class Inference(Protocol):
    """A way to find the moments of a field."""

    def moments(self, field: Field) -> Moments:
        """Return the means of the statistics, exact or estimated."""
        ...


def expand(field: Field) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return main effects (s,) and interactions (s, s) with an entry for every level, zero at the reference."""
    domain = field.domain
    starts = np.cumsum(domain.n_levels) - domain.n_levels
    places = starts[domain.slot_variables] + domain.slot_levels
    size = int(domain.n_levels.sum())
    main, pair = np.zeros(size), np.zeros((size, size))
    main[places] = field.main
    pair[np.ix_(places, places)] = field.interactions
    return main, pair


def reduce_to_binary(field: Field) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return main effects (p,) and interactions (p, p) of code 1 against code 0; a one-level variable has none."""
    domain = field.domain
    if domain.is_binary:
        return field.main, field.interactions
    main, pair = expand(field)
    n_levels = domain.n_levels
    zeros = np.cumsum(n_levels) - n_levels
    ones = zeros + (n_levels == 2)  # a one-level variable is its own contrast, hence zero
    slopes = pair[ones] - pair[zeros]
    return main[ones] - main[zeros] + slopes[:, zeros].sum(axis=1), slopes[:, ones] - slopes[:, zeros]
