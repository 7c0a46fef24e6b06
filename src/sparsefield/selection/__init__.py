"""Many fits: paths of penalties, and independent pieces of work on one machine or on a cluster, which can go on."""

from sparsefield.selection._alpha_max import alpha_max
from sparsefield.selection._pieces import run_pieces

__all__ = ["alpha_max", "run_pieces"]
