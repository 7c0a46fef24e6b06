"""How few rows would have told the same."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from sparsefield.plotting._curves import clear_frame
from sparsefield.plotting._display import Display
from sparsefield.selection import Stability

_REACHED = 0.7  # the correlation that CS coefficients ask for (Epskamp, Borsboom and Fried 2018)
_BAND = (0.05, 0.95)  # the lower end is at 0.7 where 95% of the subsamples reach it, as CS coefficients ask

Values = NDArray[np.float64]


class StabilityDisplay(Display):
    """Correlations of fits of fewer and fewer rows with the fit of all rows, for edges and for strengths.

    Lines are means, bands go from the 5% to the 95% percentile of the subsamples.

    Parameters
    ----------
    stability : Stability
        What was found.

    Examples
    --------
    >>> import sparsefield as sf
    >>> from sparsefield.plotting import StabilityDisplay
    >>> table = sf.datasets.make_field(6, strength=(1.0, 1.5), seed=7).sample(5000, method="perfect", seed=1)
    >>> found = sf.selection.stability(table, 0.02, shares=(0.75, 0.5), n=20)
    >>> display = StabilityDisplay.from_stability(found).plot()
    >>> display.ax_.get_legend().get_texts()[0].get_text()
    'weights of edges (CS coefficient 0.5)'
    """

    _size = (7.0, 4.5)

    def __init__(self, stability: Stability) -> None:
        self.stability = stability

    @classmethod
    def from_stability(cls, stability: Stability) -> StabilityDisplay:
        """Make the picture of what was found."""
        return cls(stability)

    def _draw(self, ax: Axes) -> None:
        found = self.stability
        order = np.argsort(found.shares)[::-1]
        x = np.asarray(found.shares)[order]
        self._draw_one(ax, x, found.edges[order], found.coefficient("edges", _REACHED), "weights of edges", "#1f5fa8")
        self._draw_one(
            ax, x, found.strength[order], found.coefficient("strength", _REACHED), "strengths of variables", "#c2410c"
        )
        ax.axhline(
            _REACHED,
            color="#9a9a9a",
            linestyle="--",
            linewidth=1.0,
            label=f"{_REACHED:g}: what CS coefficients ask for",
        )
        clear_frame(ax)
        ax.xaxis.set_inverted(True)
        ax.set_xticks(x, [f"{100 * share:g}%" for share in x])
        ax.set(xlabel="rows kept", ylabel="correlation with the fit of all rows")
        ax.set_ylim(min(0.0, ax.get_ylim()[0]), 1.02)
        ax.legend(frameon=False, loc="lower left")

    def _draw_one(self, ax: Axes, x: Values, values: Values, coefficient: float, name: str, color: str) -> None:
        """Draw the mean and the band of one statistic."""
        low, high = np.quantile(values, _BAND, axis=1)
        ax.fill_between(x, low, high, color=color, alpha=0.15, linewidth=0)
        label = f"{name} (CS coefficient {coefficient:.3g})"
        ax.plot(x, values.mean(axis=1), "o-", color=color, label=label, linewidth=1.6)
