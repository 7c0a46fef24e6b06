"""Optimality: how far above its optimum a fit is, proved or by draws."""

from sparsefield.optimality._certified_solve import OWN_SHARE, certify_slope, keep_gap
from sparsefield.optimality._certify import certify, problem_of
from sparsefield.optimality._gap import bound_gap

__all__ = [
    "OWN_SHARE",
    "bound_gap",
    "certify",
    "certify_slope",
    "keep_gap",
    "problem_of",
]
