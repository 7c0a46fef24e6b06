"""Fitting: what may be asked of a fit, and a table that is learned with one penalty after the other."""

from sparsefield.fitting._learner import Learner
from sparsefield.fitting._options import Options
from sparsefield.fitting._policy import FITTING, FitPolicy
from sparsefield.fitting._solvers import Newton, Proximal, SolverName, make_solver

__all__ = [
    "FITTING",
    "FitPolicy",
    "Learner",
    "Newton",
    "Options",
    "Proximal",
    "SolverName",
    "make_solver",
]
