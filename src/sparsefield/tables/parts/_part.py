"""One part of a table that is not in memory as a whole, counted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsefield._kernels._target import borrow
from sparsefield.data import MISSING, Domain, Level, TableError, count_slots
from sparsefield.tables.encoding._columns import code_column
from sparsefield.tables.encoding._opening import open_columns
from sparsefield.tables.parts._row_sample import ALL_KEYS, RowSample
from sparsefield.tables.parts._tally import Tally


@dataclass(frozen=True)
class Asked:
    """What is asked of the parts of a table.

    Parameters
    ----------
    missing : "zero", "drop" or "error"
        Count missing values as the first level of their variable, leave their rows out, or refuse them.
    max_levels : int
        Columns with more levels are refused.
    domain : Domain, optional
        The levels, where they are known; others are refused then.
    n_threads : int, optional
        Threads that count.
    n_sampled : int
        Rows of a part that its sample has at most.
    """

    missing: str
    max_levels: int
    domain: Domain | None = None
    n_threads: int | None = None
    n_sampled: int = 2**16


def tally_part(part: Any, first: int, asked: Asked, bound: int = ALL_KEYS) -> Tally:
    """Count the rows of one part.

    Parameters
    ----------
    part : data frame or array
        Some rows.
    first : int
        The number of its first row, which others follow.
    asked : Asked
        What is asked of all parts alike.
    bound : int
        Rows with larger keys are no part of the sample.
    """
    names, column_of, n_rows = open_columns(part)
    if asked.domain is not None:
        names = asked.domain.names
    codes = borrow("codes of a part", (len(names), n_rows), np.uint8)
    try:
        levels = [_code(i, name, column_of, asked, codes[i]) for i, name in enumerate(names)]
    except TableError as error:
        raise error.further_down(first) from None
    n_missing = np.array([np.count_nonzero(own == MISSING) if n_rows and own.max() == MISSING else 0 for own in codes])
    is_kept = None
    if n_missing.any():
        is_kept = _settle(names, codes, n_missing, levels, asked.missing, first)
    sample = RowSample.of_part(codes.T, first, is_kept, bound, asked.n_sampled)
    counted = codes if is_kept is None else codes[:, is_kept]
    slots = [(i, k) for i, own in enumerate(levels) for k in range(1, len(own))]
    variables, own_levels = np.array(slots, dtype=np.int64).reshape(-1, 2).T.copy()
    pair = count_slots(counted.T, variables, own_levels, asked.n_threads)
    n = counted.shape[1]
    return Tally(names, tuple(levels), pair, n, n_missing, n_rows - n, sample)


def _code(
    i: int, name: str, column_of: Callable[[int], Any], asked: Asked, out: NDArray[np.uint8]
) -> tuple[Level | None, ...]:
    known = None if asked.domain is None else asked.domain.levels[i]
    return code_column(name, column_of(i), known, asked.max_levels, out)


def _settle(
    names: tuple[str, ...],
    codes: NDArray[np.uint8],
    n_missing: NDArray[np.int64],
    levels: list[tuple[Level | None, ...]],
    missing: str,
    first: int,
) -> NDArray[np.bool_] | None:
    """Do with missing values what is asked for; return which rows count, where some do not."""
    if missing == "drop":
        return np.asarray(~(codes == MISSING).any(axis=0))
    if missing == "zero":
        for i in np.flatnonzero(n_missing):  # a level of their own: which is the first one is known in the end
            codes[i][codes[i] == MISSING] = len(levels[i])
            levels[i] = (*levels[i], None)
        return None
    column = int(np.flatnonzero(n_missing)[0])
    row = int(np.argmax(codes[column] == MISSING))
    raise TableError(
        f"Column {names[column]!r} has a missing value in row {first + row}, and rows that are counted must be whole",
        "set {option} to 'drop' or 'zero'; where all rows fit into memory, a model can fill them (encode)",
        column=names[column],
        row=first + row,
        option="missing",
    )
