"""What inference needs to know of a model."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sparsefield.data import Domain

_ROWS_AT_ONCE = 8192  # states whose indicators are held as floats at one time


class Field(Protocol):
    """A pairwise field: P(x) is proportional to exp(main . s + s . interactions . s / 2), s the indicators of x."""

    @property
    def domain(self) -> Domain: ...

    @property
    def main(self) -> NDArray[np.float64]: ...

    @property
    def interactions(self) -> NDArray[np.float64]: ...


def expand(field: Field) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return main effects (s,) and interactions (s, s) with an entry for every level, zero at the reference."""
    domain = field.domain
    starts = np.cumsum(domain.n_levels) - domain.n_levels
    indices = starts[domain.slot_variables] + domain.slot_levels
    size = int(domain.n_levels.sum())
    main, pair = np.zeros(size), np.zeros((size, size))
    main[indices] = field.main
    pair[np.ix_(indices, indices)] = field.interactions
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
    contrasts = pair[ones] - pair[zeros]
    return main[ones] - main[zeros] + contrasts[:, zeros].sum(axis=1), contrasts[:, ones] - contrasts[:, zeros]


def energies(field: Field, codes: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return minus the exponent of each state (n, n_variables): P(x) is proportional to exp(-energy(x))."""
    found = np.empty(len(codes))
    for start in range(0, len(codes), _ROWS_AT_ONCE):
        s = field.domain.indicators(codes[start : start + _ROWS_AT_ONCE])
        found[start : start + len(s)] = -(s @ field.main) - ((s @ field.interactions) * s).sum(axis=1) / 2
    return found
