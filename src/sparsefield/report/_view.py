"""The interactive network of pages and notebooks: what its scripts draw, and the scripts."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from sparsefield.network import Network, centrality_table, make_graph
from sparsefield.plotting import choose_colors, place_nodes
from sparsefield.report._sections import Resampled, of_edge, short

# Each adds to what those before it made: `network-marks.js` begins, and `network.js` puts the parts together.
_SCRIPTS = (
    "vendor/d3-force.min.js",
    "network-marks.js",
    "network-names.js",
    "network-layer.js",
    "network-paint.js",
    "network-layout.js",
    "network-camera.js",
    "network-words.js",
    "network-gestures.js",
    "network-furniture.js",
    "network.js",
)

_SHARED = {"clusters": ["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb"]}
_PALETTE = {
    "light": {
        "background": "#ffffff",
        "ink": "#1b1f24",
        "muted": "#6b7280",
        "positive": "#3b6fb5",
        "negative": "#c2410c",
        "unsigned": "#777777",
        "node": "#5b6470",
        "scale": ["#fde725", "#5ec962", "#21918c", "#3b528b", "#440154"],
        **_SHARED,
    },
    "dark": {
        "background": "#14171c",
        "ink": "#e8eaed",
        "muted": "#9aa3af",
        "positive": "#6ea8fe",
        "negative": "#ff8c42",
        "unsigned": "#a0a0a0",
        "node": "#aeb6c2",
        "scale": ["#440154", "#3b528b", "#21918c", "#5ec962", "#fde725"],
        **_SHARED,
    },
}


def describe_network(
    network: Network,
    *,
    groups: Mapping[str, str] | None,
    colors: Mapping[str, str] | None,
    seed: int,
    resampled: Resampled | None = None,
) -> dict[str, Any]:
    """Return what the view draws: nodes with their positions, edges, strongest first, and the codes of colours.

    Parameters
    ----------
    network : Network
        The network.
    groups : mapping of variable to group, or None
        Nodes are coloured by it.
    colors : mapping of group to colour, or None
        The colours; chosen unless given.
    seed : int
        Where the random numbers of the placing start.
    resampled : mapping of pairs to what resamples say of them, optional
        The share of the resamples in which a pair has an edge, and the ends of the interval of its weight.
    """
    graph = make_graph(network)
    positions = place_nodes(graph, seed=seed)
    central = {row["node"]: row for row in centrality_table(graph).to_dicts()}
    numbers = {name: k for k, name in enumerate(graph)}
    nodes = [
        {
            "name": name,
            "x": round(float(positions[name][0]), 4),
            "y": round(float(positions[name][1]), 4),
            "group": None if groups is None else str(groups[name]),
            "cluster": None,
            "degree": central[name]["degree"],
            "strength": round(central[name]["strength"], 4),
        }
        for name in graph
    ]
    edges = sorted(graph.edges(data=True), key=lambda edge: -abs(edge[2]["weight"]))
    rows = [
        [
            numbers[a],
            numbers[b],
            short(own["weight"]),
            own.get("undecided"),
            own.get("signed", True),
            *(() if resampled is None else of_edge(resampled, a, b)),
        ]
        for a, b, own in edges
    ]
    chosen = {} if groups is None else choose_colors(map(str, groups.values()), colors)
    styles = {group: {"light": color, "dark": color, "shape": "circle"} for group, color in sorted(chosen.items())}
    return {"nodes": nodes, "edges": rows, "groups": styles, "palette": _PALETTE}


def read_view() -> tuple[str, str]:
    """Return the scripts of the view, joined in their order, and its style; neither holds data."""
    folder = files("sparsefield.report") / "page"
    scripts = (folder.joinpath(name).read_text(encoding="utf-8") for name in _SCRIPTS)
    return "\n".join(scripts), folder.joinpath("network.css").read_text(encoding="utf-8")
