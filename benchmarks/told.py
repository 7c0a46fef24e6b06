"""How well can edges be known at all? A posterior that is told what no user knows, on the tables of `choice.py`.

    make bench-told

It is told how many of the pairs have an edge and how large weights are, in the very field that a table comes from, and
draws edges and weights from the posterior of a spike and a normal slab, pair by pair: the likelihood is that of all
variables given all others, to the power of one half, since each pair is in it twice (with the whole power F1 is lower,
0.73 in place of 0.78 for four tables of each kind). What others find in the same tables is read from
results/choice.json.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from rich.console import Console

from choice import Row, Truth, lay_out
from fields_of_choice import KINDS, Kind, Rng, draw
from measure import name_machine, store
from sparsefield._typing import Values

Codes = NDArray[np.int8]

POWER = 0.5
SWEEPS, LARGE_SWEEPS, LARGE = 400, 150, 50  # fewer from 50 variables on; a quarter of them is not kept
LONGEST, MOST_STEPS, NEAR = 1.5, 6, 0.03  # of Newton steps to the mode of a weight
MAIN_VARIANCE = 25.0

HALF, WORTH = "told, p > 1/2", "told, best expected F1"
OTHERS = ("default", "IsingFit AND", "IsingFit OR", "abess")
FOUND = Path(__file__).parent / "results" / "choice.json"
REFITTED = "IsingFit AND, refitted"
TEXT = """\
# How well edges can be known at all

Made by `make bench-told` on {machine}, with up to {n} tables of each kind, those of choice.md; versions and commit
are in told.json. **told**: a posterior that is told how many pairs have an edge and how large weights are, which no
user knows. Edges are those more probable than not, or so many of the most probable that the F1 expected is largest;
weights are posterior means. It is no strict bound, as the likelihood is that of variables given all others, and modes
are taken for normal distributions. All others are those of choice.md.

## F1

{f1}

## Divergence from the truth

