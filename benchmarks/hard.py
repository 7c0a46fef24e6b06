"""Hard tables: whether fits run away, and whether what they say of themselves is true.

    make bench-hard

Every table is fitted with defaults, and half of the small ones with draws in place of all states. The objective at the
end of a fit is compared with that of its start: by enumeration where there are at most 2^20 states, else on fresh exact
draws along the way from one to the other. Where the optimum is known by enumeration, the gap that the status tells is
compared with the true one.
"""

from __future__ import annotations

import argparse
import re
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track

import sparsefield as sf
from measure import name_machine, store
from sparsefield import PairwiseMRF, Table
from sparsefield._typing import Matrix
from sparsefield.data import Rows
from sparsefield.gradients import BestDraws, ExactMoments
from sparsefield.inference import MOST_ENTRIES, Cpu, OutOfReachError, count_entries, enumerate_states
from sparsefield.learning import learn
from sparsefield.marks import fit_newton
from sparsefield.model import as_theta, sum_once
from sparsefield.objective import Problem, make_penalty
from sparsefield.optimality import problem_of
from sparsefield.pseudolikelihood import solve_pseudo_likelihood

LONGEST = 2.0  # seconds for a fit
LARGEST = 50.0  # no parameter of a fit that has an optimum is larger: odds of e^50
NODES, NODE_WEIGHTS = np.polynomial.legendre.leggauss(5)  # along the way from start to end
N_DRAWS = 20_000  # at each node
MOST_STATES = 2**12  # whose likelihood given the observed cells is summed
Row = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Case:
    """A table, and how it is to be fitted."""

    kind: str
    table: Table
    alpha: float
    options: dict[str, Any]


def make_rare(rng: np.random.Generator, p: int, n: int) -> NDArray[np.int64]:
    """Columns with rates of 1 to 10%, some of which follow others."""
    x = (rng.random((n, p)) < rng.uniform(0.01, 0.1, p)).astype(np.int64)
    for i in range(1, p, 3):
        follows = rng.random(n) < 0.6
        x[follows, i] = x[follows, i - 1]
    return x


def make_copied(rng: np.random.Generator, p: int, n: int) -> NDArray[np.int64]:
    """Columns of which every third is a copy of the one before."""
    x = (rng.random((n, p)) < rng.uniform(0.2, 0.8, p)).astype(np.int64)
    x[:, 1::3] = x[:, : 3 * len(x[0, 1::3]) : 3]
    return x


def make_nearly_certain(rng: np.random.Generator, p: int, n: int) -> NDArray[np.int64]:
    """Columns that differ from one of them, or from its negation, in one row of fifty."""
    first = rng.random(n) < 0.5
    return np.column_stack([(first ^ (rng.random(n) < 0.02)) ^ (i % 4 == 3) for i in range(p)]).astype(np.int64)


