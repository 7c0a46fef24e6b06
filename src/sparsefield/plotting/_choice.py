"""The choice of a penalty: the criterion along the path."""

from __future__ import annotations

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from sparsefield.fits import Fitted, as_fit
from sparsefield.plotting._colors import LIGHT
from sparsefield.plotting._curves import Curve, plot_curves, scale_alphas
from sparsefield.plotting._display import Display, check_result
from sparsefield.selection import Choice

_LINE, _THRESHOLD, _, _EDGES = LIGHT["groups"][:4]
_CHOSEN = LIGHT["text"]
_NAMES = {
    "held_out": "log-likelihood of rows held out, nats per row",
    "instability": "share of pairs on which two subsamples disagree",
}
_BAND = "one standard error"  # of the mean over folds with rows held out
_THRESHOLDS = {"held_out": "best less one standard error", "instability": "beta"}


class ChoiceDisplay(Display):
    """The criterion of each penalty, with its errors and what it was compared with, and the number of edges.

    With rows held out bands are one standard error of the mean over folds on both sides.

    Parameters
    ----------
    choice : Choice
        The choice.

    Examples
    --------
    >>> import sparsefield as sf
    >>> from sparsefield.plotting import ChoiceDisplay
    >>> table = sf.datasets.make_field(6, strength=(1.0, 1.5), seed=7).sample(5000, method="perfect", seed=1)
    >>> choice = sf.selection.select(table, sf.EBIC(n_alphas=10))
    >>> ChoiceDisplay.from_choice(choice).plot().ax_.get_ylabel()
    'EBIC'
    """

    _size = (8.0, 4.5)

    def __init__(self, choice: Choice) -> None:
        if choice.table.is_empty():
            raise ValueError("No penalty was tried: there is nothing to draw of the choice.")
        self.choice = choice

    @classmethod
    def from_choice(cls, choice: Choice) -> ChoiceDisplay:
        """Make the picture of a choice."""
        check_result(choice, Choice, "selection.select(X)")
        return cls(choice)

    @classmethod
    def from_estimator(cls, estimator: Fitted, *, ax: Axes | None = None) -> ChoiceDisplay:
        """Draw why a fitted estimator has its penalty, on these axes or on new ones."""
        as_fit(estimator)  # which says what is wrong with others
        choice = getattr(estimator, "choice_", None)
        if not isinstance(choice, Choice):
            raise ValueError(
                "The estimator chose no penalty: it has one, or found edges without. SparseMRF(EBIC()) chooses one."
            )
        return cls(choice).plot(ax)

    @property
    def errors(self) -> pl.Series | None:
        """The standard error of each criterion over folds; None without folds, and of one fold alone."""
        table = self.choice.table
        if "standard_error" not in table.columns or table["standard_error"].is_nan().all():
            return None
        return table["standard_error"].fill_nan(0.0)

    @property
    def value_name(self) -> str:
        """What the criterion is."""
        return _NAMES.get(self.choice.criterion, self.choice.criterion.upper())

    @property
    def error_name(self) -> str:
        """What its band is."""
        return _BAND

    @property
    def threshold_name(self) -> str | None:
        """What it was compared with, and how much that is; None where the least was chosen."""
        if self.choice.threshold is None:
            return None
        return f"{_THRESHOLDS[self.choice.criterion]}: {self.choice.threshold:.4g}"

    def _draw(self, ax: Axes) -> None:
        choice = self.choice
        is_shown = scale_alphas(ax, choice.table["alpha"].to_list(), margin=0.02)
        table = choice.table.filter(is_shown)
        x, y = table["alpha"].to_numpy(), table[choice.criterion].to_numpy()
        error = None if self.errors is None else self.errors.filter(is_shown).to_numpy()
        name = self.value_name
        plot_curves(ax, [Curve(name, x, y, error, color=_LINE, style="o-")], x=ax.get_xlabel(), y=name)
        for band in ax.collections:
            band.set_label(self.error_name)
        ax.ticklabel_format(axis="y", useOffset=False)
        if choice.threshold is not None:
            ax.axhline(choice.threshold, color=_THRESHOLD, linestyle="--", linewidth=1.0, label=self.threshold_name)
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
