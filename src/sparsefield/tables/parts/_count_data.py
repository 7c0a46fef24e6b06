"""Tables larger than memory, counted in one pass."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from sparsefield.data import (
    WAYS_WITH_MISSING,
    CountedTable,
    Counts,
    Domain,
    Level,
    Rows,
    Table,
    TableError,
    check_names,
    listed,
    resolve_missing,
)
from sparsefield.tables.encoding._encode import MAX_LEVELS, encode
from sparsefield.tables.encoding._opening import check_same_names
from sparsefield.tables.encoding._ordered import Ordinal
from sparsefield.tables.parts._dask_parts import find_dask
from sparsefield.tables.parts._folders import find_files
from sparsefield.tables.parts._part import Asked
from sparsefield.tables.parts._parts import LazyParts, Parts, WatchRows
from sparsefield.tables.parts._tally import Tally, new_codes
from sparsefield.tables.reading._contents import ReadingWarning
from sparsefield.tables.reading._reading import MISSING_MARKERS
from sparsefield.tables.reading._source import as_address


def count_data(
    data: Any,
    *,
    domain: Domain | None = None,
    reference: Mapping[str, Level] | str | None = "first",
    ordinal: Ordinal = None,
    max_levels: int = MAX_LEVELS,
    missing: Literal["model", "zero", "drop", "error"] = "error",
    n_threads: int | None = None,
    watch: WatchRows | None = None,
) -> CountedTable:
    """Count a table in one pass, part after part: however many rows it has, they are never in memory together.

    Levels are found on the way. Counts are whole numbers, the same as those of the table in memory, whatever the parts.

    Parameters
    ----------
    data : path, polars LazyFrame, Dask DataFrame or Dask array
        A parquet, Arrow or text file, a folder of such files, or a pattern of their names (``part-*.csv``); or a table
        that is read when it is asked for. Partitions of Dask are counted by the workers that have them. What is in
        memory is counted as well.
    domain, reference, ordinal, max_levels
        As for `encode`.
    missing : "zero", "drop", "error" or "model"
        Count missing values as the first level of their variable; leave out the rows that have any; or refuse them, as
        "model" does too: what a model expects of missing values depends on the rows.
    n_threads : int, optional
        Threads that count, where they are not those of Dask; the result does not depend on it.
    watch : callable, optional
        Called with the number of rows that are counted so far.

    Returns
    -------
    CountedTable
        What `learn`, `SparseMRF` and `certify` take in place of a table.

    Examples
    --------
    >>> import polars as pl
    >>> import sparsefield as sf
    >>> for k in range(3):
    ...     pl.DataFrame({"a": [0, 1, k % 2], "b": [k, 1, 2]}).write_parquet(f"part-{k}.parquet")
    >>> table = sf.tables.count_data("part-*.parquet")
    >>> table.n_rows, table.domain.levels
    (9, ((0, 1), (0, 1, 2)))
    """
    parts = find_parts(data, at_all=True)
    asked: dict[str, Any] = {"domain": domain, "reference": reference, "ordinal": ordinal, "max_levels": max_levels}
    if parts is not None:
        return count_parts(parts, missing=missing, n_threads=n_threads, watch=watch, **asked)
    if isinstance(data, CountedTable):
        return data
    table = data if isinstance(data, Table) else encode(data, **asked)
    return CountedTable.of_table(resolve_missing(table, "error" if missing == "model" else missing)[0])


def open_rows(
    data: Any,
    *,
    missing: str = "model",
    domain: Domain | None = None,
    ordinal: Ordinal = None,
    n_threads: int | None = None,
    watch: WatchRows | None = None,
) -> Table:
    """Return the rows of a table where they fit into memory, and what `count_data` knows of them where they do not."""
    if isinstance(data, CountedTable):
        return data
    parts = find_parts(data)
    if parts is None:
        return encode(data, domain=domain, ordinal=ordinal)
    return count_parts(parts, domain=domain, ordinal=ordinal, missing=missing, n_threads=n_threads, watch=watch)


def read_rows(
    data: Any,
    sample_weight: ArrayLike | None = None,
    *,
    missing: str = "model",
    ordinal: Ordinal = None,
    n_threads: int | None = None,
    watch: WatchRows | None = None,
) -> Rows:
    """Read the rows that count, whatever holds them: once for each fit.

    Parameters
    ----------
    data : Table, array, pandas or polars data frame, path, or Rows
        Observations, one row each; see `encode`. What is lazy or large is counted part by part; see `count_data`. Rows
        that were read before are returned as they are, with what is counted of them.
    sample_weight : array-like of shape (n_rows,), optional
        How often each row counts.
    missing : "model", "zero", "drop" or "error"
        What to do with missing values; see `resolve_missing`.
    ordinal
        As for `encode`, of what is read here.
    n_threads : int, optional
        Threads that count.
    watch : callable, optional
        Called with the number of rows that are counted so far, where they are not in memory.
    """
    if isinstance(data, Rows):
        return data
    if ordinal is not None and isinstance(data, Table):
        raise ValueError("ordinal is for tables that are read here: give it to encode, which made this one.")
    if isinstance(data, Table):
        return Rows.of(data, sample_weight, missing)
    table = open_rows(data, missing=missing, ordinal=ordinal, n_threads=n_threads, watch=watch)
    return Rows.of(table, sample_weight, missing)


def find_parts(data: Any, *, at_all: bool = False) -> Parts | None:
    """Return the parts of a table that is lazy or large; None where it is in memory, or fits.

    Parameters
    ----------
    data : object
        Anything that holds rows.
    at_all : bool
        Return the parts of files that fit too.
    """
    if isinstance(data, pl.LazyFrame):
        return LazyParts(data)
    if isinstance(data, str | Path) and as_address(data) is None:
        parts = find_large(data, at_all=at_all)
        for note in () if parts is None else parts.notes:
            warnings.warn(str(note), ReadingWarning, stacklevel=3)
        return parts
    return find_dask(data)


def find_large(
    path: str | Path,
    *,
    missing_markers: Iterable[str] = MISSING_MARKERS,
    separator: str | None = None,
    header: bool | None = None,
    at_all: bool = False,
) -> LazyParts | None:
    """Return the parts of files that are too large to be read into memory; None of others, unless they are asked for.

    Options are those of `read_table`.
    """
    files = find_files(path)
    if files is None or not (at_all or files.is_large()):
        return None
    return files.parts(tuple(missing_markers), separator, header)


def count_parts(
    parts: Parts,
    *,
    domain: Domain | None = None,
    reference: Mapping[str, Level] | str | None = "first",
    ordinal: Ordinal = None,
    max_levels: int = MAX_LEVELS,
    missing: str = "error",
    n_threads: int | None = None,
    watch: WatchRows | None = None,
) -> CountedTable:
    """Count a table that comes in parts, as `count_data` says."""
    if missing not in WAYS_WITH_MISSING:
        raise ValueError(f"missing is {missing!r}: use {listed(WAYS_WITH_MISSING)}.")
    check_names(parts.names)
    if domain is not None:
        check_same_names(parts.names, domain)
        if ordinal is not None:
            raise ValueError("ordinal is given with a domain, which knows what is ordered: leave one of them out.")
    tally = parts.tally(Asked(missing, max_levels, domain, n_threads), watch)
    if tally.n == 0:
        raise TableError("Every row has a missing value, so that nothing would be left", "Fill them instead")
    if domain is None:
        small = parts.as_table(tally.levels)
        domain = encode(small, reference=reference, ordinal=ordinal, max_levels=max_levels).domain
    return _settle(tally, domain, missing)


def _settle(tally: Tally, domain: Domain, missing: str) -> CountedTable:
    """Return the counts, and the sample, in the codes of a domain."""
    wanted = [(i, domain.levels[i][k]) for i, k in zip(domain.slot_variables, domain.slot_levels, strict=True)]
    fills = [levels[0] for levels in domain.levels]
    is_same = tally.levels == domain.levels and domain.reference is not None and not any(domain.reference)
    pair = tally.pair if is_same else tally.counts_of(wanted, fills)
    sample = tally.sample.recoded(new_codes(tally.levels, domain.levels))
    n_filled = tally.n_missing if missing == "zero" else np.zeros_like(tally.n_missing)
    return CountedTable(domain, Counts(pair, tally.n), Table(domain, sample.in_order()), tally.n_dropped, n_filled)
