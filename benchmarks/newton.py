"""The Newton solver: beside the paper's steps and exact FISTA at equal objective, on the Senate, and on large fields.

    make bench-newton [PEERS=1] [LARGEST=1]

LARGEST adds a field of ten thousand variables.
Gaps are exact: objectives and optima by enumeration. AUC is that of the edges, ranked by the size of their interaction.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from sklearn.exceptions import ConvergenceWarning

import sparsefield as sf
from alternatives import by_skglm, by_sklearn
from measure import find_peak, name_machine, store
from sparsefield import PseudoLikelihood, SparseMRF, Table
from sparsefield._deadline import OutOfTimeError, until
from sparsefield._typing import Matrix
from sparsefield.datasets import load_senate, make_field
from sparsefield.fits import NewtonStep, Optimality
from sparsefield.gradients import BestDraws, Simulation, Tay
from sparsefield.inference import enumerate_states
from sparsefield.model import as_theta, sum_once
from sparsefield.network import edge_auc
from sparsefield.objective import Problem
from sparsefield.solvers import State, step

MANY = 5000  # variables from which on there are 10,000 rows
CERTIFIED_SECONDS, CERTIFIED_DRAWS = 60.0, 400_000  # for a certificate, at most
CRITICAL = 4 * 0.44068679  # coupling of the square lattice, of states 0 and 1 (Onsager: log(1 + sqrt(2)) / 2 of -1, 1)
GRIDS = ((20, 0.8, 60.0), (30, 0.9, 60.0))  # side, share of the critical coupling, seconds
GAP = 0.002  # to which all solvers are timed
ASKED = 0.001  # of the Newton solver, whose gap is that on average
SPG_CHAINS, SPG_STEPS, SPG_SECONDS = 40_000, 3000, 6.0


def fista(
    problem: Problem, start: Matrix, is_done: Callable[[float], bool], max_iter: int = 5000
) -> tuple[Matrix, float]:
    """Accelerated proximal gradient with exact moments, backtracking and restarts."""

    def smooth(theta: Matrix) -> tuple[float, Matrix]:
        log_partition, moments = enumerate_states(problem.model(theta))
        return log_partition - sum_once(theta * problem.data.moments.pair), problem.gradient(moments)

    theta, ahead, momentum, step_size = start, start, 1.0, 1.0
    value, gradient = smooth(ahead)
    objective = np.inf
    for _ in range(max_iter):
        while True:
            after = problem.penalty.prox(ahead - step_size * gradient, step_size)
            move = after - ahead
            new_value, new_gradient = smooth(after)
            if new_value <= value + sum_once(gradient * move) + sum_once(move * move) / (2 * step_size) + 1e-12:
                break
            step_size /= 2
        last, objective = objective, new_value + problem.penalty.value(after)
        if is_done(objective):
            return after, objective
        if objective > last:
            momentum, ahead = 1.0, after
        else:
            following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
            ahead = after + (momentum - 1) / following * (after - theta)
            momentum = following
        theta = after
        value, gradient = (new_value, new_gradient) if ahead is after else smooth(ahead)
    return theta, objective


def best_objective(problem: Problem, start: Matrix) -> float:
    """Find the optimum by exact FISTA, until 50 iterations gain less than 1e-7."""
    seen: list[float] = []

    def is_done(objective: float) -> bool:
        seen.append(objective)
        return len(seen) > 50 and seen[-51] - min(seen) < 1e-7

    fista(problem, start, is_done)
    return min(seen)


def time_spg(problem: Problem, lowest: float) -> tuple[float, int, float]:
    """Time the paper's steps until the gap is reached; objectives are not on the clock."""
    zeros = np.zeros_like(problem.data.moments.pair)
    state = State(zeros, 1.0, curvature=np.ones_like(zeros))
    schedule, simulation = Tay("coalescence", max_sweeps=100), Simulation(SPG_CHAINS, 1)
    seconds, gap = 0.0, np.inf
    # The first step only finds the curvature.
    after, _ = step(problem, state, schedule, simulation)
    state = State(state.theta, after.step_size, curvature=after.curvature)
    for k in range(1, SPG_STEPS + 1):
        start = time.perf_counter()
        state, _ = step(problem, state, schedule, simulation)
        seconds += time.perf_counter() - start
        if k % 10 == 0:
            gap = problem.objective(state.theta) - lowest
            if gap <= GAP or seconds > SPG_SECONDS:
                break
    return seconds, k, gap


