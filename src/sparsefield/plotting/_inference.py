"""What other rows would show: the weights of edges and the strengths of nodes, with their intervals."""

from __future__ import annotations

from typing import Literal

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from sparsefield.model import has_sign
from sparsefield.pairs import Inference, as_level, as_q
from sparsefield.plotting._colors import LIGHT
from sparsefield.plotting._curves import clear_frame
from sparsefield.plotting._display import Display, check_result
from sparsefield.plotting._names import name_edge, shorten

_ZERO, _NODE = LIGHT["faint"], LIGHT["groups"][0]
_FADED = 0.35  # the interval of a weight, in its colour
_BESIDE = 44  # points from the frame to the end of a q-value, which takes 35
_SIGNS = {"positive": "positive", "negative": "negative", "unsigned": "no sign"}


class PairsDisplay(Display):
    """A line for each of the surest edges, from the largest estimate to the least, with its interval and q-value.

    Where no pair is an edge at the rate, the surest pairs are drawn with hollow dots.

    Parameters
    ----------
    table : polars.DataFrame
        The pairs that are drawn, as in `Inference.table`, with a column `sign`: "positive", "negative" or "unsigned".
    n_edges, n_pairs : int
        How many edges and how many pairs there are.
    fdr, level : float
        The rate at which pairs are edges, and the level of the intervals.

    Examples
    --------
    >>> import sparsefield as sf
    >>> from sparsefield.plotting import PairsDisplay
    >>> table = sf.datasets.make_field(6, strength=(1.0, 1.5), seed=7).sample(500, method="perfect", seed=1)
    >>> display = PairsDisplay.from_inference(sf.infer(table)).plot()
    >>> display.ax_.get_title()
    '3 edges among 15 pairs (q at most 0.1)'
    """

    def __init__(self, table: pl.DataFrame, n_edges: int, n_pairs: int, fdr: float, level: float) -> None:
        self.table, self.n_edges, self.n_pairs, self.fdr, self.level = table, n_edges, n_pairs, fdr, level
        self._size = (7.0, 1.4 + 0.21 * len(table))

    @classmethod
    def from_inference(cls, inference: Inference, *, most: int = 30) -> PairsDisplay:
        """Make the picture of an inference, of so many edges at most: those with the smallest p-values."""
        check_result(inference, Inference, "sf.infer(table)")
        known = inference.table.filter(pl.col("estimate").is_not_null())
        if known.is_empty():
            raise ValueError("No pair has a weight that these rows tell of: there is nothing to draw.")
        shown = (known.filter("edge") if inference.n_edges else known).head(most)
        signed, index = has_sign(inference.domain), inference.domain.index_of
        signs = [
            "unsigned" if not signed[index(first), index(second)] else "negative" if estimate < 0 else "positive"
            for first, second, estimate in shown.select("first", "second", "estimate").iter_rows()
        ]
        table = shown.with_columns(sign=pl.Series(signs, dtype=pl.String)).sort(
            "estimate", descending=True, maintain_order=True
        )
        return cls(table, inference.n_edges, len(inference.pairs), inference.fdr, inference.level)

    def _draw(self, ax: Axes) -> None:
        colors = [LIGHT[sign] for sign in self.table["sign"]]  # type: ignore[literal-required]
        _draw_rows(
            ax,
            [name_edge(*pair) for pair in self.table.select("first", "second").iter_rows()],
            *(self.table[name].to_numpy() for name in ("estimate", "low", "high")),
            colors=colors,
            is_filled=self.table["edge"].to_numpy(),
        )
        ax.set_xlabel(f"weight, with its {as_level(self.level)} interval")
        shown = "" if len(self.table) >= self.n_edges else f"surest {len(self.table)} of "
        edges = f"{self.n_edges} edge{'' if self.n_edges == 1 else 's'}" if self.n_edges else "no edge"
        pairs = f"{self.n_pairs} pair{'' if self.n_pairs == 1 else 's'}"
        ax.set_title(f"{shown}{edges} among {pairs} (q at most {self.fdr:g})", pad=24)
        for height, q in enumerate(self.table["q"]):
            _write_beside(ax, height, as_q(q))
        _write_beside(ax, -0.85, "q")
        found = [sign for sign in _SIGNS if sign in set(self.table["sign"])]
        marks = [
            Line2D([], [], marker="o", color=LIGHT[sign], linewidth=0, markersize=4.5, label=_SIGNS[sign])  # type: ignore[literal-required]
            for sign in found
        ]
        ax.legend(handles=marks, frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, fontsize=8)


