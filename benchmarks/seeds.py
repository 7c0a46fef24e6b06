"""Whether fits with different seeds find the same edges, with the default gap.

    make bench-seeds

Tables of others are read from the folder that SPARSEFIELD_OUTSIDE names, and left out where there is none.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from rich.console import Console

import sparsefield as sf
from measure import name_machine, store
from sparsefield import Table
from sparsefield.datasets import load_senate
from sparsefield.learning import learn
from sparsefield_experiments._trials import SETTINGS, make_trial

Row = dict[str, Any]


def load_tables() -> Iterator[tuple[str, Table, float]]:
    """Load tables, with an alpha for each."""
    for setting in SETTINGS.values():
        for seed in (1, 2, 3):
            name = f"the paper's, {setting.n_variables} variables, {seed}"
            yield name, make_trial(setting, seed).table, setting.alphas[0]
    yield "Senate, votes not cast as nays", load_senate().votes.fill_missing(0), 0.1
    if "SPARSEFIELD_OUTSIDE" not in os.environ:
        return
    folder = Path(os.environ["SPARSEFIELD_OUTSIDE"])
    symptoms = sf.encode(pl.read_csv(folder / "adhd" / "adhd_bgms.csv"))
    for alpha in (0.02, 0.05):
        yield "symptoms (ADHD)", symptoms, alpha
    spikes = np.load(folder / "spikes" / "maxent_toolbox_spikes50.npz")
    table = sf.encode(spikes[spikes.files[0]].astype(np.uint8))
    for alpha in (0.001, 0.004):
        yield "spikes", table, alpha


def measure(name: str, table: Table, alpha: float, n_seeds: int) -> Row:
    """Fit with several seeds, and count the edges of each that another one has not."""
    supports, seconds = [], []
    for seed in range(n_seeds):
        clock = time.perf_counter()
        fit = learn(table, alpha, seed=seed)
        seconds.append(time.perf_counter() - clock)
        supports.append(np.triu(fit.model.interactions) != 0)
    pairs = [(one, other) for one in supports for other in supports if one is not other]
    lost = [float((one & ~other).sum() / max(1, one.sum())) for one, other in pairs]
    return {
        "table": name,
        "alpha": alpha,
        "seeds": n_seeds,
        "edges": int(supports[-1].sum()),
        "edges that another seed has not, mean": float(np.mean(lost)),
        "largest": max(lost),
        "draws at the end": fit.steps[-1].n_chains,
        "seconds, median": float(np.median(seconds)),
    }


def main() -> None:
    """Measure all tables, print and store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    console, rows = Console(), []
    for case in load_tables():
        rows.append(measure(*case, options.seeds))
        console.print(rows[-1])
    lines = ["| " + " | ".join(rows[0]) + " |", "|---" * len(rows[0]) + "|"]
    for row in rows:
        cells = [f"{value:.2g}" if isinstance(value, float) else str(value) for value in row.values()]
        lines.append("| " + " | ".join(cells) + " |")
    text = (
        "# Whether fits with different seeds find the same edges\n\n"
        f"Made by `make bench-seeds` on {name_machine()}; versions and commit are in seeds.json. Fits without draws at "
        "the end are exact.\n\n" + "\n".join(lines) + "\n"
    )
    console.print(text)
    store({"rows": rows}, options.output / "seeds.json")
    (options.output / "seeds.md").write_text(text)


if __name__ == "__main__":
    main()
