"""The optimum that draws with importance weights lead to, by the whole covariance: the exact one, but for chance."""

from __future__ import annotations

from functools import partial

import numpy as np

from sparsefield._typing import Mask, Matrix, Values
from sparsefield.certificates import Certificate
from sparsefield.gradients import Drawn
from sparsefield.marks._curvatures import Curvature, decrement, is_feasible, whole_curvature
from sparsefield.marks._optimum import Optimum, find_free, margin, may_differ
from sparsefield.marks._policy import MarksPolicy
from sparsefield.marks._reweighting import finest_tol, follow_weights
from sparsefield.model import count_once, norm, scatter
from sparsefield.objective import Penalty, Problem, rest_variances, spans
from sparsefield.solvers import move_gradients


def find_whole_optimum(here: Drawn, *, policy: MarksPolicy) -> Optimum[Curvature] | None:
    """Find the optimum of draws with importance weights, and all that may differ from zero; None if out of reach."""
    problem, estimate, counts = here.problem, here.estimate, here.counts
    weights, certificate = problem.penalty.weights, estimate.certificate
    assert weights is not None
    assert certificate is not None
    is_free = find_free(problem)
    variances, each = rest_variances(problem, estimate.moments, np.diagonal(is_free)), spans(problem)
    penalty, bias = problem.penalty, _bias(problem, certificate)
    n, sizes = counts * estimate.n_chains, penalty.sizes(here.gradient)
    is_held = (penalty.sizes(here.theta) > 0) | is_free
    # About as many as at the optimum: where these are too many, the way there is not made.
    possible = is_held | may_differ(sizes, weights, _margins(variances, each, n, bias))
    if not is_feasible(count_once(possible), here.draws, policy.most_whole, policy=policy):
        return None
    active = is_held | ((weights > 0) & (sizes > weights - np.sqrt(variances / n)))
    # No fewer draws count at the optimum than the least share of them: margins are no larger there.
    margins = _margins(variances, each, policy.least_share * n, bias)
    found = reweight_to_optimum(here, active, margins, policy=policy)
    if found is None:
        return None
    there, gradient, left = found
    left *= counts
    possible = is_held | (penalty.sizes(there) > 0)
    possible = possible | may_differ(penalty.sizes(gradient), weights, _margins(variances, each, left, bias))
    if not is_feasible(count_once(possible), here.draws, policy.most_whole, policy=policy):
        return None
    curvature = whole_curvature(here, possible)
    a, b = curvature.first, curvature.second
    return Optimum(there[a, b], gradient[a, b], curvature, left, bias, each[a, b])


def reweight_to_optimum(
    here: Drawn, active: Mask, margins: Matrix | float = 0.0, *, policy: MarksPolicy
) -> tuple[Matrix, Matrix, float] | None:
    """Find the optimum that draws lead to, by Newton steps on the draws with importance weights.

    Parameters
    ----------
    here : Drawn
        The draws.
    active : ndarray of shape (size, size), bool
        What the first step is about. Others join where they violate optimality.
    margins : ndarray of shape (size, size) or float
        Gradients of zeros may be rough where they are further than this from what parameters pay.
    policy : MarksPolicy
        When steps end.

    Returns
    -------
    tuple of ndarray, ndarray and float, or None
        The optimum, the gradient of the smooth part there, and the effective sample size. None if the draws do not
        reach that far.
    """
    steps = _WholeSteps(here, active, margins, policy)
    n = follow_weights(steps, here.n, policy=policy)
    return None if n is None else (steps.there, steps.gradient, n)


class _WholeSteps:
    """Newton steps with the covariances of all statistics of a working set.

    Attributes
    ----------
    there, gradient : ndarray of shape (size, size)
        Where the steps are, and the gradient of the smooth part there; outside the working set it is that of the last
        look at all parameters.
    """

    forgets = False

    def __init__(self, here: Drawn, active: Mask, margins: Matrix | float, policy: MarksPolicy) -> None:
        self._here, self._problem, self._draws, self._policy = here, here.problem, here.draws, policy
        self._active, self._margins, self._finest = active, margins, finest_tol(here.n, policy=policy)
        self._start = here.gradient
        self.there, self.gradient = here.theta, self._start.copy()
        self._grow()

    def begin(self) -> bool:
        """Model the objective over the working set, and say whether draws and memory allow for it."""
        if not is_feasible(count_once(self._active), self._draws, self._policy.most_whole, policy=self._policy):
            return False
        self._model = whole_curvature(self._here, self._active)
        return True

    def violation(self) -> float:
        """Return the largest violation of optimality in the working set."""
        return float(self._violations()[self._model.first, self._model.second].max(initial=0.0))

    def minimise(self, tol: float) -> tuple[Values, float]:
        """Return the step to the minimum of the model, and its squared Newton decrement."""
        penalty, most_epochs = self._problem.penalty, self._policy.most_epochs
        moves, bends = penalty.minimise(self._model, self.there, self.gradient, tol=tol, max_epochs=most_epochs)
        return moves, decrement(self._model, moves, bends)

    def move(self, moves: Values, stride: float) -> tuple[float, float]:
        """Make such a share of a step, and find gradients over the working set."""
        a, b = self._model.first, self._model.second
        self.there = self.there + scatter(a, b, stride * moves, len(self.there))
        values = self._draws.along(self.there - self._here.theta)
        log_mean, share = self._draws.reweight(values)
        self._weights = np.exp(values - log_mean)
        self.gradient[a, b] = self.gradient[b, a] = self._start[a, b] + self._draws.project_onto(self._weights, a, b)
        return stride, share

    def join(self) -> bool:
        """Find the gradients of all parameters that matter; let those join that violate optimality, if any do."""
        find_near = partial(_find_near, self._problem.penalty, self._active, self._margins)
        self.gradient = move_gradients(self._start, self._draws, self._weights, find_near)
        return self._grow()

    def _grow(self) -> bool:
        joins = ~self._active & (self._violations() > self._finest)
        self._active = self._active | joins
        return bool(joins.any())

    def _violations(self) -> Matrix:
        return self._problem.penalty.sizes(self._problem.subgradient(self.there, self.gradient))


def _find_near(penalty: Penalty, active: Mask, margins: Matrix | float, rough: Matrix, error: float) -> Mask:
    """Mark the gradients of a working set, and those that rough ones do not show to be far from what parameters pay."""
    assert penalty.weights is not None
    return np.asarray(active | (penalty.sizes(rough) + (margins + error) >= penalty.weights))


def _bias(problem: Problem, certificate: Certificate) -> float:
    """Return a bound on the norm of the bias of the gradient."""
    if problem.coordinates.is_plain or certificate.total == 0:
        return certificate.total
    return norm(problem.coordinates.pull_bounds(certificate.pair))


def _margins(variances: Matrix, each: Matrix, n: float, bias: float) -> Matrix:
    """Return how far from its penalty the gradient of a zero must be over n draws, by its own variance."""
    # A regression on one or two free main effects adds at most as much again of the bias of each.
    return np.asarray(margin(np.sqrt(variances / n), each / n) + np.sqrt(3) * bias)
