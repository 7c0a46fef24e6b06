"""The network of a model: which variables interact, and how strongly."""

from __future__ import annotations

import networkx as nx
import numpy as np
import polars as pl
from numpy.typing import NDArray

from sparsefield._domain import Domain
from sparsefield._model import PairwiseMRF


def edge_strengths(model: PairwiseMRF) -> NDArray[np.float64]:
    """Return a number for each pair of variables (p, p).

    The interaction where both have one slot, and otherwise the L2 norm of the interactions of their levels.
    """
    domain = model.domain
    if np.array_equal(domain.slot_variables, np.arange(domain.n_variables)):
        return model.interactions.copy()
    member = _membership(domain)
    return np.asarray(np.sqrt(member.T @ model.interactions**2 @ member))


def _membership(domain: Domain) -> NDArray[np.float64]:
    return np.asarray(domain.slot_variables[:, None] == np.arange(domain.n_variables), dtype=np.float64)


def make_graph(model: PairwiseMRF) -> nx.Graph:
    """Return the network: a node for each variable, an edge with a weight for each pair that interacts."""
    names, strengths = model.domain.names, edge_strengths(model)
    graph = nx.Graph()
    graph.add_nodes_from(names)
    for i, j in np.argwhere(np.triu(strengths)):
        graph.add_edge(names[i], names[j], weight=float(strengths[i, j]))
    return graph


def edge_table(model: PairwiseMRF) -> pl.DataFrame:
    """Return the edges as a table, strongest first."""
    names, strengths = model.domain.names, edge_strengths(model)
    pairs = np.argwhere(np.triu(strengths))
    weights = strengths[pairs[:, 0], pairs[:, 1]]
    order = np.argsort(-np.abs(weights), kind="stable")
    return pl.DataFrame(
        {
            "first": [names[i] for i in pairs[order, 0]],
            "second": [names[j] for j in pairs[order, 1]],
            "weight": weights[order],
        },
        schema={"first": pl.String, "second": pl.String, "weight": pl.Float64},
    )
