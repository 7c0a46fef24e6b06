"""The optimum that draws lead to, and the margins of its noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from sparsefield.model import Matrix
from sparsefield.solvers._models_of_draws import Curvature, NearCurvature

Values = NDArray[np.float64]

# This is the confidence with which each parameter that is not marked is zero, or not: a convention. With 0.9, 0.99 and
# 0.999, 484, 819 and 1117 of 3180 parameters are marked, and 1, 0 and 0 of the others are zero in the fit or in the
# exact optimum alone (`make bench-constants`).
UNDECIDED = 0.99


@dataclass(frozen=True, eq=False)
class Optimum:
    """The optimum of the objective that draws at other parameters give, over what may differ from zero.

    Parameters
    ----------
    theta, gradient : ndarray of shape (w,)
        The optimum, and the gradient of the smooth part there, of all parameters that may differ from zero.
    quadratic : Curvature or NearCurvature
        The curvature over these.
    n : float
        The number of draws that count there.
    bias : float
        A bound on the norm of the bias of the gradient.
    spans : ndarray of shape (w,)
        How large the centred statistics of the curvature can be, or combinations of those of a group.
    """

    theta: Values
    gradient: Values
    quadratic: Curvature | NearCurvature
    n: float
    bias: float
    spans: Values


def quantile() -> float:
    """Return the normal quantile of margins.

    Noise leads to a wrong answer from one side alone, which takes half of the risk. The other half is for what noise
    does to the parameters beside it, and to the estimate through these.
    """
    return float(ndtri((1 + UNDECIDED) / 2))


def margin(errors: Matrix | float, units: Matrix | float, z: float | None = None) -> Matrix:
    """Return the margin at which an estimate is decided, from its standard error and what one draw adds to it.

    Wilson's interval (1927), for counts: where few draws are behind an estimate, its standard error is itself known
    from few. Of an indicator, one of k draws adds 1 / n to a mean, and 1 / k, its variance, to a parameter; of other
    statistics as many times that as they are larger. The quantile is z, or that of a normal distribution unless given.
    """
    z = quantile() if z is None else z
    return np.asarray(z * np.hypot(errors, z * units / 2) + z**2 * units / 2)