{kl}
"""


@njit(cache=True, fastmath=True)  # type: ignore[untyped-decorator]
def _see(codes: Codes, exponents: Values, i: int, j: int, shift: float) -> tuple[float, float, float]:
    """Return the logarithm of the likelihood of i and j, its slope and its curvature, the weight moved so far."""
    value, slope, curvature = 0.0, 0.0, 0.0
    for r in range(len(codes)):
        for own, other in ((i, j), (j, i)):
            if codes[r, own] or codes[r, other]:
                q = 1 / (1 + np.exp(-exponents[r, own] - shift * codes[r, other]))
                value += np.log(q) if codes[r, own] else np.log(1 - q)
                if codes[r, other]:
                    slope += codes[r, own] - q
                    curvature += q * (1 - q)
    return value, slope, curvature


@njit(cache=True, fastmath=True)  # type: ignore[untyped-decorator]
def sample(codes: Codes, share: float, variance: float, n_sweeps: int, rng: Rng) -> tuple[Values, Values, Values]:
    """Draw main effects, edges and weights in turn; return the probabilities of edges and the means of parameters."""
    n, p = codes.shape
    main, weights, exponents = np.zeros(p), np.zeros((p, p)), np.zeros((n, p))
    chances, mean, mean_main = np.zeros((p, p)), np.zeros((p, p)), np.zeros(p)
    for sweep in range(n_sweeps):
        is_kept = sweep >= n_sweeps // 4
        for i in range(p):
            mode = main[i]
            for _ in range(3):
                slope, curvature = -mode / MAIN_VARIANCE, 1 / MAIN_VARIANCE
                for r in range(n):
                    q = 1 / (1 + np.exp(-exponents[r, i] - mode + main[i]))
                    slope += POWER * (codes[r, i] - q)
                    curvature += POWER * q * (1 - q)
                mode += min(LONGEST, max(-LONGEST, slope / curvature))
            new = mode + rng.standard_normal() / np.sqrt(curvature)
            exponents[:, i] += new - main[i]
            main[i] = new
            if is_kept:
                mean_main[i] += mode
        for i in range(p):
            for j in range(i):
                now, mode = weights[i, j], 0.0
                without, slope, curvature = _see(codes, exponents, i, j, -now)
                value = without
                for _ in range(MOST_STEPS):
                    step = (POWER * slope - mode / variance) / (POWER * curvature + 1 / variance)
                    step = min(LONGEST, max(-LONGEST, step))
                    mode += step
                    value, slope, curvature = _see(codes, exponents, i, j, mode - now)
                    if abs(step) < NEAR:
                        break
                precision = POWER * curvature + 1 / variance
                log_odds = (
                    np.log(share / (1 - share))
                    + POWER * (value - without)
                    - mode**2 / (2 * variance)
                    - 0.5 * np.log(variance * precision)
                )
                chance = 1 / (1 + np.exp(-log_odds))
                new = mode + rng.standard_normal() / np.sqrt(precision) if rng.random() < chance else 0.0
                if is_kept:
                    chances[i, j] += chance
                    mean[i, j] += chance * mode
                if new != now:
                    for r in range(n):
                        exponents[r, i] += (new - now) * codes[r, j]
                        exponents[r, j] += (new - now) * codes[r, i]
                    weights[i, j] = weights[j, i] = new
    kept = n_sweeps - n_sweeps // 4
    return (chances + chances.T) / kept, mean_main / kept, (mean + mean.T) / kept


def choose_best(chances: Values) -> Values:
    """Return as many of the most probable edges as the expected F1 asks for, about 2 E[right] / E[found + true]."""
    order = np.argsort(-chances)
    expected = 2 * np.cumsum(chances[order]) / (np.arange(1, len(order) + 1) + chances.sum())
    found = np.zeros(len(order))
    found[order[: int(np.argmax(expected)) + 1]] = 1.0
    return found


def measure_table(kind: Kind, seed: int) -> Row:
    """Return F1 of both choices, and the divergence of the posterior means."""
    model, table = draw(kind, seed)
    codes, p = np.asarray(table.codes).astype(np.int8), table.domain.n_variables
    pairs = np.triu_indices(p, 1)
    weights = model.interactions[pairs]
    true = weights != 0
    if not true.any():
        return {}
    share, variance = float(true.mean()), float(np.mean(weights[true] ** 2))
    n_sweeps = SWEEPS if p < LARGE else LARGE_SWEEPS
    chances, main, means = sample(codes, share, variance, n_sweeps, np.random.default_rng([21, seed]))
    truth, row = Truth(model), {}
    for name, edges in ((HALF, chances[pairs] > 0.5), (WORTH, choose_best(chances[pairs]))):
        network = np.zeros((p, p))
        network[pairs] = edges
        row[name] = truth.score((main, network + network.T), 0.0)["F1"]
    row["KL"] = truth.score((main, means), 0.0)["KL"]
    return row


def read_others(path: Path) -> dict[tuple[str, int], dict[str, dict[str, list[float]]]]:
    """Return what others found in the same tables, by kind, figure and method."""
    found: dict[tuple[str, int], dict[str, dict[str, list[float]]]] = {}
    for row in json.loads(path.read_text())["rows"]:
        for method, figures in row["methods"].items():
            for column in ("F1", "KL"):
                if figures[column] is not None:
                    kind = found.setdefault((row["key"][0], row["key"][1]), {}).setdefault(column, {})
                    kind.setdefault(method, []).append(figures[column])
    return found


def report(rows: dict[tuple[str, int], list[Row]], others: dict[tuple[str, int], Any], n_tables: int) -> str:
    """Return the page of results; the last lines are means over kinds, of divergences geometric ones."""

    def lay(columns: Sequence[str], column: str, own: Sequence[str]) -> str:
        lines = []
        for key, told in rows.items():
            if told[0][own[0]] is not None:
                known = others[key][column]
                theirs = [float(np.mean(known[name])) if name in known else None for name in columns]
                lines.append([*key, *(float(np.mean([row[name] for row in told])) for name in own), *theirs])
        values = np.array([[np.nan if v is None else v for v in line[2:]] for line in lines])
        means = np.nanmean(values, axis=0) if column == "F1" else np.exp(np.nanmean(np.log(values), axis=0))
        head = ("field, variables", "rows", *(("told",) if column == "KL" else own), *columns)
        return lay_out(head, [*lines, ["mean", "", *map(float, means)]], 2 if column == "F1" else 3)

    return TEXT.format(
        machine=name_machine(),
        n=n_tables,
        f1=lay(OTHERS, "F1", (HALF, WORTH)),
        kl=lay((*OTHERS[:3], REFITTED), "KL", ("KL",)),
    )


def main() -> None:
    """Draw the posteriors of all tables, print and store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=10, help="how many tables of each kind")
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results"))
    options = parser.parse_args()
    console = Console(soft_wrap=True)
    others = read_others(FOUND)
    rows: dict[tuple[str, int], list[Row]] = {}
    for kind in KINDS:
        told = [row for seed in range(1, options.tables + 1) if (row := measure_table(kind, seed))]
        rows[kind.name, kind.n_rows] = told
        console.print(f"{kind.name}, {kind.n_rows} rows: {np.mean([row[WORTH] for row in told]):.2f}")
    text = report(rows, others, options.tables)
    console.print(text)
    kept = [{"field": name, "rows": n_rows, "tables": told} for (name, n_rows), told in rows.items()]
    store({"kinds": kept}, options.output / "told.json")
    (options.output / "told.md").write_text(text)


if __name__ == "__main__":
    main()
