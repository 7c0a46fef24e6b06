"""Two sets that close in on what differs from zero: what may, whatever the simulation error, and what must."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sparsefield._typing import Index, Mask, Values
from sparsefield.marks._policy import MarksPolicy


@dataclass(frozen=True, eq=False)
class Candidates:
    """Parameters, or groups of them, that may differ from zero in the optimum.

    Parameters
    ----------
    sizes : ndarray of shape (k,)
        Their absolute values, or norms, in the optimum that draws lead to.
    weights : ndarray of shape (k,)
        What they pay for these.
    is_same : ndarray of shape (k,), bool
        Whether they point the same way in the fit and in that optimum, zero in neither.
    is_zero : ndarray of shape (k,), bool
        Whether they are zero in both.
    """

    sizes: Values
    weights: Values
    is_same: Mask
    is_zero: Mask

    @classmethod
    def of(cls, theta: Values, there: Values, weights: Values) -> Candidates:
        """Return parameters, each on its own, given what they are in the fit and in the optimum of the draws."""
        return cls(np.abs(there), weights, theta * there > 0, (theta == 0) & (there == 0))


class Margins(Protocol):
    """How far simulation error reaches: margins from the standard errors of values, and of gradients.

    Attributes
    ----------
    candidates : Candidates
        What may differ from zero.
    """

    candidates: Candidates

    def value_margins(self, some: Index, possible: Mask) -> Values:
        """Return how large each of some must be to differ from zero, whichever of those possible do."""
        ...

    def largest_gradients(self, some: Index, certain: Mask) -> Values:
        """Return how large the gradient of each of some may be, if only what is certain differs from zero."""
        ...


def find_open(margins: Margins, *, policy: MarksPolicy) -> Mask:
    """Say of each candidate whether it is open that it differs from zero, given what it is in the fit; (k,)."""
    possible, certain = possible_and_certain(margins, most_rounds=policy.most_narrowings)
    return possible & ~certain


def possible_and_certain(margins: Margins, *, most_rounds: int) -> tuple[Mask, Mask]:
    """Return what may differ from zero in the optimum, given what it is in the fit, and what must; both (k,).

    Each set makes the margins of the other one smaller. Both are right after every round.
    """
    given = margins.candidates
    possible, certain = np.ones(len(given.sizes), dtype=bool), given.weights == 0
    for _ in range(most_rounds):
        n_open = np.count_nonzero(possible & ~certain)
        some = np.flatnonzero(possible & ~certain & given.is_same)
        if len(some):
            certain[some] = given.sizes[some] > margins.value_margins(some, possible)
        some = np.flatnonzero(possible & ~certain & given.is_zero)
        if len(some):
            possible[some] = ~(margins.largest_gradients(some, certain) < given.weights[some])
        if np.count_nonzero(possible & ~certain) == n_open:
            break
    return possible, certain
