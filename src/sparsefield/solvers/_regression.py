"""What a regression of statistics on main effects leaves of their variances."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sparsefield.model import Matrix


def rest_variances(pair: Matrix, is_free: NDArray[np.bool_]) -> Matrix:
    """Return the variance of each statistic s_a s_b that is left by a regression on s_a and s_b, where these are free.

    Free parameters follow the noise of their own statistics, and the gradients of all others with them.
    """
    means = np.diagonal(pair)
    variances = means * (1 - means)
    left = pair * (1 - pair)
    first = pair * (1 - means)[:, None]  # covariance of s_a s_b with s_a; its transpose with s_b
    safe = np.maximum(variances, 1e-12)  # a variable that never varies explains nothing: its covariances are zero
    with_one = np.where(is_free[:, None], first**2 / safe[:, None], 0.0)
    between = pair - np.outer(means, means)
    determinant = np.maximum(np.outer(variances, variances) - between**2, 1e-12)
    with_both = (
        first**2 * variances[None, :] + first.T**2 * variances[:, None] - 2 * first * first.T * between
    ) / determinant
    explained = np.where(is_free[:, None] & is_free, with_both, with_one + with_one.T)
    np.fill_diagonal(explained, 0.0)
    return np.asarray(np.clip(left - explained, 0.0, 0.25))
