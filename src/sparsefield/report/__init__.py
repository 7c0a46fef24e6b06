"""The interactive page about a fit, one HTML file that opens without a network, and what notebooks show of a fit."""

from sparsefield.report._notebook import show_fit
from sparsefield.report._report import write_report

__all__ = ["show_fit", "write_report"]
