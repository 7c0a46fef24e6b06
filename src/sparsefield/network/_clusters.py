"""Clusters of variables: communities of a network that is more modular than random ones with the same degrees."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import networkx as nx
import numpy as np

from sparsefield.data import count
from sparsefield.fits import Fit, Fitted
from sparsefield.model import PairwiseMRF
from sparsefield.network._graph import make_graph
from sparsefield.network._network import Network

# All of 39 rewired networks must be less modular: by chance alone, that happens once in 40 times at most, which is the
# level 0.025 of a Monte Carlo test (Barnard 1963).
_N_REWIRED = 39
_N_STARTS = 2  # Louvain's result depends on the order of its nodes: the best of a few is kept, also of rewired networks
_SWAPS_PER_EDGE = 10  # attempts; Ray, Pinar and Seshadhri (2012) find 5 to 30 swaps an edge enough to forget the start
_LEAST_MEMBERS = 3  # two variables and their edge are an edge
_MOST_EDGES = 3000  # whose comparison takes 6 s


@dataclass(frozen=True, eq=False)
class Clusters:
    """Clusters of variables that are joined more among themselves than a random network would be.

    Parameters
    ----------
    members : tuple of tuple of str
        The variables of each cluster, the largest cluster first; empty where there are no clusters worth the name.
        Variables without positive edges are in none, and nor are communities of two.
    modularity : float
        Modularity of the best partition that was found, whether or not it counts (Newman and Girvan 2004); 0.0 where
        there is none.
    sentence : str
        What was found, and what it was compared with.

    Examples
    --------
    >>> import sparsefield as sf
    >>> from sparsefield.network import find_clusters
    >>> find_clusters(sf.datasets.make_chain(5, seed=1)).members
    ()
    """

    members: tuple[tuple[str, ...], ...]
    modularity: float
    sentence: str

    @cached_property
    def cluster_of(self) -> dict[str, int]:
        """The index of the cluster of each variable that is in one."""
        return {name: k for k, own in enumerate(self.members) for name in own}


def find_clusters(network: nx.Graph | PairwiseMRF | Fit | Fitted | Network, *, seed: int = 0) -> Clusters:
    """Find clusters: communities that have the largest modularity of the positive weights.

    Random sparse networks have communities too, and a large modularity (Guimera, Sales-Pardo and Amaral 2004).
    Therefore the network is compared with 39 that have the same degrees, the same weights, and edges that were rewired
    at random: there are clusters if it is more modular than each of these. In networks with more than 3000 positive
    edges no clusters are looked for, which the sentence says. The names of variables decide ties, not their order.

    Parameters
    ----------
    network : PairwiseMRF, Fit, fitted estimator, Network or networkx.Graph
        The field, or a graph with weights, as of `make_graph`. Weights without a sign count as positive.
    seed : int
        Where the random numbers of the search and of the rewiring start.

    Returns
    -------
    Clusters
        Clusters of at least three variables each, and at least two of them; or none.

    Examples
    --------
    >>> import networkx as nx
    >>> from sparsefield.network import find_clusters
    >>> graph = nx.relabel_nodes(nx.connected_caveman_graph(3, 5), str)
    >>> nx.set_edge_attributes(graph, 1.0, "weight")
    >>> clusters = find_clusters(graph)
    >>> [len(own) for own in clusters.members], clusters.cluster_of["0"] == clusters.cluster_of["1"]
    ([5, 5, 5], True)
    """
    graph = network if isinstance(network, nx.Graph) else make_graph(network)
    edges = sorted(_order(str(a), str(b), float(w)) for a, b, w in graph.edges(data="weight", default=1.0) if w > 0)
    rng = np.random.default_rng(seed)
    if not edges:
        return Clusters((), 0.0, "There are no clusters, because no edge is positive.")
    if len(edges) > _MOST_EDGES:
        text = f"Clusters were not looked for, because there are more than {_MOST_EDGES} edges that are not negative."
        return Clusters((), 0.0, text)
    # Modularity has no unit: with a power of two the largest is about one, and squares are numbers.
    power = -math.frexp(max(weight for *_, weight in edges))[1]
    edges = [(a, b, math.ldexp(weight, power)) for a, b, weight in edges]
    parts, modularity = _find_communities(edges, rng)
    large = sorted((own for own in parts if len(own) >= _LEAST_MEMBERS), key=lambda own: (-len(own), own))
    said = f"(modularity {modularity:.2f})"
    if len(large) < 2:
        text = f"There are no clusters: no two parts of three variables or more stand apart {said}."
        return Clusters((), modularity, text)
    # As soon as one is as modular, the answer is known (Besag and Clifford 1991). Equal up to rounding is as modular.
    if any(other >= modularity - 1e-9 for other in _rewired_modularities(edges, rng)):
        text = f"There are no clusters: random networks with the same degrees are as modular {said}."
        return Clusters((), modularity, text)
    than = f"{_N_REWIRED} random networks with the same degrees are all less modular"
    return Clusters(tuple(large), modularity, f"{count(len(large), 'cluster')} {said}; {than}.")


_Edges = list[tuple[str, str, float]]


def _order(first: str, second: str, weight: float) -> tuple[str, str, float]:
    """Return an edge with the first of its names first."""
    return min(first, second), max(first, second), weight


def _find_communities(edges: _Edges, rng: np.random.Generator) -> tuple[list[tuple[str, ...]], float]:
    """Return the most modular partition of a few runs of Louvain's method (Blondel et al. 2008), and its modularity."""
    graph = nx.Graph()
    graph.add_nodes_from(sorted({name for edge in edges for name in edge[:2]}))
    # In the same order for all networks, because ties go to the first neighbour.
    graph.add_weighted_edges_from(sorted(_order(*edge) for edge in edges))
    best: list[tuple[str, ...]] = []
    most = -np.inf
    for _ in range(_N_STARTS):
        parts = nx.community.louvain_communities(graph, seed=int(rng.integers(2**32)))
        modularity = float(nx.community.modularity(graph, parts))
        if modularity > most + 1e-9:  # up to rounding, the first of equals is kept
            best, most = [tuple(sorted(own)) for own in parts], modularity
    return best, most


