"""Solvers: one loop for gradient and Newton steps, on draws or on states."""

from sparsefield.solvers._draw_budget import least_draws
from sparsefield.solvers._edge_errors import UNDECIDED, find_edge_errors, find_spread, mark_quantile
from sparsefield.solvers._loop import Limits, run, stalled
from sparsefield.solvers._loop import Watch as WatchSteps
from sparsefield.solvers._newton_policy import NEWTON, NewtonPolicy
from sparsefield.solvers._newton_solve import NewtonEnd, check_gap, run_newton, solve_newton
from sparsefield.solvers._newton_step import find_move
from sparsefield.solvers._proximal_gradient import State, begin, check_step_size, solve, step
from sparsefield.solvers._proximal_policy import PROXIMAL, ProximalPolicy
from sparsefield.solvers._quasi_newton import follow
from sparsefield.solvers._rough_gradients import move_gradients
from sparsefield.solvers._safeguard import keep_if_lower
from sparsefield.solvers._sparse_step import find_candidates
from sparsefield.solvers._summed_out import SUMS, SumsPolicy, solve_summed

__all__ = [
    "NEWTON",
    "PROXIMAL",
    "SUMS",
    "UNDECIDED",
    "Limits",
    "NewtonEnd",
    "NewtonPolicy",
    "ProximalPolicy",
    "State",
    "SumsPolicy",
    "WatchSteps",
    "begin",
    "check_gap",
    "check_step_size",
    "find_candidates",
    "find_edge_errors",
    "find_move",
    "find_spread",
    "follow",
    "keep_if_lower",
    "least_draws",
    "mark_quantile",
    "move_gradients",
    "run",
    "run_newton",
    "solve",
    "solve_newton",
    "solve_summed",
    "stalled",
    "step",
]
