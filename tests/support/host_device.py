"""A device that is this machine's processor: the GPU's kernels, compiled by the C++ compiler, thread by thread.

With SPARSEFIELD_GPU=1 (`make test-gpu`) tests run on a GPU instead.
"""

import ctypes
import os
import re
import shutil
import subprocess
import tempfile
from functools import cache, cached_property
from pathlib import Path

import numpy as np
import pytest

from sparsefield.inference import Cuda
from sparsefield.inference.gpu._device import (
    KINDS,
    Gpu,
    ask_for_sweep,
    find_gpu,
    name_sweep,
    read_sources,
    too_little_memory,
)

SHIM = Path(__file__).with_name("cuda_shim.h")
# Contracting products and sums would round otherwise than the GPU, which is told how to round each.
OPTIONS = ["-std=c++17", "-O2", "-ffp-contract=off", "-fno-math-errno", "-shared", "-fPIC", "-w"]
UNTOUCHED = 0xA5
TOGETHER = ["sweep_dense_few", "sweep_dense_many"]  # kernels whose threads wait for each other
IS_REAL = os.environ.get("SPARSEFIELD_GPU") == "1"


def find_compiler():
    return shutil.which("g++") or shutil.which("clang++")


# Where there is neither a GPU nor a compiler, tests of kernels are skipped, unless SPARSEFIELD_REQUIRE_COMPILER=1.
needs_device = pytest.mark.skipif(
    not IS_REAL and find_compiler() is None and os.environ.get("SPARSEFIELD_REQUIRE_COMPILER") != "1",
    reason="no C++ compiler, which makes the kernels for this machine",
)


@cache
def compile_kernels():
    """Return the library of all kernels, and their names."""
    forms = [(form, n_planes) for form in ("product", "sum") for n_planes in (1, 2, 3)]
    source = read_sources("random", "sweeps", "coupling", "counts", "dense")
    names = re.findall(r"__global__ void ([a-z]\w+)\(", source)
    sweeps = [name_sweep(*own, *kind) for own in forms for kind in KINDS]
    names += sweeps
    source += "".join(ask_for_sweep(name) for name in sweeps)
    with tempfile.TemporaryDirectory() as folder:
        code = Path(folder, "kernels.cpp")
        lines = [f"HOST({name})" for name in names] + [f"HOST_TOGETHER({name})" for name in TOGETHER]
        code.write_text(f'#include "{SHIM}"\n{source}\n' + "\n".join(lines))
        library = Path(folder, "kernels.so")
        subprocess.run([find_compiler(), *OPTIONS, "-o", str(library), str(code)], check=True)
        return ctypes.CDLL(str(library))


class Host:
    """The processor in place of a GPU: `n_full` says how many chains a thread has, others what there is room for."""

    xp = np

    def __init__(self, n_full=1, free_bytes=2**32, near_bytes=2**16):
        assert near_bytes <= 2**17  # as much as the shim has
        self.n_full, self.free_bytes, self.near_bytes, self.launched = n_full, free_bytes, near_bytes, []
        self.product_bytes = 2**17  # as much as the shim has
        self._kernels = compile_kernels()
        self._kernels.find_near.restype = ctypes.POINTER(ctypes.c_ubyte * 2**17)
        self._near = np.ctypeslib.as_array(self._kernels.find_near().contents)
        self.set_chance(0, 8)

    def launch(self, kernel, grid, n_threads, *arguments, near_bytes=0):
        assert near_bytes <= max(self.near_bytes, self.product_bytes)
        self.launched.append(kernel)
        held = [self._place(value) for value in arguments]
        places = (ctypes.c_void_p * len(held))(*[ctypes.addressof(value) for value in held])
        sizes = (ctypes.c_uint * 3)(*grid, *[1] * (3 - len(grid)))
        beyond = self._near[near_bytes:]
        beyond[:] = UNTOUCHED
        getattr(self._kernels, f"host_{kernel}")(sizes, ctypes.c_uint(n_threads), places)
        assert (beyond == UNTOUCHED).all(), f"{kernel} took more of a processor's memory than it had asked for"

    @staticmethod
    def _place(value):
        if value is None:
            return ctypes.c_void_p(0)
        if isinstance(value, np.ndarray):
            assert value.flags.c_contiguous
            return ctypes.c_void_p(value.ctypes.data)
        kinds = {np.uint32: ctypes.c_uint32, np.int32: ctypes.c_int32, np.uint64: ctypes.c_uint64}
        return kinds[type(value)](int(value))

    def set_chance(self, seed, longest):
        """Say in which order the warps of a block come, and how often one waits at most before the next one comes."""
        self._kernels.set_chance(ctypes.c_uint(1 + seed), ctypes.c_uint(longest))

    def has_room(self, _, near_bytes):
        return near_bytes <= self.near_bytes

    def make(self, shape, dtype):
        check_room(shape, dtype, self.free_bytes)
        return np.zeros(shape, dtype)

    def fetch(self, array):
        return np.array(array)

    def wait(self):
        pass


class OnDevice(Cuda):
    """The backend of a GPU, on a device that is given."""

    def __init__(self, device):
        super().__init__()
        object.__setattr__(self, "device", device)

    @property
    def _device(self):
        return self.device

    def __deepcopy__(self, _):
        return self


class Late(Cuda):
    """The backend of a GPU, or of this machine in its place: kernels are compiled when somebody asks for chains."""

    @cached_property
    def _device(self):
        return make_device()


def make_device(n_full=1, free_bytes=2**32, near_bytes=2**16):
    """Return a device on which a thread has more or fewer chains, with so much memory."""
    if not IS_REAL:
        return Host(n_full, free_bytes, near_bytes)
    device = Limited(find_gpu().xp)
    device.n_full, device.near_bytes, device.free_bytes, device.launched = n_full, near_bytes, free_bytes, []
    return device


class Limited(Gpu):
    """A GPU that says that it has less memory, and counts what it was asked for."""

    free_bytes = 2**32

    def has_room(self, n_blocks, near_bytes):
        return near_bytes <= self.near_bytes and super().has_room(n_blocks, near_bytes)

    def launch(self, kernel, *arguments, **options):
        self.launched.append(kernel)
        super().launch(kernel, *arguments, **options)

    def make(self, shape, dtype):
        check_room(shape, dtype, self.free_bytes)
        return super().make(shape, dtype)


def check_room(shape, dtype, free_bytes):
    n_bytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
    if n_bytes > free_bytes:
        raise too_little_memory(n_bytes, free_bytes)
