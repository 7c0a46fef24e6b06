"""What is known at parameters, by draws or by states: against enumeration, and against what earlier steps changed."""

import numpy as np
import pytest
from scipy import stats

from sparsefield.gradients import Enumerated, ExactMoments, PerfectDraws, Simulation
from sparsefield.inference import Cpu
from support.problems import look_at, make_problem
from support.statistics_ import FALSE_ALARM

PROBLEM = make_problem(5, 0.05, seed=3)
THETA = 0.4 * np.eye(5)


def make_step(length):
    step = np.triu(np.random.default_rng(1).normal(size=(5, 5)))
    return length * (step + np.triu(step, 1).T)


def log_normaliser(theta):
    return PROBLEM.model(theta).log_partition().value


@pytest.mark.parametrize("length", [0.02, 0.1])
def test_draws_at_either_end_of_a_step_tell_what_the_normalising_constant_rises_by(length):
    step, simulation = make_step(length), Simulation(20_000, 1)
    exact = log_normaliser(THETA + step) - log_normaliser(THETA)
    before, after = (look_at(PROBLEM, theta, PerfectDraws(), simulation) for theta in (THETA, THETA + step))
    far = stats.norm.isf(FALSE_ALARM / 2)
    for (found, variance), expected in ((before.log_rise(step, 0.3), exact), (after.log_fall(step, 0.3), -exact)):
        # Logarithms of means of weights are normal but for terms of the order of their variance.
        assert abs(found - expected) <= far * np.sqrt(variance) + far**2 * variance


def test_where_few_draws_count_both_are_lower_bounds():
    step, simulation = make_step(2.0), Simulation(20_000, 1)
    rise = log_normaliser(THETA + step) - log_normaliser(THETA)
    before, after = (look_at(PROBLEM, theta, PerfectDraws(), simulation) for theta in (THETA, THETA + step))
    assert before.log_rise(step, 0.3)[0] < rise
    assert after.log_fall(step, 0.3)[0] < -rise
    assert after.log_fall(step, 0.0)[0] > after.log_fall(step, 0.3)[0]


def test_all_states_tell_it_without_error():
    step = make_step(2.0)
    after = look_at(PROBLEM, THETA + step, ExactMoments(), Simulation())
    found, variance = after.log_fall(step, 0.3)
    assert found == pytest.approx(log_normaliser(THETA) - log_normaliser(THETA + step), abs=1e-12)
    assert variance == 0


def test_covariances_are_those_of_numpy():
    here = look_at(PROBLEM, THETA, PerfectDraws(), Simulation(700, 1))
    a, b = np.triu_indices(5)
    codes = here.estimate.chains.codes().astype(float)
    np.testing.assert_allclose(here.covariance(a, b), np.cov((codes[:, a] * codes[:, b]).T), atol=1e-12)


def test_the_curvature_nearby_says_what_the_last_step_changed():
    origin, step = np.zeros((5, 5)), make_step(0.5)
    states = Cpu().states(PROBLEM.model(origin))
    before, *after = (
        look_at(PROBLEM, THETA + own, ExactMoments(), Simulation()).gradient for own in (origin, step[::-1, ::-1], step)
    )
    changes = [own - before for own in after]
    secants = ((step[::-1, ::-1], changes[0], 15), (step, changes[1], 15))
    a, b = np.triu_indices(5)
    known = Enumerated(PROBLEM, THETA, states, origin, secants=secants)
    bent = known.curvature(a, b).centred() @ step[a, b]
    np.testing.assert_allclose(bent, changes[1][a, b], atol=1e-12)
    # Steps of more parameters than the working set has say nothing of it.
    fewer = known.curvature(a[:9], b[:9]).centred()
    plain = Enumerated(PROBLEM, THETA, states, origin).curvature(a[:9], b[:9]).centred()
    np.testing.assert_array_equal(fewer, plain)


def test_states_go_along_to_other_parameters_and_what_is_known_there_does_not():
    here = look_at(PROBLEM, THETA, ExactMoments(), Simulation())
    known = here.near(THETA + make_step(0.1))
    assert not known.is_here
    assert known.near(known.theta) is known
    assert known.near(THETA).is_here
    assert known.near(THETA).estimate is None
    assert look_at(PROBLEM, THETA, PerfectDraws(), Simulation(100, 1)).near(THETA) is None
