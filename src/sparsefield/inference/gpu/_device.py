"""A GPU: its memory, and the kernels that run on it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import lru_cache, wraps
from importlib.resources import files
from typing import Any, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

Form = Literal["product", "sum"]
T = TypeVar("T")
_MOST_SAID = 300  # letters of what others say of a GPU that cannot be used
_FIRST_PRODUCTS = 8  # compute capability from which on products of bytes are what the kernel asks for
_RESERVED = 1024  # bytes of a processor that a block takes besides those that it asks for


class NoDeviceError(ValueError):
    """There is no GPU that can be used.

    Attributes
    ----------
    said : str
        What CuPy, the driver or the compiler of kernels had to say; nothing where CuPy is not installed.
    """

    said = ""


class DeviceMemoryError(MemoryError):
    """A GPU has too little memory."""


class Device(Protocol):
    """What chains, bounds and draws ask of a GPU. Tests have one that is this machine's processor."""

    xp: Any  # numpy, or what has its functions for arrays on the device
    n_full: int  # threads that keep it busy
    product_bytes: int  # memory of a processor that a block can have that multiplies matrices; zero where it cannot

    def launch(self, kernel: str, grid: tuple[int, ...], n_threads: int, *arguments: Any, near_bytes: int = 0) -> None:
        """Start a kernel: arrays, and numbers of the types that it takes; None for no array."""
        ...

    def has_room(self, n_blocks: int, near_bytes: int) -> bool:
        """Say whether processors hold so many blocks at one time, with so much of their memory each."""
        ...

    def make(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Return an array of zeros, or raise DeviceMemoryError."""
        ...

    def fetch(self, array: Any) -> NDArray[Any]:
        """Return an array of this machine."""
        ...

    def wait(self) -> None:
        """Return once everything that was started is done."""
        ...

    @property
    def free_bytes(self) -> int:
        """The memory that is left."""
        ...


def read_sources(*names: str) -> str:
    """Return the source of some files of kernels, one after the other."""
    folder = files("sparsefield._kernels") / "cuda"
    return "\n".join((folder / f"{name}.cu").read_text() for name in names)


# Kernels that sweep: chains of a thread, whether they are held near it, and neighbours that are asked for together.
GROUPS = (2, 4, 6, 8)
_PLACES = ((8, False), (8, True), (16, False), (16, True), (32, False))
KINDS = [(bits, is_near, group) for bits, is_near in _PLACES for group in GROUPS]


def name_sweep(form: Form, n_planes: int, bits: int, is_near: bool, group: int) -> str:
    """Return the name of a kernel that sweeps."""
    return f"sweep_{form}_{n_planes}_{'near' if is_near else 'far'}{bits}_{group}"


def ask_for_sweep(kernel: str) -> str:
    """Return the line of source that makes a kernel that sweeps, from its name."""
    form, n_planes, place, group = kernel.split("_")[1:]
    is_near = place.startswith("near")
    memory = "near" if is_near else "far"
    chosen = n_planes, form, form.upper(), place.removeprefix(memory), memory, str(is_near).lower(), group
    return f"\nSWEEP({', '.join(chosen)})\n"


def find_source(kernel: str) -> str:
    """Return the source that has a kernel. Of those that sweep it has this one: there are many, and few are used."""
    if kernel.startswith("sweep_dense"):
        return read_sources("random", "sweeps", "dense")
    if kernel.startswith("sweep"):
        return read_sources("random", "sweeps") + ask_for_sweep(kernel)
    return read_sources("random", "coupling", "counts")


@lru_cache(maxsize=1)
def find_gpu() -> Gpu:
    """Return the GPU of this machine, or say why there is none."""
    try:
        import cupy

        gpu = Gpu(cupy)
        gpu.try_out()
    except ModuleNotFoundError as error:
        if error.name != "cupy":
            raise _cannot_run(error) from error
        raise NoDeviceError(
            "device is 'cuda': that takes CuPy, which is not installed here. Install it with "
            "\"pip install 'sparsefield[cuda]'\" (CUDA 13; cupy-cuda12x is for CUDA 12), or use device='cpu'."
        ) from error
    except Exception as error:  # whatever CuPy, the driver or the compiler of kernels has to say
        raise _cannot_run(error) from error
    return gpu


def _cannot_run(error: Exception) -> NoDeviceError:
    said = " ".join(str(error).split())[:_MOST_SAID] or type(error).__name__
    found = NoDeviceError(
        f"device is 'cuda': CuPy is installed, but cannot run on a GPU here ({said}). Look at what nvidia-smi says and "
        "whether CUDA is there (pip install 'sparsefield[cuda]' brings it along), or use device='cpu'."
    )
    found.said = said
    return found


def has_gpu() -> bool:
    """Say whether there is a GPU that can be used; where CuPy is installed and there is none, a warning says why."""
    try:
        find_gpu()
    except NoDeviceError as error:
        if error.said:
            _warn_of(error.said)
        return False
    return True


@lru_cache
def _warn_of(said: str) -> None:
    """Warn, once in a process."""
    warnings.warn(
        f"CuPy is installed, but cannot run on a GPU here ({said}): device 'auto' takes this machine's processors. "
        "Look at what nvidia-smi says, or use device='cpu', which says nothing.",
        stacklevel=3,
    )


class Gpu:
    """The GPU that CuPy uses."""

    def __init__(self, cupy: Any) -> None:
        self.xp = cupy
        properties = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)
        self._name = properties["name"].decode()
        self._n_processors = int(properties["multiProcessorCount"])
        # Once so many threads are on each processor more chains to a thread pay: 2^20 chains of 100 variables, 248
        # threads a processor of an H200 with 32 chains each, took 1.05 times as long with 16 chains, and half as many
        # 0.75 times.
        self.n_full = 224 * self._n_processors
        self._near_bytes = int(properties["sharedMemPerBlockOptin"])
        self._shared_bytes = int(properties["sharedMemPerMultiprocessor"])
        self.product_bytes = self._near_bytes if properties["major"] >= _FIRST_PRODUCTS else 0

    def try_out(self) -> None:
        """Compile kernels and run one of them: what is wrong with CuPy, the driver or the compiler shows here."""
        found, ones = self.make((1,), np.int32), self.xp.full(32, 2**32 - 1, dtype=np.uint32)
        self.launch("count_ones", (1, 1), 32, ones, ones, np.uint64(32), np.uint64(32), found)
        if int(self.fetch(found)[0]) != 1024:
            raise RuntimeError("a kernel that counts ones is wrong")

    def __reduce__(self) -> tuple[Any, ...]:
        return find_gpu, ()

    def describe(self) -> str:
        """Name the GPU, and the versions of what drives it."""
        versions = self.xp.cuda.runtime.driverGetVersion(), self.xp.cuda.runtime.runtimeGetVersion()
        driver, runtime = (f"{version // 1000}.{version % 1000 // 10}" for version in versions)
        return f"{self._name}, driver for CUDA {driver}, CUDA {runtime}, CuPy {self.xp.__version__}"

    def launch(self, kernel: str, grid: tuple[int, ...], n_threads: int, *arguments: Any, near_bytes: int = 0) -> None:
        """Start a kernel."""
        values = tuple(np.uint64(0) if value is None else value for value in arguments)
        self._find(kernel)(grid, (n_threads,), values, shared_mem=near_bytes)

    @lru_cache  # noqa: B019  # there is one GPU, for as long as the process
    def _find(self, kernel: str) -> Any:
        """Return a kernel; the first one of a source compiles it, for up to a second or two, or finds it on disk."""
        found = self._compile(find_source(kernel)).get_function(kernel)
        # The limit is the kernel's, whoever holds it: were it what one launch takes, a later one might ask for more.
        found.max_dynamic_shared_size_bytes = self._near_bytes
        return found

    @lru_cache  # noqa: B019
    def _compile(self, source: str) -> Any:
        return self.xp.RawModule(code=source, options=("-std=c++17",))

    def has_room(self, n_blocks: int, near_bytes: int) -> bool:
        """Say whether processors hold so many blocks at one time, with so much of their memory each."""
        of_each = -(-n_blocks // self._n_processors)
        return near_bytes <= self._near_bytes and of_each * (near_bytes + _RESERVED) <= self._shared_bytes

    def make(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Return an array of zeros."""
        try:
            return self.xp.zeros(shape, dtype)
        except self.xp.cuda.memory.OutOfMemoryError as error:
            raise too_little_memory(int(np.prod(shape)) * np.dtype(dtype).itemsize, self.free_bytes) from error

    def fetch(self, array: Any) -> NDArray[Any]:
        """Return an array of this machine."""
        return np.asarray(self.xp.asnumpy(array))

    def wait(self) -> None:
        """Return once everything that was started is done."""
        self.xp.cuda.get_current_stream().synchronize()

    @property
    def free_bytes(self) -> int:
        """The memory that is left."""
        return int(self.xp.cuda.runtime.memGetInfo()[0]) + int(self.xp.get_default_memory_pool().free_bytes())


def guard_memory(own: type[T]) -> type[T]:
    """Let the public methods of a class say it in a sentence where arrays that they make on the way do not fit."""
    for name, method in list(vars(own).items()):
        if name.startswith("_") or isinstance(method, property | classmethod) or not callable(method):
            continue
        setattr(own, name, _guard(method))
    return own


def _guard(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def guarded(*arguments: Any, **options: Any) -> Any:
        try:
            return method(*arguments, **options)
        except DeviceMemoryError:
            raise
        except MemoryError as error:  # CuPy's is one
            said = " ".join(str(error).split())
            raise DeviceMemoryError(
                f"Memory does not suffice, of the GPU or of this machine ({said}): ask for fewer draws or chains, or "
                "use device='cpu'."
            ) from error

    return guarded


def too_little_memory(n_bytes: int, n_free: int) -> DeviceMemoryError:
    """Return the error for an array that does not fit."""
    return DeviceMemoryError(
        f"The GPU has {n_free / 2**30:.3g} GiB left, and {n_bytes / 2**30:.3g} GiB more are needed: ask for fewer "
        "draws or chains, or use device='cpu'."
    )
