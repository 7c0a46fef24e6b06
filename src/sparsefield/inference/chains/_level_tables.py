"""The tables of sweeps over variables with more than two levels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsefield._kernels._level_tables import contrast_levels, fill_tables, group_neighbours
from sparsefield._kernels._levels import ENTRIES, WIDEST
from sparsefield._kernels._target import make_aligned
from sparsefield._typing import Matrix
from sparsefield.inference._field import Field, expand
from sparsefield.inference.chains._tables import LARGEST_PRODUCT, Form, as_whole, pair_shifts


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
        main, self._pair = expand(field)
        self._main, largest = contrast_levels(main, self._pair, self._cuts, n_levels)
        sizes = np.abs(self._main).max(axis=1) + largest.sum(axis=1)
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

    def arguments(self, arrange: Callable[[NDArray[Any]], NDArray[Any]]) -> tuple[NDArray[Any], ...]:
        """Return the arguments of the sweeps, between the order and what is kept; `arrange` lays tables out."""
        n_levels, kind = self._n_levels, (np.float32 if self.form == "product" else np.int32)
        biases: NDArray[Any] = np.zeros((len(n_levels), n_levels.max() - 1 + WIDEST), dtype=kind)
        parts = []
        for i, n in enumerate(n_levels):
            biases[i, : n - 1] = self._finish(self._main[i, : n - 1], i)
            entries = np.empty((self._starts[i + 1] - self._starts[i], n - 1, ENTRIES))
            fill_tables(self._pair, self._cuts, n_levels, i, self._starts[i], *self._groups, entries)
            parts.append(arrange(self._finish(entries, i)))
        ends = np.cumsum([part.size for part in parts])
        tables = make_aligned((int(ends[-1]),), kind)
        np.concatenate(parts, out=tables)
        shifts = (self._shifts,) if self.form == "sum" else ()
        return (n_levels, self._starts, *self._groups, np.concatenate(([0], ends[:-1])), tables, biases, *shifts)

    def _finish(self, exponents: Matrix, i: int) -> NDArray[Any]:
        """Turn exponents of a variable into entries of tables."""
        product = self.form == "product"
        return np.exp(exponents).astype(np.float32) if product else as_whole(exponents, self._shifts[i])
