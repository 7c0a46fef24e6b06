"""Rows as regressions see them: features of levels, uncorrelated within each variable."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sparsefield._typing import Codes, Index, Values
from sparsefield.data import MISSING, Domain, Table
from sparsefield.objective import Features

# Features with less than this share of the largest variance of their variable are sums of the others, but for rounding.
_LEAST_VARIANCE = 1e-9


@dataclass(frozen=True, eq=False)
class Variable:
    """One variable, by the levels that rows show.

    Parameters
    ----------
    codes : ndarray of shape (n_rows,), uint8
        Which of these levels each row shows; 0 where it is missing.
    counts : ndarray of shape (n_rows,)
        How often each row counts; 0 where the variable is missing.
    features : ndarray of shape (n_levels, d)
        The features that interact, with mean zero, variance one and no correlation over the rows.
    means : ndarray of shape (c,)
        The means over the rows of the contrasts that features are made of (`objective.Group`).
    variances : ndarray of shape (d,)
        The variances of the features in contrasts, in which interactions of two levels are log-odds.
    axes : ndarray of shape (c, d)
        The features in contrasts: slopes W of features i and j are axes_i W axes_j' of contrasts.
    log_odds : ndarray of shape (n_levels,)
        The logarithms of the frequencies of the levels, over that of the first.
    levels : ndarray of shape (n_levels,), integers
        The codes of these levels in the table.
    """

    codes: Codes
    counts: Values
    features: Values
    means: Values
    variances: Values
    axes: Values
    log_odds: Values
    levels: Index

    @property
    def size(self) -> float:
        """The mean variance of its features in contrasts; 0 where it is constant."""
        return float(self.variances.mean()) if len(self.variances) else 0.0


@dataclass(frozen=True, eq=False)
class Design:
    """The rows of a table, each of which is different, and their features.

    Parameters
    ----------
    domain : Domain
        The variables of the table.
    variables : tuple of Variable
        What rows show of them.
    columns : ndarray of shape (n_rows, n_columns)
        The features of all variables side by side; 0, their mean, where a variable is missing.
    starts : ndarray of shape (n_variables + 1,)
        Where those of each variable begin.
    counts : ndarray of shape (n_rows,)
        How often each row counts.
    missing : tuple of ndarray
        The rows in which each variable is missing.
    """

    domain: Domain
    variables: tuple[Variable, ...]
    columns: Values
    starts: Index
    counts: Values
    missing: tuple[Index, ...]

    @classmethod
    def of(cls, table: Table, weights: Values | None = None, *, gather: bool = True) -> Design:
        """Make the features of a table, whose rows count as often as weights say; equal rows are one, unless told."""
        counts = np.ones(table.n_rows) if weights is None else weights
        codes, counts = _gather(table.codes, counts) if gather else (np.ascontiguousarray(table.codes), counts)
        basis = Features(table.domain, "contrasts").basis
        made = []
        for i, block in enumerate(basis.blocks):
            made.append(_make(codes[:, i], counts, block[:, basis.interacts[basis.variables == i]]))
        parts = [np.where(own.counts[:, None] > 0, own.features[own.codes], 0.0) for own in made]
        return cls(
            table.domain,
            tuple(made),
            np.ascontiguousarray(np.hstack([np.zeros((len(codes), 0)), *parts])),
            np.cumsum([0, *(part.shape[1] for part in parts)]),
            counts,
            tuple(np.flatnonzero(codes[:, i] == MISSING) for i in range(len(made))),
        )

    @property
    def n_variables(self) -> int:
        """How many variables there are."""
        return len(self.variables)

    @cached_property
    def sizes(self) -> Index:
        """How many features each variable has."""
        return np.diff(self.starts)

    @cached_property
    def is_plain(self) -> bool:
        """Whether every variable has one feature, or none."""
        return bool(self.sizes.max(initial=0) <= 1)

    @property
    def n(self) -> float:
        """How many rows there are, by their weights."""
        return float(self.counts.sum())

    @property
    def has_missing(self) -> bool:
        """Whether cells are missing."""
        return any(len(rows) for rows in self.missing)

    @cached_property
    def n_together(self) -> Values:
        """How many rows show both variables of each pair, (n_variables, n_variables)."""
        p = self.n_variables
        if not self.has_missing:
            return np.full((p, p), self.n)
        is_there = np.column_stack([own.counts > 0 for own in self.variables]).astype(np.float64)
        return np.asarray(is_there.T @ (is_there * self.counts[:, None]))

    @cached_property
    def degrees(self) -> Values:
        """How many parameters an edge has, (n_variables, n_variables)."""
        return np.outer(self.sizes, self.sizes).astype(np.float64)

    @cached_property
    def variances(self) -> Values:
        """What sampling variance a weight has where all variables are independent, (n_variables, n_variables)."""
        own = np.array([variable.size for variable in self.variables])
        return np.asarray(1 / np.maximum(self.n_together * np.outer(own, own), 1e-300))

    @cached_property
    def precisions(self) -> Values:
        """One over the variance, in contrasts, of the feature of each column."""
        return 1 / np.concatenate([np.zeros(0), *(variable.variances for variable in self.variables)])

    def columns_of(self, variables: Index) -> Index:
        """Return where the columns of some variables are, one after the other."""
        first, sizes = self.starts[variables], self.sizes[variables]
        if self.is_plain:
            return np.asarray(first[sizes > 0])
        ends = np.cumsum(sizes)
        return np.asarray(np.repeat(first - ends + sizes, sizes) + np.arange(int(ends[-1]) if len(ends) else 0))


def _gather(codes: Codes, weights: Values) -> tuple[Codes, Values]:
    """Return the rows that differ, in an order of their own, and how often each counts."""
    rows = np.ascontiguousarray(codes)
    keys = rows.view(np.dtype((np.void, max(1, rows.shape[1])))).ravel() if rows.size else np.zeros(len(rows), "V1")
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    counts = np.asarray(np.bincount(which, weights, len(first)), dtype=np.float64)
    is_there = counts > 0
    return rows[first[is_there]], counts[is_there]


def _make(codes: Codes, counts: Values, contrasts: Values) -> Variable:
    """Make a variable of the levels of a column."""
    own_counts = np.where(codes != MISSING, counts, 0.0)
    seen = np.bincount(np.where(codes != MISSING, codes, 0), own_counts, len(contrasts))
    levels = np.flatnonzero(seen > 0)
    if not len(levels):  # no row shows any
        levels = np.array([0])
        seen[0] = 1.0
    place = np.zeros(256, dtype=np.uint8)
    place[levels] = np.arange(len(levels))
    shares = seen[levels] / seen[levels].sum()
    means = shares @ contrasts[levels]
    own = contrasts[levels] - means
    variances, axes = np.linalg.eigh((own * shares[:, None]).T @ own)
    keep = variances > _LEAST_VARIANCE * max(variances.max(initial=0.0), 1e-300)
    keep &= len(levels) > 1
    variances, axes = variances[keep], axes[:, keep] / np.sqrt(variances[keep])
    return Variable(
        place[np.where(own_counts > 0, codes, levels[0])],
        own_counts,
        np.ascontiguousarray(own @ axes),
        means,
        variances,
        axes,
        np.log(shares / shares[0]),
        levels,
    )
