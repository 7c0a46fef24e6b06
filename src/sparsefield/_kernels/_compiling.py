"""How kernels are compiled, and kept on disk from one process to the next where a folder can be written."""

from __future__ import annotations

import warnings
from contextlib import suppress
from functools import partial
from pathlib import Path

from numba import njit
from numba.core.caching import FunctionCache, NullCache


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
    except RuntimeError:  # neither NUMBA_CACHE_DIR nor the folder of this file nor the user's own can be written
        return _NotKept()


class _Kept(FunctionCache):  # type: ignore[misc]  # numba has no types
    """The files of one kernel. What is wrong with them costs compiling again, and nothing else."""

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
        except Exception as error:
            self._forget()
            _warn_not_kept(f"{getattr(error, 'strerror', None) or error}: {self.cache_path!r}")

    def _forget(self):
        """Remove the index: numba writes it before the data, and must not find older data under their name."""
        with suppress(OSError):
            Path(self._cache_file._index_path).unlink(missing_ok=True)


class _NotKept(NullCache):  # type: ignore[misc]
    """No files at all."""

    def save_overload(self, *_):
        """Say that what was compiled is not kept: now it has cost something, which importing it does not."""
        _warn_not_kept("no folder for them can be written")


_is_told = False


def _warn_not_kept(reason):
    """Say once in a process that kernels are compiled again in the next."""
    global _is_told
    if not _is_told:
        _is_told = True
        warnings.warn(
            f"Every run compiles its kernels again, as they cannot be kept ({reason}): set NUMBA_CACHE_DIR to a folder "
            "that can be written.",
            stacklevel=2,
        )
