"""The constants of the solvers, each varied alone on small problems whose optima are known.

    make bench-constants

Optima and objectives are exact, by enumeration. A gap is how far the objective of a fit is above its optimum, over what
was asked for. Numbers of draws do not depend on the machine, seconds are those of the processor.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from rich.console import Console

import sparsefield as sf
from measure import best_times, name_machine, store
from sparsefield import Table
from sparsefield.datasets import load_senate, make_field
from sparsefield.gradients import BestDraws, ExactMoments, PerfectDraws, Schedule, Simulation
from sparsefield.inference import Chains, EnumeratedStates, Exact, Perfect, Scan
from sparsefield.model import Matrix, as_theta, count_once, count_statistics, norm
from sparsefield.objective import Problem, _quadratic, expected_moments
from sparsefield.solvers import (
    _curvature,
    _gradient,
    _move,
    _newton,
    _pseudolikelihood,
    _undecided,
    find_move,
    learn,
    solve,
    solve_newton,
    solve_pseudo_likelihood,
)

ALPHA, ASKED = 0.017, 0.001  # the paper's penalty, and the gap that is asked for
RARE_ALPHA, RARE_ASKED = 5e-4, 0.002  # where a pair is never seen
TABLES, SEEDS = (1, 2, 3), (1, 2, 3, 4)
LONGEST = 1.0  # seconds of a fit: steps that run away would go on for minutes
PEOPLE = {
    "warm": "from the pseudo-likelihood",
    "cold": "from zero, with 200 draws",
    "rare": "a pair is never seen",
    "exact": "exact curvature",
}
Row = dict[str, Any]


@dataclass(frozen=True)
class Choice:
    """A constant: its name, the modules that hold it, and other values than the one in use."""

    name: str
    holders: tuple[ModuleType, ...]
    others: tuple[float, ...]

    @property
    def in_use(self) -> float:
        return float(getattr(self.holders[0], self.name))

    @property
    def values(self) -> list[float]:
        return sorted([self.in_use, *self.others])

    @contextmanager
    def set_to(self, value: float) -> Iterator[None]:
        """Give the constant another value for a while."""
        kept = getattr(self.holders[0], self.name)
        try:
            for holder in self.holders:
                setattr(holder, self.name, type(kept)(value))
            yield
        finally:
            for holder in self.holders:
                setattr(holder, self.name, kept)


NEWTON = [
    Choice("_LEAST_SHARE", (_move,), (0.0, 0.03, 0.1, 0.6, 0.9)),
    Choice("_SHORTER", (_move,), (0.5, 0.9)),
    Choice("DRAWS_EACH", (_move, _newton), (1, 16)),
    Choice("_GROWTH", (_newton,), (2, 16)),
    Choice("_ENOUGH", (_newton,), (0.5, 1.0)),
    Choice("_NOISE", (_newton,), (1, 2, 16)),
    Choice("_INNER_NOISE", (_move,), (0.01, 0.5)),
    Choice("_INNER_TOL", (_move,), (1e-4, 1e-2, 1e-1)),
    Choice("_MOST_EPOCHS", (_move,), (10, 100, 10_000)),
    Choice("RARE", (_quadratic, _move, _undecided), (0, 1, 16)),
]
CONFIDENCE = Choice("UNDECIDED", (_undecided,), (0.9, 0.999))
COMPLETING = {
    "newton": Choice("_COMPLETING_SWEEPS", (_newton,), (1, 20)),
    "spg": Choice("_COMPLETING_SWEEPS", (_gradient,), (1, 20)),
}
WINDOW = Choice("_WINDOW", (_gradient,), (10, 160))
POWER = [
    Choice("_ROUGH_STEPS", (_curvature,), (1, 3, 30)),
    Choice("_ROUGH_SWEEPS", (_curvature,), (1, 3, 100)),
    Choice("_N_CHAINS", (_curvature,), (100, 10_000)),
]
PSEUDO = [
    Choice("_INNER_TOL", (_pseudolikelihood,), (0.005, 0.5)),
    Choice("_MOST_EPOCHS", (_pseudolikelihood,), (5, 20, 500)),
]


@dataclass(frozen=True, eq=False)
class Trial:
    """A problem with its optimum, and how it is to be solved."""

    kind: str
    problem: Problem
    optimum: Matrix
    lowest: float
    start: Matrix
    n_draws: int = 2000
    asked: float = ASKED
    schedule: Schedule = BestDraws()  # noqa: RUF009  # a value that does not change

    def solve(self, seed: int) -> sf.Fit:
        simulation = Simulation(self.n_draws, seed)
        return solve_newton(
            self.problem, self.schedule, simulation, start=self.start, gap=self.asked, max_seconds=LONGEST
        )


def find_optimum(problem: Problem, theta: Matrix) -> Matrix:
    """Make Newton steps with exact gradients until the norm of the smallest subgradient is 1e-6; curvature is drawn."""
    with Choice("_INNER_NOISE", (_move,), ()).set_to(0.0):
        for k in range(100):
            model = problem.model(theta)
            moments = Exact().moments(model)
            if norm(problem.subgradient(theta, problem.gradient(moments))) <= 1e-6:
                return theta
            draws = Perfect(100_000, seed=1000 + k).run(model).draws()
            theta = theta + find_move(problem, draws, theta, moments.pair).made
    raise RuntimeError("The optimum was not found in 100 steps.")


def make_table(p: int, seed: int) -> Table:
    """Draw 2000 rows of one of the paper's fields."""
    return make_field(p, seed=seed).sample(2000, method="perfect", seed=seed)


