"""Many fits: paths of penalties, choices, resamples, and independent pieces of work on one machine or a cluster."""

from sparsefield.selection._alpha_max import alpha_max
from sparsefield.selection._bootstrap import Bootstrap, bootstrap
from sparsefield.selection._choose import Criterion, select
from sparsefield.selection._criteria import Choice, information
from sparsefield.selection._discoveries import take_discoveries
from sparsefield.selection._ends import Ends
from sparsefield.selection._learn import Alpha, choose, choose_alpha, learn, learn_with
from sparsefield.selection._likelihoods import Likelihood
from sparsefield.selection._path import Objective, Path, path
from sparsefield.selection._path_weights import PathWeights
from sparsefield.selection._pieces import run_pieces
from sparsefield.selection._relax import relax
from sparsefield.selection._stability import Stability, stability

__all__ = [
    "Alpha",
    "Bootstrap",
    "Choice",
    "Criterion",
    "Ends",
    "Likelihood",
    "Objective",
    "Path",
    "PathWeights",
    "Stability",
    "alpha_max",
    "bootstrap",
    "choose",
    "choose_alpha",
    "information",
    "learn",
    "learn_with",
    "path",
    "relax",
    "run_pieces",
    "select",
    "stability",
    "take_discoveries",
]
