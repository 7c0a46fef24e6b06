"""What `constants.py` measured, as a page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from trials import (
    ALPHA,
    ASKED,
    CONFIDENCE,
    KINDS,
    LONGEST,
    RARE_ALPHA,
    RARE_ASKED,
    RARE_TABLES,
    SEEDS,
    STEPS,
    TABLES,
    WINDOW,
)

FITS = "steps | draws | ms | converged | mean gap | its error | median gap | largest gap"
STEP_DRAWS = (2000, 10_000, 50_000, 100_000)
Row = dict[str, Any]


def tabulate(titles: str, rows: Sequence[Row], cells: Callable[[Row], str]) -> list[str]:
    """Lay rows out as a table, with an empty line after it."""
    return [f"| {titles} |", "|---" * (titles.count("|") + 1) + "|", *(f"| {cells(row)} |" for row in rows), ""]


def describe_fits(row: Row) -> str:
    gaps = [row[name] for name in ("gap_mean", "gap_error", "gap_median", "gap_largest")]
    converged = f"{100 * row['converged']:.0f}%" + f" ({row['failed']} of {row['fits']} failed)" * (row["failed"] > 0)
    cells = [f"{row['steps']:.2f}", f"{row['draws']:,.0f}", f"{1e3 * row['seconds']:.0f}", converged]
    return " | ".join(cells + [f"{round(gap, 2) + 0.0:.2f}" if gap < 1000 else f"{gap:.0e}" for gap in gaps])


def write_newton(rows: Sequence[Row]) -> list[str]:
    """Write what each value does, on the problems on which the constant makes a difference."""

    def told(row: Row) -> list[float]:
        return [round(row[name], 6) for name in ("steps", "draws", "failed", "gap_mean", "gap_largest")]

    base = {row["kind"]: row for row in rows if not row["name"]}
    lines = ["## Newton steps", "", "### With the values in use", ""]
    lines += tabulate(
        f"problems | {FITS}", list(base.values()), lambda row: f"{KINDS[row['kind']]} | {describe_fits(row)}"
    )
    for choice in STEPS:
        lines += [f"### {choice.name} = {choice.in_use:g}", ""]
        shown = []
        for kind, usual in base.items():
            own = [row for row in rows if (row["name"], row["kind"]) == (choice.name, kind)]
            if any(told(row) != told(usual) for row in own):
                shown += sorted([{**usual, "value": choice.in_use}, *own], key=lambda row: row["value"])
        titles = f"problems | value | {FITS}"
        lines += tabulate(titles, shown, lambda row: f"{KINDS[row['kind']]} | {row['value']:g} | {describe_fits(row)}")
    return lines


def write_other(found: dict[str, Any]) -> list[str]:
    """Write the tables of all constants but those of Newton steps."""
    people = {"newton": "Newton steps", "spg": "gradient steps"}
    return [
        f"## UNDECIDED = {CONFIDENCE.in_use:g}",
        "",
        "Parameters that are marked, and how many of those not marked are zero in the fit or in the optimum alone.",
        "",
        *tabulate(
            "confidence | parameters | marked | not marked and wrong",
            found["undecided"],
            lambda row: f"{row['value']:g} | {row['all']} | {row['marked']} | {row['wrong']}",
        ),
        "## gibbs_sweeps: a tenth of the values missing and filled by chains, 10 variables",
        "",
        "The norm of the exact smallest subgradient at the end, with expectations given the observed values.",
        "",
        *tabulate(
            "solver | value | steps | ms | median norm | largest norm",
            found["completing"],
            lambda row: (
                f"{people[row['solver']]} | {row['value']:g} | {row['steps']:.1f} | {1e3 * row['seconds']:.0f} | "
                f"{row['median']:.4f} | {row['largest']:.4f}"
            ),
        ),
        f"## window = {WINDOW.in_use:g}: gradient steps on 2000 exact draws, 10 variables",
        "",
        "Gaps are over nonzeros / (2 draws), which is what Newton steps on as many draws leave. All that converged did "
        "so at the noise floor.",
        "",
        *tabulate(f"value | {FITS}", found["window"], lambda row: f"{row['value']:g} | {describe_fits(row)}"),
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
        "## Exact objectives, on one thread",
        "",
        *tabulate("variables | ms", found["objective"], lambda row: f"{row['p']} | {1e3 * row['seconds']:.2f}"),
        "## One Newton step on one thread, ms",
        "",
        "With all states, or with as many draws: exact ones of two levels, Gibbs chains of more. The step begins at "
        "the pseudo-likelihood.",
        "",
        *tabulate(
            f"variables | states | nonzero | all states | {' | '.join(f'{n:,} draws' for n in STEP_DRAWS)}",
            found["steps"],
            lambda row: (
                f"{row['name']} | {row['states']:,} | {row['nonzero']} | "
                + " | ".join(f"{1e3 * seconds:.2f}" for seconds in row["seconds"].values())
            ),
        ),
        "## Memory of the second moments of a working set, MiB",
        "",
        *tabulate(
            "parameters | counts | at most, while they are counted",
            found["memory"],
            lambda row: f"{row['parameters']} | {row['counts_mib']:.0f} | {row['peak_mib']:.0f}",
        ),
    ]


def write_tables(found: dict[str, Any], path: Path) -> None:
    n_fits = 2 * len(TABLES) * len(SEEDS)
    lines = [
        "# The constants of the solvers",
        "",
        "Made by `make bench-constants`; machine, versions and commit are in constants.json. Each constant is varied "
        "alone; those that are derived, and not chosen, have their derivation beside them in the code.",
        "",
        f"Fields have 10 and 20 variables, 2000 rows and alpha {ALPHA}: {len(TABLES)} tables of each size and "
        f"{len(SEEDS)} seeds make {n_fits} fits with gap {ASKED}, from the pseudo-likelihood with 2000 draws, and from "
        "zero with 200 draws. Exact curvature is for 10 variables alone. Tables in which a pair is never seen have "
        f"five variables, 300 rows, alpha {RARE_ALPHA} and gap {RARE_ASKED}: {len(RARE_TABLES) * len(SEEDS)} fits. "
        "Gaps are exact, over the gap asked for; the error of their mean is a standard error. Draws are the sum over "
        "the steps of a fit, ms are milliseconds of the processor on one thread, and a fit is stopped after "
        f"{LONGEST:g} s. Problems on which a constant makes no difference are left out of its table.",
        "",
        *write_newton(found["newton"]),
        *write_other(found),
    ]
    path.write_text("\n".join(lines))
