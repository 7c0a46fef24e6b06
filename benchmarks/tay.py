"""TAY beside SPG with many sweeps: time of an iteration, and time to the AUC that SPG ends with.

    make bench-tay

The paper's networks of 10 and 20 nodes, with its settings; times are of the processor, one thread, methods in turns.
An iteration with nothing to do is one sweep of 2000 chains of 10 variables: what is left is overhead.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from measure import name_machine, store
from sparsefield.gradients import Fixed, Schedule, Simulation, Tay
from sparsefield.inference import Cpu
from sparsefield.network import edge_auc
from sparsefield_experiments._trials import SETTINGS, Setting, Trial, follow, make_trial

NEAR = 0.01  # of the AUC that SPG ends with: to be there
N_TRIALS, ROUNDS = 5, 3
METHODS: dict[str, tuple[Schedule, bool]] = {
    "SPG, 1 sweep": (Fixed(1), False),
    "SPG, 30 sweeps": (Fixed(30), False),
    "SPG, 60 sweeps": (Fixed(60), False),
    "TAY, paper": (Tay("paper"), False),
    "TAY, sharp": (Tay("sharp"), False),
    "TAY, persistent": (Tay("persistent"), True),
    "TAY, bounding chains": (Tay("coalescence"), False),
}


def run(trial: Trial, setting: Setting, schedule: Schedule, persist: bool, n_iter: int) -> dict[str, Any]:
    """Run a method, and keep the time of the processor and the AUC after each iteration."""
    simulation = Simulation(setting.n_chains, trial.seed, persist, Cpu(1))
    steps, seconds = [], []
    last = time.process_time()
    for _, info, theta in follow(trial.problem(setting.alphas[0]), schedule, simulation, n_iter):
        seconds.append(time.process_time() - last)
        steps.append((info, theta))
        last = time.process_time()
    return {
        "seconds": np.array(seconds),
        "auc": edge_auc(np.array([theta for _, theta in steps]), trial.truth),
        "sweeps": np.array([info.n_sweeps for info, _ in steps]),
        "certified": np.array([info.is_certified for info, _ in steps]),
    }


def measure(trial: Trial, setting: Setting) -> dict[str, dict[str, Any]]:
    """Run all methods in turns, and take the least time of each iteration; what they do is the same in every round."""
    for schedule, persist in METHODS.values():
        run(trial, setting, schedule, persist, 3)  # compile
    best: dict[str, dict[str, Any]] = {}
    for _ in range(ROUNDS):
        for name, (schedule, persist) in METHODS.items():
            found = run(trial, setting, schedule, persist, setting.n_iter)
            if name in best:
                found["seconds"] = np.minimum(found["seconds"], best[name]["seconds"])
            best[name] = found
    return best


def summarise(p: int, trials: list[dict[str, dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return a row of numbers for each method; times to a goal are medians over trials of ratios in one trial."""
    rows = []
    for name in METHODS:
        runs = [own[name] for own in trials]
        row: dict[str, Any] = {
            "nodes": p,
            "method": name,
            "ms_an_iteration": 1e3 * float(np.mean([own["seconds"].mean() for own in runs])),
            "sweeps_an_iteration": float(np.mean([own["sweeps"].mean() for own in runs])),
            "certified": float(np.mean([own["certified"].mean() for own in runs])),
            "auc": float(np.mean([own["auc"][-30:].mean() for own in runs])),
        }
        for n_sweeps in (30, 60):
            pairs = [(time_to(own, other), time_to(other, other)) for own, other in against(name, n_sweeps, trials)]
            ratios = [np.inf if first is None else first / second for first, second in pairs if second]
            row[f"time_to_auc_of_{n_sweeps}"] = float(np.median(ratios)) if ratios else None
            row[f"reached_{n_sweeps}"] = sum(first is not None for first, _ in pairs)
        rows.append(row)
    return rows


def against(name: str, n_sweeps: int, trials: list[dict[str, dict[str, Any]]]) -> list[tuple[Any, Any]]:
    """Return the runs of a method beside those of SPG with so many sweeps."""
    return [(own[name], own[f"SPG, {n_sweeps} sweeps"]) for own in trials]


def time_to(own: dict[str, Any], other: dict[str, Any]) -> float | None:
    """Return the seconds that a run takes to come near the AUC that another ends with."""
    reached = np.flatnonzero(own["auc"] >= other["auc"][-30:].mean() - NEAR)
    return float(own["seconds"][: reached[0] + 1].sum()) if len(reached) else None


def write_table(rows: list[dict[str, Any]], n_trials: int, path: Path) -> None:
    """Write what was measured, for people."""
    lines = [
        "# TAY beside SPG",
        "",
        "Made by `make bench-tay`; machine, versions and commit are in tay.json. The paper's settings, "
        f"{n_trials} trials of {SETTINGS[10].n_iter} iterations, one thread, time of the processor, best of {ROUNDS} "
        f"rounds for each iteration. Times to an AUC are those to within {NEAR} of what SPG ends with, as shares of "
        "its own time (medians over trials); in brackets how many trials get there.",
        "",
        "| nodes | method | ms an iteration | sweeps an iteration | certified | AUC at the end | time to AUC of SPG-30 "
        "| of SPG-60 |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {r['nodes']} | {r['method']} | {r['ms_an_iteration']:.3f} | {r['sweeps_an_iteration']:.1f} | "
        f"{r['certified']:.0%} | {r['auc']:.3f} | {r['time_to_auc_of_30']:.2f} ({r['reached_30']}) | "
        f"{r['time_to_auc_of_60']:.2f} ({r['reached_60']}) |"
        for r in rows
    ]
    path.write_text("\n".join(lines) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results", help="a folder")
    parser.add_argument("--trials", type=int, default=N_TRIALS, help="how many networks of each size")
    options = parser.parse_args()
    console = Console(width=150)
    console.print(name_machine())
    rows = []
    for p, setting in SETTINGS.items():
        trials = [measure(make_trial(setting, seed), setting) for seed in range(1, options.trials + 1)]
        rows += summarise(p, trials)
    options.output.mkdir(parents=True, exist_ok=True)
    store({"methods": rows}, options.output / "tay.json")
    write_table(rows, options.trials, options.output / "tay.md")
    console.print((options.output / "tay.md").read_text())


if __name__ == "__main__":
    main()
