"""Which edges does the default find, how right are weights, and how long does it take, beside what people would use?

    make bench-choice

`PEERS=1` also measures abess. Each table is drawn from another field. What is finished is kept in .cache, where a run
that was stopped goes on; it is not used once the commit is another.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

import sparsefield as sf
from fields_of_choice import EMPTY, KINDS, Kind, draw
from measure import name_machine, store
from nodewise import Regressions, fit_cross_validated, fit_isingfit
from sparsefield._typing import Values
from sparsefield.fitting import Learner, Options
from sparsefield.objective import Support
from sparsefield.selection import select
from sparsefield.tables import read_rows
from sparsefield_experiments import describe_machine

Row = dict[str, Any]
Network = tuple[Values, Values]  # main effects and interactions

DEFAULT, PENALISED = "default", "L1, EBIC"
MOST_STATES = 2**20  # fields whose divergence is exact
CROSS_VALIDATED = 3  # tables of each kind up to 20 variables that folds take minutes for
N_EMPTY = 40

COLUMNS = ("F1", "MCC", "precision", "sensitivity", "error", "correlation", "KL", "seconds")
TEXT = """\
# Edges and weights of known fields, by the default and by what people would use in its place

Made by `make bench-choice{peers}` on {machine}; versions and commit are in choice.json. Up to {n} tables of each kind,
each drawn from another field; all methods have the same tables.

- **default**: `sf.learn(table)`. **L1, EBIC**: the likelihood with an L1 penalty that the EBIC of its refitted edges
  chooses (`SparseMRFCV()`), and its edges **refitted** without the penalty.
- **IsingFit**: one logistic regression with an L1 penalty for each variable, its penalty by EBIC (gamma 0.25), an edge
  where both regressions have it (AND) or one has (OR), and those of AND **refitted** by maximum likelihood.
- **abess**: best subsets of neighbours by GIC (`abess.graph.IsingModel`), which has no main effects.
- **node-wise CV**: penalties by five folds, as scikit-learn chooses them; {cross_validated} tables of each kind, up to
  20 variables.
- **error**: the mean absolute error of the weights of true edges; **correlation**: of all weights with the true ones;
  **KL**: the divergence of the network from the truth, exact, up to 20 variables; **seconds**: of this process.

## In short

{short}

## F1

{f1}

## Divergence from the truth

{kl}

## Independent variables: the share of {n_empty} tables with an edge

{empty}

## All figures

