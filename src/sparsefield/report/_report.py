"""What the page says, gathered from a fit and its table, and written to one file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup
from numpy.typing import ArrayLike
from plotly.offline import get_plotlyjs

from sparsefield._rounding import at_most
from sparsefield._writing import write_text
from sparsefield.data import Table, encode
from sparsefield.fits import Fit, Fitted, as_fit
from sparsefield.network import Network, centrality_table, make_graph
from sparsefield.plotting import choose_colors, place_nodes
from sparsefield.report._sections import Resampled, describe_many, find_shares, of_edge, short
from sparsefield.selection import Bootstrap, Choice, Stability

_MOST_VARIABLES = 2000  # springs compare all pairs of nodes


def write_report(
    fit: Fit | Fitted,
    path: str | PathLike[str],
    *,
    table: Any = None,
    groups: Mapping[str, str] | None = None,
    colors: Mapping[str, str] | None = None,
    title: str | None = None,
    seed: int = 0,
    network: Network | None = None,
    choice: Choice | None = None,
    bootstrap: Bootstrap | None = None,
    stability: Stability | None = None,
    sample_weight: ArrayLike | None = None,
) -> None:
    """Write a page about a fit: its network, edges, certificates, data and settings.

    It is one file with all that it needs, opens in any browser without a network, and is written whole or not at all.

    Parameters
    ----------
    fit : Fit or fitted estimator
        The fit, or what has one (`SparseMRF(...).fit(data)`).
    path : str or path
        The .html file.
    table : Table, array, pandas or polars data frame, or path, optional
        What it was fitted to, for a summary; see `encode`.
    groups : mapping of variable to group, optional
        Nodes are coloured by it.
    colors : mapping of group to colour, optional
        The colours; chosen unless given.
    title : str, optional
        What stands on top.
    seed : int
        Where the random numbers of the placing start.
    network : Network, optional
        The network of the fit, where it was found already.
    choice : Choice, optional
        Why this penalty (`select`), for a section about it; that of an estimator unless given.
    bootstrap : Bootstrap, optional
        Fits of resampled rows (`bootstrap`): edges get the share of resamples in which they are found, and intervals.
    stability : Stability, optional
        Fits of fewer rows (`stability`), for how few rows would have told the same.
    sample_weight : array-like of shape (n_rows,), optional
        How often each row of the table counts.

    Examples
    --------
    >>> import sparsefield as sf
    >>> from sparsefield.report import write_report
    >>> table = sf.datasets.make_field(6, seed=1).sample(1000, method="perfect", seed=1)
    >>> mrf = sf.SparseMRF(0.05, random_state=1).fit(table)
    >>> write_report(mrf, "fit.html", table=table)
    """
    choice = getattr(fit, "choice_", None) if choice is None else choice
    fit = as_fit(fit)
    names = fit.model.domain.names
    if len(names) > _MOST_VARIABLES:
        raise ValueError(
            f"The field has {len(names)} variables: pages are for up to {_MOST_VARIABLES}. Export it for Gephi instead."
        )
    if groups is not None and (odd := [name for name in names if name not in groups]):
        raise ValueError(f"groups has no group for variable {odd[0]!r}: give one for each variable.")
    network = Network.of(fit) if network is None else network
    if table is not None and not isinstance(table, Table):
        table = encode(table, domain=fit.model.domain)
    sections = describe_many(fit, network, choice, bootstrap, stability)
    environment = Environment(
        loader=PackageLoader("sparsefield.report", "page"),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
    )
    page = environment.get_template("report.html").render(
        title=title or "The network behind the data",
        fit=fit,
        network=_draw_network(network, groups, colors, seed, None if bootstrap is None else find_shares(bootstrap)),
        trace=_trace(fit),
        summary=_summary(table, sample_weight),
        **sections,
        n_edges=network.n_edges,
        n_pairs=network.n_pairs,
        n_undecided=network.n_undecided,
        n_open_pairs=network.n_open_pairs,
        # Texts of this package and of plotly, which hold no data.
        plotly=Markup(get_plotlyjs()),
        script=Markup("\n".join(_read(environment, name) for name in ("texts.js", "plots.js", "report.js"))),
        style=Markup(_read(environment, "report.css")),
    )
    write_text(Path(path), page)


def _read(environment: Environment, name: str) -> str:
    """Return the text of a file of the page as it is."""
    assert environment.loader is not None
    return environment.loader.get_source(environment, name)[0]


def _draw_network(
    network: Network,
    groups: Mapping[str, str] | None,
    colors: Mapping[str, str] | None,
    seed: int,
    resampled: Resampled | None,
) -> dict[str, Any]:
    """Return nodes with their positions, and edges, strongest first, with what resamples say of them."""
    graph = make_graph(network)
    positions = place_nodes(graph, seed=seed)
    central = {row["node"]: row for row in centrality_table(graph).to_dicts()}
    numbers = {name: k for k, name in enumerate(graph)}
    nodes = [
        {
            "name": name,
            "x": round(float(positions[name][0]), 4),
            "y": round(float(positions[name][1]), 4),
            "group": None if groups is None else str(groups[name]),
            "degree": central[name]["degree"],
            "strength": round(central[name]["strength"], 4),
        }
        for name in graph
    ]
    edges = sorted(graph.edges(data=True), key=lambda edge: -abs(edge[2]["weight"]))
    rows = [
        [
            numbers[a],
            numbers[b],
            short(own["weight"]),
            own.get("undecided"),
            own.get("signed", True),
            *(() if resampled is None else of_edge(resampled, a, b)),
        ]
        for a, b, own in edges
    ]
    own_colors = {} if groups is None else choose_colors(map(str, groups.values()), colors)
    return {"nodes": nodes, "edges": rows, "colors": own_colors}


def _trace(fit: Fit) -> dict[str, Any]:
    """Return the columns of the trace that are drawn; zeros cannot be shown on a scale of powers."""

    def positive(values: Iterable[float | None]) -> list[float | None]:
        return [value if value is not None and value > 0 else None for value in values]

    return {
        "iteration": [step.iteration for step in fit.steps],
        "violation": positive(step.violation for step in fit.steps),
        "noise": positive(step.noise_norm for step in fit.steps),
        "certificate": positive(step.certificate for step in fit.steps),
        "bound": ["" if step.certificate is None else at_most(step.certificate) for step in fit.steps],
        "sweeps": [step.n_sweeps for step in fit.steps],
    }


def _summary(table: Table | None, sample_weight: ArrayLike | None) -> dict[str, Any] | None:
    if table is None:
        return None
    rows = table.summary(sample_weight).rename({"most frequent": "top"}).to_dicts()
    return {
        "n_rows": table.n_rows,
        "counted": None if sample_weight is None else f"{np.sum(sample_weight):.10g}",
        "n_missing": int(table.n_missing.sum()),
        "share": float(table.n_missing.sum() / max(1, table.codes.size)),
        "n_whole": int(np.count_nonzero(~table.mask.any(axis=1))),
        "rows": rows,
    }
