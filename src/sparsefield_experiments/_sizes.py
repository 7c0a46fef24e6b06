"""Sizes: the time of TAY and of SPG with a fixed number of sweeps, from 10 to 1000 nodes, which the paper lacks."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from sparsefield.data import moments_of_table
from sparsefield.datasets import make_field
from sparsefield.gradients import Fixed, Schedule, Simulation, Tay
from sparsefield.model import PairwiseMRF
from sparsefield.network import edge_auc
from sparsefield.objective import Problem
from sparsefield.plotting import Curve, plot_curves
from sparsefield_experiments._record import Record
from sparsefield_experiments._trials import Run, follow

NEAR = 0.01  # of the AUC that SPG with the most sweeps ends with: to be there
MOST = "SPG, 60 sweeps"
METHODS: dict[str, Schedule] = {
    "TAY": Tay("paper"),
    "TAY, sharp": Tay("sharp"),
    "TAY, bounding chains": Tay("coalescence"),
    "SPG, 30 sweeps": Fixed(30),
    MOST: Fixed(60),
}
_COLORS = dict(zip(METHODS, ("#b3202c", "#e08214", "#4d9221", "#7fb0dd", "#1f5fa8"), strict=True))


@dataclass(frozen=True)
class Sizes:
    """What is run at every size: sparse fields, since denser ones of this strength would freeze as they grow.

    Parameters
    ----------
    n_variables : tuple of int
        The sizes.
    degree : float
        Neighbours of a node, on average.
    strength : tuple of float
        The least and the largest interaction.
    n_rows, n_chains, n_iter : int
        Rows of data, chains, and iterations of each method.
    alpha : float
        The penalty.
    """

    n_variables: tuple[int, ...] = (10, 30, 100, 300, 1000)
    degree: float = 4.0
    strength: tuple[float, float] = (0.5, 1.0)
    n_rows: int = 2000
    n_chains: int = 2000
    n_iter: int = 40
    alpha: float = 0.03


QUICK_SIZES = Sizes(n_variables=(10, 20), n_iter=10)


def run_sizes(record: Record) -> None:
    """Run all methods on a network of each size, draw their times, and write the numbers."""
    setting = QUICK_SIZES if record.quick else Sizes()
    rows = []
    for k, p in enumerate(setting.n_variables):
        # A network of 1000 nodes takes as long as all others together, several times over.
        record.tell(k / len(setting.n_variables) / 4)
        rows += _run_size(p, setting)
    frame = pl.DataFrame(rows)
    record.tabulate(frame, "sizes")
    record.draw(_draw(frame), "sizes")
    record.state({"settings": asdict(setting) | {"near": NEAR}, "methods": rows}, "sizes")


def _run_size(p: int, setting: Sizes) -> list[dict[str, Any]]:
    """Return a row of numbers for each method on one network."""
    truth = make_field(p, degree=setting.degree, strength=setting.strength, seed=1)
    table = truth.sample(setting.n_rows, n_sweeps=300, seed=1)
    problem = Problem.with_l1(moments_of_table(table), table.domain, setting.alpha)
    for schedule in METHODS.values():  # compile what is timed
        _follow(problem, schedule, setting, truth, 3)
    runs = {name: _follow(problem, schedule, setting, truth, setting.n_iter) for name, schedule in METHODS.items()}
    goal = runs[MOST].end - NEAR
    return [_summarise(p, name, run, goal) for name, run in runs.items()]


def _follow(problem: Problem, schedule: Schedule, setting: Sizes, truth: PairwiseMRF, n_iter: int) -> Run:
    """Run a method with steps as long as the curvature allows, and keep no parameters but the last."""
    infos, aucs = [], []
    for _, info, theta in follow(problem, schedule, Simulation(setting.n_chains, 1), n_iter, "auto"):
        infos.append(info)
        aucs.append(float(edge_auc(theta, truth)))
    return Run(
        np.cumsum([info.seconds for info in infos]),
        np.array([info.n_sweeps for info in infos]),
        np.array([info.is_certified for info in infos]) if isinstance(schedule, Tay) else None,
        np.array(aucs),
        theta,
    )


def _summarise(p: int, method: str, run: Run, goal: float) -> dict[str, Any]:
    first = run.first_above(goal)
    return {
        "n_variables": p,
        "method": method,
        # The median, since a time may have other work of the machine in it.
        "seconds_an_iteration": float(np.median(np.diff(run.seconds, prepend=0.0))),
        "seconds_to_goal": None if first is None else float(run.seconds[first]),
        "sweeps_an_iteration": float(run.n_sweeps.mean()),
        "certified": None if run.is_certified is None else float(run.is_certified.mean()),
        "auc": run.end,
    }


def _draw(frame: pl.DataFrame) -> Figure:
    figure = Figure(figsize=(11, 4.2), layout="constrained")
    axes = figure.subplots(1, 2)
    shown = (("seconds_an_iteration", "seconds an iteration"), ("seconds_to_goal", f"seconds to the AUC of {MOST}"))
    for ax, (column, words) in zip(axes, shown, strict=True):
        curves = []
        for method, color in _COLORS.items():
            own = frame.filter((pl.col("method") == method) & pl.col(column).is_not_null()).sort("n_variables")
            style = "o-" if method.startswith("TAY") else "s--"
            curves.append(
                Curve(method, own["n_variables"].to_numpy(), own[column].to_numpy(), color=color, style=style)
            )
        plot_curves(ax, curves, x="nodes", y=words)
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.xaxis.set_major_formatter("{x:g}")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, frameon=False)
    return figure
