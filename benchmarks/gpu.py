"""A GPU beside the processors of the same machine: sweeps, bounds, exact draws, fits and certificates.

    make bench-gpu

Needs a GPU and CuPy. Times are the best of some rounds; a call is waited for before the clock is read.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

import sparsefield as sf
from measure import best_time, name_machine, store
from profile_gpu import PROFILED, profile
from sparsefield.datasets import load_senate, make_field
from sparsefield.inference import Backend, Cpu, Cuda
from sparsefield.inference.gpu._chains import make_streams, run_sweeps
from sparsefield.inference.gpu._device import find_gpu
from sparsefield.inference.gpu._draws import count_lines
from sparsefield.inference.gpu._scan import DeviceScan
from sparsefield.model import as_theta
from sparsefield_experiments import describe_machine
from tables_of_gpu import write_tables

SHORTEST = 0.1  # seconds of a measurement
# Variables and neighbours of each; with as many neighbours as others, all interact.
FIELDS = ((20, 6), (100, 6), (1000, 6), (100, 10), (100, 16), (100, 20), (1000, 20), (100, 99), (1000, 999))
CHAINS = (2**16, 2**18, 2**20, 2**22)
CROSSING = {20: (2**10, 2**14, 2**18), 100: (2**10, 2**14, 2**18), 1000: (2**10, 2**13, 2**16)}  # draws, by variables
SENATE_ALPHA, MANY_DRAWS, FEWER_DRAWS, CERTIFIED_DRAWS = 0.1, 10**7, 10**6, 3 * 10**7


@contextmanager
def stopwatch(into: dict[str, Any], name: str) -> Iterator[None]:
    """Store the seconds that something takes."""
    start = time.perf_counter()
    yield
    into[name] = time.perf_counter() - start


def make_ring(n_variables: int, degree: int) -> sf.PairwiseMRF:
    """Make a field in which all variables have the same number of neighbours, of both signs."""
    rng = np.random.default_rng(1)
    interactions = np.zeros((n_variables, n_variables))
    steps = np.arange(1, n_variables) if degree >= n_variables - 1 else 1 + np.arange(degree // 2) ** 2
    for step in steps:
        i = np.arange(n_variables)
        j = (i + step) % n_variables
        interactions[i, j] = interactions[j, i] = rng.uniform(-1, 1, n_variables) / np.sqrt(degree)
    lower = np.tril(interactions, -1)
    return sf.PairwiseMRF.binary(rng.uniform(-0.5, 0.5, n_variables), lower + lower.T)


def measure_sweeps(backend: Backend, model: sf.PairwiseMRF, n_chains: int, n_planes: int = 1) -> float:
    """Return how many updates a second chains, bounds, or both make."""
    p = model.domain.n_variables
    if n_planes == 3:
        return measure_coupled(model, n_chains)
    make = backend.chains if n_planes == 1 else backend.bounding_chains
    chains, scan = make(model.domain, n_chains, seed=1), backend.prepare(model, n_planes=n_planes)
    chains.sweep(scan, 1)
    n = 1
    while True:
        seconds = best_time(lambda: chains.sweep(scan, n))  # noqa: B023
        if seconds > SHORTEST:
            return n * n_chains * p / seconds
        n = int(np.ceil(n * min(100.0, 1.5 * SHORTEST / max(seconds, 1e-5))))


def measure_coupled(model: sf.PairwiseMRF, n_chains: int) -> float:
    """Return how many updates a second chains between their bounds make, what a GPU's exact draws are made of."""
    device, p = find_gpu(), model.domain.n_variables
    states = device.make((3 * p, n_chains // 32), np.uint32)
    streams, scan = make_streams(device, n_chains // 32, 1, 0), DeviceScan(device, model, n_planes=3)
    n = max(1, int(SHORTEST * 2e11 / (n_chains * p)))
    return n * n_chains * p / best_time(lambda: run_sweeps(device, scan, states, streams, n))


def bench_sweeps() -> list[dict[str, Any]]:
    """Measure sweeps of chains on the GPU, and of 2^18 chains on all processors."""
    rows = []
    for p, degree in FIELDS:
        model = make_ring(p, degree)
        row: dict[str, Any] = {"variables": p, "degree": degree}
        chains = [n for n in CHAINS if n * p * max(1, degree / 100) <= 2**36]
        row["gpu"] = {n: measure_sweeps(Cuda(), model, n) for n in chains}
        if degree == 6:
            row["bounds"] = {n: measure_sweeps(Cuda(), model, n, 2) for n in chains}
            row["coupled"] = {n: measure_sweeps(Cuda(), model, n, 3) for n in chains}
        row["cpu"] = measure_sweeps(Cpu(), model, 2**16 if p * degree > 2**14 else 2**18)
        rows.append(row)
    return rows


def bench_counts() -> list[dict[str, Any]]:
    """Measure counts of all pairs."""
    device, rows = find_gpu(), []
    for p, n in ((100, 2**23), (1000, 2**18), (5000, 2**16)):
        lines = device.xp.random.randint(0, 2**32, (p, n // 32), dtype=np.uint32)
        mask = device.xp.full(n // 32, 2**32 - 1, dtype=np.uint32)
        rows.append({"lines": p, "draws": n, "seconds": best_time(lambda: count_lines(device, lines, mask))})  # noqa: B023
    return rows


def make_step(backend: Backend, model: sf.PairwiseMRF, n: int) -> None:
    """Do what a step asks of a backend: exact draws, their moments, and their values along a step."""
    chains, _ = backend.draw(model, n, seed=1, max_sweeps=1000)
    chains.moments()
    chains.draws().along(as_theta(model))


def bench_crossing() -> list[dict[str, Any]]:
    """Measure from how many draws on a GPU pays."""
    rows = []
    for p, sizes in CROSSING.items():
        model = make_field(p, degree=4, strength=(0.2, 0.4), seed=1)
        for n in sizes:
            machines: dict[str, Backend] = {"gpu": Cuda(), "cpu": Cpu()}
            times = {name: best_time(lambda: make_step(own, model, n)) for name, own in machines.items()}  # noqa: B023
            rows.append({"variables": p, "draws": n, **times})
    return rows


def bench_senate() -> dict[str, Any]:
    """Draw from the Senate's field, and certify it, on the GPU; and what processors do of it."""
    votes = load_senate().votes
    table = sf.Table(votes.domain, np.where(votes.mask, 0, votes.codes).astype(np.uint8))
    found: dict[str, Any] = {"alpha": SENATE_ALPHA}
    for device in ("cuda", "cpu"):
        sf.learn(table, 2 * SENATE_ALPHA, seed=1, device=device)  # compile
    with stopwatch(found, "fit_gpu"):
        fit = sf.learn(table, SENATE_ALPHA, seed=1, device=Cuda())
    with stopwatch(found, "fit_cpu"):
        other = sf.learn(table, SENATE_ALPHA, seed=1)
    found["edges"] = [int(np.count_nonzero(np.triu(own.model.interactions, 1))) for own in (fit, other)]
    found["steps"] = [len(fit.steps), len(other.steps)]
    ways: tuple[tuple[str, Backend, int], ...] = (("gpu", Cuda(), MANY_DRAWS), ("cpu", Cpu(), FEWER_DRAWS))
    for name, backend, n in ways:
        backend.draw(fit.model, n, seed=1, max_sweeps=10_000)  # compile
        with stopwatch(found, f"draws_{name}"):
            chains, run = backend.draw(fit.model, n, seed=2, max_sweeps=10_000)
            chains.moments()
        found[f"sweeps_{name}"] = run.sweeps_per_draw
    # With free main effects nothing that is proven for every number of draws says much: see docs/math/optimality.md.
    penalised = sf.learn(table, SENATE_ALPHA, seed=1, device=Cuda(), penalize_main=True)
    for name, own in (("free", fit), ("penalised", penalised)):
        part: dict[str, Any] = {}
        with stopwatch(part, "seconds"):
            optimality = sf.certify(own, table, n_draws=CERTIFIED_DRAWS, seed=2, device=Cuda()).optimality
        assert optimality is not None
        found[name] = part | {"gap": optimality.gap, "kind": optimality.kind, "proven": optimality.proven}
    return found


def bench_fit(p: int) -> dict[str, Any]:
    """Fit a sparse field of p variables."""
    truth = make_field(p, degree=4, strength=(0.5, 1.0), seed=1)
    table = truth.sample(5000, method="perfect", seed=1)
    found: dict[str, Any] = {"variables": p}
    for name, backend in (("gpu", Cuda()), ("cpu", Cpu())):
        with stopwatch(found, f"first_{name}"):
            sf.learn(table, 0.02, seed=1, device=backend)
        with stopwatch(found, f"seconds_{name}"):
            fit = sf.learn(table, 0.02, seed=1, device=backend)
        found[f"edges_{name}"] = int(np.count_nonzero(np.triu(fit.model.interactions, 1)))
        found[f"draws_{name}"] = fit.steps[-1].n_chains
    return found


BENCHES: dict[str, Callable[[], Any]] = {
    "sweeps": bench_sweeps,
    "counts": bench_counts,
    "crossing": bench_crossing,
    "fits": lambda: [bench_fit(p) for p in (250, 1000)],
    "senate": bench_senate,
}


def read_others(path: Path, gpu: str) -> dict[str, Any]:
    """Return what a file has of parts that are not measured again, or refuse that of another GPU."""
    known = dict(json.loads(path.read_text())) if path.exists() else {}
    if known.get("gpu", gpu) != gpu:
        raise SystemExit(f"{path} is of another GPU ({known['gpu']}): measure all parts, or name another folder.")
    return known


def update(path: Path, known: dict[str, Any], parts: dict[str, Any], gpu: str) -> dict[str, Any]:
    """Store what was measured, beside what is known of other parts, and return all of it."""
    commits = known.get("commits", {}) | dict.fromkeys(parts, describe_machine()["commit"])
    found = known | parts | {"gpu": gpu, "commits": commits}
    store({name: own for name, own in found.items() if name != "machine"}, path)
    return dict(json.loads(path.read_text()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results", help="a folder")
    parser.add_argument(
        "--only", nargs="+", choices=[*BENCHES, PROFILED], help="what to measure again; all unless given"
    )
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    console = Console(width=150)
    gpu = find_gpu().describe()
    console.print(name_machine(), gpu)
    path, parts = options.output / "gpu.json", dict[str, Any]()
    known = read_others(path, gpu) if options.only else {}
    for name, bench in (BENCHES | {PROFILED: profile}).items():
        if not options.only or name in options.only:
            parts[name] = bench()
            console.print(name, parts[name])
    found = update(path, known, parts, gpu)
    if found.keys() >= BENCHES.keys():
        write_tables(found, options.output / "gpu.md")


if __name__ == "__main__":
    main()
