"""Speed of the Gibbs sweeps over variables with several levels, beside tuned numpy and adabmDCA in the same run.

    make bench-levels            ours and numpy
    make bench-levels PEERS=1    also adabmDCA

Rounds of all samplers alternate and the best round of each counts, on one thread. Before they are timed, samplers draw
from a field that can be enumerated: how far are their moments from the exact ones, in standard errors?
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from rich.console import Console
from scipy import stats
from threadpoolctl import threadpool_limits

from level_peers import NUMPY, PEERS
from measure import best_times, name_machine, store
from sparsefield import Domain, PairwiseMRF
from sparsefield._kernels import _levels, _permutes
from sparsefield._kernels._target import HAS_AVX512, make_aligned
from sparsefield.data import moments_of_codes
from sparsefield.inference import Chains, Scan

N_CHAINS = 5000
CASES = [(53, 21, 52), (20, 5, 19), (20, 5, 6), (20, 3, 6), (20, 10, 6)]  # variables, levels, neighbours
CHECKED = (6, 5, 4)  # 15,625 states
N_CHECKED = 50_000
FALSE_ALARM = 1e-6
GOAL = 10.0  # times the fastest of the others, in each of the first three cases
OURS, PLAIN = "sparsefield", "sparsefield, plain"
Row = dict[str, Any]


def make_case(p: int, n_levels: int, degree: int) -> PairwiseMRF:
    """Make a field on a ring, each variable with its nearest neighbours, whose exponents are of order one half."""
    rng = np.random.default_rng(p)
    domain = Domain(tuple(f"x{i}" for i in range(p)), (tuple(range(n_levels)),) * p, (0,) * p)
    slots = np.arange(domain.n_slots) // (n_levels - 1)
    apart = np.abs(slots[:, None] - slots)
    near = np.minimum(apart, p - apart)
    values = np.triu(rng.normal(0, 0.5 / np.sqrt(degree), apart.shape) * ((near > 0) & (near <= (degree + 1) // 2)), 1)
    return PairwiseMRF(domain, rng.normal(0, 0.3, domain.n_slots), values + values.T)


def make_samplers(peers: bool) -> dict[str, Callable[[PairwiseMRF, int], Any]]:
    return NUMPY | (PEERS if peers else {})


class PlainScan(Scan):
    """A scan for the sweeps that run on any processor."""

    level_kernels = _levels


class Ours:
    """Our chains as the other samplers are."""

    def __init__(self, model: PairwiseMRF, n_chains: int, *, plain: bool = False) -> None:
        self.scan = PlainScan(model) if plain else Scan(model)
        self.chains = Chains(model.domain, n_chains, seed=1, n_threads=1)

    def sweep(self, n: int) -> None:
        self.chains.sweep(self.scan, n)

    def codes(self) -> NDArray[np.uint8]:
        return self.chains.codes()


def check_samplers(peers: bool) -> Row:
    """Return the largest error of a moment of each sampler in standard errors; stop if it is not noise."""
    model = make_case(*CHECKED)
    exact = model.moments().pair
    deviations = np.sqrt(exact * (1 - exact) / N_CHECKED)
    counted = np.triu(exact > 0)
    makers: dict[str, Callable[[PairwiseMRF, int], Any]] = {OURS: Ours, **make_samplers(peers)}
    found: Row = {}
    for name, make in makers.items():
        sampler = make(model, N_CHECKED)
        sampler.sweep(40)
        pair = moments_of_codes(np.asarray(sampler.codes(), dtype=np.uint8), model.domain).pair
        found[name] = float((np.abs(pair - exact)[counted] / deviations[counted]).max())
    found["noise of as many moments, at most"] = float(stats.norm.isf(FALSE_ALARM / (2 * counted.sum())))
    wrong = [name for name in makers if found[name] > found["noise of as many moments, at most"]]
    if wrong:
        raise SystemExit(f"These do not sample the field: {', '.join(wrong)} ({found}).")
    return found


def measure_case(p: int, n_levels: int, degree: int, peers: bool) -> Row:
    """Measure million updates a second on one field, and how fast lookups alone would be."""
    model = make_case(p, n_levels, degree)
    ours, plain = Ours(model, N_CHAINS), Ours(model, N_CHAINS, plain=True)
    n_sweeps = max(1, int(5e6 / (p * n_levels * degree * N_CHAINS) * 20))
    actions: dict[str, Callable[[], Any]] = {
        OURS: lambda: ours.sweep(n_sweeps),
        PLAIN: lambda: plain.sweep(1),
    }
    for name, make in make_samplers(peers).items():
        sampler = make(model, N_CHAINS)
        actions[name] = sampler.one_sweep
    if HAS_AVX512:
        actions["lookups alone"] = look_up_alone(ours.scan)
    times = best_times(actions, clock=time.process_time)  # one thread, and others may share the processor
    rates = {name: p * N_CHAINS / 1e6 / t for name, t in times.items()}
    rates[OURS] *= n_sweeps
    if HAS_AVX512:
        rates["lookups alone"] = ROUNDS_ALONE * 512 / 1e6 / times["lookups alone"]
    best = max(rate for name, rate in rates.items() if name not in (OURS, PLAIN, "lookups alone"))
    return {"variables": p, "levels": n_levels, "neighbours": degree, "rates": rates, "ratio": rates[OURS] / best}


ROUNDS_ALONE = 20


@njit
def _look_up(index, tables, n_tables, biases, n, weights, n_rounds):  # type: ignore[no-untyped-def]
    for _ in range(n_rounds):
        addresses = np.int64(index.ctypes.data), np.int64(tables.ctypes.data)
        own = np.int64(biases.ctypes.data), np.int64(weights.ctypes.data)
        _permutes._multiply_tables(addresses[0], addresses[1], n_tables, own[0], n, own[1])


def look_up_alone(scan: Scan) -> Callable[[], Any]:
    """Return the lookups and products of one variable, with tables in the nearest cache that has room for them."""
    n_levels, starts, *_, tables, biases = scan.arguments
    n, n_tables = int(n_levels[0]) - 1, int(starts[1])
    index = make_aligned((n_tables, _levels.STRIDE), np.uint8)
    weights = make_aligned((n, 512), np.float32)
    own = tables[: 32 * n * n_tables]
    return lambda: _look_up(index, own, n_tables, biases[0], n, weights, ROUNDS_ALONE)


def say_rate(rate: float) -> str:
    """Write a number with at least three digits, and none after the point if there are more before it."""
    return f"{rate:,.0f}" if rate >= 100 else f"{rate:.3g}"


def report(checks: Row, rows: list[Row]) -> str:
    """Return the page of results."""
    names = list(rows[0]["rates"])
    head = ["variables", "levels", "neighbours", *names, "ratio to the best other"]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for row in rows:
        cells = [str(row[name]) for name in head[:3]] + [say_rate(row["rates"][name]) for name in names]
        lines.append("| " + " | ".join([*cells, f"{row['ratio']:.1f}"]) + " |")
    p, n_levels, degree = CHECKED
    quality = "\n".join(f"| {name} | {value:.2f} |" for name, value in checks.items())
    return (
        "# Gibbs sweeps over several levels\n\n"
        f"Made by `make bench-levels PEERS=1` on {name_machine()}; versions and commit are in levels.json.\n\n"
        f"## Million updates of variables per second, {N_CHAINS} chains, one thread\n\n"
        "*Plain* is the twin for processors without AVX-512, compiled for this processor. *Lookups alone* is what the "
        "reading and multiplying of table entries would allow if nothing else were done.\n\n"
        + "\n".join(lines)
        + f"\n\n## Largest error of a moment, in standard errors of {N_CHECKED:,} chains\n\n"
        f"Against enumeration of {p} variables with {n_levels} levels and {degree} neighbours.\n\n"
        f"| sampler | largest error |\n|---|---|\n{quality}\n"
    )


def main() -> None:
    """Measure, print and store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", action="store_true", help="also measure adabmDCA")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args()
    with threadpool_limits(1):
        checks = check_samplers(options.peers)
        rows = [measure_case(*case, options.peers) for case in CASES]
    text = report(checks, rows)
    Console(width=160).print(text)
    store({"n_chains": N_CHAINS, "goal": GOAL, "checks": checks, "cases": rows}, options.output / "levels.json")
    (options.output / "levels.md").write_text(text)


if __name__ == "__main__":
    main()
