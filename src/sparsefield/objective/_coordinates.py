"""The coordinates in which a field is learned: parameters of features of levels.

A field with main effects h and interactions Z of features f has the exponent sum_a h_a f_a + sum_{a<b} Z_ab f_a f_b.
Indicators of levels (slots) are one choice of features, for which h and Z are the parameters of the field itself. Other
ones are linear combinations of these, variable by variable: the same fields, with parameters that mean something else.
Statistics are f_a and f_a f_b less what they are where all variables have their reference levels, so that exponents are
those of the field.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sparsefield._typing import Mask, Matrix, Values
from sparsefield.data import Domain, Moments
from sparsefield.inference import Draws, expand
from sparsefield.model import PairwiseMRF, across_variables
from sparsefield.objective._feature_draws import FeatureDraws
from sparsefield.objective._features import Basis, make_basis

_ALL = slice(None)


@dataclass(frozen=True, eq=False)
class FeatureMoments(Moments):
    """Moments of features.

    Parameters
    ----------
    main, pair, n
        As of other moments: means of features, also on the diagonal of `pair`, and of products of two of them, less
        those at the reference levels.
    variances : ndarray of shape (size, size)
        Variances of the same.
    """

    variances: Matrix


class Slots:
    """The parameters of a field themselves: the features are the indicators of levels.

    Parameters
    ----------
    domain : Domain
        The variables.
    """

    is_plain = True

    def __init__(self, domain: Domain) -> None:
        self.domain = domain

    @property
    def size(self) -> int:
        """How many features there are."""
        return self.domain.n_slots

    @property
    def variables(self) -> NDArray[np.int64]:
        """The variable of each feature."""
        return self.domain.slot_variables

    @property
    def interacts(self) -> Mask:
        """Which features interact with others: all of them."""
        return np.broadcast_to(True, self.size)

    @cached_property
    def blocks(self) -> tuple[Values, ...]:
        """What each feature of each variable is at each of its levels, (n_levels of i, size of i)."""
        variables, levels = self.domain.slot_variables, self.domain.slot_levels
        return tuple(np.eye(n)[:, levels[variables == i]] for i, n in enumerate(self.domain.n_levels))

    @cached_property
    def units(self) -> Matrix:
        """What a draw of a statistic that is hardly ever seen adds to its second moment, times the number of draws."""
        return np.broadcast_to(1.0, (self.size, self.size))

    @cached_property
    def is_parameter(self) -> Mask:
        """Which entries of theta are parameters: the diagonal, and pairs of features that may interact."""
        if self.domain.n_slots == self.domain.n_variables:
            return np.broadcast_to(True, (self.size, self.size))
        return np.asarray(across_variables(self.domain, 1.0) > 0)

    def to_slots(self, theta: Matrix) -> Matrix:
        """Return the parameters of the field, laid out like theta."""
        return theta

    def of_slots(self, slots: Matrix) -> Matrix:
        """Return theta of the field with these parameters."""
        return slots

    def moments(self, moments: Moments) -> Moments:
        """Return the moments of features."""
        return moments

    def draws(self, draws: Draws) -> Draws:
        """Return draws whose statistics are features and products of two of them."""
        return draws

    def pull(self, gradient: Matrix) -> Matrix:
        """Return the gradient of a function in theta, from that in the parameters of the field."""
        return gradient

    def pull_bounds(self, bounds: Matrix) -> Matrix:
        """Return bounds on the biases of statistics, from those of slots."""
        return bounds

    def spread(self, marks: Mask) -> Mask:
        """Return marks of parameters as marks of slots."""
        return marks

    def gather(self, marks: Mask) -> Mask:
        """Return marks of slots as marks of parameters."""
        return marks

    @property
    def steepest(self) -> Matrix:
        """What no gradient reaches in an interaction: frequencies differ by less than one."""
        return np.ones((self.size, self.size))

    def main_variances(self, means: Values) -> Values:
        """Return the variance of each feature, given the frequency of each slot."""
        return means * (1 - means)


class Features:
    """Parameters of other features than the indicators of levels.

    Parameters
    ----------
    domain : Domain
        The variables.
    kind : "contrasts" or "levels"
        Features of a variable whose levels are not ordered: contrasts of its levels that add up to zero, orthogonal and
        with a variance of 1/4 each where all levels are equally likely, so that the interaction of two binary variables
        is what it always was; or indicators of levels. Ordered variables have contrasts in both cases, the first of
        which is the score: they interact by that one alone.
    """

    is_plain = False

    def __init__(self, domain: Domain, kind: str) -> None:
        self.domain = domain
        self._basis: Basis = make_basis(domain, kind)

    @property
    def size(self) -> int:
        """How many features there are."""
        return len(self._basis.variables)

    @property
    def variables(self) -> NDArray[np.int64]:
        """The variable of each feature."""
        return self._basis.variables

    @property
    def interacts(self) -> Mask:
        """Which features interact with others."""
        return self._basis.interacts

    @property
    def n_interacting(self) -> NDArray[np.int64]:
        """How many features of each variable interact with others."""
        return np.bincount(self.variables[self.interacts], minlength=self.domain.n_variables)

    @property
    def blocks(self) -> tuple[Values, ...]:
        """What each feature of each variable is at each of its levels, (n_levels of i, size of i)."""
        return self._basis.blocks

    @cached_property
    def units(self) -> Matrix:
        """What a draw of a statistic that is hardly ever seen adds to its second moment, times the number of draws.

        Of a pair of levels that is rare, this is the product of the squares of two features, summed over both.
        """
        squares = np.asarray((self._basis.values**2).sum(axis=0))
        found = np.outer(squares, squares)
        np.fill_diagonal(found, squares)
        return found

    @cached_property
    def is_parameter(self) -> Mask:
        """Which entries of theta are parameters: the diagonal, and pairs of features that may interact."""
        basis = self._basis
        found = (basis.variables[:, None] != basis.variables) & basis.interacts[:, None] & basis.interacts
        np.fill_diagonal(found, True)
        return np.asarray(found)

    def to_slots(self, theta: Matrix) -> Matrix:
        """Return the parameters of the field, laid out like `Moments.pair`.

        A feature is f = r + A's, s being the indicators of slots and r its value at the reference level. So the
        interactions are A Z A', and the main effects A (h + Z r).
        """
        rows, at = self._basis.rows, self._basis.reference
        main = np.diagonal(theta)
        off = theta - np.diag(main)
        found = np.triu(rows @ (rows @ off).T, 1)
        return np.asarray(found + found.T + np.diag(rows @ (main + off @ at)))

    def of_slots(self, slots: Matrix) -> Matrix:
        """Return theta of the field with these parameters, or of one near it that these features can describe.

        What interactions have of main effects, their means over the levels of the other variable, joins these.
        """
        main, pair = expand(PairwiseMRF(self.domain, np.diagonal(slots), slots - np.diag(np.diagonal(slots))))
        inverse, shares = self._basis.inverse, self._basis.shares
        off = np.where(self.is_parameter, inverse @ (inverse @ pair).T, 0.0)
        off = (off + off.T) / 2
        found = inverse @ (main + pair @ shares)
        # A sum of as many terms is right to that many roundings: what is below them is a main effect of zero.
        largest = np.abs(inverse) @ (np.abs(main) + np.abs(pair) @ shares)
        np.fill_diagonal(off, np.where(np.abs(found) <= len(main) * 2.0**-52 * largest, 0.0, found))
        return np.asarray(off)

    def moments(self, moments: Moments) -> FeatureMoments:
        """Return the moments of features, and their variances."""
        basis = self._basis
        whole = self._pull(moments.pair, basis.rows, basis.reference, 1.0)
        squares = self._pull(moments.pair, basis.square_rows, basis.reference**2, 1.0)
        pair = self.pull(moments.pair)
        return FeatureMoments(np.diagonal(pair).copy(), pair, moments.n, np.maximum(squares - whole**2, 0.0))

    @property
    def basis(self) -> Basis:
        """The features."""
        return self._basis

    def draws(self, draws: Draws) -> FeatureDraws:
        """Return draws whose statistics are features and products of two of them."""
        return FeatureDraws(draws, self.domain, self._basis, self.to_slots, self.pull)

    def pull(self, gradient: Matrix) -> Matrix:
        """Return the gradient of a function in theta, from that in the parameters of the field."""
        return self._pull(gradient, self._basis.rows, self._basis.reference, 0.0)

    def _pull(self, pair: Matrix, rows: csr_array, at: NDArray[np.float64], mass: float) -> Matrix:
        """Return the means of features and of their products, from those of slots; `mass` is the mean of one."""
        main = np.asarray(rows.T @ np.diagonal(pair))
        off = np.asarray(rows.T @ (rows.T @ _without_diagonal(pair)).T)
        off = off + np.outer(main, at) + np.outer(at, main) + mass * np.outer(at, at)
        found = np.where(self.is_parameter, (off + off.T) / 2, 0.0)
        np.fill_diagonal(found, main + mass * at)
        return found

    def pull_bounds(self, bounds: Matrix) -> Matrix:
        """Return bounds on the biases of statistics, from those of slots: sums of absolute values."""
        rows, at = np.abs(self._basis.rows.toarray()), np.abs(self._basis.reference)
        main = rows.T @ np.diagonal(bounds)
        off = rows.T @ _without_diagonal(bounds) @ rows + np.outer(main, at) + np.outer(at, main)
        np.fill_diagonal(off, main)
        return np.where(self.is_parameter, off, 0.0)

    def spread(self, marks: Mask) -> Mask:
        """Return marks of parameters as marks of slots: all those that a marked parameter is part of."""
        touched = (np.abs(self._basis.rows) > 0).astype(np.float64)
        off = marks.copy()
        np.fill_diagonal(off, False)
        found = np.asarray(touched @ (touched @ off.astype(np.float64)).T > 0)
        np.fill_diagonal(found, touched @ np.diagonal(marks).astype(np.float64) > 0)
        return found

    def gather(self, marks: Mask) -> Mask:
        """Return marks of slots as marks of parameters: those that a marked slot is part of."""
        touched = np.abs(self._basis.rows) > 0
        return np.asarray(touched.T @ (touched.T @ marks.astype(np.float64)).T > 0)

    @property
    def steepest(self) -> Matrix:
        """What no gradient reaches in an interaction.

        Means of products of features under distributions P and Q of two variables differ by C' (P - Q) D, with C and D
        the features. Where these are orthogonal, of lengths c and d, the norm of the differences is at most c d times
        that of P - Q, which is below sqrt(2) where all pairs of levels can occur.
        """
        return np.maximum(1.0, np.sqrt(2 * self.units))

    def main_variances(self, means: Values) -> Values:
        """Return the variance of each feature, given the frequency of each slot."""
        levels, values = self.level_means(means), self._basis.values
        return np.asarray(np.maximum((values**2).T @ levels - (values.T @ levels) ** 2, 0.0))

    def level_means(self, means: Values) -> Values:
        """Return the frequency of each level, reference levels among them, given that of each slot."""
        domain = self.domain
        starts = np.cumsum(domain.n_levels) - domain.n_levels
        found = np.zeros(int(domain.n_levels.sum()))
        found[starts[domain.slot_variables] + domain.slot_levels] = means
        if domain.reference is not None:
            taken = np.bincount(domain.slot_variables, means, minlength=domain.n_variables)
            found[starts + np.array(domain.reference, dtype=np.int64)] = np.maximum(1 - taken, 0.0)
        return found


Coordinates = Slots | Features


def _without_diagonal(pair: Matrix) -> Matrix:
    """Return a matrix with zeros on its diagonal."""
    found = pair.copy()
    np.fill_diagonal(found, 0.0)
    return found


def variances_of(moments: Moments, rows: slice = _ALL) -> NDArray[Any]:
    """Return the variances of statistics with these means, (size, size), or some rows of them."""
    if isinstance(moments, FeatureMoments):
        return moments.variances[rows]
    means = np.minimum(np.maximum(moments.pair[rows], 0.0), 1.0)  # np.clip takes five times as long on small ones
    return np.asarray(means * (1 - means))
