"""The network of a model: which variables interact, and how strongly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import networkx as nx
import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import rankdata

from sparsefield._domain import Domain
from sparsefield._model import PairwiseMRF
from sparsefield._result import Fit


def edge_strengths(model: PairwiseMRF) -> NDArray[np.float64]:
    """Return a number for each pair of variables (p, p).

    The interaction where both have one slot, and otherwise the L2 norm of the interactions of their levels.
    """
    member = _membership(model.domain)
    if np.array_equal(member, np.eye(len(member))):
        return model.interactions.copy()
    norms = np.sqrt(member.T @ model.interactions**2 @ member)
    # With one slot each, the sum over slots is the interaction itself.
    return np.asarray(np.where(has_sign(model.domain), member.T @ model.interactions @ member, norms))


def has_sign(domain: Domain) -> NDArray[np.bool_]:
    """Say for each pair of variables (p, p) whether their edge has a sign: where both have a single slot."""
    is_single = np.bincount(domain.slot_variables, minlength=domain.n_variables) == 1
    return np.asarray(is_single[:, None] & is_single)


def _membership(domain: Domain) -> NDArray[np.float64]:
    return np.asarray(domain.slot_variables[:, None] == np.arange(domain.n_variables), dtype=np.float64)


def make_graph(fitted: PairwiseMRF | Fit, nodes: Mapping[str, Mapping[str, Any]] | None = None) -> nx.Graph:
    """Return the network: a node for each variable, an edge with a signed weight for each pair that interacts.

    Parameters
    ----------
    fitted : PairwiseMRF or Fit
        The field. The edges of a fit that knows which of them its noise leaves open have an attribute `undecided`.
    nodes : mapping of variable to attributes, optional
        Further attributes, such as a group. Those with a single main effect have it as `main`.

    Returns
    -------
    networkx.Graph
        Weights are interactions where both variables have one slot, otherwise the L2 norm of the interactions of their
        levels, which has no sign: such edges have `signed=False`.

    Examples
    --------
    >>> import sparsefield as sf
    >>> model = sf.PairwiseMRF.binary([0.5, 0.0], [[0.0, -1.0], [-1.0, 0.0]], names=["rain", "sun"])
    >>> graph = sf.make_graph(model, nodes={"sun": {"group": "weather"}})
    >>> graph.edges["rain", "sun"]["weight"], graph.nodes["sun"]
    (-1.0, {'main': 0.0, 'group': 'weather'})
    """
    model = fitted.model if isinstance(fitted, Fit) else fitted
    domain = model.domain
    graph = nx.Graph()
    for i, name in enumerate(domain.names):
        slots = np.flatnonzero(domain.slot_variables == i)
        graph.add_node(name)
        if len(slots) == 1:
            graph.nodes[name]["main"] = float(model.main[slots[0]])
        graph.nodes[name].update((nodes or {}).get(name, {}))
    signed = has_sign(domain)
    place = {name: i for i, name in enumerate(domain.names)}
    edges = edge_table(fitted)
    marked = edges["undecided"].to_list() if "undecided" in edges.columns else [None] * len(edges)
    for (first, second, weight), mark in zip(
        edges.select("first", "second", "weight").iter_rows(), marked, strict=True
    ):
        if weight != 0:
            graph.add_edge(first, second, weight=weight, **({} if mark is None else {"undecided": mark}))
            if not signed[place[first], place[second]]:
                graph.edges[first, second]["signed"] = False
    return graph


def centrality_table(graph: nx.Graph) -> pl.DataFrame:
    """Return how central each node of a network is; nodes without edges have zeros.

    Parameters
    ----------
    graph : networkx.Graph
        A network with signed weights, as of `make_graph`.

    Returns
    -------
    polars.DataFrame
        For each node: degree, the number of its edges; strength, the sum of their absolute weights; influence, the sum
        of their weights (expected influence); closeness and betweenness along shortest paths, an edge being as long as
        the inverse of its absolute weight.

    Examples
    --------
    >>> import sparsefield as sf
    >>> table = sf.centrality_table(sf.make_graph(sf.datasets.make_star(4, seed=1)))
    >>> table["degree"].to_list(), table["betweenness"].to_list()
    ([3, 1, 1, 1], [1.0, 0.0, 0.0, 0.0])
    """
    lengths = nx.Graph()
    lengths.add_nodes_from(graph)
    lengths.add_weighted_edges_from((a, b, 1 / abs(weight)) for a, b, weight in graph.edges(data="weight") if weight)
    weights = {node: [weight for _, _, weight in graph.edges(node, data="weight")] for node in graph}
    closeness = nx.closeness_centrality(lengths, distance="weight")
    betweenness = nx.betweenness_centrality(lengths, weight="weight")
    return pl.DataFrame(
        {
            "node": pl.Series([str(node) for node in graph], dtype=pl.String),
            "degree": pl.Series([len(own) for own in weights.values()], dtype=pl.Int64),
            "strength": pl.Series([float(np.abs(own).sum()) for own in weights.values()], dtype=pl.Float64),
            "influence": pl.Series([float(np.sum(own)) for own in weights.values()], dtype=pl.Float64),
            "closeness": pl.Series([float(closeness[node]) for node in graph], dtype=pl.Float64),
            "betweenness": pl.Series([float(betweenness[node]) for node in graph], dtype=pl.Float64),
        }
    )


def edge_table(fitted: PairwiseMRF | Fit) -> pl.DataFrame:
    """Return the edges as a table, strongest first.

    Of a fit that knows which of its parameters are undecided, there is a column that says so: whether the noise of the
    draws leaves open that an edge is none. Pairs without an edge of which it leaves open that they have one come last,
    with weight zero.
    """
    model = fitted.model if isinstance(fitted, Fit) else fitted
    marked = fitted.undecided if isinstance(fitted, Fit) else None
    names, strengths = model.domain.names, edge_strengths(model)
    is_open = np.zeros(strengths.shape, dtype=bool)
    if marked is not None:
        member = _membership(model.domain)
        # An edge is settled as soon as one of its parameters is.
        settled = member.T @ ((model.interactions != 0) & ~marked) @ member > 0
        is_open = (member.T @ marked @ member > 0) & ~settled
    pairs = np.argwhere(np.triu((strengths != 0) | is_open, 1))
    weights = strengths[pairs[:, 0], pairs[:, 1]]
    order = np.argsort(-np.abs(weights), kind="stable")
    columns = {
        "first": pl.Series([names[i] for i in pairs[order, 0]], dtype=pl.String),
        "second": pl.Series([names[j] for j in pairs[order, 1]], dtype=pl.String),
        "weight": pl.Series(weights[order], dtype=pl.Float64),
    }
    if marked is not None:
        columns["undecided"] = pl.Series(is_open[pairs[order, 0], pairs[order, 1]], dtype=pl.Boolean)
    return pl.DataFrame(columns)


def edge_auc(interactions: NDArray[np.float64], truth: PairwiseMRF) -> NDArray[np.float64]:
    """Return the area under the ROC curve of edges ranked by the size of their interaction, against a known field.

    It is the probability that an edge of the truth ranks above a pair without one, ties counting half.

    Parameters
    ----------
    interactions : ndarray of shape (..., n_variables, n_variables)
        One or more matrices of interactions.
    truth : PairwiseMRF
        The field whose edges should be found: some, but not all pairs.
    """
    first, second = np.triu_indices(truth.domain.n_variables, 1)
    is_edge = edge_strengths(truth)[first, second] != 0
    n_edges, n_others = int(is_edge.sum()), int((~is_edge).sum())
    if n_edges == 0 or n_others == 0:
        raise ValueError("An area under the ROC curve needs a truth with an edge and a pair without one.")
    ranks = rankdata(np.abs(interactions[..., first, second]), axis=-1)
    found = (ranks[..., is_edge].sum(axis=-1) - n_edges * (n_edges + 1) / 2) / (n_edges * n_others)
    return np.asarray(found)
