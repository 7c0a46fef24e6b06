"""The page of results of `choice.py`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from measure import name_machine

Row = dict[str, Any]
Table = tuple[str, int, int]  # kind of field, variables, rows

BEST, DEFAULT = "best of the path", "EBIC"
ORDER = (
    BEST,
    DEFAULT,
    "EBIC, gamma 0.5",
    "EBIC, gamma 0 (BIC)",
    "cv",
    "StARS",
    "IsingFit, AND",
    "IsingFit, OR",
    "LogisticRegressionCV, AND",
    "LogisticRegressionCV, OR",
)
COLUMNS = ("edges", "precision", "recall", "F1", "loss", "pseudo-loss", "seconds")
TEXT = """\
# Which criterion finds the edges of known fields, and which predicts

Made by `make bench-criteria` on {machine}; versions and commit are in criteria.json.

Fields: the paper's (each pair has an edge with probability 0.3, of size 1 to 2), and chains, grids and small worlds
(degree 4, a tenth of the edges moved) with edges of size 0.5 to 1.5 and levels that are equally frequent. Each cell is
a mean over as many tables as "n" says, each of another field; where n is smaller, more would have taken too long.

- **EBIC**: gamma 0.25, taken of edges that are refitted variable by variable, among the penalties at which noise
  explains at most a tenth of the edges.
- **loss**: by how many nats a row the log-likelihood of 20,000 fresh rows is below that of the truth;
  **pseudo-loss**: the same of the pseudo-log-likelihood, the sum over variables of the log-probability of each given
  the others, which regressions have too.
- **seconds**: of one processor, for the choice.
- **IsingFit**: one logistic regression with an L1 penalty for each variable, its penalty by EBIC (gamma 0.25), and an
  edge where both regressions have it (AND) or one has (OR). **LogisticRegressionCV**: the same with five folds and the
  least log loss, as scikit-learn chooses among its ten penalties.

## F1

{f1}

## Loss of fresh rows, with the penalty

{loss}

## Pseudo-loss of fresh rows

{pseudo}

## Independent variables: the share of tables with an edge, and how many edges they have on average

Ones have frequencies from 0.1 to 0.9.

{independent}

## All figures

{figures}
"""


def report(rows: Sequence[Row]) -> str:
    """Return the page."""
    known = _gather(rows)
    edges = {table: own for table, own in known.items() if table[0] != "independent"}
    none = {table: own for table, own in known.items() if table[0] == "independent"}
    return TEXT.format(
        machine=name_machine(),
        f1=_lay_out(edges, "F1", 2, has_total=True),
        loss=_lay_out(edges, "loss", 3),
        pseudo=_lay_out(edges, "pseudo-loss", 3),
        independent=_count_false(none),
        figures=_list_all(edges),
    )


def _gather(rows: Sequence[Row]) -> dict[Table, dict[str, list[Row]]]:
    """Return the figures of each kind of table and each method."""
    found: dict[Table, dict[str, list[Row]]] = {}
    for row in rows:
        _, name, p, n_rows, _ = row["key"]
        for method, figures in row["methods"].items():
            found.setdefault((name, p, n_rows), {}).setdefault(method, []).append(figures)
    return dict(sorted(found.items(), key=lambda item: (item[0][0] != "paper", item[0][1], item[0][0], item[0][2])))


def _mean(figures: Iterable[Row], column: str) -> float | None:
    values = [own[column] for own in figures if own.get(column) is not None]
    return float(np.mean(values)) if values else None


def _write(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def _lay_out(known: dict[Table, dict[str, list[Row]]], column: str, digits: int, *, has_total: bool = False) -> str:
    """Return a table of one figure: a line for each kind of table, a column for each method; n where others have more.

    The last line has means over the lines, of the methods that have all of them.
    """
    methods = [name for name in ORDER if any(_mean(own.get(name, ()), column) is not None for own in known.values())]
    lines = ["| field | variables | rows | n | " + " | ".join(methods) + " |", "|---" * (len(methods) + 4) + "|"]
    means: dict[str, list[float | None]] = {name: [] for name in methods}
    for (name, p, n_rows), own in known.items():
        most = max(len(figures) for figures in own.values())
        cells = []
        for method in methods:
            value, n = _mean(own.get(method, ()), column), len(own.get(method, ()))
            means[method].append(value)
            cells.append(_write(value, digits) + (f" (n {n})" if value is not None and n < most else ""))
        lines.append(f"| {name} | {p} | {n_rows} | {most} | " + " | ".join(cells) + " |")
    if has_total:
        totals = ["" if None in means[name] else _write(_mean_of(means[name]), digits) for name in methods]
        lines.append("| mean of the lines | | | | " + " | ".join(totals) + " |")
    return "\n".join(lines)


def _mean_of(values: Sequence[float | None]) -> float:
    return float(np.mean([value for value in values if value is not None]))


def _count_false(known: dict[Table, dict[str, list[Row]]]) -> str:
    """Return a table of the share of tables with an edge where there is none."""
    methods = [name for name in ORDER if any(name in own for own in known.values())]
    lines = ["| variables | rows | " + " | ".join(methods) + " |", "|---" * (len(methods) + 2) + "|"]
    for (_, p, n_rows), own in known.items():
        cells = []
        for method in methods:
            n_edges = np.array([figures["edges"] for figures in own.get(method, ())])
            said = f"{(n_edges > 0).mean():.2f}; {n_edges.mean():.2g} (n {len(n_edges)})" if len(n_edges) else ""
            cells.append(said)
        lines.append(f"| {p} | {n_rows} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _list_all(known: dict[Table, dict[str, list[Row]]]) -> str:
    """Return a table of all figures for each kind of table."""
    parts = []
    for (name, p, n_rows), own in known.items():
        n_true = _mean(next(iter(own.values())), "true edges")
        parts.append(f"### {name}, {p} variables, {n_rows} rows: {_write(n_true, 1)} true edges\n")
        lines = ["| | n | " + " | ".join(COLUMNS) + " |", "|---" * (len(COLUMNS) + 2) + "|"]
        for method in (name for name in ORDER if name in own):
            digits = {"edges": 1, "loss": 3, "pseudo-loss": 3}
            cells = [_write(_mean(own[method], column), digits.get(column, 2)) for column in COLUMNS]
            lines.append(f"| {method} | {len(own[method])} | " + " | ".join(cells) + " |")
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts).rstrip()
