"""The learner: TAY beside the same algorithm straight in numpy, all schedules, and alternatives on larger fields.

    make bench-learner [PEERS=1]

AUC is that of the edges, ranked by the absolute value of their interaction.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from sklearn.exceptions import ConvergenceWarning

import sparsefield as sf
from alternatives import by_skglm, by_sklearn
from measure import name_machine, store
from sparsefield import PairwiseMRF, PseudoLikelihood, SparseMRF, Table
from sparsefield.data import moments_of_table
from sparsefield.datasets import make_field
from sparsefield.model import as_theta
from sparsefield.network import edge_auc
from sparsefield.objective import Problem

N_CHAINS, ALPHA, STEP_SIZE, MAX_SWEEPS = 5000, 0.017, 0.4, 60  # the paper's 20-variable setting
SCHEDULES: dict[str, dict[str, Any]] = {
    "SPG, 1 sweep": {"schedule": 1},
    "SPG, 30 sweeps": {"schedule": 30},
    "SPG, 60 sweeps": {"schedule": 60},
    "SPG-Inc": {"schedule": "increasing"},
    "TAY, paper": {"bound": "paper"},
    "TAY, sharp": {"bound": "sharp"},
    "TAY, persistent": {"bound": "persistent"},
    "TAY, coalescence": {"bound": "coalescence"},
    "exact draws": {"schedule": "perfect"},
}


def influence_of(theta: NDArray[np.float64]) -> NDArray[np.float64]:
    """The paper's influence matrix (Lemma 2)."""
    main, xi = np.diagonal(theta), theta - np.diag(np.diagonal(theta))
    positive, negative = np.maximum(xi, 0), np.minimum(xi, 0)
    low = -main[:, None] - (positive.sum(axis=1)[:, None] - positive)
    high = -main[:, None] - (negative.sum(axis=1)[:, None] - negative)
    b = np.clip(xi / 2, low, high)
    influence = np.abs(1 / (1 + np.exp(b - xi)) - 1 / (1 + np.exp(b)))
    np.fill_diagonal(influence, 0)
    return np.asarray(influence)


def is_good_enough(theta: NDArray[np.float64], after: NDArray[np.float64], w: NDArray[np.float64]) -> bool:
    """Whether the sharp certificate is below half the norm of the step map."""
    upper = np.triu_indices(len(theta))
    pair = np.minimum(1, w[:, None] + w)
    np.fill_diagonal(pair, w)
    return bool(np.linalg.norm(pair[upper]) < np.linalg.norm(((theta - after) / STEP_SIZE)[upper]) / 2)


def update(theta: NDArray[np.float64], gradient: NDArray[np.float64]) -> NDArray[np.float64]:
    moved = theta - STEP_SIZE * gradient
    return np.asarray(np.sign(moved) * np.maximum(np.abs(moved) - STEP_SIZE * ALPHA, 0))


def straight_tay(data: NDArray[np.float64], n_iter: int) -> tuple[NDArray[np.float64], int]:
    """TAY with the sharp certificate, straight in numpy: one row a chain, vectorised over chains."""
    p = len(data)
    rng = np.random.default_rng(1)
    theta, total = np.zeros((p, p)), 0
    for _ in range(n_iter):
        main, xi = np.diagonal(theta), theta - np.diag(np.diagonal(theta))
        influence = influence_of(theta)
        x = rng.integers(0, 2, size=(N_CHAINS, p)).astype(float)
        w = np.ones(p)
        for _ in range(MAX_SWEEPS):
            total += 1
            for i in range(p):
                x[:, i] = rng.random(N_CHAINS) < 1 / (1 + np.exp(-(main[i] + x @ xi[i])))
                w[i] = min(1.0, influence[i] @ w)
            after = update(theta, x.T @ x / N_CHAINS - data)
            if is_good_enough(theta, after, w):
                break
        theta = after
    return theta, total


