"""A quadratic model of the smooth part of the objective over a working set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsefield.model import Matrix

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
    n : int, optional
        The number of draws; None if it is exact.
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    products: NDArray[Any]
    scale: float
    n: int | None

    @property
    def means(self) -> Matrix:
        """Means of the statistics (w,), which are their own squares."""
        return np.asarray(self.scale * np.diagonal(self.products))

    @property
    def ridge(self) -> Matrix:
        """What the curvature of each parameter gets on top of its variance (w,).

        The covariance of w statistics over n draws is right to about sqrt(w / n) only: lean on the variances. A
        statistic that n draws show k times has a variance of k / n or so, and k could as well be four more.
        """
        if self.n is None:
            return np.full(len(self.first), 1e-12)  # so that no variance of zero is divided by
        variances = self.means * (1 - self.means)
        return np.asarray(variances * len(self.first) / self.n + np.maximum(0.0, RARE / self.n - variances))

    def covariance(self, some: NDArray[np.int64]) -> Matrix:
        """Return the covariance of some of the statistics, with its ridge."""
        means = self.means[some]
        found = np.asarray(self.scale * self.products[np.ix_(some, some)] - np.outer(means, means))
        found[np.diag_indices(len(some))] += self.ridge[some]
        return found
