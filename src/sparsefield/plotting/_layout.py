"""Where the nodes of a network are: its components side by side, and nodes without edges in rows below them.

A component is laid out by stress majorisation (Gansner, Koren and North 2004): distances in the plane are to be as long
as shortest paths, which shows chains, stars, grids and clusters as what they are, and needs no luck at the start.
"""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path
from scipy.spatial import KDTree

from sparsefield.plotting._packing import pack

Points = NDArray[np.float64]
# Distances are in multiples of the median distance of a node to the nearest other. They were chosen by looking at
# chains, stars, grids, clusters, the Senate, symptoms, and random networks of up to 2000 nodes.
_CLOSEST = 0.6  # no two nodes are closer
_MARGIN = 0.8  # around a component
_NEGATIVE = 1.5  # a negative edge is as long as so many positive ones; from 2 on, triangles with one would be flat
_SHY = 2.0  # so much longer is an edge whose ends have no neighbour in common, which may lead from cluster to cluster
_CELL = (2.0, 1.0)  # width, for a name, and height of the cell of a node without edges, where no node has any
_N_NAMES = 9  # names of twelve letters fit side by side
_MOST_ROWS = 4  # with room for names; where more are needed, nodes without edges stand as close as others
_MOST_STEPS = 150
_SETTLED = 1e-4  # of the stress: less than can be seen
_MOST_NODES = 3000  # of a component: all pairs of them are compared, 72 MB for each matrix
_N_PIVOTS = 60  # for a start (Brandes and Pich 2007), from which the majorisation goes on


def place_nodes(graph: nx.Graph, *, seed: int, aspect: float = 4 / 3) -> dict[Any, Points]:
    """Place the nodes of a network: components side by side, and nodes without edges in rows below them.

    The picture does not depend on the order of the nodes, but for the rows of those without edges, which keep it.

    Parameters
    ----------
    graph : networkx.Graph
        The network. Weak and strong edges are as long, since strong ones that were shorter would lay nodes on top of
        each other; those with a negative `weight` are longer.
    seed : int
        Where the random numbers start, which tell nodes apart that have the same neighbours.
    aspect : float
        How much wider than high the picture is.

    Returns
    -------
    dict
        x and y of each node: x from -aspect to aspect and y from -1 to 1 at most.

    Examples
    --------
    >>> import sparsefield as sf
    >>> from sparsefield.plotting import place_nodes
    >>> places = place_nodes(sf.make_graph(sf.datasets.make_chain(5, seed=1)), seed=1)
    >>> sorted(places, key=lambda name: places[name][0])[2]
    'x2'
    """
    if graph.is_directed() or graph.is_multigraph():
        raise ValueError("The graph has directions or several edges for a pair: place networkx.Graph(graph) instead.")
    rng = np.random.default_rng(seed)
    parts = [sorted(part, key=str) for part in nx.connected_components(graph) if len(part) > 1]
    parts.sort(key=lambda part: (-len(part), str(part[0])))
    blocks = [_lay_out(graph, part, rng) for part in parts]
    joined = {node for part in parts for node in part}
    alone = [node for node in graph if node not in joined]
    # Whole numbers, so that components of about the same size stand in line.
    sizes = [np.ceil(block.max(axis=0) + 2 * _MARGIN) for block in blocks]
    corners, width, height = pack(sizes, aspect)
    places = {
        node: point + corner + (size - block.max(axis=0)) / 2
        for part, block, corner, size in zip(parts, blocks, corners, sizes, strict=True)
        for node, point in zip(part, block, strict=True)
    }
    places.update(zip(alone, _in_rows(len(alone), width, height, aspect), strict=True))
    return _fit(places, aspect)


def _lay_out(graph: nx.Graph, nodes: list[Any], rng: np.random.Generator) -> Points:
    """Return the points of a component, the longer side across, from zero on."""
    n = len(nodes)
    lengths = _lengths(graph, nodes)
    start = _spread_pivots(lengths) + 0.05 * rng.standard_normal((n, 2))
    points = start if n > _MOST_NODES else _majorise(start, shortest_path(lengths, directed=False))
    points = _turn(points)
    nearest = KDTree(points).query(points, k=2)[0][:, 1]
    points = _separate(points / max(float(np.median(nearest)), 1e-9), rng)
    return np.asarray(points - points.min(axis=0))


def _lengths(graph: nx.Graph, nodes: list[Any]) -> csr_array:
    """Return how long each edge is to be: longer where its ends share few neighbours, and where it is negative."""
    index = {node: k for k, node in enumerate(nodes)}
    around = {node: {*graph[node], node} for node in nodes}
    rows, columns, lengths = [], [], []
    for a, b, weight in graph.edges(nodes, data="weight", default=1.0):
        shared = len(around[a] & around[b]) - 2
        others = min(len(around[a]), len(around[b])) - 2
        length = 1.0 + (_SHY - 1) * (1 - shared / others) if others else 1.0
        rows.append(index[a])
        columns.append(index[b])
        lengths.append(length * (_NEGATIVE if weight < 0 else 1.0))
    matrix = csr_array((lengths, (rows, columns)), shape=(len(nodes),) * 2)
    return matrix + matrix.T


