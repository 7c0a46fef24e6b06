"""Bridges: edges without which a graph falls apart, and the parts that it has."""

from __future__ import annotations

import numpy as np

from sparsefield._typing import Index, Mask


def find_links(is_edge: Mask) -> tuple[Mask, Index]:
    """Mark pairs that alone join two parts of a graph, or would: bridges, and pairs of different components.

    Returns the component of each node too.
    """
    bridges, roots = _search_depth_first(is_edge)
    components = np.array(roots, dtype=np.int64)
    found = np.asarray(components[:, None] != components)
    for i, j in bridges:
        found[i, j] = found[j, i] = True
    return found, components


def _search_depth_first(is_edge: Mask) -> tuple[list[tuple[int, int]], list[int]]:
    """Return the bridges, and for each node the first one of its component.

    A bridge is an edge of a depth-first tree below which no edge leads back above (Tarjan 1974).
    """
    neighbours: list[list[int]] = [[] for _ in is_edge]
    for i, j in zip(*(own.tolist() for own in np.nonzero(is_edge)), strict=True):
        neighbours[i].append(j)
    entered, lowest, roots = [-1] * len(neighbours), [0] * len(neighbours), [0] * len(neighbours)
    found, n_entered = [], 0
    for root in range(len(neighbours)):
        if entered[root] >= 0:
            continue
        entered[root] = lowest[root] = n_entered
        roots[root] = root
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
                roots[following] = root
                n_entered += 1
                path.append((following, node, iter(neighbours[following])))
    return found, roots
