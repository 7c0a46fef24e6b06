"""A bootstrap of the Senate's votes: its time, beside that of one fit, and what it finds.

    make bench-bootstrap

One fit with the gap that resamples have, and one as `learn` makes it by default, are measured in the same run. All have
one process, and the threads that there are.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

import sparsefield as sf
from measure import name_machine, store
from sparsefield import Table
from sparsefield.datasets import load_senate

ALPHA, GAP = 0.1, 0.05


def clock(action: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """Return what an action returns, and how many seconds it took: by the clock, and of all processors together."""
    began, worked = time.perf_counter(), time.process_time()
    found = action()
    return found, {"seconds": time.perf_counter() - began, "processor seconds": time.process_time() - worked}


def measure(n: int) -> dict[str, Any]:
    """Measure single fits and a bootstrap, absent votes counted as nays."""
    votes = load_senate().votes
    table = Table(votes.domain, np.where(votes.mask, 0, votes.codes).astype(np.uint8))
    sf.selection.bootstrap(table, ALPHA, n=2, gap=GAP)  # compiles, and reads compiled code
    _, rough = clock(lambda: sf.learn(table, ALPHA, gap=GAP))
    _, default = clock(lambda: sf.learn(table, ALPHA))
    found, whole = clock(lambda: sf.selection.bootstrap(table, ALPHA, n=n, gap=GAP))
    edges = found.table.filter(found.table["weight"] != 0)
    return {
        "times": {
            f"one fit with gap {GAP}": rough,
            "one fit with the default gap": default,
            f"{n} resamples and the fit of all rows, with gap {GAP}": whole,
        },
        "found": {
            "edges of the fit": edges.height,
            "of these, found in 95% of resamples or more": int((edges["selected"] >= 0.95).sum()),
            "found in less than half": int((edges["selected"] < 0.5).sum()),
            "other pairs that have an edge in some resample": found.table.height - edges.height,
            "what it says": str(found),
        },
    }


def report(figures: dict[str, Any]) -> str:
    """Return the page of results."""
    times = [
        f"| {name} | {own['seconds']:.3g} | {own['processor seconds']:.3g} |" for name, own in figures["times"].items()
    ]
    found = [f"| {name} | {value} |" for name, value in figures["found"].items()]
    return (
        "# A bootstrap of the Senate's votes\n\n"
        f"Made by `make bench-bootstrap` on {name_machine()}; versions and commit are in bootstrap.json. "
        f"Alpha is {ALPHA}.\n\n| | seconds | processor seconds |\n|---|---|---|\n"
        + "\n".join(times)
        + "\n\n| | |\n|---|---|\n"
        + "\n".join(found)
        + "\n"
    )


def main() -> None:
    """Measure, print and store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--resamples", type=int, default=100)
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results"))
    options = parser.parse_args()
    found = measure(options.resamples)
    text = report(found)
    Console().print(text)
    store(found, options.output / "bootstrap.json")
    (options.output / "bootstrap.md").write_text(text)


if __name__ == "__main__":
    main()
