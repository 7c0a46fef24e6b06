"""Means over trials, and the tables of `main_effects.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsefield_experiments._trials import SETTINGS, standard_error

Row = dict[str, Any]
MEANS = ("AUC", "right", "edges", "AUC, relabelled", "right, relabelled", "edges, relabelled", "pairs changed")


def write_tables(rows: list[Row], shuffles: list[Row], path: Path) -> list[Row]:
    """Write all tables; return what they are made of, for each size and method."""
    groups = [
        summarise([row for row in rows if row["p"] == p and row["method"] == method], p, method)
        for p in dict.fromkeys(row["p"] for row in rows)
        for method in dict.fromkeys(row["method"] for row in rows)
    ]
    lines = [
        "# Main effects: free or penalised",
        "",
        "Made by `make bench-main-effects`; machine, versions and commit are in main_effects.json.",
        "",
        "The paper's simulations. Means over trials, ± a standard error. A pair is right if it has an edge in both the "
        "truth and the fit, or in neither; signs do not count. Relabelled: 0 and 1 are exchanged in half of the "
        "columns. The best alpha is that with the best mean over the same trials.",
    ]
    for group in groups:
        lines += ["", *write_group(group)]
    if shuffles:
        lines += ["", *write_shuffles(shuffles)]
    path.write_text("\n".join(lines) + "\n")
    return groups


def summarise(rows: list[Row], p: int, method: str) -> Row:
    """Return means for each penalty, and differences between choices at the best penalty of each."""
    alphas = sorted({row["alpha"] for row in rows})

    def values(choice: str, alpha: float, name: str) -> NDArray[np.float64]:
        own = [row for row in rows if row["main"] == choice and row["alpha"] == alpha]
        return np.array([row[name] for row in sorted(own, key=lambda row: int(row["seed"]))], dtype=np.float64)

    def best(choice: str, name: str) -> float:
        return float(max(alphas, key=lambda alpha: values(choice, alpha, name).mean()))

    def differ(first: NDArray[np.float64], second: NDArray[np.float64]) -> Row:
        return {"mean": float((first - second).mean()), "error": float(standard_error(first - second))}

    means = []
    for choice in ("free", "penalised"):
        for alpha in alphas:
            row: Row = {"main": choice, "alpha": alpha}
            for name in MEANS:
                own = values(choice, alpha, name)
                row |= {name: float(own.mean()), f"{name}, error": float(standard_error(own))}
            moved = values(choice, alpha, "AUC, relabelled") - values(choice, alpha, "AUC")
            row |= {"AUC moves by": float(np.abs(moved).mean()), "AUC moves by at most": float(np.abs(moved).max())}
            row["weights change by at most"] = float(values(choice, alpha, "largest change").max())
            means.append(row)
    n_pairs = p * (p - 1) // 2
    edges = values("free", alphas[0], "true edges")
    paper = SETTINGS[p].alphas[0]
    compared = {}
    for name in ("AUC", "right", "AUC, relabelled", "right, relabelled"):
        free, penalised = best("free", name), best("penalised", name)
        compared[name] = {
            "best alpha, free": free,
            "best alpha, penalised": penalised,
            "free - penalised, best": differ(values("free", free, name), values("penalised", penalised, name)),
            f"free - penalised, alpha {paper:g}": differ(values("free", paper, name), values("penalised", paper, name)),
        }
    return {
        "p": p,
        "method": method,
        "trials": len(edges),
        "rows": SETTINGS[p].n_rows,
        "true edges": float(edges.mean()),
        "right without any edge": float(1 - edges.mean() / n_pairs),
        "means": means,
        "compared": compared,
    }


def write_group(group: Row) -> list[str]:
    lines = [
        f"## {group['p']} variables, {group['method']}",
        "",
        f"{group['trials']} trials of {group['rows']} rows, {group['true edges']:.1f} true edges on average. A fit "
        f"without any edge is right about {group['right without any edge']:.1%} of the pairs.",
        "",
        "| main effects | alpha | AUC | pairs right | edges | AUC, relabelled | right, relabelled | edges, relabelled "
        "| AUC moves by, mean (most) | pairs changed | weights change by at most |",
        "|---" * 11 + "|",
    ]
    for row in group["means"]:
        cells = [
            row["main"],
            f"{row['alpha']:g}",
            f"{row['AUC']:.3f} ± {row['AUC, error']:.3f}",
            f"{row['right']:.1%} ± {row['right, error']:.1%}",
            f"{row['edges']:.1f}",
            f"{row['AUC, relabelled']:.3f} ± {row['AUC, relabelled, error']:.3f}",
            f"{row['right, relabelled']:.1%} ± {row['right, relabelled, error']:.1%}",
            f"{row['edges, relabelled']:.1f}",
            f"{row['AUC moves by']:.2g} ({row['AUC moves by at most']:.2g})",
            f"{row['pairs changed']:.2%}",
            f"{row['weights change by at most']:.2g}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    lines += ["", "Free less penalised, trial by trial:", ""]
    for name, found in group["compared"].items():
        differences = [
            f"{key.removeprefix('free - penalised, ')}: {value['mean']:+.3f} ± {value['error']:.3f}"
            for key, value in found.items()
            if isinstance(value, dict)
        ]
        lines.append(
            f"- {name}; best alpha {found['best alpha, free']:g} and {found['best alpha, penalised']:g}; "
            + ", ".join(differences)
        )
    return lines


def write_shuffles(shuffles: list[Row]) -> list[str]:
    """Write a row for each table and penalty, with the edges of both choices beside each other."""
    lines = [
        "## Shuffled columns",
        "",
        f"Symptoms of ADHD (Silk et al. 2019): {shuffles[0]['rows']} rows, {shuffles[0]['pairs']} pairs. Shuffled "
        "columns have no true edge. Edges that were found, of the likelihood:",
        "",
        "| table | largest distance from independence | alpha | pairs farther than alpha | edges, free "
        "| edges, penalised |",
        "|---" * 6 + "|",
    ]
    for free in shuffles:
        if free["main"] == "free":
            (other,) = [
                row
                for row in shuffles
                if (row["main"], row["table"], row["alpha"]) == ("penalised", free["table"], free["alpha"])
            ]
            cells = [free["table"], f"{free['largest distance']:.4f}", f"{free['alpha']:g}"]
            cells += [str(free["pairs farther than alpha"]), str(free["edges"]), str(other["edges"])]
            lines.append("| " + " | ".join(cells) + " |")
    return lines
