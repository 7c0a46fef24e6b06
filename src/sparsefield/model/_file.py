"""Files that hold a field: a zip archive of plain arrays and a JSON header, never code.

The header says what the file is and which version of the format; `docs/format.md` describes it.
"""

from __future__ import annotations

import io
import json
import os
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from sparsefield._writing import whole_file
from sparsefield.data import Domain

FORMAT = "sparsefield model"
VERSION = 1
_HEADER, _MAIN, _PAIRS, _VALUES = "header.json", "main.npy", "pairs.npy", "values.npy"


def write_parameters(
    path: str | os.PathLike[str],
    domain: Domain,
    main: NDArray[np.float64],
    interactions: NDArray[np.float64],
    texts: Mapping[str, str] | None = None,
) -> None:
    """Write a field, and texts beside it by name; nothing half-written is left behind."""
    pairs = np.argwhere(np.triu(interactions)).astype(np.int64)
    header = {
        "format": FORMAT,
        "version": VERSION,
        "names": domain.names,
        "levels": domain.levels,
        "reference": domain.reference,
    }
    if domain.scores is not None:
        header["scores"] = domain.scores
    with whole_file(Path(path)) as rough, zipfile.ZipFile(rough, "x", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(_HEADER, json.dumps(header, ensure_ascii=False, indent=1))
        arrays = {_MAIN: main, _PAIRS: pairs, _VALUES: interactions[pairs[:, 0], pairs[:, 1]]}
        for name, array in arrays.items():
            content = io.BytesIO()
            np.save(content, array, allow_pickle=False)
            archive.writestr(name, content.getvalue())
        for name, text in (texts or {}).items():
            archive.writestr(name, text)


def read_parameters(path: str | os.PathLike[str]) -> tuple[Domain, NDArray[np.float64], NDArray[np.float64]]:
    """Read what `write_parameters` wrote: domain, main effects, interactions."""
    where = repr(str(path))
    if not Path(path).exists():
        raise FileNotFoundError(f"There is no file {where}: check its name and folder.")
    if Path(path).is_dir():
        raise IsADirectoryError(f"{where} is a folder: give the path of a file.")
    header = _read_member(path, _HEADER, json.load)
    _check_header(header, where)
    main, pairs, values = (_read_member(path, name, _load_array) for name in (_MAIN, _PAIRS, _VALUES))
    return _assemble(header, main, pairs, values, where)


def read_text(path: str | os.PathLike[str], name: str) -> str:
    """Read one of the texts that were written beside a field."""

    def decode(content: IO[bytes]) -> str:
        return content.read().decode("utf-8")

    return str(_read_member(path, name, decode))


def has_text(path: str | os.PathLike[str], name: str) -> bool:
    """Say whether a text was written beside a field."""
    with zipfile.ZipFile(path) as archive:
        return name in archive.namelist()


def _read_member(path: str | os.PathLike[str], name: str, parse: Callable[[IO[bytes]], Any]) -> Any:
    """Read one member of the archive, whose checksum is verified on the way."""
    where = repr(str(path))
    try:
        with zipfile.ZipFile(path) as archive:
            return parse(io.BytesIO(archive.read(name)))
    except (zipfile.BadZipFile, KeyError) as error:
        raise ValueError(f"File {where} is not a saved field, or is damaged.") from error
    # What zipfile, zlib, json and numpy raise on bytes that make no sense.
    except (zlib.error, struct.error, OSError, EOFError, ValueError, RuntimeError, OverflowError) as error:
        raise ValueError(f"File {where} is damaged: {str(error).partition(chr(10))[0]}") from error


def _load_array(content: IO[bytes]) -> Any:
    array = np.load(content, allow_pickle=False)
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "fi":
        raise ValueError("it holds something else than numbers")
    return array


def _check_header(header: Any, where: str) -> None:
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ValueError(f"File {where} is not a saved field.")
    version = header.get("version")
    if type(version) is not int or not 1 <= version <= VERSION:
        raise ValueError(f"File {where} has format version {version!r}, not 1 to {VERSION}: update sparsefield.")
    if not isinstance(header.get("names"), list) or not isinstance(header.get("levels"), list):
        raise ValueError(f"File {where} is damaged: its header does not list the variables.")


def _assemble(
    header: dict[str, Any], main: NDArray[Any], pairs: NDArray[Any], values: NDArray[Any], where: str
) -> tuple[Domain, NDArray[np.float64], NDArray[np.float64]]:
    try:
        reference = header["reference"]
        domain = Domain(
            tuple(header["names"]),
            tuple(tuple(levels) for levels in header["levels"]),
            None if reference is None else tuple(reference),
            None if header.get("scores") is None else tuple(header["scores"]),
        )
        interactions = np.zeros((domain.n_slots, domain.n_slots))
        if main.shape != (domain.n_slots,) or pairs.shape != (len(values), 2) or (pairs < 0).any():
            raise ValueError("its arrays do not fit together")
        interactions[pairs[:, 0], pairs[:, 1]] = values
        interactions[pairs[:, 1], pairs[:, 0]] = values
        return domain, main.astype(np.float64), interactions
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise ValueError(f"File {where} is damaged: {error}") from error