{figures}
"""


def by_default(table: sf.Table) -> Network:
    """Learn as users do who say nothing."""
    model = sf.learn(table).model
    return model.main, model.interactions


def by_penalty(table: sf.Table) -> Network:
    """Learn with an L1 penalty that the EBIC chooses."""
    model = sf.learn(table, select(table).alpha).model
    return model.main, model.interactions


def by_isingfit(table: sf.Table) -> Regressions:
    """Regress each variable on all others, as IsingFit does."""
    return fit_isingfit(np.asarray(table.codes))


def by_abess(table: sf.Table) -> Network:
    """Find the best subsets of neighbours of each variable."""
    from abess.graph import IsingModel

    spins = IsingModel().fit(2.0 * np.asarray(table.codes) - 1).theta_
    return -2 * spins.sum(axis=1), 4 * spins


def refit(table: sf.Table, network: Network) -> Network:
    """Maximise the likelihood of edges, each of which pays as much as half a row, so that weights are finite."""
    n = table.n_rows
    penalty = Support(table.domain, 1 / (2 * n), 0.0, network[1] != 0)
    model = Learner(read_rows(table), Options(gap=0.01)).solve(penalty.alpha, penalty=penalty).model
    return model.main, model.interactions


def measure_table(table: sf.Table, kind: Kind, seed: int, has_peers: bool) -> dict[str, tuple[Network, float]]:
    """Return the networks that methods make of a table, and their seconds."""
    found: dict[str, tuple[Network, float]] = {}

    def keep(name: str, make: Callable[[], Network]) -> None:
        began = time.perf_counter()
        network = make()
        found[name] = network, time.perf_counter() - began

    keep(DEFAULT, lambda: by_default(table))
    began = time.perf_counter()
    regressions = by_isingfit(table)
    seconds = time.perf_counter() - began
    for rule in ("and", "or"):
        found[f"IsingFit {rule.upper()}"] = (regressions.intercepts, regressions.network(rule)), seconds
    if kind in EMPTY:
        return found
    keep("IsingFit AND, refitted", lambda: refit(table, found["IsingFit AND"][0]))
    keep(PENALISED, lambda: by_penalty(table))
    keep(f"{PENALISED}, refitted", lambda: refit(table, found[PENALISED][0]))
    if has_peers:
        keep("abess", lambda: by_abess(table))
    if table.domain.n_variables <= 20 and seed <= CROSS_VALIDATED and table.n_rows <= 1000:
        keep("node-wise CV", lambda: _join(fit_cross_validated(np.asarray(table.codes))))
    return found


def _join(regressions: Regressions) -> Network:
    return regressions.intercepts, regressions.network("and")


class Truth:
    """A known field, and how far networks are from it."""

    def __init__(self, model: sf.PairwiseMRF) -> None:
        self._pairs = np.triu_indices(model.domain.n_variables, 1)
        self._model, self._weights = model, model.interactions[self._pairs]
        self._has_law = 2**model.domain.n_variables <= MOST_STATES
        if self._has_law:
            self._moments, self._log_partition = model.moments().pair, float(model.log_partition())

    def score(self, network: Network, seconds: float) -> Row:
        """Compare a network with the truth."""
        own = network[1][self._pairs]
        found, true = own != 0, self._weights != 0
        right, wrong, missed = (int(np.count_nonzero(x)) for x in (found & true, found & ~true, ~found & true))
        rest = len(own) - right - wrong - missed
        scale = np.sqrt(float(right + wrong) * (right + missed) * (rest + wrong) * (rest + missed))
        varies = own.std() > 0 and self._weights.std() > 0
        return {
            "edges": right + wrong,
            "F1": 2 * right / (2 * right + wrong + missed) if true.any() else None,
            "MCC": (right * rest - wrong * missed) / scale if scale else 0.0,
            "precision": right / (right + wrong) if right + wrong else None,
            "sensitivity": right / (right + missed) if true.any() else None,
            "error": float(np.abs(own - self._weights)[true].mean()) if true.any() else None,
            "correlation": float(np.corrcoef(own, self._weights)[0, 1]) if varies else 0.0,
            "KL": self._diverge(network) if self._has_law else None,
            "seconds": seconds,
        }

    def _diverge(self, network: Network) -> float:
        """Return the divergence of a network from the truth: what exponents and partition functions differ by."""
        other = sf.PairwiseMRF.binary(*network)
        main = (self._model.main - other.main) @ np.diagonal(self._moments)
        pair = ((self._model.interactions - other.interactions) * self._moments)[self._pairs].sum()
        return float(main + pair - self._log_partition + float(other.log_partition()))


@lru_cache(maxsize=1)
def _commit() -> str:
    return str(describe_machine()["commit"])


def measure(options: argparse.Namespace, console: Console) -> list[Row]:
    """Measure what is not in the file yet, until time is up; return all that is known."""
    path, began = options.kept, time.perf_counter()
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    known = {tuple(row["key"]): row for row in kept if row["commit"] == _commit()}
    work = [(kind, seed) for seed in range(1, options.tables + 1) for kind in KINDS]
    work += [(kind, seed) for seed in range(1, N_EMPTY + 1) for kind in EMPTY]
    for kind, seed in work:
        key = kind.name, kind.n_rows, seed
        if key in known or time.perf_counter() - began > 60 * options.minutes:
            continue
        model, table = draw(kind, seed)
        truth = Truth(model)
        networks = measure_table(table, kind, seed, options.peers)
        methods = {name: truth.score(*own) for name, own in networks.items()}
        row: Row = {"commit": _commit(), "key": list(key), "methods": methods}
        known[key] = row
        with path.open("a") as file:
            file.write(json.dumps(row) + "\n")
        console.print(f"{key}: { {name: own['F1'] for name, own in methods.items()} }")
    return list(known.values())


def gather(rows: Sequence[Row], kinds: Sequence[Kind]) -> dict[Kind, dict[str, list[Row]]]:
    """Return the figures of each kind and method."""
    found: dict[Kind, dict[str, list[Row]]] = {}
    for kind in kinds:
        for row in rows:
            if tuple(row["key"][:2]) == (kind.name, kind.n_rows):
                for method, figures in row["methods"].items():
                    found.setdefault(kind, {}).setdefault(method, []).append(figures)
    return found


def mean(figures: Sequence[Row], column: str, *, is_geometric: bool = False) -> float | None:
    """Return the mean of a figure over tables, of those that have it."""
    values = [own[column] for own in figures if own[column] is not None]
    if not values:
        return None
    return float(np.exp(np.mean(np.log(values)))) if is_geometric else float(np.mean(values))


def lay_out(head: Sequence[str], lines: Sequence[Sequence[Any]], digits: int = 2) -> str:
    """Return a table."""

    def write(cell: Any) -> str:
        return "" if cell is None else f"{cell:.{digits}f}" if isinstance(cell, float) else str(cell)

    return "\n".join(
        ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
        + ["| " + " | ".join(map(write, line)) + " |" for line in lines]
    )


def compare_kinds(known: dict[Kind, dict[str, list[Row]]], column: str, digits: int) -> str:
    """Return a figure of all kinds and methods."""
    methods = list(dict.fromkeys(name for own in known.values() for name in own))
    lines = [
        [kind.name, kind.n_rows, *(mean(own.get(name, ()), column) for name in methods)] for kind, own in known.items()
    ]
    return lay_out(("field, variables", "rows", *methods), lines, digits)


def summarise(known: dict[Kind, dict[str, list[Row]]]) -> str:
    """Return means over kinds, of methods that have all of them, and how often the default is better."""
    methods = list(dict.fromkeys(name for own in known.values() for name in own))
    lines = []
    for name in methods:
        kinds = [own for own in known.values() if name in own]
        own = {column: [mean(kind[name], column) for kind in kinds] for column in COLUMNS}
        base = [mean(kind[DEFAULT], "F1") for kind in kinds]
        ahead = sum(a is not None and b is not None and a > b for a, b in zip(base, own["F1"], strict=True))
        ratios = [
            np.log(a["KL"] / b["KL"])
            for kind in kinds
            for a, b in zip(kind[DEFAULT], kind[name], strict=False)
            if a["KL"] and b["KL"]
        ]
        cells = [None if None in (v := own[c]) and c != "KL" else _mean_of(v) for c in COLUMNS]
        ratio = float(np.exp(np.mean(ratios))) if ratios else None
        lines.append([name, len(kinds), *cells, "" if name == DEFAULT else f"{ahead} of {len(kinds)}", ratio])
    head = ("method", "kinds", *COLUMNS, "kinds in which the default has a larger F1", "KL of the default over its own")
    return lay_out(head, lines)


def _mean_of(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def report(rows: Sequence[Row], *, n_tables: int, has_peers: bool) -> str:
    """Return the page of results."""
    known, none = gather(rows, KINDS), gather(rows, EMPTY)
    methods = list(dict.fromkeys(name for own in none.values() for name in own))
    empty = [
        [kind.name, kind.n_rows, *(float(np.mean([one["edges"] > 0 for one in own[name]])) for name in methods)]
        for kind, own in none.items()
    ]
    figures = [
        [kind.name, kind.n_rows, name, len(own[name]), *(mean(own[name], column) for column in COLUMNS)]
        for kind, own in known.items()
        for name in own
    ]
    return TEXT.format(
        peers=" PEERS=1" if has_peers else "",
        machine=name_machine(),
        n=n_tables,
        cross_validated=CROSS_VALIDATED,
        n_empty=N_EMPTY,
        short=summarise(known),
        f1=compare_kinds(known, "F1", 2),
        kl=compare_kinds({kind: own for kind, own in known.items() if own[DEFAULT][0]["KL"] is not None}, "KL", 3),
        empty=lay_out(("field, variables", "rows", *methods), empty),
        figures=lay_out(("field, variables", "rows", "method", "tables", *COLUMNS), figures),
    )


def main() -> None:
    """Measure all kinds of fields, print and store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=10, help="how many tables of each kind")
    parser.add_argument("--minutes", type=float, default=np.inf, help="time after which nothing more is begun")
    parser.add_argument("--peers", action="store_true", help="also measure abess")
    parser.add_argument("--kept", type=Path, default=Path(".cache/choice.jsonl"), help="the file of finished parts")
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results"))
    options = parser.parse_args()
    console = Console(soft_wrap=True)
    by_default(draw(KINDS[0], 0)[1])  # kernels are compiled
    by_isingfit(draw(KINDS[0], 0)[1])
    rows = measure(options, console)
    text = report(rows, n_tables=options.tables, has_peers=options.peers)
    console.print(text)
    store({"rows": [{key: row[key] for key in ("key", "methods")} for row in rows]}, options.output / "choice.json")
    (options.output / "choice.md").write_text(text)


if __name__ == "__main__":
    main()