def bench_paper(p: int, seed: int) -> dict[str, Any]:
    """Time three solvers to the same gap in the paper's setting."""
    truth = make_field(p, seed=seed)
    table = truth.sample(2000, method="perfect", seed=seed)
    problem = Problem.with_l1(sf.data.moments_of_table(table), table.domain, 0.017)
    start = time.perf_counter()
    mrf = SparseMRF(0.017, penalize_main=True, gap=ASKED, random_state=seed).fit(table)
    seconds = time.perf_counter() - start
    lowest = best_objective(problem, as_theta(mrf.model_))
    row: dict[str, Any] = {"p": p, "seed": seed, "seconds": seconds, "iterations": mrf.n_iter_}
    row["gap"] = problem.objective(as_theta(mrf.model_)) - lowest
    row["spg_seconds"], row["spg_iterations"], row["spg_gap"] = time_spg(problem, lowest)
    start = time.perf_counter()
    fista(problem, np.zeros_like(problem.data.moments.pair), lambda objective: objective - lowest <= GAP)
    row["fista_seconds"] = time.perf_counter() - start
    return row


def bench_senate(alpha: float) -> list[dict[str, Any]]:
    """Fit the Senate, missing votes as nay, and certify it; the paper's steps from the same start are beside it."""
    votes = load_senate().votes
    table = Table(votes.domain, np.where(votes.mask, 0, votes.codes).astype(np.uint8))
    rows = []
    slow = sf.Proximal(schedule=BestDraws(max_states=0), max_iter=10**6)
    spg = {"solver": slow, "init": "pseudolikelihood"}
    ways: dict[str, dict[str, Any]] = {"Newton": {}, "SPG, same draws": spg}
    for name, options in ways.items():
        start = time.perf_counter()
        limit = 30.0 if options else None
        mrf = SparseMRF(alpha, random_state=1, max_seconds=limit, **options).fit(table)
        seconds = time.perf_counter() - start
        start = time.perf_counter()
        found = try_to_certify(mrf, table, 100_000)
        rows.append(
            {
                "alpha": alpha,
                "name": name,
                "seconds": seconds,
                "iterations": mrf.n_iter_,
                "edges": mrf.graph().number_of_edges(),
                "certify_seconds": time.perf_counter() - start,
                "subgradient": np.inf if found is None else found.subgradient,
                "gap": np.inf if found is None else found.gap,
                "ending": mrf.status_.code,
            }
        )
    return rows


def bench_large(p: int, alpha: float, method: str) -> dict[str, Any]:
    """Learn a sparse field of p variables by one method; in a process of its own, for its memory."""
    truth = make_field(p, degree=4, strength=(0.5, 1.0), seed=1)
    n_rows = 10_000 if p >= MANY else 5000
    table = truth.sample(n_rows, method="perfect", seed=1)
    small = make_field(24, degree=2, strength=(0.5, 1.0), seed=1).sample(500, method="perfect", seed=1)
    learn: dict[str, Callable[[Table], Any]] = {
        "SparseMRF": lambda t: SparseMRF(alpha, random_state=1).fit(t),
        "PseudoLikelihood": lambda t: PseudoLikelihood(alpha).fit(t),
        "nodewise, scikit-learn": lambda t: by_sklearn(t, alpha),
        "nodewise, skglm": lambda t: by_skglm(t, alpha),
    }
    learn[method](small)  # compile
    start = time.perf_counter()
    found = learn[method](table)
    seconds = time.perf_counter() - start
    interactions = found if isinstance(found, np.ndarray) else found.interactions_
    row: dict[str, Any] = {
        "p": p,
        "rows": n_rows,
        "alpha": alpha,
        "name": method,
        "seconds": seconds,
        "mebibytes": find_peak() / 2**20,  # without the certificate
        "auc": float(edge_auc(interactions, truth)),
    }
    row["edges"] = int(np.count_nonzero(np.triu(interactions, 1)))
    row["note"] = ""
    if method == "SparseMRF":
        row["note"] = f"{found.n_iter_} iterations, {found.status_.code}, bias {found.certificate_:g}; "
        row["note"] += say_certified(found, table, row["edges"], p)
    return row


