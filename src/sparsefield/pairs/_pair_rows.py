"""Rows as the likelihoods of pairs see them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sparsefield._typing import Index, Mask, Values
from sparsefield.data import MISSING
from sparsefield.structure import Design, Nodes

# Columns as much alike as that are in each other's equations: without them a pair of weight 6 made the intervals of its
# neighbours cover half of what they should.
_ALIKE = 0.6

_MEAN_ROUNDS = 3  # in which missing cells of a row take each other's means into account


@dataclass(frozen=True, eq=False)
class Kinds:
    """How levels enter the likelihood of a pair: by features that are zero at the first level that rows show.

    Parameters
    ----------
    n_levels : ndarray of shape (p,)
        How many levels rows show.
    features : ndarray of shape (p, most levels, most features)
        Indicators of the levels but the first; for ordered variables their scores.
    sizes : ndarray of shape (p,)
        How many features there are; none of constant columns.
    is_plain : ndarray of shape (p,), bool
        Whether features are indicators.
    spreads : tuple of ndarray of shape (d, d)
        The covariances of the features over the levels of each variable, each counted once.
    turns : tuple of ndarray of shape (d, c)
        The features of the design in these: its slopes times this are slopes here.
    """

    n_levels: Index
    features: Values
    sizes: Index
    is_plain: Mask
    spreads: tuple[Values, ...]
    turns: tuple[Values, ...]

    @classmethod
    def of(cls, design: Design) -> Kinds:
        """Find the features of the variables of a design."""
        domain, p = design.domain, design.n_variables
        n_levels = np.array([len(own.levels) for own in design.variables], dtype=np.int64)
        sizes = design.sizes.astype(np.int64)
        features = np.zeros((p, int(n_levels.max()), max(1, int(sizes.max()))))
        is_plain, spreads, turns = np.ones(p, dtype=bool), [], []
        for i, own in enumerate(design.variables):
            n, d = int(n_levels[i]), int(sizes[i])
            scores = None if domain.scores is None else domain.scores[i]
            if d == 0:
                spreads.append(np.zeros((0, 0)))
                turns.append(np.zeros((0, 0)))
                continue
            if scores is None:
                features[i, 1:n, :d] = np.eye(n - 1)
                values = features[i, :n, :d]
                turns.append(own.features[1:] - own.features[0])
            else:
                every = np.array(scores)
                seen = every[own.levels]
                scale = seen[1] - seen[0] if n == 2 else np.sqrt(np.square(seen - seen.mean()).mean())
                is_plain[i] = n == 2
                features[i, :n, 0] = (seen - seen[0]) / scale
                values = ((every - seen[0]) / scale)[:, None]
                turns.append((own.features[-1:] - own.features[:1]) / features[i, n - 1, 0])
            centred = values - values.mean(axis=0)
            spreads.append(centred.T @ centred / len(values))
        return cls(n_levels, features, sizes, is_plain, tuple(spreads), tuple(turns))

    def scale(self, i: int, j: int) -> Values:
        """Return the matrix M of a pair: Theta' M Theta is its weight squared, which is that of `pair_weights`."""
        first, second = self.spreads[i], self.spreads[j]
        blocks = 16.0 * first[:, None, :, None] * second[None, :, None, :]
        return np.asarray(blocks.reshape((len(first) * len(second),) * 2))


