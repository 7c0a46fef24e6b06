"""What do networks of tables that nobody here made say of rows that they have not seen, beside other networks?

    make bench-held-out

Five folds of each table of the folder that SPARSEFIELD_OUTSIDE names. What is finished is kept in .cache, where a run
that was stopped goes on; it is not used once the commit is another.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

import sparsefield as sf
from measure import name_machine, store
from nodewise import fit_isingfit
from outside import TABLES
from sparsefield.fitting import Learner, Options
from sparsefield.inference import OutOfReachError
from sparsefield.objective import Ridge
from sparsefield.pseudolikelihood import pseudo_log_likelihoods
from sparsefield.selection import select
from sparsefield.tables import read_rows
from sparsefield_experiments import describe_machine

Row = dict[str, Any]
Weights = NDArray[np.float64] | None

N_FOLDS = 5
MOST_SECONDS = 60.0  # for weights without a prior, which converge slowly where they need draws
TOO_LONG = ("spi",)
MOST_TRIED = 50  # levels beside the first, of all variables: up to these folds choose a penalty, more take hours
N_DRAWS = (None, 2**13)  # behind a log-partition function, until its error can be trusted

DEFAULT = "default"
RELAXED, CV, NODES = "L1 by EBIC, refitted", "L1 by folds", "IsingFit AND"
USUAL = [name for name in TABLES if name not in TOO_LONG]
METHODS = (DEFAULT, RELAXED, CV, NODES)

TEXT = """\
# Log-likelihoods of rows that were held out

Made by `make bench-held-out` on {machine}; versions and commit are in held_out.json. Five folds of tables that
nobody here made; answers on a scale are ordered. Nats per row beyond independent variables, of held out rows without
missing cells: of all answers together (log-likelihood), and of each answer given all others (pseudo-likelihood).

- **default**: `sf.learn(table)`. **L1 by EBIC, refitted**: the edges of a penalised pseudo-likelihood whose penalty
  EBIC chooses, and their maximum likelihood, as near as a minute leads. **L1 by folds**: the pseudo-likelihood with the
  penalty that tells rows of five folds best, within a standard error. **IsingFit AND**: regressions of all variables,
  of two levels.
- **share**: the default's gain, over that of the best of the others.
- All but the default are made of rows without missing cells. Where the log-partition function is estimated, ± is its
  standard error; where draws for it are out of reach, the pseudo-likelihood alone tells. Penalties are chosen by folds
  for tables of up to {most} levels beside the first of each variable.

{table}

