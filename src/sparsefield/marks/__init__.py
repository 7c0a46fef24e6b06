"""Marks: which zeros and edges of a fit the simulation error of its draws leaves open."""

from sparsefield.marks._mark import fit_newton, mark
from sparsefield.marks._policy import MARKS, MarksPolicy

__all__ = [
    "MARKS",
    "MarksPolicy",
    "fit_newton",
    "mark",
]
