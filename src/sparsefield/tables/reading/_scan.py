"""One pass over the bytes of a text table: whether all rows have as many values, and on which line each begins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sparsefield.data import count
from sparsefield.tables.reading._characters import Bytes, pieces
from sparsefield.tables.reading._contents import Lines
from sparsefield.tables.reading._layout import Layout
from sparsefield.tables.reading._source import Source

_FEED, _RETURN, _QUOTE = 10, 13, 34


class StrayQuoteError(Exception):
    """A quote stands inside a value that does not begin with one: quotes do not tell where values end."""


@dataclass(frozen=True)
class TextScan:
    """What a pass over a text table found.

    Parameters
    ----------
    n_records : int
        The records below the names, blank ones included.
    blank : ndarray of int
        Which of them are no rows: all blank lines of several columns, and in a single column, where an empty line is a
        missing value, those at the end.
    lines : Lines
        Where the rows stand.
    """

    n_records: int
    blank: NDArray[np.int64]
    lines: Lines


@dataclass(frozen=True)
class _Piece:
    """The records that end in a piece of the file: the line of each, its number of values, none if blank."""

    lines: NDArray[np.int64]
    widths: NDArray[np.int64]


def scan_records(source: Source, raw: Bytes, start: int, layout: Layout) -> TextScan:
    """Refuse tables that a reader would mend silently: rows of other lengths, open quotes.

    Parameters
    ----------
    source : Source
        The file, for what is said about it.
    raw : bytes-like
        Its text, in UTF-8.
    start : int
        The byte at which the table begins, names included.
    layout : Layout
        How it is laid out.
    """
    width, reader = len(layout.names), _Reader(source, raw, layout)
    n_heading, n_records, n_rows = layout.n_heading, 0, 0
    blank, jumped, lines_jumped = [], [], []
    ahead = -1  # the line of a row less its number, for the row before
    for low, high in pieces(raw, start):
        piece = reader.take(low, high)
        n_skipped = min(n_heading, len(piece.lines))
        n_heading -= n_skipped
        lines, widths = piece.lines[n_skipped:], piece.widths[n_skipped:]
        is_blank = widths == 0
        wrong = np.flatnonzero(~is_blank & (widths != width))
        if len(wrong):
            raise describe_uneven(source, layout, int(lines[wrong[0]]), int(widths[wrong[0]]))
        is_row = ~is_blank if width > 1 else np.ones(len(lines), dtype=bool)
        blank.append(n_records + np.flatnonzero(is_blank))
        n_records += len(lines)
        offsets = lines[is_row] - np.arange(n_rows, n_rows + int(is_row.sum()))
        jumps = np.flatnonzero(np.diff(offsets, prepend=ahead))
        jumped.append(n_rows + jumps)
        lines_jumped.append(lines[is_row][jumps])
        n_rows += len(offsets)
        ahead = int(offsets[-1]) if len(offsets) else ahead
    reader.check_end()
    gone = np.concatenate(blank) if blank else np.array([], dtype=np.int64)
    if width == 1:  # those at the end, without a row after them
        last = n_records - len(gone)
        gone = gone[gone - np.arange(len(gone)) == last] if len(gone) else gone
        n_rows -= len(gone)
    where = Lines(_joined(jumped), _joined(lines_jumped), n_rows)
    return TextScan(n_records, gone, where)


def _joined(parts: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    return np.concatenate(parts) if parts else np.array([], dtype=np.int64)


def describe_uneven(source: Source, layout: Layout, line: int, n: int) -> Exception:
    """Return the error of a line with another number of values than there are columns."""
    first = "the first line" if layout.first_line == 1 else f"line {layout.first_line}"
    is_title = len(layout.names) == 1
    return source.error(
        f"{count(n, 'value')} where {first} has {len(layout.names)}",
        "If that is a title, remove what stands above the names of the columns"
        if is_title
        else "Correct the line, or quote values that contain the separator",
        line=line,
    )


class _Reader:
    """Takes a table piece by piece, and remembers what goes on from one to the next.

    Parameters
    ----------
    source : Source
        The file, for what is said about it.
    raw : bytes-like
        Its text.
    layout : Layout
        How it is laid out.
    """

    def __init__(self, source: Source, raw: Bytes, layout: Layout) -> None:
        self._source, self._raw = source, raw
        self._separator = ord(layout.separator)
        self._line = layout.first_line  # of the next byte
        self._is_inside = False  # between quotes
        self._opened = 0  # the line on which the last of them opened
        self._begun: tuple[int, int] | None = None  # line and separators of a record that goes on

    def take(self, low: int, high: int) -> _Piece:
        """Return the records that end in a piece."""
        piece = np.frombuffer(self._raw, np.uint8, high - low, low)
        is_feed, is_mark = piece == _FEED, piece == self._separator
        feeds = np.flatnonzero(is_feed)
        ends = feeds
        if self._is_inside or self._raw.find(b'"', low, high) >= 0:
            is_outside = self._follow_quotes(piece, feeds)
            is_mark &= is_outside
            ends = np.flatnonzero(is_feed & is_outside)
        if piece[-1] != _FEED and not self._is_inside:  # the last line of the file has no end
            ends = np.append(ends, len(piece))
        found = self._count(piece, feeds, ends, np.flatnonzero(is_mark))
        self._line += len(feeds)
        return found

    def check_end(self) -> None:
        """Refuse a quote that is open at the end."""
        if self._is_inside:
            raise self._open_quote()

    def _count(
        self, piece: NDArray[np.uint8], feeds: NDArray[np.int64], ends: NDArray[np.int64], marks: NDArray[np.int64]
    ) -> _Piece:
        starts = np.concatenate([[0], ends[:-1] + 1]) if len(ends) else np.array([], dtype=np.int64)
        bounds = np.searchsorted(marks, ends)
        widths = np.diff(bounds, prepend=0) + 1
        if len(ends) == len(feeds) and not self._begun:
            lines = np.arange(self._line, self._line + len(ends))
        else:
            lines = self._line + np.searchsorted(feeds, starts)
        sizes = ends - starts
        is_blank = (sizes == 0) | ((sizes == 1) & (piece[np.maximum(ends - 1, 0)] == _RETURN))
        if self._begun and len(ends):
            lines[0], widths[0], is_blank[0] = self._begun[0], widths[0] + self._begun[1], False
            self._begun = None
        widths[is_blank] = 0
        rest = int(ends[-1]) + 1 if len(ends) else 0
        if rest < len(piece):  # a record goes on in the next piece, between quotes
            more = len(marks) - (int(bounds[-1]) if len(ends) else 0)
            line, n = self._begun or (self._line + int(np.searchsorted(feeds, rest)), 0)
            self._begun = (line, n + more)
        return _Piece(lines, widths)

    def _follow_quotes(self, piece: NDArray[np.uint8], feeds: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which bytes stand outside quotes; refuse quotes that do not stand where values begin and end."""
        is_quote = piece == _QUOTE
        quotes = np.flatnonzero(is_quote)
        opening, closing = quotes[int(self._is_inside) :: 2], quotes[1 - int(self._is_inside) :: 2]
        before = np.where(opening > 0, piece[opening - 1], _FEED)
        after = np.append(piece, _FEED)[closing + 1]
        bad_open = opening[~np.isin(before, [self._separator, _FEED, _QUOTE])]
        bad_close = closing[~np.isin(after, [self._separator, _FEED, _RETURN, _QUOTE])]
        if len(bad_close) and not (len(bad_open) and bad_open[0] < bad_close[0]):
            self._refuse(piece, feeds, opening, int(bad_close[0]))
        if len(bad_open):
            raise StrayQuoteError
        is_outside = (np.cumsum(is_quote, dtype=np.uint32) + self._is_inside) % 2 == 0
        if len(opening):
            # A doubled quote inside a value closes and opens it at once: the value began before these.
            begins = opening[before != _QUOTE]
            if len(begins):
                self._opened = self._line + int(np.searchsorted(feeds, begins[-1]))
        self._is_inside = not is_outside[-1]
        return np.asarray(is_outside)

    def _refuse(
        self, piece: NDArray[np.uint8], feeds: NDArray[np.int64], opening: NDArray[np.int64], closed: int
    ) -> None:
        """Refuse a quote with text after it: the one before was never closed, or quotes inside are not doubled."""
        line = self._line + int(np.searchsorted(feeds, closed))
        begins = opening[(opening < closed) & (np.where(opening > 0, piece[opening - 1], _FEED) != _QUOTE)]
        if len(begins):
            self._opened = self._line + int(np.searchsorted(feeds, begins[-1]))
        if self._opened != line:
            raise self._open_quote()
        raise self._source.error(
            "a quote closes a value that goes on after it",
            "double the quotes inside values, or leave them out",
            line=line,
        )

    def _open_quote(self) -> Exception:
        return self._source.error(
            f"the quote that opens on line {self._opened} is never closed",
            "close it, or leave it out",
            line=self._opened,
        )
