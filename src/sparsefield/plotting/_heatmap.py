"""The interactions of a field as a map, variables that interact standing together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from numpy.typing import NDArray

from sparsefield.fits import Fit, Fitted
from sparsefield.model import PairwiseMRF
from sparsefield.network import Network
from sparsefield.plotting._agreement import order_by_likeness, write_names
from sparsefield.plotting._colors import LIGHT, choose_colors
from sparsefield.plotting._display import Display

_SIGNS = LinearSegmentedColormap.from_list("signs", [LIGHT["negative"], LIGHT["background"], LIGHT["positive"]])


class HeatmapDisplay(Display):
    """The matrix of interactions, ordered by cluster; blue is positive and orange negative, as edges are.

    Parameters
    ----------
    names : sequence of str
        The variables.
    strengths : ndarray of shape (n_variables, n_variables)
        Their interactions.
    groups : mapping of variable to group, optional
        Names are written in the colour of their group.
    colors : mapping of group to colour, optional
        The colours; chosen unless given.

    Examples
    --------
    >>> import sparsefield as sf
    >>> from sparsefield.plotting import HeatmapDisplay
    >>> display = HeatmapDisplay.from_fit(sf.datasets.make_grid(3, 3, seed=1)).plot()
    >>> len(display.ax_.get_xticklabels())
    9
    """

    _size = (8.0, 7.0)

    def __init__(
        self,
        names: Any,
        strengths: NDArray[np.float64],
        *,
        groups: Mapping[str, str] | None = None,
        colors: Mapping[str, str] | None = None,
    ) -> None:
        self.names, self.strengths, self.groups, self.colors = tuple(names), strengths, groups, colors

    @classmethod
    def from_fit(cls, fitted: PairwiseMRF | Fit | Fitted | Network, **options: Any) -> HeatmapDisplay:
        """Make the map of a field, a fit or a fitted estimator; options as for the class."""
        network = Network.of(fitted)
        return cls(network.names, network.strengths, **options)

    @classmethod
    def from_estimator(cls, estimator: Fitted, *, ax: Axes | None = None, **options: Any) -> HeatmapDisplay:
        """Draw the map of a fitted estimator, on these axes or on new ones; options as for the class."""
        return cls.from_fit(estimator, **options).plot(ax)

    def _draw(self, ax: Axes) -> None:
        most = float(np.abs(self.strengths).max(initial=0.0)) or 1.0
        # Variables that exclude each other do not belong together.
        order = order_by_likeness(np.maximum(self.strengths, 0.0) / most)
        image = ax.imshow(
            self.strengths[np.ix_(order, order)], cmap=_SIGNS, vmin=-most, vmax=most, interpolation="nearest"
        )
        self.figure_.colorbar(image, ax=ax, shrink=0.6, label="interaction").outline.set_visible(False)
        names = [self.names[k] for k in order]
        write_names(ax, names)
        if self.groups is not None:
            colors = choose_colors(self.groups.values(), self.colors)
            for text in (*ax.get_xticklabels(), *ax.get_yticklabels()):
                text.set_color(colors[self.groups[text.get_text()]])
