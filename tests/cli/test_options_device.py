"""Draws on a GPU, asked for by --device."""

import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import sparsefield as sf
from sparsefield.cli import app
from sparsefield.inference import Cuda
from support.host_device import make_device, needs_device
from support.program import run

COMMANDS = ("fit", "certify", "path", "bootstrap", "sample")
FEW = {"fit": ["--alpha", 0.1], "path": ["--alphas", "0.2,0.1"], "bootstrap": ["--alpha", 0.1, "-n", 2]}


@pytest.fixture
def known(tmp_path):
    """A table, and the field that was fitted to it."""
    table, field = tmp_path / "table.csv", tmp_path / "table.field"
    codes = sf.datasets.make_field(5, seed=1).sample(100, method="perfect", seed=1).codes
    pl.DataFrame(codes, schema=list("abcde")).write_csv(table)
    run("fit", table, "--alpha", 0.05, "--no-certify", "-o", field, "-q")
    return table, field


def make_words(command, known, output):
    """Return a short command."""
    table, field = known
    given = {"certify": [field, table], "sample": [field, "-n", 50, "-o", output]}
    return [command, *given.get(command, [table, "-o", output]), *FEW.get(command, [])]


def name_output(command, tmp_path):
    return tmp_path / ("out.field" if command == "fit" else "out.csv")


@pytest.mark.parametrize("command", COMMANDS)
def test_without_cupy_one_sentence_says_what_to_do(command, known, tmp_path, no_cupy):  # noqa: ARG001
    output = name_output(command, tmp_path)
    words = [*make_words(command, known, output), "--device", "cuda"]
    assert run(*words, code=2) == (
        "Error: --device is 'cuda': that takes CuPy, which is not installed here. Install it with \"pip install "
        "'sparsefield[cuda]'\" (CUDA 13; cupy-cuda12x is for CUDA 12), or use --device cpu."
    )
    assert not output.exists()
    told = json.loads(CliRunner().invoke(app, [str(word) for word in [*words, "--json"]]).stdout)
    assert told["exit_code"] == 2
    assert told["error"].startswith("--device is 'cuda': that takes CuPy")


def test_a_missing_gpu_is_said_before_a_table_is_read(tmp_path, no_cupy):  # noqa: ARG001
    assert "sparsefield[cuda]" in run("fit", tmp_path / "none.csv", "--device", "cuda", code=2)


@pytest.mark.parametrize("command", COMMANDS)
def test_unknown_devices_are_refused(command, known, tmp_path):
    words = make_words(command, known, name_output(command, tmp_path))
    assert run(*words, "--device", "gpu", code=2) == "Error: --device is 'gpu': use 'cpu', 'cuda' or 'auto'."


@pytest.mark.parametrize("command", ["fit", "path", "bootstrap", "sample"])
def test_without_a_gpu_auto_gives_what_processors_give(command, known, tmp_path, no_cupy):  # noqa: ARG001
    found, output = [], name_output(command, tmp_path)
    for words in ([], ["--device", "cpu"], ["--device", "auto"]):
        run(*make_words(command, known, output), *words)
        model = sf.PairwiseMRF.load(output) if command == "fit" else None
        found.append(output.read_bytes() if model is None else (model.main, model.interactions))
    np.testing.assert_equal(found[1:], found[:1] * 2)


@needs_device
def test_draws_are_made_on_the_gpu(known, tmp_path, gpu):
    output = tmp_path / "out.csv"
    run(*make_words("sample", known, output), "--device", "cuda", "--seed", 3)
    assert gpu.launched
    expected = sf.PairwiseMRF.load(known[1]).sample(50, method="perfect", seed=3, device=Cuda()).to_frame()
    assert pl.read_csv(output).equals(expected)


@needs_device
@pytest.mark.parametrize(
    ("command", "asked"),
    [
        ("fit", "sparsefield.learning.learn_rows"),
        ("certify", "sparsefield.learning.certify"),
        ("path", "sparsefield.selection.select"),
        ("bootstrap", "sparsefield.resampling.bootstrap"),
    ],
)
def test_options_reach_what_fits(command, asked, known, tmp_path, gpu, monkeypatch):  # noqa: ARG001
    given = []

    def watched(*inputs, **options):
        given.append(options.get("device") or inputs[1].device)
        raise ValueError("This is enough.")

    monkeypatch.setattr(asked, watched)
    assert "This is enough." in run(
        *make_words(command, known, name_output(command, tmp_path)), "--device", "cuda", code=2
    )
    assert given == ["cuda"]


@needs_device
def test_too_little_memory_is_one_sentence(known, tmp_path, gpu, monkeypatch):  # noqa: ARG001
    small, output = make_device(free_bytes=1000), tmp_path / "out.csv"
    monkeypatch.setattr("sparsefield.inference.gpu._cuda.find_gpu", lambda: small)
    words = [*make_words("sample", known, output), "--device", "cuda", "-n", 100_000]
    said = run(*words, code=2)
    assert said.startswith("Error: The GPU has ")
    assert said.endswith("ask for fewer draws or chains, or use --device cpu.")
    assert not output.exists()


def test_other_memory_errors_are_not_hidden(known, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise MemoryError

    monkeypatch.setattr(sf.PairwiseMRF, "sample", fail)
    words = make_words("sample", known, tmp_path / "out.csv")
    assert isinstance(CliRunner().invoke(app, [str(word) for word in words]).exception, MemoryError)


def test_the_command_of_the_chosen_fit_has_the_device(known, tmp_path):
    assert "--device auto" in run(*make_words("path", known, tmp_path / "out.csv"), "--device", "auto")
