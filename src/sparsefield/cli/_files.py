"""Files that commands write: checked before any work is done, and tables written."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from sparsefield._writing import whole_file

if TYPE_CHECKING:
    import polars as pl

_ELSEWHERE = re.compile(r"\w{2,}:/|/dev/|/proc/")  # addresses, and devices such as /dev/stdin
_WILD = re.compile(r"[*?]|\[[^]]*\]")
_PACKED = (".gz", ".bz2", ".xz", ".zip")


def beside(data: Path, ending: str) -> Path:
    """Return where to write something that belongs to a table: beside it, or here for the web and devices."""
    path = Path(data.name.partition("?")[0]) if _ELSEWHERE.match(str(data)) else data.expanduser()
    if _WILD.search(path.name) and not path.exists():  # a pattern: what the names share
        path = path.with_name(_WILD.sub("", path.stem).strip("-_. ") or "table")
    bare = path.with_suffix("") if path.suffix.lower() in _PACKED else path
    return bare.with_suffix(ending)


def check_writable(*outputs: Path | None, inputs: tuple[Path | None, ...] = ()) -> None:
    """Refuse, before any work is done, outputs that cannot be written or would replace something wanted."""
    paths = [path for path in outputs if path is not None]
    for k, path in enumerate(paths):
        folder = path.resolve().parent
        if not folder.is_dir():
            raise typer.BadParameter(f"there is no folder {str(path.parent)!r}: make it first.")
        if not os.access(folder, os.W_OK):
            raise typer.BadParameter(
                f"nothing can be written to the folder {str(folder)!r}: choose another (results go where -o says)."
            )
        if path.exists() and not path.is_file():
            raise typer.BadParameter(f"{str(path)!r} is no ordinary file: name one.")
        others = [other.resolve() for other in (*paths[:k], *filter(None, inputs))]
        if path.resolve() in others:
            raise typer.BadParameter(f"{str(path)!r} is named twice, and would be replaced: name another file.")


def check_endings(*paths: Path | None, endings: Sequence[str]) -> None:
    """Refuse, before any work is done, files of a kind that is not written."""
    for path in paths:
        if path is not None and path.suffix.lower() not in endings:
            *others, last = endings
            kinds = (
                f"{', '.join(others)} or {last}: choose one of these." if others else f"{last}: no other is written."
            )
            raise typer.BadParameter(f"{str(path)!r} does not end in {kinds}")


def check_pictures(*pictures: Path | None) -> None:
    """Refuse pictures that nothing could be drawn to."""
    check_endings(*pictures, endings=(".png", ".svg", ".pdf"))


def check_pages(*pages: Path | None) -> None:
    """Refuse interactive pages that no browser would take for one."""
    check_endings(*pages, endings=(".html",))


def check_tables(*tables: Path | None) -> None:
    """Refuse tables of a kind that is not written."""
    check_endings(*tables, endings=(".csv", ".tsv", ".parquet"))


def write_table(table: pl.DataFrame, path: Path) -> None:
    """Write a table of the kind that its ending says, whole or not at all."""
    ending = path.suffix.lower()
    with whole_file(path) as rough:
        if ending == ".parquet":
            content = io.BytesIO()
            table.write_parquet(content)
            # By Python, which says OSError where the disk is full: polars does not.
            rough.write_bytes(content.getvalue())
        else:
            table.write_csv(rough, separator="\t" if ending == ".tsv" else ",")
