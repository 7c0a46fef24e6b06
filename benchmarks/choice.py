"""Which criterion finds the edges of known fields: the F1 of the fit with the penalty that each chooses.

    make bench-choice

F1 is the harmonic mean of two shares: of the edges that are found, those that are true, and of the true ones, those
that are found. Fields have 16 variables, so that all fits are exact.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

import sparsefield as sf
from measure import name_machine, store
from sparsefield.datasets import make_field
from sparsefield.selection import select

FIELDS: dict[str, dict[str, Any]] = {
    "degree 2, strength 1 to 2": {"degree": 2, "strength": (1.0, 2.0)},
    "degree 3, strength 0.5 to 1": {"degree": 3, "strength": (0.5, 1.0)},
    "degree 4, strength 0.7 to 1.5": {"degree": 4, "strength": (0.7, 1.5)},
    "edges with probability 0.3, strength 1 to 2": {"edge_probability": 0.3, "strength": (1.0, 2.0)},
}
CRITERIA: dict[str, dict[str, Any]] = {
    "EBIC": {"criterion": "ebic"},
    "EBIC of shrunken fits": {"criterion": "ebic", "relax_criterion": False},
    "BIC": {"criterion": "bic"},
    "AIC": {"criterion": "aic"},
    "cv": {"criterion": "cv"},
    "StARS": {"criterion": "stars"},
}
N_VARIABLES = 16

Row = dict[str, Any]


def edges_of(model: sf.PairwiseMRF) -> NDArray[np.bool_]:
    """Return which pairs have an edge."""
    return np.asarray(model.interactions[np.triu_indices(N_VARIABLES, 1)] != 0)


def score(found: NDArray[np.bool_], truth: NDArray[np.bool_]) -> float:
    """Return F1."""
    return float(2 * (found & truth).sum() / max(1, found.sum() + truth.sum()))


def measure(name: str, n_rows: int, seed: int) -> Row:
    """Choose by each criterion for one table."""
    field = make_field(N_VARIABLES, seed=seed, **FIELDS[name])
    table, truth = field.sample(n_rows, n_sweeps=500, seed=seed), edges_of(field)
    row: Row = {"field": name, "rows": n_rows, "seed": seed, "true edges": int(truth.sum())}
    row["best of the path"] = max(score(edges_of(fit.model), truth) for fit in sf.path(table).fits)
    for criterion, options in CRITERIA.items():
        choice = select(table, **options)
        row[criterion] = score(edges_of(sf.learn(table, choice.alpha).model), truth)
    return row


def average(rows: list[Row]) -> list[str]:
    """Return the mean of each field and number of rows, as lines of a table."""
    columns = ["best of the path", *CRITERIA]
    lines = ["| field | rows | " + " | ".join(columns) + " |", "|---" * (len(columns) + 2) + "|"]
    for name, n_rows in dict.fromkeys((row["field"], row["rows"]) for row in rows):
        own = [row for row in rows if (row["field"], row["rows"]) == (name, n_rows)]
        cells = [f"{np.mean([row[column] for row in own]):.2f}" for column in columns]
        lines.append(f"| {name} | {n_rows} | " + " | ".join(cells) + " |")
    return lines


def main() -> None:
    """Measure all fields, print and store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fields", type=int, default=4, help="how many fields of each kind")
    parser.add_argument("--rows", type=int, nargs="+", default=[500, 4000])
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results"))
    options = parser.parse_args()
    console, rows = Console(), []
    for n_rows in options.rows:
        for name in FIELDS:
            for seed in range(1, options.fields + 1):
                rows.append(measure(name, n_rows, seed))
                console.print(rows[-1])
    text = (
        "# Which criterion finds the edges of known fields\n\n"
        f"Made by `make bench-choice` on {name_machine()}; versions and commit are in choice.json. F1 of the edges, "
        f"mean of {options.fields} fields of {N_VARIABLES} variables.\n\n" + "\n".join(average(rows)) + "\n"
    )
    console.print(text)
    store({"rows": rows}, options.output / "choice.json")
    (options.output / "choice.md").write_text(text)


if __name__ == "__main__":
    main()
