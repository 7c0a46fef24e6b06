"""The first rows of a table: whether they name its columns, describe them, or are data."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from sparsefield.data import make_names, preview
from sparsefield.tables.reading._contents import Note

Record = Sequence[str]

_NUMBER = re.compile(r"\s*[-+]?(\d+([.,]\d*)?|[.,]\d+)([eE][-+]?\d+)?\s*$")
_IMPORT_ID = re.compile(r'\s*\{\s*"ImportId"')
_FEWEST_ROWS = 3  # below a line of texts, without which nothing says that it is no row of data


@dataclass(frozen=True)
class Heading:
    """The rows above the data.

    Parameters
    ----------
    names : tuple of str
        The names of the columns, which may be empty.
    n_rows : int
        How many rows stand above the data: none where the columns have no names.
    notes : tuple of Note
        What was assumed.
    """

    names: tuple[str, ...]
    n_rows: int
    notes: tuple[Note, ...] = ()


def find_heading(records: Sequence[Record], markers: Sequence[str], header: bool | None, line: str) -> Heading:
    """Say which of the first rows are data.

    Parameters
    ----------
    records : sequence of sequences of str
        The first rows, all of one width.
    markers : sequence of str
        Words that mean a missing value.
    header : bool, optional
        Whether the first row names the columns; found out unless given.
    line : str
        What people call the first row, such as "line 1".
    """
    first, below = records[0], records[1:]
    notes: list[Note] = []
    if header is None:
        header, notes = _find_header(first, below, markers, line)
    if not header:
        return Heading(make_names(len(first)), 0, tuple(notes))
    n_more = _count_descriptions(below, markers)
    if n_more:
        shown = preview([_shorten(cell) for cell in below[0] if cell.strip()])
        which = "A row" if n_more == 1 else f"{n_more} rows"
        does, is_ = ("seems to describe", "is") if n_more == 1 else ("seem to describe", "are")
        notes.append(Note(f"{which} below the names ({shown}) {does} the columns, and {is_} left out."))
    return Heading(tuple(first), 1 + n_more, tuple(notes))


def _find_header(first: Record, below: Sequence[Record], markers: Sequence[str], line: str) -> tuple[bool, list[Note]]:
    """Say whether the first row names the columns; where in doubt it does, and a note says so."""
    cells = [cell.strip() for cell in first]
    named = [cell for cell in cells if cell not in markers]
    if not named or not below:
        return True, []
    are_numbers = all(is_number(cell) for cell in named)
    occurring = [cell for j, cell in enumerate(cells) if cell not in markers and _occurs(j, cell, below)]
    occur = len(occurring) == len(named)
    is_doubled = len(set(named)) < len(named)
    if are_numbers:
        is_fraction = any(not cell.lstrip("-+").isdigit() for cell in named)
        is_data = is_doubled or is_fraction or (occur and not _is_ascending([int(cell) for cell in named]))
    else:
        # Names are never doubled, but the answers beside a name of the first row are.
        is_data = is_doubled and all(cell in occurring for cell in named if named.count(cell) > 1)
    if is_data:
        text = (
            f"The columns have no names: {line} ({preview(named, 4)}) is read as data, and they are called x0, x1, ... "
            "Use {option} if it has their names."
        )
        return False, [Note(text, "header=True")]
    # A box that was ticked has the name of its column, and no other value.
    n_among = sum(_occurs(j, cell, below) and _has_others(j, cell, below, markers) for j, cell in enumerate(cells))
    if len(below) > 1 and (occur or 2 * n_among >= max(len(named), 4)):
        text = (
            f"The values of {line} ({preview(named, 4)}) are taken for names, but occur below too: use {{option}} if "
            "they are data."
        )
        return True, [Note(text, "header=False")]
    return True, []


def _is_ascending(numbers: list[int]) -> bool:
    """Say whether numbers look like names: 0 and 1, 1 and 2, or three or more in order, as hardly a row of data is."""
    if len(numbers) <= 2:
        return numbers in ([0], [1], [0, 1], [1, 2])
    return all(one < other for one, other in pairwise(numbers))


def _count_descriptions(below: Sequence[Record], markers: Sequence[str]) -> int:
    """Return how many rows below the names describe the columns: texts of questions, and what Qualtrics calls them."""
    for k, record in enumerate(below[:3]):
        cells = [cell for cell in record if cell.strip()]
        if cells and all(_IMPORT_ID.match(cell) for cell in cells):
            return k + 1
    if len(below) <= _FEWEST_ROWS or len(below[0]) < 2:
        return 0
    texts, rest = below[0], below[1:]
    described = [j for j, cell in enumerate(texts) if cell.strip()]  # SurveyMonkey describes no column of its own
    if any(texts[j].strip() in markers or is_number(texts[j]) or _occurs(j, texts[j].strip(), rest) for j in described):
        return 0
    n_numeric = sum(_is_numeric([record[j] for record in rest if j < len(record)], markers) for j in described)
    return int(2 * n_numeric >= len(texts))


def is_number(cell: str) -> bool:
    """Say whether a cell holds a number, with a decimal point or comma."""
    return _NUMBER.match(cell) is not None


def _is_numeric(cells: Sequence[str], markers: Sequence[str]) -> bool:
    known = [cell for cell in cells if cell.strip() not in markers]
    return bool(known) and all(is_number(cell) for cell in known)


def _occurs(j: int, cell: str, below: Sequence[Record]) -> bool:
    return any(j < len(record) and record[j].strip() == cell for record in below)


def _has_others(j: int, cell: str, below: Sequence[Record], markers: Sequence[str]) -> bool:
    return any(j < len(record) and record[j].strip() not in (cell, *markers) for record in below)


def _shorten(cell: str) -> str:
    return cell if len(cell) <= 40 else f"{cell[:37]}..."
