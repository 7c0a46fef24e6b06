"""Independent pieces of work on one machine or on a cluster: how they are run, what fails, what is kept."""

from sparsefield.parallel._checkpoint import Result
from sparsefield.parallel._run import Watch, run_pieces

__all__ = [
    "Result",
    "Watch",
    "run_pieces",
]