def say_certified(found: SparseMRF, table: Table, n_edges: int, p: int) -> str:
    """Certify a fit, and say what came of it in a bounded time."""
    start = time.perf_counter()
    n_draws = max(100_000, min(CERTIFIED_DRAWS, 100 * (n_edges + p)))
    optimality = try_to_certify(found, table, n_draws)
    if optimality is None:
        return f"not certified in {CERTIFIED_SECONDS:.0f} s"
    return (
        f"subgradient at most {optimality.subgradient:.2g}, gap at most {optimality.gap:.3g} "
        f"({optimality.gap / max(1, n_edges):.2g} an edge), in {time.perf_counter() - start:.0f} s"
    )


def try_to_certify(found: SparseMRF, table: Table, n_draws: int) -> Optimality | None:
    """Certify the optimum of a fit; None where there is no time for it."""
    try:
        with until(time.perf_counter() + CERTIFIED_SECONDS):
            return sf.certify(found.fit_, table, n_draws=n_draws, seed=2).optimality
    except OutOfTimeError:
        return None


def bench_grid(side: int, share: float, limit: float) -> dict[str, Any]:
    """Learn a grid whose equal couplings are a share of the critical one, within a number of seconds."""
    p = side * side
    pair = np.zeros((p, p))
    places = np.arange(p).reshape(side, side)
    for first, second in ((places[:, 1:], places[:, :-1]), (places[1:], places[:-1])):
        pair[first.ravel(), second.ravel()] = pair[second.ravel(), first.ravel()] = share * CRITICAL
    truth = sf.PairwiseMRF.binary(-pair.sum(axis=0) / 2, pair)
    table = truth.sample(5000, method="perfect", seed=1)
    start = time.perf_counter()
    mrf = SparseMRF(0.02, random_state=1, max_seconds=limit).fit(table)
    promised = [
        step.predicted for step in mrf.fit_.steps if isinstance(step, NewtonStep) and step.predicted is not None
    ]
    return {
        "side": side,
        "share": share,
        "limit": limit,
        "seconds": time.perf_counter() - start,
        "iterations": mrf.n_iter_,
        "ending": mrf.status_.code,
        "promised": promised[-1] if promised else float("nan"),
        "edges": mrf.graph().number_of_edges(),
        "auc": float(edge_auc(mrf.interactions_, truth)),
        "status": mrf.status_.sentence,
    }


def bench_elsewhere(p: int, alpha: float, method: str) -> dict[str, Any]:
    """Run `bench_large` in a process of its own."""
    code = f"import json, newton; print(json.dumps(newton.bench_large({p}, {alpha}, {method!r})))"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=True,
    )
    row: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return row


