"""The page of `inference.py`: means of what was measured, their standard errors, and which goals hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from choice import lay_out
from figures_of_inference import RATES, SIZES, Estimate
from peers_of_inference import N_BOOTSTRAPS

Row = dict[str, Any]

COVERAGE, SLACK, FROM = (0.94, 0.96), 0.02, 250  # what is to hold from so many rows on
CLEARLY = 2.0  # standard errors by which a goal is missed
GROUPS = {
    "binary": "Two levels",
    "ordered": "Ordered levels",
    "nominal": "Levels without order, and mixed tables",
    "missing": "Missing cells",
    "weights": "Weights and clusters",
}

TEXT = """\
# How sure every pair is: coverage, false discoveries and power of `sparsefield.infer`

Made by `make bench-inference` on {machine};
versions and commit are in inference.json. The number of tables is such that all takes about forty minutes of one
processor; **s** is the median of its seconds for one table. Standard errors are over tables; those of coverage and
sizes are at least those of as many independent pairs. Each table is of another field; seeds begin at 1001, and nothing
was tuned on these.

- **coverage**: the share of 95% intervals that hold the true weight, of edges and of pairs without one.
- **FDR**: the mean share of false edges among those found at q <= 0.05 and q <= 0.1; **power**: the share of true edges
  found. With a share d of true edges, Benjamini and Hochberg's rule has an FDR of (1 - d) times what is asked.
- **size**: how often p-values of pairs without an edge are at most 0.05, 0.01 and 0.001, over these. **bias**: the mean
  of estimates of true edges beyond their weights, in their direction. **untold**: the pairs of a table of which nothing
  can be told.

## In short

{short}

{groups}
## The worst pair of a field

Tables of one field: the pair whose interval covers its weight least often, among edges and among others; and what the
worst of as many fair intervals of independent pairs would be: its mean, and what it is below once in twenty times.

{worst}

## Beside what people use

The same tables for all methods. Methods that have no p-values have edges. **Ours at its FDR**: the power of
`sparsefield.infer` at the rate at which its own mean share of false edges is that of the other method.

- **IsingFit**: one L1 regression per variable, EBIC gamma 0.25, an edge where both have it (AND) or one (OR).
- **EBICglasso**: the graphical lasso of correlations, gamma 0.5.
- **errors of a refit**: the edges of IsingFit (AND) refitted by maximum likelihood, with errors as if they had been
  known; other pairs are taken for zero, so that these are covered. **of chosen**: coverage of pairs that are refitted.
- **desparsified lasso**: of both regressions of a pair, their mean.
- **bootstrap**: 95% of 100 resamples with an L1 penalty that EBIC chooses, the first {n_bootstraps} tables, up to 12
  variables; an interval without zero is an edge.

{peers}

### Weights and clusters

**plain sandwich**: errors from the squared scores of rows or clusters. **as independent rows**: weights as counts that
add up to the rows, clusters left out.

{sandwich}

## Seconds

{seconds}

## Tables that nobody here made

Answers on a scale are ordered. **exclude zero**: intervals of 95%, each by itself. Shuffled: every column by itself, so
that no edge is true; then one interval in twenty excludes zero by chance.

