"""How a text file is laid out: what stands above the table, what separates its values, what names its columns."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from sparsefield.tables.reading._characters import Bytes, skip_mark
from sparsefield.tables.reading._contents import Note
from sparsefield.tables.reading._heading import find_heading, is_number
from sparsefield.tables.reading._signatures import TEXT
from sparsefield.tables.reading._source import Source

_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars", " ": "spaces"}
_N_RECORDS = 200  # rows that layouts are told from; reading checks all others
_HEAD = 1 << 20  # bytes that hold them, mostly
_DECIMAL = re.compile(r"\s*[-+]?\d+,\d+\s*$")


@dataclass(frozen=True)
class Layout:
    """How a text file is laid out.

    Parameters
    ----------
    separator : str
        The character between values.
    first_line : int
        The line, counted from one, on which the table begins, names included.
    n_above : int
        How many lines stand above the data, names included.
    n_heading : int
        How many records of them belong to the table: names, and what describes the columns.
    lacks_name : bool
        Whether there is a name less than values in each row, so that the first column has none.
    skips_spaces : bool
        Whether spaces after separators are left out.
    names : tuple of str
        Names of the columns, some of which may be empty.
    notes : tuple of Note
        What was assumed.
    """

    separator: str
    first_line: int
    n_above: int
    n_heading: int
    lacks_name: bool
    skips_spaces: bool
    names: tuple[str, ...]
    notes: tuple[Note, ...]


@dataclass(frozen=True)
class _Record:
    cells: list[str]
    end: int  # lines up to its end, from the start of the table


def find_layout(
    source: Source, raw: Bytes, separator: str | None, markers: Sequence[str], header: bool | None
) -> Layout:
    """Find out how a text file is laid out, from its first rows."""
    lines, is_whole = _take_head(raw)
    top, declared, notes = _skip_top(lines)
    if not any(line.strip() for line in lines[top:]):
        raise source.error("is empty", "its first line must name the columns")
    comments = [k for k in range(top, len(lines)) if lines[k].startswith("#")]
    n_comments = next((k for k, own in enumerate(comments) if own != top + k), len(comments))
    body = _skip_blank(lines, top + n_comments)
    if body == len(lines):  # nothing but comments: they are the table
        body, n_comments = top, 0
    given = separator or declared
    if given is None:
        given, more = _find_separator(source, lines[body:], is_whole)
        notes += more
    elif separator is None and given != TEXT.get(source.ending):
        notes.append(Note(f"Line {top} says that values are separated by {given!r}."))
    records = _parse(lines[body:], given, is_whole)
    if n_comments:
        last = _parse(lines[body - 1 : body], given, True)
        if _names_in_comment(last, records):
            body, n_comments = body - 1, n_comments - 1
            records = _parse(lines[body:], given, is_whole)
            records[0].cells[0] = records[0].cells[0].lstrip("# ")
            notes.append(Note(f"Line {body + 1} begins with '#', and is taken for the names of the columns."))
    if n_comments:
        which = f"Lines {top + 1} to {top + n_comments} begin" if n_comments > 1 else f"Line {top + 1} begins"
        notes.append(
            Note(f"{which} with '#', and {'are taken for comments' if n_comments > 1 else 'is taken for a comment'}.")
        )
    cells = _even_out([record.cells for record in records], header)
    heading = find_heading(cells, markers, header, f"line {body + 1}")
    above = body + (records[heading.n_rows - 1].end if heading.n_rows else 0)
    skips = _has_spaces(lines[body:], given)
    if skips:
        notes.append(Note("Spaces after separators are left out."))
    lacks_name = len(cells[0]) > len(records[0].cells) and not cells[0][0]
    notes += heading.notes
    return Layout(given, body + 1, above, heading.n_rows, lacks_name, skips, heading.names, tuple(notes))


def _take_head(raw: Bytes) -> tuple[list[str], bool]:
    """Return the first lines, and whether these are all."""
    size, start = _HEAD, skip_mark(raw)
    while True:
        head = raw[start : start + size]
        is_whole = start + size >= len(raw)
        lines = list(io.StringIO(head.decode("utf-8", errors="ignore"), newline=""))
        if is_whole or len(lines) > 3:
            return (lines if is_whole else lines[:-1]), is_whole
        size *= 4


def _skip_top(lines: list[str]) -> tuple[int, str | None, list[Note]]:
    """Return how many lines stand above everything else, and the separator that Excel's first line declares."""
    top = _skip_blank(lines, 0)
    declared = re.match(r'"?sep=(.)"?\s*$', lines[top], re.IGNORECASE) if top < len(lines) else None
    return (top + 1, declared[1], []) if declared else (top, None, [])


def _skip_blank(lines: list[str], start: int) -> int:
    return next((k for k in range(start, len(lines)) if lines[k].strip("\r\n")), len(lines))


