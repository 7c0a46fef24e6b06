import os
import sys

import hypothesis
import matplotlib.pyplot as plt
import pytest

from sparsefield import _threads
from sparsefield._kernels._target import HAS_AVX2
from sparsefield.inference import _device_choice
from sparsefield.inference.gpu import _cuda, _device

# Tests assert no speed: an example may wait for a kernel to be compiled, or for other work of the machine.
hypothesis.settings.register_profile("unhurried", deadline=None)
hypothesis.settings.load_profile("unhurried")


def pytest_configure():
    """Refuse to leave out kernels that are compiled for AVX2 where this must be there."""
    if os.environ.get("SPARSEFIELD_REQUIRE_AVX2") and not HAS_AVX2:
        raise pytest.UsageError(
            "AVX2 must be there, and numba is not found to compile for it: tests of packed kernels would be left out."
        )


@pytest.fixture(autouse=True)
def close_figures():
    """Do not let pictures of one test pile up for the next."""
    yield
    plt.close("all")


@pytest.fixture
def cut_work(monkeypatch):
    """Return what lets threads share all work from then on, however little, and cuts it to calls of some seconds."""

    def cut(seconds=_threads.LONGEST_CALL):
        monkeypatch.setattr(_threads, "SMALLEST_SHARE", 1e-15)
        monkeypatch.setattr(_threads, "LONGEST_CALL", seconds)

    return cut


@pytest.fixture
def limit_sums(monkeypatch):
    """Return what puts exact sums out of reach from then on that take tables of more entries, or more states."""

    def limit(n_entries=1, n_states=None):
        monkeypatch.setattr("sparsefield.inference.elimination._cliques.MOST_STATES", n_entries)
        if n_states is not None:
            for module in ("_partition", "_entropy"):
                monkeypatch.setattr(f"sparsefield.model.{module}.MAX_STATES", n_states)

    return limit


@pytest.fixture
def cut_tables(monkeypatch):
    """Return what cuts tables into batches of some rows, keeps samples of some, and lets folders be large from then on.

    Folders are counted part by part where they have more cells, or files of more bytes.
    """
    from sparsefield.tables.parts import _folders, _parts, _row_sample

    def cut(**limits):
        places = {
            "batch": ((_parts, "_FEWEST"), (_parts, "_MOST")),
            "sample": ((_row_sample, "_MOST_ROWS"),),
            "folder": ((_folders, "MOST_CELLS"), (_folders, "MOST_BYTES")),
        }
        for name, limit in limits.items():
            for module, constant in places[name]:
                monkeypatch.setattr(module, constant, limit)

    return cut


@pytest.fixture
def gpu(monkeypatch):
    """Let this machine have a GPU, and return it: what it was asked for is in `launched`."""
    from support.host_device import make_device

    device = make_device()
    for module in (_cuda, _device, _device_choice):
        monkeypatch.setattr(module, "find_gpu", lambda: device)
    return device


@pytest.fixture
def no_cupy(monkeypatch):
    """Let this machine have no CuPy."""
    monkeypatch.setitem(sys.modules, "cupy", None)
    _device.find_gpu.cache_clear()
    yield
    _device.find_gpu.cache_clear()
