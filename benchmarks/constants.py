"""The constants of the solvers, each varied alone on small problems whose optima are known.

    make bench-constants

Optima and objectives are exact, by enumeration. A gap is how far the objective of a fit is above its optimum, over what
was asked for. Numbers of draws do not depend on the machine; times are those of the processor, on one thread.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from threadpoolctl import threadpool_limits

import sparsefield as sf
from measure import best_times, name_machine, store
from sparsefield import Domain, PairwiseMRF, Table
from sparsefield.datasets import load_senate, make_field
from sparsefield.fitting import FITTING, Learner, Options
from sparsefield.gradients import BestDraws, ExactMoments, PerfectDraws, Schedule
from sparsefield.inference import Chains, Cpu, EnumeratedStates, EnumerationPolicy, OutOfReachError, Scan, count_states
from sparsefield.marks import fit_newton
from sparsefield.model import as_theta, count_once, count_statistics, norm
from sparsefield.objective import CompletedPolicy, Problem, expected_moments
from sparsefield.pseudolikelihood import PSEUDO, solve_pseudo_likelihood
from sparsefield.solvers import NEWTON, NewtonPolicy, ProximalPolicy, _step_size, solve
from sparsefield.tables import read_rows
from tables_of_constants import STEP_DRAWS, write_tables
from trials import (
    ALPHA,
    COMPLETING,
    CONFIDENCE,
    POWER,
    PSEUDO_FIELDS,
    SEEDS,
    STEPS,
    TABLES,
    WINDOW,
    Trial,
    make_table,
    make_trials,
    simulate,
)

Row = dict[str, Any]


def measure_fit(trial: Trial, seed: int, policy: NewtonPolicy) -> Row | None:
    """Fit once; None where that fails."""
    clock = time.process_time()
    try:
        fit = trial.solve(seed, policy)
    except np.linalg.LinAlgError:
        return None
    return {
        "seconds": time.process_time() - clock,
        "steps": len(fit.steps),
        "draws": sum(step.n_chains for step in fit.steps),
        "converged": fit.status.code == "converged",
        "gap": (trial.problem.objective(as_theta(fit.model)) - trial.lowest) / trial.asked,
    }


def summarise(rows: Sequence[Row | None], **facts: Any) -> Row:
    """Return means of what some fits took, and how far they got; fits that failed count as not converged."""
    ended = [row for row in rows if row is not None]
    found = {name: float(np.mean([row[name] for row in ended])) for name in ("steps", "draws", "seconds")}
    gaps = [row["gap"] for row in ended]
    return {
        **facts,
        **found,
        "fits": len(rows),
        "failed": len(rows) - len(ended),
        "converged": sum(row["converged"] for row in ended) / len(rows),
        "gap_mean": float(np.mean(gaps)),
        "gap_error": float(np.std(gaps) / np.sqrt(len(gaps))),
        "gap_median": float(np.median(gaps)),
        "gap_largest": float(max(gaps)),
    }


def bench_newton(trials: Sequence[Trial]) -> list[Row]:
    """Vary each constant of the Newton solver alone."""

    def run_all(name: str, value: float, policy: NewtonPolicy = NEWTON) -> list[Row]:
        found: dict[str, list[Row | None]] = {}
        for trial in trials:
            found.setdefault(trial.kind, []).extend(measure_fit(trial, seed, policy) for seed in SEEDS)
        return [summarise(rows, name=name, value=value, kind=kind) for kind, rows in found.items()]

    run_all("", 0.0)  # compile
    rows = run_all("", 0.0)
    for choice in STEPS:
        for value in choice.others:
            with choice.set_to(value) as policy:
                rows += run_all(choice.name, value, policy)
    return rows


def bench_undecided(trials: Sequence[Trial]) -> list[Row]:
    """Count the parameters that are marked, and those not marked that are zero in the fit or in the optimum alone."""
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
        rows.append({"value": value, "all": n, "marked": n_marked, "wrong": n_wrong})
    return rows


class WithoutExactDraws(Cpu):
    """The processors of this machine, were exact draws of missing values always out of reach."""

    def clamped_draw(self, *_: Any, **__: Any) -> Any:
        raise OutOfReachError("These draws are to be made by chains.")


def measure_completing(
    table: Table, solver: sf.Newton | sf.Proximal, seed: int, policy: CompletedPolicy
) -> tuple[int, float, float]:
    """Fit a table whose missing values are filled by chains.

    Returns steps, seconds, and the norm of the exact smallest subgradient.
    """
    clock = time.process_time()
    options = Options(solver=solver, seed=seed, device=WithoutExactDraws(1))
    never = replace(policy, enumeration=EnumerationPolicy(always_cheap=0, states_per_cell=0))
    fit = Learner(read_rows(table), options, policy=replace(FITTING, completed=never)).learn(ALPHA)
    seconds = time.process_time() - clock
    moments = expected_moments(fit.model, table, np.ones(table.n_rows))
    problem = Problem.with_l1(moments, table.domain, ALPHA)
    left = problem.subgradient(as_theta(fit.model), problem.gradient(fit.model.moments()))
    return len(fit.steps), seconds, norm(left)


def bench_completing() -> list[Row]:
    """Fit tables with a tenth of the values missing."""
    tables = []
    for number in TABLES:
        codes = make_table(10, number).codes.astype(float)
        codes[np.random.default_rng(number).random(codes.shape) < 0.1] = np.nan
        tables.append(sf.encode(codes))
    rows = []
    solvers: dict[str, sf.Newton | sf.Proximal] = {
        "newton": sf.Newton(schedule="perfect"),
        "spg": sf.Proximal(schedule="perfect"),
    }
    for name, solver in solvers.items():
        seeds = SEEDS if name == "newton" else SEEDS[:2]
        for value in COMPLETING.values:
            with COMPLETING.set_to(value) as policy:
                asked = [(table, solver, seed, policy) for table in tables for seed in seeds]
                found = np.array([measure_completing(*one) for one in asked])
            steps, seconds, _ = found.mean(axis=0)
            ends = {"median": float(np.median(found[:, 2])), "largest": float(found[:, 2].max())}
            rows.append({"solver": name, "value": value, "steps": steps, "seconds": seconds, **ends})
    return rows


def bench_window(trials: Sequence[Trial]) -> list[Row]:
    """Let gradient steps on 2000 exact draws find their noise floor; gaps are over nonzeros / (2 draws)."""

    def measure(trial: Trial, seed: int, policy: ProximalPolicy) -> Row:
        clock = time.process_time()
        fit = solve(trial.problem, PerfectDraws(), simulate(2000, seed), max_iter=3000, tol=0.0, policy=policy)
        return {
            "seconds": time.process_time() - clock,
            "steps": len(fit.steps),
            "draws": sum(step.n_chains for step in fit.steps),
            "converged": fit.status.code == "simulation_error",
            "gap": (trial.problem.objective(as_theta(fit.model)) - trial.lowest) * 4000 / count_once(trial.optimum),
        }

    rows = []
    for value in WINDOW.values:
        with WINDOW.set_to(value) as policy:
            small = [trial for trial in trials if trial.kind == "exact"]
            rows.append(summarise([measure(trial, seed, policy) for trial in small for seed in SEEDS[:2]], value=value))
    return rows


def bench_power(trials: Sequence[Trial]) -> list[Row]:
    """Find the largest curvature at optima of 10 variables by power steps on chains, over the exact one."""
    rows = []
    for choice in POWER:
        for value in choice.values:
            ratios = []
            with choice.set_to(value) as policy:
                for trial in (trial for trial in trials if trial.kind == "exact"):
                    model = trial.problem.model(trial.optimum)
                    products, _, _ = EnumeratedStates(model).second_moments(*np.triu_indices(10))
                    means = np.diagonal(products)
                    largest = np.linalg.eigvalsh(products - np.outer(means, means))[-1]
                    for seed in range(10):
                        chains = Chains(model.domain, policy.n_chains, seed=seed)
                        chains.sweep(Scan(model), policy.rough_sweeps)
                        step_size = _step_size.rough_curvature(trial.problem, chains, policy=policy)[1]
                        ratios.append(1 / step_size / largest)
            own = {"mean": float(np.mean(ratios)), "spread": float(np.std(ratios))}
            rows.append({"name": choice.name, "value": value, **own})
    return rows


def bench_pseudo() -> list[Row]:
    """Vary how far the quadratic models of the pseudo-likelihood are solved."""
    tables = {20: make_table(20, 1)}
    tables[100] = make_field(100, degree=4, strength=(0.5, 1.0), seed=1).sample(2000, method="perfect", seed=1)
    rows = []
    for p, table in tables.items():
        solve_pseudo_likelihood(table, ALPHA, penalize_main=True)  # compile
        for name, others in PSEUDO_FIELDS.items():
            for value in sorted([getattr(PSEUDO, name), *others]):
                clock = time.process_time()
                policy = replace(PSEUDO, **{name: value})
                fit = solve_pseudo_likelihood(table, ALPHA, penalize_main=True, policy=policy)
                own = {"steps": len(fit.steps), "seconds": time.process_time() - clock}
                rows.append({"p": p, "name": name, "value": value, **own})
    return rows


def bench_noise() -> list[Row]:
    """Find the norm of the noise of draws over sqrt(statistics / draws): at most 1/2, as variances are at most 1/4."""
    votes = load_senate().votes
    tables = {f"{p} variables": make_table(p, 1) for p in (10, 20)}
    tables["Senate"] = Table(votes.domain, np.where(votes.mask, 0, votes.codes).astype(np.uint8))
    rows = []
    for name, table in tables.items():
        means = sf.data.moments_of_table(table).pair
        size = norm(np.sqrt(means * (1 - means)))
        rows.append({"name": name, "norm": float(size / np.sqrt(count_statistics(table.domain)))})
    return rows


def bench_objective() -> list[Row]:
    """Time exact objectives."""
    rows = []
    for p in (10, 12, 14):
        table = make_table(p, 1)
        problem, theta = (
            Problem.with_l1(sf.data.moments_of_table(table), table.domain, ALPHA),
            as_theta(make_field(p, seed=1)),
        )
        rows.append({"p": p, "seconds": best_times({"one": partial(problem.objective, theta)})["one"]})
    return rows


def bench_steps() -> list[Row]:
    """Time one Newton step with all states, and with draws, on one thread."""
    fields = {f"{p} of 2 levels": make_field(p, seed=1) for p in (8, 12, 16, 17, 18, 19, 20)}
    fields |= {f"{p} of {k} levels": make_levels(p, k) for k, p in ((3, 8), (3, 10), (3, 12), (4, 10))}
    rows = []
    for name, model in fields.items():
        table = model.sample(2000, n_sweeps=200, seed=1)
        problem = Problem.with_l1(sf.data.moments_of_table(table), table.domain, ALPHA)
        start = as_theta(solve_pseudo_likelihood(table, ALPHA, penalize_main=True).model)
        ways: dict[str, tuple[Schedule, int]] = {"states": (ExactMoments(), 1)}
        ways |= {f"{n}": (BestDraws(max_states=0), n) for n in STEP_DRAWS}
        actions: dict[str, Callable[[], Any]] = {
            way: partial(fit_newton, problem, schedule, simulate(n, 1), start=start, max_iter=1, tol=0.0)
            for way, (schedule, n) in ways.items()
        }
        own = {"states": count_states(model.domain), "nonzero": count_once(start)}
        rows.append({"name": name, **own, "seconds": best_times(actions, 0.01)})
    return rows


def make_levels(p: int, n_levels: int) -> PairwiseMRF:
    """Make a field of more than two levels, with a third of the interactions."""
    rng = np.random.default_rng(1)
    domain = Domain(tuple(f"x{i}" for i in range(p)), (tuple(range(n_levels)),) * p, (0,) * p)
    is_pair = np.triu(domain.slot_variables[:, None] != domain.slot_variables, 1)
    values = rng.normal(0, 0.3, is_pair.shape) * (rng.random(is_pair.shape) < 1 / 3) * is_pair
    return PairwiseMRF(domain, rng.normal(0, 0.3, domain.n_slots), values + values.T)


def bench_memory() -> list[Row]:
    """Find the memory that second moments of 65,536 draws take while they are counted, on one thread."""
    draws = Chains(Domain.binary(100), 65_536, seed=1, n_threads=1).draws()
    first, second = np.triu_indices(100)
    rows = []
    for size in (1024, 2048, 4096):
        tracemalloc.start()
        counts, _, _ = draws.second_moments(first[:size], second[:size])
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        rows.append({"parameters": size, "counts_mib": counts.nbytes / 2**20, "peak_mib": peak / 2**20})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results", help="a folder")
    options = parser.parse_args()
    console = Console(width=150)
    console.print(name_machine())
    warnings.simplefilter("ignore", RuntimeWarning)  # divisions by zero, where RARE is zero
    with threadpool_limits(1):
        trials = make_trials()
        found: dict[str, Any] = {
            "newton": bench_newton(trials),
            "undecided": bench_undecided(trials),
            "completing": bench_completing(),
            "window": bench_window(trials),
            "power": bench_power(trials),
            "pseudo": bench_pseudo(),
            "noise": bench_noise(),
            "objective": bench_objective(),
            "steps": bench_steps(),
            "memory": bench_memory(),
        }
    options.output.mkdir(parents=True, exist_ok=True)
    store(found, options.output / "constants.json")
    write_tables(found, options.output / "constants.md")
    console.print((options.output / "constants.md").read_text())


if __name__ == "__main__":
    main()
