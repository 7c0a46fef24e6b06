"""The demo: the Senate of 2006, learned and drawn."""

import matplotlib.image
import pytest

from sparsefield.fitting import _learner
from sparsefield.solvers import _newton
from support.program import run


def test_the_demo_summarises_learns_and_draws(tmp_path):
    folder = tmp_path / "a" / "folder"
    said = run("demo", "--output", folder)
    assert "279 roll calls by 100 senators" in said
    assert "Rockefeller" in said
    assert "Strongest edges" in said
    assert "Computation: with another seed and as many draws, weights differ by" in said
    assert "nats per row from its optimum, with confidence 0.99." in said
    assert "subgradient" not in said
    assert matplotlib.image.imread(folder / "senate.png").shape[0] > 500
    assert "The Senate of 2006" in (folder / "senate.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("when", ["before the first step", "at a step"])
def test_the_demo_ends_when_it_is_interrupted(tmp_path, monkeypatch, when):
    def stop(*_, **__):
        raise KeyboardInterrupt

    at_start = when == "before the first step"
    monkeypatch.setattr(_learner if at_start else _newton, "solve_pseudo_likelihood" if at_start else "find_move", stop)
    said = run("demo", "--output", tmp_path, code=130)
    assert ("There is nothing to keep yet" if at_start else "Interrupted after 0 iterations") in said
    assert "Certificate of the fit" not in said
    assert (tmp_path / "senate.html").exists() != at_start


def test_the_demo_says_when_it_cannot_write(tmp_path):
    (tmp_path / "file").touch()
    assert "is a file: name a folder" in run("demo", "--output", tmp_path / "file", code=2)