def make_groups(rng: np.random.Generator, p: int, n: int) -> NDArray[np.int64]:
    """Groups of five columns, each of which is a threshold of one hidden number and a little noise."""
    hidden = rng.normal(size=(n, -(-p // 5)))
    x = np.repeat(hidden, 5, axis=1)[:, :p] + 0.4 * rng.normal(size=(n, p))
    return (x > rng.normal(size=p)).astype(np.int64)


def make_ordinal(rng: np.random.Generator, p: int, n: int) -> NDArray[np.int64]:
    """Five levels of answers that one hidden number moves, as in a questionnaire."""
    hidden = rng.normal(size=(n, 1)) + 0.8 * rng.normal(size=(n, p))
    return np.clip(np.round(1.2 * hidden + 2), 0, 4).astype(np.int64)


def make_exclusive(rng: np.random.Generator, p: int, n: int) -> NDArray[np.int64]:
    """Columns of which at most two are one in a row, so that most pairs are rare."""
    x = np.zeros((n, p), dtype=np.int64)
    for row in x:
        row[rng.choice(p, rng.integers(0, 3), replace=False)] = 1
    return x


MAKERS = {
    "rare": make_rare,
    "copied": make_copied,
    "nearly certain": make_nearly_certain,
    "groups": make_groups,
    "ordinal": make_ordinal,
    "exclusive": make_exclusive,
}


def choose_alpha(table: Table, share: float) -> float:
    """Return the alpha that so large a share of pairs differs by from independence."""
    moments = sf.data.moments_of_table(table)
    far = np.abs(moments.pair - np.outer(moments.main, moments.main))
    pairs = far[np.triu(table.domain.slot_variables[:, None] != table.domain.slot_variables)]
    return max(1e-4, float(np.quantile(pairs, 1 - share)))


def make_cases(n_each: int) -> Iterator[Case]:
    """Make tables of all kinds and sizes, with alphas down to where about half of all pairs are edges."""
    seed = 0
    for kind, make in MAKERS.items():
        for k in range(n_each):
            seed += 1
            rng = np.random.default_rng(seed)
            p = int(
                [4, 8, 12, 25, 40, 100 if k % 12 == 11 else 60][k % 6]
                if kind != "ordinal"
                else [3, 5, 8, 10, 15, 20][k % 6]
            )
            n = int([100, 300, 1000, 3000][k % 4])
            x = make(rng, p, n)
            x = x[:, [len(np.unique(column)) > 1 for column in x.T]]
            table = sf.encode(x)
            alpha = choose_alpha(table, float([0.1, 0.25, 0.5][k % 3]))
            options: dict[str, Any] = {"penalize_main": k % 5 == 4}
            if k % 2 and count_entries(table.domain) <= MOST_ENTRIES:
                options["schedule"] = BestDraws(max_states=0)
            if k % 4 == 3:
                codes = np.where(rng.random(table.codes.shape) < 0.1, 255, table.codes).astype(np.uint8)
                table = Table(table.domain, np.asfortranarray(codes))
            yield Case(kind, table, alpha, options)


def measure_case(case: Case, seed: int) -> Row:
    """Fit a table, and check what it is said to have led to."""
    # The start that fits have unless one is given, and which time would otherwise cut short on a busy machine.
    is_penalised = case.options["penalize_main"]
    first = solve_pseudo_likelihood(case.table.fill_first(), case.alpha, penalize_main=is_penalised)
    clock = time.perf_counter()
    fit = learn(case.table, case.alpha, seed=seed, max_seconds=LONGEST, init=first.model, **case.options)
    seconds = time.perf_counter() - clock
    row: Row = {
        "kind": case.kind,
        "p": case.table.domain.n_variables,
        "n_rows": case.table.n_rows,
        "alpha": case.alpha,
        "has_missing": bool(case.table.n_missing.any()),
        "has_draws": bool(fit.steps and fit.steps[-1].n_chains),
        "status": fit.status.code,
        "sentence": fit.status.sentence,
        "n_steps": len(fit.steps),
        "n_taken_back": sum("taken back" in step.reason for step in fit.steps),
        "seconds": seconds,
        "largest": float(np.abs(as_theta(fit.model)).max()),
        "n_edges": fit.model.n_edges,
        "exact_draws": bool(fit.steps and fit.steps[-1].is_certified),
    }
    if not fit.steps:  # there was no time for a start
        return row | {"rise": None, "rise_error": 0.0}
    if row["has_missing"]:
        return row | {"rise": compare_observed(fit, case.table, first.model), "rise_error": 0.0}
    problem = problem_of(fit, Rows(case.table))
    start, end = problem.theta(first.model), problem.theta(fit.model)
    rise, error = compare(problem, start, end, seed)
    row |= {"rise": rise, "rise_error": error}
    if row["has_draws"] and count_entries(case.table.domain) <= MOST_ENTRIES:
        best = fit_newton(problem, ExactMoments(), start=end, tol=1e-8, max_iter=200)
        row["gap"] = objective(problem, end) - objective(problem, problem.theta(best.model))
        told = re.search(r"about ([0-9.e-]+) above", fit.status.sentence)
        row["told"] = float(told[1]) if told else None
    return row


def objective(problem: Problem, theta: Matrix) -> float:
    """Return the objective, by enumeration."""
    smooth = enumerate_states(problem.model(theta))[0] - sum_once(theta * problem.target)
    return smooth + problem.penalty.value(theta)


def compare(problem: Problem, start: Matrix, end: Matrix, seed: int) -> tuple[float | None, float]:
    """Return by how much the objective is higher at the end than at the start, and the standard error of that."""
    if count_entries(problem.domain) <= MOST_ENTRIES:
        return objective(problem, end) - objective(problem, start), 0.0
    step = end - start
    slope, variance = 0.0, 0.0
    for k, (node, weight) in enumerate(zip((NODES + 1) / 2, NODE_WEIGHTS / 2, strict=True)):
        try:
            chains, _ = Cpu().draw(problem.model(start + node * step), N_DRAWS, seed=1000 * seed + k, max_sweeps=2000)
        except OutOfReachError:
            return None, 0.0
        values = problem.coordinates.draws(chains.draws()).along(step)
        slope += weight * float(values.mean())
        variance += weight**2 * float(values.var()) / N_DRAWS
    smooth = slope - sum_once(step * problem.target)
    return smooth + problem.penalty.value(end) - problem.penalty.value(start), float(np.sqrt(variance))


def compare_observed(fit: sf.Fit, table: Table, start: PairwiseMRF) -> float | None:
    """Return by how much the objective of the observed cells is higher at the end, where states are few."""
    domain = table.domain
    if np.prod(domain.n_levels.astype(float)) > MOST_STATES:
        return None
    codes = np.indices(tuple(domain.n_levels), dtype=np.uint8).reshape(domain.n_variables, -1).T
    penalty = make_penalty(domain, fit.alpha, fit.penalty, fit.penalize_main, fit.support)
    assert penalty is not None

    def objective_of(model: PairwiseMRF) -> float:
        logs = model.log_prob(codes)
        rows = [np.logaddexp.reduce(logs[((codes == row) | (row == 255)).all(axis=1)]) for row in table.codes]
        return penalty.value(penalty.coordinates.of_slots(as_theta(model))) - float(np.mean(rows))

    return objective_of(fit.model) - objective_of(start)


def summarise(rows: list[Row]) -> Row:
    """Return what counts, over all fits of a kind."""
    known = [row for row in rows if row["rise"] is not None]
    told = [row for row in rows if row.get("told")]
    return {
        "fits": len(rows),
        "ran away": sum(row["largest"] > LARGEST for row in rows),
        "above their start": sum(row["rise"] > 4 * row["rise_error"] + 1e-9 for row in known),
        "not compared": len(rows) - len(known),
        "with a step taken back": sum(row["n_taken_back"] > 0 for row in rows),
        "steps, largest": max(row["n_steps"] for row in rows),
        "seconds, median": float(np.median([row["seconds"] for row in rows])),
        "seconds, largest": max(row["seconds"] for row in rows),
        "gap / told, median": float(np.median([row["gap"] / row["told"] for row in told])) if told else None,
        "gap / told, largest": max((row["gap"] / row["told"] for row in told), default=None),
        **{code: sum(row["status"] == code for row in rows) for code in sorted({row["status"] for row in rows})},
    }


def write(rows: list[Row]) -> str:
    """Return the table of results."""
    found = {"all": summarise(rows), **{kind: summarise([r for r in rows if r["kind"] == kind]) for kind in MAKERS}}
    names = list(dict.fromkeys(name for own in found.values() for name in own))
    lines = ["| |" + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for kind, own in found.items():
        cells = [own.get(name, 0) for name in names]
        texts = ["" if c is None else f"{c:.3g}" if isinstance(c, float) else str(c) for c in cells]
        lines.append(f"| {kind} | " + " | ".join(texts) + " |")
    return "\n".join(lines)


def main() -> None:
    """Fit all tables, print and store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--each", type=int, default=50, help="tables of each kind")
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    console, rows = Console(), []
    for k, case in enumerate(track(list(make_cases(options.each)), console=console)):
        row = measure_case(case, seed=k)
        rows.append(row)
        is_bad = row["largest"] > LARGEST or (row["rise"] is not None and row["rise"] > 4 * row["rise_error"] + 1e-9)
        if is_bad or row["status"] not in ("converged", "simulation_error"):
            console.print({name: value for name, value in row.items() if name != "kind"})
    text = (
        "# Hard tables: whether fits run away, and whether what they say is true\n\n"
        f"Made by `make bench-hard` on {name_machine()}; versions and commit are in hard.json. {LONGEST:g} seconds a "
        "fit at most.\n\n" + write(rows) + "\n"
    )
    console.print(text)
    store({"rows": rows}, options.output / "hard.json")
    (options.output / "hard.md").write_text(text)


if __name__ == "__main__":
    main()
