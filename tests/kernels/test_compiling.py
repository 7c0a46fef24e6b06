"""Kernels are compiled wherever the program starts, and kept where a folder can be written."""

import errno
import os
import shutil
import subprocess
import sys
import time
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numba
import pytest
from numba.core import event
from numba.core.caching import IndexDataCacheFile
from typer.testing import CliRunner

import sparsefield
from sparsefield._kernels import _compiling
from sparsefield.cli import app

PACKAGE = Path(sparsefield.__file__).parent
NOWHERE = "/dev/null/home"  # below a file: even the superuser cannot write there


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a kernel whose files numba keeps beside it, or nowhere."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setattr(_compiling, "_is_told", False)
    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, NOWHERE)
    (tmp_path / "kernel.py").write_text(
        "from factor import FACTOR\nfrom sparsefield._kernels._compiling import compiled\n\n"
        "@compiled\ndef double(x):\n    return FACTOR * x\n"
    )
    (tmp_path / "factor.py").write_text("FACTOR = 2\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return tmp_path


def load(folder):
    """Return the kernel, as a process that starts finds it."""
    sys.modules.pop("factor", None)
    _compiling._stamp_folder.cache_clear()
    spec = spec_from_file_location("kernel", folder / "kernel.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.double


def find_files(folder, ending):
    return sorted((folder / "__pycache__").glob(f"*.{ending}"))


def test_a_kernel_is_kept_where_a_folder_can_be_written(folder):
    assert load(folder)(4) == 8
    assert find_files(folder, "nbi")
    again = load(folder)
    assert again(4) == 8
    assert sum(again.stats.cache_hits.values()) == 1


def test_without_a_folder_a_kernel_works_and_it_is_said_once(folder):
    (folder / "__pycache__").touch()
    kernel = load(folder)
    with pytest.warns(UserWarning, match="Set NUMBA_CACHE_DIR to a folder that can be written"):
        assert kernel(4) == 8
    assert kernel(4.0) == 8.0  # another signature, and no warning


@pytest.mark.parametrize("part", ["_source_stamp", "_index_path"])
def test_a_kernel_works_with_a_numba_that_keeps_kernels_otherwise(folder, monkeypatch, part):
    class Otherwise(IndexDataCacheFile):
        def __init__(self, *given, **how):
            super().__init__(*given, **how)
            delattr(self, part)

    monkeypatch.setattr("numba.core.caching.IndexDataCacheFile", Otherwise)
    kernel = load(folder)
    with pytest.warns(UserWarning, match="numba .* keeps them in another way"):
        assert kernel(4) == 8
    assert find_files(folder, "nbi") == []


def test_a_kernel_is_compiled_again_when_a_file_that_it_imports_has_changed(folder):
    assert load(folder)(4) == 8
    (folder / "factor.py").write_text("FACTOR = 5\n")
    assert load(folder)(4) == 20


@pytest.mark.parametrize(("is_kept", "how_often"), [(True, "once"), (False, "in every run")])
@pytest.mark.filterwarnings("ignore:Every run compiles")
def test_people_are_told_while_kernels_are_compiled(folder, is_kept, how_often):
    said = []

    class Listener(event.Listener):
        def on_start(self, _):
            said.append(_compiling.describe_compiling())

        def on_end(self, _):
            pass

    if not is_kept:
        (folder / "__pycache__").touch()
    with event.install_listener("numba:compile", Listener()):
        load(folder)(4)
        assert said == [f"compiling kernels, {how_often}, 10 to 25 s"]
        load(folder)(4)
    assert len(said) == (1 if is_kept else 2)
    assert _compiling.describe_compiling() is None


def test_the_time_of_compiling_is_counted_and_that_of_running_is_not(folder):
    kernel = load(folder)
    before, began = _compiling.seconds_compiling(), time.perf_counter()
    kernel(4)
    taken = _compiling.seconds_compiling() - before
    assert 0 < taken <= time.perf_counter() - began
    kernel(4)
    assert _compiling.seconds_compiling() - before == taken


@pytest.mark.parametrize("where", ["_save_index", "_save_data"])
def test_a_full_disk_costs_nothing_but_time(folder, monkeypatch, where):
    def fail(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(IndexDataCacheFile, where, fail)
        with pytest.warns(UserWarning, match=r"cannot be kept \(No space left on device: '.*__pycache__'\)"):
            assert load(folder)(4) == 8
    assert find_files(folder, "nbi") == []
    assert load(folder)(4) == 8
    assert find_files(folder, "nbi")


def test_older_code_is_never_found_under_a_new_index(folder, monkeypatch):
    def fail(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    assert load(folder)(4) == 8
    (folder / "kernel.py").write_text((folder / "kernel.py").read_text().replace("FACTOR * x", "3 * x"))
    with monkeypatch.context() as patched:
        patched.setattr(IndexDataCacheFile, "_save_data", fail)
        with pytest.warns(UserWarning, match="cannot be kept"):
            assert load(folder)(4) == 12
    assert load(folder)(4) == 12


def test_an_interrupt_between_index_and_data_leaves_no_index(folder, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(IndexDataCacheFile, "_save_data", stop)
        with pytest.raises(KeyboardInterrupt):
            load(folder)(4)
    assert find_files(folder, "nbi") == []


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("share", [0, 0.5, 0.99])
def test_a_damaged_file_is_compiled_again_and_replaced(folder, ending, share):
    assert load(folder)(4) == 8
    (file,) = find_files(folder, ending)
    os.truncate(file, int(share * file.stat().st_size))
    assert load(folder)(4) == 8
    again = load(folder)
    assert again(4) == 8
    assert sum(again.stats.cache_hits.values()) == 1


def test_the_package_starts_where_nothing_can_be_written(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "sparsefield", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "sparsefield" / "_kernels" / "__pycache__").touch()
    places = {"HOME": NOWHERE, "XDG_CACHE_HOME": NOWHERE, "NUMBA_CACHE_DIR": NOWHERE, "PYTHONPATH": str(tmp_path)}
    command = (
        "import sparsefield as sf; table = sf.encode([[0, 1], [0, 1], [1, 0]]); "
        "print(sf.__file__, sf.proteins.sequence_weights(table).sum())"
    )
    result = subprocess.run(
        [sys.executable, "-c", command], capture_output=True, text=True, env=os.environ | places, timeout=120
    )
    assert result.stdout.split() == [str(tmp_path / "sparsefield" / "__init__.py"), "2.0"], result.stderr
    assert result.stderr.count("Every run compiles its kernels again") == 1
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("quiet", [True, False])
def test_the_program_notes_that_kernels_are_not_kept(tmp_path, monkeypatch, quiet):
    draw = sparsefield.PairwiseMRF.sample

    def compile_and_draw(*given, **how):
        _compiling._warn_not_kept("no folder for them can be written")
        return draw(*given, **how)

    sparsefield.datasets.make_chain(4, seed=1).save(tmp_path / "a.field")
    monkeypatch.setattr(_compiling, "_is_told", False)
    monkeypatch.setattr(sparsefield.PairwiseMRF, "sample", compile_and_draw)
    words = ["sample", str(tmp_path / "a.field"), "-o", str(tmp_path / "a.csv"), *(["-q"] if quiet else [])]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    assert result.stderr.count("Note: Every run compiles its kernels again") == (not quiet)


def test_all_kernels_are_compiled_in_one_way():
    files = [file for file in (PACKAGE / "_kernels").glob("*.py") if file.stem != "_compiling"]
    assert len(files) > 20
    assert [file.name for file in files if "njit" in file.read_text(encoding="utf-8")] == []
