"""The figures of `inference.py`: means over tables of what was measured, and their standard errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy.stats import binom

from peers_of_inference import GRID
from sparsefield._typing import Values

Row = dict[str, Any]
Estimate = tuple[float, float]  # with its standard error

LEVEL, RATES, SIZES = 0.95, (0.05, 0.1), (0.05, 0.01, 0.001)
FEW = 5  # tables, of which the spread is not taken for a standard error: that of independent pairs is


def summarise(rows: Sequence[Row]) -> Row:
    """Return the figures of all parts."""
    parts: dict[str, list[Row]] = {}
    for row in rows:
        parts.setdefault(row["key"][0], []).append(row)
    return {
        "commits": sorted({row["commit"] for row in rows}),
        "calibration": [_summarise_tables(*own) for own in _join(parts.get("calibration", ()), 4)],
        "worst": [_find_worst(*own) for own in _join(parts.get("worst", ()), 4)],
        **{part: [_summarise_methods(*own) for own in _join(parts.get(part, ()), 3)] for part in ("peers", "sandwich")},
        "seconds": [
            {
                "table": row["key"][1],
                "threads": row["key"][2],
                "seconds": row["seconds"],
                "processor seconds": row["processor seconds"],
            }
            for row in parts.get("seconds", ())
        ],
        "outside": [
            {"table": row["key"][1], **{name: own for name, own in row.items() if name not in ("key", "commit")}}
            for row in parts.get("outside", ())
        ],
    }


def _join(rows: Sequence[Row], size: int) -> Iterator[tuple[tuple[Any, ...], list[Row]]]:
    """Yield the rows whose keys begin alike."""
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row["key"][1:size]), []).append(row)
    yield from found.items()


def share(part: Values, whole: Values) -> Estimate | None:
    """Return a share of counts, and the standard error of a ratio over tables, at least that of independent pairs."""
    total = whole.sum()
    if not total:
        return None
    value = float(part.sum() / total)
    over_tables = np.sqrt(((part - value * whole) ** 2).sum()) / total
    return value, float(max(over_tables, np.sqrt(value * (1 - value) / total)))


def mean_share(part: Values, whole: Values) -> Estimate:
    """Return the mean of shares of counts over tables, 0 where there is nothing, and its standard error."""
    shares = part / np.maximum(whole, 1)
    value = float(shares.mean())
    if len(shares) < FEW:
        return value, float(np.sqrt(value * (1 - value) / max(1, whole.sum())))
    return value, float(shares.std(ddof=1) / np.sqrt(len(shares)))


def _summarise_tables(key: tuple[Any, ...], rows: Sequence[Row]) -> Row:
    """Return the figures of a setting."""
    own = {
        name: np.concatenate([row[name] for row in rows])
        for name in rows[0]
        if isinstance(rows[0][name], list) and name != "key"
    }
    figures: Row = {"group": key[0], "name": key[1], "rows": key[2], "tables": len(own["true"])}
    for kind in ("edges", "zeros"):
        figures[f"coverage {kind}"] = share(own[f"{kind} covered"], own[kind])
    for rate in RATES:
        right, false = own[f"right {rate}"], own[f"false {rate}"]
        figures[f"FDR {rate}"], figures[f"power {rate}"] = mean_share(false, right + false), share(right, own["true"])
    for size in SIZES:
        found = share(own[f"p {size}"], own["zeros"])
        figures[f"size {size}"] = None if found is None else (found[0] / size, found[1] / size)
    figures["bias"] = float(own["excess"].sum() / own["edges"].sum()) if own["edges"].sum() else None
    figures["untold"] = float(own["untold"].mean())
    figures["seconds"] = float(np.median(own["seconds"]))
    return figures


def _find_worst(key: tuple[Any, ...], rows: Sequence[Row]) -> Row:
    """Return the worst pairs of a field, and what the worst of as many fair ones would be."""
    truth = np.array(rows[0]["truth"])
    covered, known = (np.sum([row[name] for row in rows], axis=0) for name in ("covered", "known"))
    n_tables = int(known.max())
    figures: Row = {"name": key[1], "rows": key[2], "tables": n_tables}
    for kind, chosen in (("edges", truth != 0), ("zeros", truth == 0)):
        if chosen.any():
            coverage = covered[chosen] / np.maximum(known[chosen], 1)
            worst = int(np.argmin(coverage))
            mean, low = fair_worst(int(chosen.sum()), n_tables)
            figures[kind] = {
                "pairs": int(chosen.sum()),
                "mean": float(coverage.mean()),
                "worst": float(coverage[worst]),
                "weight": float(truth[chosen][worst]),
                "fair mean": mean,
                "fair low": low,
                "all": coverage.tolist(),
            }
    return figures


def fair_worst(n_pairs: int, n_tables: int) -> Estimate:
    """Return the mean and the 5% quantile of the least coverage of independent pairs, each of which has the level."""
    counts = np.arange(n_tables + 1)
    above = binom.sf(counts - 1, n_tables, LEVEL) ** n_pairs  # the least is at least so many
    quantile = counts[np.searchsorted(-above, -0.95, side="right") - 1]
    return float(above[1:].sum() / n_tables), float(quantile / n_tables)


def _summarise_methods(key: tuple[Any, ...], rows: Sequence[Row]) -> Row:
    """Return the figures of all methods on the tables of a setting."""
    figures: Row = {"name": key[0], "rows": key[1], "methods": {}}
    for method in dict.fromkeys(name for row in rows for name in row["methods"]):
        there = [row for row in rows if method in row["methods"]]
        own = {name: np.array([row["methods"][method][name] for row in there]) for name in there[0]["methods"][method]}
        figures["methods"][method] = _summarise_method(own, there)
    return figures


def _summarise_method(own: dict[str, Values], rows: Sequence[Row]) -> Row:
    """Return the figures of a method."""
    found: Row = {"tables": len(rows), "seconds": float(np.median(own["seconds"]))}
    for kind in ("edges", "zeros"):
        if f"{kind} covered" in own:
            found[f"coverage {kind}"] = share(own[f"{kind} covered"], own[kind])
    if "chosen" in own:
        found["coverage chosen"] = share(own["chosen covered"], own["chosen"])
    for rate in RATES:
        if f"right {rate}" in own:
            right, false = own[f"right {rate}"], own[f"false {rate}"]
            found |= {f"FDR {rate}": mean_share(false, right + false), f"power {rate}": share(right, own["true"])}
    if "right" in own:
        found |= {
            "FDR": mean_share(own["false"], own["right"] + own["false"]),
            "power": share(own["right"], own["true"]),
        }
        found["ours"] = match(found["FDR"][0], rows, own["true"])
    return found


def match(rate: float, rows: Sequence[Row], n_true: Values) -> float:
    """Return our power at the rate at which our mean share of false edges is a given one."""
    right, false = (np.array([row[name] for row in rows], dtype=float) for name in ("right", "false"))
    rates = np.maximum.accumulate((false / np.maximum(right + false, 1)).mean(axis=0))
    at = int(np.searchsorted(rates, rate, side="right")) - 1
    powers = right.sum(axis=0) / n_true.sum()
    if at < 0 or at + 1 >= len(GRID):
        return float(powers[np.clip(at, 0, len(GRID) - 1)])
    part = (rate - rates[at]) / max(rates[at + 1] - rates[at], 1e-12)
    return float(powers[at] + part * (powers[at + 1] - powers[at]))
