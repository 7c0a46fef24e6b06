"""Tables of observations: any data frame, array or file in, small integer codes out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from sparsefield._columns import code_of, encode_column
from sparsefield._domain import HOLE, MOST_LEVELS, Domain, Level, check_names, make_names, preview
from sparsefield._files import MISSING_MARKERS, read_table

MAX_LEVELS = 32  # more levels than this are usually a measurement or an identifier


@dataclass(frozen=True, eq=False)
class Table:
    """Observations as codes, one row an observation, one column a variable.

    Parameters
    ----------
    domain : Domain
        The variables.
    codes : ndarray of shape (n_rows, n_variables), uint8
        The place of each value among its variable's levels; 255 where nothing was observed.
    """

    domain: Domain
    codes: NDArray[np.uint8]

    def __post_init__(self) -> None:
        if self.codes.ndim != 2 or self.codes.shape[1] != self.domain.n_variables or self.codes.dtype != np.uint8:
            raise ValueError(
                f"Codes have shape {self.codes.shape} and type {self.codes.dtype}: "
                f"use uint8 and one column for each of the {self.domain.n_variables} variables."
            )

    @property
    def n_rows(self) -> int:
        """The number of observations."""
        return len(self.codes)

    @property
    def mask(self) -> NDArray[np.bool_]:
        """True where a cell is a hole: nothing was observed."""
        return np.equal(self.codes, HOLE)

    @property
    def n_holes(self) -> NDArray[np.int64]:
        """The number of holes in each column."""
        return np.array([np.count_nonzero(column == HOLE) for column in self.codes.T], dtype=np.int64)

    def fill_holes(self, value: Level) -> Table:
        """Put one value into every hole (the paper's choice is 0: absent votes count as nay)."""
        codes = self.codes.copy(order="F")
        for i in np.flatnonzero(self.n_holes):
            codes[codes[:, i] == HOLE, i] = code_of(value, self.domain.names[i], self.domain.levels[i])
        return Table(self.domain, codes)

    def fingerprint(self) -> str:
        """Return a short text that tells tables apart: of how often each level of each variable occurs."""
        counts = np.array([np.bincount(codes, minlength=HOLE + 1) for codes in self.codes.T], dtype=np.int64)
        return sha256(counts.tobytes()).hexdigest()[:16]

    def fill_first(self) -> Table:
        """Put the first level of each variable into its holes; a column of holes alone has none."""
        codes = np.where(self.mask, 0, self.codes).astype(np.uint8)
        return Table(self.domain, np.asfortranarray(codes))

    def drop_holes(self) -> Table:
        """Keep the rows without a hole."""
        whole = ~self.mask.any(axis=1)
        if not whole.any():
            raise ValueError("Every row has a hole: nothing would be left. Fill the holes instead.")
        return Table(self.domain, np.asfortranarray(self.codes[whole]))

    def to_frame(self) -> pl.DataFrame:
        """Return the observations as they came in, as a polars data frame with nulls for holes."""
        columns = {}
        for name, levels, codes in zip(self.domain.names, self.domain.levels, self.codes.T, strict=True):
            values = pl.Series(list(levels))
            places = pl.Series(codes, dtype=pl.UInt32)
            columns[name] = values.gather(places.set(places == HOLE, None))
        return pl.DataFrame(columns)

    def summary(self) -> pl.DataFrame:
        """Describe each variable: levels, holes, and how often its most frequent level was seen."""
        rows = []
        for name, levels, codes in zip(self.domain.names, self.domain.levels, self.codes.T, strict=True):
            seen = np.bincount(codes, minlength=HOLE + 1)
            top = int(seen[:HOLE].argmax())
            share = seen[top] / max(1, self.n_rows - seen[HOLE])
            rows.append((name, len(levels), int(seen[HOLE]), str(levels[top]), float(share)))
        return pl.DataFrame(rows, schema=["variable", "levels", "holes", "most frequent", "share"], orient="row")


def encode(
    data: Any,
    *,
    domain: Domain | None = None,
    reference: Mapping[str, Level] | str | None = "first",
    max_levels: int = MAX_LEVELS,
    missing_markers: Iterable[str] = MISSING_MARKERS,
    separator: str | None = None,
) -> Table:
    """Encode a table of observations.

    Parameters
    ----------
    data : 2-D array, pandas or polars data frame, or path of a .csv, .tsv or .parquet file
        Columns of booleans, whole numbers (also stored as floats), text or categories. Empty cells, null and NaN
        are holes.
    domain : Domain, optional
        Use these names and levels instead of finding them; a value outside is an error.
    reference : "first", mapping of names to levels, or None
        The level without parameters: the first of each variable, those named (the first elsewhere), or none.
    max_levels : int
        Columns with more levels are refused.
    missing_markers : iterable of str
        Words that mean a hole in a .csv or .tsv file.
    separator : str, optional
        The character between the fields of a file; told by its ending unless given.

    Returns
    -------
    Table
        Levels are in order: False and True, numbers ascending, text alphabetical, categories as declared (those
        that occur).

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
    names, column_of, n_rows = _open_columns(data, tuple(missing_markers), separator)
    check_names(names)
    if n_rows == 0:
        raise ValueError("The table has no rows: give at least one observation.")
    if domain is not None:
        _check_same_names(names, domain)
        max_levels = MOST_LEVELS
    codes = np.empty((n_rows, len(names)), dtype=np.uint8, order="F")
    found = []
    for i, name in enumerate(names):
        known = None if domain is None else domain.levels[i]
        found.append(encode_column(name, column_of(i), known, max_levels, codes[:, i]))
    if domain is None:
        domain = Domain(names, tuple(found), _choose_reference(names, found, reference))
    return Table(domain, codes)


def _open_columns(
    data: Any, markers: tuple[str, ...], separator: str | None
) -> tuple[tuple[str, ...], Callable[[int], Any], int]:
    """Find names, a way to take one column, and the number of rows, without copying the table."""
    if isinstance(data, Table):
        data = data.to_frame()
    if isinstance(data, str | Path):
        data = read_table(Path(data), markers, separator)
    if nw.dependencies.is_into_dataframe(data):
        if nw.dependencies.is_pandas_dataframe(data):
            # pandas numbers columns that were given no name, and allows two of one name.
            check_names([str(name) if isinstance(name, int) else name for name in data.columns])
        frame = nw.from_native(data, eager_only=True)
        return tuple(str(name) for name in frame.columns), lambda i: frame[:, i], len(frame)
    if nw.dependencies.is_into_lazyframe(data):
        raise ValueError("The table is lazy, its rows are not there yet: call collect() first.")
    try:
        array = np.ma.asarray(data) if isinstance(data, np.ma.MaskedArray) else np.asarray(data)
        if array.dtype.kind in "US" and not isinstance(data, np.ndarray):
            array = np.asarray(data, dtype=object)  # numpy would turn numbers beside text into text
    except ValueError as error:
        raise ValueError(
            "The rows of the table have different lengths: give each the same number of values."
        ) from error
    if array.ndim != 2:
        raise ValueError(
            f"The table has {array.ndim} dimension(s): give rows and columns, a data frame, or the path of a file."
        )
    if isinstance(array, np.ma.MaskedArray):
        return make_names(array.shape[1]), lambda i: np.array(array[:, i].tolist(), dtype=object), array.shape[0]
    return make_names(array.shape[1]), lambda i: array[:, i], array.shape[0]


def _check_same_names(names: tuple[str, ...], domain: Domain) -> None:
    if names == domain.names:
        return
    if len(names) == domain.n_variables and names == make_names(len(names)):
        return  # an array has no names of its own
    odd = [name for name in (*names, *domain.names) if (name in names) != (name in domain.names)]
    if odd:
        where = "is not in the domain" if odd[0] in names else "is missing from the table"
        raise ValueError(f"Column {odd[0]!r} {where}: give the columns {preview(domain.names)}.")
    raise ValueError(f"The columns are in another order than in the domain: give them as {preview(domain.names)}.")


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
