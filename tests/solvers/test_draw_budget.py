"""How many draws there are: never fewer than before, and never many times more at once."""

from dataclasses import replace

import numpy as np
import pytest

from sparsefield.gradients import PerfectDraws, Simulation
from sparsefield.solvers import NEWTON, find_move
from sparsefield.solvers._draw_budget import Budget, begin_budget, grow, plan_draws, seek_agreement
from support.problems import look_at, make_problem


def stand_at(problem, theta, n):
    """Return exact draws at some parameters, and the step that they suggest."""
    here = look_at(problem, theta, PerfectDraws(), Simulation(n, 1))
    return here, find_move(here)


@pytest.mark.parametrize("n", [1, 1000, 2**21, 2**23])
@pytest.mark.parametrize("wanted", [1, 3999, 2**40])
@pytest.mark.parametrize("growth", [2, 16])
def test_draws_grow_no_faster_than_they_may(n, wanted, growth):
    policy = replace(NEWTON, growth=growth)
    after = grow(n, wanted, policy)
    assert after >= n
    assert after in (n, wanted, growth * n, policy.most_draws)
    assert after <= max(n, min(wanted, growth * n, policy.most_draws))


def test_a_fit_begins_with_as_many_draws_as_its_penalty_needs_or_as_are_at_hand():
    problem, zero = make_problem(6), np.zeros((6, 6))
    options = {"gap": 0.01, "agreement": None, "n_chains": 100, "is_timed": False}
    budget = begin_budget(problem, zero, None, **options)
    assert budget.n_next == budget.least > 100
    assert begin_budget(problem, zero, None, **{**options, "n_chains": 10**6}).n_next == 10**6
    assert begin_budget(problem, zero, 777, **options).n_next == 777
    # A covariance of twenty-one statistics takes eight draws for each.
    assert begin_budget(problem, np.ones((6, 6)), 7, **options).n_next == 8 * 21


def test_a_long_step_has_a_few_times_more_draws_and_a_short_one_all_that_are_wanted():
    problem = make_problem(6)
    here, move = stand_at(problem, 0.1 * np.eye(6), 500)
    move, gap = replace(move, share=1.0), 1e-4
    n_nonzero = np.count_nonzero(np.triu(here.theta + move.whole))
    wanted = int(np.ceil(n_nonzero / (2 * gap)))
    assert wanted > NEWTON.growth * 500
    found = {
        effective: plan_draws(Budget(1, 500), here, replace(move, effective=effective), gap) for effective in (0.5, 0.9)
    }
    assert [own.n_next for own in found.values()] == [NEWTON.growth * 500, wanted]
    assert {own.wanted for own in found.values()} == {wanted}
    # Where only a part of it is made, there are no more until it is judged.
    assert plan_draws(Budget(1, 500), here, replace(move, share=0.7), gap).n_next == 500


def test_agreement_asks_for_a_few_times_more_draws_at_once():
    problem = make_problem(6)
    here, move = stand_at(problem, 0.1 * np.ones((6, 6)), 500)
    budget, is_many = seek_agreement(Budget(400, 450), here, move, 0.99)
    assert not is_many
    assert budget.agreed > NEWTON.growth * 500
    assert budget.n_next == budget.least == NEWTON.growth * 500
    # No more than may be made are asked for, though so many are said to be needed.
    policy = replace(NEWTON, most_agreed=6 * 500)
    known, is_many = seek_agreement(Budget(400, 450), here, move, 0.99, policy=policy)
    assert is_many
    assert known == replace(Budget(400, 450), agreed=budget.agreed)


def test_the_time_that_is_left_limits_draws_but_not_below_those_of_the_last_step():
    budget = Budget(1, 1000, pace=0.01)
    assert budget.afford(1000, 500, np.inf) == 1000
    assert budget.afford(1000, 500, 7.0) == 700
    assert budget.afford(1000, 500, 1.0) == 500
    assert budget.afford(300, 500, 1.0) == 300
    assert Budget(1, 1000).afford(1000, 500, 0.0) == 1000  # of a pace that is not known yet