def _rewired_modularities(edges: _Edges, rng: np.random.Generator) -> Iterator[float]:
    """Return the modularities of random networks with the same degrees, searched as the network itself was."""
    for _ in range(_N_REWIRED):
        pairs = _rewire([(a, b) for a, b, _ in edges], rng)
        weights = rng.permutation([weight for _, _, weight in edges])
        yield _find_communities([(a, b, float(w)) for (a, b), w in zip(pairs, weights, strict=True)], rng)[1]


def _rewire(pairs: list[tuple[str, str]], rng: np.random.Generator) -> list[tuple[str, str]]:
    """Return random pairs with the same degrees: ends of two edges are swapped, unless that doubles an edge."""
    joined = {frozenset(pair) for pair in pairs}
    for i, j, is_crossed in zip(*_draw_swaps(len(pairs), rng), strict=True):
        (a, b), (c, d) = pairs[i], pairs[j][::-1] if is_crossed else pairs[j]
        first, second = frozenset((a, d)), frozenset((c, b))
        if len(first) == 1 or len(second) == 1 or first in joined or second in joined:
            continue
        joined -= {frozenset((a, b)), frozenset((c, d))}
        joined |= {first, second}
        pairs[i], pairs[j] = (a, d), (c, b)
    return pairs


def _draw_swaps(n_edges: int, rng: np.random.Generator) -> tuple[list[int], list[int], list[bool]]:
    """Return which two edges are to swap their ends, and which ends."""
    n_swaps = _SWAPS_PER_EDGE * n_edges
    first, second = rng.integers(n_edges, size=(2, n_swaps)).tolist()
    return first, second, rng.random(n_swaps).round().astype(bool).tolist()