def tuned_tay(data: NDArray[np.float64], n_iter: int) -> tuple[NDArray[np.float64], int]:
    """The same with the best layout, single precision, and no division."""
    p = len(data)
    rng = np.random.default_rng(1)
    theta, total = np.zeros((p, p)), 0
    for _ in range(n_iter):
        main, xi = np.diagonal(theta), theta - np.diag(np.diagonal(theta))
        influence = influence_of(theta)
        x = (rng.random((p, N_CHAINS)) < 0.5).astype(np.float32)
        rows, bias32 = xi.astype(np.float32), main.astype(np.float32)
        w = np.ones(p)
        for _ in range(MAX_SWEEPS):
            total += 1
            for i in range(p):
                field = rows[i] @ x + bias32[i]
                x[i] = rng.random(N_CHAINS, dtype=np.float32) * (1 + np.exp(-field)) <= 1
                w[i] = min(1.0, influence[i] @ w)
            after = update(theta, (x @ x.T) / N_CHAINS - data)
            if is_good_enough(theta, after, w):
                break
        theta = after
    return theta, total


def as_the_paper(max_iter: int, **options: Any) -> SparseMRF:
    """Return the estimator with the paper's steps."""
    own = {"step_size": STEP_SIZE, "n_chains": N_CHAINS, "max_sweeps": MAX_SWEEPS, **options}
    return SparseMRF(ALPHA, penalize_main=True, solver=sf.Proximal(max_iter=max_iter, **own), random_state=1)


def bench_numpy(table: Table, truth: PairwiseMRF, n_iter: int = 300) -> list[dict[str, Any]]:
    """Time TAY of the package and of numpy in the paper's setting, in turns, and compare the time of an iteration."""
    data = moments_of_table(table).pair

    def ours(n_threads: int | None, max_iter: int = n_iter) -> tuple[NDArray[np.float64], float, int]:
        mrf = as_the_paper(max_iter).set_params(n_threads=n_threads).fit(table)
        return mrf.interactions_, float(mrf.trace_["n_sweeps"].sum()), mrf.n_iter_

    ours(None, 2)  # compile
    ways: dict[str, Any] = {
        "numpy, straight": lambda: (*straight_tay(data, n_iter), n_iter),
        "numpy, tuned": lambda: (*tuned_tay(data, n_iter), n_iter),
        "sparsefield, one thread": lambda: ours(1),
        "sparsefield": lambda: ours(None),
    }
    best: dict[str, dict[str, Any]] = {}
    for _ in range(2):
        for name, learn in ways.items():
            start = time.perf_counter()
            theta, n_sweeps, n_done = learn()
            seconds = time.perf_counter() - start
            found = {
                "name": name,
                "seconds": seconds,
                "iterations": n_done,
                "sweeps": n_sweeps,
                "auc": float(edge_auc(theta, truth)),
                "ms_an_iteration": 1e3 * seconds / n_done,
            }
            if name not in best or seconds < best[name]["seconds"]:
                best[name] = found
    for found in best.values():
        found["times_faster"] = best["numpy, straight"]["ms_an_iteration"] / found["ms_an_iteration"]
    return list(best.values())


def bench_schedules(table: Table, truth: PairwiseMRF) -> list[dict[str, Any]]:
    """Fit the paper's setting with each schedule, 300 iterations, and compare exact objectives."""
    problem = Problem.with_l1(moments_of_table(table), table.domain, ALPHA)
    exact = sf.Proximal(schedule="exact", step_size=STEP_SIZE, max_iter=3000, tol=1e-5)
    best = SparseMRF(ALPHA, penalize_main=True, solver=exact).fit(table)
    lowest = problem.objective(as_theta(best.model_))
    rows = []
    for name, options in SCHEDULES.items():
        as_the_paper(2, **options).fit(table)  # compile
        start = time.perf_counter()
        mrf = as_the_paper(300, **options).fit(table)
        rows.append(
            {
                "name": name,
                "seconds": time.perf_counter() - start,
                "iterations": mrf.n_iter_,
                "sweeps": float(mrf.trace_["n_sweeps"].sum()),
                "certified": sum(info.is_certified for info in mrf.fit_.steps) / mrf.n_iter_,
                "gap": problem.objective(as_theta(mrf.model_)) - lowest,
                "auc": float(edge_auc(mrf.interactions_, truth)),
                "ending": mrf.status_.code,
            }
        )
    return rows


