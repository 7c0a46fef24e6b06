"""Which parameters the simulation error of the draws leaves open: zero, or not."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from sparsefield._typing import Index, Mask
from sparsefield.gradients import Drawn, negligible_bias
from sparsefield.marks._block_marks import BlockMargins
from sparsefield.marks._covariance import Covariance
from sparsefield.marks._curvatures import Curvature, NotLocalError, choose_reach
from sparsefield.marks._group_marks import GroupMargins
from sparsefield.marks._narrowing import find_open
from sparsefield.marks._optimum import Optimum, find_free
from sparsefield.marks._policy import MARKS, MarksPolicy
from sparsefield.marks._reweighted_optimum import find_whole_optimum
from sparsefield.marks._sparse_optimum import find_near_optimum
from sparsefield.marks._whole_marks import WholeMargins
from sparsefield.solvers import UNDECIDED


def find_undecided(here: Drawn, *, policy: MarksPolicy = MARKS) -> Mask | None:
    """Mark the parameters of which draws do not settle whether they are zero in the optimum, as they are in theta.

    Draws at theta that had no say in it lead to an optimum which is off by their simulation error alone. It is a
    continuous function of that error, linear as long as the same parameters differ from zero: the optimum moves most
    where as many as possible do, and the gradient of one that is zero moves most where as few as possible do. So there
    are two sets: parameters that may differ from zero, with standard errors from the inverse of the covariance of them
    all, and parameters that must, by these errors. Gradients of zeros have the variance that is left by a regression on
    those that must. What is in the first set and not in the second is undecided (`docs/math/optimality.md`).

    Parameters
    ----------
    here : Drawn
        The fit, with draws that had no part in choosing it.
    policy : MarksPolicy
        Tuning constants.

    Returns
    -------
    ndarray of shape (n_slots, n_slots) or None
        The marks: of slots, where a parameter is one of a feature or of a group, all that it is part of. They are all
        set where the draws do not reach the optimum, and none is where moments are exact. None where nothing is known:
        of draws whose bias is not negligible, and of a penalty that is no sum over parameters or groups.
    """
    problem, theta, estimate = here.problem, here.theta, here.estimate
    if here.draws.n is None:
        return np.zeros((problem.domain.n_slots,) * 2, dtype=bool)
    weights, certificate = problem.penalty.weights, estimate.certificate
    if weights is None or certificate is None or not estimate.is_certified:
        return None
    if certificate.confidence < UNDECIDED or certificate.total > negligible_bias(estimate.n_chains):
        return None
    is_free = find_free(problem)
    marks: Mask = is_free & (theta == 0)  # the optimum has no such zeros: no step has reached them
    if not weights.any():
        return problem.coordinates.spread(marks)
    found = _find_open(here, policy=policy)
    if found is None:
        return problem.coordinates.spread(np.asarray(marks | (weights > 0)))
    a, b, is_open = found
    marks[a, b] = marks[b, a] = marks[a, b] | is_open
    return problem.coordinates.spread(marks)


def _find_open(here: Drawn, *, policy: MarksPolicy) -> tuple[Index, Index, Mask] | None:
    """Return the parameters that may differ from zero and which of them are open; None if that is out of reach."""
    assert here.estimate.certificate is not None
    # Biases of statistics far apart may add up; and blocks know of no other error than that of the draws at hand.
    is_for_blocks = here.estimate.certificate.total == 0 and here.missing == 0 and here.n == here.n_asked
    held = (here.theta != 0) | find_free(here.problem)
    reach = choose_reach(here, held, policy=policy) if is_for_blocks else None
    if reach is not None:
        # Where far covariances matter, or keep steps from ending, the whole one serves, if there is memory for it.
        with suppress(NotLocalError):
            near = find_near_optimum(here, reach, policy=policy)
            if near is not None:
                margins = BlockMargins(here, near, reach, policy=policy)
                return near.quadratic.first, near.quadratic.second, find_open(margins, policy=policy)
    found = find_whole_optimum(here, policy=policy)
    return None if found is None else _find_open_by_all(here, found, policy=policy)


def _find_open_by_all(here: Drawn, found: Optimum[Curvature], *, policy: MarksPolicy) -> tuple[Index, Index, Mask]:
    """Return the parameters that may differ from zero and which of them are open, by the whole covariance."""
    problem, theta = here.problem, here.theta
    a, b = found.quadratic.first, found.quadratic.second
    covariance = Covariance.of(found.quadratic, is_exact=problem.coordinates.is_plain)
    weights, groups = problem.penalty.weights, problem.penalty.groups
    assert weights is not None
    if groups is None:
        return a, b, find_open(WholeMargins(theta[a, b], found, covariance, weights[a, b]), policy=policy)
    margins = GroupMargins(theta[a, b], found, covariance, weights[a, b], groups[a, b])
    return a, b, margins.spread(find_open(margins, policy=policy))
