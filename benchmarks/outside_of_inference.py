"""Seconds of `sparsefield.infer`, and what it says of tables that nobody here made, as they are and shuffled."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sparsefield as sf
from fields_of_inference import FIRST_SEED, MIDDLE, balanced, make_alike, make_random, sample
from outside import TABLES
from sparsefield.pairs import Inference

Row = dict[str, Any]

RATES = (0.05, 0.1)
N_SHUFFLES = 5

LARGE = 300  # variables from which on one call is measured, and not the best of three
TIMED: dict[str, Callable[[], sf.Table]] = {
    **{
        f"two levels, {p} x 1,000": partial(lambda p: sample(make_random(p, MIDDLE, FIRST_SEED), 1000, FIRST_SEED), p)
        for p in (20, 100, 1000)
    },
    "six ordered levels, 25 x 2,800": lambda: sample(make_alike(25, balanced(6), True, FIRST_SEED), 2800, FIRST_SEED),
}

SLOW = ("spi",)  # minutes


def list_timings() -> list[tuple[str, int]]:
    """Return what is timed, with how many threads."""
    return [(name, n_threads) for name in TIMED for n_threads in (1, 2)]


def list_tables(*, are_slow: bool) -> list[str]:
    """Return the names of the tables of others that take minutes, or of all others."""
    return [name for name in TABLES if (name in SLOW) == are_slow]


def measure_seconds(name: str, n_threads: int) -> Row:
    """Time a table, by the clock and of all processors together: the best of three calls, one where it is large."""
    table = TIMED[name]()
    times = []
    for _ in range(3 if table.domain.n_variables < LARGE else 1):
        began, worked = time.perf_counter(), time.process_time()
        sf.infer(table, n_threads=n_threads, progress=False)
        times.append((time.perf_counter() - began, time.process_time() - worked))
    seconds, processor = min(times)
    return {"seconds": seconds, "processor seconds": processor}


def measure_outside(folder: Path, name: str) -> Row:
    """Infer from a table of others as it is, and with every column shuffled."""
    table, counts = TABLES[name].load(folder)
    began = time.process_time()
    found = infer(table, counts)
    seconds = time.process_time() - began
    row = {
        "rows": int(table.n_rows if counts is None else counts.sum()),
        "columns": table.domain.n_variables,
        "ordered": int(table.domain.is_ordered.sum()),
        "missing": float(table.mask.mean()),
        "seconds": seconds,
        **count_pairs(found),
    }
    if counts is not None:  # rows must be there one by one to be shuffled
        table = table[np.repeat(np.arange(table.n_rows), counts)]
    row["shuffled"] = [count_pairs(infer(shuffle(table, seed), None)) for seed in range(1, N_SHUFFLES + 1)]
    return row


def infer(table: sf.Table, counts: NDArray[np.int64] | None) -> Inference:
    """Infer with one thread."""
    return sf.infer(table, sample_weight=counts, frequency=counts is not None, n_threads=1, progress=False)


def shuffle(table: sf.Table, seed: int) -> sf.Table:
    """Shuffle every column by itself."""
    rng = np.random.default_rng([19, seed])
    codes = np.column_stack([rng.permutation(column) for column in table.codes.T])
    return sf.Table(table.domain, np.asfortranarray(codes))


def count_pairs(found: Inference) -> Row:
    """Count edges, intervals that exclude zero, and pairs that cannot be told."""
    excludes = (found.low > 0) | (found.high < 0)
    return {
        "pairs": len(found.pairs),
        **{f"edges {rate}": int((found.q_value <= rate).sum()) for rate in RATES},
        "exclude": int(excludes.sum()),
        "untold": int((~found.is_told).sum()),
    }
