"""A quadratic model of the smooth part of the objective over a working set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sparsefield._typing import Index, Matrix, Values
from sparsefield.inference import Draws

# A statistic that no draw shows may still have an expected count of up to four: a Poisson count of mean 4 is zero with
# probability exp(-4) = 0.018. So no variance is taken to be below that of four draws. `make bench-constants` fits
# tables in which a pair is never seen: with 0, 8 of 32 fits fail; with 1, 4 and 16 the largest gap is 2.81, 1.45 and
# 1.42 times what was asked for.
RARE = 4.0


@dataclass(frozen=True, eq=False)
class Quadratic:
    """The curvature of the objective over a working set: a covariance of statistics.

    Parameters
    ----------
    first, second : ndarray of shape (w,)
        The slots whose product each statistic is.
    products : ndarray of shape (w, w)
        Sums of products of statistics over the draws.
    scale : float
        What makes means of these.
    means : ndarray of shape (w,)
        Means of the statistics.
    n : int, optional
        The number of draws; None if it is exact.
    units : ndarray of shape (w,) or float
        What a single draw of a statistic that is hardly ever seen adds to its second moment, times n: 1 where
        statistics are 0 or 1.
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    products: NDArray[Any]
    scale: float
    means: Values
    n: int | None
    units: Values | float = 1.0

    @classmethod
    def of(cls, draws: Draws, a: NDArray[np.int64], b: NDArray[np.int64], units: Values | float = 1.0) -> Self:
        """Return the curvature that draws show of some statistics."""
        return cls(a, b, *draws.second_moments(a, b), draws.n, units)

    @property
    def n_together(self) -> int:
        """How many statistics are estimated together."""
        return len(self.first)

    @property
    def variances(self) -> Values:
        """Variances of the statistics (w,)."""
        return np.asarray(self.scale * np.diagonal(self.products) - self.means**2)

    @property
    def ridge(self) -> Matrix:
        """What the curvature of each parameter gets on top of its variance (w,)."""
        if self.n is None:
            return np.full(len(self.first), 1e-12)  # so that no variance of zero is divided by
        return make_ridge(self.variances, self.n_together, self.units, self.n)

    def centred(self) -> Matrix:
        """Return the covariance of the statistics (w, w), without a ridge."""
        return np.asarray(self.scale * self.products - np.outer(self.means, self.means))

    def covariance(self, some: NDArray[np.int64]) -> Matrix:
        """Return the covariance of some of the statistics, with its ridge."""
        means = self.means[some]
        found = np.asarray(self.scale * self.products[np.ix_(some, some)] - np.outer(means, means))
        found[np.diag_indices(len(some))] += self.ridge[some]
        return found


def make_ridge(variances: Values, n_together: int | Index, units: Values | float, n: int) -> Values:
    """Return what variances over n draws get on top of themselves (shrinkage of a covariance towards its diagonal).

    The covariance of w statistics over n draws is right to about sqrt(w / n) only: lean on the variances. A statistic
    that n draws show k times has a variance of k / n or so, and k could as well be four more.

    Parameters
    ----------
    variances : ndarray of shape (w,)
        The variances.
    n_together : int, or ndarray of shape (w,)
        How many statistics are estimated together, each with these.
    units : ndarray of shape (w,) or float
        What a single draw of a statistic that is hardly ever seen adds to its second moment, times n.
    n : int
        The number of draws.
    """
    rare = np.maximum(0.0, units * RARE / n - variances)
    return np.asarray(variances * n_together / n + rare)
