"""Reading tables from files of many kinds, with notes about what was assumed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from sparsefield.tables.parts._folders import find_files
from sparsefield.tables.reading._contents import Contents
from sparsefield.tables.reading._frames import read_frame
from sparsefield.tables.reading._marked import drop_marked
from sparsefield.tables.reading._sheets import read_sheet
from sparsefield.tables.reading._signatures import FRAMES, SHEETS, SURVEYS, find_kind
from sparsefield.tables.reading._source import Source, as_address, open_source
from sparsefield.tables.reading._surveys import read_survey
from sparsefield.tables.reading._text import read_text
from sparsefield.tables.sequences._alignments import read_letters
from sparsefield.tables.sequences._sequences import is_alignment

# What programs write for a missing cell: nothing, R's NA, Python's NaN, None and null.
MISSING_MARKERS = ("", "NA", "NaN", "nan", "None", "null")


def read_table(
    path: str | Path,
    *,
    separator: str | None = None,
    header: bool | None = None,
    sheet: str | int | None = None,
    missing_markers: Iterable[str] = MISSING_MARKERS,
    as_text: bool = False,
) -> pl.DataFrame:
    r"""Read a table as a data frame, and warn of everything that was assumed.

    Parameters
    ----------
    path : str or Path
        A text file (.csv, .tsv, .txt and others), a workbook (.xlsx, .xls, .xlsb, .ods), a file of SPSS (.sav, .zsav,
        .por), Stata (.dta) or SAS (.sas7bdat, .xpt), .parquet, .arrow, .feather, .json or .ndjson; an alignment
        (.fasta, .a2m, .sto); one of these packed (.gz, .bz2, .xz, .zip); or the address of one (https://...). A folder
        of parquet, Arrow or text files, or a pattern of their names (``part-*.csv``), is read as one table.
    separator : str, optional
        The character between the values of a text file; found out unless given.
    header : bool, optional
        Whether the first row of a text file or sheet names the columns; found out unless given.
    sheet : str or int, optional
        The sheet of a workbook, by its name or its number from one on; the first unless given.
    missing_markers : iterable of str
        Words, and numbers as they are written, that mean a missing value. In files of other kinds than text and sheets
        those that everybody uses (NA, None, ...) are levels, unlike others that are given here.
    as_text : bool
        Whether cells of text files and sheets stay the text that they are.

    Returns
    -------
    polars.DataFrame
        Labelled codes of surveys are their labels: ordered (Enum) where the file declares so.

    Warns
    -----
    ReadingWarning
        For each thing that was assumed, such as the separator, or that a column numbers the rows.

    Examples
    --------
    >>> import sparsefield as sf
    >>> with open("answers.csv", "w") as file:
    ...     _ = file.write("mood,sleep\nlow,0\nhigh,1\n")
    >>> sf.read_table("answers.csv").columns
    ['mood', 'sleep']
    """
    contents = read_contents(
        path, separator=separator, header=header, sheet=sheet, missing_markers=missing_markers, as_text=as_text
    )
    contents.warn(stacklevel=2)
    return contents.frame


def read_contents(
    path: str | Path | Source,
    *,
    separator: str | None = None,
    header: bool | None = None,
    sheet: str | int | None = None,
    missing_markers: Iterable[str] = MISSING_MARKERS,
    as_text: bool = False,
) -> Contents:
    """Read a table as `read_table` does, and return notes about what was assumed instead of warning of it.

    What was read once can be read again from its `source`.
    """
    markers = tuple(missing_markers)
    files = None if isinstance(path, Source) or as_address(path) is not None else find_files(path)
    if files is not None and len(files.paths) > 1:
        alike: dict[str, Any] = {"separator": separator, "header": header, "sheet": sheet, "as_text": as_text}
        return files.read(lambda one: read_contents(one, missing_markers=markers, **alike))
    if files is not None:
        path = files.paths[0]
    if separator is None and not isinstance(path, Source) and as_address(path) is None and is_alignment(Path(path)):
        own = Path(path).expanduser()
        return Contents(str(own), read_letters(own))
    given = path if isinstance(path, Source) else open_source(path)
    kind, notes = find_kind(given)
    source = replace(given, notes=(*given.notes, *notes))
    # Columns with types say themselves what is missing, by and large: words that else mean it are levels there.
    added = [marker for marker in markers if marker not in MISSING_MARKERS]
    if kind in SHEETS:
        contents = read_sheet(source, sheet, markers, header, as_text=as_text)
    elif sheet is not None:
        raise source.error("is no workbook, and has no sheets", "leave {option} out", option="sheet")
    elif kind in SURVEYS:
        contents = read_survey(source, kind, added)
    elif kind in FRAMES:
        contents = read_frame(source, kind)
    else:
        contents = read_text(source, markers, separator, header, as_text=as_text)
    frame = drop_marked(contents.frame, added) if added else contents.frame
    return replace(contents, frame=frame, source=given)
