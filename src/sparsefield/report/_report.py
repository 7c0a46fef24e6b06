"""What the page says, gathered from a fit and its table, and written to one file."""

from __future__ import annotations

import math
import pathlib
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Literal

import numpy as np
from jinja2 import Environment
from markupsafe import Markup
from numpy.typing import ArrayLike

from sparsefield._writing import write_text
from sparsefield.data import Table
from sparsefield.fits import Fit, Fitted, as_fit
from sparsefield.network import Network, find_clusters
from sparsefield.pairs import Inference
from sparsefield.report._alternatives import describe_alternatives
from sparsefield.report._charts import draw_path, draw_trace
from sparsefield.report._pairs import describe_intervals, describe_pairs, find_inference
from sparsefield.report._sections import describe_many, find_shares
from sparsefield.report._style import write_themes
from sparsefield.report._view import describe_network, make_environment, read_view
from sparsefield.report._words import describe
from sparsefield.resampling import Bootstrap, Stability
from sparsefield.selection import Choice, Path, PathWeights
from sparsefield.tables import encode

_MOST_VARIABLES = 2000  # all pairs of nodes are compared to place them
_SCRIPTS = ("texts.js", "theme.js", "table.js", "compare.js", "pairs.js", "report.js")  # each may use those before it


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
    alternatives: Path | PathWeights | None = None,
    inference: Inference | Literal["auto"] | None = "auto",
) -> None:
    """Write a page about a fit: what was found in plain words, its network, edges, certificates, data and settings.

    It is one file with all that it needs, opens in any browser without a network, and is written whole or not at all.

    Parameters
    ----------
    fit : Fit or fitted estimator
        The fit, or what has one (`SparseMRF(...).fit(data)`).
    path : str or path
        The .html file.
    table : Table, array, pandas or polars data frame, or path, optional
        What it was fitted to, for a summary, and for how sure every pair is; see `encode`.
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
        Fits of resampled rows (`bootstrap`): edges get the share of resamples in which they are found.
    stability : Stability, optional
        Fits of fewer rows (`stability`), for how few rows would have told the same.
    sample_weight : array-like of shape (n_rows,), optional
        How often each row of the table counts. Intervals take them for weights of a survey: where they are counts of
        equal rows, give `infer(table, sample_weight=weights, frequency=True)` as `inference`.
    alternatives : Path or PathWeights, optional
        Fits with other penalties (`path`), two of which can be compared side by side; those of the choice unless given.
    inference : Inference, "auto" or None
        How sure every pair is (`infer`): edges get intervals and q-values, and any pair can be looked up. "auto" finds
        it from the table, for up to 300 variables, where that takes less than half a minute; None leaves it out.

    Examples
    --------
    >>> import sparsefield as sf
    >>> from sparsefield.report import write_report
    >>> table = sf.datasets.make_field(6, seed=1).sample(1000, method="perfect", seed=1)
    >>> mrf = sf.SparseMRF(0.05, random_state=1).fit(table)
    >>> write_report(mrf, "fit.html", table=table)
    """
    own = getattr(fit, "choice_", None)
    choice = own if choice is None and isinstance(own, Choice) else choice
    if alternatives is None and choice is not None:
        alternatives = choice.weights
    fit = as_fit(fit)
    _check_names(fit.model.domain.names, groups)
    if table is not None and not isinstance(table, Table):
        table = encode(table, domain=fit.model.domain)
    network = Network.of(fit if network is None else network)
    if inference == "auto":
        inference = network.inference or find_inference(table, fit, sample_weight)
    network = Network.of(network, inference)
    clusters = find_clusters(network, seed=seed)
    sections = describe_many(fit, network, choice, bootstrap, stability)
    shares = None if bootstrap is None else find_shares(bootstrap)
    drawn = describe_network(network, groups=groups, colors=colors, seed=seed, shares=shares, clusters=clusters)
    intervals = describe_intervals(network, shares)
    if intervals is not None:
        _number_intervals(intervals["rows"], drawn)
    chosen = None if choice is None else choice.alpha
    other = PathWeights.of(alternatives) if isinstance(alternatives, Path) else alternatives
    environment = make_environment()
    script, style = _read_texts(environment)
    page = environment.get_template("report.html").render(
        title=title or "The network behind the data",
        fit=fit,
        words=describe(fit, network, clusters, bootstrap=bootstrap, table=table, sample_weight=sample_weight),
        network=drawn,
        has_clusters=bool(clusters.members),
        trace=draw_trace(fit),
        summary=_summary(table, sample_weight),
        intervals=intervals,
        pairs=describe_pairs(network),
        **sections,
        alternatives=None if other is None else describe_alternatives(other, fit),
        path_chart=None if other is None else draw_path(other, chosen),
        n_undecided=network.n_undecided,
        n_open_pairs=network.n_open_pairs,
        script=script,
        style=style,
    )
    write_text(pathlib.Path(path), page)


def _check_names(names: Sequence[str], groups: Mapping[str, str] | None) -> None:
    """Refuse more variables than can be drawn, and groups that leave one of them out."""
    if len(names) > _MOST_VARIABLES:
        raise ValueError(
            f"The field has {len(names)} variables: pages are for up to {_MOST_VARIABLES}. Export it for Gephi instead."
        )
    if groups is not None and (odd := [name for name in names if name not in groups]):
        raise ValueError(f"groups has no group for variable {odd[0]!r}: give one for each variable.")


def _read_texts(environment: Environment) -> tuple[Markup, Markup]:
    """Return scripts and styles as they are: texts of this package and of what it comes with, which hold no data."""
    assert environment.loader is not None
    *scripts, own_style = (environment.loader.get_source(environment, name)[0] for name in (*_SCRIPTS, "report.css"))
    view_script, view_style = read_view()
    return Markup("\n".join([view_script, *scripts])), Markup("\n".join([write_themes(), view_style, own_style]))


def _number_intervals(intervals: list[dict[str, Any]], drawn: dict[str, Any]) -> None:
    """Give each interval the number of its edge in the network, by which they are linked."""
    names = [node["name"] for node in drawn["nodes"]]
    number = {frozenset((names[a], names[b])): k for k, (a, b, *_) in enumerate(drawn["edges"])}
    for row in intervals:
        row["edge"] = number[frozenset((row["first"], row["second"]))]


def _summary(table: Table | None, sample_weight: ArrayLike | None) -> dict[str, Any] | None:
    if table is None:
        return None
    rows = table.summary(sample_weight).rename({"most frequent": "top"}).to_dicts()
    return {
        "n_rows": table.n_rows,
        "counted": None if sample_weight is None else f"{np.sum(sample_weight):.10g}",
        "n_missing": int(table.n_missing.sum()),
        "share": float(table.n_missing.sum() / max(1, math.prod(table.shape))),
        "n_whole": int(np.count_nonzero(~table.mask.any(axis=1))) if table.n_missing.any() else table.n_rows,
        "rows": rows,
    }
