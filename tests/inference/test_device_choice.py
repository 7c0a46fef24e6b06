"""Which backend a device stands for."""

import pickle
import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import sparsefield as sf
from sparsefield.inference import Auto, Cpu, Cuda, NoDeviceError, has_gpu, make_backend, name_device
from sparsefield.inference.gpu import _device
from support.host_device import needs_device


@needs_device
@pytest.mark.parametrize(("device", "expected"), [(None, Cpu), ("cpu", Cpu), ("cuda", Cuda), ("auto", Auto)])
def test_a_device_stands_for_a_backend_that_goes_to_other_processes(device, expected, gpu):  # noqa: ARG001
    found = make_backend(device, 2)
    assert found == expected(2)
    assert type(pickle.loads(pickle.dumps(found))) is expected
    assert pickle.loads(pickle.dumps(found)) == found


def test_a_backend_stays_what_it_is():
    backend = Cpu(3)
    assert make_backend(backend) is backend
    with pytest.raises(ValueError, match="give it to the backend instead"):
        make_backend(backend, 2)
    with pytest.raises(ValueError, match="device is 'tpu': use 'cpu', 'cuda' or 'auto'"):
        make_backend("tpu")


def test_a_gpu_that_is_not_there_is_refused_at_once(no_cupy):  # noqa: ARG001
    with pytest.raises(NoDeviceError, match=r"takes CuPy, which is not installed here.*sparsefield\[cuda\]"):
        make_backend("cuda")
    assert make_backend("auto") == Auto()


def test_what_makes_the_same_draws_has_one_name(no_cupy):  # noqa: ARG001
    assert {name_device(device) for device in (None, "cpu", "auto")} == {"cpu"}
    assert name_device("cuda") == "cuda"


@needs_device
def test_a_gpu_has_a_name_of_its_own(gpu):  # noqa: ARG001
    assert [name_device(device) for device in (None, "cpu", "cuda", "auto")] == ["cpu", "cpu", "cuda", "auto"]


@needs_device
def test_variables_that_are_not_for_a_gpu_are_refused_at_once(gpu):
    domain = sf.Domain(("a", "b"), ((0, 1), (0, 1, 2)), (0, 0))
    with pytest.raises(ValueError, match=r"'b' has 3 levels: draws on a GPU are for two .* Use device='cpu' or 'auto'"):
        make_backend("cuda", domain=domain)
    assert make_backend("auto", domain=domain) == Auto()
    table = sf.Table(domain, np.tile(np.array([[0, 2], [1, 1]], dtype=np.uint8), (50, 1)))
    with pytest.raises(ValueError, match="'b' has 3 levels"):
        sf.learn(table, 0.1, device="cuda")
    assert not gpu.launched


@pytest.fixture(params=[RuntimeError("no CUDA-capable\n device"), ModuleNotFoundError("No module", name="fastrlock")])
def useless_cupy(monkeypatch, request):
    """Let CuPy be installed on a machine without a GPU, or without what it needs itself."""

    class Device:
        def __init__(self):
            raise request.param

    runtime = SimpleNamespace(getDeviceProperties=lambda _: {})
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=SimpleNamespace(Device=Device, runtime=runtime)))
    for function in (_device.find_gpu, _device._warn_of):
        function.cache_clear()
    yield " ".join(str(request.param).split())
    for function in (_device.find_gpu, _device._warn_of):
        function.cache_clear()


def test_processors_of_a_gpu_share_their_memory_out_to_blocks():
    properties = {
        "name": b"GPU",
        "multiProcessorCount": 10,
        "sharedMemPerBlockOptin": 99 * 1024,
        "sharedMemPerMultiprocessor": 100 * 1024,
        "major": 8,
    }
    runtime = SimpleNamespace(getDeviceProperties=lambda _: properties)
    gpu = _device.Gpu(SimpleNamespace(cuda=SimpleNamespace(runtime=runtime, Device=lambda: SimpleNamespace(id=0))))
    # A block has a KiB besides what it asks for.
    assert [gpu.has_room(n, 99 * 1024) for n in (1, 10, 11)] == [True, True, False]
    assert [gpu.has_room(n, 49 * 1024) for n in (10, 20, 21)] == [True, True, False]
    assert not gpu.has_room(20, 49 * 1024 + 1)
    assert not gpu.has_room(1, 99 * 1024 + 1)


def test_a_cupy_that_cannot_run_is_told_of_once(useless_cupy):
    with pytest.raises(
        NoDeviceError, match=rf"is installed, but cannot run on a GPU here \({useless_cupy}\)\. .*'cpu'"
    ):
        make_backend("cuda")
    with pytest.warns(UserWarning, match=rf"cannot run on a GPU here \({useless_cupy}\): device 'auto' takes this"):
        assert name_device("auto") == "cpu"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not has_gpu()
