"""What the page says of many fits: why this penalty, and whether other rows would show the same edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from sparsefield.data import count
from sparsefield.fits import Fit
from sparsefield.network import Network
from sparsefield.plotting import StabilityDisplay, as_percent
from sparsefield.report._charts import draw_choice, draw_stability
from sparsefield.resampling import Bootstrap, Stability
from sparsefield.selection import Choice

Shares = dict[frozenset[str], float]  # of the resamples in which a pair has an edge
_MOST_OTHERS = 10  # pairs that are listed


def describe_many(
    fit: Fit, network: Network, choice: Choice | None, bootstrap: Bootstrap | None, stability: Stability | None
) -> dict[str, Any]:
    """Return what the page says of a choice, a bootstrap and of stability; None of what there is not."""
    for what, other in (("bootstrap", bootstrap), ("stability", stability)):
        if other is not None:
            _check_variables(what, other.fit, fit)
    return {
        "choice": None if choice is None else _describe_choice(choice, network, fit),
        "bootstrap": None if bootstrap is None else _describe_bootstrap(bootstrap, network, fit),
        "stability": None if stability is None else _describe_stability(stability, fit),
    }


def _check_variables(what: str, other: Fit, fit: Fit) -> None:
    """Refuse what is about other variables than those of the fit."""
    own, others = set(fit.model.domain.names), set(other.model.domain.names)
    if odd := sorted(own ^ others):
        where = "it has" if odd[0] in others else "it lacks"
        raise ValueError(
            f"The {what} is about other variables than the fit ({where} {odd[0]!r}): give one of the same table."
        )


def _describe_choice(choice: Choice, network: Network, fit: Fit) -> dict[str, Any]:
    """Return the sentence, the chart, and the table of a choice; where no penalty was tried, the sentence alone."""
    return {
        "sentence": choice.sentence,
        "remark": _compare_alphas("The choice is", choice.alpha, fit) or _compare_edges(choice, network),
        "columns": choice.table.columns,
        "rows": [[_as_text(value) for value in row] for row in choice.table.iter_rows()],
        "index": choice.index,
        "chart": draw_choice(choice) if (choice.table["alpha"] > 0).any() else None,
    }


def find_shares(bootstrap: Bootstrap) -> Shares:
    """Return for each pair in which share of the resamples it has an edge; the others are in none."""
    rows = bootstrap.table.select("first", "second", "selected").iter_rows()
    return {frozenset((first, second)): selected for first, second, selected in rows}


def _describe_bootstrap(bootstrap: Bootstrap, network: Network, fit: Fit) -> dict[str, Any]:
    """Return the sentence, and the pairs that only resamples join."""
    edges = network.edges.filter(pl.col("weight") != 0)
    joined = {frozenset(pair) for pair in edges.select("first", "second").iter_rows()}
    others = bootstrap.table.sort("selected", descending=True, maintain_order=True).iter_rows(named=True)
    only = [row for row in others if frozenset((row["first"], row["second"])) not in joined]
    return {
        "sentence": bootstrap.sentence,
        "remark": _compare_alphas("Resamples were fitted with", bootstrap.fit.settings.get("alpha"), fit),
        "n_only": len(only),
        "only": [{**row, "found": as_percent(row["selected"])} for row in only[:_MOST_OTHERS]],
    }


def _describe_stability(stability: Stability, fit: Fit) -> dict[str, Any]:
    """Return the sentence, the coefficients and what is drawn."""
    display = StabilityDisplay.from_stability(stability)
    return {
        "sentence": stability.sentence,
        "remark": _compare_alphas("Subsamples were fitted with", stability.fit.settings.get("alpha"), fit),
        "coefficients": [(curve.name, f"{curve.coefficient:.3g}") for curve in display.curves],
        "chart": draw_stability(stability),
    }


def short(value: float) -> float:
    """Round to five digits, which is what the page needs."""
    return float(f"{value:.5g}")


def _compare_alphas(what: str, alpha: float | None, fit: Fit) -> str:
    """Say that something is about another penalty than the fit is, where it is."""
    own = fit.sparsity
    # Not by all digits: an alpha may have gone through a file.
    if alpha is None or own is None or np.isclose(own, alpha, rtol=1e-6, atol=0):
        return ""
    return f"{what} alpha = {alpha:.3g}, but the fit of this page has alpha = {own:.3g}."


def _as_text(value: Any) -> str:
    if value is None or value != value:  # null or NaN: it is not known
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _compare_edges(choice: Choice, network: Network) -> str:
    """Say that the fit has more or fewer edges than its penalty has on the path, where that is so."""
    if choice.table.is_empty() or choice.table["edges"][choice.index] == network.n_edges:
        return ""
    return f"The path is fitted less exactly than the fit of this page, which has {count(network.n_edges, 'edge')}."
