"""Numbers with zeros in front, such as codes of places: 007 and 7 are one number, and may be two codes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import polars as pl

from sparsefield.data import preview
from sparsefield.tables.reading._characters import Bytes
from sparsefield.tables.reading._contents import Note

# What a number does not begin after: digits, and signs of fractions, times and dates.
_INSIDE = np.isin(np.arange(256), list(b"0123456789.:/-"))
_BYTES_AT_ONCE = 2**22


def list_respelled(
    raw: Bytes, frame: pl.DataFrame, read: Callable[[], pl.DataFrame], names: Sequence[str]
) -> list[Note]:
    """Say which numbers of a text file are written in several ways, and are one level all the same.

    Parameters
    ----------
    raw : bytes
        The file.
    frame : polars.DataFrame
        Its values.
    read : callable
        Returns the values as the text that they are; called where a number may begin with a zero.
    names : sequence of str
        The names of the columns.
    """
    if not any(dtype.is_integer() for dtype in frame.dtypes) or not _has_zero_in_front(raw):
        return []
    notes = []
    for name, column, words in zip(names, frame.iter_columns(), read().iter_columns(), strict=True):
        if column.dtype.is_integer():
            pairs = pl.DataFrame({"number": column, "word": words.str.strip_chars()}).drop_nulls().unique()
            several = pairs.filter(pl.col("number").is_duplicated()).sort("number", "word")
            if several.height:
                number = several["number"][0]
                spelled = preview(several.filter(pl.col("number") == number)["word"].to_list())
                notes.append(Note(f"Column {name!r}: {spelled} are one number, {number}, and one level."))
    return notes


def _has_zero_in_front(raw: Bytes) -> bool:
    """Say whether a number may begin with a zero and another digit."""
    marks = np.frombuffer(raw, dtype=np.uint8)
    for start in range(0, len(marks), _BYTES_AT_ONCE):
        part = marks[start : start + _BYTES_AT_ONCE + 2]
        is_digit = part[2:] - ord("0") < 10  # of bytes below "0" it is large
        if (is_digit & (part[1:-1] == ord("0")) & ~_INSIDE[part[:-2]]).any():
            return True
    return bool(raw[:1] == b"0" and raw[1:2].isdigit())
