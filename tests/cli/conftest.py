import polars as pl
import pytest

import sparsefield as sf
from support.program import run


@pytest.fixture
def answers(tmp_path):
    """A table as people have them: names of rows, text and numbers, missing cells."""
    truth = sf.datasets.make_field(6, strength=(1.0, 1.5), seed=7)
    codes = truth.sample(800, method="perfect", seed=1).codes
    columns = {f"item {k}": pl.Series(["no", "yes"]).gather(codes[:, k]) for k in range(3)}
    columns |= {f"score {k}": codes[:, k].astype(int) for k in range(3, 6)}
    frame = pl.DataFrame({"person": [f"p{k}" for k in range(800)], **columns})
    frame = frame.with_columns(
        pl.when(pl.int_range(800) % 50 == 0).then(None).otherwise(pl.col("item 1")).alias("item 1")
    )
    path = tmp_path / "answers.csv"
    frame.write_csv(path)
    return path


@pytest.fixture
def field(answers):
    """The answers, fitted and saved."""
    path = answers.with_suffix(".field")
    run("fit", answers, "--id", "person", "--alpha", "0.05", "--no-certify", "-o", path, "--quiet")
    return path
