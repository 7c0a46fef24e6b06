"""The optimum that draws lead to, and the margins of simulation error about it: Wilson intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from sparsefield._typing import Mask, Matrix, Values
from sparsefield.marks._curvatures import Curvature, NearCurvature
from sparsefield.objective import Problem
from sparsefield.solvers import mark_quantile

Model = TypeVar("Model", Curvature, NearCurvature)


@dataclass(frozen=True, eq=False)
class Optimum(Generic[Model]):
    """The optimum of the objective that draws at other parameters give, over what may differ from zero.

    Parameters
    ----------
    theta, gradient : ndarray of shape (w,)
        The optimum, and the gradient of the smooth part there, of all parameters that may differ from zero.
    quadratic : Curvature or NearCurvature
        The curvature over these.
    n : float
        The effective sample size: the number of draws that count there.
    bias : float
        A bound on the norm of the bias of the gradient.
    spans : ndarray of shape (w,)
        How large the centred statistics of the curvature can be, or combinations of those of a group.
    """

    theta: Values
    gradient: Values
    quadratic: Model
    n: float
    bias: float
    spans: Values


def margin(errors: Matrix | float, units: Matrix | float, z: float | None = None) -> Matrix:
    """Return the margin of a Wilson interval, from the standard error of an estimate and what one draw adds to it.

    Wilson's interval (1927), for counts: where few draws are behind an estimate, its standard error is itself known
    from few. Of an indicator, one of k draws adds 1 / n to a mean, and 1 / k, its variance, to a parameter; of other
    statistics as many times that as they are larger. The quantile is z, or that of a normal distribution unless given.
    """
    z = mark_quantile() if z is None else z
    return np.asarray(z * np.hypot(errors, z * units / 2) + z**2 * units / 2)


def may_differ(sizes: Matrix, weights: Matrix, margins: Matrix) -> Mask:
    """Return which parameters that pay may differ from zero, by the sizes of their gradients."""
    return np.asarray((weights > 0) & (sizes + margins >= weights))


def find_free(problem: Problem) -> Mask:
    """Return which parameters pay nothing."""
    return np.asarray(problem.coordinates.is_parameter & (problem.penalty.weights == 0))
