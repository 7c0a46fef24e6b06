"""Pictures, with matplotlib."""

from sparsefield.plotting._agreement import plot_agreement
from sparsefield.plotting._curves import Curve, plot_curves, plot_dots
from sparsefield.plotting._network import place_nodes, plot_network

__all__ = ["Curve", "place_nodes", "plot_agreement", "plot_curves", "plot_dots", "plot_network"]
