"""How few rows would have told the same."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes

from sparsefield._typing import Values
from sparsefield.plotting._colors import LIGHT
from sparsefield.plotting._curves import clear_frame
from sparsefield.plotting._display import Display, check_result
from sparsefield.resampling import Stability

_REACHED = 0.7  # the correlation that CS coefficients ask for (Epskamp, Borsboom and Fried 2018)
_BAND = (0.05, 0.95)  # the lower end is at 0.7 where 95% of the subsamples reach it, as CS coefficients ask
_COLORS = LIGHT["groups"][:2]


class StabilityCurve(NamedTuple):
    """One statistic at each share of rows kept: its mean and band over subsamples, and its CS coefficient."""

    name: str
    mean: Values
    low: Values
    high: Values
    coefficient: float


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
    >>> found = sf.stability(table, alpha=0.02, shares=(0.75, 0.5), n=20)
    >>> display = StabilityDisplay.from_stability(found).plot()
    >>> display.ax_.get_legend().get_texts()[0].get_text()
    'weights of edges (CS coefficient 0.5)'
    """

    _size = (7.0, 4.5)
    reached = _REACHED

    def __init__(self, stability: Stability) -> None:
        self.stability = stability

    @classmethod
    def from_stability(cls, stability: Stability) -> StabilityDisplay:
        """Make the picture of what was found."""
        check_result(stability, Stability, "sf.stability(estimator, X)")
        return cls(stability)

    @property
    def shares(self) -> Values:
        """The shares of rows that were kept, from the largest to the smallest."""
        return np.sort(self.stability.shares)[::-1]

    @property
    def curves(self) -> tuple[StabilityCurve, StabilityCurve]:
        """What is drawn of the weights of edges, and of the strengths of variables."""
        found, order = self.stability, np.argsort(self.stability.shares)[::-1]
        return (
            _summarise("weights of edges", found.edges[order], found.coefficient("edges", self.reached)),
            _summarise("strengths of variables", found.strength[order], found.coefficient("strength", self.reached)),
        )

    def _draw(self, ax: Axes) -> None:
        for curve, color in zip(self.curves, _COLORS, strict=True):
            ax.fill_between(self.shares, curve.low, curve.high, color=color, alpha=0.15, linewidth=0)
            label = f"{curve.name} (CS coefficient {curve.coefficient:.3g})"
            ax.plot(self.shares, curve.mean, "o-", color=color, label=label, linewidth=1.6)
        ax.axhline(
            self.reached,
            color=LIGHT["faint"],
            linestyle="--",
            linewidth=1.0,
            label=f"{self.reached:g}: what CS coefficients ask for",
        )
        clear_frame(ax)
        ax.xaxis.set_inverted(True)
        ax.set_xticks(self.shares, [f"{100 * share:g}%" for share in self.shares])
        ax.set(xlabel="rows kept", ylabel="correlation with the fit of all rows")
        ax.set_ylim(min(0.0, ax.get_ylim()[0]), 1.02)
        ax.legend(frameon=False, loc="lower left")


def _summarise(name: str, values: Values, coefficient: float) -> StabilityCurve:
    low, high = np.quantile(values, _BAND, axis=1)
    return StabilityCurve(name, values.mean(axis=1), low, high, coefficient)
