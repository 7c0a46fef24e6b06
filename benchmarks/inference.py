"""How sure is every pair? Coverage, false discovery rates and power on known fields, beside what people use.

    make bench-inference

Each table is of another field; `--only worst` has many tables of one field. Tables of others are read from the folder
that SPARSEFIELD_OUTSIDE names. What is finished is kept in .cache, where a run that was stopped goes on; it is not used
once the commit is another.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from threadpoolctl import threadpool_limits

import sparsefield as sf
from fields_of_inference import FIRST_SEED, SETTINGS, WORST, Drawn, Setting
from figures_of_inference import summarise
from measure import name_machine, store
from outside_of_inference import list_tables, list_timings, measure_outside, measure_seconds
from peers_of_inference import PEER_SETTINGS, SANDWICH_SETTINGS, measure_peers, measure_sandwich
from sparsefield.pairs import Inference
from sparsefield_experiments import describe_machine
from tables_of_inference import report

Row = dict[str, Any]

RATES = (0.05, 0.1)
SIZES = (0.05, 0.01, 0.001)
N_BATCHES = 4  # in which tables of a setting are measured, so that a run that is cut has some of each
PARTS = ("calibration", "worst", "peers", "seconds", "outside")


@dataclass(frozen=True)
class Job:
    """What is measured and kept at one time."""

    key: tuple[str | int, ...]
    run: Callable[[], Row]


def infer(drawn: Drawn) -> tuple[Inference, float]:
    """Infer from a table as users do, with one thread; return the seconds of the processor too."""
    began = time.process_time()
    found = sf.infer(drawn.table, sample_weight=drawn.weights, clusters=drawn.clusters, n_threads=1, progress=False)
    return found, time.process_time() - began


def score(drawn: Drawn) -> Row:
    """Compare what is said of all pairs of a table with the truth."""
    found, seconds = infer(drawn)
    is_true, is_known = drawn.truth != 0, np.isfinite(found.estimate)
    covers = (found.low <= drawn.truth) & (drawn.truth <= found.high)
    miss = np.sign(drawn.truth) * (found.estimate - drawn.truth)
    edges, zeros = is_true & is_known, ~is_true & is_known
    row: Row = {
        "true": int(is_true.sum()),
        "edges": int(edges.sum()),
        "zeros": int(zeros.sum()),
        "edges covered": int(covers[edges].sum()),
        "zeros covered": int(covers[zeros].sum()),
        "excess": float(miss[edges].sum()),
        "untold": int((~found.is_told).sum()),
        "seconds": seconds,
    }
    for rate in RATES:
        is_edge = found.q_value <= rate
        row[f"right {rate}"], row[f"false {rate}"] = int((is_edge & is_true).sum()), int((is_edge & ~is_true).sum())
    for size in SIZES:
        row[f"p {size}"] = int((found.p_value[zeros] <= size).sum())
    return row


def score_all(setting: Setting, seeds: range) -> Row:
    """Score tables of a setting: a list for each figure."""
    rows = [score(setting.draw(seed)) for seed in seeds]
    return {column: [row[column] for row in rows] for column in rows[0]}


def cover_all(setting: Setting, seeds: range) -> Row:
    """Count how often the interval of each pair of one field covers its true weight."""
    drawn = [setting.draw(seed) for seed in seeds]
    truth = drawn[0].truth
    covered, known = (np.zeros(len(truth), dtype=int) for _ in range(2))
    for one in drawn:
        found, _ = infer(one)
        covered += (found.low <= truth) & (truth <= found.high)
        known += np.isfinite(found.estimate)
    return {"truth": truth.tolist(), "covered": covered.tolist(), "known": known.tolist()}


def list_jobs(options: argparse.Namespace) -> Iterator[Job]:
    """Yield what there is to be measured, in an order in which a run that is cut has some of everything."""
    for batch in range(N_BATCHES):
        for part, settings, measure_batch in (("calibration", SETTINGS, score_all), ("worst", WORST, cover_all)):
            for setting in settings:
                seeds = _list_seeds(setting, options)[batch::N_BATCHES]
                if len(seeds) and part in options.only:
                    key = (part, setting.group, setting.name, setting.n_rows, batch, len(seeds))
                    yield Job(key, partial(measure_batch, setting, seeds))
        if batch == 0:
            yield from _list_others(options)
        if batch < 2:
            yield from _list_outside(options, are_slow=batch == 1)


def _list_seeds(setting: Setting, options: argparse.Namespace) -> range:
    return range(FIRST_SEED, FIRST_SEED + max(1, round(options.share * setting.n_tables)))


def _list_others(options: argparse.Namespace) -> Iterator[Job]:
    if "peers" in options.only:
        for part, settings, measure_table in (
            ("peers", PEER_SETTINGS, measure_peers),
            ("sandwich", SANDWICH_SETTINGS, measure_sandwich),
        ):
            for setting in settings:
                for seed in _list_seeds(setting, options):
                    yield Job((part, setting.name, setting.n_rows, seed), partial(measure_table, setting, seed))
    if "seconds" in options.only:
        for name, n_threads in list_timings():
            yield Job(("seconds", name, n_threads), partial(measure_seconds, name, n_threads))


def _list_outside(options: argparse.Namespace, *, are_slow: bool) -> Iterator[Job]:
    if "outside" in options.only and "SPARSEFIELD_OUTSIDE" in os.environ:
        folder = Path(os.environ["SPARSEFIELD_OUTSIDE"])
        for name in list_tables(are_slow=are_slow):
            yield Job(("outside", name), partial(measure_outside, folder, name))


@lru_cache(maxsize=1)
def _commit() -> str:
    return str(describe_machine()["commit"])


def measure(options: argparse.Namespace, console: Console) -> list[Row]:
    """Measure what is not in the file yet, until time is up; return all that is known."""
    path, began = options.kept, time.perf_counter()
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    known = {tuple(row["key"]): row for row in kept if row["commit"] == _commit()}
    for job in list_jobs(options):
        if job.key in known or time.perf_counter() - began > 60 * options.minutes:
            continue
        row: Row = {"commit": _commit(), "key": list(job.key), **job.run()}
        known[job.key] = row
        with path.open("a") as file:
            file.write(json.dumps(row) + "\n")
        console.print(f"{time.perf_counter() - began:6.0f} s  {' | '.join(map(str, job.key))}")
    return list(known.values())


def main() -> None:
    """Measure all parts, print and store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), help="which parts")
    parser.add_argument("--share", type=float, default=1.0, help="of the tables, for a quick look")
    parser.add_argument(
        "--minutes", type=float, default=np.inf, help="after which nothing more is begun; 0: only write"
    )
    parser.add_argument("--kept", type=Path, default=Path(".cache/inference.jsonl"), help="the file of finished parts")
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results"))
    options = parser.parse_args()
    console = Console(soft_wrap=True)
    with threadpool_limits(1, user_api="blas"):
        if options.minutes > 0:
            for setting in (SETTINGS[0], SETTINGS[-1], WORST[-1]):
                infer(setting.draw(1))  # kernels are compiled
        rows = measure(options, console)
    figures = summarise(rows)
    text = report(figures, machine=name_machine())
    console.print(text)
    store(figures, options.output / "inference.json")
    (options.output / "inference.md").write_text(text)


if __name__ == "__main__":
    main()
