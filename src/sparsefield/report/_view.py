"""The interactive network of pages and notebooks: what its scripts draw, and the scripts."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from importlib.resources import files
from typing import Any

import networkx as nx
from jinja2 import Environment, PackageLoader, StrictUndefined

from sparsefield.network import Clusters, Network, make_graph
from sparsefield.pairs import as_level
from sparsefield.plotting import PALETTE, place_nodes, style_groups
from sparsefield.report._sections import Shares, short

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
    "network-link.js",
    "network.js",
)


def describe_network(
    network: Network,
    *,
    groups: Mapping[str, str] | None,
    colors: Mapping[str, str] | None,
    seed: int,
    shares: Shares | None = None,
    clusters: Clusters | None = None,
    only: Collection[str] | None = None,
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
    shares : mapping of pairs to shares, optional
        The share of the resamples in which a pair has an edge.
    clusters : Clusters, optional
        What `find_clusters` found, for colours by cluster.
    only : collection of variables, optional
        Those that are drawn; all unless given. Degrees and strengths are those of the whole network.
    """
    whole = make_graph(network)
    graph = whole if only is None else _take(whole, set(only))
    positions = place_nodes(graph, seed=seed)
    cluster_of = {} if clusters is None else clusters.cluster_of
    numbers = {name: k for k, name in enumerate(graph)}
    nodes = [
        {
            "name": name,
            "x": round(float(positions[name][0]), 4),
            "y": round(float(positions[name][1]), 4),
            "group": None if groups is None else str(groups[name]),
            "cluster": cluster_of.get(name),
            "isBinary": network.mains[network.index[name]] is not None,
            "degree": whole.degree[name],
            "strength": short(sum(abs(own["weight"]) for own in whole[name].values())),
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
            None if shares is None else shares.get(frozenset((a, b)), 0.0),
            *_describe_sureness(network, own),
        ]
        for a, b, own in edges
    ]
    return {
        "nodes": nodes,
        "edges": rows,
        "groups": {} if groups is None else style_groups(map(str, groups.values()), colors),
        # Styles are given in the order of names, which is that of the clusters.
        "clusters": list(style_groups(f"{k:09}" for k in set(cluster_of.values())).values()),
        "palette": PALETTE,
        "decimals": network.n_decimals,
        **(
            {}
            if network.inference is None
            else {"level": as_level(network.inference.level), "fdr": network.inference.fdr}
        ),
    }


def _describe_sureness(network: Network, edge: Mapping[str, Any]) -> list[Any]:
    """Return estimate, ends of the interval, q-value, and whether it is an edge at the rate, where these are known."""
    if network.inference is None or "estimate" not in edge:
        return []
    known = [short(edge[name]) for name in ("estimate", "low", "high", "q")]
    return [*known, edge["q"] <= network.inference.fdr]


def _take(whole: nx.Graph, only: set[str]) -> nx.Graph:
    """Return a part of a network; nodes keep their order, which a subgraph of networkx takes from a set."""
    graph = nx.Graph()
    graph.add_nodes_from(name for name in whole if name in only)
    graph.add_edges_from(edge for edge in whole.edges(data=True) if only.issuperset(edge[:2]))
    return graph


def make_environment() -> Environment:
    """Return the templates of pages, which escape all that they are given and refuse what is not there."""
    return Environment(loader=PackageLoader("sparsefield.report", "page"), autoescape=True, undefined=StrictUndefined)


def read_view() -> tuple[str, str]:
    """Return the scripts of the view, joined in their order, and its style; neither holds data.

    Lines of comments and indentation, which are for readers of the source, are left out: every notebook output holds
    the scripts.
    """
    folder = files("sparsefield.report") / "page"
    texts = (folder.joinpath(name).read_text(encoding="utf-8") for name in (*_SCRIPTS, "network.css"))
    *scripts, style = (re.sub(r"^[ ]*(//.*\n)?", "", text, flags=re.MULTILINE) for text in texts)
    return "\n".join(scripts), style