def make_exclusive_table(seed: int) -> Table:
    """Make 300 rows in which the first two of five columns are never both one."""
    rows = (np.random.default_rng(seed).random((300, 5)) < 0.4).astype(np.uint8)
    rows[(rows[:, 0] == 1) & (rows[:, 1] == 1), 1] = 0
    return sf.encode(rows)


def make_trials() -> list[Trial]:
    """Make fields of 10 and 20 variables, each warm and cold, and tables with a pair that is never seen."""
    trials = []
    for p in (10, 20):
        for seed in TABLES:
            table = make_table(p, seed)
            problem = Problem.with_l1(sf.moments_of_table(table), table.domain, ALPHA)
            start = as_theta(solve_pseudo_likelihood(table, ALPHA).model)
            optimum = find_optimum(problem, start)
            own = problem, optimum, problem.objective(optimum)
            zeros = np.zeros_like(start)
            trials += [Trial("warm", *own, start), Trial("cold", *own, zeros, n_draws=200)]
            trials += [Trial("exact", *own, zeros, schedule=ExactMoments())] * (p == 10)
    for seed in range(8):
        table = make_exclusive_table(seed)
        problem = Problem.with_l1(sf.moments_of_table(table), table.domain, RARE_ALPHA)
        start = as_theta(solve_pseudo_likelihood(table, RARE_ALPHA).model)
        optimum = as_theta(solve_newton(problem, ExactMoments(), start=start, tol=1e-8, max_iter=500).model)
        trials.append(Trial("rare", problem, optimum, problem.objective(optimum), start, asked=RARE_ASKED))
    return trials


def measure_fit(trial: Trial, seed: int) -> Row:
    """Fit once; what fails has no gap."""
    clock = time.process_time()
    try:
        fit = trial.solve(seed)
    except np.linalg.LinAlgError:
        return {"steps": np.nan, "draws": np.nan, "seconds": np.nan, "converged": False, "gap": np.inf}
    return {
        "seconds": time.process_time() - clock,
        "steps": len(fit.steps),
        "draws": sum(step.n_chains for step in fit.steps),
        "converged": fit.status.code == "converged",
        "gap": (trial.problem.objective(as_theta(fit.model)) - trial.lowest) / trial.asked,
    }


def summarise(rows: Sequence[Row], **facts: Any) -> Row:
    """Return means of what some fits took, and how far they got."""
    found = {name: float(np.nanmean([row[name] for row in rows])) for name in ("steps", "draws", "seconds")}
    gaps = [row["gap"] for row in rows]
    converged = float(np.mean([row["converged"] for row in rows]))
    ends = {"gap_mean": float(np.mean(gaps)), "gap_median": float(np.median(gaps)), "gap_largest": float(max(gaps))}
    return {**facts, **found, "converged": converged, **ends, "fits": len(rows)}


