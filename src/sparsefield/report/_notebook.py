"""A fit as notebooks show it: its network, to drag and to zoom, and what is known of it in sentences."""

from __future__ import annotations

from html import escape

import networkx as nx
from markupsafe import Markup

from sparsefield.fits import Fit
from sparsefield.network import Network, make_graph
from sparsefield.plotting import PALETTE
from sparsefield.report._view import describe_network, make_environment, read_view

_HEIGHT = 480  # pixels: half a screen
_MOST_NODES = 300  # which take a second to place; 600 take five
_EMPTY = "There are no edges: at this penalty each variable tells nothing of the others."

# Frames without rights of their own (`sandbox`) keep scripts out of the notebook, and its style out of them.
_FRAME = """<div style="max-width: 60em">
<iframe title="The network of the fit" sandbox="allow-scripts"
style="width: 100%; height: {height}px; border: 0; color-scheme: light dark" srcdoc='{document}'></iframe>
{sentences}</div>"""


def show_fit(fit: Fit) -> str:
    """Return a fit as HTML: its network, of the strongest edges where there are many variables, and how it ended.

    The network stands in a frame of its own, and works offline. Where frames are not shown, as in notebooks that are
    not trusted, the sentences remain.

    Parameters
    ----------
    fit : Fit
        The fit.
    """
    network = Network.of(fit)
    shown = _take_strongest(network)
    said = str(fit).splitlines()
    if len(shown) < len(network.names):
        said.append(f"The picture has the {len(shown)} variables with the strongest edges.")
    script, style = map(Markup, read_view())  # texts of this package, which hold no data
    document = (
        make_environment()
        .get_template("notebook.html")
        .render(
            network=describe_network(network, groups=None, colors=None, seed=0, only=shown),
            script=script,
            style=style,
            empty=_EMPTY,
            **PALETTE,
        )
    )
    # The attribute stands in single quotes: double ones, of which scripts and data have thousands, stay as they are.
    return _FRAME.format(
        height=_HEIGHT,
        document=document.replace("&", "&amp;").replace("'", "&#39;").replace("<", "&lt;"),
        sentences="".join(f"<p>{escape(line)}</p>" for line in said),
    )


def _take_strongest(network: Network) -> list[str]:
    """Return the variables with the strongest edges, as many as there is room for; all where there is."""
    graph: nx.Graph = make_graph(network)
    if len(graph) <= _MOST_NODES:
        return list(graph)
    kept: dict[str, None] = {}
    for first, second, _ in sorted(graph.edges(data="weight"), key=lambda edge: -abs(edge[2])):
        if len({*kept, first, second}) <= _MOST_NODES:
            kept |= {first: None, second: None}
    return [name for name in graph if name in kept] or list(graph)[:_MOST_NODES]
