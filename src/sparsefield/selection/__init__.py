"""Many fits: paths of penalties, and independent pieces of work on one machine or on a cluster, which can go on."""

from sparsefield.selection._alpha_max import alpha_max
from sparsefield.selection._choose import Criterion, select
from sparsefield.selection._criteria import Choice, information
from sparsefield.selection._likelihoods import Likelihood
from sparsefield.selection._path import Path, path
from sparsefield.selection._pieces import run_pieces
from sparsefield.selection._relax import relax

__all__ = [
    "Choice",
    "Criterion",
    "Likelihood",
    "Path",
    "alpha_max",
    "information",
    "path",
    "relax",
    "run_pieces",
    "select",
]
