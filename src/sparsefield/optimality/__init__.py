"""Optimality: how far above its optimum a fit is, proved or by draws."""

from sparsefield.optimality._certified_solve import Promise, certify_slope
from sparsefield.optimality._certify import certify_rows, check_certifiable, problem_of
from sparsefield.optimality._gap import bound_gap
from sparsefield.optimality._policy import GAPS, GapPolicy

__all__ = [
    "GAPS",
    "GapPolicy",
    "Promise",
    "bound_gap",
    "certify_rows",
    "certify_slope",
    "check_certifiable",
    "problem_of",
]
