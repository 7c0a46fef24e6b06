"""The network as a graph of networkx, and how central its nodes are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import networkx as nx
import numpy as np
import polars as pl

from sparsefield.fits import Fit, Fitted
from sparsefield.model import PairwiseMRF
from sparsefield.network._network import Network


def make_graph(
    fitted: PairwiseMRF | Fit | Fitted | Network, nodes: Mapping[str, Mapping[str, Any]] | None = None
) -> nx.Graph:
    """Return the network: a node for each variable, an edge with a signed weight for each pair that interacts.

    Parameters
    ----------
    fitted : PairwiseMRF, Fit, fitted estimator or Network
        The field. The edges of a fit that knows which of them its simulation error leaves open have an attribute
        `undecided`, and those of `Network.of(fit, inference)` have `estimate`, `low`, `high`, `p`, `q` and `detectable`
        where these are known; the graph itself has `fdr` then, the rate at which pairs are edges.
    nodes : mapping of variable to attributes, optional
        Further attributes, such as a group. Those with a single main effect have it as `main`.

    Returns
    -------
    networkx.Graph
        Weights are as in `Network`. Those of variables with more than two levels that are not ordered have no sign:
        such edges have `signed=False`.

    Examples
    --------
    >>> import sparsefield as sf
    >>> model = sf.PairwiseMRF.binary([0.5, 0.0], [[0.0, -1.0], [-1.0, 0.0]], names=["rain", "sun"])
    >>> graph = sf.make_graph(model, nodes={"sun": {"group": "weather"}})
    >>> graph.edges["rain", "sun"]["weight"], graph.nodes["sun"]
    (-1.0, {'main': 0.0, 'group': 'weather'})
    """
    network = Network.of(fitted)
    graph = nx.Graph() if network.inference is None else nx.Graph(fdr=network.inference.fdr)
    for name, main in zip(network.names, network.mains, strict=True):
        graph.add_node(name, **({} if main is None else {"main": main}))
        graph.nodes[name].update((nodes or {}).get(name, {}))
    for edge in network.edges.filter(pl.col("weight") != 0).iter_rows(named=True):
        first, second = edge.pop("first"), edge.pop("second")
        edge.pop("signed", None)  # told where it is not so
        graph.add_edge(first, second, **{name: value for name, value in edge.items() if value is not None})
        if not network.is_signed[network.index[first], network.index[second]]:
            graph.edges[first, second]["signed"] = False
    return graph


def centrality_table(network: nx.Graph | PairwiseMRF | Fit | Fitted | Network) -> pl.DataFrame:
    """Return how central each node of a network is; nodes without edges have zeros.

    These are numbers of one network, without intervals. What other rows would show of the strength and influence of
    nodes is in `Inference.nodes`, whose edges are those at its rate, and whose weights are not shrunken.

    Parameters
    ----------
    network : PairwiseMRF, Fit, fitted estimator, Network or networkx.Graph
        The field, or a graph with signed weights, as of `make_graph`.

    Returns
    -------
    polars.DataFrame
        For each node: degree, the number of its edges; strength, the sum of their absolute weights; influence, the sum
        of their weights (expected influence); closeness and betweenness along shortest paths, an edge being as long as
        the inverse of its absolute weight.

    Examples
    --------
    >>> import sparsefield as sf
    >>> table = sf.centrality_table(sf.datasets.make_star(4, seed=1))
    >>> table["degree"].to_list(), table["betweenness"].to_list()
    ([3, 1, 1, 1], [1.0, 0.0, 0.0, 0.0])
    """
    graph = network if isinstance(network, nx.Graph) else make_graph(network)
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
