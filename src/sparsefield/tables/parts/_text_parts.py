"""Text files that are too large to be read at once: their first lines tell how all of them are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from sparsefield.data import preview
from sparsefield.tables.reading._contents import Contents, Note
from sparsefield.tables.reading._layout import Layout, find_layout
from sparsefield.tables.reading._source import Source
from sparsefield.tables.reading._text import read_text

_HEAD = 1 << 20  # bytes of each file from which its layout and the types of its columns are told


@dataclass(frozen=True)
class _Head:
    """The first lines of a text file, read as files that fit into memory are."""

    source: Source
    layout: Layout
    contents: Contents


def scan_text(
    paths: Sequence[Path], markers: tuple[str, ...], separator: str | None, header: bool | None
) -> tuple[pl.LazyFrame, tuple[Note, ...]]:
    """Return the rows of text files, one file after the other, and what was assumed to read the first.

    Columns have the types that fit the first lines of all files; cells further down that do not are refused.
    """
    heads = [_read_head(path, markers, separator, header) for path in paths]
    first = heads[0]
    for head in heads[1:]:
        if head.contents.frame.columns != first.contents.frame.columns:
            raise head.source.error(
                f"has columns {preview(head.contents.frame.columns)}, and {first.source.name!r} has "
                f"{preview(first.contents.frame.columns)}",
                "give all files the same columns, in the same order",
            )
    types = {name: _join_types([head.contents.frame[name] for head in heads]) for name in first.contents.frame.columns}
    words = [*(marker for marker in markers if marker), "\r"]
    return pl.concat([_scan(head, types, words) for head in heads]), first.contents.notes


def _read_head(path: Path, markers: tuple[str, ...], separator: str | None, header: bool | None) -> _Head:
    with path.open("rb") as file:
        raw = file.read(_HEAD)
        is_whole = not file.read(1)
    lines = raw if is_whole else raw[: raw.rfind(b"\n") + 1]
    source = Source(str(path), path.suffix.lower(), path, lines)
    layout = find_layout(source, lines, separator, markers, header)
    contents = read_text(source, markers, separator, header, as_text=False)
    try:
        lines.decode()
    except UnicodeDecodeError:
        raise source.error("is not UTF-8 text, and too large to be read at once", "save it as UTF-8") from None
    if layout.skips_spaces:
        raise source.error("has spaces after separators, and is too large to be read at once", "write it without them")
    return _Head(replace(source, data=None), layout, contents)


def _join_types(columns: Sequence[pl.Series]) -> pl.DataType:
    """Return the type that fits a column of all files: one without a value says nothing of it."""
    found = {column.dtype for column in columns if column.null_count() < len(column)}
    if len(found) == 1:
        return found.pop()
    return pl.Float64() if found == {pl.Int64, pl.Float64} else pl.String()


def _scan(head: _Head, types: dict[str, pl.DataType], words: list[str]) -> pl.LazyFrame:
    names = [name if name in types else f"left out {k}" for k, name in enumerate(head.layout.names)]
    frame = pl.scan_csv(
        head.source.path,
        separator=head.layout.separator,
        has_header=False,
        skip_lines=head.layout.n_above,
        null_values=words,
        schema={name: types.get(name, pl.String()) for name in names},
    )
    return frame.select(list(types))
