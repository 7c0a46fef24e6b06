"""The network of a model: which variables interact, and how strongly."""

from __future__ import annotations

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
