"""What a penalty on main effects changes: edges found, the coding of the columns, and columns without any edge.

    make bench-main-effects

The fields and tables are the paper's simulations of 10 and 20 variables, in which a main effect is nonzero as rarely as
an interaction. Each table is learned twice, as it was drawn and with 0 and 1 exchanged in half of its columns: that
changes the sign of some interactions, but no edge. Gradients of the likelihood are exact, by enumeration.

A pair is right if it has an edge in both the truth and the fit, or in neither; signs do not count. Columns of a table
of symptoms are shuffled too, each for itself, so that no edge is true. The table is not part of the project;
``SPARSEFIELD_OUTSIDE`` names the folder that has it.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from threadpoolctl import threadpool_limits

import sparsefield as sf
from measure import name_machine, store
from sparsefield._typing import Matrix
from sparsefield.network import edge_auc
from sparsefield_experiments._trials import SETTINGS, make_trial
from tables_of_main_effects import write_tables

ALPHAS = (0.00125, 0.0025, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.025, 0.03, 0.04, 0.06, 0.08)
N_TRIALS = {10: 200, 20: 30}
OUTSIDE = Path("adhd") / "adhd_bgms.csv"
OUTSIDE_ALPHAS, N_SHUFFLES = (0.01, 0.02, 0.05), 5
# Of the pseudo-likelihood: with a tolerance of 1e-4, its default, weights of two codings differ by up to 0.03. Some
# fits take more than its 100 iterations to reach this one: 119 at most with 20 variables and the smallest penalty.
PRECISELY: dict[str, Any] = {"tol": 1e-7, "max_iter": 1000, "progress": False}
CHOICES = {"free": False, "penalised": True}
METHODS = ("likelihood", "pseudo-likelihood")

Row = dict[str, Any]


def learn_edges(table: sf.Table, alpha: float, choice: str, method: str) -> Matrix:
    """Return interactions, zero where there is no edge."""
    penalize_main = CHOICES[choice]
    if method == "likelihood":
        fit = sf.learn(table, alpha, penalize_main=penalize_main, solver=sf.Newton(schedule="exact"))
    else:
        fit = sf.PseudoLikelihood(alpha, penalize_main=penalize_main, **PRECISELY).fit(table).fit_
    if fit.status.code != "converged":
        raise RuntimeError(f"A fit with alpha {alpha:g} and {choice} main effects ended early: {fit.status}")
    return fit.model.interactions


def pairs_of(matrix: Matrix) -> NDArray[Any]:
    """Return the entries above the diagonal."""
    return matrix[np.triu_indices(len(matrix), 1)]


def relabel(table: sf.Table, columns: NDArray[np.int64]) -> sf.Table:
    """Exchange 0 and 1 in some columns."""
    codes = table.codes.copy(order="F")
    codes[:, columns] = 1 - codes[:, columns]
    return sf.Table(table.domain, codes)


def measure_trial(p: int, seed: int) -> Iterator[Row]:
    """Learn a table of the paper's with every penalty, both codings and both choices."""
    trial = make_trial(SETTINGS[p], seed)
    columns = np.random.default_rng(seed).choice(p, p // 2, replace=False)
    signs = np.ones(p)
    signs[columns] = -1
    other = relabel(trial.table, columns)
    alphas = sorted({*ALPHAS, SETTINGS[p].alphas[0]})
    for method, choice, alpha in product(METHODS, CHOICES, alphas):
        drawn = learn_edges(trial.table, alpha, choice, method)
        relabelled = learn_edges(other, alpha, choice, method)
        yield {
            "p": p,
            "seed": seed,
            "method": method,
            "main": choice,
            "alpha": alpha,
            "true edges": int(np.count_nonzero(pairs_of(trial.truth.interactions))),
            **judge(drawn, trial.truth),
            **{f"{name}, relabelled": value for name, value in judge(relabelled, trial.truth).items()},
            "pairs changed": float(np.mean((pairs_of(drawn) != 0) != (pairs_of(relabelled) != 0))),
            "largest change": float(np.abs(np.outer(signs, signs) * relabelled - drawn).max()),
        }


def judge(found: Matrix, truth: sf.PairwiseMRF) -> Row:
    """Compare edges with the true ones, which relabelling does not change."""
    return {
        "AUC": float(edge_auc(found, truth)),
        "right": float(np.mean((pairs_of(found) != 0) == (pairs_of(truth.interactions) != 0))),
        "edges": int(np.count_nonzero(pairs_of(found))),
    }


def measure_shuffles(path: Path) -> list[Row]:
    """Count the edges of an outside table as it is, and of its shuffled columns, which have none."""
    rows = pl.read_csv(path).to_numpy().astype(np.uint8)
    tables = {"as it is": rows}
    for seed in range(N_SHUFFLES):
        tables[f"shuffle {seed + 1}"] = np.random.default_rng(seed).permuted(rows, axis=0)
    found = []
    for (name, table), choice, alpha in product(tables.items(), CHOICES, OUTSIDE_ALPHAS):
        means = table.mean(axis=0)
        distances = np.abs(pairs_of(table.T.astype(np.float64) @ table / len(table) - np.outer(means, means)))
        edges = pairs_of(learn_edges(sf.encode(table), alpha, choice, "likelihood"))
        found.append(
            {
                "table": name,
                "rows": len(table),
                "pairs": len(edges),
                "main": choice,
                "alpha": alpha,
                "edges": int(np.count_nonzero(edges)),
                "pairs farther than alpha": int((distances > alpha).sum()),
                "largest distance": float(distances.max()),
            }
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results", help="a folder")
    parser.add_argument("--share", type=float, default=1.0, help="of the trials, for a quick look")
    options = parser.parse_args()
    console = Console(width=140)
    console.print(name_machine())
    jobs = [(p, seed) for p, n in N_TRIALS.items() for seed in range(max(2, round(options.share * n)))]
    folder = os.environ.get("SPARSEFIELD_OUTSIDE")
    shuffles: list[Row] = []
    with threadpool_limits(1):
        rows = [row for job in track(jobs, description="Learning", console=console) for row in measure_trial(*job)]
        if folder is None:
            console.print("SPARSEFIELD_OUTSIDE is not set: columns of the outside table are not shuffled.")
        else:
            shuffles = measure_shuffles(Path(folder) / OUTSIDE)
    options.output.mkdir(parents=True, exist_ok=True)
    groups = write_tables(rows, shuffles, options.output / "main_effects.md")
    store({"trials": groups, "shuffles": shuffles}, options.output / "main_effects.json")
    console.print((options.output / "main_effects.md").read_text())


if __name__ == "__main__":
    main()
