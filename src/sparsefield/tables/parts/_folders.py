"""Tables in many files: folders and patterns of names, read together or batch after batch."""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from sparsefield.data import TableError, columns_have, preview
from sparsefield.tables.parts._parts import LazyParts
from sparsefield.tables.parts._text_parts import scan_text
from sparsefield.tables.reading._contents import Contents, Note
from sparsefield.tables.reading._signatures import TEXT

_PARQUET, _ARROW = (".parquet", ".pq"), (".arrow", ".feather", ".ipc")
_TEXT = (*TEXT, ".txt")
_KINDS = {**dict.fromkeys(_PARQUET, "parquet"), **dict.fromkeys(_ARROW, "Arrow"), **dict.fromkeys(_TEXT, "text")}
_WILD = frozenset("*?[")

# What is read into memory as one table: codes of so many cells take half a GiB, columns of 64 bits eight times as much,
# and cells of text at least two bytes in a file.
MOST_CELLS = 2**29
MOST_BYTES = 2**30


@dataclass(frozen=True)
class Files:
    """Files that hold one table together.

    Parameters
    ----------
    name : str
        What people call them: the folder, pattern or file that they gave.
    paths : tuple of Path
        The files, in the order of their names.
    kind : "parquet", "Arrow" or "text"
        What they are.
    """

    name: str
    paths: tuple[Path, ...]
    kind: str

    def is_large(self) -> bool:
        """Say whether the table is too large to be read into memory without being told so."""
        if self.kind == "text":
            return sum(path.stat().st_size for path in self.paths) > MOST_BYTES
        frame = self._scan()
        try:
            n_rows = frame.select(pl.len()).collect().item()
            return bool(n_rows * len(frame.collect_schema()) > MOST_CELLS)
        except (pl.exceptions.PolarsError, OSError):  # reading it into memory tells what is wrong
            return False

    def read(self, read: Callable[[Path], Contents]) -> Contents:
        """Read all files into memory, each as a function does, one below the other."""
        contents = [read(path) for path in self.paths]
        if len(contents) == 1:
            return contents[0]
        with _as_table_error(self.name):
            frame = pl.concat([own.frame for own in contents], how="vertical_relaxed")
        # What is assumed of each file alike is said once.
        notes = tuple(dict.fromkeys(note for own in contents for note in own.notes))
        return Contents(self.name, frame, notes)

    def parts(self, markers: Sequence[str], separator: str | None = None, header: bool | None = None) -> LazyParts:
        """Return the table as batches that are read one after the other."""
        if self.kind == "text":
            frame, notes = scan_text(self.paths, tuple(markers), separator, header)
            return LazyParts(frame, self.name, notes)
        frame = self._scan()
        with _as_table_error(self.name):
            schema = frame.collect_schema()
        index = [name for name in schema if name.startswith("__index_level_")]
        notes = tuple(Note(f"Column {name!r} has the row names of pandas: it is left out.") for name in index)
        odd = [name for name, dtype in schema.items() if dtype == pl.Categorical]
        if odd:
            what = (
                f"{columns_have(odd)} categories, which are in the order of the alphabet where files are read in parts."
            )
            notes = (*notes, Note(what))
        return LazyParts(frame.drop(index), self.name, notes)

    def _scan(self) -> pl.LazyFrame:
        if self.kind == "Arrow":
            return pl.scan_ipc(list(self.paths))
        # Folders named year=2020 hold a column, as Hive, Spark and Dask write it.
        has_keys = any("=" in folder.name for path in self.paths for folder in path.parents)
        return pl.scan_parquet(list(self.paths), hive_partitioning=has_keys)


def find_files(path: str | Path) -> Files | None:
    """Find the files of a folder, a pattern, or a single file that can be read in parts; None where it is another."""
    own = Path(path).expanduser()
    if own.is_dir():
        files = sorted(file for file in own.rglob("*") if file.is_file() and not _is_hidden(file.relative_to(own)))
        what = f"Folder {str(path)!r}"
    elif not own.exists() and _WILD & set(str(own)):
        files = sorted(file for file in map(Path, glob.glob(str(own), recursive=True)) if file.is_file())
        what = f"The pattern {str(path)!r}"
    elif own.is_file() and own.suffix.lower() in _KINDS:
        return Files(str(path), (own,), _KINDS[own.suffix.lower()])
    else:
        return None
    kinds = {_KINDS.get(file.suffix.lower(), file.suffix or "no ending") for file in files}
    if not files:
        raise TableError(f"{what} has no files", "check its name")
    if len(kinds) > 1 or not kinds <= set(_KINDS.values()):
        raise TableError(
            f"{what} has files of kinds {preview(sorted(kinds))}",
            "give a folder of parquet, Arrow or text files alone, or a pattern such as 'folder/*.parquet'",
        )
    return Files(str(path), tuple(files), kinds.pop())


def _is_hidden(path: Path) -> bool:
    """Say whether a file is no part of the table: names of such begin with a dot or, of Spark and Dask, with _."""
    return any(part.startswith((".", "_")) for part in path.parts)


@contextmanager
def _as_table_error(name: str) -> Iterator[None]:
    try:
        yield
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = str(error).strip().partition("\n")[0].rstrip(".")
        raise TableError(
            f"{name!r} cannot be read as one table: {reason}", "give all files the same columns"
        ) from error
