"""Embedded data, and fields made up for experiments."""

from sparsefield.datasets._senate import Senate, load_senate
from sparsefield.datasets._synthetic import make_field

__all__ = ["Senate", "load_senate", "make_field"]
