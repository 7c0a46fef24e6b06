"""Pictures, with matplotlib."""

from sparsefield.plotting._agreement import plot_agreement

__all__ = ["plot_agreement"]
