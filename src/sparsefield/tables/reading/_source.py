"""Where the bytes of a table are: in a file, in a packed one, or at an address of the web."""

from __future__ import annotations

import bz2
import gzip
import http.client
import io
import lzma
import mmap
import re
import urllib.error
import urllib.parse
import urllib.request
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from sparsefield.data import TableError, check_file, preview
from sparsefield.tables.reading._contents import Note

_TIMEOUT = 30.0  # seconds without an answer of a server, after which a person would have looked why
_HEAD = 4096  # bytes that tell what a file is: signatures stand in the first of them

_UNPACK: dict[bytes, tuple[str, Callable[[bytes], bytes]]] = {
    b"\x1f\x8b": (".gz", gzip.decompress),
    b"BZh": (".bz2", bz2.decompress),
    b"\xfd7zXZ\x00": (".xz", lzma.decompress),
}


@dataclass(frozen=True)
class Source:
    """The bytes of a table, in a file or in memory.

    Parameters
    ----------
    name : str
        What people call it: the path or address that they gave.
    ending : str
        What its name ends in, in lower case and unpacked, such as ".csv".
    path : Path
        The file that was named.
    data : bytes, optional
        The bytes, where they are not those of the file: unpacked, or from the web.
    notes : tuple of Note
        What was assumed to get at them.
    """

    name: str
    ending: str
    path: Path
    data: bytes | None = None
    notes: tuple[Note, ...] = ()

    @property
    def head(self) -> bytes:
        """The first bytes."""
        if self.data is not None:
            return self.data[:_HEAD]
        with self.path.open("rb") as file:
            return file.read(_HEAD)

    @property
    def readable(self) -> Path | io.BytesIO:
        """What a reader of files takes."""
        return self.path if self.data is None else io.BytesIO(self.data)

    def view(self) -> bytes | mmap.mmap:
        """Return the bytes without a copy of them."""
        if self.data is not None or self.path.stat().st_size == 0:
            return self.data or b""
        with self.path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def error(
        self, problem: str, remedy: str = "", *, line: int | None = None, option: str | None = None
    ) -> TableError:
        """Return the error of something that is wrong with the file, on one of its lines."""
        where = "" if line is None else f", line {line}:"
        return TableError(
            f"File {self.name!r}{where} {problem}", remedy, path=Path(self.name), line=line, option=option
        )


def as_address(path: str | Path) -> str | None:
    """Return the address of the web that a path is; a path with a double slash in it loses one of the two."""
    found = re.match(r"(https?):/{1,2}([^/].*)", str(path), re.IGNORECASE)
    return f"{found[1]}://{found[2]}" if found else None


def open_source(path: str | Path) -> Source:
    """Find the bytes of a table: a file, packed or not, or an address of the web."""
    address = as_address(path)
    if address is not None:
        ending = PurePosixPath(urllib.parse.urlparse(address).path).suffix
        source = Source(address, ending.lower(), Path(address), _download(address))
        inner = PurePosixPath(urllib.parse.urlparse(address).path)
    else:
        own = Path(path).expanduser()
        check_file(own)
        # A pipe, as a shell makes it of another command, can be read once.
        source = Source(str(own), own.suffix.lower(), own, None if own.is_file() else own.read_bytes())
        inner = PurePosixPath(own.name)
    head = source.head
    for signature, (packed, unpack) in _UNPACK.items():
        if head.startswith(signature):
            bare = inner.with_suffix("") if source.ending == packed else inner
            return replace(source, ending=bare.suffix.lower(), data=_unpack(source, unpack))
    if head.startswith(b"PK\x03\x04"):
        return _open_zip(source)
    if source.ending in {".gz", ".bz2", ".xz"}:  # servers and browsers unpack what they send
        return replace(source, ending=inner.with_suffix("").suffix.lower())
    return source


def _download(address: str) -> bytes:
    try:
        with urllib.request.urlopen(address, timeout=_TIMEOUT) as answer:
            return bytes(answer.read())
    except urllib.error.HTTPError as error:
        reason = f"the server answers {error.code} ({error.reason})"
        error.close()
    except (OSError, http.client.HTTPException, ValueError) as error:  # ValueError: addresses that are none
        reason = str(getattr(error, "reason", None) or error) or type(error).__name__
    raise OSError(f"{address!r} cannot be read: {reason.rstrip('.')}. Check the address, or download the file first.")


def _unpack(source: Source, unpack: Callable[[bytes], bytes]) -> bytes:
    try:
        return unpack(source.path.read_bytes() if source.data is None else source.data)
    except (OSError, EOFError, zlib.error, lzma.LZMAError, ValueError) as error:
        raise source.error(f"is damaged: {error}", "copy or download it again") from error


def _open_zip(source: Source) -> Source:
    """Open the one table in an archive; a workbook is an archive too, and is left as it is."""
    try:
        with zipfile.ZipFile(source.readable) as archive:
            names = [entry.filename for entry in archive.infolist() if not entry.is_dir()]
            if any(name in ("mimetype", "[Content_Types].xml") for name in names):
                return source
            names = [name for name in names if not name.startswith("__MACOSX/")]
            if len(names) != 1:
                problem = f"is an archive of {len(names)} files" + (f", {preview(names)}" if names else "")
                raise source.error(problem, "unpack it, and name one of them")
            data = archive.read(names[0])
    except (zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError) as error:
        raise source.error(f"is a damaged or locked archive: {error}", "copy or unpack it again") from error
    note = Note(f"File {source.name!r} is an archive: {names[0]!r} in it is read.")
    ending = PurePosixPath(names[0]).suffix.lower()
    return replace(source, ending=ending, data=data, notes=(*source.notes, note))
