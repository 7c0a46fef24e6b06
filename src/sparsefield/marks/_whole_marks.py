"""Margins of parameters, each on its own, from the covariance of all statistics."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_solve

from sparsefield._typing import Index, Mask, Values
from sparsefield.marks._covariance import Covariance
from sparsefield.marks._curvatures import Curvature
from sparsefield.marks._narrowing import Candidates
from sparsefield.marks._optimum import Optimum, margin


class WholeMargins:
    """Margins of parameters from standard errors by the inverse covariance, and by regressions on what must differ.

    Parameters
    ----------
    theta : ndarray of shape (w,)
        The parameters of the fit that may differ from zero.
    found : Optimum
        The optimum that draws lead to.
    covariance : Covariance
        The covariance of their statistics.
    weights : ndarray of shape (w,)
        What each pays.
    """

    def __init__(self, theta: Values, found: Optimum[Curvature], covariance: Covariance, weights: Values) -> None:
        self.candidates = Candidates.of(theta, found.theta, weights)
        self._found, self._covariance = found, covariance

    def value_margins(self, some: Index, possible: Mask) -> Values:
        """Return how far from zero each of some must be to differ from it, whichever of those possible do."""
        found = self._found
        factor, root = self._covariance.factor(possible, some)
        variances = (root**2).sum(axis=0) / found.n
        margins = margin(np.sqrt(variances), variances * found.spans[some])
        if found.bias > 0:
            inverse = cho_solve((factor, True), np.eye(len(factor))[:, -len(some) :], overwrite_b=True)
            margins += found.bias * np.linalg.norm(inverse, axis=0)
        return margins

    def largest_gradients(self, some: Index, certain: Mask) -> Values:
        """Return how large the gradient of each of some may be, if only what is certain differs from zero."""
        found = self._found
        across, slopes, grown = self._covariance.regress(some, np.flatnonzero(certain))
        variances = self._covariance.matrix[some, some]
        left = np.maximum(variances - (across * slopes).sum(axis=0), 0.0) * grown
        bias = found.bias * np.sqrt(1 + (slopes**2).sum(axis=0))
        margins = margin(np.sqrt(left / found.n), found.spans[some] / found.n) + bias
        return np.asarray(np.abs(found.gradient[some]) + margins)
