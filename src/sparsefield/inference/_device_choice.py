"""Which machine makes chains and draws: the processors, a GPU, or what the caller brings."""

from __future__ import annotations

from typing import Literal, get_args

from sparsefield.data import Domain
from sparsefield.inference._backend import Backend, Cpu
from sparsefield.inference.gpu._cuda import Auto, Cuda, check_levels
from sparsefield.inference.gpu._device import find_gpu, has_gpu

DeviceName = Literal["cpu", "cuda", "auto"]
Device = DeviceName | Backend | None


def make_backend(device: Device = None, n_threads: int | None = None, domain: Domain | None = None) -> Backend:
    """Return the backend of a device, with so many threads of this machine's processors, or one that is given.

    Parameters
    ----------
    device : "cpu", "cuda", "auto" or Backend, optional
        The processors unless given; a GPU; a GPU where there is one and the field is one for it; or what makes chains
        and draws.
    n_threads : int, optional
        Threads of this machine, all processors unless given.
    domain : Domain, optional
        The variables, where they are known.

    Raises
    ------
    NoDeviceError
        At once, where a GPU is asked for and there is none: work that takes long may come before its draws.
    ValueError
        At once, where a GPU is asked for and the variables are not for one.
    """
    if device is None or isinstance(device, str):
        if device is not None and device not in get_args(DeviceName):
            raise ValueError(f"device is {device!r}: use 'cpu', 'cuda' or 'auto'.")
        if device == "cuda":
            find_gpu()
            if domain is not None:
                check_levels(domain)
        return {"cpu": Cpu, "cuda": Cuda, "auto": Auto}[device or "cpu"](n_threads)
    if n_threads is not None:
        raise ValueError("n_threads is for the processors of this machine: give it to the backend instead.")
    return device


def is_own_machine(device: Device) -> bool:
    """Say whether draws are made by this machine, and how many threads it uses is for callers to say."""
    return device is None or isinstance(device, str)


def name_device(device: Device) -> str:
    """Return the name of what makes draws, which are the same for the same name: "auto" is "cpu" without a GPU."""
    if device is not None and not isinstance(device, str):
        return repr(device)
    return "cpu" if device is None or (device == "auto" and not has_gpu()) else device
