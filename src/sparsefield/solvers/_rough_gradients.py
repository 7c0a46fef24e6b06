"""Screening of gradients: rough ones of all statistics, exact ones of those that matter, by draws made elsewhere."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sparsefield._typing import Mask, Matrix
from sparsefield.inference import Draws


def move_gradients(
    gradient: Matrix, draws: Draws, values: Matrix, find_near: Callable[[Matrix, float], Mask], share: float = 1.0
) -> Matrix:
    """Return gradients plus a share of the covariances of all statistics with values, exact where these matter.

    Where the covariance of every statistic costs much, rough ones with a bound on their errors come first. Whatever is
    said of the others must hold for errors up to that bound.

    Parameters
    ----------
    gradient : ndarray of shape (size, size)
        Gradients without values.
    draws : Draws
        The draws.
    values : ndarray of shape (n,)
        A value for each draw.
    find_near : callable
        Marks the gradients that matter, from rough ones and a bound on the error of each.
    share : float
        What the covariances count.
    """
    rough, error = draws.project_roughly(values)
    rough *= share
    rough += gradient
    if error == 0:
        return rough
    a, b = np.nonzero(np.triu(find_near(rough, abs(share) * error)))
    rough[a, b] = rough[b, a] = gradient[a, b] + share * draws.project_onto(values, a, b)
    return rough
