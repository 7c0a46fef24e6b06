"""Columns that name or number the rows, and are no variables."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

_NEARLY_ALL = 0.9  # of the cells: some names of rows occur twice
_FEWEST = 10  # rows: in fewer, the answers to a question may all differ


def names_rows(n_levels: int, n_cells: int) -> bool:
    """Say whether a column of text with so many different values in so many cells seems to name the rows."""
    return n_cells >= _FEWEST and n_levels > _NEARLY_ALL * n_cells


def is_numbering(numbers: NDArray[Any]) -> bool:
    """Say whether whole numbers of a column, one for each row, number the rows: each is larger than the last one."""
    return len(numbers) >= _FEWEST and bool((numbers[1:] > numbers[:-1]).all())