def bench_newton(trials: Sequence[Trial]) -> list[Row]:
    """Vary each constant of the Newton solver alone."""

    def run_all(name: str, value: float) -> list[Row]:
        found: dict[str, list[Row]] = {}
        for trial in trials:
            found.setdefault(trial.kind, []).extend(measure_fit(trial, seed) for seed in SEEDS)
        return [summarise(rows, name=name, value=value, kind=kind) for kind, rows in found.items()]

    run_all("", 0.0)  # compile
    rows = run_all("", 0.0)
    for choice in NEWTON:
        for value in choice.others:
            with choice.set_to(value):
                rows += run_all(choice.name, value)
    return rows


def bench_undecided(trials: Sequence[Trial]) -> list[Row]:
    """Count the parameters that are marked, and those that are not and have another support than the optimum."""
    rows = []
    for value in CONFIDENCE.values:
        n, n_marked, n_wrong = 0, 0, 0
        with CONFIDENCE.set_to(value):
            for trial in (trial for trial in trials if trial.kind == "warm"):
                for seed in SEEDS:
                    fit = trial.solve(seed)
                    assert fit.undecided is not None
                    is_other = (as_theta(fit.model) != 0) != (trial.optimum != 0)
                    n += count_statistics(trial.problem.domain)
                    n_marked += count_once(fit.undecided)
                    n_wrong += count_once(is_other & ~fit.undecided)
        rows.append({"value": value, "marked": n_marked / n, "wrong": n_wrong / (n - n_marked)})
    return rows


def bench_completing() -> list[Row]:
    """Fit tables with a tenth of the values missing, and find the smallest subgradient exactly."""
    rows = []
    for solver, choice in COMPLETING.items():
        options = {"newton": {}, "spg": {"schedule": "perfect"}}[solver]
        for value in choice.values:
            found = []
            for number in TABLES:
                codes = make_table(10, number).codes.astype(float)
                codes[np.random.default_rng(number).random(codes.shape) < 0.1] = np.nan
                table = sf.encode(codes)
                for seed in SEEDS[: 4 if solver == "newton" else 2]:
                    clock = time.process_time()
                    with choice.set_to(value):
                        fit = learn(table, ALPHA, solver=solver, seed=seed, **options)  # type: ignore[arg-type]
                    seconds = time.process_time() - clock
                    moments = expected_moments(fit.model, table, np.ones(table.n_rows))
                    problem = Problem.with_l1(moments, table.domain, ALPHA)
                    left = norm(problem.subgradient(as_theta(fit.model), problem.gradient(fit.model.moments())))
                    found.append((len(fit.steps), seconds, left))
            steps, seconds, lefts = zip(*found, strict=True)
            own = {"steps": np.mean(steps), "seconds": np.mean(seconds)}
            rows.append({"solver": solver, "value": value, **own, "median": np.median(lefts), "largest": max(lefts)})
    return rows


def bench_window(trials: Sequence[Trial]) -> list[Row]:
    """Let gradient steps on 2000 exact draws find their noise floor; gaps are over nonzeros / (2 draws)."""
    rows = []
    for value in WINDOW.values:
        found = []
        for trial in (trial for trial in trials if trial.kind == "exact"):
            for seed in SEEDS[:2]:
                clock = time.process_time()
                with WINDOW.set_to(value):
                    fit = solve(trial.problem, PerfectDraws(), Simulation(2000, seed), max_iter=3000, tol=0.0)
                seconds = time.process_time() - clock
                noise = count_once(trial.optimum) / (2 * 2000)
                gap = (trial.problem.objective(as_theta(fit.model)) - trial.lowest) / noise
                ended = fit.status.code == "noise floor"
                found.append({"steps": len(fit.steps), "draws": 0, "seconds": seconds, "converged": ended, "gap": gap})
        rows.append(summarise(found, value=value))
    return rows


