"""The choice of a penalty: the criterion along the path."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from sparsefield.plotting._curves import Curve, plot_curves, scale_alphas
from sparsefield.plotting._display import Display
from sparsefield.selection import Choice

_LINE, _EDGES, _CHOSEN, _THRESHOLD = "#1f5fa8", "#4d9221", "#111111", "#b3202c"
_NAMES = {
    "held_out": "log-likelihood of rows held out, nats per row",
    "instability": "share of pairs on which two subsamples disagree",
}
_BANDS = {"held_out": "one standard error"}
_THRESHOLDS = {"held_out": "best less one standard error", "instability": "beta"}


class ChoiceDisplay(Display):
    """The criterion of each penalty, with its errors and what it was compared with, and the number of edges.

    Bands are one standard error on both sides: of the mean over folds with rows held out, and of the simulation with
    information criteria.

    Parameters
    ----------
    choice : Choice
        The choice.

    Examples
    --------
    >>> import sparsefield as sf
    >>> from sparsefield.plotting import ChoiceDisplay
    >>> table = sf.datasets.make_field(6, strength=(1.0, 1.5), seed=7).sample(5000, method="perfect", seed=1)
    >>> choice = sf.selection.select(table, n_alphas=10)
    >>> ChoiceDisplay.from_choice(choice).plot().ax_.get_ylabel()
    'EBIC'
    """

    _size = (8.0, 4.5)

    def __init__(self, choice: Choice) -> None:
        self.choice = choice

    @classmethod
    def from_choice(cls, choice: Choice) -> ChoiceDisplay:
        """Make the picture of a choice."""
        return cls(choice)

    def _draw(self, ax: Axes) -> None:
        choice, kind = self.choice, self.choice.criterion
        is_shown = scale_alphas(ax, choice.table["alpha"].to_list(), margin=0.02)
        table = choice.table.filter(is_shown)
        x, y, name = table["alpha"].to_numpy(), table[kind].to_numpy(), _NAMES.get(kind, kind.upper())
        error = table["standard_error"].to_numpy() if "standard_error" in table.columns else None
        plot_curves(ax, [Curve(name, x, y, error, color=_LINE, style="o-")], x=ax.get_xlabel(), y=name)
        for band in ax.collections:
            band.set_label(_BANDS.get(kind, "one standard error of the simulation"))
        ax.ticklabel_format(axis="y", useOffset=False)
        if choice.threshold is not None:
            label = f"{_THRESHOLDS[kind]}: {choice.threshold:.4g}"
            ax.axhline(choice.threshold, color=_THRESHOLD, linestyle="--", linewidth=1.0, label=label)
        if choice.alpha > 0:
            ax.axvline(choice.alpha, color=_CHOSEN, linestyle=":", linewidth=1.0, label=f"chosen: {choice.alpha:.3g}")
        self._draw_edges(ax, x, table["edges"].to_numpy())
        n_edges = int(choice.table["edges"][choice.index])
        ax.set_title(f"alpha = {choice.alpha:.3g}: {n_edges} edge{'s' if n_edges != 1 else ''}", pad=36)

    def _draw_edges(self, ax: Axes, x: np.ndarray[tuple[int], np.dtype[np.float64]], n_edges: object) -> None:
        """Draw the number of edges on an axis of its own, and one legend for both."""
        edges = ax.twinx()
        edges.plot(x, np.asarray(n_edges), color=_EDGES, linestyle="--", linewidth=1.2, label="edges")
        edges.set_ylabel("edges", color=_EDGES)
        edges.set_ylim(bottom=0)
        edges.yaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
        edges.spines[["top"]].set_visible(False)
        handles = [*ax.get_legend_handles_labels()[0], *edges.get_legend_handles_labels()[0]]
        ax.legend(handles=handles, frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, fontsize=8)
