"""The interactive page about a fit, one HTML file that opens without a network, and what notebooks show of a fit."""

from sparsefield._extras import explain_missing

try:
    from sparsefield.report._notebook import show_fit
    from sparsefield.report._report import write_report
except ModuleNotFoundError as error:
    raise explain_missing(error, "The interactive page", "report") from error

__all__ = ["show_fit", "write_report"]