@dataclass(frozen=True, eq=False)
class PairRows:
    """Rows, the neighbours of all variables, and where fits of pairs begin.

    Parameters
    ----------
    design : Design
        The rows.
    nodes : Nodes
        The regressions of all variables on their neighbours.
    kinds : Kinds
        The features of the levels.
    """

    design: Design
    nodes: Nodes
    kinds: Kinds

    @property
    def n_variables(self) -> int:
        """How many variables there are."""
        return self.design.n_variables

    def prepare(self) -> None:
        """Find all that fits of pairs need."""
        _ = self.codes, self.near, self.regressions, self.links, self.features, self.columns

    @cached_property
    def codes(self) -> NDArray[np.uint8]:
        """The levels of all variables, (n_variables, n_rows); 255 where one is missing."""
        found = np.array([own.codes for own in self.design.variables])
        for own, rows in zip(found, self.design.missing, strict=True):
            own[rows] = MISSING
        return np.ascontiguousarray(found)

    @cached_property
    def twins(self) -> Mask:
        """The pairs of columns that are as good as repetitions of each other."""
        return np.asarray((self.likeness >= _ALIKE) & ~np.eye(self.n_variables, dtype=bool))

    @cached_property
    def likeness(self) -> Values:
        """The largest correlation that features of two variables can have, (n_variables, n_variables)."""
        z, starts = self.design.columns, self.design.starts
        products = (z * self.design.counts[:, None]).T @ z
        found = np.zeros((self.n_variables,) * 2)
        single = self.design.sizes == 1
        at = starts[:-1][single]
        found[np.ix_(single, single)] = np.abs(products[np.ix_(at, at)])
        for i in np.flatnonzero(self.design.sizes > 1):
            for j in np.flatnonzero(self.design.sizes > 0):
                block = products[starts[i] : starts[i + 1], starts[j] : starts[j + 1]]
                found[i, j] = found[j, i] = np.linalg.norm(block, 2)
        return np.asarray(found / np.maximum(self.design.n_together, 1.0))

    @cached_property
    def near(self) -> Mask:
        """The neighbours of each variable, those among them that resemble it."""
        return np.asarray(self.nodes.support | self.twins)

    @cached_property
    def regressions(self) -> tuple[Values, Values]:
        """Intercepts (p, most levels) and slopes (p, most features, n_columns) of the regressions, in our features."""
        kinds, starts = self.kinds, self.design.starts
        p = self.n_variables
        intercepts = np.zeros((p, kinds.features.shape[1]))
        slopes = np.zeros((p, kinds.features.shape[2], int(starts[-1])))
        for i, fit in enumerate(self.nodes.fits):
            intercepts[i, : kinds.n_levels[i]] = fit.intercepts - fit.intercepts[0]
            for j in fit.neighbours.tolist():
                own = kinds.turns[i] @ fit.slopes_of(j)
                slopes[i, : len(own), starts[j] : starts[j + 1]] = own
        return intercepts, slopes

    @cached_property
    def links(self) -> Values:
        """The interactions of features, the mean of both ends, (n_columns, n_columns)."""
        starts = self.design.starts
        found = np.zeros((int(starts[-1]),) * 2)
        for i, fit in enumerate(self.nodes.fits):
            for j in fit.neighbours.tolist():
                own = fit.slopes_of(j) / 2
                found[starts[i] : starts[i + 1], starts[j] : starts[j + 1]] += own
                found[starts[j] : starts[j + 1], starts[i] : starts[i + 1]] += own.T
        return found

    @cached_property
    def features(self) -> Values:
        """The features of the design by level, (p, most levels, most features)."""
        found = np.zeros_like(self.kinds.features)
        for i, own in enumerate(self.design.variables):
            found[i, : own.features.shape[0], : own.features.shape[1]] = own.features
        return found

    @cached_property
    def columns(self) -> Values:
        """The features of all variables in all rows, with means given the rest of the row where one is missing."""
        return self._filled[0]

    @cached_property
    def filled(self) -> tuple[NDArray[np.int32], Values, Values]:
        """What is known of missing cells.

        The number of each, (p, n), -1 where a cell was observed; the exponents of its levels given all others of its
        row, (n_missing, most levels); and the means of its features, (n_missing, most features).
        """
        return self._filled[1]

    @cached_property
    def _filled(self) -> tuple[Values, tuple[NDArray[np.int32], Values, Values]]:
        design, starts, features = self.design, self.design.starts, self.features
        if not design.has_missing:
            nothing = np.zeros((0, 0), dtype=np.int32), np.zeros((0, 1)), np.zeros((0, 1))
            return design.columns, nothing
        columns = design.columns.copy()
        where = np.full((self.n_variables, len(columns)), -1, dtype=np.int32)
        n_missing = sum(len(rows) for rows in design.missing)
        exponents, means = np.zeros((n_missing, features.shape[1])), np.zeros((n_missing, features.shape[2]))
        for turn in range(_MEAN_ROUNDS + 1):
            done, found_means = 0, []
            for i, rows in enumerate(design.missing):
                fit, own = self.nodes.fits[i], design.variables[i].features
                cells = slice(done, done + len(rows))
                done += len(rows)
                if not len(rows) or not own.size:
                    continue
                along = columns[rows] @ self.links[starts[i] : starts[i + 1]].T
                found = fit.intercepts + along @ own.T
                shares = np.exp(found - found.max(axis=1, keepdims=True))
                found_means.append((i, rows, cells, shares @ own / shares.sum(axis=1, keepdims=True)))
                exponents[cells, : found.shape[1]], where[i, rows] = found, np.arange(cells.start, cells.stop)
            if turn == _MEAN_ROUNDS:  # the last exponents go with the means that they were made of
                break
            for i, rows, cells, mean in found_means:  # all at one time, so that the order of variables does not matter
                columns[rows, starts[i] : starts[i + 1]] = mean
                means[cells, : mean.shape[1]] = mean
        return columns, (where, exponents, means)
