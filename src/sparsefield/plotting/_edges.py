"""How the edges of a network look: the sign is the colour, the weight the width, dashes and dots what is not sure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import networkx as nx
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba
from numpy.typing import NDArray

from sparsefield.plotting._colors import LIGHT

# Sizes were chosen by looking at pictures of 1 to 5000 edges.
_THINNEST = 0.6  # points
_WIDEST = (1.4, 4.5)  # points: where edges cover the picture, and where there are a few
_INK = 0.2  # the share of the picture that edges may cover before they are thinner and paler
_FAINTEST, _FULL = 0.15, 0.92  # opacities
_DASHES, _DOTS = (0, (3.0, 2.0)), (0, (1.0, 1.6))  # in multiples of the width
_THINNEST_DASHED = 1.0  # points: dashes of thinner lines run into each other

Positions = Mapping[Any, Any]


def sign_of(look: Mapping[str, Any]) -> str:
    """Return the code of an edge by its attributes: `positive`, `negative` or `unsigned`."""
    if not look.get("signed", True):
        return "unsigned"
    return "negative" if look.get("weight", 1.0) < 0 else "positive"


def is_unsure(look: Mapping[str, Any], fdr: float | None) -> bool:
    """Say whether the q-value of an edge is known, and above the rate."""
    return fdr is not None and look.get("q", 0.0) > fdr


def _look_of(look: Mapping[str, Any], fdr: float | None) -> Any:
    """Return how the line of an edge is broken."""
    return _DOTS if is_unsure(look, fdr) else _DASHES if look.get("undecided") else "-"


def sizes_of(graph: nx.Graph) -> NDArray[np.float64]:
    """Return the absolute weight of each edge."""
    return np.array([abs(weight) for *_, weight in graph.edges(data="weight", default=1.0)], dtype=float)


def draw_edges(ax: Axes, graph: nx.Graph, positions: Positions) -> float:
    """Draw a line for each edge, the strongest on top; few are bold, many thin and faint. Return the largest width."""
    edges, sizes = list(graph.edges(data=True)), sizes_of(graph)
    if not edges:
        return 0.0
    shares = sizes / sizes.max() if sizes.max() > 0 else np.ones(len(sizes))
    lines = np.array([(positions[a], positions[b]) for a, b, _ in edges], dtype=float)
    widths, opacities = _see_through(ax, lines, shares)
    looks = [_look_of(own, graph.graph.get("fdr")) for *_, own in edges]
    widths = np.where([look != "-" for look in looks], np.maximum(widths, _THINNEST_DASHED), widths)
    order = np.argsort(shares, kind="stable")
    colors = [to_rgba(LIGHT[sign_of(edges[k][2])], opacities[k]) for k in order]  # type: ignore[literal-required]
    ax.add_collection(
        LineCollection(
            [*lines[order]],
            colors=colors,
            linewidths=widths[order],
            linestyles=[looks[k] for k in order],
            capstyle="butt",
            zorder=1,
        ),
        autolim=False,
    )
    return float(widths.max())


def _see_through(
    ax: Axes, lines: NDArray[np.float64], shares: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return width in points and opacity of each edge, by its share of the largest weight and by the ink of all."""
    ends = ax.transData.transform(lines.reshape(-1, 2)).reshape(-1, 2, 2) * 72 / ax.figure.dpi
    lengths = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)
    room = float(np.prod(np.maximum(np.ptp(ends.reshape(-1, 2), axis=0), 50.0)))  # points, of what edges span

    def widths_up_to(widest: float) -> NDArray[np.float64]:
        return _THINNEST + (widest - _THINNEST) * shares

    def paleness(widest: float) -> float:
        return _INK * room / max(float(widths_up_to(widest) @ lengths), 1e-9)  # nodes may all be at one place

    least, most = _WIDEST
    widest = float(np.clip(most * np.sqrt(paleness(most)), least, most))
    # Weak edges stand back first, strong ones later: they are what one looks for.
    weakest = float(np.clip(_FULL * paleness(widest), _FAINTEST, _FULL))
    strongest = float(np.clip(_FULL * paleness(widest) ** 0.25, _FAINTEST, _FULL))
    return widths_up_to(widest), weakest + (strongest - weakest) * shares
