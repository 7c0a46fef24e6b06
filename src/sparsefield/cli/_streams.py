"""Standard output and standard error, which may be full or closed while files can still be written."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sparsefield.cli._commands import BAD_INPUT


class _Stream:
    """A stream that drops what it cannot write, and remembers why."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.error: OSError | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write a text, if that is possible."""
        self._try(self._stream.write, text)
        return len(text)

    def flush(self) -> None:
        """Write what was held back, if that is possible."""
        self._try(self._stream.flush)

    def _try(self, call: Any, *given: str) -> None:
        try:
            if self.error is None:
                call(*given)
        except OSError as error:
            self.error = error
            # What is held back cannot be written either: Python would try again, and complain, when it ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())


@contextmanager
def keep_going() -> Iterator[None]:
    """Do the work whether or not anybody can read about it; say at the end that standard output was full.

    A reader that has seen enough and closes its end (`| head -1`) is nothing to complain about.
    """
    streams = [_Stream(open(os.devnull, "w") if own is None else own) for own in (sys.stdout, sys.stderr)]  # noqa: SIM115
    sys.stdout, sys.stderr = streams
    try:
        yield
    finally:
        for stream in streams:
            stream.flush()
        error = streams[0].error
        if error is not None and not isinstance(error, BrokenPipeError):
            sys.stderr.write(f"Error: Standard output cannot be written: {error.strerror}.\n")
            sys.stderr.flush()
            sys.exit(BAD_INPUT)
