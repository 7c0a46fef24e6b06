"""Any table in, codes out: data frames, arrays and files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsefield.data import MISSING, MOST_LEVELS, Domain, Level, Table, TableError, check_names, code_of
from sparsefield.tables.encoding._columns import encode_column
from sparsefield.tables.encoding._opening import check_same_names, open_columns
from sparsefield.tables.encoding._ordered import Ordinal, check_ordinal, find_order, find_scores
from sparsefield.tables.encoding._variants import MergeLevels, check_merged, merge_variants
from sparsefield.tables.reading._reading import MISSING_MARKERS, read_contents

MAX_LEVELS = 32  # more levels than this are usually a measurement or an identifier


def encode(
    data: Any,
    *,
    domain: Domain | None = None,
    reference: Mapping[str, Level] | str | None = "first",
    ordinal: Ordinal = None,
    merge_levels: MergeLevels = False,
    max_levels: int = MAX_LEVELS,
    missing_markers: Iterable[str] = MISSING_MARKERS,
    separator: str | None = None,
) -> Table:
    """Encode a table of observations.

    Parameters
    ----------
    data : 2-D array, pandas or polars data frame, or path of a file that `read_table` reads
        Or lists of values by the names of their columns, or a list of rows that are dictionaries. Columns of booleans,
        whole numbers (also stored as floats), text or categories. Empty cells, null and NaN are missing values. Files
        named like alignments are read as `read_alignment` does.
    domain : Domain, optional
        Use these names and levels instead of finding them; a value outside is an error.
    reference : "first", mapping of names to levels, or None
        The level without parameters: the first of each variable, those named (the first elsewhere), or none.
    ordinal : iterable of names, mapping of names, bool, optional
        Which columns have ordered levels, besides those that the table declares to be (ordered categories of pandas,
        Enum of polars): the names of columns of numbers; or for each name its levels in order (text), or a score for
        each of its levels (numbers). True: all columns of numbers with more than two levels; False: none. Scores
        that are not given are the numbers themselves, or positions 0, 1, 2, ... among all levels that are declared.
        The interaction of two ordered variables is one number with a sign.
    merge_levels : bool or iterable of names
        Whether values of text that differ in case and blanks alone are one level, in the most frequent spelling: in all
        columns, or in those that are named.
    max_levels : int
        Columns with more levels are refused; at most 254 can be held.
    missing_markers : iterable of str
        Words that mean a missing value in a file; see `read_table`, which also has options for sheets and names.
    separator : str, optional
        The character between the values of a text file; found out unless given.

    Returns
    -------
    Table
        Levels are in order: False and True, numbers ascending, text alphabetical, categories of pandas and Enums of
        polars as declared (those that occur).

    Examples
    --------
    >>> import sparsefield as sf
    >>> table = sf.encode([[0, 1], [1, 1], [0, 0]])
    >>> table.codes.tolist()
    [[0, 1], [1, 1], [0, 0]]
    >>> table.domain.names
    ('x0', 'x1')
    """
    if not 1 <= max_levels <= MOST_LEVELS:
        raise ValueError(f"max_levels is {max_levels}: use 1 to {MOST_LEVELS}.")
    if isinstance(data, str | Path):
        contents = read_contents(data, missing_markers=missing_markers, separator=separator)
        contents.warn(stacklevel=2)
        with contents.locate():
            return encode(
                contents.frame,
                domain=domain,
                reference=reference,
                ordinal=ordinal,
                merge_levels=merge_levels,
                max_levels=max_levels,
            )
    markers = tuple(missing_markers)
    if separator is not None or markers != MISSING_MARKERS:
        own = "missing_markers" if separator is None else "separator"
        raise ValueError(f"{own} is for files that are read here: leave it out, or make such cells empty before.")
    names, column_of, n_rows = open_columns(data)
    check_names(names)
    if n_rows == 0:
        raise TableError("The table has no rows", "give at least one observation")
    if domain is not None:
        check_same_names(names, domain)
        max_levels = MOST_LEVELS
        if ordinal is not None:
            raise ValueError("ordinal is given with a domain, which knows what is ordered: leave one of them out.")
    ordinal, merged = check_ordinal(names, ordinal), check_merged(names, merge_levels)
    codes = np.empty((n_rows, len(names)), dtype=np.uint8, order="F")
    found, scores = [], []
    for i, name in enumerate(names):
        column = column_of(i)
        known = find_order(name, column, ordinal) if domain is None else domain.levels[i]
        if name in merged:
            column = merge_variants(name, column, known)
        levels = encode_column(name, column, known, max_levels, codes[:, i])
        if domain is None:
            levels = _take_seen(levels, codes[:, i]) if known else levels
            scores.append(find_scores(name, column, levels, known, ordinal))
        found.append(levels)
    if domain is None:
        domain = Domain(names, tuple(found), _choose_reference(names, found, reference), tuple(scores))
    return Table(domain, codes)


def _take_seen(levels: tuple[Level, ...], codes: NDArray[np.uint8]) -> tuple[Level, ...]:
    """Return the levels that occur, and give their codes to the cells."""
    seen = np.flatnonzero(np.bincount(codes, minlength=256)[: len(levels)])
    new = np.full(256, MISSING, dtype=np.uint8)
    new[seen] = np.arange(len(seen))
    codes[:] = new[codes]
    return tuple(levels[k] for k in seen)


def _choose_reference(
    names: tuple[str, ...], levels: list[tuple[Level, ...]], reference: Mapping[str, Level] | str | None
) -> tuple[int, ...] | None:
    if reference is None:
        return None
    if reference == "first":
        return (0,) * len(names)
    if not isinstance(reference, Mapping):
        raise ValueError(f"reference is {reference!r}: use 'first', a mapping of names to levels, or None.")
    for name in reference:
        if name not in names:
            raise ValueError(f"reference names column {name!r}, which the table does not have.")
    return tuple(
        code_of(reference[name], name, own) if name in reference else 0 for name, own in zip(names, levels, strict=True)
    )
