"""Files are written whole or not at all."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


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


def write_text(path: Path, text: str) -> None:
    """Write a text whole or not at all."""
    with whole_file(path) as rough:
        rough.write_text(text, encoding="utf-8")
