"""What was measured of a GPU, for people."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from profile_gpu import METRICS, PROFILED


def write_tables(found: dict[str, Any], path: Path) -> None:
    """Write all tables."""
    lines = [
        "# A GPU beside processors",
        "",
        f"Made by `make bench-gpu`; machine, versions and commits of parts are in gpu.json. GPU: {found['gpu']}. "
        "Processors: all of the same machine. Probabilities have their full resolution everywhere.",
        "",
        *_write_sweeps(found["sweeps"]),
        *_write_others(found),
        *_write_limits(found.get(PROFILED, [])),
    ]
    path.write_text("\n".join(lines) + "\n")


def _write_sweeps(rows: list[dict[str, Any]]) -> list[str]:
    chains = sorted({int(n) for row in rows for n in row["gpu"]})  # keys of a file are words
    lines = ["## Sweeps, in thousand millions of updates a second", ""]
    lines += [
        "| variables | neighbours | "
        + " | ".join(f"2^{n.bit_length() - 1} chains" for n in chains)
        + " | processors |",
        "|---" * (3 + len(chains)) + "|",
    ]
    for row in rows:
        cells = [_say(row["gpu"][f"{n}"] / 1e9) if f"{n}" in row["gpu"] else "" for n in chains]
        lines.append(f"| {row['variables']} | {row['degree']} | {' | '.join(cells)} | {_say(row['cpu'] / 1e9)} |")
    lines += ["", "Bounding chains, and chains between their bounds (exact draws), in plain sweeps:", ""]
    lines += ["| variables | chains | bounding chains | exact draws |", "|---|---|---|---|"]
    for row in rows:
        for n in row.get("bounds", {}):
            ratios = [row["gpu"][n] / row[kind][n] for kind in ("bounds", "coupled")]
            lines.append(f"| {row['variables']} | 2^{int(n).bit_length() - 1} | {ratios[0]:.2f} | {ratios[1]:.2f} |")
    return [*lines, ""]


def _say(value: float) -> str:
    """Write a number with three digits, or all that it has before its point."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _write_others(found: dict[str, Any]) -> list[str]:
    lines = [
        "## Counts of all pairs",
        "",
        "| lines | draws | ms | 10^12 pairs a second |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {r['lines']} | {r['draws']} | {1e3 * r['seconds']:.2f} | "
        f"{r['lines'] ** 2 / 2 * r['draws'] / r['seconds'] / 1e12:.0f} |"
        for r in found["counts"]
    ]
    lines += ["", "## Exact draws with moments and values along a step, in ms", ""]
    lines += ["| variables | draws | GPU | processors |", "|---|---|---|---|"]
    lines += [
        f"| {r['variables']} | {r['draws']} | {1e3 * r['gpu']:.1f} | {1e3 * r['cpu']:.1f} |" for r in found["crossing"]
    ]
    lines += ["", "## Fits, 4 neighbours, 5000 rows, alpha 0.02", ""]
    lines += ["The first fit of a process also compiles.", ""]
    lines += ["| variables | GPU, s | processors, s | edges | first on GPU, s |", "|---|---|---|---|---|"]
    lines += [
        f"| {r['variables']} | {r['seconds_gpu']:.2f} | {r['seconds_cpu']:.2f} | {r['edges_gpu']} and {r['edges_cpu']} "
        f"| {r['first_gpu']:.1f} |"
        for r in found["fits"]
    ]
    senate = found["senate"]
    steps, edges = senate["steps"], senate["edges"]
    return [
        *lines,
        "",
        f"## Senate 2006, alpha {senate['alpha']}, votes not cast as nay",
        "",
        f"- The fit takes {senate['fit_gpu']:.1f} s on the GPU ({steps[0]} steps, {edges[0]} edges) "
        f"and {senate['fit_cpu']:.1f} s on processors ({steps[1]} steps, {edges[1]} edges).",
        f"- Ten million exact draws with moments take {senate['draws_gpu']:.2f} s on the GPU "
        f"({senate['sweeps_gpu']:.0f} sweeps a draw), one million {senate['draws_cpu']:.2f} s on processors.",
        *(
            f"- With {name} main effects the certificate of the optimum from 3 x 10^7 draws takes "
            f"{senate[name]['seconds']:.1f} s: gap at most {senate[name]['gap']:.3g} ({senate[name]['kind']}), "
            f"proven for every number of draws {senate[name]['proven']:.3g}."
            for name in ("free", "penalised")
        ),
        "",
    ]


def _write_limits(rows: list[dict[str, Any]]) -> list[str]:
    if not rows:
        return []
    lines = ["## What limits kernels", "", "Percent of what each part of the GPU can do, while a kernel runs.", ""]
    lines += ["| kernel | grid | " + " | ".join(METRICS) + " |", "|---" * (2 + len(METRICS)) + "|"]
    for row in rows:
        cells = [f"{row[name]:.0f}" if name in row else "" for name in METRICS]
        lines.append(f"| {row['kernel']} | {row['grid']} | {' | '.join(cells)} |")
    return lines
