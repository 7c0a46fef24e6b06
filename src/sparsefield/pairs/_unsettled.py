"""Which pairs one step from zero does not settle, and where cells are too rare for what usually holds."""

from __future__ import annotations

import numpy as np

from sparsefield._typing import Index, Mask, Values
from sparsefield.pairs._pair_rows import PairRows
from sparsefield.structure import chi_square_tail

# Pairs whose score tests have larger p-values are not fitted: one step from zero is their estimate. Larger tables are
# given fewer fits, as their discoveries begin at smaller p-values.
_CLEARLY, _LEAST_CLEARLY, _PAIRS = 0.05, 0.0027, 50.0

# Expected count of the rarest cell of two levels below which one step from zero is trusted only where it is short
# (p-values above 0.3), and below which Wald's intervals of two levels are not.
_RARE, _SHORT, _VERY_RARE = 5.0, 0.3, 10.0

# That below which likelihood ratios are trusted as far as the law of the score allows alone, and Wald's intervals of
# more levels are not. With chi-squares two thirds of tables of 30 independent columns with a single one each had a
# false edge; Wald's intervals of columns of which 2% of 500 rows were ones, and 10% missing, held zero 89 times out of
# 100. With 5 in place of 1, 2% of the true edges of rare symptoms are no longer found.
_ALMOST_EMPTY = 1.0

# Columns as much alike as that leave little to tell them apart: variances are 5 times as large beside each other.
_SAME = 0.9

_STRONG = 2.5  # log-odds from which on Wald's intervals are too narrow


def choose_fits(rows: PairRows, pairs: Index, degrees: Values, roots: Values) -> Index:
    """Return the places of the pairs that one step from zero does not settle.

    Parameters
    ----------
    rows : PairRows
        The rows, the neighbours of all variables, and columns that are like each other.
    pairs : ndarray of shape (n_pairs, 2)
        All pairs.
    degrees : ndarray of shape (n_pairs,)
        How many interactions each has.
    roots : ndarray of shape (n_pairs,)
        The larger one of the absolute roots of both steps.
    """
    i, j = pairs.T
    is_known = degrees > 0
    clearly = min(_CLEARLY, max(_LEAST_CLEARLY, _PAIRS / max(1, len(pairs))))
    least = chi_square_tail(np.where(is_known, roots, 0.0) ** 2, np.maximum(degrees, 1.0))
    is_open = rows.near[i, j] | (least < clearly)
    is_open |= _have_open_twins(rows, pairs, is_open) | ((_count_rarest(rows, pairs) < _RARE) & (least < _SHORT))
    return np.flatnonzero(np.asarray(is_open & is_known & (rows.design.n_together[i, j] > 0)))


def _have_open_twins(rows: PairRows, pairs: Index, is_open: Mask) -> Mask:
    """Say which pairs are not settled since a column that is like one of them is not, beside the other one.

    The step from zero does not know of such columns, which fits have in their equations. It moves with them where
    there is something that they tell; and of nearly equal ones little can be told, whatever it is.
    """
    i, j = pairs.T
    whole = np.zeros((rows.n_variables,) * 2)
    whole[i, j] = whole[j, i] = is_open
    beside = rows.twins.astype(np.float64) @ whole
    is_same = np.asarray((rows.twins & (rows.likeness > _SAME)).any(axis=1))
    return np.asarray((beside[i, j] > 0) | (beside[j, i] > 0) | is_same[i] | is_same[j])


def are_almost_empty(rows: PairRows, pairs: Index) -> Mask:
    """Say of which pairs the rarest cell is expected less than once, so that the law of the score is asked."""
    return _count_rarest(rows, pairs) < _ALMOST_EMPTY


def _count_rarest(rows: PairRows, pairs: Index) -> Values:
    """Return how often the rarest levels of two variables are expected together, were they independent."""
    least = np.array([float(np.exp(own.log_odds).min() / np.exp(own.log_odds).sum()) for own in rows.design.variables])
    i, j = pairs.T
    return np.asarray(rows.design.n_together[i, j] * least[i] * least[j])


def needs_profile(rows: PairRows, pairs: Index) -> Mask:
    """Say which intervals are found on the profile of the likelihood: of pairs with one interaction alone."""
    i, j = pairs.T
    single = (rows.kinds.sizes[i] == 1) & (rows.kinds.sizes[j] == 1)
    two = (rows.kinds.n_levels[i] == 2) & (rows.kinds.n_levels[j] == 2)
    slopes = rows.regressions[1]
    links = np.abs(slopes[i, 0, rows.design.starts[j]] * _turn(rows, j)) if len(pairs) else np.zeros(0)
    rarest = _count_rarest(rows, pairs)
    return np.asarray(
        single & (rarest < _ALMOST_EMPTY) | two & ((rarest < _VERY_RARE) | (links > _STRONG) | rows.twins[i, j])
    )


def _turn(rows: PairRows, variables: Index) -> Values:
    """Return what a unit of the first feature of the design is in indicators."""
    return np.array([rows.kinds.turns[v].ravel()[0] if rows.kinds.turns[v].size else 0.0 for v in variables])