def bench_power(trials: Sequence[Trial]) -> list[Row]:
    """Find the largest curvature at optima of 10 variables by power steps on chains, over the exact one."""
    rows = []
    for choice in POWER:
        for value in choice.values:
            ratios = []
            with choice.set_to(value):
                for trial in (trial for trial in trials if trial.kind == "exact"):
                    model = trial.problem.model(trial.optimum)
                    products, _ = EnumeratedStates(model).second_moments(*np.triu_indices(10))
                    means = np.diagonal(products)
                    largest = np.linalg.eigvalsh(products - np.outer(means, means))[-1]
                    for seed in range(10):
                        chains = Chains(model.domain, _curvature._N_CHAINS, seed=seed)
                        chains.sweep(Scan(model), _curvature._ROUGH_SWEEPS)
                        ratios.append(1 / _curvature.rough_curvature(chains)[1] / largest)
            own = {"mean": np.mean(ratios), "spread": np.std(ratios)}
            rows.append({"name": choice.name, "value": value, **own})
    return rows


def bench_pseudo() -> list[Row]:
    """Vary how far the quadratic models of the pseudo-likelihood are solved."""
    tables = {20: make_table(20, 1)}
    tables[100] = make_field(100, degree=4, strength=(0.5, 1.0), seed=1).sample(2000, method="perfect", seed=1)
    rows = []
    for p, table in tables.items():
        solve_pseudo_likelihood(table, ALPHA)  # compile
        for choice in PSEUDO:
            for value in choice.values:
                clock = time.process_time()
                with choice.set_to(value):
                    fit = solve_pseudo_likelihood(table, ALPHA)
                seconds = time.process_time() - clock
                rows.append({"p": p, "name": choice.name, "value": value, "steps": len(fit.steps), "seconds": seconds})
    return rows


def bench_noise() -> list[Row]:
    """Find the norm of the noise of draws over sqrt(statistics / draws): at most 1/2, since no variance is above 1/4."""
    votes = load_senate().votes
    tables = {f"{p} variables": make_table(p, 1) for p in (10, 20)}
    tables["Senate"] = Table(votes.domain, np.where(votes.mask, 0, votes.codes).astype(np.uint8))
    rows = []
    for name, table in tables.items():
        means = sf.moments_of_table(table).pair
        rows.append(
            {"name": name, "norm": norm(np.sqrt(means * (1 - means))) / np.sqrt(count_statistics(table.domain))}
        )
    return rows


def time_objective(n_variables: int) -> float:
    """Time an exact objective, in milliseconds."""
    table = make_table(n_variables, 1)
    problem = Problem.with_l1(sf.moments_of_table(table), table.domain, ALPHA)
    theta = as_theta(make_field(n_variables, seed=1))
    return 1e3 * best_times({"objective": lambda: problem.objective(theta)})["objective"]


def tabulate(titles: str, rows: Sequence[Row], cells: Callable[[Row], str]) -> list[str]:
    """Lay rows out as a table, with an empty line after it."""
    return [f"| {titles} |", "|---" * (titles.count("|") + 1) + "|", *(f"| {cells(row)} |" for row in rows), ""]


def describe_fits(row: Row) -> str:
    gaps = " | ".join(f"{row[name]:.3g}" for name in ("gap_mean", "gap_median", "gap_largest"))
    return f"{row['steps']:.2f} | {row['draws']:,.0f} | {1e3 * row['seconds']:.0f} | {100 * row['converged']:.0f}% | {gaps}"


def write_newton(rows: Sequence[Row]) -> list[str]:
    """Write what each value does; fits that do not depend on it are left out."""
    titles = "value | problems | steps | draws | ms | converged | mean gap | median gap | largest gap"
    base = [row for row in rows if not row["name"]]
    lines = ["## Newton steps", "", "### With the values in use", ""]
    lines += tabulate(titles, base, lambda row: f"in use | {PEOPLE[row['kind']]} | {describe_fits(row)}")
    for choice in NEWTON:
        own = [row for row in rows if row["name"] == choice.name]
        told = ("steps", "draws", "gap_mean", "gap_largest")
        same = {row["kind"]: [row[name] for name in told] for row in base}
        moved = {row["kind"] for row in own if [row[name] for name in told] != same[row["kind"]]}
        shown = [{**row, "value": choice.in_use} for row in base] + own
        shown = sorted((row for row in shown if row["kind"] in moved), key=lambda row: (row["kind"], row["value"]))
        lines += [f"### {choice.name} = {choice.in_use:g}", ""]
        lines += tabulate(titles, shown, lambda row: f"{row['value']:g} | {PEOPLE[row['kind']]} | {describe_fits(row)}")
    return lines


