"""Whether a step led down, by draws at its end: against exact objectives, and where phases open."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

import sparsefield as sf
from sparsefield import PairwiseMRF, Table
from sparsefield.data import MISSING
from sparsefield.datasets import make_field
from sparsefield.gradients import BestDraws, ExactMoments, PerfectDraws, Simulation
from sparsefield.inference import Cpu
from sparsefield.marks import fit_newton
from sparsefield.model import sum_once
from sparsefield.objective import L1, Completed, Observed, Problem
from sparsefield.solvers import NEWTON, _newton, find_move
from sparsefield.solvers._decrease import measure_fall
from support import naive
from support.noise import enumerate_statistics
from support.problems import look_at, make_problem, make_table, theta_of
from support.statistics_ import FALSE_ALARM
from support.zoo import parts

ROUNDING = 1e-12  # objectives are sums of about ten terms of order ten


def look(problem, theta, n, seed, iteration=1):
    """Make draws at some parameters; all states with n None."""
    schedule = ExactMoments() if n is None else PerfectDraws()
    return look_at(problem, theta, schedule, Simulation(n or 1, seed), iteration)


def move_by(before, step):
    """Return a move with a step of one's own, as if the draws at its start had suggested it."""
    found = find_move(before)
    return replace(found, whole=step, share=1.0)


def make_step(problem, theta, length, seed):
    """Return a step of random direction and of some length, by the curvature where it ends to leading order."""
    direction = np.random.default_rng(seed).normal(size=theta.shape)
    direction = np.triu(direction) + np.triu(direction, 1).T
    probabilities, statistics, (a, b) = enumerate_statistics(problem.model(theta))
    x = statistics @ direction[a, b]
    return length * direction / np.sqrt(probabilities @ x**2 - (probabilities @ x) ** 2)


def bernstein(probabilities, values, n, t):
    """Bound the error of a mean of n independent values, except with probability 2 exp(-t)."""
    centred = values - probabilities @ values
    return np.sqrt(2 * (probabilities @ centred**2) * t / n) + 2 * np.abs(centred).max() * t / (3 * n)


def weights_at_end(problem, end, step):
    """Return the law at the end of a step, and there x = step . s and the weights exp(-x) that lead to its start."""
    probabilities, statistics, (a, b) = enumerate_statistics(problem.model(end))
    x = statistics @ step[a, b]
    return probabilities, x, np.exp(-x)


@pytest.mark.parametrize("length", [0.01, 0.1, 0.3, 0.6, 2.5, 4.0])
@pytest.mark.parametrize("penalize_main", [True, False])
def test_measured_decreases_are_the_exact_ones(length, penalize_main):
    n, t = 4000, np.log(2 * 10 / FALSE_ALARM)
    problem = make_problem(5, 0.05, penalize_main=penalize_main, seed=3)
    theta = theta_of(fit_newton(problem, ExactMoments(), max_iter=2))
    kinds = set()
    for seed in range(10):
        step = make_step(problem, theta, length, seed)
        before, after = look(problem, theta, n, seed), look(problem, theta + step, n, seed, iteration=2)
        exact = problem.objective(theta) - problem.objective(theta + step)
        fall = measure_fall(before, move_by(before, step), after)
        law, x, w = weights_at_end(problem, theta + step, step)
        effective = (law @ w) ** 2 / (law @ w**2)
        if effective > 2 * NEWTON.least_share:
            # The logarithm of a mean of n weights, which is right to a factor.
            kinds.add("reweighted")
            off = bernstein(law, w, n, t) / (law @ w)
            assert off < 1
            assert abs(fall.decrease - exact) <= -np.log1p(-off)
        elif effective < NEWTON.least_share / 5:
            # Convexity: the mean of x at the end, which says less than there is.
            kinds.add("convexity")
            penalty, data = problem.penalty, problem.data.moments.pair
            lower = sum_once(step * data) - law @ x + penalty.value(theta) - penalty.value(theta + step)
            assert lower < exact
            assert abs(fall.decrease - lower) <= bernstein(law, x, n, t)
    assert kinds == ({"reweighted"} if length < 1 else {"convexity"})