def _parse(lines: list[str], separator: str, is_whole: bool) -> list[_Record]:
    """Split the first lines into records, without blank ones; quotes that are wrong are found when all is read."""
    reader = csv.reader(lines, delimiter=separator, skipinitialspace=_has_spaces(lines, separator))
    records: list[_Record] = []
    try:
        rows = itertools.islice(reader, _N_RECORDS + 1)
        records.extend(_Record(cells, reader.line_num) for cells in rows if cells)
    except csv.Error:
        pass  # a value of more than 131,072 characters: an open quote, most likely
    if not is_whole and len(records) > 2 and reader.line_num == len(lines):
        records.pop()  # it may go on
    return records or [_Record(lines[0].rstrip("\r\n").split(separator), 1)]


def _has_spaces(lines: list[str], separator: str) -> bool:
    """Say whether a space stands behind every separator, or before some quotes: it is no part of the value."""
    first = lines[:_N_RECORDS]
    if separator == " " or not any(f"{separator} " in line for line in first):
        return False
    try:
        rows = itertools.islice(csv.reader(lines, delimiter=separator), _N_RECORDS)
        later = [cell for cells in rows for cell in cells[1:]]
    except csv.Error:
        return False
    if any(f'{separator} "' in line for line in first) and _has_space_before_quote("".join(first), separator):
        return True
    return bool(later) and all(cell[:1] == " " for cell in later)


def _has_space_before_quote(text: str, separator: str) -> bool:
    """Say whether some cell but the first of a line is a space and a quote; those within quotes are values."""
    cell = re.compile(rf'(?P<quoted>"(?:[^"]|"")*"?)?[^{re.escape(separator)}\r\n]*')
    at, is_first = 0, True
    while at < len(text):
        found = cell.match(text, at)
        assert found is not None  # it may be empty
        if not is_first and not found["quoted"] and found[0].startswith(' "'):
            return True
        is_first = found.end() < len(text) and text[found.end()] != separator
        at = found.end() + 1
    return False


def _names_in_comment(last: list[_Record], records: list[_Record]) -> bool:
    """Say whether the last comment has the names: as many values as the row below, some of which are numbers."""
    below = records[0].cells
    return 1 < len(below) == len(last[0].cells) and any(is_number(cell) for cell in below)


def _find_separator(source: Source, lines: list[str], is_whole: bool) -> tuple[str, list[Note]]:
    """Return the character that splits all rows into equally many values; the ending's own where several do."""
    own = TEXT.get(source.ending)
    candidates = [*dict.fromkeys([own] * (own is not None) + [",", ";", "\t", "|"]), " "]
    found: list[tuple[int, int, str]] = []
    mostly: list[str] = []
    for rank, mark in enumerate(candidates):
        assert mark is not None
        records = [record.cells for record in _parse(lines, mark, is_whole)]
        widths = [len(cells) for cells in records]
        rows = widths[1:] or widths
        if mark == " " and own is not None and not _has_numbers(records[1:]):
            continue  # answers of several words in a single column have spaces too
        if len(set(rows)) == 1 and rows[0] > 1 and rows[0] - widths[0] in (0, 1):
            found.append((sum(_is_dirty(cell, mark) for cells in records for cell in cells), rank, mark))
        elif widths[0] > 1 and 2 * rows.count(widths[0]) > len(rows):
            mostly.append(mark)
    if found:
        mark = min(found)[2]
    elif mostly:
        mark = mostly[0]
    elif own is not None:
        return own, []
    else:
        raise source.error(
            f"does not end in .csv or .tsv, nor in another ending that is known ({source.ending or 'none'}), and no "
            "comma, semicolon, tab, vertical bar or space splits all its lines into equally many values",
            "rename or convert it, or set {option}",
            option="separator",
        )
    if mark == own:
        return mark, []
    return mark, [Note(f"Values are separated by {_NAMES[mark]} in file {source.name!r}.")]


def _has_numbers(records: list[list[str]]) -> bool:
    """Say whether values of rows that are equally long are numbers in two columns or more."""
    if len({len(cells) for cells in records}) != 1:
        return False
    return sum(all(is_number(cell) for cell in column) for column in zip(*records, strict=True)) > 1


def _is_dirty(cell: str, mark: str) -> bool:
    """Say whether a value has other separators in it, and is no number with a decimal comma."""
    return any(other in cell for other in ",;\t|" if other != mark) and not _DECIMAL.match(cell)


def _even_out(records: list[list[str]], header: bool | None) -> list[list[str]]:
    """Give the names their missing one, where each row below has one value more than they are."""
    first, below = records[0], records[1:]
    widths = {len(cells) for cells in below}
    if header is False or len(widths) != 1 or widths != {len(first) + 1}:
        return records
    is_trailing = all(not cells[-1].strip() for cells in below)
    return [[*first, ""] if is_trailing else ["", *first], *below]
