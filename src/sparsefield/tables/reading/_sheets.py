"""Tables in workbooks: a sheet of Excel or LibreOffice."""

from __future__ import annotations

import logging
from typing import Any

import polars as pl

from sparsefield.data import preview
from sparsefield.tables.reading._contents import Contents, Lines, Note
from sparsefield.tables.reading._heading import find_heading
from sparsefield.tables.reading._settle import settle_columns
from sparsefield.tables.reading._source import Source

_N_RECORDS = 200  # rows that names are told from, as in text files


def read_sheet(
    source: Source, sheet: str | int | None, markers: tuple[str, ...], header: bool | None, *, as_text: bool
) -> Contents:
    """Read one sheet of a workbook: empty rows and columns around the table are left out.

    Parameters
    ----------
    source : Source
        The file.
    sheet : str or int, optional
        The sheet, by its name or its number from one on; the first unless given.
    markers : tuple of str
        Words that mean a missing value.
    header : bool, optional
        Whether the first row names the columns; found out unless given.
    as_text : bool
        Keep cells as text, and a first column without a name.
    """
    book = _open(source)
    position, notes = _find_sheet(source, book.sheet_names, sheet)
    text = book.load_sheet(position, header_row=None, skip_rows=0, dtypes="string", whitespace_as_null=True).to_polars()
    filled = text.select(pl.any_horizontal(pl.all().str.strip_chars().fill_null("") != "").arg_true()).to_series()
    if text.width == 0 or not len(filled):
        raise source.error(
            f"has nothing on sheet {book.sheet_names[position]!r}", "choose another with {option}", option="sheet"
        )
    records = [["" if cell is None else cell for cell in row] for row in text[filled.head(_N_RECORDS)].rows()]
    heading = find_heading(records, markers, header, f"row {filled[0] + 1} of the sheet")
    rows = filled[heading.n_rows :].to_list()
    frame = text[rows] if as_text or not rows else _load_typed(book, position, rows)
    frame = _tidy(frame, markers, as_text)
    frame, more = settle_columns(source, frame, heading.names, is_keyed=as_text)
    lines = Lines.listed([row + 1 for row in rows])
    notes = [*source.notes, *notes, *heading.notes, *more]
    return Contents(source.name, frame, tuple(notes), lines, "row", header=heading.n_rows > 0)


def _load_typed(book: Any, position: int, rows: list[int]) -> pl.DataFrame:
    """Read rows of a sheet, with columns of the types that all these rows have."""
    options = {"header_row": None, "skip_rows": rows[0], "schema_sample_rows": None, "whitespace_as_null": True}
    return book.load_sheet(position, **options).to_polars()[[row - rows[0] for row in rows]]  # type: ignore[no-any-return]


def _open(source: Source) -> Any:
    # What cannot be told of a column is told here, in notes: not by the last resort of logging, on standard error.
    logging.getLogger("fastexcel").addHandler(logging.NullHandler())
    try:
        import fastexcel
    except ImportError as error:
        raise source.error(
            "is a workbook, which needs the package fastexcel", "install it with: pip install 'sparsefield[excel]'"
        ) from error
    try:
        return fastexcel.read_excel(str(source.path) if source.data is None else source.data)
    except fastexcel.FastExcelError as error:
        reason = str(error).partition("\n")[0]
        raise source.error(f"is not a workbook, or is damaged or locked: {reason}", "save it again") from error


def _find_sheet(source: Source, names: list[str], sheet: str | int | None) -> tuple[int, list[Note]]:
    """Return the position of a sheet; the first one with a note where there are several."""
    if not names:
        raise source.error("has no sheet", "save it again")
    if sheet is None:
        if len(names) == 1:
            return 0, []
        text = (
            f"File {source.name!r} has {len(names)} sheets, {preview(names)}: the first is read. Choose another with "
            "{option}."
        )
        return 0, [Note(text, "sheet=")]
    if sheet in names:
        return names.index(str(sheet)), []
    if str(sheet).isdigit() and 1 <= int(sheet) <= len(names):
        return int(sheet) - 1, []
    raise source.error(f"has no sheet {sheet!r}", f"its sheets are {preview(names)}")


def _tidy(frame: pl.DataFrame, markers: tuple[str, ...], as_text: bool) -> pl.DataFrame:
    """Make words that mean missing values missing, and numbers of cells that are text or floats."""
    known = pl.Series(values=list(markers), dtype=pl.String).implode()
    columns = []
    for column in frame.iter_columns():
        if column.dtype == pl.String:
            words = pl.when(column.str.strip_chars().is_in(known)).then(None).otherwise(column)
            column = pl.select(words.alias(column.name)).to_series()
            numbers = column.cast(pl.Float64, strict=False)
            if not as_text and numbers.null_count() == column.null_count() < len(column):
                column = numbers
        columns.append(as_whole(column))
    return pl.DataFrame(columns)


def as_whole(column: pl.Series) -> pl.Series:
    """Return a column of floats that are all whole numbers as these, and any other as it is."""
    if column.dtype not in (pl.Float64, pl.Float32):
        return column
    column = column.fill_nan(None)
    whole = column.cast(pl.Int64, strict=False)
    is_same = whole.null_count() == column.null_count() and bool((whole.cast(column.dtype) == column).all())
    return whole if is_same else column
