"""What the page says, gathered from a fit and its table, and written to one file."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from sparsefield._writing import whole_file
from sparsefield.network import centrality_table, edge_table, make_graph
from sparsefield.fits import Fit
from sparsefield.data import Table
from sparsefield.plotting import choose_colors, place_nodes

_MOST_VARIABLES = 2000  # springs compare all pairs of nodes


def write_report(
    fit: Fit,
    path: str | PathLike[str],
    *,
    table: Table | None = None,
    groups: Mapping[str, str] | None = None,
    colors: Mapping[str, str] | None = None,
    title: str | None = None,
    seed: int = 0,
) -> None:
    """Write a page about a fit: its network, edges, certificates, data and settings.

    It is one file with all that it needs, opens in any browser without a network, and is written whole or not at all.

    Parameters
    ----------
    fit : Fit
        The fit (`SparseMRF(...).fit(data).fit_`).
    path : str or path
        The .html file.
    table : Table, optional
        What it was fitted to, for a summary.
    groups : mapping of variable to group, optional
        Nodes are coloured by it.
    colors : mapping of group to colour, optional
        The colours; chosen unless given.
    title : str, optional
        What stands on top.
    seed : int
        Where the random numbers of the placing start.

    Examples
    --------
    >>> import sparsefield as sf
    >>> from sparsefield.report import write_report
    >>> table = sf.datasets.make_field(6, seed=1).sample(1000, method="perfect", seed=1)
    >>> fit = sf.SparseMRF(0.05, random_state=1).fit(table).fit_
    >>> write_report(fit, "fit.html", table=table)
    """
    names = fit.model.domain.names
    if len(names) > _MOST_VARIABLES:
        raise ValueError(
            f"The field has {len(names)} variables: pages are for up to {_MOST_VARIABLES}. Export it for Gephi instead."
        )
    if groups is not None and (odd := [name for name in names if name not in groups]):
        raise ValueError(f"groups has no group for variable {odd[0]!r}: give one for each variable.")
    environment = Environment(
        loader=PackageLoader("sparsefield.report", "page"),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
    )
    page = environment.get_template("report.html").render(
        title=title or "The network behind the data",
        fit=fit,
        network=_network(fit, groups, colors, seed),
        trace=_trace(fit),
        summary=_summary(table),
        n_edges=len(edge_table(fit.model)),
        n_pairs=len(names) * (len(names) - 1) // 2,
        n_undecided=_count_undecided(fit),
        # Texts of this package and of plotly, which hold no data.
        plotly=Markup(get_plotlyjs()),
        script=Markup(environment.loader.get_source(environment, "report.js")[0]),  # type: ignore[union-attr]
        style=Markup(environment.loader.get_source(environment, "report.css")[0]),  # type: ignore[union-attr]
    )
    with whole_file(Path(path)) as rough:
        rough.write_text(page, encoding="utf-8")


def _network(fit: Fit, groups: Mapping[str, str] | None, colors: Mapping[str, str] | None, seed: int) -> dict[str, Any]:
    """Return nodes with their places, and edges, strongest first."""
    graph = make_graph(fit)
    places = place_nodes(graph, seed=seed)
    central = {row["node"]: row for row in centrality_table(graph).to_dicts()}
    numbers = {name: k for k, name in enumerate(graph)}
    nodes = [
        {
            "name": name,
            "x": round(float(places[name][0]), 4),
            "y": round(float(places[name][1]), 4),
            "group": None if groups is None else str(groups[name]),
            "degree": central[name]["degree"],
            "strength": round(central[name]["strength"], 4),
        }
        for name in graph
    ]
    edges = sorted(graph.edges(data=True), key=lambda edge: -abs(edge[2]["weight"]))
    rows = [
        [numbers[a], numbers[b], float(f"{own['weight']:.5g}"), own.get("undecided"), own.get("signed", True)]
        for a, b, own in edges
    ]
    own_colors = {} if groups is None else choose_colors(map(str, groups.values()), colors)
    return {"nodes": nodes, "edges": rows, "colors": own_colors}


def _trace(fit: Fit) -> dict[str, Any]:
    """Return the columns of the trace that are drawn; zeros have no place on a scale of powers."""

    def positive(name: str) -> list[float | None]:
        return [value if value is not None and value > 0 else None for value in fit.trace[name].to_list()]

    return {
        "iteration": fit.trace["iteration"].to_list(),
        "slope": positive("step_norm"),
        "noise": positive("noise_norm"),
        "certificate": positive("certificate"),
        "sweeps": fit.trace["n_sweeps"].to_list(),
    }


def _summary(table: Table | None) -> dict[str, Any] | None:
    if table is None:
        return None
    rows = table.summary().rename({"most frequent": "top"}).to_dicts()
    return {
        "n_rows": table.n_rows,
        "n_missing": int(table.n_missing.sum()),
        "share": float(table.n_missing.sum() / max(1, table.codes.size)),
        "n_whole": int(np.count_nonzero(~table.mask.any(axis=1))),
        "rows": rows,
    }


def _count_undecided(fit: Fit) -> dict[str, int] | None:
    """Count the edges that noise leaves open, and the pairs of which it leaves open that they have one."""
    edges = edge_table(fit)
    if "undecided" not in edges.columns:
        return None
    is_edge, is_open = edges["weight"] != 0, edges["undecided"]
    return {"edges": int((is_edge & is_open).sum()), "others": int((~is_edge & is_open).sum())}
