"""The interactive page about a fit: one HTML file that opens without a network."""

from sparsefield.report._report import write_report

__all__ = ["write_report"]
