"""What the codes of a network's picture mean: an entry for each that is used, and for no other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import networkx as nx
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from sparsefield.plotting._colors import LIGHT, GroupStyle
from sparsefield.plotting._edges import is_unsure, sign_of, sizes_of
from sparsefield.plotting._names import shorten

MARKERS = {"circle": "o", "square": "s", "triangle": "^", "diamond": "D"}
_SIGNS = {"positive": "positive", "negative": "negative", "unsigned": "of unordered levels: no sign"}
_SAME = 0.01  # weights that differ by less of the largest have one width


def legend_marks(
    graph: nx.Graph, groups: Mapping[Any, str] | None, styles: Mapping[str, GroupStyle], widest: float
) -> list[Line2D]:
    """Return the entries: groups, signs, what is undecided, and the widest line where weights differ."""
    used = [] if groups is None else sorted({groups[node] for node in graph})
    marks = [
        Line2D([], [], marker=MARKERS[style["shape"]], linestyle="", color=style["light"], label=shorten(str(name)))
        for name in used
        if (style := styles[name])
    ]
    looks = [own for *_, own in graph.edges(data=True)]
    found = {sign_of(own) for own in looks}
    marks += [
        Line2D([], [], color=LIGHT[sign], linewidth=2.5, label=label)  # type: ignore[literal-required]
        for sign, label in _SIGNS.items()
        if sign in found
    ]
    fdr = graph.graph.get("fdr")
    if any(is_unsure(own, fdr) for own in looks):
        marks.append(
            Line2D([], [], color=LIGHT["node"], linestyle=":", label=f"may be sampling error: q above {fdr:g}")
        )
    if any(own.get("undecided") and not is_unsure(own, fdr) for own in looks):
        marks.append(Line2D([], [], color=LIGHT["node"], linestyle="--", label="undecided by simulation error"))
    sizes = sizes_of(graph)
    if len(sizes) and np.ptp(sizes) > _SAME * sizes.max():
        sign = "±" if {"positive", "negative"} <= found else "-" if "negative" in found else ""
        label = f"widest line: weight {sign}{sizes.max():.3g}"
        marks.append(Line2D([], [], color=LIGHT["node"], linewidth=widest, solid_capstyle="butt", label=label))
    return marks


def draw_legend(ax: Axes, marks: Sequence[Artist]) -> None:
    """Draw the entries in a strip of their own below the picture, in as many columns as it is wide."""
    if not marks:
        return
    for n_columns in range(len(marks), 0, -1):
        legend = ax.legend(
            handles=list(marks),
            frameon=False,
            loc="upper center",
            bbox_to_anchor=(0.5, -0.01),
            ncols=n_columns,
            fontsize=9,
            borderaxespad=0.0,
            columnspacing=1.6,
            handletextpad=0.6,
        )
        for text in legend.get_texts():
            text.set_parse_math(False)
        if legend.get_window_extent().width <= ax.get_window_extent().width:
            return
