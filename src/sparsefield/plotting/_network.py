"""The network of a field, as a picture."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Mapping
from functools import cached_property
from typing import Any

import networkx as nx
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sparsefield.fits import Fit, Fitted, as_fit
from sparsefield.model import PairwiseMRF
from sparsefield.network import Network, make_graph
from sparsefield.pairs import Inference
from sparsefield.plotting._colors import LIGHT, style_groups
from sparsefield.plotting._display import Display
from sparsefield.plotting._edges import Positions, draw_edges
from sparsefield.plotting._labels import write_names
from sparsefield.plotting._layout import place_nodes
from sparsefield.plotting._legend import MARKERS, draw_legend, legend_marks

# Sizes were chosen by looking at pictures of 2 to 300 variables.
_LONGEST_SIDE, _LEAST_WIDTH, _LEAST_HEIGHT = 10.5, 5.0, 3.5  # inches
_SIDE_OF_NODE = 0.75  # inches of the longest side for the root of the number of nodes, beyond the first few
_STRIPS = 1.0  # inches for the legend, and for names beyond the outermost nodes
_LETTERS = (0.13, 5.0, 10.0)  # the size of letters: share of the room of a node, least and most, in points
_DOTS = (0.065, 1.6, 4.5)  # the radius of dots, the same
_LETTERS_PER_INCH = 13  # of 10 points: full lines of what is written have 14 or more
_BEYOND = 0.05  # of the picture, around the outermost nodes


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

    Positive edges are blue, negative ones orange, and those of unordered levels, whose weights have no sign, grey.
    Edges that simulation error leaves undecided (`undecided`, as of `make_graph`) are dashed, and those whose q-value
    is above the rate of an inference dotted.

    Parameters
    ----------
    graph : networkx.Graph, PairwiseMRF, Fit, fitted estimator or Network
        The network, with a weight at each edge (`make_graph`), or what has one.
    groups : mapping of node to group, optional
        Nodes have the colour of their group, and its shape where there are more than six.
    colors : mapping of group to colour, optional
        The colours; chosen unless given (`style_groups`).
    positions : mapping of node to (x, y), optional
        Where nodes are; placed by `place_nodes` unless given.
    labels : collection of nodes, optional
        The nodes whose names are written, the most important first; all unless given, those with most edges first.
        Names that would cover others, or nodes, are left out, and long ones are cut.
    seed : int
        Where the random numbers of the placing start.
    ax : matplotlib axes, optional
        Where to draw; a new figure unless given.

    Returns
    -------
    matplotlib axes
        Without a legend, which `NetworkDisplay` has.
    """
    if ax is None:
        ax = Figure(figsize=(8, 8), layout="constrained").subplots()
    graph = graph if isinstance(graph, nx.Graph) else make_graph(graph)
    _check(graph, groups, positions, labels)
    positions = place_nodes(graph, seed=seed) if positions is None else positions
    _frame(ax, positions, graph)
    _settle(ax)
    draw_edges(ax, graph, positions)
    _draw_nodes_and_names(ax, graph, groups, colors, positions, labels)
    return ax


def _check(
    graph: nx.Graph, groups: Mapping[Any, str] | None, positions: Positions | None, labels: Collection[Any] | None
) -> None:
    """Refuse what is not about all nodes of the network, or about others."""
    for what, given in (("group", groups), ("position", positions)):
        if given is not None and (odd := [node for node in graph if node not in given]):
            raise ValueError(f"There is no {what} for node {odd[0]!r}: give one for each node.")
    places = {} if positions is None else {node: np.asarray(positions[node], dtype=np.float64) for node in graph}
    for node, place in places.items():
        if not np.isfinite(place).all():
            raise ValueError(f"Node {node!r} has the position {place.tolist()}: use finite numbers.")
    if odd := [node for node in labels or () if node not in graph]:
        raise ValueError(f"labels has {odd[0]!r}, which is no node of the network: use names of its nodes.")


