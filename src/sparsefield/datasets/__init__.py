"""Embedded data, and fields made up for experiments."""

from sparsefield.datasets._senate import Senate, load_senate
from sparsefield.datasets._symptoms import Symptoms, load_symptoms
from sparsefield.datasets._synthetic import make_chain, make_field, make_grid, make_small_world, make_star

__all__ = [
    "Senate",
    "Symptoms",
    "load_senate",
    "load_symptoms",
    "make_chain",
    "make_field",
    "make_grid",
    "make_small_world",
    "make_star",
]
