"""What resamples say of the edges: how often they are found, how their weights vary, and which of them differ."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib as mpl
import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.patches import Patch, Rectangle
from numpy.typing import NDArray

from sparsefield.network import Network
from sparsefield.pairs import Inference, as_level
from sparsefield.plotting._agreement import write_names
from sparsefield.plotting._colors import LIGHT
from sparsefield.plotting._curves import clear_frame
from sparsefield.plotting._display import Display, check_result
from sparsefield.plotting._names import as_percent, name_edge
from sparsefield.resampling import Bootstrap

_WEIGHT, _ZERO = LIGHT["groups"][0], LIGHT["faint"]
_FADED = 0.35  # the interval of a weight, in its colour
_SAME, _DIFFERENT, _OWN = "#d9d9d9", "#000000", "#ffffff"  # as bootnet draws them


class SharesDisplay(Display):
    """A line for each edge, strongest first: its weight, and the share of resamples that find it.

    Weights of resamples are shrunken as those of the fit are, and their percentiles no interval of the true weight.
    Intervals are those of an inference, where one is given.

    Parameters
    ----------
    table : polars.DataFrame
        The edges that are drawn, as in `Bootstrap.table`; `estimate`, `low` and `high`, where it has them, are those of
        `infer`.
    n_edges : int
        How many edges the fit has.
    n_resamples : int
        How many resamples there are.
    level : float
        The level of the intervals.

    Examples
    --------
    >>> import sparsefield as sf
    >>> from sparsefield.plotting import SharesDisplay
    >>> table = sf.datasets.make_field(6, strength=(1.0, 1.5), seed=7).sample(500, method="perfect", seed=1)
    >>> display = SharesDisplay.from_bootstrap(sf.bootstrap(table, alpha=0.02, n=20)).plot()
    >>> display.ax_.get_title()
    '4 edges, 20 resamples'
    """

    def __init__(self, table: pl.DataFrame, n_edges: int, n_resamples: int, level: float = 0.95) -> None:
        self.table, self.n_edges, self.n_resamples, self.level = table, n_edges, n_resamples, level
        self._size = (7.0, 1.4 + 0.21 * len(table))

    @classmethod
    def from_bootstrap(
        cls, bootstrap: Bootstrap, *, inference: Inference | None = None, most: int = 40
    ) -> SharesDisplay:
        """Make the picture of a bootstrap, of so many edges of the fit at most, with the intervals of an inference."""
        edges = _edges_of(bootstrap).drop("low", "high")
        n_edges, shown = len(edges), edges.head(most)
        if inference is None:
            return cls(shown, n_edges, bootstrap.n_resamples)
        ends = Network.of(bootstrap.fit, inference).edges.select("first", "second", "estimate", "low", "high")
        shown = shown.join(ends, on=["first", "second"], how="left", maintain_order="left")
        return cls(shown, n_edges, bootstrap.n_resamples, inference.level)

    def _draw(self, ax: Axes) -> None:
        table = self.table
        heights = np.arange(len(table))
        clear_frame(ax)
        ax.axvline(0, color=_ZERO, linewidth=0.8)
        if "estimate" in table.columns:
            label = f"estimate, not shrunken, and {as_level(self.level)} interval"
            ax.hlines(heights, table["low"], table["high"], color=_WEIGHT, alpha=_FADED, linewidth=4, label=label)
            ax.plot(table["estimate"], heights, "|", color=_WEIGHT, markersize=7)
        ax.plot(table["weight"], heights, "o", color=_WEIGHT, markersize=4.5, label="weight in the fit")
        names = [name_edge(row["first"], row["second"]) for row in table.iter_rows(named=True)]
        ax.set_yticks(heights, names, fontsize=8)
        for text in ax.get_yticklabels():
            text.set_parse_math(False)
        ax.tick_params(axis="y", length=0)
        ax.set_ylim(len(table) - 0.4, -0.6)
        shown = "" if len(table) == self.n_edges else f"strongest {len(table)} of "
        edges = "edge" if self.n_edges == 1 else "edges"
        ax.set_xlabel("weight")
        ax.set_title(f"{shown}{self.n_edges} {edges}, {self.n_resamples} resamples", pad=24)
        self._write_shares(ax)
        ax.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, fontsize=8)

    def _write_shares(self, ax: Axes) -> None:
        """Write in which share of the resamples each edge is found, on a darker ground for a larger one."""
        colors, where = mpl.colormaps["Blues"], ax.get_yaxis_transform()
        for height, share in enumerate(self.table["selected"]):
            ground = Rectangle((1.02, height - 0.42), 0.09, 0.84, color=colors(0.6 * share), transform=where, lw=0)
            ax.add_artist(ground).set_clip_on(False)
            ax.text(1.065, height, as_percent(share), transform=where, ha="center", va="center", fontsize=8)
        ax.text(1.065, -0.75, "found in", transform=where, ha="center", fontsize=8)


class DifferencesDisplay(Display):
    """Which edges differ: a square for each two edges, black where the difference of their weights excludes zero.

    Edges are in the order of their weights, which stand on the diagonal. As in bootnet (Epskamp, Borsboom and Fried
    2018), nothing corrects for the number of comparisons: one in twenty is black by chance where weights are the same.

    Parameters
    ----------
    names : sequence of str
        The edges.
    weights : ndarray of shape (n_edges,)
        Their weights.
    differs : ndarray of shape (n_edges, n_edges), bool
        Whether the weights of two edges differ.

    Examples
    --------
    >>> import sparsefield as sf
    >>> from sparsefield.plotting import DifferencesDisplay
    >>> table = sf.datasets.make_field(6, strength=(1.0, 1.5), seed=7).sample(500, method="perfect", seed=1)
    >>> display = DifferencesDisplay.from_bootstrap(sf.bootstrap(table, alpha=0.02, n=20)).plot()
    >>> display.differs.shape
    (4, 4)
    """

    _size = (8.0, 8.0)

    def __init__(self, names: Sequence[str], weights: NDArray[np.float64], differs: NDArray[np.bool_]) -> None:
        self.names, self.weights, self.differs = tuple(names), weights, differs

    @classmethod
    def from_bootstrap(cls, bootstrap: Bootstrap, *, most: int = 20) -> DifferencesDisplay:
        """Make the picture of a bootstrap, of the so many strongest edges of the fit."""
        edges = _edges_of(bootstrap).head(most).sort("weight", descending=True)
        pairs = list(zip(edges["first"], edges["second"], strict=True))
        differs = np.zeros((len(pairs), len(pairs)), dtype=bool)
        differs[np.triu_indices(len(pairs), 1)] = bootstrap.differences(pairs)["differs"].to_numpy()
        return cls([name_edge(*pair) for pair in pairs], edges["weight"].to_numpy(), differs | differs.T)

    def _draw(self, ax: Axes) -> None:
        n = len(self.names)
        kinds = self.differs.astype(np.int64)
        np.fill_diagonal(kinds, 2)
        colors = ListedColormap([_SAME, _DIFFERENT, _OWN])
        ax.imshow(kinds, cmap=colors, vmin=0, vmax=2, interpolation="nearest")
        write_names(ax, self.names)
        size = float(np.clip(140 / n, 3, 9))
        for k, weight in enumerate(self.weights):
            ax.text(k, k, f"{weight:.2f}", ha="center", va="center", fontsize=size)
        ax.set_xticks(np.arange(n - 1) + 0.5, minor=True)
        ax.set_yticks(np.arange(n - 1) + 0.5, minor=True)
        ax.grid(which="minor", color="white", linewidth=1.0)
        ax.tick_params(which="minor", length=0)
        marks = [Patch(color=_DIFFERENT, label="weights differ"), Patch(color=_SAME, label="no difference shown")]
        ax.legend(handles=marks, frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)


def _edges_of(bootstrap: Bootstrap) -> pl.DataFrame:
    """Return the edges of the fit, strongest first."""
    check_result(bootstrap, Bootstrap, "sf.bootstrap(estimator, X)")
    edges = bootstrap.table.filter(pl.col("weight") != 0)
    if edges.is_empty():
        raise ValueError("The fit has no edge: there is nothing to draw.")
    return edges
