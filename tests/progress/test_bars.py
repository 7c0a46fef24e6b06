"""Bars that say how far many fits are."""

import re
from types import SimpleNamespace

import pytest

from sparsefield.progress import PiecesBar, ProgressBar


def shown(capsys):
    """Return what was shown on standard error, without bars and colours."""
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|[━╸╺]", " ", capsys.readouterr().err)
    return " ".join(text.split())


def test_pieces_are_counted_with_the_time_that_is_left(capsys, monkeypatch):
    now = 100.0
    for file in ("_bars", "_lines"):
        monkeypatch.setattr(f"sparsefield.progress.{file}.monotonic", lambda: now)
    with PiecesBar(True, "resamples") as watch:
        watch(0, 4, None)
    assert "fitting 0 of 4 resamples, since" in shown(capsys)
    with PiecesBar(True, "resamples") as watch:
        watch(1, 4, 150.0)
        now = 170.0
    assert "1 of 4 resamples, about 0:01:20 left, since" in shown(capsys)


def test_what_is_not_cut_into_pieces_has_no_count(capsys):
    with PiecesBar(True, "paths") as watch:
        watch(0, 1, None)
    said = shown(capsys)
    assert "since" in said
    assert "paths" not in said


@pytest.mark.parametrize("make", [lambda: PiecesBar(True, "penalties"), lambda: ProgressBar(True, 20)])
def test_people_are_told_that_a_first_fit_compiles(capsys, monkeypatch, make):
    monkeypatch.setattr("sparsefield.progress._lines.describe_compiling", lambda: "compiling kernels, once")
    with make():
        pass
    said = shown(capsys)
    assert "compiling kernels, once" in said
    assert "fitting" not in said


@pytest.mark.parametrize("doing", [None, "compiling kernels, in every run, 10 to 25 s"])
def test_nothing_is_cut_in_a_terminal_of_80_columns(capsys, monkeypatch, doing):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("sparsefield.progress._lines.describe_compiling", lambda: doing)
    step = SimpleNamespace(iteration=1000, violation=1.234e-5, n_nonzero=12345)
    with ProgressBar(True, 1000) as watch:
        watch(step)
    steps = shown(capsys)
    with PiecesBar(True, "penalties") as watch:
        watch(100, 100, 36000.0)
    pieces = shown(capsys)
    assert "…" not in steps + pieces
    if doing is None:
        assert "step 1000 of up to 1000, gradient 1.2e-05, 12345 nonzero 0:00:00" in steps
        assert "fitting 100 of 100 penalties, about 10:00:00 left, since 0:00:00" in pieces
    else:
        assert f"{doing} since 0:00:00" in steps
        assert f"{doing} since 0:00:00" in pieces


def test_no_bar_is_shown_where_nobody_looks(capsys):
    with PiecesBar("auto", "resamples") as watch:
        assert watch is None
    assert capsys.readouterr().err == ""
