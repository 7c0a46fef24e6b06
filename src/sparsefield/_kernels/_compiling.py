"""How kernels are compiled, and kept on disk from one process to the next where a folder can be written."""

from __future__ import annotations

import hashlib
import time
import warnings
from contextlib import suppress
from functools import cache, partial
from pathlib import Path

from numba import __version__ as numba_version
from numba import njit
from numba.core import event
from numba.core.caching import FunctionCache, NullCache

# Seconds of CPU that the kernels of a first fit take, on one core of a Zen 3: 10 to 12 with two levels, to 15 with
# three, 17 to 23 with missing values.
_SECONDS = "10 to 25 s"


def compiled(function=None, **flags):
    """Compile a function as a kernel: it releases the interpreter, and is kept on disk where that is possible.

    Parameters
    ----------
    function : callable
        The function.
    **flags
        What else numba is to know of it, such as `fastmath`.
    """
    if function is None:
        return partial(compiled, **flags)
    kernel = njit(nogil=True, **flags)(function)
    # What `njit(cache=True)` does, with caches that never end a fit.
    kernel._cache = _make_cache(function)
    return kernel


def _make_cache(function):
    """Return the cache of a kernel where numba finds a folder for it, else one that keeps nothing."""
    try:
        return _Kept(function)
    # Neither NUMBA_CACHE_DIR nor the folder of this file nor the user's own can be written, or sources cannot be read.
    except (RuntimeError, OSError):
        return _NotKept("no folder for them can be written")
    # Caches are private to numba: those of another version may have other parts.
    except (AttributeError, TypeError):
        return _NotKept(f"numba {numba_version} keeps them in another way", "Use another version of numba.")


def describe_compiling() -> str | None:
    """Return what to tell people who wait while kernels are compiled, and None at other times."""
    if not _under_way.depth:
        return None
    return f"compiling kernels, {'once' if _under_way.is_kept else 'in every run'}, {_SECONDS}"


def seconds_compiling() -> float:
    """Return how many seconds this process has compiled so far: what is left takes none of them."""
    return _under_way.seconds


class _UnderWay(event.Listener):  # type: ignore[misc]  # numba has no types
    """How many functions are being compiled, each because the one before calls it, and whether the first is kept."""

    depth, is_kept = 0, True
    seconds, began = 0.0, 0.0

    def on_start(self, event):
        """Count a function; the first is a kernel of ours, others may be numba's own, which are never kept."""
        if not self.depth:
            self.is_kept = not (_is_told or isinstance(event.data["dispatcher"]._cache, NullCache))
            self.began = time.perf_counter()
        self.depth += 1

    def on_end(self, event):  # noqa: ARG002  # asked for by numba
        """Count it no more."""
        self.depth -= 1
        if not self.depth:
            self.seconds += time.perf_counter() - self.began


_under_way = _UnderWay()
event.register("numba:compile", _under_way)


class _Kept(FunctionCache):  # type: ignore[misc]
    """The files of one kernel. What is wrong with them costs compiling again, and nothing else."""

    def __init__(self, function):
        super().__init__(function)
        files = self._cache_file
        self._index = Path(files._index_path)
        if not hasattr(files, "_source_stamp"):
            raise AttributeError("_source_stamp")
        # numba compares the file of the kernel alone, and would use what was compiled with an older version of another
        # file that it imports.
        files._source_stamp = _stamp_folder(Path(function.__code__.co_filename).parent)

    def load_overload(self, sig, target_context):
        """Return what was compiled before, or None where there is none that can be read."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # of a damaged file: unpickling raises whatever its bytes lead to
            self._forget()
            return None

    def save_overload(self, sig, data):
        """Keep what was compiled, unless the disk is full or cannot be written any more."""
        try:
            super().save_overload(sig, data)
        except BaseException as error:
            self._forget()
            if not isinstance(error, Exception):  # an interrupt
                raise
            _warn_not_kept(f"{getattr(error, 'strerror', None) or error}: {self.cache_path!r}")

    def _forget(self):
        """Remove the index: numba writes it before the data, and must not find older data under their name."""
        with suppress(OSError):
            self._index.unlink(missing_ok=True)


@cache
def _stamp_folder(folder):
    """Return what tells the Python files of a folder from older versions of them."""
    files = sorted(folder.glob("*.py"))
    return [(file.name, hashlib.sha256(file.read_bytes()).hexdigest()) for file in files]


class _NotKept(NullCache):  # type: ignore[misc]
    """No files at all."""

    def __init__(self, *why):
        self._why = why

    def save_overload(self, *_):
        """Say that what was compiled is not kept: now it has cost something, which importing it does not."""
        _warn_not_kept(*self._why)


_is_told = False


def _warn_not_kept(reason, remedy="Set NUMBA_CACHE_DIR to a folder that can be written."):
    """Say once in a process that kernels are compiled again in the next."""
    global _is_told
    if not _is_told:
        _is_told = True
        warnings.warn(
            f"Every run compiles its kernels again, as they cannot be kept ({reason}). {remedy}", stacklevel=2
        )