def _spread_pivots(lengths: csr_array) -> Points:
    """Return the plane in which distances to a few nodes, each far from the others, vary most (pivot scaling)."""
    n = lengths.shape[0]
    chosen, far = [int(np.argmax(np.diff(lengths.indptr)))], np.full(n, np.inf)
    rows = []
    for _ in range(min(n, _N_PIVOTS)):
        rows.append(shortest_path(lengths, directed=False, indices=chosen[-1]))
        far = np.minimum(far, rows[-1])
        chosen.append(int(np.argmax(far)))
    squares = np.array(rows).T ** 2
    centred = squares - squares.mean(axis=0) - squares.mean(axis=1, keepdims=True) + squares.mean()
    left, sizes, _ = np.linalg.svd(-centred / 2, full_matrices=False)
    points = np.zeros((n, 2))
    points[:, : min(2, len(sizes))] = left[:, :2] * np.sqrt(sizes[:2])
    return points


def _majorise(points: Points, wanted: Points) -> Points:
    """Return points whose distances are as wanted, those of close ones above all: the stress has weights d^-2."""
    n = len(points)
    np.fill_diagonal(wanted, 1.0)
    weights = wanted**-2.0
    np.fill_diagonal(weights, 0.0)
    laplacian = np.diag(weights.sum(axis=1)) - weights
    factor = cho_factor(laplacian + weights.mean())  # points move, their mean does not
    pull = weights * wanted
    last = np.inf
    for _ in range(_MOST_STEPS):
        squares = (points**2).sum(axis=1)
        distances = np.sqrt(np.maximum(squares[:, None] + squares - 2 * points @ points.T, 1e-12))
        stress = float((weights * (distances - wanted) ** 2).sum())
        if last - stress < _SETTLED * last:
            break
        last = stress
        ratio = pull / distances
        points = cho_solve(factor, ratio.sum(axis=1)[:, None] * points - ratio @ points)
        points -= points.sum(axis=0) / n
    return points


def _turn(points: Points) -> Points:
    """Return points with their longest direction across, and the longer tails to the right and to the top."""
    centred = points - points.mean(axis=0)
    axes = np.linalg.svd(centred, full_matrices=False)[2]
    turned = centred @ axes.T
    return np.asarray(turned * np.where((turned**3).sum(axis=0) < 0, -1.0, 1.0))


def _separate(points: Points, rng: np.random.Generator) -> Points:
    """Return points of which no two are closer than they may be, moved as little as that needs."""
    points = points.copy()
    for _ in range(_MOST_STEPS):
        pairs = KDTree(points).query_pairs(_CLOSEST, output_type="ndarray")
        if not len(pairs):
            return points
        gap = points[pairs[:, 1]] - points[pairs[:, 0]]
        size = np.linalg.norm(gap, axis=1, keepdims=True)
        gap = np.where(size > 1e-9, gap / np.maximum(size, 1e-9), rng.standard_normal(gap.shape))
        move = gap * (1.02 * _CLOSEST - size) / 2
        np.add.at(points, pairs[:, 0], -move)
        np.add.at(points, pairs[:, 1], move)
    closest = float(KDTree(points).query(points, k=2)[0][:, 1].min())
    return points * max(1.0, _CLOSEST / closest)


def _in_rows(n: int, width: float, height: float, aspect: float) -> Points:
    """Return the points of nodes without edges, in rows of the same number below a picture of this size."""
    if not n:
        return np.empty((0, 2))
    # As wide as the picture above, or as the whole is to be: its area is that of both, its shape given.
    is_named = not height or n <= _MOST_ROWS * _N_NAMES
    cell_width, cell_height = _CELL if is_named else (1.0, 1.0)
    across = max(width, np.sqrt((n * cell_width * cell_height + width * height) * aspect))
    if height and is_named:
        cell_width = max(1.0, across / _N_NAMES)
        cell_height = max(_MARGIN, cell_width / 2)
    n_columns = int(np.ceil(across / cell_width))
    n_columns = -(-n // -(-n // n_columns))  # the last row has as many, or nearly
    k = np.arange(n)
    x = (width - n_columns * cell_width) / 2 + (k % n_columns + 0.5) * cell_width
    return np.column_stack([x, -(k // n_columns + 0.5) * cell_height])


def _fit(places: dict[Any, Points], aspect: float) -> dict[Any, Points]:
    """Move points around zero, into the picture."""
    if not places:
        return {}
    points = np.array(list(places.values()))
    low, high = points.min(axis=0), points.max(axis=0)
    scale = max((high - low)[0] / aspect, (high - low)[1]) / 2 or 1.0  # one point, or none apart
    moved = (points - (low + high) / 2) / scale
    return dict(zip(places, moved, strict=True))
