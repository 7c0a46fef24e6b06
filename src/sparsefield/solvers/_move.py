"""One proximal Newton step: where it leads, and how far the draws carry."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsefield.inference import Draws
from sparsefield.model import Matrix, count_once, sum_once
from sparsefield.objective import RARE, Problem, Quadratic, choose_active

_LEAST_SHARE = 0.3  # of the draws that must still count at the end of a step
_SHORTER = 0.7  # a step that goes too far is cut by this
_MOST_CUTS = 60
_ROUNDING = 1e-12  # of objectives, which are of the order of the number of variables
_MOST_ACTIVE = 8192  # parameters of a working set: 256 MiB of counts
_MOST_EPOCHS = 1000
DRAWS_EACH = 4  # draws for each parameter of a working set, at least
_INNER_NOISE = 0.05  # the quadratic model is minimised to this share of the largest noise that a gradient can have
_INNER_TOL = 1e-3  # and to this share of the largest violation


@dataclass(frozen=True, eq=False)
class Move:
    """A Newton step: where it leads, and how far the draws carry.

    Parameters
    ----------
    whole : ndarray of shape (n_slots, n_slots)
        The whole step, laid out as in `Problem`.
    share : float
        The part of it that is made.
    predicted : float
        Decrease of the objective that the quadratic model promises for the whole step, and for what is outside the
        working set, each parameter by itself.
    decrease : float
        Decrease of the objective for the part made, by the reweighted draws.
    effective : float
        Share of the draws that still count at the end of the step.
    quadratic : Quadratic
        What the step was made with.
    """

    whole: Matrix
    share: float
    predicted: float
    decrease: float
    effective: float
    quadratic: Quadratic

    @property
    def made(self) -> Matrix:
        """The part of the step that is made."""
        return self.share * self.whole


def find_move(problem: Problem, draws: Draws, theta: Matrix, moments: Matrix) -> Move:
    """Minimise the quadratic model of the objective, and go as far that way as the draws speak and the objective falls.

    Parameters
    ----------
    problem : Problem
        What is minimised.
    draws : Draws
        Draws at theta.
    theta : ndarray of shape (n_slots, n_slots)
        Where.
    moments : ndarray of shape (n_slots, n_slots)
        Moments at theta.
    """
    penalty = problem.penalty
    gradient = moments - problem.data.moments.pair
    violation = penalty.subgradient(theta, gradient)
    most = _MOST_ACTIVE if draws.n is None else min(_MOST_ACTIVE, max(1, draws.n // DRAWS_EACH))
    active = choose_active(theta, violation, lambda some: count_once(some) <= most, penalty.groups)
    a, b = np.nonzero(np.triu(active))
    quadratic = Quadratic(a, b, *draws.second_moments(a, b), draws.n)
    tol = _INNER_TOL * np.abs(violation[a, b]).max(initial=0.0)
    if draws.n is not None:
        tol = max(tol, _INNER_NOISE * 0.5 / np.sqrt(draws.n))
    moves, bends = penalty.minimise(quadratic, theta, gradient, tol=tol, max_epochs=_MOST_EPOCHS)
    whole = np.zeros_like(theta)
    whole[a, b] = whole[b, a] = moves
    by_penalty = penalty.value(theta + whole) - penalty.value(theta)
    predicted = -float(moves @ gradient[a, b] + moves @ bends / 2 + by_penalty)
    # Where further draws than those at hand are behind the moments, they shift the mean of all that is reweighted.
    shift = float(moves @ (moments[a, b] - quadratic.means))
    share, decrease, effective = _go(problem, draws, theta, whole, shift)
    # What is outside the working set would gain this, each parameter by itself.
    variances = np.maximum(moments * (1 - moments), 1e-12 if draws.n is None else RARE / draws.n)
    missed = sum_once(np.where(active, 0.0, violation**2 / (2 * variances)))
    return Move(whole, share, predicted + missed, decrease, effective, quadratic)


def _go(problem: Problem, draws: Draws, theta: Matrix, whole: Matrix, shift: float) -> tuple[float, float, float]:
    """Find the largest share of a step that keeps draws enough and lowers the reweighted objective."""
    values = draws.along(whole) + shift
    toward_data = sum_once(whole * problem.data.moments.pair)
    start = problem.penalty.value(theta)
    share = 1.0
    for _ in range(_MOST_CUTS):
        log_mean, effective = draws.reweight(share * values)
        decrease = start + share * toward_data - log_mean - problem.penalty.value(theta + share * whole)
        if effective >= _LEAST_SHARE and decrease >= -_ROUNDING:
            return share, decrease, effective
        share *= _SHORTER
    return 0.0, 0.0, 1.0
