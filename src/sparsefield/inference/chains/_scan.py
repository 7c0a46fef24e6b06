"""A field made ready for Gibbs sweeps in a given order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsefield._kernels import _bytes, _intervals, _levels, _packed, _permutes, _sets
from sparsefield._kernels._tables import count_pairs
from sparsefield._kernels._target import HAS_AVX512, borrow
from sparsefield.inference._checks import Storage, check_order, choose_storage, count_lines
from sparsefield.inference._field import Field, reduce_to_binary
from sparsefield.inference.chains import _tables as tables
from sparsefield.inference.chains._level_tables import LevelTables
from sparsefield.inference.chains._tables import Form
from sparsefield.inference.exact_draws._level_bounds import bound_tables

_BOUNDS_OF_LEVELS = {"sets": _sets.sweep_sets, "intervals": _intervals.sweep_intervals}
_BLOCKS_AT_ONCE = 5  # of the dense form; 1000 variables: 85 million updates a second, 78 with one block at a time


class Scan:
    """A field ready for systematic sweeps.

    Parameters
    ----------
    field : Field
        The model.
    order : sequence of int, optional
        The order in which a sweep updates the variables, each once; 0, 1, 2, ... unless given.
    storage : "packed" or "bytes", optional
        How the chains to be swept are held; chosen by the domain and the processor unless given.
    form : "product", "sum", "dense", "sets" or "intervals", optional
        How log-odds are computed; chosen by the size and number of the interactions unless given. All forms draw from
        the same conditional distributions up to rounding. A probability q of one of two levels is right to
        2^-23 q (1 - q) + 2^-31 given the log-odds, and of one of several levels to 2^-31 given their weights; the
        product form rounds each table entry and product to 2^-24 of it, the others round each interaction to 2^-20
        bits, or 2^-29 of the largest log-odds that the variable can have, where that is more. The dense form is for
        variables with at most two levels.
    n_planes : 1, 2 or 3
        What is swept with one set of random numbers: 1, chains; 2, the least and the largest state that chains from
        any start can have (`BoundingChains`); 3, these two and a chain between them. More than one plane is for the
        forms "product" and "sum" or, with more than two levels, for "sets" of levels and, where interactions are super-
        or submodular, "intervals".
    """

    # The sweeps over more than two levels that suit the processor: the same states either way.
    level_kernels: Any = _permutes if HAS_AVX512 else _levels

    def __init__(
        self,
        field: Field,
        *,
        order: Sequence[int] | NDArray[np.int64] | None = None,
        storage: Storage | None = None,
        form: Form | None = None,
        n_planes: int = 1,
    ) -> None:
        if n_planes not in (1, 2, 3):
            raise ValueError(f"n_planes is {n_planes}: use 1, 2 or 3.")
        domain = field.domain
        self.n_planes = n_planes
        self.n_levels = domain.n_levels
        self.storage = choose_storage(domain, storage)
        # A variable with one level has nothing to update.
        checked = check_order(order, domain.n_variables)
        self.order = checked if domain.is_binary else checked[domain.n_levels[checked] > 1]
        self.form: Form
        self.has_levels = not domain.is_binary and bool(np.any(domain.n_levels > 2))
        if self.has_levels:
            if n_planes > 1:
                self.form, self.arguments, self.degree = bound_tables(field, form)
                return
            self._prepare_levels(field, form)
        else:
            self._prepare_two_levels(field, form)

    def _prepare_levels(self, field: Field, form: Form | None) -> None:
        """Fill the arguments of the sweeps over variables with any number of levels."""
        found = LevelTables(field, form)
        self.form, self.degree = found.form, found.degree
        self.arguments = found.arguments(self.level_kernels.arrange_tables)
        self._most_tables, self._n_lookups = found.most_tables, found.n_lookups

    def _prepare_two_levels(self, field: Field, form: Form | None) -> None:
        """Fill the arguments of the sweeps over variables with at most two levels."""
        main, interactions = reduce_to_binary(field)
        starts, sizes = np.empty(len(main) + 1, dtype=np.int64), np.empty(len(main))
        largest, self.most_pairs = count_pairs(main, interactions, starts, sizes)
        self.degree = 2 * float(starts[-1]) / len(main)
        degree = self.degree if self.n_planes == 1 else 0.0  # bounds have no dense form
        if form is not None:
            tables.check_form(form, largest, interactions, self.n_planes)
        self.form = form or tables.choose_form(largest, interactions, degree)
        if self.form == "dense" and self.storage == "packed":
            self.arguments = tables.quad_tables(main, interactions, tables.dense_shifts(sizes, interactions))
            return
        n_lines = count_lines(field.domain.n_variables, self.storage)
        pairs = starts, *tables.list_planes(interactions, starts, self.n_planes, n_lines)
        if self.form == "product":
            self.arguments = tables.product_tables(main, *pairs)
        elif self.form == "dense":
            self.arguments = tables.sum_tables(main, *pairs, tables.dense_shifts(sizes, interactions))
        else:
            self.arguments = tables.sum_tables(main, *pairs, tables.pair_shifts(sizes))

    def sweep(
        self, states: NDArray[Any], streams: NDArray[np.uint64], n_sweeps: int, kept: NDArray[Any] | None = None
    ) -> None:
        """Sweep some blocks of chains in place, but for the bits that are to be kept."""
        if kept is None:
            kept = np.zeros((0, 0, 0), dtype=np.uint8 if self.form in _BOUNDS_OF_LEVELS else states.dtype)
        if self.form in _BOUNDS_OF_LEVELS:
            _BOUNDS_OF_LEVELS[self.form](states, streams, self.order, *self.arguments, kept, n_sweeps)
            return
        if self.has_levels:
            index = borrow("tables", (self._most_tables, _levels.STRIDE), np.uint8)
            weights = borrow("weights", (int(self.n_levels.max()) + _levels.WIDEST, _bytes.BLOCK), np.float32)
            kernel = getattr(self.level_kernels, f"sweep_{self.form}")
            kernel(states, streams, self.order, *self.arguments, kept, index, weights, n_sweeps)
            return
        if self.storage == "bytes":
            form = "sum" if self.form == "dense" else self.form
            getattr(_bytes, f"sweep_{form}")(states, streams, self.order, *self.arguments, kept, n_sweeps)
            return
        if self.form == "dense":
            shape = (_BLOCKS_AT_ONCE, _packed.GROUPS, self.arguments[0].shape[1], _packed.QUAD)
            index = borrow("quads", shape, np.uint8)
            index.fill(0)  # fours that are not full keep zeros
        else:
            index = borrow("pairs", (_packed.SHIFTS, self.most_pairs, 16), np.uint32)
        weights = borrow("weights", (self.n_planes, _bytes.BLOCK), np.float32)
        kernel = getattr(_packed, f"sweep_{self.form}")
        kernel(states, streams, self.order, *self.arguments, kept, index, weights, n_sweeps)

    @property
    def seconds_per_block(self) -> float:
        """Estimate the time of one sweep of a block, to decide how to share work (measured on Zen 3 and 4)."""
        if self.form in _BOUNDS_OF_LEVELS:
            # Four or five levels. Sets take 11 ns where all are closed, and 14 for each neighbour where all are open.
            first, each = {"sets": (10e-9, 8e-9), "intervals": (4e-9 * self.n_planes, 1.2e-9 * self.n_planes)}[
                self.form
            ]
            return _bytes.BLOCK * len(self.order) * (first + each * self.degree)
        if self.has_levels:
            slower = 1.0 if self.level_kernels is _permutes else 3.0
            levels = 0.2e-9 * int(self.n_levels[self.order].sum())
            return _bytes.BLOCK * (levels + 0.03e-9 * self._n_lookups) * slower
        update = 0.4e-9 + 0.03e-9 * self.degree
        slower = {"packed": 1.0, "bytes": 4.0}[self.storage]
        return _bytes.BLOCK * len(self.order) * update * slower * (0.2 + 0.8 * self.n_planes)
