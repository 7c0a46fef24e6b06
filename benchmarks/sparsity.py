"""What sparse curvatures give to fits of many variables, apart from all else: steps and marks with and without them.

    make bench-sparsity

Fields of 4 neighbours, 5000 rows and alpha 0.02, as in `make bench-newton`, with several seeds of the draws.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

import sparsefield as sf
from measure import name_machine, store
from sparsefield.datasets import make_field
from sparsefield.fitting import FITTING, FitPolicy, Learner, Options
from sparsefield.marks import MARKS
from sparsefield.solvers import NEWTON
from sparsefield.tables import read_rows

ALPHA, NEVER = 0.02, 2**62
SIZES, SEEDS = (500, 1000), (1, 2, 3)
WAYS = {"both": (True, True), "steps alone": (True, False), "marks alone": (False, True), "neither": (False, False)}


def choose(steps_are_sparse: bool, marks_are_sparse: bool) -> FitPolicy:
    """Return a policy whose curvatures of steps, and of marks, are sparse from as many parameters on, or never."""
    steps = NEWTON if steps_are_sparse else replace(NEWTON, fewest=NEVER)
    return replace(FITTING, newton=steps, marks=MARKS if marks_are_sparse else replace(MARKS, whole_is_cheap=NEVER))


def measure(p: int, seed: int) -> list[dict[str, Any]]:
    """Fit one table in all ways, in turn, and certify each fit from the same draws."""
    table = make_field(p, degree=4, strength=(0.5, 1.0), seed=seed).sample(5000, method="perfect", seed=seed)
    rows = []
    for name, way in WAYS.items():
        start = time.perf_counter()
        fit = Learner(read_rows(table), Options(seed=seed), policy=choose(*way)).learn(ALPHA)
        seconds = time.perf_counter() - start
        n_edges = int(np.count_nonzero(np.triu(fit.model.interactions, 1)))
        optimality = sf.certify(fit, table, n_draws=200 * (n_edges + p), seed=seed + 1).optimality
        assert optimality is not None
        assert fit.undecided is not None
        marked = int(np.count_nonzero(np.triu(fit.undecided, 1)))
        found = {"p": p, "seed": seed, "way": name, "seconds": seconds, "steps": len(fit.steps), "edges": n_edges}
        rows.append(found | {"marked": marked, "gap": optimality.gap})
    return rows


def write_table(rows: list[dict[str, Any]], path: Path) -> None:
    """Write what was measured, for people."""
    lines = [
        "# What sparse curvatures give",
        "",
        "Made by `make bench-sparsity`; machine, versions and commit are in sparsity.json. Fits of fields with 4 "
        f"neighbours, 5000 rows, alpha {ALPHA}, seeds {', '.join(map(str, SEEDS))}. Gaps are certified with confidence "
        "0.99, from 200 fresh draws for each parameter that is not zero.",
        "",
        "| variables | what is sparse | seconds | steps | edges | marked | gap at most |",
        "|---|---|---|---|---|---|---|",
    ]
    for p in SIZES:
        for way in WAYS:
            own = [row for row in rows if (row["p"], row["way"]) == (p, way)]
            cells = [_span([row[name] for row in own], form) for name, form in _FORMS.items()]
            lines.append(f"| {p} | {way} | {' | '.join(cells)} |")
    path.write_text("\n".join(lines) + "\n")


_FORMS = {"seconds": ".1f", "steps": "d", "edges": "d", "marked": "d", "gap": ".3g"}


def _span(values: list[Any], form: str) -> str:
    """Write the least and the largest of some values."""
    return " to ".join(dict.fromkeys(f"{value:{form}}" for value in (min(values), max(values))))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results", help="a folder")
    options = parser.parse_args()
    console = Console(width=150)
    console.print(name_machine())
    measure(SIZES[0], SEEDS[0])  # compile
    rows = [row for p in SIZES for seed in SEEDS for row in measure(p, seed)]
    options.output.mkdir(parents=True, exist_ok=True)
    store({"fits": rows}, options.output / "sparsity.json")
    write_table(rows, options.output / "sparsity.md")
    console.print((options.output / "sparsity.md").read_text())


if __name__ == "__main__":
    main()
