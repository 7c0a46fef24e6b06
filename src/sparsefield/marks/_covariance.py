"""The covariance of statistics, its factors, and regressions on some of them: standard errors come from these."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve, cholesky, solve_triangular

from sparsefield._typing import Index, Mask, Matrix, Values
from sparsefield.objective import Quadratic


def least_ridge(variances: Values, share: float = 1e-9) -> Values:
    """Return no more of a ridge than it takes to invert a covariance with these variances."""
    return np.asarray(1e-12 + share * variances)


@dataclass(frozen=True, eq=False)
class Covariance:
    """A covariance matrix of statistics that can be inverted.

    Parameters
    ----------
    matrix : ndarray of shape (w, w)
        The matrix.
    n : int
        How many draws it is from.
    """

    matrix: Matrix
    n: int

    @classmethod
    def of(cls, quadratic: Quadratic, *, is_exact: bool = True) -> Covariance:
        """Return the covariance of all statistics, with no more of a ridge than it takes to invert it.

        What is singular without one leaves parameters with standard errors that are larger than any parameter. Where
        products are not added up exactly, as those of features in single precision, the ridge grows until there is an
        inverse.
        """
        assert quadratic.n is not None
        found, share = quadratic.centred(), 1e-9
        own, diagonal = np.diagonal(found).copy(), np.diag_indices(len(found))
        found[diagonal] += least_ridge(own, share)
        while not is_exact and not _is_definite(found):
            share *= 10
            found[diagonal] += least_ridge(own, share)
        return cls(found, quadratic.n)

    def factor(self, among: Mask, last: Index) -> tuple[Matrix, Matrix]:
        """Return the Cholesky factor of some statistics, in an order in which those `last` are, and a root.

        The last rows of the factor are that of what the others leave of the covariance: its inverse is a block of that
        of the whole. With the root R, (k, k), that block is R'R.
        """
        others = among.copy()
        others[last] = False
        some = np.concatenate([np.flatnonzero(others), last])
        factor = cholesky(self.matrix[np.ix_(some, some)], lower=True, overwrite_a=True)
        root = solve_triangular(factor[-len(last) :, -len(last) :], np.eye(len(last)), lower=True)
        return factor, root

    def regress(self, others: Index, some: Index, stiffness: Matrix | None = None) -> tuple[Matrix, Matrix, float]:
        """Regress other statistics on some, whose covariance may have a stiffness on top.

        Returns
        -------
        tuple of ndarray, ndarray and float
            Covariances of some with the others and the coefficients, (n_some, n_others), and by what the variances that
            are left are too small: the regression itself takes up one degree of freedom for each parameter.
        """
        across = self.matrix[np.ix_(some, others)]
        grown = self.n / (self.n - len(some))
        if len(some) == 0:
            return across, across, grown
        held = self.matrix[np.ix_(some, some)]
        if stiffness is not None:
            held += stiffness
        return across, cho_solve(cho_factor(held, overwrite_a=True), across), grown


def _is_definite(matrix: Matrix) -> bool:
    try:
        cholesky(matrix, lower=True)
    except np.linalg.LinAlgError:
        return False
    return True
