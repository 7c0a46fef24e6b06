"""A path of penalties: which edges enter, and when."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from sparsefield.model import has_sign, pair_weights
from sparsefield.plotting._colors import LIGHT
from sparsefield.plotting._curves import clear_frame, scale_alphas
from sparsefield.plotting._display import Display, check_result
from sparsefield.plotting._names import name_edge, spread
from sparsefield.selection import Path

_OTHERS, _CHOSEN = "#c8cdd3", LIGHT["text"]
_FONT = 7.5  # points
_LINE = 1.25  # height of a line, in multiples of the font


class PathDisplay(Display):
    """The weights of edges along a path: the penalty gets smaller to the right, where edges enter.

    The strongest edges at the end have a colour and their name; where there is no room for all names, the weakest of
    them have none. Weights without a sign, of variables with more than two levels that are not ordered, are dashed.

    Parameters
    ----------
    alphas : sequence of float
        The penalties, from the largest to the smallest.
    names : sequence of str
        The edges.
    weights : ndarray of shape (n_alphas, n_edges)
        Their weights.
    is_signed : ndarray of shape (n_edges,)
        Whether the weight of an edge has a sign.
    chosen : float, optional
        The penalty that was chosen, at which there is a line.
    labels : int
        How many edges have their name.

    Examples
    --------
    >>> import sparsefield as sf
    >>> from sparsefield.plotting import PathDisplay
    >>> table = sf.datasets.make_field(6, strength=(1.0, 1.5), seed=7).sample(5000, method="perfect", seed=1)
    >>> display = PathDisplay.from_path(sf.path(table, n_alphas=5), labels=3).plot()
    >>> len(display.ax_.texts)
    3
    """

    _size = (8.5, 5.0)

    def __init__(
        self,
        alphas: Sequence[float],
        names: Sequence[str],
        weights: NDArray[np.float64],
        is_signed: NDArray[np.bool_],
        *,
        chosen: float | None = None,
        labels: int = 12,
    ) -> None:
        if chosen is not None and not min(alphas) <= chosen <= max(alphas):
            raise ValueError(
                f"chosen is {chosen:g}: use an alpha of the path, from {min(alphas):g} to {max(alphas):g}."
            )
        self.alphas, self.names, self.weights, self.is_signed = tuple(alphas), tuple(names), weights, is_signed
        self.chosen, self.labels = chosen, labels

    @classmethod
    def from_path(cls, path: Path, *, chosen: float | None = None, labels: int = 12) -> PathDisplay:
        """Make the picture of a path, with a line at the chosen penalty and so many edges with names."""
        check_result(path, Path, "sf.path(X)")
        if not len(path):
            raise ValueError("The path has no fits: there is nothing to draw.")
        domain = path.fits[0].model.domain
        a, b = np.triu_indices(domain.n_variables, 1)
        weights = np.array([pair_weights(domain, fit.model.interactions)[a, b] for fit in path.fits])
        ever = np.flatnonzero((weights != 0).any(axis=0))
        names = [name_edge(domain.names[a[k]], domain.names[b[k]]) for k in ever]
        return cls(
            path.alphas, names, weights[:, ever], has_sign(domain)[a[ever], b[ever]], chosen=chosen, labels=labels
        )

    def _draw(self, ax: Axes) -> None:
        clear_frame(ax)
        is_shown = scale_alphas(ax, self.alphas)
        weights, alphas = self.weights[is_shown], np.asarray(self.alphas)[is_shown]
        last = weights[-1]
        strongest = [k for k in np.argsort(-np.abs(last), kind="stable") if last[k] != 0][: self.labels]
        colors = dict(zip(strongest, cycle(LIGHT["groups"]), strict=False))
        order = sorted(range(len(self.names)), key=lambda k: k in colors)  # those with names on top
        lines = LineCollection(
            [np.column_stack([alphas, weights[:, k]]) for k in order],
            colors=[colors.get(k, _OTHERS) for k in order],
            linewidths=[1.5 if k in colors else 0.8 for k in order],
            linestyles=["-" if self.is_signed[k] else "--" for k in order],
        )
        ax.add_collection(lines)
        ax.axhline(0, color=LIGHT["faint"], linewidth=0.8)
        ax.margins(y=0.05)
        ax.autoscale_view(scalex=False)
        if not self.names:
            ax.set_ylim(-1, 1)
            ax.set_title("no edge at any alpha")
        are_signed = self.is_signed.any() or not self.names
        ax.set_ylabel("weight" if are_signed else "weight (of unordered levels, without a sign)")
        self._mark(ax)
        self._write_names(ax, strongest, last, colors)

    def _mark(self, ax: Axes) -> None:
        """Mark the chosen penalty, and say which lines have no sign."""
        marks = []
        if self.chosen is not None:
            if self.chosen > 0:  # zero is not on the scale
                ax.axvline(self.chosen, color=_CHOSEN, linewidth=1.0, linestyle=":")
            marks.append(
                Line2D([], [], color=_CHOSEN, linewidth=1.0, linestyle=":", label=f"chosen: {self.chosen:.3g}")
            )
        if not self.is_signed.all():
            marks.append(Line2D([], [], color=LIGHT["unsigned"], linestyle="--", label="of unordered levels: no sign"))
        if marks:
            ax.legend(handles=marks, frameon=False, loc="lower left", bbox_to_anchor=(0, 1.0), ncols=2)

    def _write_names(self, ax: Axes, edges: list[int], last: NDArray[np.float64], colors: dict[int, str]) -> None:
        """Write names at the right, at the heights of their lines or as close to them as there is room."""
        self.figure_.draw_without_rendering()  # the layout decides how high the axes are
        height = ax.get_window_extent().height * 72 / self.figure_.dpi
        gap = _LINE * _FONT / height
        edges = edges[: int(1 / gap) + 1]
        low, high = ax.get_ylim()
        ends = [(float(last[k]) - low) / (high - low) for k in edges]
        for k, end, place in zip(edges, ends, spread(ends, gap), strict=True):
            ax.plot([1, 1.03], [end, place], color=colors[k], linewidth=0.6, transform=ax.transAxes, clip_on=False)
            ax.text(
                1.035,
                place,
                self.names[k],
                transform=ax.transAxes,
                va="center_baseline",
                fontsize=_FONT,
                color=colors[k],
                parse_math=False,
            )
