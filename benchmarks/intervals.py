"""Intervals of the bootstrap on known fields: what they cover, and whether edges that return are true.

Rows are drawn from the enumerated probabilities of the truth. The penalty is chosen for each table (`select`).
Intervals are compared with two targets: the interactions of the penalised population optimum, which is the fit of the
exact moments of the truth with the same penalty, and the true interactions, which a penalty shrinks.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import sparsefield as sf
from sparsefield._typing import Values
from sparsefield.datasets import make_field, make_small_world
from sparsefield.resampling import Bootstrap, bootstrap
from sparsefield.selection import select

N_VARIABLES = 10
# How fields are made, and how many rows tables have.
FIELDS: dict[str, tuple[Callable[..., sf.PairwiseMRF], int]] = {
    "small worlds, edges of size 0.5 to 1.5, 500 rows": (
        partial(make_small_world, N_VARIABLES, strength=(0.5, 1.5)),
        500,
    ),
    "the paper's fields, edges of size 1 to 2, 1000 rows": (partial(make_field, N_VARIABLES), 1000),
}
SHARES = (0.5, 0.95)
Row = dict[str, Any]
PAIRS = np.triu_indices(N_VARIABLES, 1)


def measure_table(field: str, seed: int, n_resamples: int) -> Row:
    """Make the intervals of one table, and compare them."""
    make, n_rows = FIELDS[field]
    truth = make(seed=seed)
    states = np.array(list(np.ndindex(*(2,) * N_VARIABLES)), dtype=np.uint8)
    probabilities = np.exp(truth.log_prob(states))
    rng = np.random.default_rng(seed)
    codes = states[rng.choice(len(states), n_rows, p=probabilities / probabilities.sum())]
    table = sf.Table(truth.domain, np.asfortranarray(codes))
    alpha = select(table, seed=seed, n_threads=1).alpha
    # Weights like those of as many rows: the optimum does not depend on their sum.
    weights = n_rows * probabilities
    optimum = sf.learn(sf.Table(truth.domain, np.asfortranarray(states)), alpha, sample_weight=weights, n_threads=1)
    found = bootstrap(table, alpha=alpha, n=n_resamples, seed=seed, n_threads=1)
    return {
        "field": field,
        "seed": seed,
        "alpha": alpha,
        **compare(found, truth.interactions[PAIRS], optimum.model.interactions[PAIRS]),
    }


def compare(found: Bootstrap, true: Values, optimum: Values) -> Row:
    """Count the intervals that cover each target, and the true ones of edges that return."""
    weights = np.zeros((found.n_resamples, len(true)))
    place = {(int(i), int(j)): k for k, (i, j) in enumerate(zip(*PAIRS, strict=True))}
    weights[:, [place[int(i), int(j)] for i, j in found.pairs]] = found.weights
    low, high = np.quantile(weights, (0.025, 0.975), axis=0)
    selected, is_edge = (weights != 0).mean(axis=0), true != 0
    row: Row = {"true edges": int(is_edge.sum()), "other pairs": int((~is_edge).sum())}
    for name, own in (("true edges", is_edge), ("other pairs", ~is_edge)):
        for target, values in (("optimum", optimum), ("truth", true)):
            row[f"{name}: cover the {target}"] = int(((low <= values) & (values <= high))[own].sum())
        row[f"{name}: exclude zero"] = int(((low > 0) | (high < 0))[own].sum())
    is_fitted = found.fit.model.interactions[PAIRS] != 0
    chosen = {"fit": is_fitted, **{f"{share:.0%}": selected >= share for share in SHARES}}
    for name, own in chosen.items():
        row[f"{name}: edges"], row[f"{name}: true"] = int(own.sum()), int((own & is_edge).sum())
    return row


def share(rows: list[Row], part: str, whole: str) -> tuple[float, float] | None:
    """Return a share of counts over all tables and its standard error, that of a ratio of independent tables."""
    some, all_of = (np.array([row[name] for row in rows], dtype=float) for name in (part, whole))
    if not all_of.sum():
        return None
    value = some.sum() / all_of.sum()
    error = np.sqrt(((some - value * all_of) ** 2).sum()) / all_of.sum()
    return float(value), float(error)


def say(found: tuple[float, float] | None) -> str:
    """Write a share with its standard error."""
    return "" if found is None else f"{found[0]:.3f} ± {found[1]:.3f}"


def report(rows: list[Row], n_resamples: int) -> str:
    """Return the part of the page about known fields."""
    covers = ["| tables | pairs | cover the population optimum | cover the truth | exclude zero |", "|---" * 5 + "|"]
    returns = ["| tables | edges | number a table | of these, true | of the true edges, found |", "|---" * 5 + "|"]
    for field in dict.fromkeys(row["field"] for row in rows):
        own = [row for row in rows if row["field"] == field]
        for name in ("true edges", "other pairs"):
            parts = (f"{name}: {what}" for what in ("cover the optimum", "cover the truth", "exclude zero"))
            cells = " | ".join(say(share(own, part, name)) for part in parts)
            covers.append(f"| {field} ({len(own)}) | {name} | {cells} |")
        for name, words in (("fit", "of the fit"), *((f"{s:.0%}", f"in {s:.0%} of resamples or more") for s in SHARES)):
            n_edges = np.mean([row[f"{name}: edges"] for row in own])
            right, hit = share(own, f"{name}: true", f"{name}: edges"), share(own, f"{name}: true", "true edges")
            returns.append(f"| {field} ({len(own)}) | {words} | {n_edges:.1f} | {say(right)} | {say(hit)} |")
    return (
        f"Fields of {N_VARIABLES} variables, each table of another one, its penalty chosen by `select`, and "
        f"{n_resamples} resamples of it. The population optimum is the fit of the exact moments of the truth with "
        "the same penalty. Shares of all tables together, with standard errors.\n\n"
        "### How often intervals of 95% cover what they are about\n\n"
        + "\n".join(covers)
        + "\n\n### Whether edges that return are true\n\n"
        + "\n".join(returns)
        + "\n"
    )
