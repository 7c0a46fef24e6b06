"""What absolute values ask for: soft thresholds, and the smallest subgradient."""

from __future__ import annotations

import numpy as np

from sparsefield._kernels._proximal import ROUNDING
from sparsefield._typing import Values


def soft_threshold(values: Values, thresholds: Values | float) -> Values:
    """Return values moved towards zero by thresholds, and no further (soft thresholding).

    What is left of a threshold by rounding alone is zero.
    """
    sizes = np.abs(values) - thresholds
    return np.asarray(np.sign(values) * np.where(sizes > ROUNDING * np.asarray(thresholds), sizes, 0.0))


def smallest_subgradient(theta: Values, gradient: Values, weights: Values | float) -> Values:
    """Return the smallest subgradient of a smooth function plus weighted absolute values (L1).

    Parameters
    ----------
    theta : ndarray
        Parameters: all, or some of them.
    gradient : ndarray
        The gradient of the smooth function there.
    weights : ndarray or float
        What each parameter pays for its absolute value.
    """
    return np.where(theta != 0, gradient + weights * np.sign(theta), soft_threshold(gradient, weights))
