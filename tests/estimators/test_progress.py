"""Bars that say how far many fits are."""

import re

import pytest

from sparsefield.estimators import PiecesBar, ProgressBar


def shown(capsys):
    """Return what was shown on standard error, without bars and colours."""
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|[━╸╺]", " ", capsys.readouterr().err)
    return " ".join(text.split())


def test_pieces_are_counted_with_the_time_that_is_left(capsys, monkeypatch):
    now = 100.0
    monkeypatch.setattr("sparsefield.estimators._progress.monotonic", lambda: now)
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
    monkeypatch.setattr("sparsefield.estimators._progress.describe_compiling", lambda: "compiling kernels, once")
    with make():
        pass
    said = shown(capsys)
    assert "compiling kernels, once" in said
    assert "fitting" not in said


def test_no_bar_is_shown_where_nobody_looks(capsys):
    with PiecesBar("auto", "resamples") as watch:
        assert watch is None
    assert capsys.readouterr().err == ""
