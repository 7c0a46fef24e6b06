"""Fitting: what may be asked of a fit, and a table that is learned with one penalty after the other."""

from sparsefield.fitting._learner import Learner
from sparsefield.fitting._options import Options

__all__ = [
    "Learner",
    "Options",
]
