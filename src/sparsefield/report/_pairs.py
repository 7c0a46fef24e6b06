"""How sure every pair is, for the page: found from its table, told, drawn, and looked up."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from sparsefield._deadline import OutOfTimeError, until
from sparsefield.data import CountedTable, Table, TableError, resolve_missing, take_counted
from sparsefield.fits import Fit
from sparsefield.network import Network
from sparsefield.pairs import RATES, Inference, as_level, as_q, infer_table
from sparsefield.report._charts import Interval, place_intervals
from sparsefield.report._sections import Shares

_MOST_VARIABLES = 300  # whose 44,850 pairs take a megabyte of the page
_MOST_SECONDS = 30.0  # that a page waits for what nobody asked for
_MOST_INTERVALS, _MOST_OTHERS = 30, 10  # lines of a plot that fits a screen; pairs that are listed


def find_inference(table: Table | None, fit: Fit, sample_weight: ArrayLike | None) -> Inference | None:
    """Return how sure every pair is, where a table of the variables of the fit is in memory, and that takes no minute.

    Missing values are dealt with as in the fit; a table with which that cannot be done is not that of the fit. Weights
    are those of a survey, as by default in `infer`.

    Parameters
    ----------
    table : Table or None
        The rows.
    fit : Fit
        The fit.
    sample_weight : array-like of shape (n_rows,), optional
        Weights of the rows.
    """
    if table is None or isinstance(table, CountedTable) or set(table.domain.names) != set(fit.model.domain.names):
        return None
    if not 2 <= len(table.domain.names) <= _MOST_VARIABLES:
        return None
    rows, weights = take_counted(table, sample_weight)
    try:
        rows, weights = resolve_missing(rows, fit.settings.get("missing", "model"), weights)
        with until(time.perf_counter() + _MOST_SECONDS):
            return None if rows.n_rows < 2 else infer_table(rows, weights)
    except (TableError, OutOfTimeError):
        return None


def describe_intervals(network: Network, shares: Shares | None) -> dict[str, Any] | None:
    """Return what the page says of the edges of a network: the intervals of the strongest, and edges that it lacks.

    Parameters
    ----------
    network : Network
        The network, with an inference where there is one.
    shares : mapping of pairs to shares, optional
        The share of resamples in which each pair has an edge.
    """
    inference = network.inference
    if inference is None and shares is None:
        return None
    table = network.edges
    edges = table.filter(pl.col("weight") != 0)
    rows, ticks = place_intervals(
        [_make_interval(row, network, shares) for row in edges.head(_MOST_INTERVALS).iter_rows(named=True)]
    )
    found: dict[str, Any] = {"rows": rows, "ticks": ticks, "n_edges": len(edges), "only": [], "n_only": 0}
    if inference is None:
        return found
    only = table.filter((pl.col("weight") == 0) & (pl.col("q") <= inference.fdr))
    return found | {
        "sentence": inference.sentence,
        "fdr": f"{inference.fdr:g}",
        "rate": RATES[inference.rate].split(" (")[0],
        "level": as_level(inference.level),
        "n_only": len(only),
        "only": [_write_pair(row, network) for row in only.head(_MOST_OTHERS).iter_rows(named=True)],
    }


def _make_interval(row: dict[str, Any], network: Network, shares: Shares | None) -> Interval:
    first, second = row["first"], row["second"]
    inference = network.inference
    share = None if shares is None else shares.get(frozenset((first, second)), 0.0)
    is_signed = bool(network.is_signed[network.index[first], network.index[second]])
    if inference is None or row["estimate"] is None:
        return Interval(first, second, row["weight"], is_signed, share=share)
    level, q = as_level(inference.level), as_q(row["q"])
    return Interval(first, second, row["estimate"], is_signed, row["low"], row["high"], level, q, share)


def _write_pair(row: dict[str, Any], network: Network) -> dict[str, str]:
    form = network.form_of(row["first"], row["second"], 2)
    return {
        "first": row["first"],
        "second": row["second"],
        "estimate": f"{row['estimate']:{form}} [{row['low']:.2f}, {row['high']:.2f}]".replace("-", "\N{MINUS SIGN}"),
        "q": as_q(row["q"]),
    }


def describe_pairs(network: Network) -> dict[str, Any] | None:
    """Return what is known of every pair, rounded, for whoever looks one up; None where there are too many.

    Pairs are in the order (0, 1), (0, 2), ..., (1, 2), ... of the variables of the network. `verdict` is 0 where no
    edge was found, 1 of edges, and 2 + k of pairs that cannot be told for the k-th of the `reasons`.
    """
    inference, p = network.inference, len(network.names)
    if inference is None or not 2 <= p <= _MOST_VARIABLES:
        return None
    rows = network.places[np.triu_indices(p, 1)]
    columns = {
        "estimate": inference.estimate,
        "low": inference.low,
        "high": inference.high,
        "q": inference.q_value,
        "detectable": inference.detectable,
    }
    reasons: dict[str, int] = {}
    verdict = []
    for k in rows.tolist():
        if inference.is_told[k]:
            verdict.append(int(inference.is_edge[k]))
        else:
            verdict.append(2 + reasons.setdefault(_excuse(inference, k), len(reasons)))
    return {
        "verdict": verdict,
        "signed": bool(network.is_signed.all()) or network.is_signed[np.triu_indices(p, 1)].astype(int).tolist(),
        **{name: [_round(name, value) for value in values[rows].tolist()] for name, values in columns.items()},
        "reasons": list(reasons),
    }


def _excuse(inference: Inference, k: int) -> str:
    """Return why a pair cannot be told: what stands behind the colon where it is described."""
    first, second = (inference.domain.names[i] for i in inference.pairs[k])
    said = inference.describe(first, second)
    return said.removeprefix(f"Whether {first} and {second} are related cannot be told from these rows: ")


def _round(name: str, value: float) -> float | None:
    """Round to what is read: two decimals of a weight, two digits of others; tiny q-values are zero."""
    if not np.isfinite(value):
        return None
    if name in ("estimate", "low", "high"):
        return round(value, 2)
    return 0.0 if name == "q" and value < 5e-4 else float(f"{value:.2g}")
