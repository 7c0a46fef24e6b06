"""Progress bars: rows that are read, penalties that are tried, steps of a fit, pairs that are tested."""

from sparsefield.progress._bars import Bars, PairsBar, PiecesBar, ProgressBar, RowsBar

__all__ = [
    "Bars",
    "PairsBar",
    "PiecesBar",
    "ProgressBar",
    "RowsBar",
]
