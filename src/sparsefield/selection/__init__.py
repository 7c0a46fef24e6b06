"""Many fits: paths of penalties, choices, resamples, and independent pieces of work on one machine or a cluster."""

from sparsefield.selection._alpha_max import alpha_max, largest_alpha
from sparsefield.selection._choose import Criterion, describe_noise, select
from sparsefield.selection._criteria import Choice, extended_bic
from sparsefield.selection._degrees_of_freedom import count_nonzero
from sparsefield.selection._noise import edge_of_noise
from sparsefield.selection._path import Objective, Path, check_objective, count_edges, path
from sparsefield.selection._path_weights import PathWeights
from sparsefield.selection._relax import relax

__all__ = [
    "Choice",
    "Criterion",
    "Objective",
    "Path",
    "PathWeights",
    "alpha_max",
    "check_objective",
    "count_edges",
    "count_nonzero",
    "describe_noise",
    "edge_of_noise",
    "extended_bic",
    "largest_alpha",
    "path",
    "relax",
    "select",
]
