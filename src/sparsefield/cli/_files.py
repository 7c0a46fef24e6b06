"""Files that commands write: checked before any work is done."""

from __future__ import annotations

import os
from pathlib import Path

import typer


def check_writable(*outputs: Path | None, inputs: tuple[Path | None, ...] = ()) -> None:
    """Refuse, before any work is done, outputs that cannot be written or would replace something wanted."""
    paths = [path for path in outputs if path is not None]
    for k, path in enumerate(paths):
        folder = path.resolve().parent
        if not folder.is_dir():
            raise typer.BadParameter(f"there is no folder {str(path.parent)!r}: make it first.")
        if not os.access(folder, os.W_OK):
            raise typer.BadParameter(f"nothing can be written to the folder {str(folder)!r}: choose another.")
        if path.exists() and not path.is_file():
            raise typer.BadParameter(f"{str(path)!r} is no ordinary file: name one.")
        others = [other.resolve() for other in (*paths[:k], *filter(None, inputs))]
        if path.resolve() in others:
            raise typer.BadParameter(f"{str(path)!r} is named twice, and would be replaced: name another file.")


def check_pictures(*pictures: Path | None) -> None:
    """Refuse pictures that nothing could be drawn to."""
    for picture in pictures:
        if picture is not None and picture.suffix.lower() not in (".png", ".svg", ".pdf"):
            raise typer.BadParameter(f"{str(picture)!r} does not end in .png, .svg or .pdf: choose one of these.")
