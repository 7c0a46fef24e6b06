"""Tables that nobody here made, read from the folder that SPARSEFIELD_OUTSIDE names."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

import sparsefield as sf


@dataclass(frozen=True)
class Outside:
    """A table of others: its file, and the columns that are no variables or have too many levels."""

    path: str
    left_out: tuple[str, ...] = ()

    def load(self, folder: Path) -> tuple[sf.Table, NDArray[np.int64] | None]:
        """Read the table, and how often each row counts; numbers on a scale are ordered."""
        path = folder / self.path
        if path.suffix == ".npz":
            found = np.load(path)
            return sf.encode(found[found.files[0]].astype(np.uint8)), None
        if path.name.endswith("_samples.csv"):
            rows = np.loadtxt(path, delimiter=",", dtype=np.int64)
            return sf.encode(rows[:, 1:]), rows[:, 0]
        frame = pl.read_csv(path, null_values=["", "NA"]).drop(self.left_out)
        return sf.encode(frame, ordinal=True), None


TABLES = {
    "adhd": Outside("adhd/adhd_bgms.csv", ("group",)),
    "bfi": Outside("surveys/bfi.csv", ("age",)),
    "depression_anxiety_t1": Outside("surveys/depression_anxiety_t1.csv"),
    "depression_anxiety_t2": Outside("surveys/depression_anxiety_t2.csv"),
    "epi": Outside("surveys/epi.csv"),
    "rogers_adolescents": Outside("surveys/rogers_adolescents.csv"),
    "rogers_adults": Outside("surveys/rogers_adults.csv"),
    "youth_depression": Outside("surveys/youth_depression.csv"),
    "spikes": Outside("spikes/maxent_toolbox_spikes50.npz"),
    **{f"lanl {name}": Outside(f"lanl/{name}_samples.csv") for name in "abc"},
    "spi": Outside("surveys/spi.csv", ("age",)),
}