def write_tables(found: dict[str, Any], path: Path) -> None:
    lines = [
        "# The constants of the solvers",
        "",
        "Made by `make bench-constants`; machine, versions and commit are in constants.json. Each constant is varied "
        f"alone. Fields have 10 and 20 variables, 2000 rows and alpha {ALPHA}; {len(TABLES)} tables each, {len(SEEDS)} "
        f"seeds, gap {ASKED}. Tables in which a pair is never seen have five variables, 300 rows, alpha {RARE_ALPHA} "
        f"and gap {RARE_ASKED}. Gaps are exact, over the gap asked for. Draws are the sum over the steps of a fit, ms "
        f"are milliseconds of the processor, and a fit is stopped after {LONGEST:g} s. Problems on which a constant "
        "makes no difference are left out of its table.",
        "",
        *write_newton(found["newton"]),
        f"## UNDECIDED = {CONFIDENCE.in_use:g}",
        "",
        "Parameters that are marked, and those not marked whose support is not that of the optimum.",
        "",
        *tabulate(
            "confidence | marked | wrong, of those not marked",
            found["undecided"],
            lambda row: f"{row['value']:g} | {100 * row['marked']:.1f}% | {100 * row['wrong']:.2f}%",
        ),
        "## _COMPLETING_SWEEPS: a tenth of the values missing, 10 variables",
        "",
        "The norm of the exact smallest subgradient at the end, with expectations given the observed values.",
        "",
        *tabulate(
            "solver | value | steps | ms | median norm | largest norm",
            found["completing"],
            lambda row: (
                f"{row['solver']} | {row['value']:g} | {row['steps']:.1f} | {1e3 * row['seconds']:.0f} | "
                f"{row['median']:.4f} | {row['largest']:.4f}"
            ),
        ),
        f"## _WINDOW = {WINDOW.in_use:g}: gradient steps on 2000 exact draws, 10 variables",
        "",
        "Gaps are over nonzeros / (2 draws), which is what Newton steps on as many draws leave.",
        "",
        *tabulate(
            "value | steps | ms | ended at the noise floor | mean gap | median gap | largest gap",
            found["window"],
            lambda row: (
                f"{row['value']:g} | " + " | ".join(describe_fits(row).split(" | ")[i] for i in (0, 2, 3, 4, 5, 6))
            ),
        ),
        "## The largest curvature by power steps, over the exact one, 10 variables",
        "",
        *tabulate(
            "constant | value | mean | standard deviation",
            found["power"],
            lambda row: f"{row['name']} | {row['value']:g} | {row['mean']:.3f} | {row['spread']:.3f}",
        ),
        "## The quadratic models of the pseudo-likelihood",
        "",
        *tabulate(
            "variables | constant | value | steps | ms",
            found["pseudo"],
            lambda row: f"{row['p']} | {row['name']} | {row['value']:g} | {row['steps']} | {1e3 * row['seconds']:.0f}",
        ),
        "## The norm of the noise of draws, over sqrt(statistics / draws)",
        "",
        *tabulate("table | norm", found["noise"], lambda row: f"{row['name']} | {row['norm']:.2f}"),
        "## An exact objective of 12 variables",
        "",
        f"{found['objective_ms']:.2f} ms.",
    ]
    path.write_text("\n".join(lines) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results", help="a folder")
    options = parser.parse_args()
    console = Console(width=150)
    console.print(name_machine())
    warnings.simplefilter("ignore", RuntimeWarning)  # divisions by zero, where RARE is zero
    trials = make_trials()
    found: dict[str, Any] = {
        "newton": bench_newton(trials),
        "undecided": bench_undecided(trials),
        "completing": bench_completing(),
        "window": bench_window(trials),
        "power": bench_power(trials),
        "pseudo": bench_pseudo(),
        "noise": bench_noise(),
        "objective_ms": time_objective(12),
    }
    store(found, options.output / "constants.json")
    write_tables(found, options.output / "constants.md")
    console.print((options.output / "constants.md").read_text())


if __name__ == "__main__":
    main()
