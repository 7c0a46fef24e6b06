"""Rows a second of a table that does not fit into memory, beside reading it alone; and what a fit of it takes.

    make bench-rows

A folder of parquet files is written to a temporary one and removed at the end: 10^8 rows of 50 binary columns, one byte
a cell, 2^20 rows a file. A sparse field of 50 variables is drawn from exactly, 2^17 rows; each file has eight blocks of
these, each in an order of its own, and with a fresh one of a hundred cells in every column turned round, so that no two
files are the same. Files are written once and read from the cache of the operating system, as far as memory reaches.

Each figure has a process of its own, whose peak memory is its own. Reading alone is the sum of all columns by polars.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from rich.console import Console

import sparsefield as sf
from measure import find_peak, name_machine, store

N_COLUMNS = 50
_FILE, _DRAWN = 2**20, 2**17  # rows of a file, and of the draws that it is made of
_TURNED = 100  # of so many cells one is turned round
_ALPHA = 0.005
_ROUNDS = 3  # of reading and of counting, which take turns; the best counts


def write_files(folder: Path, n_rows: int) -> int:
    """Write the table, and return how many bytes its files have."""
    field = sf.datasets.make_field(N_COLUMNS, degree=3, strength=(0.5, 1.0), seed=1)
    codes = np.asarray(field.sample(_DRAWN, method="perfect", seed=1))
    rng = np.random.default_rng(1)
    for k, start in enumerate(range(0, n_rows, _FILE)):
        blocks = [codes[rng.permutation(_DRAWN)] for _ in range(_FILE // _DRAWN)]
        rows = np.asfortranarray(np.concatenate(blocks)[: n_rows - start])
        for column in rows.T:
            column[rng.integers(0, len(rows), len(rows) // _TURNED)] ^= 1
        columns = {name: rows[:, i] for i, name in enumerate(field.domain.names)}
        pl.DataFrame(columns).write_parquet(folder / f"part-{k:05d}.parquet")
    return sum(path.stat().st_size for path in folder.iterdir())


def run_step(step: str, folder: Path) -> dict[str, Any]:
    """Do one thing, and return how long it took."""
    warm = pl.LazyFrame({f"x{i}": [0, 1] * 8 for i in range(N_COLUMNS)})  # which compiles
    if step != "reading":
        sf.tables.count_data(warm)
    clock, processor = time.perf_counter(), time.process_time()
    found: dict[str, Any] = {}
    if step == "reading":
        pl.scan_parquet(folder / "*.parquet").select(pl.all().sum()).collect(engine="streaming")
    elif step == "counting":
        found["rows"] = sf.tables.count_data(folder).n_rows
    else:
        fit = sf.learn(sf.tables.count_data(folder), _ALPHA, seed=1)
        learned = time.perf_counter()
        certified = sf.certify(fit, sf.tables.count_data(folder)).optimality
        assert certified is not None
        found |= {
            "status": fit.status.code,
            "edges": sf.make_graph(fit).number_of_edges(),
            "certified gap": certified.gap,
            "seconds to count and learn": learned - clock,
            "seconds to count again and certify": time.perf_counter() - learned,
        }
    seconds, used = time.perf_counter() - clock, time.process_time() - processor
    return {**found, "seconds": seconds, "processor seconds": used, "peak bytes": find_peak()}


def call(step: str, folder: Path) -> dict[str, Any]:
    """Do one thing in a process of its own."""
    words = [sys.executable, __file__, "--step", step, "--folder", str(folder)]
    printed = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    return dict(json.loads(printed.splitlines()[-1]))


def measure(n_rows: int, console: Console) -> dict[str, Any]:
    """Write the table, read it, count it and learn from it."""
    with tempfile.TemporaryDirectory() as name:
        folder, clock = Path(name), time.perf_counter()
        n_bytes = write_files(folder, n_rows)
        console.print(f"{n_rows:,} rows written, {n_bytes / 2**20:.0f} MiB, {time.perf_counter() - clock:.0f} s")
        best: dict[str, dict[str, Any]] = {}
        for _ in range(_ROUNDS):
            for step in ("reading", "counting"):
                found = call(step, folder)
                console.print(step, found)
                if step not in best or found["seconds"] < best[step]["seconds"]:
                    best[step] = found
        assert best["counting"]["rows"] == n_rows
        best["learning"] = call("learning", folder)
        console.print(best["learning"])
    return {"rows": n_rows, "columns": N_COLUMNS, "bytes": n_bytes, "alpha": _ALPHA, **best}


def tabulate(found: dict[str, Any]) -> str:
    """Return the figures as a page."""
    lines = ["| | rows a second | seconds | of processors | peak memory (MiB) |", "|---|---|---|---|---|"]
    for step, label in (("reading", "reading alone"), ("counting", "reading and counting")):
        own = found[step]
        lines.append(
            f"| {label} | {found['rows'] / own['seconds']:.3g} | {own['seconds']:.2f} | "
            f"{own['processor seconds']:.2f} | {own['peak bytes'] / 2**20:.0f} |"
        )
    fit = found["learning"]
    return (
        "# Rows of a table that does not fit into memory\n\n"
        f"Made by `make bench-rows` on {name_machine()}; versions and commit are in rows.json. {found['rows']:,} rows "
        f"of {found['columns']} binary columns in parquet files of {found['bytes'] / 2**20:.0f} MiB; the best of "
        f"{_ROUNDS} rounds, each in a process of its own.\n\n"
        + "\n".join(lines)
        + f"\n\nA fit with alpha = {found['alpha']} took {fit['seconds to count and learn']:.1f} s with counting, and "
        f"found {fit['edges']} edges ({fit['status']}). Its certificate, for which rows are counted once more, took "
        f"{fit['seconds to count again and certify']:.1f} s: at most {fit['certified gap']:.2g} above the optimum. "
        f"Peak memory of both: {fit['peak bytes'] / 2**20:.0f} MiB.\n"
    )


def main() -> None:
    """Measure, print and store; or do one step, for a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--step", choices=("reading", "counting", "learning"), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step is not None:
        print(json.dumps(run_step(options.step, options.folder)))
        return
    console = Console()
    found = measure(options.rows, console)
    text = tabulate(found)
    console.print(text)
    store(found, options.output / "rows.json")
    (options.output / "rows.md").write_text(text)


if __name__ == "__main__":
    main()
