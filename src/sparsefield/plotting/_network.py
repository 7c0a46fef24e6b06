"""The network of a field, as a picture."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import cycle
from typing import Any

import matplotlib.patheffects as effects
import networkx as nx
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox
from numpy.typing import NDArray

from sparsefield.plotting._agreement import GROUP_COLORS

Positions = Mapping[Any, Any]
_ROOM = 5  # what a spring is long, in multiples of what nodes spread evenly over the plane would have
_SIDES = ((0, 5, "center", "bottom"), (0, -5, "center", "top"), (5, 0, "left", "center"), (-5, 0, "right", "center"))
_POSITIVE, _NEGATIVE, _ACROSS, _NODE = "#3b6fb5", "#c2410c", "#111111", "#777777"


def place_nodes(graph: nx.Graph, *, seed: int) -> dict[Any, Any]:
    """Place the nodes of a network: those with edges by springs, the others in a row below them."""
    alone = [node for node in graph if graph.degree(node) == 0]
    joined = graph.subgraph(node for node in graph if graph.degree(node) > 0)
    places: dict[Any, Any] = {}
    if len(joined):
        # Springs of one strength: strong edges would pull their nodes on top of each other.
        places = nx.spring_layout(joined, weight=None, k=_ROOM / np.sqrt(len(joined)), iterations=300, seed=seed)
    for k, node in enumerate(alone):
        places[node] = np.array([(k + 0.5) / len(alone) * 2 - 1, -1.25])
    return places


def plot_network(
    graph: nx.Graph,
    *,
    groups: Mapping[Any, str] | None = None,
    colors: Mapping[str, str] | None = None,
    positions: Positions | None = None,
    labels: Collection[Any] | None = None,
    seed: int = 0,
    ax: Axes | None = None,
) -> Axes:
    """Draw a network: a dot for each variable, a line for each edge, wider for a larger weight.

    Parameters
    ----------
    graph : networkx.Graph
        The network, with a weight at each edge (`make_graph`).
    groups : mapping of node to group, optional
        Nodes have the colour of their group, and so have edges within it; edges between groups are black. Without
        groups, positive edges are blue and negative ones orange.
    colors : mapping of group to colour, optional
        The colours; chosen unless given.
    positions : mapping of node to (x, y), optional
        Where nodes are; placed by springs unless given.
    labels : collection of nodes, optional
        The nodes whose names are written, the most important first; all unless given. Names that would cover others
        are left out.
    seed : int
        Where the random numbers of the placing start.
    ax : matplotlib axes, optional
        Where to draw; a new figure unless given.

    Returns
    -------
    matplotlib axes
    """
    if ax is None:
        ax = Figure(figsize=(8, 8), layout="constrained").subplots()
    places = place_nodes(graph, seed=seed) if positions is None else positions
    own = colors or dict(zip(sorted(set((groups or {}).values())), cycle(GROUP_COLORS), strict=False))
    _draw_edges(ax, graph, places, groups, own)
    nodes = list(graph)
    points = np.array([places[node] for node in nodes]).reshape(-1, 2)
    shades = [_NODE if groups is None else own[groups[node]] for node in nodes]
    ax.scatter(points[:, 0], points[:, 1], s=36, c=shades, edgecolors="white", linewidths=0.8, zorder=3)
    ax.set_axis_off()
    ax.margins(0.08)
    _write_names(ax, nodes if labels is None else list(labels), points, places)
    return ax


def _write_names(ax: Axes, nodes: list[Any], points: NDArray[np.float64], places: Positions) -> None:
    """Write names beside their dots, on the side where they cover least; those for which there is no room are left out.

    A name may cover dots, but no other name.
    """
    ax.figure.draw_without_rendering()  # type: ignore[union-attr]  # the layout decides where points are
    dots = ax.transData.transform(points)
    taken: list[Bbox] = []
    outline = [effects.withStroke(linewidth=2.0, foreground="white")]
    for node in nodes:
        best: tuple[int, Any, Bbox] | None = None
        for x, y, across, along in _SIDES:
            text = ax.annotate(
                str(node),
                places[node],
                xytext=(x, y),
                textcoords="offset points",
                ha=across,
                va=along,
                fontsize=6.5,
                path_effects=outline,
                zorder=4,
            )
            box = text.get_window_extent()
            covered = int(box.count_contains(dots))
            if any(box.overlaps(other) for other in taken) or (best is not None and best[0] <= covered):
                text.remove()
                continue
            if best is not None:
                best[1].remove()
            best = covered, text, box
        if best is not None:
            taken.append(best[2])


def _draw_edges(
    ax: Axes, graph: nx.Graph, places: Positions, groups: Mapping[Any, str] | None, colors: Mapping[str, str]
) -> None:
    edges = [(a, b, float(weight)) for a, b, weight in graph.edges(data="weight", default=1.0)]
    most = max((abs(weight) for _, _, weight in edges), default=1.0)
    # Edges between groups last, on top.
    edges.sort(key=lambda edge: groups is not None and groups[edge[0]] != groups[edge[1]])
    shades, fades = [], []
    for a, b, weight in edges:
        is_across = groups is not None and groups[a] != groups[b]
        by_sign = _POSITIVE if weight > 0 else _NEGATIVE
        shades.append(_ACROSS if is_across else by_sign if groups is None else colors[groups[a]])
        fades.append(0.75 if is_across else 0.3)
    lines = LineCollection(
        [(places[a], places[b]) for a, b, _ in edges],
        colors=shades,
        alpha=fades or None,
        linewidths=[0.4 + 2.2 * abs(weight) / most for _, _, weight in edges],
        zorder=1,
    )
    ax.add_collection(lines)
