"""Whether the cost of a fit follows what its penalty decides: a million rows with one edge, and spikes.

    make bench-large

The penalty is chosen, and the gap certified, as `sparsefield fit` does it. Spikes of others are read from the folder
that SPARSEFIELD_OUTSIDE names, and left out where there is none.
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
from rich.console import Console

import sparsefield as sf
from measure import name_machine, store
from sparsefield._typing import Codes
from sparsefield.fitting import Learner, Options
from sparsefield.learning import choose, learn_with
from sparsefield.network import Network
from sparsefield.tables import read_rows


def make_edge(n_rows: int, n_columns: int, seed: int) -> Codes:
    """Return independent columns, of which the second is the first one in two of a hundred rows."""
    rng = np.random.default_rng(seed)
    codes = (rng.random((n_rows, n_columns)) < rng.uniform(0.2, 0.8, n_columns)).astype(np.uint8)
    codes[:, 1] = np.where(rng.random(n_rows) < 0.02, codes[:, 0], codes[:, 1])
    return codes


def make_spikes(n_rows: int, n_columns: int, seed: int) -> Codes:
    """Return spikes, one in eighteen on average, of cells that share one of five drives."""
    rng = np.random.default_rng(seed)
    drives, own = rng.standard_normal((n_rows, 5)), rng.integers(0, 5, n_columns)
    log_odds = rng.uniform(-4.0, -2.5, n_columns) + 0.8 * drives[:, own]
    return (rng.random((n_rows, n_columns)) < 1 / (1 + np.exp(-log_odds))).astype(np.uint8)


def load_tables() -> Iterator[tuple[str, Codes]]:
    """Make and load tables."""
    yield "independent but for one edge", make_edge(1_000_000, 50, 1)
    yield "spikes that share drives", make_spikes(20_000, 100, 1)
    if "SPARSEFIELD_OUTSIDE" in os.environ:
        found = np.load(Path(os.environ["SPARSEFIELD_OUTSIDE"]) / "spikes" / "maxent_toolbox_spikes50.npz")
        yield "spikes of a retina", found[found.files[0]].astype(np.uint8)


def measure(name: str, codes: Codes) -> dict[str, Any]:
    """Choose a penalty, fit and certify."""
    clock = time.perf_counter()
    learner = Learner(read_rows(sf.encode(codes)), Options(certify=True, seed=1))
    chosen = choose(learner)
    chose = time.perf_counter()
    fit = learn_with(learner, chosen)
    end = time.perf_counter()
    network, optimality = Network.of(fit), fit.optimality
    assert optimality is not None
    return {
        "table": name,
        "rows": codes.shape[0],
        "columns": codes.shape[1],
        "alpha": fit.alpha,
        "edges": network.n_edges,
        "undecided": network.n_undecided,
        "draws at the end": fit.steps[-1].n_chains,
        "certified gap": optimality.gap,
        "seconds to choose": chose - clock,
        "seconds to fit and certify": end - chose,
    }


def main() -> None:
    """Measure all tables, print and store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    console, rows = Console(), []
    learner = Learner(read_rows(make_edge(5000, 24, 2)), Options(certify=True, seed=1))
    learn_with(learner, choose(learner))  # compiles
    for case in load_tables():
        rows.append(measure(*case))
        console.print(rows[-1])
    lines = ["| " + " | ".join(rows[0]) + " |", "|---" * len(rows[0]) + "|"]
    for row in rows:
        cells = [f"{value:.3g}" if isinstance(value, float) else str(value) for value in row.values()]
        lines.append("| " + " | ".join(cells) + " |")
    text = (
        "# Whether the cost of a fit follows what its penalty decides\n\n"
        f"Made by `make bench-large` on {name_machine()}; versions and commit are in large.json.\n\n"
        + "\n".join(lines)
        + "\n"
    )
    console.print(text)
    store({"rows": rows}, options.output / "large.json")
    (options.output / "large.md").write_text(text)


if __name__ == "__main__":
    main()
