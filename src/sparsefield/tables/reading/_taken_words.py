"""Words of a file that count as missing values, in columns of which they may be a level."""

from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl

from sparsefield.data import Suspicion, columns_have, count, preview

# "None", "Some", "Much" is a scale; North America and Namibia are NA among continents and countries.
DOUBTFUL_MARKERS = ("None", "NA")
_CODE = re.compile("[A-Z]{2}")


def find_taken(frame: pl.DataFrame, raw: pl.DataFrame, markers: Sequence[str]) -> list[Suspicion]:
    """Find words that were taken for missing values beside other words.

    Parameters
    ----------
    frame : DataFrame
        The table as it is read.
    raw : DataFrame
        The same columns as text, in which `DOUBTFUL_MARKERS` are words.
    markers : sequence of str
        The words that mean a missing value.
    """
    return [own for word in DOUBTFUL_MARKERS if word in markers for own in _find_word(word, frame, raw)]


def _find_word(word: str, frame: pl.DataFrame, raw: pl.DataFrame) -> list[Suspicion]:
    levels = {name: frame[name].drop_nulls().unique().sort().to_list() for name in has_gaps(frame)}
    counts = {name: int((raw[name] == word).sum()) for name in levels}
    names = [
        name
        for name, n in counts.items()
        if n and (word != "NA" or all(_CODE.fullmatch(level) for level in levels[name]))
    ]
    if not names:
        return []
    n_cells = sum(counts[name] for name in names)
    return [
        Suspicion(
            kind="taken word",
            problem=f"{columns_have(names)} the word {word!r} in {count(n_cells, 'cell')}, which "
            f"count{'s' if n_cells == 1 else ''} as missing values beside {preview(levels[names[0]], 3)}",
            remedy="If it is a level, read the file with {option}",
            columns=tuple(names),
            values=(word,),
            option="level",
        )
    ]


def has_gaps(frame: pl.DataFrame) -> list[str]:
    """Return the columns of words that have missing values."""
    return [column.name for column in frame if column.dtype == pl.String and 0 < column.null_count() < frame.height]