class StrengthDisplay(Display):
    """A line for each node, the strongest first: its strength or its influence, with its interval.

    The strength of a node is the sum of the absolute weights of its edges, and its influence the sum with signs. Edges
    are those at the rate of the inference, and which these are is taken for known.

    Parameters
    ----------
    table : polars.DataFrame
        The nodes that are drawn, as in `Inference.nodes`.
    measure : "strength" or "influence"
        What is drawn.
    level : float
        The level of the intervals.

    Examples
    --------
    >>> import sparsefield as sf
    >>> from sparsefield.plotting import StrengthDisplay
    >>> table = sf.datasets.make_field(6, strength=(1.0, 1.5), seed=7).sample(500, method="perfect", seed=1)
    >>> display = StrengthDisplay.from_inference(sf.infer(table)).plot()
    >>> display.table["node"][0]
    'x5'
    """

    def __init__(self, table: pl.DataFrame, measure: Literal["strength", "influence"], level: float) -> None:
        self.table, self.measure, self.level = table, measure, level
        self._size = (6.0, 1.2 + 0.21 * len(table))

    @classmethod
    def from_inference(
        cls, inference: Inference, *, measure: Literal["strength", "influence"] = "strength", most: int = 40
    ) -> StrengthDisplay:
        """Make the picture of an inference, of so many nodes with edges at most."""
        check_result(inference, Inference, "sf.infer(table)")
        if measure not in ("strength", "influence"):
            raise ValueError(f"measure is {measure!r}: use 'strength' or 'influence'.")
        if not inference.n_edges:
            raise ValueError("No pair is an edge at this rate: no node has a strength.")
        nodes = inference.nodes.filter(pl.col("edges") > 0).sort(measure, descending=True, maintain_order=True)
        return cls(nodes.head(most), measure, inference.level)

    def _draw(self, ax: Axes) -> None:
        columns = (self.measure, f"{self.measure}_low", f"{self.measure}_high")
        names = [shorten(name) for name in self.table["node"]]
        values, low, high = (self.table[name].to_numpy() for name in columns)
        _draw_rows(ax, names, values, low, high, colors=[_NODE] * len(names), is_filled=np.ones(len(names), dtype=bool))
        ax.set_xlabel(f"{self.measure}, with its {as_level(self.level)} interval")


def _draw_rows(
    ax: Axes,
    names: list[str],
    values: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    *,
    colors: list[str],
    is_filled: NDArray[np.bool_],
) -> None:
    """Draw a dot and a bar for each name, the first on top."""
    heights = np.arange(len(names))
    clear_frame(ax)
    ax.axvline(0, color=_ZERO, linewidth=0.8)
    ax.hlines(heights, low, high, color=colors, alpha=_FADED, linewidth=4)
    inside = [color if is_full else LIGHT["background"] for color, is_full in zip(colors, is_filled, strict=True)]
    ax.scatter(values, heights, s=20, facecolors=inside, edgecolors=colors, zorder=3)
    ax.set_yticks(heights, names, fontsize=8)
    for text in ax.get_yticklabels():
        text.set_parse_math(False)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(names) - 0.4, -0.6)


def _write_beside(ax: Axes, height: float, text: str) -> None:
    """Write a text to the right of the frame, whose width in points depends on the names to its left."""
    ax.annotate(
        text,
        (1.0, height),
        xycoords=ax.get_yaxis_transform(),
        xytext=(_BESIDE, 0),
        textcoords="offset points",
        ha="right",
        va="center",
        fontsize=8,
    )