def bench_large(p: int, *, with_peers: bool, n_rows: int = 2000, alpha: float = 0.03) -> list[dict[str, Any]]:
    """Learn a sparse field of p variables, beside alternatives."""
    truth = make_field(p, degree=4, strength=(0.5, 1.0), seed=1)
    table = truth.sample(n_rows, n_sweeps=300, seed=1)
    rows = []

    def measure(name: str, learn: Any) -> None:
        start = time.perf_counter()
        interactions, note = learn()
        seconds = time.perf_counter() - start
        rows.append(
            {"p": p, "name": name, "seconds": seconds, "auc": float(edge_auc(interactions, truth)), "note": note}
        )

    def likelihood() -> tuple[Any, str]:
        mrf = SparseMRF(alpha, random_state=1).fit(table)
        note = f"{mrf.n_iter_} iterations, {mrf.status_.code}; bias of gradients {mrf.certificate_:g}"
        return mrf.interactions_, note

    def pseudo() -> tuple[Any, str]:
        mrf = PseudoLikelihood(alpha).fit(table)
        return mrf.interactions_, f"{mrf.n_iter_} iterations, {mrf.status_.code}"

    likelihood()  # compile
    measure("SparseMRF", likelihood)
    measure("PseudoLikelihood", pseudo)

    measure("nodewise logistic regression (scikit-learn)", lambda: (by_sklearn(table, alpha), ""))
    if with_peers:
        by_skglm(make_field(5, seed=1).sample(100, n_sweeps=10, seed=1), alpha)  # compile
        measure("nodewise logistic regression (skglm)", lambda: (by_skglm(table, alpha), ""))
    return rows


def write_tables(
    against: list[dict[str, Any]], schedules: list[dict[str, Any]], large: list[dict[str, Any]], path: Path
) -> None:
    lines = [
        "# The learner",
        "",
        "Made by `make bench-learner PEERS=1`; machine, versions and commit are in learner.json.",
        "",
        "## TAY beside the same algorithm in numpy",
        "",
        "The paper's 20-variable setting (2000 rows, 5000 chains, alpha 0.017, step size 0.4, 300 iterations unless "
        f"the fit ends at its noise floor before), sharp certificate, at most {MAX_SWEEPS} sweeps an iteration; best "
        "of two runs.",
        "",
        "| | seconds | iterations | sweeps | AUC | ms an iteration | times faster |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {r['name']} | {r['seconds']:.2f} | {r['iterations']} | {r['sweeps']:.0f} | {r['auc']:.3f} | "
        f"{r['ms_an_iteration']:.1f} | {r['times_faster']:.1f} |"
        for r in against
    ]
    lines += [
        "",
        "## Schedules, same setting, at most 300 iterations, two threads",
        "",
        "| schedule | seconds | iterations | sweeps | gradients certified | objective above optimum | AUC | ending |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {r['name']} | {r['seconds']:.2f} | {r['iterations']} | {r['sweeps']:.0f} | {r['certified']:.2f} | "
        f"{r['gap']:.4f} | {r['auc']:.3f} | {r['ending']} |"
        for r in schedules
    ]
    lines += [
        "",
        "## Larger fields, 4 neighbours, 2000 rows, alpha 0.03",
        "",
        "| variables | method | seconds | AUC | |",
        "|---|---|---|---|---|",
    ]
    lines += [f"| {r['p']} | {r['name']} | {r['seconds']:.1f} | {r['auc']:.3f} | {r['note']} |" for r in large]
    path.write_text("\n".join(lines) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results", help="a folder")
    parser.add_argument("--peers", action="store_true", help="measure skglm too")
    options = parser.parse_args()
    console = Console(width=150)
    console.print(name_machine())
    warnings.simplefilter("ignore", ConvergenceWarning)
    truth = make_field(20, seed=1)
    table = truth.sample(2000, method="perfect", seed=1)
    against = bench_numpy(table, truth)
    schedules = bench_schedules(table, truth)
    large = [row for p in (100, 500) for row in bench_large(p, with_peers=options.peers)]
    options.output.mkdir(parents=True, exist_ok=True)
    figures = {"against_numpy": against, "schedules": schedules, "large": large}
    store(figures, options.output / "learner.json")
    write_tables(against, schedules, large, options.output / "learner.md")
    console.print((options.output / "learner.md").read_text())


if __name__ == "__main__":
    main()
