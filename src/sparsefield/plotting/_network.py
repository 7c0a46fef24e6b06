"""The network of a field, as a picture."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import matplotlib.patheffects as effects
import networkx as nx
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.transforms import Bbox
from numpy.typing import NDArray

from sparsefield.fits import Fit, Fitted
from sparsefield.model import PairwiseMRF
from sparsefield.network import Network, make_graph
from sparsefield.plotting._colors import choose_colors
from sparsefield.plotting._display import Display
from sparsefield.plotting._layout import place_nodes

Positions = Mapping[Any, Any]
_SIDES = ((0, 5, "center", "bottom"), (0, -5, "center", "top"), (5, 0, "left", "center"), (-5, 0, "right", "center"))
_POSITIVE, _NEGATIVE, _UNSIGNED, _ACROSS, _NODE = "#3b6fb5", "#c2410c", "#555555", "#111111", "#777777"


def plot_network(
    graph: nx.Graph | PairwiseMRF | Fit | Fitted | Network,
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
    graph : networkx.Graph, PairwiseMRF, Fit, fitted estimator or Network
        The network, with a weight at each edge (`make_graph`), or what has one.
    groups : mapping of node to group, optional
        Nodes have the colour of their group, and so have positive edges within it; those between groups are black.
        Without groups, positive edges are blue. Negative ones are orange.
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
    graph = graph if isinstance(graph, nx.Graph) else make_graph(graph)
    positions = place_nodes(graph, seed=seed) if positions is None else positions
    own = choose_colors((groups or {}).values(), colors)
    _draw_edges(ax, graph, positions, groups, own)
    nodes = list(graph)
    points = np.array([positions[node] for node in nodes]).reshape(-1, 2)
    shades = [_NODE if groups is None else own[groups[node]] for node in nodes]
    ax.scatter(points[:, 0], points[:, 1], s=36, c=shades, edgecolors="white", linewidths=0.8, zorder=3)
    ax.set_axis_off()
    ax.margins(0.08)
    _write_names(ax, nodes if labels is None else list(labels), points, positions)
    return ax


def _write_names(ax: Axes, nodes: list[Any], points: NDArray[np.float64], positions: Positions) -> None:
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
                positions[node],
                xytext=(x, y),
                textcoords="offset points",
                ha=across,
                va=along,
                fontsize=6.5,
                path_effects=outline,
                parse_math=False,
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
    ax: Axes, graph: nx.Graph, positions: Positions, groups: Mapping[Any, str] | None, colors: Mapping[str, str]
) -> None:
    edges = []
    for a, b, own_data in graph.edges(data=True):
        weight = float(own_data.get("weight", 1.0))
        own, other = (None, None) if groups is None else (groups[a], groups[b])
        layer, shade, fade = _style(weight, own, other, colors)
        if own is None and not own_data.get("signed", True):
            shade = _UNSIGNED
        edges.append((layer, shade, fade, (positions[a], positions[b]), abs(weight)))
    edges.sort(key=lambda edge: edge[0])
    most = max((size for *_, size in edges), default=1.0)
    lines = LineCollection(
        [line for _, _, _, line, _ in edges],
        colors=[shade for _, shade, _, _, _ in edges],
        alpha=[fade for _, _, fade, _, _ in edges] or None,
        linewidths=[0.4 + 2.2 * size / most for *_, size in edges],
        zorder=1,
    )
    ax.add_collection(lines)


def _style(weight: float, own: str | None, other: str | None, colors: Mapping[str, str]) -> tuple[int, str, float]:
    """Return layer, colour and opacity of an edge: negative ones are below, those between groups on top."""
    if weight < 0:
        return 0, _NEGATIVE, 0.3 if own is None else 0.1
    if own is None:
        return 1, _POSITIVE, 0.4
    return (1, colors[own], 0.3) if own == other else (2, _ACROSS, 0.75)


class NetworkDisplay(Display):
    """The network of a field: nodes placed by springs, those without edges in a row below them.

    Parameters
    ----------
    graph : networkx.Graph
        The network, with a signed weight at each edge (`make_graph`).
    groups : mapping of node to group, optional
        Nodes have the colour of their group, and so have positive edges within it; those between groups are black.
        Without groups, positive edges are blue. Negative ones are orange.
    colors : mapping of group to colour, optional
        The colours; chosen unless given.
    seed : int
        Where the random numbers of the placing start.

    Examples
    --------
    >>> import sparsefield as sf
    >>> from sparsefield.plotting import NetworkDisplay
    >>> display = NetworkDisplay.from_fit(sf.datasets.make_grid(3, 3, seed=1)).plot()
    >>> len(display.ax_.texts)
    9

    Of an estimator it is drawn at once:

    >>> table = sf.datasets.make_chain(4, seed=1).sample(500, method="perfect", seed=1)
    >>> mrf = sf.SparseMRF(0.05, random_state=1).fit(table)
    >>> NetworkDisplay.from_estimator(mrf).figure_.get_size_inches().tolist()
    [9.0, 9.0]
    """

    _size = (9.0, 9.0)

    def __init__(
        self,
        graph: nx.Graph,
        *,
        groups: Mapping[Any, str] | None = None,
        colors: Mapping[str, str] | None = None,
        seed: int = 0,
    ) -> None:
        self.graph, self.groups, self.colors, self.seed = graph, groups, colors, seed

    @classmethod
    def from_fit(cls, fitted: PairwiseMRF | Fit | Fitted | Network, **options: Any) -> NetworkDisplay:
        """Make the picture of a field, a fit or a fitted estimator; options as for the class."""
        return cls(make_graph(fitted), **options)

    @classmethod
    def from_estimator(cls, estimator: Fitted, *, ax: Axes | None = None, **options: Any) -> NetworkDisplay:
        """Draw the network of a fitted estimator, on these axes or on new ones; options as for the class."""
        return cls.from_fit(estimator, **options).plot(ax)

    def _draw(self, ax: Axes) -> None:
        plot_network(self.graph, groups=self.groups, colors=self.colors, seed=self.seed, ax=ax)
        if self.groups is not None:
            shades = choose_colors(self.groups.values(), self.colors)
            marks = [
                Line2D([], [], marker="o", linestyle="", color=shades[name], label=name)
                for name in sorted(set(self.groups.values()))
            ]
            marks.append(Line2D([], [], color=_ACROSS, label="positive, between groups"))
        else:
            marks = [Line2D([], [], color=_POSITIVE, label="positive")]
            if any(not signed for _, _, signed in self.graph.edges(data="signed", default=True)):
                marks.append(Line2D([], [], color=_UNSIGNED, label="of unordered levels: no sign"))
        if any(weight < 0 for _, _, weight in self.graph.edges(data="weight")):
            marks.append(Line2D([], [], color=_NEGATIVE, label="negative"))
        ax.legend(handles=marks, frameon=False, loc="upper left")
