"""Pictures, with matplotlib: displays that know their data, and the functions that draw them."""

from sparsefield._extras import explain_missing

try:
    from sparsefield.plotting._agreement import plot_agreement
    from sparsefield.plotting._bootstrap import DifferencesDisplay, SharesDisplay
    from sparsefield.plotting._choice import ChoiceDisplay
    from sparsefield.plotting._colors import PALETTE, choose_colors, style_groups
    from sparsefield.plotting._curves import Curve, plot_curves, plot_dots
    from sparsefield.plotting._heatmap import HeatmapDisplay
    from sparsefield.plotting._inference import PairsDisplay, StrengthDisplay
    from sparsefield.plotting._layout import place_nodes
    from sparsefield.plotting._names import as_percent
    from sparsefield.plotting._network import NetworkDisplay, plot_network
    from sparsefield.plotting._path import PathDisplay
    from sparsefield.plotting._roc import RocDisplay
    from sparsefield.plotting._stability import StabilityDisplay
    from sparsefield.plotting._trace import TraceDisplay
except ModuleNotFoundError as error:
    raise explain_missing(error, "A picture", "plot") from error

__all__ = [
    "PALETTE",
    "ChoiceDisplay",
    "Curve",
    "DifferencesDisplay",
    "HeatmapDisplay",
    "NetworkDisplay",
    "PairsDisplay",
    "PathDisplay",
    "RocDisplay",
    "SharesDisplay",
    "StabilityDisplay",
    "StrengthDisplay",
    "TraceDisplay",
    "as_percent",
    "choose_colors",
    "place_nodes",
    "plot_agreement",
    "plot_curves",
    "plot_dots",
    "plot_network",
    "style_groups",
]
