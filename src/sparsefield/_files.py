"""Reading tables from files, with errors that say where in the file and what to do; and writing files whole."""

from __future__ import annotations

import csv
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from sparsefield._domain import check_names, preview

# What programs write for a missing cell: nothing, R's NA, Python's NaN, None and null.
MISSING_MARKERS = ("", "NA", "NaN", "nan", "None", "null")

_SEPARATORS = {".csv": ",", ".tsv": "\t"}


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give the path of a file to write beside the one that is wanted, and move it there once it is whole."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {str(path.parent)!r}: make it first.")
    if path.exists() and not path.is_file():
        raise IsADirectoryError(f"{str(path)!r} is no ordinary file: give the path of one.")
    path = path.resolve()  # a link stays a link
    rough = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        yield rough
        if path.exists():
            rough.chmod(path.stat().st_mode)
        rough.replace(path)
    finally:
        rough.unlink(missing_ok=True)


def read_table(
    path: Path, missing_markers: tuple[str, ...], separator: str | None = None, *, as_text: bool = False
) -> pl.DataFrame:
    """Read a .csv, .tsv or .parquet file; text with another ending where its separator is given.

    With `as_text`, cells of text files stay the text that they are.
    """
    if not path.exists():
        near = sorted(other.name for other in path.parent.glob(f"*{path.suffix}")) if path.parent.is_dir() else []
        hint = f" The folder has {preview(near)}." if near and path.suffix else ""
        raise FileNotFoundError(f"There is no file {str(path)!r}: check its name and folder.{hint}")
    if path.is_dir():
        raise IsADirectoryError(f"{str(path)!r} is a folder: give the path of a file.")
    ending = path.suffix.lower()
    if ending == ".parquet":
        return _read_parquet(path)
    if separator is None:
        if ending not in _SEPARATORS:
            raise ValueError(
                f"File {str(path)!r} does not end in .csv, .tsv or .parquet: rename or convert it, or give a separator."
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
        raise ValueError(f"File {str(path)!r} cannot be read as a table: {_first_line(error)}") from error
    if frame.height != n_rows:
        raise ValueError(
            f"File {str(path)!r} has {n_rows} lines of data but was read as {frame.height} rows: check its quotes."
        )
    # The reader takes a blank line for a row of holes.
    return frame.filter(~pl.int_range(frame.height, eager=True).is_in(blank)) if blank else frame


def _read_parquet(path: Path) -> pl.DataFrame:
    try:
        return pl.read_parquet(path)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise ValueError(f"File {str(path)!r} is not a parquet file, or is damaged: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


def _check_text(path: Path, separator: str) -> tuple[int, list[int]]:
    """Refuse files that a reader would mend silently: ragged rows, doubled names, no header, other encodings.

    Returns the number of rows, and which of them are blank lines: all those of several columns, and in a single
    column, where an empty line is a hole, those at the end.
    """
    rows = _field_counts(path, separator)
    n_rows, blank = 0, []
    try:
        header = next(rows, None)
        if header is None:
            raise ValueError(f"File {str(path)!r} is empty: its first line must name the columns.")
        width = header[1]
        _check_header(path, separator)
        for line, n in rows:
            if n == 0:
                blank.append(n_rows)
            elif n != width:
                raise ValueError(
                    f"File {str(path)!r}, line {line}: {n} field(s) where the first line has {width}. "
                    "Correct the line, or quote fields that contain the separator."
                )
            elif width == 1:
                blank.clear()
            n_rows += 1
        return n_rows, blank
    except UnicodeDecodeError as error:
        raise ValueError(f"File {str(path)!r} is not UTF-8 text: save it as UTF-8.") from error
    except csv.Error as error:
        raise ValueError(f"File {str(path)!r} is not a text table: {error}") from error


def _check_header(path: Path, separator: str) -> None:
    with path.open(newline="", encoding="utf-8-sig") as lines:
        names = next(csv.reader(lines, delimiter=separator), [])
    check_names(names)
    other = next((mark for mark in ";\t,|" if mark != separator and mark in names[0]), None)
    if len(names) == 1 and other is not None:
        raise ValueError(
            f"File {str(path)!r} has a single column named {names[0]!r}: its fields seem to be separated by {other!r}. "
            "Give the separator, or save it with commas as .csv or with tabs as .tsv."
        )


def _field_counts(path: Path, separator: str) -> Iterator[tuple[int, int]]:
    """Yield the number and the count of fields of each line, none for a blank one.

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
