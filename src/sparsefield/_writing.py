"""Files are written whole or not at all."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

_PART = re.compile(r"\.sparsefield-([0-9a-f]{16})-([0-9]+)-[0-9a-f]{8}\.part")


class UnwritableError(OSError):
    """A file cannot be written, such as on a full disk.

    Parameters
    ----------
    path : Path
        The file that was wanted.
    error : OSError
        What the system says.
    """

    def __init__(self, path: Path, error: OSError) -> None:
        super().__init__(error.errno, error.strerror or str(error), str(path))

    def __reduce__(self) -> Any:
        """Say how another process can make the same error."""
        return UnwritableError, (Path(self.filename), OSError(self.errno, self.strerror))

    def __str__(self) -> str:
        return f"{self.filename!r} cannot be written: {self.strerror}."


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give the path of a file to write beside the one that is wanted, and move it there once it is whole."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {str(path.parent)!r}: make it first.")
    if path.exists() and not path.is_file():
        raise IsADirectoryError(f"{str(path)!r} is no ordinary file: give the path of one.")
    path = path.resolve()  # a link stays a link
    _clear_parts(path.parent)
    rough = path.with_name(f".sparsefield-{_identify_machine()}-{os.getpid()}-{secrets.token_hex(4)}.part")
    try:
        yield rough
        if path.exists():
            rough.chmod(path.stat().st_mode)
        rough.replace(path)
    except OSError as error:
        raise UnwritableError(path, error) from error
    finally:
        rough.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text whole or not at all."""
    with whole_file(path) as rough:
        rough.write_text(text, encoding="utf-8")


@cache
def _clear_parts(folder: Path) -> None:
    """Remove, once in a process, parts of files whose writers were killed.

    Their names say which process of which machine writes them. Only where it is this machine can it be known that the
    process is gone; parts of other machines, which share the disk, are left alone.
    """
    with suppress(OSError):  # of a folder that cannot be listed, and of parts that another process clears as well
        for part in folder.iterdir():
            named = _PART.fullmatch(part.name)
            if named is not None and named[1] == _identify_machine() and not _is_running(int(named[2])):
                part.unlink()


@cache
def _identify_machine() -> str:
    """Return what tells this machine, since it was started, from others: processes with its numbers are its own.

    Containers have numbers of their own for their processes. Where the system does not say which numbers these are,
    each process is a machine to itself, and nothing is cleared.
    """
    try:
        started = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
        numbers = os.readlink("/proc/self/ns/pid")
    except OSError:
        return secrets.token_hex(8)
    return hashlib.sha256(f"{socket.gethostname()} {started} {numbers}".encode()).hexdigest()[:16]


def _is_running(process: int) -> bool:
    """Say whether there is a process of this number."""
    try:
        os.kill(process, 0)  # sends nothing
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # it belongs to somebody else, or is no number of a process
        return True
    return True
