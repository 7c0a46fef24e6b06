"""Which machine makes chains and draws: the processors, a GPU, or what the caller brings."""

from __future__ import annotations

from typing import Literal, get_args

from sparsefield.data import Domain
from sparsefield.inference._backend import Backend, Cpu
from sparsefield.inference.gpu._cuda import Auto, Cuda, check_levels
from sparsefield.inference.gpu._device import find_gpu, has_gpu

DeviceName = Literal["cpu", "cuda", "auto"]


def make_backend(
    backend: Backend | None, n_threads: int | None, device: DeviceName | None = None, domain: Domain | None = None
) -> Backend:
    """Return a backend that is given, or that of a device, with so many threads of this machine's processors.

    Parameters
    ----------
    backend : Backend, optional
        What makes chains and draws.
    n_threads : int, optional
        Threads of this machine, all processors unless given.
    device : "cpu", "cuda" or "auto", optional
        The processors unless given; a GPU; or a GPU where there is one and the field is one for it.
    domain : Domain, optional
        The variables, where they are known.

    Raises
    ------
    NoDeviceError
        At once, where a GPU is asked for and there is none: work that takes long may come before its draws.
    ValueError
        At once, where a GPU is asked for and the variables are not for one.
    """
    if device is not None and device not in get_args(DeviceName):
        raise ValueError(f"device is {device!r}: use 'cpu', 'cuda' or 'auto'.")
    if backend is None:
        if device == "cuda":
            find_gpu()
            if domain is not None:
                check_levels(domain)
        return {"cpu": Cpu, "cuda": Cuda, "auto": Auto}[device or "cpu"](n_threads)
    if device is not None:
        raise ValueError("Give a backend or a device, not both: a backend says where draws are made.")
    if n_threads is not None:
        raise ValueError("n_threads is for the processors of this machine: give it to the backend instead.")
    return backend


def name_device(device: DeviceName | None) -> DeviceName:
    """Return the name of what makes draws, which are the same for the same name: "auto" is "cpu" without a GPU."""
    return "cpu" if device is None or (device == "auto" and not has_gpu()) else device
