"""Names beside the nodes of a network, of which none covers another or a node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.patheffects as effects
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from sparsefield.plotting._colors import LIGHT
from sparsefield.plotting._names import shorten

_SIDES = (  # x and y of a name beside its node, in order of preference: right, left, above, below, and between them
    *((1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0)),
    *((0.9, 0.7), (-0.9, 0.7), (0.9, -0.7), (-0.9, -0.7)),
    *((0.7, 1.0), (-0.7, 1.0), (0.7, -1.0), (-0.7, -1.0)),
)
_N_DOTS = 10_000  # along all edges together, by which is found what a name would cover
_HALO = 1.8  # points of white around letters

Boxes = NDArray[np.float64]


def write_names(
    ax: Axes,
    nodes: Sequence[Any],
    positions: Mapping[Any, Any],
    *,
    lines: Sequence[tuple[Any, Any]],
    font: float,
    radius: float,
    below: set[Any],
) -> None:
    """Write names beside their nodes, in this order, where they cover least of the edges; without room, leave them out.

    Parameters
    ----------
    ax : matplotlib axes
        Where; its limits are those of the picture.
    nodes : sequence
        The nodes whose names are written, the most important first.
    positions : mapping of node to (x, y)
        Where all nodes are.
    lines : sequence of pairs of points
        The edges.
    font, radius : float
        The size of letters, and of the dots of nodes, in points.
    below : set
        The nodes whose names stand below them: those in rows.
    """
    scale = ax.figure.dpi / 72  # pixels of a point
    dots = ax.transData.transform(np.array([positions[node] for node in positions], dtype=float).reshape(-1, 2))
    around = np.column_stack([dots - radius * scale, dots + radius * scale])
    index = {node: k for k, node in enumerate(positions)}
    picture = ax.get_window_extent()
    ink = _dot(ax, lines)
    taken: Boxes = np.empty((0, 4))
    for node in nodes:
        text = ax.text(
            0,
            0,
            shorten(str(node)),
            transform=None,
            fontsize=font,
            color=LIGHT["text"],
            ha="center",
            va="center",
            parse_math=False,
            zorder=4,
            path_effects=[effects.withStroke(linewidth=_HALO, foreground=LIGHT["background"])],
        )
        extent = text.get_window_extent()
        half = np.array([extent.width, extent.height]) / 2 + scale * 0.5
        own = dots[index[node]]
        sides = np.array([(0.0, -1.0), (0.0, 1.0)] if node in below else _SIDES)
        middles = own + sides * (half + (radius + 1.0) * scale)
        boxes = np.column_stack([middles - half, middles + half])
        others = np.delete(around, index[node], axis=0)
        is_free = ~(_overlap(boxes, taken).any(axis=1) | _overlap(boxes, others).any(axis=1))
        is_free &= (boxes[:, :2] >= picture.min).all(axis=1) & (boxes[:, 2:] <= picture.max).all(axis=1)
        if not is_free.any():
            text.remove()
            continue
        free = np.flatnonzero(is_free)
        near = ink[(np.abs(ink[:, :2] - own) <= 2 * half + 2 * radius * scale).all(axis=1)]
        k = int(free[np.argmin(_overlap(boxes[free], near).sum(axis=1))])
        taken = np.vstack([taken, boxes[k]])
        _pin(ax, text, positions[node], middles[k] - own)


def _dot(ax: Axes, lines: Sequence[tuple[Any, Any]]) -> Boxes:
    """Return points along the edges, as boxes without a size."""
    if not lines:
        return np.empty((0, 4))
    ends = ax.transData.transform(np.array(lines, dtype=float).reshape(-1, 2)).reshape(-1, 2, 1, 2)
    along = np.linspace(0.02, 0.98, int(np.clip(_N_DOTS / len(lines), 3, 50)))[:, None]
    dots = (ends[:, 0] * (1 - along) + ends[:, 1] * along).reshape(-1, 2)
    return np.column_stack([dots, dots])


def _pin(ax: Axes, text: Any, place: Any, shift: NDArray[np.float64]) -> None:
    """Replace a text that was measured by one that stays beside its node when the figure is saved larger."""
    offset = shift * 72 / ax.figure.dpi
    pinned = ax.annotate(
        text.get_text(),
        place,
        xytext=(float(offset[0]), float(offset[1])),
        textcoords="offset points",
        fontsize=text.get_fontsize(),
        color=text.get_color(),
        ha="center",
        va="center",
        parse_math=False,
        zorder=4,
        path_effects=text.get_path_effects(),
        annotation_clip=False,
    )
    pinned.set_in_layout(False)  # the axes are as large as they were when names were placed
    text.remove()


def _overlap(boxes: Boxes, others: Boxes) -> NDArray[np.bool_]:
    """Say which of the boxes (left, bottom, right, top) overlap which others."""
    low = np.maximum(boxes[:, None, :2], others[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], others[None, :, 2:])
    return np.asarray((low <= high).all(axis=2))
