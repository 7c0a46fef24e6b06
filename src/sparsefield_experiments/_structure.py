"""Structure learning: AUC against time and iterations, and sweeps against iterations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import cycle
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from numpy.typing import NDArray

from sparsefield.gradients import PerfectDraws, Tay
from sparsefield.plotting import Curve, plot_curves
from sparsefield_experiments._record import Record
from sparsefield_experiments._trials import (
    BURN_IN,
    EDGE_PROBABILITY,
    QUICK,
    SETTINGS,
    STEP_SIZE,
    TOLERANCE,
    Run,
    Setting,
    Trial,
    find_optimum,
    make_trial,
    run_newton,
    run_path,
    standard_error,
)

_NEAR = 0.01  # of the AUC that SPG with many sweeps ends with: to be there
_COLORS = ("#b3202c", "#1f5fa8", "#e08214", "#4d9221", "#7b3294")
_TIMES = 200  # points of a curve against time
Runs = dict[str, list[Run]]


def run_structure(record: Record, n_variables: int) -> None:
    """Run all methods on the paper's networks of one size, draw the figures, and write the numbers."""
    setting = (QUICK if record.quick else SETTINGS)[n_variables]
    trials = [make_trial(setting, seed) for seed in range(1, setting.n_trials + 1)]
    main, *others = setting.alphas
    _warm_up(trials[0], setting)
    groups: dict[tuple[str, float], Runs] = {("restart", main): {}, ("persistent", main): {}, ("beyond", main): {}}
    groups |= {("restart", alpha): {} for alpha in others}
    optima: dict[float, list[dict[str, float]]] = {}
    for k, trial in enumerate(trials):
        for j, alpha in enumerate(setting.alphas):
            record.tell((k + j / len(setting.alphas)) / len(trials))
            for group in ("restart", "persistent", "beyond") if alpha == main else ("restart",):
                for method, path in _run_group(group, trial, alpha, setting).items():
                    groups[group, alpha].setdefault(method, []).append(path)
            optima.setdefault(alpha, []).append(_find_optimum(trial, alpha))
    name = f"structure-{n_variables}"
    _draw_all(record, name, groups, optima, setting)
    record.tabulate(_tabulate(groups), name)
    numbers = {
        "settings": {
            **asdict(setting),
            "step_size": STEP_SIZE,
            "burn_in": BURN_IN,
            "edge_probability": EDGE_PROBABILITY,
            "tolerance": TOLERANCE,
        },
        "methods": [row for key, runs in groups.items() for row in _summarise(key, runs, trials, optima, setting)],
        "optimum": [{"alpha": alpha, **_average(found)} for alpha, found in optima.items()],
    }
    record.state(numbers, name)


def _run_group(group: str, trial: Trial, alpha: float, setting: Setting) -> dict[str, Run]:
    """Run the methods of a group: the paper's, the same with chains that go on, or ours."""
    if group == "restart":
        return {name: run_path(trial, alpha, way, setting) for name, way in setting.methods.items()}
    if group == "persistent":
        ways = setting.methods | {"TAY": Tay("persistent")}
        return {name: run_path(trial, alpha, way, setting, persist=True) for name, way in ways.items()}
    return {
        "TAY, sharp": run_path(trial, alpha, Tay("sharp"), setting),
        "TAY, bounding chains": run_path(trial, alpha, Tay("coalescence"), setting),
        "SPG, exact draws": run_path(trial, alpha, PerfectDraws(), setting),
        "Newton": run_newton(trial, alpha),
    }


def _warm_up(trial: Trial, setting: Setting) -> None:
    """Compile what is timed."""
    short = replace(setting, n_iter=3)
    for group in ("restart", "persistent", "beyond"):
        _run_group(group, trial, setting.alphas[0], short)


def _find_optimum(trial: Trial, alpha: float) -> dict[str, float]:
    problem = trial.problem(alpha)
    theta, violation = find_optimum(problem)
    return {"auc": trial.auc(theta), "violation": violation, "objective": problem.objective(theta)}


def _average(found: list[dict[str, float]]) -> dict[str, Any]:
    aucs = [one["auc"] for one in found]
    return {"auc": float(np.mean(aucs)), "aucs": aucs, "violation": max(one["violation"] for one in found)}


