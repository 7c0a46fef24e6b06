"""Newton's method on draws with importance weights: the optimum that draws lead to, without any new ones."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from sparsefield._deadline import check_time
from sparsefield._typing import Values
from sparsefield.marks._policy import MarksPolicy
from sparsefield.objective import RARE


class Steps(Protocol):
    """Newton steps over a working set, by a curvature of one's own: where they are, and what is outside the set.

    Attributes
    ----------
    forgets : bool
        Whether the first step over a larger working set is whole, however small the last one over the smaller set was.
    """

    forgets: bool

    def begin(self) -> bool:
        """Model the objective over the working set, and say whether draws and memory allow for it."""
        ...

    def violation(self) -> float:
        """Return the largest violation of optimality in the working set."""
        ...

    def minimise(self, tol: float) -> tuple[Values, float]:
        """Return the step to the minimum of the model, and its squared Newton decrement."""
        ...

    def move(self, moves: Values, stride: float) -> tuple[float, float]:
        """Make such a share of a step, or less, and find gradients; return that share, and that of draws that count."""
        ...

    def join(self) -> bool:
        """Look at all other parameters, and say whether any is to join the working set: it violates optimality."""
        ...


def finest_tol(n: int, *, policy: MarksPolicy) -> float:
    """Return the violation of optimality that is nothing beside the simulation error of n draws."""
    return float(policy.settled * np.sqrt(RARE) / n)


def follow_weights(steps: Steps, n: int, *, policy: MarksPolicy) -> float | None:
    """Make Newton steps to the optimum of the draws as importance weights move them, and return how many count there.

    That is their effective sample size. Gradients are followed over a working set. Once the optimum over that is found,
    those of all others say whether any of them is to join it.

    Parameters
    ----------
    steps : Steps
        The steps, at the parameters where the draws were made. In the end they are at the optimum.
    n : int
        The number of draws.
    policy : MarksPolicy
        When steps are halved, and when they end.

    Returns
    -------
    float or None
        The effective sample size; None if the draws do not reach that far.
    """
    finest = finest_tol(n, policy=policy)
    is_near, stride, last = False, 1.0, np.inf
    if not steps.begin():
        return None
    for _ in range(policy.most_rounds):
        check_time()
        tol = finest if is_near else max(finest, policy.inner_tol * steps.violation())
        moves, decrement = steps.minimise(tol)
        is_settled, is_near = tol == finest and decrement <= policy.settled**2 / n, decrement <= 1 / n
        if decrement > policy.slowest * last:
            stride = max(policy.shortest, stride / 2)
        last = decrement
        stride, share = steps.move(moves, stride)
        if share < policy.least_share:
            return None
        if is_settled:
            if not steps.join():
                return share * n
            if not steps.begin():
                return None
            if steps.forgets:
                last = np.inf
    return None
