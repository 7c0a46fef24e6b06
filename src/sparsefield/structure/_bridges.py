"""Edges without which a graph falls apart, and the parts that it has."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

Mask = NDArray[np.bool_]
Index = NDArray[np.int64]


def find_links(is_edge: Mask) -> tuple[Mask, Index]:
    """Mark pairs that alone join two parts of a graph, or would: bridges, and pairs of different components.

    Returns the component of each node too.
    """
    _, components = connected_components(csr_array(is_edge), directed=False)
    found = np.asarray(components[:, None] != components)
    for i, j in _find_bridges(is_edge):
        found[i, j] = found[j, i] = True
    return found, np.asarray(components, dtype=np.int64)


def _find_bridges(is_edge: Mask) -> list[tuple[int, int]]:
    """Return the bridges: edges of a depth-first tree below which no edge leads back above (Tarjan 1974)."""
    neighbours = [np.flatnonzero(row).tolist() for row in is_edge]
    entered, lowest = [-1] * len(neighbours), [0] * len(neighbours)
    found, n_entered = [], 0
    for root in range(len(neighbours)):
        if entered[root] >= 0:
            continue
        entered[root] = lowest[root] = n_entered
        n_entered += 1
        path = [(root, -1, iter(neighbours[root]))]
        while path:
            node, above, left = path[-1]
            following = next(left, None)
            if following is None:
                path.pop()
                if above >= 0:
                    lowest[above] = min(lowest[above], lowest[node])
                    if lowest[node] > entered[above]:
                        found.append((above, node))
            elif following == above:
                continue
            elif entered[following] >= 0:
                lowest[node] = min(lowest[node], entered[following])
            else:
                entered[following] = lowest[following] = n_entered
                n_entered += 1
                path.append((following, node, iter(neighbours[following])))
    return found
