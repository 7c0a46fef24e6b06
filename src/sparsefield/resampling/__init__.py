"""Rows drawn again and fitted again: bootstrap, and subsamples of fewer and fewer rows."""

from sparsefield.resampling._asked import Asked
from sparsefield.resampling._bootstrap import Bootstrap, bootstrap
from sparsefield.resampling._endings import Ends
from sparsefield.resampling._stability import Stability, stability

__all__ = [
    "Asked",
    "Bootstrap",
    "Ends",
    "Stability",
    "bootstrap",
    "stability",
]
