"""Tables in text files, with errors that say on which line and what to do."""

from __future__ import annotations

import csv
import io
from functools import partial

import numpy as np
import polars as pl

from sparsefield.data import count
from sparsefield.tables.reading._characters import Bytes, as_plain_text, skip_mark
from sparsefield.tables.reading._contents import Contents, Lines
from sparsefield.tables.reading._layout import Layout, find_layout
from sparsefield.tables.reading._scan import StrayQuoteError, TextScan, describe_uneven, scan_records
from sparsefield.tables.reading._settle import settle_columns
from sparsefield.tables.reading._source import Source
from sparsefield.tables.reading._spelled_numbers import list_respelled

# Rows from which the types of columns are told: all 10^6 rows of 50 columns take five times as long to read (8.1
# instead of 1.5 s). Cells further down that do not fit make the reader tell the types from all rows.
_N_TYPED = 10_000


def read_text(
    source: Source, markers: tuple[str, ...], separator: str | None, header: bool | None, *, as_text: bool
) -> Contents:
    """Read a text file with rows on lines, and values between separators.

    Parameters
    ----------
    source : Source
        The file.
    markers : tuple of str
        Words that mean a missing value.
    separator : str, optional
        The character between values; found out unless given.
    header : bool, optional
        Whether the first row names the columns; found out unless given.
    as_text : bool
        Keep cells as the text that they are, and a first column without a name.
    """
    if separator is not None and (len(separator.encode()) != 1 or separator in '"\r\n'):
        raise ValueError(f"separator is {separator!r}: use a single character, such as ';'.")
    given = source.view()
    raw, notes = as_plain_text(source, given)
    layout = find_layout(source, raw, separator, markers, header)
    # polars before 1.44 reads a carriage return where a blank line ends in one and a line feed.
    words = [*(marker for marker in markers if marker), "\r"]
    try:
        if layout.skips_spaces:
            raise StrayQuoteError
        scan = scan_records(source, raw, _find_start(raw, layout.first_line), layout)
    except StrayQuoteError:
        text, lines = _quote_again(source, raw, layout)
        read = partial(_parse, source, text, 0, layout, words)
    else:
        lines = scan.lines
        readable = source.readable if raw is given else io.BytesIO(bytes(raw))
        read = partial(_parse_rows, source, readable, scan, layout, words)
    frame = read(as_text) if lines.n_rows else pl.DataFrame({str(k): [] for k in range(len(layout.names))})
    if not as_text:
        notes = (*notes, *list_respelled(raw, frame, partial(read, True), layout.names))
    frame, more = settle_columns(
        source,
        frame,
        layout.names,
        is_keyed=as_text,
        lacks_name=layout.lacks_name,
        has_decimals=layout.separator != "," and not as_text,
    )
    notes = (*source.notes, *notes, *layout.notes, *more)
    return Contents(source.name, frame, notes, lines, header=layout.n_heading > 0)


def _parse_rows(
    source: Source, readable: object, scan: TextScan, layout: Layout, markers: list[str], as_text: bool
) -> pl.DataFrame:
    """Read all values but those of blank lines.

    The reader takes a blank line for a row of missing values, and the first one for the number of columns.
    """
    n_blank = int((scan.blank == np.arange(len(scan.blank))).sum())  # below the names
    frame = _parse(source, readable, layout.n_above + n_blank, layout, markers, as_text)
    if frame.height != scan.n_records - n_blank:
        raise source.error(
            f"has {count(scan.n_records - n_blank, 'line')} of data but was read as {count(frame.height, 'row')}",
            "check its quotes",
        )
    if len(scan.blank) == n_blank:
        return frame
    is_row = np.ones(frame.height, dtype=bool)
    is_row[scan.blank[n_blank:] - n_blank] = False
    return frame.filter(pl.Series(is_row))


def _find_start(raw: Bytes, line: int) -> int:
    """Return the byte at which a line begins."""
    start = skip_mark(raw)
    for _ in range(line - 1):
        start = raw.find(b"\n", start) + 1
    return start


def _parse(
    source: Source, readable: object, n_above: int, layout: Layout, markers: list[str], as_text: bool
) -> pl.DataFrame:
    """Read all values, and give columns the types that these have."""
    for n_typed in (_N_TYPED, None):
        if hasattr(readable, "seek"):
            readable.seek(0)
        try:
            frame = pl.read_csv(
                readable,  # type: ignore[arg-type]  # a path, or a file in memory
                separator=layout.separator,
                has_header=False,
                skip_lines=n_above,
                null_values=markers,
                infer_schema_length=n_typed,
                infer_schema=not as_text,
            )
        except pl.exceptions.PolarsError as error:
            if n_typed is None:
                problem = f"cannot be read as a table: {str(error).strip().partition(chr(10))[0].rstrip('.')}"
                raise source.error(problem) from error
            continue
        if n_typed is None or as_text or not _is_undecided(frame):
            return frame
    raise AssertionError("the types of all rows were asked for")


def _is_undecided(frame: pl.DataFrame) -> bool:
    """Say whether a column has no value in the rows from which its type was told, and others below."""
    if frame.height <= _N_TYPED:
        return False
    top = frame.head(_N_TYPED)
    return any(top[name].null_count() == _N_TYPED and frame[name].null_count() < frame.height for name in frame.columns)


def _quote_again(source: Source, raw: Bytes, layout: Layout) -> tuple[io.BytesIO, Lines]:
    """Write a table again whose values have quotes inside, with all of them quoted as others expect.

    Returns the rows, and their lines.
    """
    text = io.StringIO(bytes(raw[_find_start(raw, layout.first_line) :]).decode(), newline="")
    reader = csv.reader(text, delimiter=layout.separator, skipinitialspace=layout.skips_spaces, strict=True)
    out, lines = io.StringIO(newline=""), []
    writer = csv.writer(out, delimiter=layout.separator, lineterminator="\n")
    begins, n_left = layout.first_line, layout.n_heading
    try:
        for cells in reader:
            line, begins = begins, layout.first_line + reader.line_num
            if cells and n_left:
                n_left -= 1
            elif cells:
                if len(cells) != len(layout.names):
                    raise describe_uneven(source, layout, line, len(cells))
                writer.writerow(cells)
                lines.append(line)
    except csv.Error as error:
        remedy = "close it, or double the quotes inside values"
        raise source.error(f"a quote is wrong ({error})", remedy, line=begins) from error
    return io.BytesIO(out.getvalue().encode()), Lines.listed(lines)