def write_tables(
    paper: list[dict[str, Any]],
    senate: list[dict[str, Any]],
    large: list[dict[str, Any]],
    grids: list[dict[str, Any]],
    exponent: float,
    path: Path,
) -> None:
    lines = [
        "# The Newton solver",
        "",
        "Made by `make bench-newton PEERS=1`; machine, versions and commit are in newton.json.",
        "",
        f"## Paper's settings: seconds until the objective is at most {GAP} above its optimum",
        "",
        f"2000 rows, alpha 0.017. Newton: `SparseMRF(0.017, penalize_main=True, gap={ASKED})`, pseudo-likelihood start "
        "included. SPG: TAY "
        f"with bounding chains, {SPG_CHAINS} chains (with fewer, noise keeps it above the gap), automatic step size, "
        f"stopped after {SPG_SECONDS:.0f} s. FISTA: exact moments by enumeration. Gaps are exact.",
        "",
        "| variables | seed | Newton, s | steps | gap | SPG with TAY, s | steps | gap | times | exact FISTA, s |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {r['p']} | {r['seed']} | {r['seconds']:.3f} | {r['iterations']} | {r['gap']:.5f} | "
        f"{r['spg_seconds']:.1f} | {r['spg_iterations']} | {r['spg_gap']:.4f} | "
        f"{'more than ' * (r['spg_gap'] > GAP)}{r['spg_seconds'] / r['seconds']:.0f} | {r['fista_seconds']:.2f} |"
        for r in paper
    ]
    lines += [
        "",
        "## Senate 2006, 100 senators, votes not cast as nay",
        "",
        f"Certificates with confidence 0.99 from 100,000 fresh draws, in {CERTIFIED_SECONDS:.0f} s at most. SPG is "
        "stopped after half a minute.",
        "",
        "| alpha | solver | seconds | steps | edges | ending | subgradient at most | gap at most | certified in, s |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {r['alpha']} | {r['name']} | {r['seconds']:.1f} | {r['iterations']} | {r['edges']} | {r['ending']} | "
        f"{r['subgradient']:.3f} | {r['gap']:.2f} | {r['certify_seconds']:.1f} |"
        for r in senate
    ]
    lines += [
        "",
        "## Larger fields, 4 neighbours",
        "",
        f"Time of `SparseMRF` at alpha 0.02 grows as p^{exponent:.2f} from 250 to 5000 variables. Certificates have "
        "confidence 0.99, from 100 fresh draws for each parameter that is not zero, 100,000 to "
        f"{CERTIFIED_DRAWS:,} of them, in {CERTIFIED_SECONDS:.0f} s at most. Memory is the peak of a process of its "
        "own, before the certificate.",
        "",
        "| variables | rows | alpha | method | seconds | AUC | edges | MiB | |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {r['p']} | {r['rows']} | {r['alpha']} | {r['name']} | {r['seconds']:.1f} | {r['auc']:.3f} | {r['edges']} | "
        f"{r['mebibytes']:.0f} | {r['note']} |"
        for r in large
    ]
    lines += [
        "",
        "## Grids near criticality, 5000 rows",
        "",
        "All couplings are equal. Correlations are long: sparse curvatures are found wrong on draws, and steps have "
        "the dense one. A fit that time ends says so; what its last step promised is how far it is from its optimum.",
        "",
        "| grid | share of the critical coupling | seconds, at most | seconds | steps | edges | AUC | promised | |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {r['side']} x {r['side']} | {r['share']} | {r['limit']:.0f} | {r['seconds']:.0f} | {r['iterations']} | "
        f"{r['edges']} | {r['auc']:.3f} | {r['promised']:.2g} | {r['status']} |"
        for r in grids
    ]
    path.write_text("\n".join(lines) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results", help="a folder")
    parser.add_argument("--peers", action="store_true", help="measure skglm too")
    parser.add_argument("--largest", action="store_true", help="learn ten thousand variables too")
    options = parser.parse_args()
    console = Console(width=150)
    console.print(name_machine())
    warnings.simplefilter("ignore", ConvergenceWarning)
    bench_paper(5, 1)  # compile
    paper = [bench_paper(p, seed) for p in (10, 20) for seed in range(1, 11)]
    senate = [row for alpha in (0.1, 0.02) for row in bench_senate(alpha)]
    methods = [
        "SparseMRF",
        "PseudoLikelihood",
        "nodewise, scikit-learn",
        *(["nodewise, skglm"] if options.peers else []),
    ]
    large = [bench_elsewhere(p, 0.02, "SparseMRF") for p in (125, 250)]
    large += [bench_elsewhere(500, alpha, name) for alpha in (0.01, 0.02, 0.04) for name in methods]
    # scikit-learn's nodewise regressions of 1000 variables take too long for a benchmark.
    large += [bench_elsewhere(1000, 0.02, name) for name in methods if "scikit" not in name]
    large += [bench_elsewhere(p, 0.02, name) for p in (2000, 5000) for name in methods[:2]]
    large += [bench_elsewhere(10_000, 0.02, "SparseMRF")] if options.largest else []
    grown = [(r["p"], r["seconds"]) for r in large if r["name"] == "SparseMRF" and r["alpha"] == 0.02]
    sizes, seconds = np.log(np.array([own for own in grown if 250 <= own[0] <= 5000])).T
    exponent = float(np.polyfit(sizes, seconds, 1)[0])
    grids = [bench_grid(*some) for some in GRIDS]
    options.output.mkdir(parents=True, exist_ok=True)
    figures = {"paper": paper, "senate": senate, "large": large, "grids": grids, "exponent": exponent}
    store(figures, options.output / "newton.json")
    write_tables(paper, senate, large, grids, exponent, options.output / "newton.md")
    console.print((options.output / "newton.md").read_text())


if __name__ == "__main__":
    main()
