"""What looks wrong in a table and is legal: questions to its owner, in parts and in sentences."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from sparsefield.data import CountedTable, Rows, Suspicion, Table, resolve_missing, take_counted
from sparsefield.tables.encoding._encode import encode
from sparsefield.tables.suspicions._missing_codes import columns_of, find_codes, find_words
from sparsefield.tables.suspicions._odd_columns import (
    find_copies,
    find_counted_copies,
    find_dropped_rows,
    find_empty_rows,
    find_few_rows,
    find_frequencies,
    find_gone_rows,
    find_mostly_missing,
    find_row_names,
)
from sparsefield.tables.suspicions._odd_levels import find_counts, find_rare, find_variants


def find_suspicions(
    data: Any, *, missing: str = "model", sample_weight: ArrayLike | None = None
) -> tuple[Suspicion, ...]:
    """Look for what is legal in a table and may not have been meant.

    Numbers and words that stand for missing values; levels that differ in case and blanks alone, or are seen once or
    twice; counts; columns that name the rows, say the same, or are mostly missing; rows that are empty or left out, and
    too few of them. The rules are made for few false alarms: they ask, and change nothing. Of tables that are counted
    part by part (`count_data`), counts are looked at.

    Parameters
    ----------
    data : Table, array, pandas or polars data frame, or path
        Observations, one row each; see `encode`.
    missing : "model", "zero", "drop" or "error"
        What a fit does with missing values.
    sample_weight : array-like of shape (n_rows,), optional
        How often each row counts.

    Returns
    -------
    tuple of Suspicion

    Examples
    --------
    >>> import sparsefield as sf
    >>> rows = [[1, 0], [2, 1], [3, 0], [-99, 1], [2, 0], [1, 1]] * 20
    >>> for own in sf.tables.find_suspicions(rows):
    ...     print(own.kind, own.columns, own.values)
    missing code ('x0',) (-99,)
    """
    if isinstance(data, CountedTable):
        return _look_at_counts(data)
    whole = data if isinstance(data, Table) else encode(data)
    counted, weights = take_counted(whole, sample_weight)
    table, weights = resolve_missing(counted, missing, weights)
    columns = columns_of(table)
    return (
        *find_codes(columns),
        *find_words(columns),
        *find_variants(columns),
        *find_row_names(table, columns),
        *find_frequencies(table),
        *find_counts(table, columns),
        *find_rare(table, columns, whole),
        *find_copies(table, columns),
        *find_mostly_missing(counted),
        *find_empty_rows(table),
        *find_gone_rows(counted, table),
        *find_few_rows(Rows(table, weights)),
    )


def _look_at_counts(table: CountedTable) -> tuple[Suspicion, ...]:
    """Look for what can be told from counts, without the rows."""
    columns = columns_of(table)
    return (
        *find_codes(columns),
        *find_words(columns),
        *find_variants(columns),
        *find_counts(table, columns),
        *find_counted_copies(table, columns),
        *find_dropped_rows(table),
        *find_few_rows(Rows(table)),
    )