@pytest.mark.parametrize("length", [0.05, 0.5, 0.8])
def test_standard_errors_of_decreases_are_those_of_other_seeds(length):
    n, n_seeds = 2000, 300
    problem = make_problem(5, 0.05, seed=3)
    theta = theta_of(fit_newton(problem, ExactMoments(), max_iter=2))
    step = make_step(problem, theta, length, 1)
    before = look(problem, theta, n, 0)
    move = move_by(before, step)
    falls = [measure_fall(before, move, look(problem, theta + step, n, seed)) for seed in range(n_seeds)]
    found = np.array([fall.decrease for fall in falls])
    exact = problem.objective(theta) - problem.objective(theta + step)
    law, x, w = weights_at_end(problem, theta + step, step)
    # The logarithm of a mean of weights is normal, with this variance to leading order, and with a mean that is lower
    # by half of it. A share 1 / n of that is left out.
    variance = (law @ w**2 / (law @ w) ** 2 - 1) / n
    off = ((found - exact + variance / 2) ** 2).sum() / variance
    assert stats.chi2.isf(1 - FALSE_ALARM / 2, n_seeds) < off < stats.chi2.isf(FALSE_ALARM / 2, n_seeds)
    # Errors are those of the mean and of what is not linear, added as if they were independent, which is right for
    # normal x. Centres that are estimated cost a share of a few 1 / n.
    told = np.mean([fall.error**2 for fall in falls])
    pieces = (x - law @ x, w / (law @ w) + x - law @ (w / (law @ w) + x))
    expected = sum(law @ own**2 for own in pieces) / n
    allowed = sum(bernstein(law, own**2, n * n_seeds, np.log(4 / FALSE_ALARM)) for own in pieces) / n
    assert abs(told - expected) <= allowed + 10 / n * expected
    assert variance <= 2 * expected  # whatever x: the variance of a sum is at most twice the sum of variances


def test_all_states_tell_the_decrease_exactly():
    for seed in range(5):
        problem = make_problem(5, 0.05, seed=seed)
        theta = 0.3 * np.eye(5)
        step = make_step(problem, theta, 3.0, seed)
        before, after = look(problem, theta, None, 0), look(problem, theta + step, None, 0)
        fall = measure_fall(before, move_by(before, step), after)
        exact = problem.objective(theta) - problem.objective(theta + step)
        assert fall.decrease == pytest.approx(exact, abs=ROUNDING)
        assert fall.error == 0
        assert fall.is_down == (exact > 0)


def make_phases(interaction):
    """Return a field of eight variables that are all on together, or next to all off: exp(28 w - 40) to one."""
    off_diagonal = 1 - np.eye(8)
    return PairwiseMRF.binary(np.full(8, -5.0), interaction * off_diagonal)