{outside}
"""


def say(found: Estimate | None, digits: int = 3) -> str:
    """Write an estimate with its standard error."""
    return "" if found is None else f"{found[0]:.{digits}f} ± {found[1]:.{digits}f}"


def plain(found: Estimate | None) -> float | None:
    """Return an estimate without its standard error."""
    return None if found is None else found[0]


def lay_out_group(rows: Sequence[Row]) -> str:
    """Return the table of settings."""
    head = (
        "field, variables|rows|tables|coverage, edges|coverage, others|FDR (0.05)|power|FDR (0.1)|power|"
        "size 0.05|0.01|0.001|bias|untold|s"
    )
    lines = [
        [
            *(row[column] for column in ("name", "rows", "tables")),
            *(say(row[f"coverage {kind}"]) for kind in ("edges", "zeros")),
            *_say_rates(row),
            *(say(row[f"size {size}"], 2) for size in SIZES),
            *(row[column] for column in ("bias", "untold", "seconds")),
        ]
        for row in rows
    ]
    return lay_out(head.split("|"), lines)


def _say_rates(row: Row) -> list[str | float | None]:
    """Return false discovery rates and powers."""
    return [cell for rate in RATES for cell in (say(row.get(f"FDR {rate}")), plain(row.get(f"power {rate}")))]


def average_groups(rows: Sequence[Row]) -> str:
    """Return the means over the settings of each part of the page that have rows enough."""
    columns = (
        "coverage edges",
        "coverage zeros",
        *(f"FDR {rate}" for rate in RATES),
        "size 0.05",
        "size 0.01",
        "size 0.001",
    )
    lines = []
    for group, words in GROUPS.items():
        there = [row for row in rows if row["group"] == group and row["rows"] >= FROM]
        known = [[row[column] for row in there if row[column] is not None] for column in columns]
        lines.append([words, len(there), *(say(average(own)) for own in known)])
    head = (
        "mean over settings",
        "settings",
        "coverage, edges",
        "coverage, others",
        "FDR (0.05)",
        "FDR (0.1)",
        *columns[4:],
    )
    return lay_out(head, lines)


def average(known: Sequence[Estimate]) -> Estimate | None:
    """Return the mean of estimates."""
    if not known:
        return None
    values, errors = np.array(known).T
    return float(values.mean()), float(np.sqrt((errors**2).sum()) / len(errors))


def check_goals(rows: Sequence[Row]) -> str:
    """Say which settings miss what is to hold, by more than two standard errors."""
    rows = [row for row in rows if row["rows"] >= FROM]
    low, high = COVERAGE
    goals = [
        (f"coverage of edges {low} to {high}", "coverage edges", low, high),
        (f"coverage of pairs without an edge {low} to {high}", "coverage zeros", low, high),
        *(
            (f"FDR at most {rate + SLACK:.2f} where {rate} is asked", f"FDR {rate}", 0.0, rate + SLACK)
            for rate in RATES
        ),
    ]
    lines, missed = [], []
    for words, column, least, most in goals:
        told = [(row, *row[column]) for row in rows if row[column] is not None]
        beyond = [max(least - value, value - most) for _, value, _ in told]
        values = np.array([value for _, value, _ in told])
        clear = [own for own, far in zip(told, beyond, strict=True) if far > CLEARLY * own[2]]
        inside = sum(far <= 0 for far in beyond)
        spread = f"{np.median(values):.3f} ({values.min():.3f} to {values.max():.3f})" if told else ""
        lines.append([words, len(told), inside, len(clear), spread])
        missed += [
            f"- {row['group']}: {row['name']}, {row['rows']} rows: {column} {say((value, error))}"
            for row, value, error in clear
        ]
    head = f"from {FROM} rows on|settings|inside|outside by two standard errors|median (range)"
    listed = "\n".join(missed) if missed else "None."
    return lay_out(head.split("|"), lines) + "\n\nOutside by more than two standard errors:\n\n" + listed


def lay_out_worst(rows: Sequence[Row]) -> str:
    """Return the table of the worst pairs."""
    head = "field, variables|rows|tables|pairs|number|mean|worst|its weight|worst of fair ones|once in twenty"
    lines = [
        [
            *(row[column] for column in ("name", "rows", "tables")),
            *(words, own["pairs"], f"{own['mean']:.3f}", f"{own['worst']:.3f}", own["weight"]),
            *(f"{own[column]:.3f}" for column in ("fair mean", "fair low")),
        ]
        for row in rows
        for kind, words in (("edges", "edges"), ("zeros", "others"))
        if (own := row.get(kind)) is not None
    ]
    return lay_out(head.split("|"), lines)


def lay_out_methods(rows: Sequence[Row]) -> str:
    """Return the table of methods."""
    head = (
        "field, variables|rows|method|tables|coverage, edges|coverage, others|of chosen|FDR (0.05)|power|FDR (0.1)|"
        "power|FDR of its edges|their power|ours at its FDR|s"
    )
    lines = [
        [
            *(row["name"], row["rows"], name, own["tables"]),
            *(say(own.get(f"coverage {kind}")) for kind in ("edges", "zeros", "chosen")),
            *_say_rates(own),
            *(say(own.get("FDR")), plain(own.get("power")), own.get("ours"), own["seconds"]),
        ]
        for row in rows
        for name, own in row["methods"].items()
    ]
    return lay_out(head.split("|"), lines)


def lay_out_sandwich(rows: Sequence[Row]) -> str:
    """Return the table of design effects."""
    head = "field, variables|rows|method|tables|coverage, edges|coverage, others|FDR (0.05)|power|FDR (0.1)|power"
    lines = [
        [
            *(row["name"], row["rows"], name, own["tables"]),
            *(say(own[f"coverage {kind}"]) for kind in ("edges", "zeros")),
            *_say_rates(own),
        ]
        for row in rows
        for name, own in row["methods"].items()
    ]
    return lay_out(head.split("|"), lines)


def lay_out_outside(rows: Sequence[Row]) -> str:
    """Return the table of tables of others."""
    if not rows:
        return "SPARSEFIELD_OUTSIDE was not set."
    head = (
        "table|rows|variables|ordered|missing|pairs|edges (0.05)|edges (0.1)|exclude zero|untold|s|shuffled tables|"
        "with an edge (0.05)|(0.1)|share that exclude zero"
    )
    lines = [
        [
            *(row["table"], f"{row['rows']:,}", row["columns"], row["ordered"], f"{row['missing']:.1%}"),
            *(row[column] for column in ("pairs", "edges 0.05", "edges 0.1", "exclude", "untold", "seconds")),
            len(row["shuffled"]),
            *(sum(one[f"edges {rate}"] > 0 for one in row["shuffled"]) for rate in RATES),
            f"{np.mean([one['exclude'] / one['pairs'] for one in row['shuffled']]):.3f}",
        ]
        for row in rows
    ]
    others = [one for row in rows for one in row["shuffled"]]
    shares = ", ".join(f"{np.mean([one[f'edges {rate}'] > 0 for one in others]):.3f} at {rate}" for rate in RATES)
    return lay_out(head.split("|"), lines) + f"\n\nShare of all {len(others)} shuffled tables with an edge: {shares}."


def report(figures: Row, *, machine: str) -> str:
    """Return the page of results."""
    rows = figures["calibration"]
    groups = [
        f"## {words}\n\n{lay_out_group([row for row in rows if row['group'] == group])}\n"
        for group, words in GROUPS.items()
    ]
    seconds = [list(row.values()) for row in figures["seconds"]]
    return TEXT.format(
        machine=machine,
        short=f"{average_groups(rows)}\n\n{check_goals(rows)}",
        groups="\n".join(groups),
        worst=lay_out_worst(figures["worst"]),
        n_bootstraps=N_BOOTSTRAPS,
        peers=lay_out_methods(figures["peers"]),
        sandwich=lay_out_sandwich(figures["sandwich"]),
        seconds=lay_out(("table", "threads", "seconds", "processor seconds"), seconds),
        outside=lay_out_outside(figures["outside"]),
    )
