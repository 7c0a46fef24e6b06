"""A folder that keeps the finished pieces of a run, so that the run can go on after it was killed.

The folder holds `run.json`, which says what the run is, and one file of plain arrays for each finished piece. Each is
written whole or not at all. Two runs that are the same may share the folder: a piece has the same bits in both.
"""

from __future__ import annotations

import io
import json
import os
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsefield._writing import whole_file, write_text

Result = dict[str, NDArray[Any]]
_MANIFEST = "run.json"
_INDEX, _NAMES = "_index", "_names"  # what a file says of itself, beside the arrays of the piece


class Checkpoint:
    """The finished pieces of one run, in a folder.

    Parameters
    ----------
    folder : path
        Where the pieces are kept. It is made unless it is there.
    identity : mapping of str to str
        What the run is: pieces of a run that differs in any entry are refused.
    """

    def __init__(self, folder: str | os.PathLike[str], identity: Mapping[str, str]) -> None:
        self.folder = Path(folder)
        if self.folder.exists() and not self.folder.is_dir():
            raise NotADirectoryError(f"{str(folder)!r} is a file: give a folder for the finished pieces.")
        self.folder.mkdir(parents=True, exist_ok=True)
        manifest = self.folder / _MANIFEST
        if manifest.exists():
            _check_identity(manifest, identity)
        # A run that was killed while it wrote the manifest can leave a file behind whose name starts with a dot.
        elif any(not path.name.startswith(".") for path in self.folder.iterdir()):
            raise ValueError(
                f"Folder {str(folder)!r} is not empty, and does not say what its files are. Use another folder."
            )
        else:
            write_text(manifest, json.dumps(dict(identity), indent=1, sort_keys=True, ensure_ascii=False) + "\n")

    def read(self, index: int) -> Result | None:
        """Return what a piece gave; None where it is not finished, or its file is damaged."""
        try:
            content = self._path(index).read_bytes()
        except FileNotFoundError:
            return None
        try:
            with np.load(io.BytesIO(content), allow_pickle=False) as archive:
                found = {name: archive[name] for name in archive.files}  # checksums are verified on the way
            names = found.pop(_NAMES).tolist()
            is_whole = int(found.pop(_INDEX)) == index and sorted(found) == sorted(names)
        # What zipfile, zlib and numpy raise on bytes that make no sense.
        except (
            zipfile.BadZipFile, zlib.error, struct.error, OSError, EOFError, LookupError, ValueError, TypeError,
            RuntimeError, OverflowError,
        ):  # fmt: skip
            return None
        return {name: found[name] for name in names} if is_whole else None

    def write(self, index: int, result: Result) -> None:
        """Keep what a piece gave."""
        marks = {_INDEX: np.array(index), _NAMES: np.array(list(result), dtype=np.str_)}
        with whole_file(self._path(index)) as rough, zipfile.ZipFile(rough, "x") as archive:
            for name, array in {**marks, **result}.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                    np.save(file, array, allow_pickle=False)

    def _path(self, index: int) -> Path:
        return self.folder / f"{index:06d}.npz"


def _check_identity(manifest: Path, identity: Mapping[str, str]) -> None:
    """Refuse pieces of another run, with what differs."""
    where = repr(str(manifest.parent))
    try:
        known = json.loads(manifest.read_text(encoding="utf-8"))
    except ValueError:
        known = None
    if not isinstance(known, dict):
        raise ValueError(f"File {str(manifest)!r} is damaged: use another folder, or remove this one.")
    differences = [
        f"{name} is {known.get(name, 'not given')} there and {identity.get(name, 'not given')} here"
        for name in [*identity, *sorted(set(known) - set(identity))]
        if known.get(name) != identity.get(name)
    ]
    if differences:
        raise ValueError(
            f"Folder {where} holds pieces of another run: {', '.join(differences)}. Use another folder, or remove it."
        )
