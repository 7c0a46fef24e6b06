"""Newton steps over many parameters, whose curvature is kept where statistics are near each other in the graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sparsefield._typing import Index, Matrix, Values
from sparsefield.gradients import Drawn
from sparsefield.objective import (
    RARE,
    SparseQuadratic,
    count_zeros,
    find_few_near,
    pick_largest,
    smallest_subgradient,
)
from sparsefield.solvers._newton_policy import NEWTON, NewtonPolicy

# Variables that are neighbours are near, and where that is wrong, neighbours of neighbours too. On random fields of 500
# and 1000 variables with 4 neighbours each the true curvature along a step is 1.05 and 1.02 times the modelled one; on
# grids at half and at 0.8 of the critical coupling it is 1.36 and 1.07 times that, and no minimum and 2.2 times.
NEAREST, WIDEST = 1, 2

_ROWS_AT_ONCE = 128  # of p x p matrices, so that what is made of them stays in the cache of a core


@dataclass(frozen=True, eq=False)
class NearStep:
    """A whole step, and what the quadratic model says of it.

    Parameters
    ----------
    quadratic : SparseQuadratic
        The curvature.
    moves : ndarray of shape (w,)
        The step, over the statistics of the curvature.
    promised : float
        The decrease that the model promises.
    bend : float
        Its curvature along the step.
    missed : float
        What parameters outside the working set would gain, each by itself.
    cost : callable
        Returns what the penalty is higher at the end of a share of the step.
    has_minimum : bool
        Whether the model has a minimum; else the step leads nowhere.
    """

    quadratic: SparseQuadratic
    moves: Values
    promised: float
    bend: float
    missed: float
    cost: Callable[[float], float]
    has_minimum: bool

    def predict(self, bend: float, most_left: float = NEWTON.most_left) -> float | None:
        """Return what the step is worth, given its true curvature; None where the model is too wrong.

        Along the step the penalty is about a parabola, which the model knows with its value and its slope at the end.
        With the true curvature its best share is 1 / (1 + r), worth P / (1 + r). Steps that a curvature M chose in
        place of H are worth this share of the best one at least (Kantorovich's inequality): 1 - e^2, where the
        eigenvalues of M^-1 H are within 1 - e and 1 + e times their middle.
        """
        if not self.has_minimum or self.promised < 0:
            return None
        if self.promised == 0:
            return 0.0
        wrong = (bend - self.bend) / (2 * self.promised)
        return None if wrong**2 > most_left else self.promised / (1 + wrong)


def find_near_step(
    here: Drawn, reach: int, tol: Callable[[float], float], *, policy: NewtonPolicy = NEWTON
) -> NearStep | None:
    """Minimise the quadratic model over all that is not zero or should not be, with a sparse curvature.

    Returns None where there are too few statistics, or too many near each other, for a sparse one to pay.

    Parameters
    ----------
    here : Drawn
        Where, and draws there.
    reach : int
        How many neighbours apart the variables of two statistics may be.
    tol : callable
        Returns the tolerance of the minimum, given the largest violation.
    policy : NewtonPolicy
        Tuning constants.
    """
    problem, draws, theta, moments = here.problem, here.draws, here.theta, here.moments
    penalty, units = problem.penalty, problem.coordinates.units
    if penalty.weights is None or not problem.is_by_slots or draws.n is None:
        return None
    if (
        np.count_nonzero(theta) < policy.fewest
    ):  # each interaction stands there twice, and there may be as many zeros besides
        return None
    a, b = find_candidates(theta, moments.pair, problem.target, penalty.weights)
    start, weights, gradient = theta[a, b], penalty.weights[a, b], moments.pair[a, b] - problem.target[a, b]
    bends = np.zeros(len(a)) if penalty.bends is None else penalty.bends[a, b]
    gradient += bends * start  # of the penalty too, where it has a curvature of its own
    violation = smallest_subgradient(start, gradient, weights)
    inside = _choose(start, np.abs(violation), len(theta))
    means = np.clip(moments.pair[a, b], 0.0, 1.0)
    variances = np.maximum(means * (1 - means), units[a, b] * RARE / draws.n)
    missed = float((violation**2 / (2 * variances))[~inside].sum())
    a, b, start, bends = a[inside], b[inside], start[inside], bends[inside]
    weights, gradient = weights[inside], gradient[inside]
    n_kept = int(min(policy.most_entries, policy.most_kept * len(a) ** 2 / 2))
    near = find_few_near(theta, problem.coordinates.variables, a, b, reach, n_kept) if len(a) >= policy.fewest else None
    if near is None:
        return None
    quadratic = SparseQuadratic.of(draws, a, b, near, units[a, b])
    # The objective is an entropy at least, and at zero no more than this: no step gains more.
    highest = float(np.log(problem.domain.n_levels).sum())
    moves, along, has_minimum = quadratic.descend(
        start,
        gradient,
        weights,
        bends,
        tol=tol(float(np.abs(violation).max(initial=0.0))),
        max_epochs=policy.most_epochs,
        most=highest,
    )

    def cost(share: float) -> float:
        there = start + share * moves
        return float(weights @ (np.abs(there) - np.abs(start)) + bends @ (there**2 - start**2) / 2)

    bend = float(moves @ along)
    promised = -(float(moves @ (gradient - bends * start)) + bend / 2 + cost(1.0))
    return NearStep(quadratic, moves, promised, bend, missed, cost, has_minimum)


def find_candidates(
    theta: Matrix,
    pair: Matrix,
    target: Matrix,
    weights: Matrix,
    slack: float = 0.0,
    moved: Matrix | None = None,
) -> tuple[Index, Index]:
    """Return the parameters that are not zero, or whose gradient is beyond their penalty, but for a slack.

    Moments have moved since, where that is given.
    """
    found = []
    size = len(theta)
    for low in range(0, size, _ROWS_AT_ONCE):
        some = np.s_[low : low + _ROWS_AT_ONCE, low:]
        gradient = pair[some] - target[some]
        if moved is not None:
            gradient += moved[some]
        np.abs(gradient, out=gradient)
        gradient += slack
        wanted = gradient > weights[some]
        wanted |= theta[some] != 0
        i, j = np.divmod(np.flatnonzero(wanted), size - low)
        upper = i <= j
        found.append((i[upper] + low, j[upper] + low))
    return np.concatenate([a for a, _ in found]), np.concatenate([b for _, b in found])


def _choose(theta: Values, sizes: Values, n_slots: int) -> NDArray[np.bool_]:
    """Choose a working set as `choose_active` does: what is not zero, and as many zeros that are worst."""
    inside = np.asarray(theta != 0)
    others = np.flatnonzero(~inside)
    inside[others[pick_largest(sizes[others], count_zeros(int(np.count_nonzero(inside)), n_slots))]] = True
    return inside
