"""The optimum that the experiments compare with."""

import numpy as np
import pytest

from sparsefield_experiments._trials import QUICK, find_optimum, make_trial
from support import exact_chains


@pytest.mark.parametrize("penalty", [0.02, 0.1])
def test_the_optimum_is_that_of_another_solver(penalty):
    trial = make_trial(QUICK[10], 2)
    problem = trial.problem(penalty)
    theta, violation = find_optimum(problem)
    _, lowest = exact_chains.penalised_optimum(problem.data.moments.pair, problem.penalty.weights)
    # By convexity the objective is above its optimum by at most the slope times the distance, in the dual norms.
    assert problem.objective(theta) - lowest <= violation * (np.abs(theta).sum() + 10 * np.log(2) / penalty)
    assert violation <= 1e-6 * penalty