def _frame(ax: Axes, positions: Positions, nodes: Collection[Any]) -> None:
    """Set the limits of the axes around all nodes, with one scale for both directions."""
    ax.set_axis_off()
    points = np.array([positions[node] for node in nodes], dtype=float).reshape(-1, 2)
    low, high = (points.min(axis=0), points.max(axis=0)) if len(points) else (-np.ones(2), np.ones(2))
    beyond = _BEYOND * float((high - low).max()) or 1.0
    ax.update_datalim([low - beyond, high + beyond])
    ax.margins(0)
    ax.autoscale_view()
    ax.set_aspect("equal", adjustable="datalim")


def _settle(ax: Axes) -> None:
    """Let the layout decide where points are."""
    ax.figure.figure.draw_without_rendering()  # the whole figure, also of a part of one
    ax.apply_aspect()


def _draw_nodes_and_names(
    ax: Axes,
    graph: nx.Graph,
    groups: Mapping[Any, str] | None,
    colors: Mapping[str, str] | None,
    positions: Positions,
    labels: Collection[Any] | None,
) -> None:
    size = ax.get_window_extent()
    room = 72 / ax.figure.dpi * float(np.sqrt(size.width * size.height / max(1, len(graph))))
    font, radius = (float(np.clip(share * room, least, most)) for share, least, most in (_LETTERS, _DOTS))
    _draw_nodes(ax, graph, groups, colors, positions, radius)
    ax.apply_aspect()  # limits wait for whoever asks after new marks, and names are placed by where nodes will be
    named = _order_by_importance(graph) if labels is None else list(labels)
    alone = {node for node in graph if not graph.degree(node)}
    lines = [(positions[a], positions[b]) for a, b in graph.edges]
    places = {node: positions[node] for node in graph}
    write_names(ax, named, places, lines=lines, font=font, radius=radius, below=alone)


def _draw_nodes(
    ax: Axes,
    graph: nx.Graph,
    groups: Mapping[Any, str] | None,
    colors: Mapping[str, str] | None,
    positions: Positions,
    radius: float,
) -> None:
    styles = {} if groups is None else style_groups(groups.values(), colors)
    for shape, marker in MARKERS.items():
        nodes = [node for node in graph if (styles[groups[node]]["shape"] if groups else "circle") == shape]
        if not nodes:
            continue
        x, y = np.array([positions[node] for node in nodes], dtype=float).T
        shades = [LIGHT["node"] if groups is None else styles[groups[node]]["light"] for node in nodes]
        ax.scatter(x, y, s=(2 * radius) ** 2, c=shades, marker=marker, edgecolors="white", linewidths=0.7, zorder=3)


def _order_by_importance(graph: nx.Graph) -> list[Any]:
    """Return the nodes, those with most edges first, and the strongest of those with as many."""
    strength = {node: sum(abs(own) for *_, own in graph.edges(node, data="weight", default=1.0)) for node in graph}
    return sorted(graph, key=lambda node: (-graph.degree(node), -strength[node]))