def _summarise(
    key: tuple[str, float],
    runs: Runs,
    trials: Sequence[Trial],
    optima: dict[float, list[dict[str, float]]],
    setting: Setting,
) -> list[dict[str, Any]]:
    """Return a row of numbers for each method of a group."""
    group, alpha = key
    rows = []
    for method, paths in runs.items():
        ends = np.array([path.end for path in paths])
        late = np.concatenate([path.n_sweeps[len(path.n_sweeps) // 2 :] for path in paths])
        certified = [path.is_certified.mean() for path in paths if path.is_certified is not None]
        gaps = [
            trial.problem(alpha).objective(path.theta) - best["objective"]
            for trial, path, best in zip(trials, paths, optima[alpha], strict=True)
        ]
        rows.append(
            {
                "chains": group,
                "alpha": alpha,
                "method": method,
                "auc": float(ends.mean()),
                "auc_error": float(standard_error(ends)),
                "aucs": ends.tolist(),
                "seconds": float(np.mean([path.seconds[-1] for path in paths])),
                "sweeps": float(np.mean([path.n_sweeps.sum() for path in paths])),
                "sweeps_late": float(np.median(late)),
                "certified": float(np.mean(certified)) if certified else None,
                "gap": float(np.mean(gaps)),
            }
        )
    if group == "restart":
        _add_times_to_goal(rows, runs, f"SPG, {setting.n_many} sweeps")
    return rows


def _add_times_to_goal(rows: list[dict[str, Any]], runs: Runs, other_name: str) -> None:
    """Add when each method first comes near the AUC that another one ends with, in the trials where it does."""
    for row, paths in zip(rows, runs.values(), strict=True):
        firsts = [path.first_above(other.end - _NEAR) for path, other in zip(paths, runs[other_name], strict=True)]
        row["seconds_to_goal"] = [
            None if k is None else float(p.seconds[k]) for k, p in zip(firsts, paths, strict=True)
        ]
        row["sweeps_to_goal"] = [
            None if k is None else float(p.n_sweeps[: k + 1].sum()) for k, p in zip(firsts, paths, strict=True)
        ]


def _stack(paths: list[Run], name: str) -> NDArray[np.float64]:
    """Return one row a trial; runs that ended earlier stay where they were."""
    longest = max(len(path.auc) for path in paths)
    return np.array(
        [np.pad(v := np.asarray(getattr(path, name)), (0, longest - len(v)), mode="edge") for path in paths]
    )


def _against_time(paths: list[Run], first: float, last: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return times, and the mean AUC that trials have by then; before the first iteration it is 1/2."""
    times = np.geomspace(first, last, _TIMES)
    rows = []
    for path in paths:
        index = np.searchsorted(path.seconds, times, side="right")
        rows.append(np.concatenate([[0.5], path.auc])[index])
    shown = times <= np.mean([path.seconds[-1] for path in paths])
    return times[shown], np.mean(rows, axis=0)[shown]


def _tabulate(groups: dict[tuple[str, float], Runs]) -> pl.DataFrame:
    frames = []
    for (group, alpha), runs in groups.items():
        for method, paths in runs.items():
            aucs = _stack(paths, "auc")
            frame = pl.DataFrame(
                {
                    "iteration": np.arange(1, aucs.shape[1] + 1),
                    "auc": aucs.mean(axis=0),
                    "auc_error": standard_error(aucs),
                    "sweeps": _stack(paths, "n_sweeps").mean(axis=0),
                    "seconds": _stack(paths, "seconds").mean(axis=0),
                }
            )
            frames.append(
                frame.select(
                    pl.lit(group).alias("chains"),
                    pl.lit(alpha).alias("alpha"),
                    pl.lit(method).alias("method"),
                    pl.all(),
                )
            )
    return pl.concat(frames)


def _draw_all(
    record: Record,
    name: str,
    groups: dict[tuple[str, float], Runs],
    optima: dict[float, list[dict[str, float]]],
    setting: Setting,
) -> None:
    main, *others = setting.alphas
    beyond = {"TAY": groups["restart", main]["TAY"], **groups["beyond", main]}
    pictures: dict[str, list[tuple[float, Runs]]] = {
        name: [(main, groups["restart", main])],
        f"{name}-persistent": [(main, groups["persistent", main])],
        f"{name}-beyond": [(main, beyond)],
    }
    if others:
        pictures[f"{name}-alphas"] = [(alpha, groups["restart", alpha]) for alpha in others]
    for title, rows in pictures.items():
        figure = Figure(figsize=(12, 3.6 * len(rows)), layout="constrained")
        axes = figure.subplots(len(rows), 3, squeeze=False)
        for line, (alpha, runs) in zip(axes, rows, strict=True):
            best = float(np.mean([found["auc"] for found in optima[alpha]]))
            _draw_row(line, runs, best, f"{setting.n_variables} nodes, alpha = {alpha:g}")
        figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=6, frameon=False)
        record.draw(figure, title)


def _draw_row(axes: Any, runs: Runs, best: float, title: str) -> None:
    first = min(float(path.seconds[0]) for paths in runs.values() for path in paths)
    last = max(float(path.seconds[-1]) for paths in runs.values() for path in paths)
    by_time, by_iteration, sweeps = [], [], []
    for (method, paths), color in zip(runs.items(), cycle(_COLORS), strict=False):
        by_time.append(Curve(method, *_against_time(paths, first, last), color=color))
        aucs = _stack(paths, "auc").mean(axis=0)
        iterations = np.arange(1, len(aucs) + 1)
        by_iteration.append(Curve(method, iterations, aucs, color=color))
        sweeps.append(Curve(method, iterations, _stack(paths, "n_sweeps").mean(axis=0), color=color))
    for ax in axes[:2]:
        ax.axhline(best, color="#555555", linestyle="--", linewidth=1, label="exact optimum")
    plot_curves(axes[0], by_time, title=title, x="seconds", y="AUC")
    plot_curves(axes[1], by_iteration, x="iterations", y="AUC")
    plot_curves(axes[2], sweeps, x="iterations", y="sweeps (tau)")
    axes[0].set_xscale("log")
    axes[2].set_yscale("log")
    axes[2].yaxis.set_major_formatter("{x:g}")
