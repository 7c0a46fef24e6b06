"""Speed of the Gibbs sweeps and of the moments, as ratios to tuned numpy in the same run.

    make bench            ours and numpy
    make bench PEERS=1    also a jax scan and thrml

Rounds of all samplers alternate and the best round of each counts, so that a slow moment of the machine hits all alike.
Every sampler draws from the same field, and before it is timed its means are checked against ten times as many chains.
"""

from __future__ import annotations

import argparse
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

from measure import best_times, name_machine, store
from peers import PEERS, NumpyGibbs
from sparsefield import PairwiseMRF
from sparsefield.datasets import make_field
from sparsefield.inference import Chains, Scan, count_packed

N_CHAINS = 5000
CASES = [(20, 6), (20, None), (100, 6), (100, 20), (100, None), (1000, 6), (1000, 20), (1000, None)]
# Ratios to reach on one thread.
GOALS = {(100, 6): 18.0, (100, 20): 11.0, (100, None): 5.5, (1000, None): 7.0}
MOMENT_GOALS = {100: 14.0, 1000: 14.0}


def make_case(p: int, degree: int | None) -> PairwiseMRF:
    """Make a field that mixes well, so that all samplers can be checked: fields of order one."""
    reach = 0.6 / np.sqrt(degree or p)
    return make_field(p, edge_probability=None if degree else 1.0, degree=degree, strength=(reach / 2, reach), seed=p)


def check_sampler(name: str, found: NDArray[Any], expected: NDArray[np.float64]) -> None:
    """Stop if the means of 5000 chains are not those of the field (5 standard errors, both sides noisy)."""
    error = np.abs(np.asarray(found, dtype=np.float64) - expected).max()
    if error > 5 * 0.5 / np.sqrt(N_CHAINS) * np.sqrt(1.1):
        raise SystemExit(f"{name} does not sample the field: a mean is off by {error:.3f}.")


def bench_sweeps(p: int, degree: int | None, peers: bool) -> dict[str, Any]:
    """Measure million updates a second on one field."""
    model = make_case(p, degree)
    scan = Scan(model)
    chains, on_two = (Chains(model.domain, N_CHAINS, seed=1, n_threads=n) for n in (1, 2))
    reference = Chains(model.domain, 10 * N_CHAINS, seed=2)
    n_check = 30 if p < 1000 or degree else 8
    reference.sweep(scan, n_check)
    expected = reference.moments().main
    chains.sweep(scan, n_check)
    check_sampler("sparsefield", chains.moments().main, expected)
    n_sweeps = max(1, int(5e7 / (N_CHAINS * p * max(1.0, scan.degree / 20))))
    others: dict[str, Any] = {"numpy": NumpyGibbs(model, N_CHAINS)}
    for name, make in PEERS.items() if peers else ():
        try:
            others[name] = make(model, N_CHAINS)
        except NotImplementedError as reason:
            print(f"p = {p}, degree {degree or p - 1}: {name} left out ({reason}).")
    for name, other in others.items():
        other.sweep(n_check)
        check_sampler(name, other.means(), expected)
    actions: dict[str, Callable[[], Any]] = {
        "ours, 1 thread": lambda: chains.sweep(scan, n_sweeps),
        "ours, 2 threads": lambda: on_two.sweep(scan, n_sweeps),
    }
    actions |= {name: other.one_sweep for name, other in others.items()}
    times = best_times(actions)
    updates = p * N_CHAINS / 1e6
    rates = {name: updates * (n_sweeps if name.startswith("ours") else 1) / t for name, t in times.items()}
    ratio = rates["ours, 1 thread"] / rates["numpy"]
    return {
        "p": p,
        "degree": degree or p - 1,
        "form": scan.form,
        "rates": rates,
        "ratio": ratio,
        "goal": GOALS.get((p, degree)),
    }


def bench_moments(p: int) -> dict[str, Any]:
    """Measure all pair counts of 5000 chains, beside a float32 matrix product; equal to the last count."""
    model = make_case(p, 6)
    chains = Chains(model.domain, N_CHAINS, seed=1)
    chains.sweep(Scan(model), 5)
    states = np.ascontiguousarray(chains.codes(), dtype=np.float32)
    counts = count_packed(chains._states, p, N_CHAINS, 1)
    if not np.array_equal(counts, (states.T @ states).astype(np.int64)):
        raise SystemExit("The counts differ from the matrix product.")
    times = best_times(
        {
            "ours, 1 thread": lambda: count_packed(chains._states, p, N_CHAINS, 1),
            "ours, 2 threads": lambda: count_packed(chains._states, p, N_CHAINS, 2),
            "numpy": lambda: states.T @ states,
        }
    )
    microseconds = {name: t * 1e6 for name, t in times.items()}
    return {
        "p": p,
        "microseconds": microseconds,
        "ratio": times["numpy"] / times["ours, 1 thread"],
        "goal": MOMENT_GOALS.get(p),
    }


def bench_enumeration(p: int) -> dict[str, Any]:
    """Measure exact moments by enumeration on all cores, and the memory that they take."""
    model = make_field(p, seed=1)
    seconds = best_times({"exact": model.moments})["exact"]
    tracemalloc.start()
    model.moments()
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    return {"p": p, "seconds": seconds, "peak_mib": peak}


def show(title: str, rows: list[dict[str, Any]], column: str, what: list[str], console: Console) -> None:
    names = list(dict.fromkeys(name for row in rows for name in row[column]))
    grid = Table(*what, *names, "ratio", "goal", title=title, title_justify="left")
    for row in rows:
        cells = [str(row[w]) for w in what] + [
            f"{row[column][name]:,.1f}" if name in row[column] else "" for name in names
        ]
        goal = "" if row["goal"] is None else f"{row['goal']:g}"
        grid.add_row(*cells, f"{row['ratio']:.1f}", goal)
    console.print(grid)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", action="store_true", help="also measure jax and thrml")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "kernels.json")
    options = parser.parse_args()
    console = Console(width=140)
    console.print(name_machine())
    with threadpool_limits(1):  # numpy gets one thread, as we do in the ratios
        sweeps = [bench_sweeps(p, degree, options.peers) for p, degree in CASES]
        moments = [bench_moments(p) for p in (20, 100, 1000)]
        enumeration = [bench_enumeration(p) for p in (20, 25)]
    show(f"Million updates a second, {N_CHAINS} chains", sweeps, "rates", ["p", "degree", "form"], console)
    show(f"Moments of {N_CHAINS} chains, microseconds", moments, "microseconds", ["p"], console)
    for row in enumeration:
        console.print(
            f"Enumeration of {row['p']} variables: {row['seconds']:.3f} s, {row['peak_mib']:.0f} MiB at most."
        )
    store({"sweeps": sweeps, "moments": moments, "enumeration": enumeration}, options.output)
    console.print(f"Stored in {options.output}")


if __name__ == "__main__":
    main()
