"""Sentences of the library name options as they are typed."""

import json
import re
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import sparsefield as sf
from sparsefield.cli import _spelling, app
from sparsefield.cli._spelling import respell, spell
from support.program import run

SHORT = ["--alphas", "0.3,0.2"]


@pytest.fixture
def table(tmp_path):
    """A small table."""
    path = tmp_path / "table.csv"
    codes = sf.datasets.make_chain(3, seed=1).sample(60, method="perfect", seed=1).codes
    pl.DataFrame(codes, schema=["a", "b", "c"]).write_csv(path)
    return path


@pytest.mark.parametrize(
    ("command", "options", "sentence"),
    [
        ("fit", ["--alpha", "-1"], "--alpha is -1.0: use"),
        ("fit", ["--gap", "0"], "--gap is 0.0: use"),
        ("fit", ["--missing", "guess"], "--missing is 'guess': use"),
        ("fit", ["--penalty", "foo"], "--penalty is 'foo': use"),
        ("fit", ["--max-seconds", "-1"], "--max-seconds is -1.0: use a number from zero on, or leave it out"),
        ("fit", ["--separator", ";;"], "--separator is ';;': use"),
        ("path", ["--criterion", "foo"], "--criterion is 'foo': use"),
        ("path", ["--gamma", "2"], "--gamma is 2.0: use"),
        ("path", ["--criterion", "cv", "--folds", "100"], "--folds is 100: use"),
        ("path", ["--alphas", "-1"], "--alphas are [-1.0]: use"),
        ("path", ["--objective", "foo"], "--objective is 'foo': use"),
        ("path", ["--jobs", "0"], "use a number from one on, or -1"),
        ("bootstrap", ["--alpha", "-1"], "--alpha is -1.0: use"),
    ],
)
def test_what_is_wrong_is_said_with_options_as_they_are_typed(table, command, options, sentence):
    said = run(command, table, *options, code=2)
    assert sentence in said
    assert not re.search(r"[a-z]_[a-z]", said.replace(str(table), ""))


def test_a_confidence_and_another_run_are_named_by_their_options(table, tmp_path):
    field, folder = tmp_path / "a.field", tmp_path / "fits"
    run("fit", table, "--alpha", "0.1", "--no-certify", "-o", field, "-q")
    assert "--confidence is 2.0: use" in run("certify", field, table, "--confidence", 2, code=2)
    words = ["path", table, *SHORT, "--criterion", "cv", "--folds", 2, "--checkpoint", folder, "-q"]
    run(*words)
    assert "another run: --penalize-main is False there and True here" in run(*words, "--penalize-main", code=2)


def test_a_fit_that_ends_early_names_the_option_that_goes_on(table):
    words = ["fit", str(table), "--alpha", "0.001", "--gap", "1e-9", "--max-iter", "1", "--no-certify"]
    sentence = "Stopped after --max-iter = 1 iteration"
    said = " ".join(CliRunner().invoke(app, words).stderr.split())
    assert sentence in said
    assert "raise --max-iter to go on" in said
    assert sentence in json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)["sentence"]


def test_every_option_that_is_spelled_is_one_of_the_program():
    said = " ".join(run(command, "--help") for command in ("fit", "infer", "certify", "path", "bootstrap", "sample"))
    source = " ".join(file.read_text(encoding="utf-8") for file in Path(sf.__file__).parent.rglob("*.py"))
    remedies = set(re.findall(r'\boption="(\w+)"', source))
    assert {"missing", "separator"} <= remedies
    for name in {*_spelling._NAMES, *remedies}:
        assert f" {spell(name)} " in said


@pytest.mark.parametrize(
    "sentence",
    [
        "Column 'max_seconds' is constant: it has no edges.",
        "File '/data/n_threads/gap=1.csv' cannot be read.",
        "alpha = 0.05 is the smallest of 6 penalties.",
        "The gap asked for is not certified: missing values are filled by the model.",
    ],
)
def test_names_and_words_stay_what_they_are(sentence):
    assert respell(sentence) == sentence


def test_values_are_given_as_they_are_typed():
    assert respell("use criterion='stars', or certify=True.") == "use --criterion stars, or --certify."
