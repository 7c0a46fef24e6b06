"""The tables of sweeps over variables with more than two levels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsefield._kernels._level_tables import fill_tables, group_neighbours
from sparsefield._kernels._levels import ENTRIES, WIDEST
from sparsefield._kernels._target import make_aligned
from sparsefield.inference._field import Field, expand
from sparsefield.inference._tables import LARGEST_PRODUCT, Form, as_whole, pair_shifts

Matrix = NDArray[np.float64]


class LevelTables:
    """What sweeps over levels look up, for one field.

    Weights and exponents are relative to the first level of a variable, so that one with K levels takes K - 1 of them.

    Parameters
    ----------
    field : Field
        The model.
    form : "product" or "sum", optional
        Whether entries are weights to be multiplied, or exponents to be added as whole numbers; weights unless the
        exponents of a variable can reach 80.

    Attributes
    ----------
    form : "product" or "sum"
        The form of the entries.
    degree : float
        The average number of neighbours.
    n_lookups : int
        Table entries that a sweep of one chain reads.
    most_tables : int
        The largest number of tables of a variable.
    """

    def __init__(self, field: Field, form: Form | None) -> None:
        self._n_levels = n_levels = field.domain.n_levels
        self._cuts = np.cumsum(n_levels) - n_levels
        main, pair = expand(field)
        self._main, self._pair = _contrast(main, pair, n_levels)
        largest = self._largest_blocks()
        sizes = np.array([np.abs(own).max(initial=0.0) for own in self._main]) + largest.sum(axis=1)
        fits = bool(sizes.max() < LARGEST_PRODUCT)
        if form not in (None, "sum") and not (form == "product" and fits):
            raise ValueError(f"form is {form!r}: it does not fit this field; leave it out to have one chosen.")
        self.form: Form = form or ("product" if fits else "sum")
        self._shifts = pair_shifts(sizes)
        self._starts, *self._groups = group_neighbours(largest, n_levels, np.argsort(-n_levels, kind="stable"))
        n_tables = np.diff(self._starts)
        self.degree = float(np.count_nonzero(largest)) / len(n_levels)
        self.n_lookups = int(n_tables @ (n_levels - 1))
        self.most_tables = int(n_tables.max())

    def arguments(self, arrange: Callable[[Matrix], Matrix]) -> tuple[NDArray[Any], ...]:
        """Return the arguments of the sweeps, between the order and what is kept; `arrange` lays tables out."""
        n_levels = self._n_levels
        kind: Any = np.float32 if self.form == "product" else np.int32
        biases = np.zeros((len(n_levels), n_levels.max() - 1 + WIDEST), dtype=kind)
        parts = []
        for i, n in enumerate(n_levels):
            biases[i, : n - 1] = self._finish(self._round(self._main[i], i))
            entries = np.empty((self._starts[i + 1] - self._starts[i], n - 1, ENTRIES))
            contrasts = self._round(self._pair[i], i)
            fill_tables(contrasts, self._cuts, n_levels, self._starts[i], *self._groups, entries)
            parts.append(arrange(self._finish(entries)).astype(kind))
        ends = np.cumsum([part.size for part in parts])
        tables = make_aligned((int(ends[-1]),), kind)
        np.concatenate(parts, out=tables)
        shifts = (self._shifts,) if self.form == "sum" else ()
        return (n_levels, self._starts, *self._groups, np.concatenate(([0], ends[:-1])), tables, biases, *shifts)

    def _largest_blocks(self) -> Matrix:
        """Return the largest contrast of each variable that each neighbour can make, (p, p)."""
        many = self._n_levels > 1
        rows = np.array([np.abs(own).max(axis=1, initial=0.0) for own in self._pair])
        return np.where(many, np.maximum.reduceat(rows, self._cuts, axis=1), 0.0)

    def _round(self, contrasts: Matrix, i: int) -> Matrix:
        """Round contrasts to whole numbers where these are added up."""
        return contrasts if self.form == "product" else as_whole(contrasts, self._shifts[i]).astype(np.float64)

    def _finish(self, entries: Matrix) -> Matrix:
        """Turn exponents into entries of tables."""
        return np.exp(entries, out=entries) if self.form == "product" else entries


def _contrast(main: Matrix, pair: Matrix, n_levels: NDArray[np.int64]) -> tuple[list[Matrix], list[Matrix]]:
    """Return, for each variable, exponents of its levels relative to the first: (K - 1,) and (all levels, K - 1).

    What variables with one level do to others is added to their main effects.
    """
    cuts = np.cumsum(n_levels) - n_levels
    single = cuts[n_levels == 1]
    mains, pairs = [], []
    for cut, n in zip(cuts, n_levels, strict=True):
        own = pair[:, cut + 1 : cut + n] - pair[:, cut : cut + 1]
        mains.append(main[cut + 1 : cut + n] - main[cut] + own[single].sum(axis=0))
        pairs.append(own)
    return mains, pairs
