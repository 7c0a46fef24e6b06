"""The log-partition function by draws and by annealing: time, standard errors, and whether intervals hold.

    make bench-partition

Fields of 8 to 18 variables, weak to strong, are compared with enumeration: how often does the value lie outside its
interval of 0.99? The Senate's fits are too large for that: the two methods and several seeds are compared there.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track
from scipy import stats

import sparsefield as sf
from measure import name_machine, store
from sparsefield import Domain, PairwiseMRF, Table
from sparsefield.datasets import load_senate, make_field
from sparsefield.inference import OutOfReachError

STRENGTHS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)  # largest size of an interaction; the smallest is half of it
SIZES = (10, 12, 14, 18)
N_DRAWS = 20_000  # by bridges; annealing has its default
CONFIDENCE = 0.99
ALPHAS = (0.1, 0.05)
Row = dict[str, Any]


def make_cases(n_each: int) -> Iterator[tuple[str, float, PairwiseMRF]]:
    """Make fields with signs of either kind, attractive ones without a preferred level, and ones of three levels."""
    for strength in STRENGTHS:
        for k in range(n_each):
            rng = np.random.default_rng((int(100 * strength), k))
            mixed = make_field(SIZES[k % len(SIZES)], 0.3, (strength / 2, strength), seed=int(rng.integers(2**31)))
            yield "either sign", strength, mixed
            size = np.abs(mixed.interactions)
            yield "attractive", strength, PairwiseMRF.binary(rng.normal(0, 0.2, len(size)) - size.sum(1) / 2, size)
            yield "three levels", strength, make_levels(strength, rng)


def make_levels(strength: float, rng: np.random.Generator) -> PairwiseMRF:
    """Make a field of eight variables with three levels, with signs of either kind."""
    domain = Domain(tuple(f"x{i}" for i in range(8)), ((0, 1, 2),) * 8, (0,) * 8)
    shape = (domain.n_slots,) * 2
    values = rng.uniform(strength / 2, strength, shape) * rng.choice([-1, 1], shape) * (rng.random(shape) < 0.3)
    values[domain.slot_variables[:, None] == domain.slot_variables] = 0
    upper = np.triu(values, 1)
    return PairwiseMRF(domain, rng.normal(0, strength / 4, domain.n_slots), upper + upper.T)


def measure_case(kind: str, strength: float, model: PairwiseMRF, seed: int) -> list[Row]:
    """Compare both methods with enumeration."""
    exact, rows = float(model.log_partition("exact")), []
    for method, n_draws in (("draws", N_DRAWS), ("annealed", None)):
        if method == "draws" and kind == "three levels":
            continue
        row: Row = {"kind": kind, "strength": strength, "p": model.domain.n_variables, "method": method, "seed": seed}
        clock = time.perf_counter()
        try:
            found = model.log_partition(method, n_draws=n_draws, seed=seed)  # type: ignore[arg-type]
            row |= {"exact": exact, "value": found.value, "error": found.error}
        except OutOfReachError as refused:
            row["refused"] = refused.reason
        rows.append(row | {"seconds": time.perf_counter() - clock})
    return rows


def measure_senate(n_seeds: int) -> list[Row]:
    """Estimate the log-partition functions of fits to the Senate's votes."""
    votes = load_senate().votes
    table, rows = Table(votes.domain, np.where(votes.mask, 0, votes.codes).astype(np.uint8)), []
    for alpha in ALPHAS:
        model = sf.learn(table, alpha, gap=0.05, seed=1).model
        for method in ("draws", "annealed"):
            for seed in range(n_seeds):
                clock = time.perf_counter()
                found = model.log_partition(method, seed=seed)
                own = {"alpha": alpha, "method": method, "seed": seed, "seconds": time.perf_counter() - clock}
                rows.append(own | {"value": found.value, "error": found.error, "n_draws": found.n_draws})
    return rows


def summarise(rows: list[Row]) -> Row:
    """Count the values outside their intervals, and how likely so many are."""
    known = [row for row in rows if "value" in row]
    scores = np.array([(row["value"] - row["exact"]) / row["error"] for row in known])
    n_outside = int((np.abs(scores) > stats.norm.ppf((1 + CONFIDENCE) / 2)).sum())
    return {
        "runs": len(rows),
        "refused": len(rows) - len(known),
        "outside": n_outside,
        "probability of so many": float(stats.binom.sf(n_outside - 1, len(known), 1 - CONFIDENCE)),
        "rms of errors / standard errors": float(np.sqrt((scores**2).mean())) if known else None,
        "largest": float(np.abs(scores).max()) if known else None,
        "standard error, median": float(np.median([row["error"] for row in known])) if known else None,
        "seconds, median": float(np.median([row["seconds"] for row in rows])),
        "seconds, largest": max(row["seconds"] for row in rows),
    }


def summarise_senate(rows: list[Row]) -> Row:
    """Return means over the seeds, and the spread of the values."""
    values = np.array([row["value"] for row in rows])
    return {
        "mean": float(values.mean()),
        "spread over seeds": float(values.std(ddof=1)),
        "standard error, mean": float(np.mean([row["error"] for row in rows])),
        "seconds, largest": max(row["seconds"] for row in rows),
    }


def write(found: dict[str, Row]) -> str:
    """Return a table with a line for each summary."""
    names = list(next(iter(found.values())))
    lines = ["| | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for name, own in found.items():
        cells = (own[column] for column in names)
        texts = ["" if c is None else f"{c:.5g}" if isinstance(c, float) else str(c) for c in cells]
        lines.append(f"| {name} | " + " | ".join(texts) + " |")
    return "\n".join(lines)


def report(rows: list[Row], senate: list[Row]) -> str:
    """Return the page of results."""
    ways = [("draws", "bridges between exact draws"), ("annealed", "annealing")]
    found = {}
    for method, title in ways:
        own = [row for row in rows if row["method"] == method]
        found[title] = summarise(own)
        for strength in STRENGTHS:
            found[f"{title}, up to {strength:g}"] = summarise([row for row in own if row["strength"] == strength])
    fits = {
        f"alpha {alpha}, {title}": summarise_senate(
            [row for row in senate if (row["alpha"], row["method"]) == (alpha, method)]
        )
        for alpha in ALPHAS
        for method, title in ways
    }
    return (
        "# The log-partition function without enumeration\n\n"
        f"Made by `make bench-partition` on {name_machine()}; versions and commit are in partition.json.\n\n"
        f"## Fields that can be enumerated: how often values are outside their interval of {CONFIDENCE}\n\n"
        f"{write(found)}\n\n## The Senate\n\n{write(fits)}\n"
    )


def main() -> None:
    """Measure, print and store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--each", type=int, default=12, help="fields of each kind and strength")
    parser.add_argument("--seeds", type=int, default=4, help="seeds of each fit to the Senate's votes")
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results"))
    options = parser.parse_args()
    console = Console()
    cases = list(make_cases(options.each))
    rows = [row for k, case in enumerate(track(cases, console=console)) for row in measure_case(*case, seed=k)]
    senate = measure_senate(options.seeds)
    text = report(rows, senate)
    console.print(text)
    store({"rows": rows, "senate": senate}, options.output / "partition.json")
    (options.output / "partition.md").write_text(text)


if __name__ == "__main__":
    main()