Proteins (pf00014) are left out: variables with more than nine unordered levels get a penalty by default too. So is spi,
whose 144 variables with 862 levels take more than half an hour.
"""


class Part(NamedTuple):
    """Some rows of a table, and how often each counts."""

    table: sf.Table
    weights: Weights


def split(table: sf.Table, weights: Weights) -> Iterator[tuple[Part, Part]]:
    """Yield the rows to learn from and those held out. Of rows that count often each gives a share to every fold."""
    rng = np.random.default_rng(1)
    if weights is None:
        fold = rng.permutation(table.n_rows) % N_FOLDS
        for k in range(N_FOLDS):
            yield Part(table[np.flatnonzero(fold != k)], None), Part(table[np.flatnonzero(fold == k)], None)
        return
    left = np.array([rng.multinomial(int(n), np.full(N_FOLDS, 1 / N_FOLDS)) for n in weights], dtype=np.float64)
    for k in range(N_FOLDS):
        yield Part(table, weights - left[:, k]), Part(table, left[:, k])


def by_default(rows: Part) -> sf.PairwiseMRF:
    """Learn as users do who say nothing."""
    return sf.learn(rows.table, sample_weight=rows.weights).model


def by_relaxing(rows: Part) -> sf.PairwiseMRF:
    """Maximise the likelihood of the edges that a penalty chooses; a prior of half a row keeps weights finite."""
    table, weights = whole(rows)
    found = by_pseudo_likelihood(Part(table, weights), "ebic")
    variables = table.domain.slot_variables
    is_edge = np.zeros((table.domain.n_variables,) * 2, dtype=bool)
    a, b = np.nonzero(found.interactions)
    is_edge[variables[a], variables[b]] = True
    n = table.n_rows if weights is None else weights.sum()
    penalty = Ridge(table.domain, 1 / (2 * n), is_edge[variables[:, None], variables])
    options = Options(max_seconds=MOST_SECONDS)
    return Learner(read_rows(table, weights), options).solve(penalty.alpha, penalty=penalty).model


def by_folds(rows: Part) -> sf.PairwiseMRF:
    """Penalise the pseudo-likelihood as predicts best."""
    return by_pseudo_likelihood(whole(rows), "cv")


def by_pseudo_likelihood(rows: Part, criterion: Any) -> sf.PairwiseMRF:
    """Penalise the pseudo-likelihood with a penalty that is chosen."""
    table, weights = rows
    chosen = select(table, criterion, objective="pseudolikelihood", sample_weight=weights)
    return sf.PseudoLikelihood(chosen.alpha, progress=False).fit(table, sample_weight=weights).model_


def by_isingfit(rows: Part) -> sf.PairwiseMRF:
    """Regress each variable on all others, as IsingFit does."""
    table, weights = whole(rows)
    codes = np.asarray(table.codes)
    found = fit_isingfit(codes if weights is None else np.repeat(codes, weights.astype(int), axis=0))
    network = found.network("and")
    return sf.PairwiseMRF(table.domain, found.intercepts, network)


def whole(rows: Part) -> Part:
    """Return the rows without missing cells."""
    is_whole = ~rows.table.mask.any(axis=1)
    if is_whole.all():
        return rows
    return Part(rows.table[np.flatnonzero(is_whole)], None if rows.weights is None else rows.weights[is_whole])


def alone(rows: Part) -> sf.PairwiseMRF:
    """Maximise the likelihood of a field without edges."""
    n_slots = rows.table.domain.n_slots
    penalty = Ridge(rows.table.domain, 0.0, np.zeros((n_slots, n_slots), dtype=bool))
    return Learner(read_rows(rows.table, rows.weights), Options()).solve(0.0, penalty=penalty).model


def list_methods(table: sf.Table) -> dict[str, Callable[[Part], sf.PairwiseMRF]]:
    """Return the methods that can learn a table."""
    found: dict[str, Callable[[Part], sf.PairwiseMRF]] = {DEFAULT: by_default, RELAXED: by_relaxing}
    if table.domain.n_slots <= MOST_TRIED:
        found[CV] = by_folds
    if table.domain.is_binary:
        found[NODES] = by_isingfit
    return found


class Verdict(NamedTuple):
    """What a model says of held out rows, in nats per row: of all answers together, and of each given the others."""

    likelihood: float
    error: float  # of the likelihood, by simulation
    pseudo: float


def judge(model: sf.PairwiseMRF, held: Part) -> Verdict:
    """Judge a model by rows without missing cells."""
    table, weights = whole(held)
    pseudo = float(np.average(pseudo_log_likelihoods(model, table), weights=weights))
    for n_draws in N_DRAWS:
        try:
            log_partition = model.log_partition(n_draws=n_draws)
        except OutOfReachError:
            continue
        likelihood = np.average(model.log_prob(table.codes, log_partition=log_partition), weights=weights)
        return Verdict(float(likelihood), float(log_partition.error), pseudo)
    return Verdict(np.nan, np.nan, pseudo)


def measure_table(name: str, folder: Path) -> Row:
    """Return what each method says of rows that were held out, the means over the folds."""
    table, counts = TABLES[name].load(folder)
    weights = None if counts is None else counts.astype(np.float64)
    found: dict[str, list[tuple[float, ...]]] = {}
    for rows, held in split(table, weights):
        base = judge(alone(rows), held)
        for method, learn in list_methods(table).items():
            began = time.perf_counter()
            model = learn(rows)
            seconds = time.perf_counter() - began
            own = judge(model, held)
            gains = own.likelihood - base.likelihood, own.error, own.pseudo - base.pseudo
            found.setdefault(method, []).append((*gains, model.n_edges, seconds))
    row: Row = {"rows": int(table.n_rows if weights is None else weights.sum()), "variables": table.domain.n_variables}
    for method, folds in found.items():
        gain, errors, pseudo, edges, seconds = np.array(folds).T
        row[method] = {
            "gain": float(gain.mean()),
            "error": float(np.sqrt((errors**2).sum()) / len(folds)),
            "pseudo": float(pseudo.mean()),
            "edges": float(edges.mean()),
            "seconds": float(seconds.mean()),
        }
    return row


@lru_cache(maxsize=1)
def _commit() -> str:
    return str(describe_machine()["commit"])


def measure(options: argparse.Namespace, console: Console) -> list[Row]:
    """Measure the tables that are not in the file yet; return all that is known."""
    path = options.kept
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    known = {row["table"]: row for row in kept if row["commit"] == _commit()}
    for name in options.only:
        if name not in known:
            began = time.perf_counter()
            row = {"commit": _commit(), "table": name, **measure_table(name, Path(os.environ["SPARSEFIELD_OUTSIDE"]))}
            known[name] = row
            with path.open("a") as file:
                file.write(json.dumps(row) + "\n")
            console.print(f"{time.perf_counter() - began:6.0f} s  {row}")
    return list(known.values())


def report(rows: list[Row]) -> str:
    """Return the page of results."""
    head = ["table", "rows", "variables"]
    for method in METHODS:
        head += [method, "of each", "edges", "s"]
    lines = ["| " + " | ".join([*head, "share", "share of each"]) + " |", "|---" * (len(head) + 2) + "|"]
    for row in rows:
        cells = [row["table"], f"{row['rows']:,}", str(row["variables"])]
        for method in METHODS:
            cells += _lay_out(row.get(method))
        cells += [_share(row, "gain"), _share(row, "pseudo")]
        lines.append("| " + " | ".join(cells) + " |")
    return TEXT.format(machine=name_machine(), most=MOST_TRIED, table="\n".join(lines))


def _share(row: Row, measure: str) -> str:
    """Return the default's gain over the best of the others; nothing where one of them is not known."""
    others = [row[method][measure] for method in METHODS[1:] if method in row]
    share = row[DEFAULT][measure] / max(others)
    return f"{share:.3f}" if np.isfinite([share, *others]).all() else ""


def _lay_out(found: Row | None) -> list[str]:
    if found is None:
        return [""] * 4
    error = f" ± {found['error']:.3f}" if found["error"] else ""
    gain = f"{found['gain']:.3f}{error}" if np.isfinite(found["gain"]) else "out of reach"
    return [gain, f"{found['pseudo']:.3f}", f"{found['edges']:.0f}", f"{found['seconds']:.2f}"]


def main() -> None:
    """Measure all tables, print and store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=list(TABLES), default=USUAL, help="which tables")
    parser.add_argument("--kept", type=Path, default=Path(".cache/held_out.jsonl"), help="the file of finished parts")
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results"))
    options = parser.parse_args()
    console = Console(soft_wrap=True)
    rows = measure(options, console)
    text = report(rows)
    console.print(text)
    store({"rows": rows}, options.output / "held_out.json")
    (options.output / "held_out.md").write_text(text)


if __name__ == "__main__":
    main()