def test_a_step_that_opens_another_phase_is_rejected():
    # At the start all variables are on with probability 1e-4, and half of them or more with 3e-4: 1000 draws mostly
    # show nothing of it. They say of a step that it leads down where the data want a little more of every pair.
    before_model, after_model = make_phases(1.1), make_phases(1.6)
    data = before_model.moments()
    data = replace(data, pair=data.pair + 2e-3 * (1 - np.eye(8)))
    problem = Problem.with_l1(data, before_model.domain, 1e-4)
    theta, step = theta_of(before_model), theta_of(after_model) - theta_of(before_model)
    on = np.ones((1, 8), dtype=np.uint8)
    assert before_model.log_prob(on)[0] < np.log(1e-4)
    assert after_model.log_prob(on)[0] > np.log(0.9)
    exact = problem.objective(theta) - problem.objective(theta + step)
    assert exact < -1
    # Those draws that show fewer than four variables on, three pairs of which cost 0.5 each: the others know better.
    seeds = [seed for seed in range(20) if look(problem, theta, 1000, seed).draws.along(step).max() < 2]
    assert len(seeds) > 5
    for seed in seeds:
        before, after = look(problem, theta, 1000, seed), look(problem, theta + step, 1000, seed, iteration=2)
        log_mean, effective = before.draws.reweight(before.draws.along(step))
        gain = sum_once(step * data.pair) + problem.penalty.value(theta) - problem.penalty.value(theta + step)
        assert effective > NEWTON.least_share  # so that the start is sure of itself, and wrong by more than one
        assert gain - log_mean > max(0, exact + 1)
        fall = measure_fall(before, move_by(before, step), after)
        assert not fall.is_down
        assert not fall.is_chance
        # What is left to say is convexity: no more than there is, but for the noise of a mean.
        law, x, _ = weights_at_end(problem, theta + step, step)
        assert fall.decrease <= exact + bernstein(law, x, 1000, np.log(2 * 20 / FALSE_ALARM))


@pytest.mark.parametrize("seed", range(5))
def test_a_fit_never_ends_above_its_start_where_phases_open(seed):
    rng = np.random.default_rng(seed)
    field = make_phases(1.2)
    rows = field.sample(500, n_sweeps=2000, seed=seed).codes
    rows[: rng.integers(1, 5)] = 1  # a few rows of the other phase
    table = sf.encode(rows, domain=sf.Domain.binary(8))
    problem = Problem.with_l1(sf.data.moments_of_table(table), table.domain, 0.001)
    start = theta_of(make_phases(1.0))
    fit = fit_newton(problem, BestDraws(max_states=0), Simulation(500, seed), start=start, gap=0.01)
    assert problem.objective(theta_of(fit)) <= problem.objective(start)


def test_steps_that_fit_noise_alone_are_told_from_steps_that_lead_up():
    # At the optimum every step is noise. It is allowed what fits of noise cost: chi-squared, whose upper tail beyond
    # three standard deviations is largest for one degree of freedom, and three standard errors.
    problem = make_problem(5, 0.05, seed=3)
    theta = theta_of(fit_newton(problem, ExactMoments(), tol=1e-10))
    n_up = 0
    for seed in range(100):
        before = look(problem, theta, 2000, seed)
        move = replace(find_move(before), share=1.0)
        after = look(problem, theta + move.whole, 2000, seed, iteration=2)
        n_up += not measure_fall(before, move, after).is_chance
    tail = max(stats.chi2.sf(k + 3 * np.sqrt(2 * k), k) for k in range(1, 100)) + stats.norm.sf(3)
    assert tail < 0.025
    assert n_up <= stats.binom.isf(FALSE_ALARM, 100, tail)
    # Twenty times such a step costs four hundred times as much, and is no noise.
    far = replace(move, whole=20 * move.whole)
    fall = measure_fall(before, far, look(problem, theta + far.whole, 2000, 1, iteration=2))
    assert not fall.is_down
    assert not fall.is_chance


def observed_objective(theta, penalty, rows, model):
    """Return the mean negative log-likelihood of rows with missing values, plus the penalty, state by state."""
    states, probabilities, _ = naive.distribution(*parts(model))
    total = 0.0
    for row in rows:
        agrees = [all(x is None or x == y for x, y in zip(row, state, strict=True)) for state in states]
        total -= np.log(sum(q for q, own in zip(probabilities, agrees, strict=True) if own))
    return total / len(rows) + penalty.value(theta)


