"""A fit as notebooks show it: the picture of its network, and what is known of it in sentences."""

from __future__ import annotations

import io
import warnings
from base64 import b64encode
from html import escape

import networkx as nx
from matplotlib.figure import Figure

from sparsefield.fits import Fit
from sparsefield.network import make_graph
from sparsefield.plotting._network import NetworkDisplay

_INCHES, _DPI = 5.0, 100  # half the width of a notebook
_MOST_NODES = 50  # which take half a second and 100 kB; 400 of them take four seconds


def show_fit(fit: Fit) -> str:
    """Return a fit as HTML: its network, with the strongest edges where there are many, and how it ended.

    Parameters
    ----------
    fit : Fit
        The fit.
    """
    graph = make_graph(fit)
    shown = _take_strongest(graph)
    said = str(fit).splitlines()
    if 0 < len(shown) < len(graph):
        said.append(f"The picture has the {len(shown)} variables with the strongest edges.")
    lines = "".join(f"<p>{escape(line)}</p>" for line in said)
    return f'<div style="max-width: 45em">{_as_image(shown) if shown else ""}{lines}</div>'


def _as_image(graph: nx.Graph) -> str:
    picture, width = b64encode(_draw(graph)).decode("ascii"), f"{_INCHES * 72:.0f}pt"
    return f'<img alt="The network of the fit" style="width: {width}" src="data:image/png;base64,{picture}">'


def _take_strongest(graph: nx.Graph) -> nx.Graph:
    """Return the network of the variables with the strongest edges, as many as there is room for."""
    if len(graph) <= _MOST_NODES:
        return graph
    kept: dict[str, None] = {}
    for first, second, _ in sorted(graph.edges(data="weight"), key=lambda edge: -abs(edge[2])):
        if len({*kept, first, second}) <= _MOST_NODES:
            kept |= {first: None, second: None}
    return graph.subgraph([node for node in graph if node in kept])


def _draw(graph: nx.Graph) -> bytes:
    figure = Figure(figsize=(_INCHES, _INCHES), layout="constrained")
    into = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")  # names in letters that the font lacks
        NetworkDisplay(graph).plot(figure.subplots())
        figure.savefig(into, format="png", dpi=_DPI)
    return into.getvalue()
