"""Marks: which zeros and edges of a fit the simulation error of its draws leaves open."""

from sparsefield.marks._mark import fit_newton, mark

__all__ = [
    "fit_newton",
    "mark",
]