def test_decreases_with_missing_values_are_lower_bounds():
    rng = np.random.default_rng(1)
    codes = sf.datasets.make_field(4, seed=1).sample(60, method="perfect", seed=1).codes.copy()
    codes[rng.random(codes.shape) < 0.25] = 255
    table = sf.Table(sf.Domain.binary(4), codes)
    rows = [[None if x == 255 else int(x) for x in row] for row in codes]
    penalty = L1(table.domain, 0.02)
    theta = 0.2 * np.eye(4)
    for seed, length in ((1, 0.1), (2, 0.5), (3, 2.0)):
        blank = Problem(Completed(table, 500, 1, None, Cpu()), table.domain, penalty)
        problem = blank.with_data(blank.data.given(blank.model(theta), 500))
        assert np.isinf(problem.data.n_effective)  # expectations, and not draws
        step = make_step(problem, theta, length, seed)
        end = problem.with_data(problem.data.given(problem.model(theta + step), 500))
        before, after = look(problem, theta, None, 0), look(end, theta + step, None, 0)
        fall = measure_fall(before, move_by(before, step), after)
        exact = observed_objective(theta, penalty, rows, problem.model(theta)) - observed_objective(
            theta + step, penalty, rows, problem.model(theta + step)
        )
        assert fall.decrease <= exact + ROUNDING
        # It is that of the data as they were completed at the start.
        whole = Problem(Observed(problem.data.moments), table.domain, penalty)
        known = whole.objective(theta) - whole.objective(theta + step)
        assert fall.decrease == pytest.approx(known, abs=ROUNDING)


def test_draws_of_missing_values_that_chose_a_step_do_not_judge_it(monkeypatch):
    # Nine of twelve cells are missing, and two draws of each row fill them: a step from near the optimum fits their
    # noise. Measured on them it seems to lead down; measured on others it is at most the true decrease, on average.
    rng, truth = np.random.default_rng(1), make_field(12, seed=1)
    codes = truth.sample(150, method="perfect", seed=1).codes.copy()
    for row in codes:
        row[rng.permutation(12)[:9]] = MISSING
    table, penalty = Table(truth.domain, np.asfortranarray(codes)), L1(truth.domain, 0.02, 0.0)
    states, _, _ = naive.distribution(*parts(truth))
    shows = ((codes[:, None] == MISSING) | (codes[:, None] == states)).all(axis=2)

    def objective(theta):
        exponents = states @ np.diagonal(theta) + (states @ np.triu(theta, 1) * states).sum(axis=1)
        whole = [logsumexp(exponents[own]) for own in shows]
        return logsumexp(exponents) - np.mean(whole) + penalty.value(theta)

    start = theta_of(sf.learn(table, 0.02, solver=sf.Newton(n_chains=200_000), seed=5))
    excesses = []

    def record(before, move, after, *, policy):
        fall = measure_fall(before, move, after, policy=policy)
        excesses.append(fall.decrease - (objective(before.theta) - objective(after.theta)))
        return fall

    monkeypatch.setattr(_newton, "measure_fall", record)
    policy = replace(NEWTON, noise=0.0)  # so that a step is made
    for seed in range(20):
        problem = Problem(Completed(table, 300, seed, None, Cpu()), table.domain, penalty)
        assert problem.data.given(problem.model(start), 300).n_effective == 300
        fit_newton(problem, BestDraws(), Simulation(300, seed), start=start, gap=0.5, max_iter=2, policy=policy)
    assert len(excesses) == 20
    error = np.std(excesses, ddof=1) / np.sqrt(len(excesses))
    assert np.mean(excesses) <= stats.t.isf(FALSE_ALARM, len(excesses) - 1) * error


def test_missing_values_that_are_drawn_are_no_exact_gradient():
    table = make_table()
    codes = table.codes.copy()
    codes[::2, 1:] = MISSING
    table = Table(table.domain, codes)
    problem = Problem(Completed(table, 50, 1, None, Cpu()), table.domain, L1(table.domain, 0.5))
    fit = fit_newton(problem, ExactMoments(), Simulation(50, 1))
    is_drawn = np.isfinite(problem.data.given(fit.model, 50).n_effective)
    assert ("without simulation error" in fit.status.sentence) == (not is_drawn)
    assert (fit.steps[-1].simulation_error_norm > 0) == is_drawn
