"""Many fits: independent pieces of work, on one machine or on a cluster, that can be interrupted and go on."""

from sparsefield.selection._pieces import run_pieces

__all__ = ["run_pieces"]
