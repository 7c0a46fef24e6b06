"""Solvers: one loop for gradient, Newton and pseudo-likelihood steps; `Learner` and `certify` on top of them."""

from sparsefield.solvers._agreement import UNDECIDED
from sparsefield.solvers._fall import Stand
from sparsefield.solvers._filled import solve_filled_pseudo_likelihood
from sparsefield.solvers._follow import ExactStand
from sparsefield.solvers._gap import bound_gap
from sparsefield.solvers._gap_bound import GapBound
from sparsefield.solvers._gradient import State, begin, solve, step
from sparsefield.solvers._learner import Learner
from sparsefield.solvers._loop import Limits
from sparsefield.solvers._loop import Watch as WatchSteps
from sparsefield.solvers._mark import fit_newton
from sparsefield.solvers._move import find_move
from sparsefield.solvers._newton import solve_newton
from sparsefield.solvers._optimality import certify, problem_of
from sparsefield.solvers._options import Options
from sparsefield.solvers._pseudolikelihood import solve_pseudo_likelihood

__all__ = [
    "UNDECIDED",
    "ExactStand",
    "GapBound",
    "Learner",
    "Limits",
    "Options",
    "Stand",
    "State",
    "WatchSteps",
    "begin",
    "bound_gap",
    "certify",
    "find_move",
    "fit_newton",
    "problem_of",
    "solve",
    "solve_filled_pseudo_likelihood",
    "solve_newton",
    "solve_pseudo_likelihood",
    "step",
]
