"""The top of the page in plain words: what was found, how sure one can be, and what it does not say."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sparsefield.data import Table, count
from sparsefield.fits import Fit
from sparsefield.network import Clusters, Network, describe_inference
from sparsefield.report._certainty import (
    ABSENT,
    advise,
    describe_certificate,
    describe_end,
    describe_limits,
    describe_resamples,
    describe_simulation,
)
from sparsefield.report._counting import and_last, as_name, count_of
from sparsefield.report._odds import describe_edge
from sparsefield.resampling import Bootstrap

_MOST_NAMED = 3  # of the most connected variables
_MOST_SIZES = 6  # of clusters: more numbers in a row are not read
_LEAST_EDGES = 4  # of two clusters of three variables: fewer say nothing about clusters


@dataclass(frozen=True)
class Words:
    """Sentences for people who have not read the manual.

    Parameters
    ----------
    found, sure, limits : tuple of str
        What was found, how sure one can be, and what it does not say.
    advice : str
        What to do next, before the command.
    command : str
        The command that does it; empty where there is nothing to do.
    """

    found: tuple[str, ...]
    sure: tuple[str, ...]
    limits: tuple[str, ...]
    advice: str = ""
    command: str = ""


def describe(
    fit: Fit,
    network: Network,
    clusters: Clusters,
    *,
    bootstrap: Bootstrap | None = None,
    table: Table | None = None,
    sample_weight: ArrayLike | None = None,
) -> Words:
    """Say in plain words what a fit found.

    Parameters
    ----------
    fit : Fit
        The fit.
    network : Network
        Its network.
    clusters : Clusters
        Its clusters.
    bootstrap : Bootstrap, optional
        Fits of resampled rows.
    table : Table, optional
        What it was fitted to.
    sample_weight : array-like of shape (n_rows,), optional
        How often each row of the table counts.
    """
    has_edges = network.n_edges > 0
    found = _describe_edges(fit, network, clusters) if has_edges else _describe_none(fit, network)
    sure = [
        describe_end(fit),
        describe_inference(network),
        describe_simulation(fit, network),
        describe_resamples(bootstrap, is_told=network.inference is not None or not has_edges),
        describe_certificate(fit),
    ]
    advice, command = "", ""
    if bootstrap is None and network.n_pairs:
        advice, command = advise(fit, has_edges=has_edges, has_inference=network.inference is not None)
    return Words(
        tuple(filter(None, (*found, _describe_rows(fit, table, sample_weight)))),
        tuple(filter(None, sure)),
        tuple(describe_limits(fit)) if has_edges else (ABSENT,),
        advice,
        command,
    )


# --- What was found ---


def _describe_edges(fit: Fit, network: Network, clusters: Clusters) -> list[str]:
    """Return sentences about the number of edges, the strongest, the most connected variables and clusters."""
    p, n = len(network.names), network.n_edges
    are = "is" if n == 1 else "are"
    pairs = f"of {count_of(network.n_pairs, 'possible pair')}"
    said = [f"There {are} {count_of(n, 'edge')} among the {count_of(p, 'variable')}, {pairs}."]
    degrees = np.count_nonzero(network.strengths, axis=1)
    if n_alone := int(np.count_nonzero(degrees == 0)):
        said[0] = f"{said[0][:-1]}; {count_of(n_alone, 'variable')} {'has' if n_alone == 1 else 'have'} no edge."
    first, second, weight = network.edges.select("first", "second", "weight").row(0)
    is_signed = network.is_signed[network.index[first], network.index[second]]
    form = ".2f" if abs(weight) >= 0.1 else ".2g"
    size = f"{weight:+{form}}" if is_signed else f"{weight:{form}}, without a sign"
    said.append(
        f"The strongest edge joins {as_name(first)} and {as_name(second)} (weight {size}): "
        f"{describe_edge(fit.model, first, second)}."
    )
    said.append(_describe_hubs(network, degrees))
    return [*said, _describe_clusters(clusters) if n >= _LEAST_EDGES else ""]


def _describe_hubs(network: Network, degrees: np.ndarray[tuple[int], np.dtype[np.int64]]) -> str:
    """Name the variables with the most edges; of variables that have one each, there is nothing to say."""
    if degrees.max() < 2:
        return ""
    strengths = np.abs(network.strengths).sum(axis=1)
    order = sorted(np.flatnonzero(degrees > 1), key=lambda k: (-degrees[k], -strengths[k]))[:_MOST_NAMED]
    named = [f"{as_name(network.names[k])} ({count(int(degrees[k]), 'edge')})" for k in order]
    if len(named) == 1:
        return f"The most connected variable is {named[0]}."
    return f"The most connected variables are {and_last(named)}."


def _describe_clusters(clusters: Clusters) -> str:
    """Say which clusters there are, or why there are none."""
    if not clusters.members:
        return clusters.sentence
    there = f"There are {count(len(clusters.members), 'cluster')} of {_describe_sizes(clusters)}"
    return (
        f"{there}, which are joined more among themselves than in random networks of as many edges for each variable."
    )


def _describe_sizes(clusters: Clusters) -> str:
    """Name the sizes of clusters, or of many the least and the largest."""
    sizes = [len(own) for own in clusters.members]
    if min(sizes) == max(sizes):
        return f"{count(sizes[0], 'variable')}{' each' if len(sizes) > 1 else ''}"
    if len(sizes) > _MOST_SIZES:
        return f"{min(sizes)} to {max(sizes)} variables"
    return f"{and_last([str(size) for size in sizes])} variables"


def _describe_none(fit: Fit, network: Network) -> list[str]:
    """Say that there is no edge, and why."""
    p = len(network.names)
    if p < 2:
        return [f"There is {count(p, 'variable')}, and an edge takes two."]
    alpha = fit.sparsity
    at = "" if alpha is None else f", alpha = {alpha:.3g},"
    if fit.penalty == "Ridge":
        why = "These rows do not show any more clearly than chance would: the variables may all be independent."
    elif "choice" in fit.settings:
        why = (
            f"The penalty{at} was chosen so that few of the edges are due to sampling error, and the rows do not show "
            "any edge more clearly than that."
        )
    else:
        why = f"The penalty{at} leaves no edge: no two variables go together more clearly than it asks for."
    return [f"No edge joins any two of the {p:,} variables.", why]


def _describe_rows(fit: Fit, table: Table | None, sample_weight: ArrayLike | None) -> str:
    """Say how many rows there were, and how many cells of them are missing."""
    n = table.n_rows if table is not None else fit.settings.get("n_rows")
    if n is None:
        return ""
    said = f"This was learned from {count_of(int(n), 'row')}"
    if sample_weight is not None:
        said += f" that {'counts' if n == 1 else 'count'} as {np.sum(sample_weight):,.10g}"
    n_missing = 0 if table is None else int(table.n_missing.sum())
    if not n_missing or table is None:
        return f"{said}."
    share = n_missing / table.codes.size
    return f"{said}, in which {count_of(n_missing, 'value')} ({share:.1%}) {'is' if n_missing == 1 else 'are'} missing."
