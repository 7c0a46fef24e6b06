"""The characters of a text file: as UTF-8 with one kind of line end, whatever program wrote it."""

from __future__ import annotations

import codecs
import mmap
from collections.abc import Iterator

import numpy as np

from sparsefield.tables.reading._contents import Note
from sparsefield.tables.reading._source import Source

Bytes = bytes | mmap.mmap

PIECE = 1 << 20  # bytes looked at together: what is made of them stays in the cache of a processor

_BOM = codecs.BOM_UTF8
_WIDE = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
# Bytes below a space that text does have: tab, line feed, form feed, carriage return, and the end mark of DOS.
_CONTROL = bytes(set(range(32)) - {9, 10, 12, 13, 26})


def as_plain_text(source: Source, raw: Bytes) -> tuple[Bytes, tuple[Note, ...]]:
    """Return the text as UTF-8 with line ends that have a line feed: the same bytes where they are that already.

    Files that are not text are refused. A text that is not UTF-8 is taken for Windows-1252 (or Latin-1, where it has
    bytes that this has no character for), with a note.
    """
    notes: list[Note] = []
    start = raw[:4]
    if any(start.startswith(mark) for mark in _WIDE):
        raw = _decode(source, raw, "utf-16").encode()
    _refuse_binary(source, raw)
    if not _is_utf8(raw):
        encoding = "cp1252" if _can_decode(raw, "cp1252") else "latin-1"
        name = {"cp1252": "Windows-1252", "latin-1": "Latin-1"}[encoding]
        notes.append(
            Note(
                f"File {source.name!r} is not UTF-8 text: it is read as {name}. Check letters with accents, or save it "
                "as UTF-8."
            )
        )
        raw = _decode(source, raw, encoding).encode()
    if _has_lone_returns(raw):
        raw = bytes(raw).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return raw, tuple(notes)


def is_like_text(head: bytes) -> bool:
    """Say whether the first bytes of a file are lines of text."""
    if any(head.startswith(mark) for mark in _WIDE):
        return True
    return b"\n" in head.replace(b"\r", b"\n") and not set(head) & set(b"\0" + _CONTROL)


def skip_mark(raw: Bytes) -> int:
    """Return where the text begins: after the mark that some programs put first."""
    return len(_BOM) if raw[: len(_BOM)] == _BOM else 0


def pieces(raw: Bytes, start: int = 0) -> Iterator[tuple[int, int]]:
    """Yield the bounds of pieces that end with a line feed, or with the text."""
    while start < len(raw):
        end = start + PIECE
        if end < len(raw):
            cut = raw.rfind(b"\n", start, end) + 1 or raw.find(b"\n", end) + 1
            end = cut or len(raw)
        end = min(end, len(raw))
        yield start, end
        start = end


def _decode(source: Source, raw: Bytes, encoding: str) -> str:
    try:
        return bytes(raw).decode(encoding)
    except UnicodeDecodeError as error:
        raise source.error("is not a text that can be read", "save it as UTF-8") from error


def _can_decode(raw: Bytes, encoding: str) -> bool:
    try:
        bytes(raw).decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _is_utf8(raw: Bytes) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for start, end in pieces(raw):
            piece = raw[start:end]
            if not piece.isascii() or decoder.getstate()[0]:
                decoder.decode(piece)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _refuse_binary(source: Source, raw: Bytes) -> None:
    """Refuse what is not text: it has bytes that no text has."""
    zero = raw.find(b"\0")
    if zero >= 0:
        line = raw[:zero].count(b"\n") + 1
        raise source.error("there is a zero byte, which no text has", "is it another kind of file?", line=line)
    head = raw[:PIECE]
    if len(head.translate(None, _CONTROL)) < len(head):
        raise source.error(
            "is not text: it has control characters",
            "give a .csv, .tsv, .xlsx or .parquet file, or another that the guide lists",
        )


def _has_lone_returns(raw: Bytes) -> bool:
    """Say whether lines end in a carriage return alone, as old programs for the Mac write them."""
    if raw.find(b"\r") < 0:
        return False
    for start, end in pieces(raw):
        piece = np.frombuffer(raw, np.uint8, end - start, start)
        returns = np.flatnonzero(piece == 13)
        if len(returns) and (returns[-1] == len(piece) - 1 or bool((piece[returns + 1] != 10).any())):
            return True
    return False
