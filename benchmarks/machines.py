"""From which size draws on several machines pay: a measured model of their time, extended on paper to 1,000 workers.

    make bench-machines

Two worker processes of one thread each are started on this machine. What a task costs, what is sent, and what a block
of draws takes are measured apart; the model that they make is compared with the time of whole steps.
"""

from __future__ import annotations

import argparse
import pickle
import warnings
from pathlib import Path
from typing import Any

import distributed
import numpy as np
from rich.console import Console

import sparsefield as sf
from measure import best_time, store
from model_of_machines import Costs, Field, count_step
from sparsefield.datasets import make_field
from sparsefield.inference import Backend, Cluster, Cpu
from sparsefield.model import as_theta
from tables_of_machines import write_tables

N_WORKERS = 2
SIZES = {20: (2**14, 2**17, 2**20), 100: (2**14, 2**17, 2**19), 1000: (2**12, 2**14, 2**16)}  # draws, by variables


def make_sparse(n_variables: int) -> sf.PairwiseMRF:
    """Make a field of degree 4, in which exact draws take a few sweeps."""
    return make_field(n_variables, degree=4, strength=(0.2, 0.4), seed=1)


def make_step(backend: Backend, model: sf.PairwiseMRF, n: int) -> None:
    """Do what a step asks of a backend: exact draws, their moments, and their values along a step."""
    chains, _ = backend.draw(model, n, seed=1, max_sweeps=1000)
    chains.moments()
    chains.draws().along(as_theta(model))


def double(value: int) -> int:
    """Do nothing that takes time."""
    return 2 * value


def measure_costs(client: distributed.Client) -> Costs:
    """Measure what tasks and bytes cost, whatever they are for."""

    def wait_for(n: int) -> None:
        client.gather(client.map(double, range(n), pure=False))

    size = 2**26
    held = [client.submit(np.zeros, size, dtype=np.uint8, workers=[worker]) for worker in client.nthreads()]
    distributed.wait(held)
    trip, many = best_time(lambda: wait_for(1), 20), best_time(lambda: wait_for(400))
    return Costs(trip, (many - trip) / 399, len(held) * size / best_time(lambda: client.gather(held)))


def measure_field(n_variables: int, sizes: tuple[int, ...], cluster: Cluster) -> tuple[Field, list[dict[str, Any]]]:
    """Measure what blocks of draws of a field take on this machine, and whole steps on one and on two processes."""
    model = make_sparse(n_variables)
    rows = []
    for n in sizes:
        ways: dict[str, Backend] = {"1 thread": Cpu(1), "2 threads": Cpu(2), "2 workers": cluster}
        times = {name: best_time(lambda own=own, n=n: make_step(own, model, n)) for name, own in ways.items()}  # type: ignore[misc]
        rows.append({"variables": n_variables, "draws": n, **times})
    first, last = rows[0], rows[-1]
    slope = (last["1 thread"] - first["1 thread"]) / (last["draws"] - first["draws"])
    chains, _ = Cpu(1).draw(model, 512, seed=1, max_sweeps=1000)
    field = Field(
        n_variables,
        seconds_per_block=512 * slope,
        seconds_before=max(0.0, first["1 thread"] - slope * first["draws"]),
        bytes_of_field=len(pickle.dumps(np.flatnonzero(model.interactions))) * 2,
        bytes_of_counts=len(pickle.dumps(chains.moments().pair.astype(np.int32))),
    )
    return field, rows


def measure_fit(cluster: Cluster) -> dict[str, Any]:
    """Time a whole fit on one machine and on two processes."""
    table = make_field(100, degree=3, strength=(0.3, 0.6), seed=1).sample(5000, method="perfect", seed=1)
    ways: dict[str, Backend] = {"1 thread": Cpu(1), "2 threads": Cpu(2), "2 workers": cluster}
    fits, times = {}, {}
    for name, backend in ways.items():

        def learn(name: str = name, backend: Backend = backend) -> None:
            fits[name] = sf.learn(table, 0.01, device=backend, seed=1)

        times[name] = best_time(learn, 2)
    assert all(np.array_equal(as_theta(fit.model), as_theta(fits["1 thread"].model)) for fit in fits.values())
    fit = fits["1 thread"]
    return {"variables": 100, "draws at the end": fit.steps[-1].n_chains, "steps": len(fit.steps), **times}


def main() -> None:
    """Measure, compare with the model, extend it, print and store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    console = Console()
    with (
        distributed.LocalCluster(n_workers=N_WORKERS, threads_per_worker=1, dashboard_address=None) as local,
        distributed.Client(local) as client,
    ):
        cluster = Cluster(client)
        costs, fields, rows = measure_costs(client), [], []
        for n_variables, sizes in SIZES.items():
            field, found = measure_field(n_variables, sizes, cluster)
            for row in found:
                row["2 workers by the model"] = sum(count_step(costs, field, row["draws"], N_WORKERS).values())
                console.print(row)
            fields.append(field)
            rows += found
        fit = measure_fit(cluster)
    figures = {"costs": vars(costs), "fields": [vars(field) for field in fields], "steps": rows, "fit": fit}
    text = write_tables(costs, fields, rows, fit)
    console.print(text)
    store(figures, options.output / "machines.json")
    (options.output / "machines.md").write_text(text)


if __name__ == "__main__":
    main()
