"""Files of SPSS, Stata and SAS: codes become their labels, and values that are declared missing are."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from sparsefield.data import columns_have, preview
from sparsefield.tables.reading._contents import Contents, Note
from sparsefield.tables.reading._frames import make_categories
from sparsefield.tables.reading._marked import drop_marked
from sparsefield.tables.reading._sheets import as_whole
from sparsefield.tables.reading._source import Source

_READERS = {
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": "read_por",
    ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}


def read_survey(source: Source, kind: str, markers: Sequence[str] = ()) -> Contents:
    """Read a file of SPSS, Stata or SAS.

    Columns whose codes all have labels become categories, in the order of their codes; ordered ones where the file
    declares the variable to be ordinal. Codes that are markers of missing values need no label.
    """
    frame, about = _read(source, kind)
    frame = drop_marked(frame, markers)
    notes = []
    columns = []
    for column in frame.iter_columns():
        labels = _labels_of(column.name, about)
        is_ordinal = about.variable_measure.get(column.name) == "ordinal"
        labelled, note = _with_labels(as_whole(column), labels, is_ordinal)
        columns.append(labelled)
        notes += [note] if note else []
    declared = [name for name in frame.columns if about.missing_ranges.get(name)]
    if declared:
        notes.append(Note(f"{columns_have(declared)} values that the file declares missing: they are missing values."))
    return Contents(source.name, pl.DataFrame(columns), (*source.notes, *notes))


def _read(source: Source, kind: str) -> tuple[pl.DataFrame, Any]:
    try:
        import pyreadstat
    except ImportError as error:
        raise source.error(
            "is a file of SPSS, Stata or SAS, which needs the package pyreadstat",
            "install it with: pip install 'sparsefield[surveys]'",
        ) from error
    read = getattr(pyreadstat, _READERS[kind])
    try:
        frame, about = read(_readable(source), output_format="polars")
        if _READERS[kind] == "read_sav":  # which values are declared missing is said only where they are asked for
            about = read(_readable(source), output_format="polars", metadataonly=True, user_missing=True)[1]
        return frame, about
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, UnicodeDecodeError) as error:
        problem = f"is not a {kind} file, or is damaged: {str(error).rstrip('.')}"
        raise source.error(problem, "save it again, or as .csv") from error


def _readable(source: Source) -> Any:
    return str(source.path) if source.data is None else source.readable


def _with_labels(column: pl.Series, labels: Mapping[Any, str], is_ordinal: bool) -> tuple[pl.Series, Note | None]:
    """Give a column the labels of its codes, where these say more than the codes do."""
    known = {_plain(code): str(label) for code, label in labels.items()}
    seen = column.drop_nulls().unique().to_list()
    if not (known or is_ordinal) or not seen or not all(isinstance(code, int | str) for code in seen):
        return column, None
    if isinstance(seen[0], str) and not known:
        return column, None  # ordinal, they say, but not in which order
    bare = sorted(code for code in seen if code not in known)
    note = None
    if bare and known:
        which = f"Column {column.name!r} has values without a label ({preview(bare)}) beside labelled ones"
        if not is_ordinal:
            shown = preview([f"{code} {label}" for code, label in known.items()], 3)
            return column, Note(f"{which} ({shown}): it keeps its codes.")
        note = Note(f"{which}: they stand for themselves.")
    label_of = {code: known.get(code, str(code)) for code in sorted({*known, *bare})}
    twice = [label for label, n in Counter(label_of.values()).items() if n > 1]
    if twice:
        note = Note(
            f"Column {column.name!r} has several codes with the label {twice[0]!r}: their levels have the code too."
        )
        label_of = {code: f"{label} ({code})" if label in twice else label for code, label in label_of.items()}
    words = column.replace_strict(label_of, return_dtype=pl.String)
    return make_categories(words, list(label_of.values()), is_ordered=is_ordinal), note


def _labels_of(name: str, about: Any) -> dict[Any, str]:
    """Return the labels of the codes of a column that are not declared missing."""
    gone = [(own["lo"], own["hi"]) for own in about.missing_ranges.get(name, [])]
    labels = about.variable_value_labels.get(name, {})
    return {
        code: label
        for code, label in labels.items()
        if not any(type(low) is type(code) and low <= code <= high for low, high in gone)
    }


def _plain(code: Any) -> Any:
    """Return a code as the column has it: whole numbers are stored as floats."""
    if isinstance(code, float) and math.isfinite(code) and code.is_integer():
        return int(code)
    return code
