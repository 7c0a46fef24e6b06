"""Curves with bands, and dots on lines: what figures of experiments have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, eq=False)
class Curve:
    """A line, with a band of one standard error on both sides where it is a mean.

    Parameters
    ----------
    label : str
        What it is called in the legend.
    x, y : array-like
        Where it goes.
    error : array-like, optional
        Half of the width of the band.
    color, style : str
        How the line looks, in matplotlib's words.
    """

    label: str
    x: ArrayLike
    y: ArrayLike
    error: ArrayLike | None = None
    color: str = "black"
    style: str = "-"


def plot_curves(ax: Axes, curves: Sequence[Curve], *, title: str = "", x: str = "", y: str = "") -> Axes:
    """Draw curves, with a title and names of the axes."""
    for curve in curves:
        ax.plot(curve.x, curve.y, curve.style, color=curve.color, label=curve.label, linewidth=1.6)
        if curve.error is not None:
            middle, half = np.asarray(curve.y, dtype=float), np.asarray(curve.error, dtype=float)
            ax.fill_between(np.asarray(curve.x), middle - half, middle + half, color=curve.color, alpha=0.15, lw=0)
    ax.set(title=title, xlabel=x, ylabel=y)
    clear_frame(ax)
    return ax


def plot_dots(
    ax: Axes,
    names: Sequence[str],
    values: Sequence[Sequence[float]],
    *,
    labels: Sequence[str],
    colors: Sequence[str],
    name_colors: Sequence[str] | None = None,
    title: str = "",
    x: str = "",
) -> Axes:
    """Draw a line for each name, first on top, with a dot for each series of values."""
    heights = np.arange(len(names))
    ax.hlines(heights, 0, np.max(values, axis=0, initial=0.0), color="#d9d9d9", linewidth=1, zorder=1)
    # The first series as rings, so that dots of the others at the same point do not hide them.
    for k, (series, label, color) in enumerate(zip(values, labels, colors, strict=True)):
        face = "none" if k == 0 and len(values) > 1 else color
        size = 8 if k == 0 and len(values) > 1 else 5
        ax.plot(series, heights, "o", color=color, markerfacecolor=face, label=label, markersize=size, zorder=2)
    ax.set_yticks(heights, names, fontsize=8)
    ax.invert_yaxis()
    ax.set(title=title, xlabel=x)
    for text, color in zip(ax.get_yticklabels(), name_colors or (), strict=False):
        text.set_color(color)
    clear_frame(ax)
    ax.tick_params(axis="y", length=0)
    return ax


def clear_frame(ax: Axes) -> None:
    """Leave the axes, and light lines to read them by."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(color="#ececec", linewidth=0.7)
    ax.set_axisbelow(True)


def scale_alphas(ax: Axes, alphas: Sequence[float], *, margin: float = 0.0) -> NDArray[np.bool_]:
    """Let the penalty fall to the right on a scale of powers, and say which penalties can be shown on it: not zero."""
    is_shown = np.asarray(alphas) > 0
    shown = np.asarray(alphas)[is_shown]
    if not len(shown):
        raise ValueError("The only alpha is zero, which a scale of powers cannot show: there is nothing to draw.")
    ax.set_xscale("log")
    if shown.min() < shown.max():
        beyond = (shown.max() / shown.min()) ** margin
        ax.set_xlim(shown.max() * beyond, shown.min() / beyond)
    else:
        ax.xaxis.set_inverted(True)
    is_narrow = shown.max() < 5 * shown.min()  # there may be one of 1, 2 and 5 in it
    ax.xaxis.set_major_locator(MaxNLocator(5) if is_narrow else LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.xaxis.set_major_formatter("{x:g}")
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_xlabel("alpha" if is_shown.all() else "alpha (that of zero is not shown)")
    return is_shown
