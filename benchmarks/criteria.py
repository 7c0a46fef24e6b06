"""Which criterion finds the edges of known fields, and which predicts, beside regressions of each variable.

    make bench-criteria

Edges are those of the fit with the penalty that a criterion chooses. Precision is the share of the edges found that are
true, recall the share of true edges that are found, and F1 their harmonic mean. Rows that were held out are fresh draws
from the truth. Seconds are those of one processor. What is finished is kept in .cache, where a run that was stopped
goes on; it is not used once the commit is another.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

import sparsefield as sf
from measure import store
from nodewise import Regressions, fit_cross_validated, fit_isingfit
from sparsefield.datasets import make_chain, make_field, make_grid, make_small_world
from sparsefield.fitting import Learner, Options
from sparsefield.selection import select
from sparsefield.tables import read_rows
from sparsefield_experiments import describe_machine
from sparsefield_experiments._trials import BURN_IN, EDGE_PROBABILITY, STRENGTH
from tables_of_criteria import BEST, DEFAULT, report

N_HELD_OUT = 20_000
WEAKER = (0.5, 1.5)  # sizes of the interactions on graphs: with 250 rows some are lost, with 4000 nearly all are found
SIZES = (50, 100)
ROWS = (250, 1000, 4000)
FEW_ROWS = (50, 100, 250)  # of independent variables
GAP = 0.01  # nats per row, of the fits that are judged
Row = dict[str, Any]

# What is asked of `select`.
VARIANTS: dict[str, Row] = {
    "EBIC, gamma 0.5": {"gamma": 0.5},
    "EBIC, gamma 0 (BIC)": {"gamma": 0.0},
}
FOLDS: dict[str, Row] = {"cv": {"criterion": "cv"}}
STABILITY: dict[str, Row] = {"StARS": {"criterion": "stars"}}


@dataclass(frozen=True)
class Setting:
    """A kind of field: how it is made from a seed, its size, numbers of rows, and how rows are drawn."""

    name: str
    n_variables: int
    make: Callable[..., sf.PairwiseMRF]
    rows: tuple[int, ...] = ROWS
    drawing: tuple[tuple[str, Any], ...] = (("method", "perfect"),)


def make_independent(n_variables: int, *, seed: int) -> sf.PairwiseMRF:
    """Make independent variables whose ones have frequencies from 0.1 to 0.9."""
    frequencies = np.random.default_rng(seed).uniform(0.1, 0.9, n_variables)
    return sf.PairwiseMRF.binary(np.log(frequencies / (1 - frequencies)), np.zeros((n_variables, n_variables)))


def list_settings() -> list[Setting]:
    """Return the kinds of fields."""
    gibbs = (("n_sweeps", BURN_IN),)
    found = [
        Setting("paper", n, partial(make_field, n, EDGE_PROBABILITY, STRENGTH), rows, gibbs)
        for n, rows in ((10, ROWS), (20, (250, 2000)))
    ]
    for n in SIZES:
        side = round(n**0.5)
        found += [
            Setting("chain", n, partial(make_chain, n, strength=WEAKER)),
            Setting("grid", side**2, partial(make_grid, side, side, strength=WEAKER)),
            Setting("small world", n, partial(make_small_world, n, strength=WEAKER)),
        ]
    found += [Setting("independent", n, partial(make_independent, n), FEW_ROWS) for n in (15, 50)]
    return found


@lru_cache(maxsize=64)
def draw_truth(setting: Setting, seed: int) -> tuple[sf.PairwiseMRF, NDArray[np.float64], sf.Table, float]:
    """Return a field, its held-out rows as numbers and as a table, and their log-likelihood under it."""
    truth = setting.make(seed=seed)
    fresh = truth.sample(N_HELD_OUT, seed=10_000 + seed, n_threads=1, **dict(setting.drawing))
    known = float(truth.log_prob(fresh.codes, log_partition=truth.log_partition(seed=seed, n_threads=1)).mean())
    return truth, np.asarray(fresh.codes, dtype=np.float64), fresh, known


def predict(main: NDArray[np.float64], interactions: NDArray[np.float64], states: NDArray[np.float64]) -> float:
    """Return the mean pseudo-log-likelihood of states: log-probabilities of each variable given others, added up."""
    log_odds = main + states @ interactions
    return float((states * log_odds - np.logaddexp(0.0, log_odds)).sum(axis=1).mean())


class Table:
    """A table of one field, and how well others find its edges and predict fresh rows."""

    def __init__(self, setting: Setting, n_rows: int, seed: int) -> None:
        self.truth, self._states, self._fresh, self._known = draw_truth(setting, seed)
        self.rows = self.truth.sample(n_rows, seed=seed, n_threads=1, **dict(setting.drawing))
        self._best = predict(self.truth.main, self.truth.interactions, self._states)

    def score(self, main: NDArray[np.float64], interactions: NDArray[np.float64], seconds: float) -> Row:
        """Compare a network with the truth."""
        pairs = np.triu_indices(len(main), 1)
        found, true = interactions[pairs] != 0, self.truth.interactions[pairs] != 0
        n_found, n_true, n_both = int(found.sum()), int(true.sum()), int((found & true).sum())
        return {
            "edges": n_found,
            "true edges": n_true,
            "precision": n_both / n_found if n_found else None,
            "recall": n_both / n_true if n_true else None,
            "F1": 2 * n_both / (n_found + n_true) if n_true else None,
            "pseudo-loss": self._best - predict(main, interactions, self._states),
            "seconds": seconds,
        }

    def f1(self, model: sf.PairwiseMRF) -> float:
        """Return the F1 of the edges of a model."""
        found, true = model.interactions != 0, self.truth.interactions != 0
        return float(2 * (found & true).sum() / (found.sum() + true.sum()))

    def judge(self, alpha: float, seconds: float) -> Row:
        """Compare the fit with a penalty that was chosen with the truth."""
        model = Learner(read_rows(self.rows), Options(gap=GAP, seed=1, n_threads=1)).solve(alpha).model
        log_partition = model.log_partition(seed=1, n_threads=1)
        return {
            **self.score(model.main, model.interactions, seconds),
            "loss": self._known - float(model.log_prob(self._fresh.codes, log_partition=log_partition).mean()),
            "alpha": alpha,
        }

    def compare(self, regressions: Regressions, name: str, seconds: float) -> dict[str, Row]:
        """Compare the networks of regressions with the truth, by both rules."""
        return {
            f"{name}, {rule.upper()}": self.score(regressions.intercepts, regressions.network(rule), seconds)
            for rule in ("and", "or")
        }


def choose(asked: dict[str, Row], table: Table, seed: int) -> dict[str, Row]:
    """Choose by some criteria; seconds are those of the choice."""
    found = {}
    for name, options in asked.items():
        began = time.process_time()
        choice = select(table.rows, sf.EBIC(n_jobs=1), seed=seed, n_threads=1, **options)
        found[name] = table.judge(choice.alpha, time.process_time() - began)
    return found


def find_best(table: Table, seed: int) -> dict[str, Row]:
    """Find the penalty of a path whose edges are best."""
    if not table.truth.interactions.any():
        return {}
    began = time.process_time()
    fits = sf.path(table.rows, likelihoods=False, gap=GAP, seed=seed, n_threads=1).fits
    best = max((fit.model for fit in fits), key=table.f1)
    return {BEST: table.score(best.main, best.interactions, time.process_time() - began)}


def by_isingfit(table: Table, seed: int) -> dict[str, Row]:  # noqa: ARG001
    """Regress each variable on the others, as IsingFit does."""
    began = time.process_time()
    found = fit_isingfit(np.asarray(table.rows.codes))
    return table.compare(found, "IsingFit", time.process_time() - began)


def by_scikit_learn(table: Table, seed: int) -> dict[str, Row]:  # noqa: ARG001
    """Regress each variable on the others by cross-validation."""
    began = time.process_time()
    found = fit_cross_validated(np.asarray(table.rows.codes))
    return table.compare(found, "LogisticRegressionCV", time.process_time() - began)


Way = Callable[[Table, int], dict[str, Row]]
WAYS: dict[str, Way] = {
    "default": partial(choose, {DEFAULT: {}}),
    "variants": partial(choose, VARIANTS),
    "best": find_best,
    "IsingFit": by_isingfit,
    "cv": partial(choose, FOLDS),
    "StARS": partial(choose, STABILITY),
    "scikit-learn": by_scikit_learn,
}
# How many seeds each has, as time allows: up to 20 variables; about 50 with up to 1000 rows, and with 4000; 100 with up
# to 1000 rows, and with 4000; 15 independent variables, and 50.
SEEDS: dict[str, tuple[int, ...]] = {
    "default": (10, 10, 10, 10, 10, 50, 20),
    "variants": (10, 10, 3, 3, 1, 20, 10),
    "best": (10, 10, 3, 3, 1, 0, 0),
    "IsingFit": (10, 10, 10, 10, 2, 50, 20),
    "cv": (5, 1, 1, 1, 0, 10, 2),
    "StARS": (5, 1, 1, 1, 0, 10, 2),
    "scikit-learn": (5, 1, 0, 0, 0, 5, 2),
}
QUICK = ("default", "IsingFit")


def count_seeds(way: str, setting: Setting, n_rows: int, n_seeds: int) -> int:
    """Return how many seeds a kind of table has, where fields have `n_seeds` at most."""
    p = setting.n_variables
    if setting.name == "independent":
        return min(SEEDS[way][5 + (p > 20)], 5 * n_seeds)
    kind = 0 if p <= 20 else 1 + 2 * (p > 50) + (n_rows > 1000)
    return min(SEEDS[way][kind], n_seeds)


def list_work(options: argparse.Namespace) -> list[tuple[str, Setting, int, int]]:
    """Return what is to be measured: first a few seeds of the quick ways, then of all ways, then the rest."""
    found = [
        (way, setting, n_rows, seed)
        for setting in list_settings()
        for n_rows in setting.rows
        for way in WAYS
        for seed in range(1, count_seeds(way, setting, n_rows, options.seeds) + 1)
        if not options.fields or f"{setting.name} {setting.n_variables}" in options.fields
        if not options.rows or n_rows in options.rows
    ]
    return sorted(found, key=find_round)


def find_round(work: tuple[str, Setting, int, int]) -> tuple[int, int]:
    """Say when a part is measured: in which round, and of that with which seed."""
    way, setting, n_rows, seed = work
    is_large = setting.n_variables > 50 and n_rows > 1000
    seed_of_field = -(-seed // 5) if setting.name == "independent" else seed
    if way in QUICK and not is_large:
        return 0 if seed_of_field <= 2 else 2, seed_of_field
    return 1 if seed_of_field <= 1 and not is_large else 3, seed_of_field


def measure(options: argparse.Namespace, console: Console) -> list[Row]:
    """Measure what is not in the file yet, until time is up; return all that is known."""
    commit, path, began = describe_machine()["commit"], options.kept, time.perf_counter()
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    known = {tuple(row["key"]): row for row in kept if row["commit"] == commit}
    found = []
    for way, setting, n_rows, seed in list_work(options):
        key = (way, setting.name, setting.n_variables, n_rows, seed)
        if key not in known:
            if time.perf_counter() - began > 60 * options.minutes:
                continue
            methods = WAYS[way](Table(setting, n_rows, seed), seed)
            known[key] = {"commit": commit, "key": list(key), "methods": methods}
            with path.open("a") as file:
                file.write(json.dumps(known[key]) + "\n")
            console.print(f"{key}: { {name: own['F1'] or own['edges'] for name, own in methods.items()} }")
        found.append(known[key])
    return found


def main() -> None:
    """Measure all fields, print and store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10, help="how many fields of each kind")
    parser.add_argument("--rows", type=int, nargs="+", help="numbers of rows, of those that there are")
    parser.add_argument("--fields", nargs="+", help='kinds of fields, such as "chain 50"; all unless given')
    parser.add_argument("--minutes", type=float, default=np.inf, help="time after which nothing more is begun")
    parser.add_argument("--kept", type=Path, default=Path(".cache/criteria.jsonl"), help="the file of finished parts")
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results"))
    options = parser.parse_args()
    console = Console(soft_wrap=True)
    rows = measure(options, console)
    text = report(rows)
    console.print(text)
    store({"rows": [{key: row[key] for key in ("key", "methods")} for row in rows]}, options.output / "criteria.json")
    (options.output / "criteria.md").write_text(text)


if __name__ == "__main__":
    main()
