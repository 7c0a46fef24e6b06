"""Dask data frames and arrays: each partition is counted by the worker that has it, and counts travel."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from sparsefield.data import TableError, count, make_names
from sparsefield.tables.parts._part import Asked, tally_part
from sparsefield.tables.parts._parts import WatchRows, spread_levels
from sparsefield.tables.parts._row_sample import sample_size
from sparsefield.tables.parts._tally import Levels, Tally

_SUMMED = 8  # tallies that one task adds up
_FAR = 2**40  # numbers between the first rows of partitions whose lengths are not known
_SPARE = 2  # times as many rows of samples as are kept: partitions may differ in length


@dataclass(frozen=True, eq=False)
class DaskParts:
    """A collection of Dask with rows: a data frame, or an array with two dimensions.

    Which rows are in the sample depends on the partitions of a data frame, whose lengths Dask does not know before they
    are read; the counts do not.

    Parameters
    ----------
    collection : dask.dataframe.DataFrame or dask.array.Array
        The table.
    """

    collection: Any

    def __post_init__(self) -> None:
        if self._is_array and self.collection.ndim != 2:
            raise TableError(f"The array has {count(self.collection.ndim, 'dimension')}", "give rows and columns")

    @property
    def _is_array(self) -> bool:
        return hasattr(self.collection, "chunks")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its columns."""
        if self._is_array:
            return make_names(self.collection.shape[1])
        return tuple(str(name) for name in self.collection.columns)

    def tally(self, asked: Asked, watch: WatchRows | None = None) -> Tally:
        """Count all partitions where they are, and add their counts up in a tree."""
        from dask.base import compute
        from dask.delayed import delayed

        parts, firsts = self._open()
        n_sampled = min(asked.n_sampled, 1 + _SPARE * sample_size(len(self.names)) // len(parts))
        # Each worker has one partition at a time: others are busy with others.
        asked, own = replace(asked, n_threads=1, n_sampled=n_sampled), delayed(_tally_partition, pure=False)
        tallies = [own(part, k, first, asked) for k, (part, first) in enumerate(zip(parts, firsts, strict=True))]
        while len(tallies) > 1:
            tallies = [delayed(_add, pure=False)(tallies[k : k + _SUMMED]) for k in range(0, len(tallies), _SUMMED)]
        (total,) = compute(tallies[0])
        if total.n + total.n_dropped == 0:
            raise TableError("The table has no rows", "give at least one observation")
        if watch is not None:
            watch(total.n + total.n_dropped)
        return total  # type: ignore[no-any-return]

    def _open(self) -> tuple[Sequence[Any], Sequence[int]]:
        """Return the parts, as work that is still to be done, and the number of the first row of each."""
        if not self._is_array:
            parts = self.collection.to_delayed()
            return parts, [_FAR * k for k in range(len(parts))]
        rows = self.collection.rechunk({1: -1})
        lengths = rows.chunks[0]
        known = not any(np.isnan(lengths))
        firsts = np.cumsum([0, *lengths[:-1]]) if known else _FAR * np.arange(len(lengths))
        return rows.to_delayed()[:, 0], [int(first) for first in firsts]

    def as_table(self, levels: Levels) -> Any:
        """Return a small table of the same kind that shows these levels."""
        rows = spread_levels(levels)
        if self._is_array:
            return np.array(rows, dtype=object).T
        pd = importlib.import_module("pandas")

        # Categories are in the order that they are declared in, where all partitions know them.
        own = self.collection._meta.dtypes
        columns = {}
        for (name, dtype), values in zip(own.items(), rows, strict=True):
            is_known = isinstance(dtype, pd.CategoricalDtype) and self.collection[name].cat.known
            columns[str(name)] = pd.Series(values, dtype=dtype if is_known else object)
        return pd.DataFrame(columns)


def find_dask(data: Any) -> DaskParts | None:
    """Return the parts of a collection of Dask; None where the data are something else.

    Where they are one, Dask is imported already.
    """
    kinds = (("dask.dataframe", "DataFrame"), ("dask.array", "Array"))
    found = [getattr(sys.modules[module], name) for module, name in kinds if module in sys.modules]
    return DaskParts(data) if isinstance(data, tuple(found)) else None


def _tally_partition(part: Any, k: int, first: int, asked: Asked) -> Tally:
    """Count one partition; its errors have the number of the row in it."""
    try:
        return tally_part(part, first, asked)
    except TableError as error:
        own = error.further_down(-first)
        problem = f"Partition {k}: {own.problem}"
        raise TableError(
            problem, own.remedy, column=own.column, row=own.row, value=own.value, option=own.option
        ) from None


def _add(tallies: Sequence[Tally]) -> Tally:
    return reduce(Tally.__add__, tallies)
