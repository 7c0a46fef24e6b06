"""What the processor that numba compiles for can do, and memory laid out for it."""

from __future__ import annotations

import math
import threading
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from numba import config

CACHE_LINE = 64
_MOST_HELD = 2**23  # bytes of working memory that a thread keeps from one use to the next

_held = threading.local()


def _compiles_for(feature: str) -> bool:
    """Ask what numba will ask: the features the user set, else those of the host."""
    chosen = config.CPU_FEATURES
    if chosen is not None:
        return f"+{feature}" in chosen.split(",")
    try:
        return bool(llvm.get_host_cpu_features().get(feature, False))
    except RuntimeError:  # the processor does not say
        return False


# The packed kernels look weights up inside a register (vpermilps, vpshufb): AVX2 and later.
HAS_AVX2 = _compiles_for("avx2")
# Levels are looked up in tables of two registers (vpermt2ps).
HAS_AVX512 = _compiles_for("avx512f")
# Counting by population count beats counting by lookup where vectors have the instruction.
HAS_VECTOR_POPCOUNT = _compiles_for("avx512vpopcntdq")


def make_aligned(shape: tuple[int, ...], dtype: Any) -> np.ndarray[Any, Any]:
    """Make a zeroed array that starts on a cache line, so that a line of chains is one line of cache."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    # One line more at the end: the lookups read up to three bytes past the line they use.
    memory = np.zeros(size + 2 * CACHE_LINE, dtype=np.uint8)
    start = -memory.ctypes.data % CACHE_LINE
    array: np.ndarray[Any, Any] = memory[start : start + size].view(dtype).reshape(shape)
    return array


def borrow(name: str, shape: tuple[int, ...], dtype: Any) -> np.ndarray[Any, Any]:
    """Return working memory of any contents, what this thread last used under this name if it is large enough.

    Fresh pages cost as much as a sweep or a count of a small field.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    held = _held.__dict__.get(name)
    if held is None or held.size < size:
        held = make_aligned((size,), np.uint8)
        if size <= _MOST_HELD:  # large ones are rare and should not keep their memory
            _held.__dict__[name] = held
    array: np.ndarray[Any, Any] = held[:size].view(dtype).reshape(shape)
    return array