class NetworkDisplay(Display):
    """The network of a field: components side by side, variables without edges in rows below them.

    Positive edges are blue, negative ones orange, and those of unordered levels, whose weights have no sign, grey; the
    width is the weight. Edges that simulation error leaves undecided are dashed, and those whose q-value is above the
    rate of an inference dotted. The legend has the codes in use.

    Parameters
    ----------
    graph : networkx.Graph
        The network, with a signed weight at each edge (`make_graph`).
    groups : mapping of node to group, optional
        Nodes have the colour of their group, and its shape where there are more than six.
    colors : mapping of group to colour, optional
        The colours; chosen unless given (`style_groups`).
    positions : mapping of node to (x, y), optional
        Where nodes are; placed by `place_nodes` unless given.
    labels : collection of nodes, optional
        The nodes whose names are written, the most important first; all unless given.
    seed : int
        Where the random numbers of the placing start.
    alpha : float, optional
        The penalty, which a network without edges names.

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
    >>> [text.get_text() for text in NetworkDisplay.from_estimator(mrf).ax_.get_legend().get_texts()][0]
    'positive'
    """

    def __init__(
        self,
        graph: nx.Graph,
        *,
        groups: Mapping[Any, str] | None = None,
        colors: Mapping[str, str] | None = None,
        positions: Positions | None = None,
        labels: Collection[Any] | None = None,
        seed: int = 0,
        alpha: float | None = None,
    ) -> None:
        _check(graph, groups, positions, labels)
        self.graph, self.groups, self.colors, self.labels = graph, groups, colors, labels
        self.seed, self.alpha, self._given = seed, alpha, positions

    @classmethod
    def from_fit(
        cls, fitted: PairwiseMRF | Fit | Fitted | Network, *, inference: Inference | None = None, **options: Any
    ) -> NetworkDisplay:
        """Make the picture of a field, a fit or an estimator, with an inference if wanted; options as for the class."""
        if not isinstance(fitted, PairwiseMRF | Network):
            options = {"alpha": as_fit(fitted).alpha, **options}
        return cls(make_graph(Network.of(fitted, inference)), **options)

    @classmethod
    def from_estimator(cls, estimator: Fitted, *, ax: Axes | None = None, **options: Any) -> NetworkDisplay:
        """Draw the network of a fitted estimator, on these axes or on new ones; options as for the class."""
        return cls.from_fit(estimator, **options).plot(ax)

    @cached_property
    def positions(self) -> Positions:
        """Where nodes are."""
        return place_nodes(self.graph, seed=self.seed) if self._given is None else self._given

    @property
    def _size(self) -> tuple[float, float]:  # type: ignore[override]
        """Width and height in inches, in the shape of what is drawn."""
        points = np.array([self.positions[node] for node in self.graph], dtype=float).reshape(-1, 2)
        spans = np.ptp(points, axis=0) if len(points) else np.ones(2)
        longest = np.clip(3.5 + _SIDE_OF_NODE * np.sqrt(len(points)), _LEAST_WIDTH, _LONGEST_SIDE)
        width, height = longest * spans / (spans.max() or 1.0) + _STRIPS
        return max(float(width), _LEAST_WIDTH), max(float(height), _LEAST_HEIGHT)

    def _draw(self, ax: Axes) -> None:
        styles = {} if self.groups is None else style_groups(self.groups.values(), self.colors)
        _frame(ax, self.positions, self.graph)
        if not self.graph.number_of_edges():
            _settle(ax)
            n_letters = int(ax.get_window_extent().width / ax.figure.dpi * _LETTERS_PER_INCH)
            ax.set_title(textwrap.fill(self.absence, n_letters), fontsize=10, color=LIGHT["text"], loc="left")
        # The legend takes room from the picture, in which edges have a width, which the legend shows.
        draw_legend(ax, legend_marks(self.graph, self.groups, styles, 0.0))
        _settle(ax)
        widest = draw_edges(ax, self.graph, self.positions)
        draw_legend(ax, legend_marks(self.graph, self.groups, styles, widest))
        _draw_nodes_and_names(ax, self.graph, self.groups, self.colors, self.positions, self.labels)

    @property
    def absence(self) -> str:
        """What a network without edges says: why it has none, and what one can do."""
        if len(self.graph) < 2:
            return "No edges: there are no two variables."
        why = "in this model no two variables interact. Where a penalty was the reason, a smaller alpha"
        if self.alpha is not None:
            why = f"at alpha = {self.alpha:.3g} the interactions of all pairs of variables are zero. A smaller alpha"
        return (
            f"No edges: {why} lets weaker interactions in, and those of chance with them: resampling shows which "
            "edges return. More rows show weaker interactions."
        )
