"""The penalised likelihood: its value, its slope, and what a working set of it holds."""

import numpy as np
import pytest

import sparsefield as sf
from sparsefield.datasets import make_field
from sparsefield.objective import Problem, choose_active
from support.problems import make_problem, theta_of


def test_the_objective_is_the_penalised_likelihood():
    problem = make_problem(5, seed=3, penalize_main=False)
    theta = theta_of(make_field(5, seed=9))
    model = problem.model(theta)
    upper = np.triu(np.ones((5, 5), dtype=bool))
    expected = float(model.log_partition()) - (theta * problem.data.moments.pair)[upper].sum()
    assert problem.objective(theta) == pytest.approx(expected + 0.05 * np.abs(theta[np.triu_indices(5, 1)]).sum())
    rng = np.random.default_rng(1)
    rows = make_field(5, seed=3).sample(50, n_sweeps=20, seed=1)
    likelihood = Problem.with_l1(sf.data.moments_of_table(rows), rows.domain, 0.0)
    assert likelihood.objective(theta) == pytest.approx(-model.log_prob(rows.codes).mean())
    # Its gradient is model moments minus data moments.
    direction = rng.normal(size=(5, 5))
    direction += direction.T
    slope = (likelihood.objective(theta + 1e-5 * direction) - likelihood.objective(theta - 1e-5 * direction)) / 2e-5
    gradient = likelihood.gradient(model.moments())
    assert slope == pytest.approx((gradient * direction)[upper].sum(), rel=1e-6)


def test_bad_problems_are_refused():
    problem = make_problem(4)
    with pytest.raises(ValueError, match="alpha is -1"):
        Problem.with_l1(problem.data.moments, problem.domain, -1)
    with pytest.raises(ValueError, match="4 main statistics, but the domain has 5"):
        Problem.with_l1(problem.data.moments, sf.Domain.binary(5), 0.1)


def test_working_sets_with_ties_come_to_an_end():
    sizes = np.ones((40, 40))
    for most in (1, 7, 100):
        active = choose_active(
            np.ones((40, 40)), sizes, lambda some, most=most: np.count_nonzero(np.triu(some)) <= most
        )
        assert 1 <= np.count_nonzero(np.triu(active)) <= most
        np.testing.assert_array_equal(active, active.T)
