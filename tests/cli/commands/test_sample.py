"""Rows drawn from a field on the command line."""

import polars as pl

from sparsefield import Fit
from support.program import run


def test_exact_rows_are_drawn(field, tmp_path):
    run("sample", field, "-n", 50, "-o", tmp_path / "rows.csv", "--seed", 4)
    frame = pl.read_csv(tmp_path / "rows.csv")
    assert frame.shape == (50, 6)
    assert set(frame["item 0"]) <= {"no", "yes"}
    expected = Fit.load(field).model.sample(50, method="perfect", seed=4).to_frame()
    assert frame.equals(expected)
    run("sample", field, "-n", 50, "-o", tmp_path / "gibbs.csv", "--sweeps", 20)
    assert pl.read_csv(tmp_path / "gibbs.csv").shape == (50, 6)
