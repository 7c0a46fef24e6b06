"""A quadratic model whose curvature is sparse: covariances of statistics that are near each other in the graph."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array

from sparsefield._kernels._sparse_rows import descend_rows, find_entries, mirror, rest_of_rows
from sparsefield._typing import Index, Matrix, Values
from sparsefield.inference import Draws
from sparsefield.model import row_parts
from sparsefield.objective._quadratic import make_ridge

# Interactions that are no larger make no neighbours. A state of 0 or 1 that interacts by 0.1 with another one has a
# correlation of tanh(0.1 / 4) = 0.025 with it at most, and what lies beyond has less.
_LEAST_COUPLING = 0.1

# Of a variance of which a regression leaves less than this share, rounding and entries that are not kept leave nothing
# to tell.
_SMALLEST = 1e-6


class Near(NamedTuple):
    """Which pairs of statistics are near each other.

    Attributes
    ----------
    starts, columns : ndarray of shape (w + 1,) and (n_entries,)
        Statistic c is near columns[starts[c] : starts[c + 1]], which come after it.
    """

    starts: Index
    columns: NDArray[np.int32]


def find_near(theta: Matrix, variables: Index, a: Index, b: Index, reach: int) -> Near:
    """Find the pairs of statistics one of whose variables is near one of the other.

    Parameters
    ----------
    theta : ndarray of shape (n_slots, n_slots)
        The parameters, whose interactions make the graph: two variables are neighbours where one is above 0.1.
    variables : ndarray of shape (n_slots,)
        The variable of each slot.
    a, b : ndarray of shape (w,)
        The slots whose product each statistic is.
    reach : int
        How many neighbours apart two variables may be: with 0 statistics are near that share one.
    """
    near = find_few_near(theta, variables, a, b, reach, len(a) ** 2)
    assert near is not None  # as there are no more pairs than that
    return near


def find_few_near(theta: Matrix, variables: Index, a: Index, b: Index, reach: int, most: int) -> Near | None:
    """Find the pairs of statistics that are near each other (`find_near`); None where there are more than so many."""
    n, w = int(variables.max(initial=-1)) + 1, len(a)
    i, j = _find_couplings(theta)
    joined = csr_array((np.ones(len(i), dtype=np.float32), (variables[i], variables[j])), shape=(n, n))
    step = joined + eye_array(n, dtype=np.float32, format="csr")
    ball = eye_array(n, dtype=np.float32, format="csr")
    for _ in range(reach):
        ball = ball @ step
        ball.data[:] = 1
    first, second = variables[a], variables[b]
    own = csr_array((np.ones(2 * w, dtype=np.int8), (np.r_[first, second], np.r_[:w, :w])), shape=(n, w))
    own.sum_duplicates()
    starts, columns = np.zeros(w + 1, dtype=np.int64), np.empty(0, dtype=np.int32)
    parts = first, second, ball.indptr, ball.indices, own.indptr, own.indices, starts
    if not find_entries(*parts, columns, most):
        return None
    columns = np.empty(starts[-1], dtype=np.int32)
    find_entries(*parts, columns, most)
    return Near(starts, columns)


def _find_couplings(theta: Matrix) -> tuple[Index, Index]:
    """Return the slots whose interactions make neighbours."""
    found = []
    for rows in row_parts(len(theta)):
        i, j = np.divmod(np.flatnonzero(np.abs(theta[rows]) > _LEAST_COUPLING), len(theta))
        found.append((i + rows.start, j))
    return np.concatenate([i for i, _ in found]), np.concatenate([j for _, j in found])


@dataclass(frozen=True, eq=False)
class SparseQuadratic:
    """The curvature of the objective over a working set, as far as statistics are near each other.

    Kept are the covariances of statistics one of whose variables is near one of the other (`find_near`), as the draws
    have them, to the last bit what `Quadratic` has; all others count as zero. They are the more so the further apart
    variables are, and what draws show of them is mostly noise. A covariance with entries left out need not be positive.

    Parameters
    ----------
    first, second : ndarray of shape (w,)
        The slots whose product each statistic is.
    starts, columns, values : ndarray of shape (w + 1,), (n_entries,) and (n_entries,)
        The covariances in sparse rows, without the diagonal: those of statistic c with columns[starts[c] :
        starts[c + 1]], in this order.
    means, variances : ndarray of shape (w,)
        Means and variances of the statistics.
    n : int
        The number of draws.
    units : ndarray of shape (w,) or float
        What a single draw of a statistic that is hardly ever seen adds to its second moment, times n.
    """

    first: Index
    second: Index
    starts: Index
    columns: NDArray[np.int32]
    values: Values
    means: Values
    variances: Values
    n: int
    units: Values | float = 1.0

    @classmethod
    def of(cls, draws: Draws, a: Index, b: Index, near: Near, units: Values | float = 1.0) -> Self:
        """Return the curvature that draws show of some statistics, the pairs of them that are near each other."""
        assert draws.n is not None
        sums, scale, means = draws.near_moments(a, b, near.starts, near.columns)
        starts, columns, values = mirror(near.starts, near.columns, sums, scale, means)
        return cls(a, b, starts, columns, values, means, means - means**2, draws.n, units)

    @property
    def n_together(self) -> float:
        """How many statistics are in a row, on average: so many are estimated together."""
        return 1 + len(self.values) / max(1, len(self.first))

    @cached_property
    def ridge(self) -> Values:
        """What the curvature of each parameter gets on top of its variance (w,), as `Quadratic` has it, row by row."""
        return make_ridge(self.variances, np.diff(self.starts) + 1, self.units, self.n)

    def covariance(self, some: Index) -> Matrix:
        """Return the covariance of some of the statistics, with its ridge, and zero where it is not kept."""
        whole = csr_array((self.values, self.columns, self.starts), shape=(len(self.first),) * 2)
        found = np.asarray(whole[some][:, some].todense())
        found[np.diag_indices(len(some))] += (self.variances + self.ridge)[some]
        return found

    def rests(self, wanted: Index, among: NDArray[np.bool_]) -> Values:
        """Return what a regression on the statistics near each one wanted leaves of its variance, with its ridge.

        This is one over its entry in the inverse of their covariance.

        Parameters
        ----------
        wanted : ndarray of integers
            The statistics.
        among : ndarray of shape (w,), bool
            The statistics that count in regressions.
        """
        diagonal = self.variances + self.ridge
        return np.asarray(rest_of_rows(self.starts, self.columns, self.values, diagonal, wanted, among, _SMALLEST))

    def descend(
        self,
        theta: Values,
        gradient: Values,
        weights: Values,
        bends: Values | float = 0.0,
        *,
        tol: float,
        max_epochs: int,
        most: float = np.inf,
    ) -> tuple[Values, Values, bool]:
        """Minimise the model plus an L1 penalty: moves, the covariance times these, and whether there is a minimum.

        The penalty may have a curvature of its own, whose gradient is part of the one given.

        There is none, as far as one can tell, where it would fall by more than `most`.
        """
        rows = self.starts, self.columns, self.values, self.variances
        moves, along, is_endless = descend_rows(
            *rows, theta, gradient, weights, self.ridge + bends, max_epochs, tol, most
        )
        return moves, along, not is_endless
