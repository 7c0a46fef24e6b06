"""Reading tables from files, with errors that say where in the file and what to do."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from sparsefield.data._alignments import read_letters
from sparsefield.data._domain import check_names
from sparsefield.data._errors import TableError, check_file
from sparsefield.data._sequences import is_alignment

# What programs write for a missing cell: nothing, R's NA, Python's NaN, None and null.
MISSING_MARKERS = ("", "NA", "NaN", "nan", "None", "null")

_SEPARATORS = {".csv": ",", ".tsv": "\t"}


def read_table(
    path: Path, missing_markers: tuple[str, ...], separator: str | None = None, *, as_text: bool = False
) -> pl.DataFrame:
    """Read a .csv, .tsv or .parquet file, or an alignment; text with another ending where its separator is given.

    With `as_text`, cells of text files stay the text that they are.
    """
    check_file(path)
    if separator is None and is_alignment(path):
        return read_letters(path)
    ending = path.suffix.lower()
    if ending == ".parquet":
        return _read_parquet(path)
    if separator is None:
        if ending not in _SEPARATORS:
            raise TableError(
                f"File {str(path)!r} does not end in .csv, .tsv or .parquet, nor in .fasta, .a2m or .sto",
                "rename or convert it, or set {option}",
                option="separator",
                path=path,
            )
        separator = _SEPARATORS[ending]
    if len(separator.encode()) != 1 or separator in '"\r\n':
        raise ValueError(f"separator is {separator!r}: use a single character, such as ';'.")
    n_rows, blank = _check_text(path, separator)
    markers = [marker for marker in missing_markers if marker]
    try:
        frame = pl.read_csv(
            path, separator=separator, null_values=markers, infer_schema_length=None, infer_schema=not as_text
        )
    except pl.exceptions.PolarsError as error:
        raise TableError(f"File {str(path)!r} cannot be read as a table: {_first_line(error)}", path=path) from error
    if frame.height != n_rows:
        raise TableError(
            f"File {str(path)!r} has {n_rows} lines of data but was read as {frame.height} rows",
            "check its quotes",
            path=path,
        )
    # The reader takes a blank line for a row of missing values.
    return frame.filter(~pl.int_range(frame.height, eager=True).is_in(blank)) if blank else frame


def _read_parquet(path: Path) -> pl.DataFrame:
    try:
        return pl.read_parquet(path)
    except (pl.exceptions.PolarsError, OSError) as error:
        problem = f"File {str(path)!r} is not a parquet file, or is damaged: {_first_line(error)}"
        raise TableError(problem, path=path) from error


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0].rstrip(".")


def _check_text(path: Path, separator: str) -> tuple[int, list[int]]:
    """Refuse files that a reader would mend silently: ragged rows, doubled names, no header, other encodings.

    Returns the number of rows, and which of them are blank lines: all those of several columns, and in a single
    column, where an empty line is a missing value, those at the end.
    """
    rows = _value_counts(path, separator)
    n_rows, blank = 0, []
    try:
        header = next(rows, None)
        if header is None:
            raise TableError(f"File {str(path)!r} is empty", "its first line must name the columns", path=path)
        width = header[1]
        _check_header(path, separator)
        for line, n in rows:
            if n == 0:
                blank.append(n_rows)
            elif n != width:
                raise TableError(
                    f"File {str(path)!r}, line {line}: {n} value(s) where the first line has {width}",
                    "Correct the line, or quote values that contain the separator",
                    path=path,
                    line=line,
                )
            elif width == 1:
                blank.clear()
            n_rows += 1
        return n_rows, blank
    except UnicodeDecodeError as error:
        raise TableError(f"File {str(path)!r} is not UTF-8 text", "save it as UTF-8", path=path) from error
    except csv.Error as error:
        raise TableError(f"File {str(path)!r} is not a text table: {error}", path=path) from error


def _check_header(path: Path, separator: str) -> None:
    with path.open(newline="", encoding="utf-8-sig") as lines:
        names = next(csv.reader(lines, delimiter=separator), [])
    check_names(names)
    other = next((mark for mark in ";\t,|" if mark != separator and mark in names[0]), None)
    if len(names) == 1 and other is not None:
        raise TableError(
            f"File {str(path)!r} has a single column named {names[0]!r}: values seem to be separated by {other!r}",
            "Set {option} to it, or save the file with commas as .csv or with tabs as .tsv",
            option="separator",
            path=path,
        )


def _value_counts(path: Path, separator: str) -> Iterator[tuple[int, int]]:
    """Yield the number and the count of values of each line, none for a blank one.

    Lines without quotes are only counted, not parsed.
    """
    with path.open(newline="", encoding="utf-8-sig") as lines:
        reader = csv.reader(lines, delimiter=separator, strict=True)
        first = next(reader, None)
        if first is None:
            return
        yield 1, len(first)
        last = reader.line_num
        for number, line in enumerate(lines, start=last + 1):
            if '"' in line:
                break
            yield number, line.count(separator) + 1 if line.strip("\r\n") else 0
            last = number
        else:
            return
    with path.open(newline="", encoding="utf-8-sig") as lines:
        reader = csv.reader(lines, delimiter=separator, strict=True)
        for row in reader:
            if reader.line_num > last:
                yield reader.line_num, len(row)


def find_line(path: Path, row: int) -> int | None:
    """Return the line of a row of a text file; None where that cannot be told.

    Rows are counted from zero, without blank lines and the names. Quotes may hide line ends, parquet has no lines, and
    a sequence of an alignment may have several.
    """
    if path.suffix.lower() == ".parquet" or is_alignment(path):
        return None
    with path.open(encoding="utf-8-sig", errors="replace") as lines:
        n_rows = -1  # the first line has the names
        for number, line in enumerate(lines, start=1):
            if '"' in line:
                return None
            n_rows += bool(line.strip())
            if n_rows == row + 1:
                return number
    return None
