"""Marks of groups: which of them the noise of draws leaves open, zero or not."""

import numpy as np
import pytest
from scipy import optimize, stats

from sparsefield.gradients import ExactMoments, PerfectDraws, Simulation
from sparsefield.marks import fit_newton
from sparsefield.marks._covariance import Covariance
from sparsefield.marks._group_marks import GroupMargins, _largest_norm
from sparsefield.marks._narrowing import find_open
from sparsefield.marks._optimum import Optimum
from sparsefield.marks._parameter_marks import find_undecided
from sparsefield.marks._policy import MARKS
from sparsefield.objective import Group, Problem
from sparsefield.solvers import UNDECIDED, find_move
from sparsefield.solvers._draw_budget import draws_for_agreement
from sparsefield.solvers._edge_errors import find_edge_errors
from support.level_problems import edges_of, make_level_problem
from support.plain_backend import Plain
from support.problems import look_at, make_problem
from support.statistics_ import FALSE_ALARM


def mark(problem, theta, simulation):
    return find_undecided(look_at(problem, theta, PerfectDraws(), simulation))


def with_alpha(problem, alpha):
    return Problem(problem.data, problem.domain, Group(problem.domain, alpha, problem.penalty.main))


def optimum(problem):
    fit = fit_newton(problem, ExactMoments(), tol=1e-10, max_iter=100)
    assert fit.status.code == "converged"
    return problem.theta(fit.model)


def find_edge(problem, low, high):
    """Return two penalties, as good as the same, with only one of which a group is zero, and which one this is."""

    def support(alpha):
        return edges_of(problem, optimum(with_alpha(problem, alpha)) != 0)

    below = support(low)
    for _ in range(14):  # to 2^-14 of the distance
        middle = np.sqrt(low * high)
        low, high = (middle, high) if np.array_equal(support(middle), below) else (low, middle)
    is_edge = below != support(high)
    assert np.triu(is_edge).sum() == 1
    return low, high, is_edge


# With 4000 draws and a penalty of 0.02 or more the noise of a gradient is a tenth of the penalty. With 300 draws and a
# penalty below 0.02 it is of its size: noise across a group then gives most fits one that is zero in the optimum.
@pytest.mark.parametrize(
    ("low", "high", "n_draws", "main", "side"),
    [(0.02, 0.08, 4000, False, 0), (0.02, 0.08, 4000, False, 1), (0.004, 0.02, 300, True, 1)],
)
def test_marks_hold_for_each_group_at_the_edge_of_zero(low, high, n_draws, main, side):
    n_fits = 30
    problem = make_level_problem("three", 0.05, penalize_main=main, seed=11, strength=0.8)
    *alphas, is_edge = find_edge(problem, low, high)
    problem = with_alpha(problem, alphas[side])
    exact, upper = edges_of(problem, optimum(problem) != 0), np.triu_indices(4)
    n_other, n_wrong, n_marked = np.zeros((3, len(upper[0])), dtype=int)
    for seed in range(n_fits):
        fit = fit_newton(problem, PerfectDraws(), Simulation(n_draws, seed, backend=Plain()), gap=0.5)
        is_other = edges_of(problem, problem.theta(fit.model) != 0) != exact
        marks = edges_of(problem, fit.undecided)
        n_other += is_other[upper]
        n_wrong += (is_other & ~marks)[upper]
        n_marked += marks[upper]
    most = stats.binom.isf(FALSE_ALARM / len(n_wrong), n_fits, 1 - UNDECIDED)
    assert n_wrong.max() <= most, n_wrong
    # So that it is not empty: noise has its say at the edge, and something is decided.
    assert n_other[is_edge[upper]] > most
    assert n_marked.min() < n_fits


def minimise_group(curvature, slope, alpha):
    """Return the x with the least x . curvature x / 2 - slope . x + alpha |x|: its norm is the root of a function."""
    if np.linalg.norm(slope) <= alpha:
        return np.zeros(len(slope))
    values, vectors = np.linalg.eigh(curvature)
    c = vectors.T @ slope

    def above(t):
        return ((c / (values * t + alpha)) ** 2).sum() - 1

    t = optimize.brentq(above, 0.0, np.linalg.norm(slope) / values[0])
    return vectors @ (c * t / (values * t + alpha))


@pytest.mark.parametrize("ratio", [0.3, 3.0, 100.0])
@pytest.mark.parametrize("axis", [0, 3])
def test_each_answer_of_a_group_with_normal_noise_is_as_rare_as_it_should_be(ratio, axis):
    # The group is zero in the optimum, or as good as zero, and its gradient has the norm alpha. The noise is normal, of
    # standard deviations from a third of the largest one on, and alpha / ratio along the gradient.
    n_trials, n = 1000, 1e8  # so many draws that a single one adds nothing
    rng = np.random.default_rng(1)
    axes = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    curvature = axes @ np.diag([1.0, 0.5, 0.2, 0.1]) @ axes.T
    alpha = ratio * np.sqrt([1.0, 0.5, 0.2, 0.1][axis] / n)
    n_differ = n_vanish = 0
    for noise in rng.multivariate_normal(np.zeros(4), curvature / n, n_trials):
        slope = alpha * axes[:, axis] + noise
        x = minimise_group(curvature, slope, alpha)
        found = Optimum(x, curvature @ x - slope, None, n, 0.0, np.ones(4))
        margins = GroupMargins(x, found, Covariance(curvature, 10**8), np.full(4, alpha), np.zeros(4, dtype=int))
        is_open = margins.spread(find_open(margins, policy=MARKS))
        assert is_open.all() or not is_open.any()
        n_differ += x.any() and not is_open.any()
        n_vanish += not x.any() and not is_open.any()
    # Half of the risk is for noise from the one side that leads to each of these answers.
    most = stats.binom.isf(FALSE_ALARM, n_trials, (1 - UNDECIDED) / 2)
    assert max(n_differ, n_vanish) <= most, (n_differ, n_vanish)


def test_groups_of_two_levels_have_the_marks_of_single_parameters():
    n_marked = 0
    for seed in range(6):
        single = make_problem(6, 0.03, 400, seed, (0.3, 1.5), penalize_main=False)
        group = Problem(single.data, single.domain, Group(single.domain, 0.03))
        fit = fit_newton(single, PerfectDraws(), Simulation(500, seed), gap=0.01)
        one, other = (mark(p, p.theta(fit.model), Simulation(2000, seed + 100)) for p in (single, group))
        np.testing.assert_array_equal(one, other)
        n_marked += one.sum()
    assert n_marked > 0


def test_marks_are_of_whole_groups_and_all_are_set_where_draws_are_few():
    problem = make_level_problem("ordered", 0.03, seed=2)
    theta = optimum(problem)
    marks = mark(problem, theta, Simulation(1000, 1, backend=Plain()))
    variables = problem.domain.slot_variables
    across = variables[:, None] != variables
    np.testing.assert_array_equal(marks & across, edges_of(problem, marks & across)[np.ix_(variables, variables)])
    assert marks.any()
    assert not marks[across].all()
    few = mark(problem, theta, Simulation(40, 1, backend=Plain()))
    assert few[across].all()


def test_where_all_groups_pay_far_too_much_to_differ_from_zero_none_is_open():
    problem = make_level_problem("three", 50.0, penalize_main=True, seed=1)
    fit = fit_newton(problem, PerfectDraws(), Simulation(5000, 1, backend=Plain()), gap=0.5)
    assert not fit.model.interactions.any()
    assert not fit.undecided.any()


def test_the_furthest_point_of_an_ellipsoid_is_found():
    rng, z = np.random.default_rng(1), stats.norm.ppf((1 + UNDECIDED) / 2)
    for k in (1, 2, 3):
        root = rng.normal(size=(k, k)) * 10.0 ** rng.uniform(-1, 0, k)
        covariance, gradient, n = root @ root.T, rng.normal(size=k), 50.0
        span = rng.uniform(0.5, 2.0)
        spread = covariance / n + (z * span / (2 * n)) ** 2 * np.eye(k)

        def lower(y, gradient=gradient, spread=spread):
            u = y / np.linalg.norm(y)
            return -(u @ gradient + z * np.sqrt(u @ spread @ u))

        best = min(optimize.minimize(lower, start, tol=1e-12).fun for start in rng.normal(size=(20, k)))
        assert _largest_norm(gradient, covariance, n, span) == pytest.approx(-best + z**2 * span / (2 * n), rel=1e-6)
        assert _largest_norm(0 * gradient, covariance, n, span) >= z * np.sqrt(np.linalg.eigvalsh(spread)[-1])


def draws_that_agree(problem, theta, share=0.95):
    here = look_at(problem, theta, ExactMoments(), Simulation())
    noise = find_edge_errors(here, find_move(here))
    return draws_for_agreement(noise, share)


def test_draws_for_agreement_are_those_of_single_parameters_where_groups_are_single():
    single = make_problem(6, 0.03, seed=2, penalize_main=False)
    group = Problem(single.data, single.domain, Group(single.domain, 0.03))
    model = fit_newton(single, ExactMoments(), tol=1e-10).model
    one, other = (draws_that_agree(problem, problem.theta(model)) for problem in (single, group))
    assert one == pytest.approx(other, rel=0.01)  # a hundredth of a power of two


def test_fits_of_groups_with_other_seeds_lose_no_more_edges_than_they_should():
    problem = make_level_problem("three", 0.03, seed=4, strength=0.6)
    theta = optimum(problem)
    n, upper = draws_that_agree(problem, theta), np.triu_indices(4, 1)
    found = []
    for seed in range(60):
        # Without a gap there are as many draws as are asked for.
        fit = fit_newton(problem, PerfectDraws(), Simulation(n, seed, backend=Plain()), start=theta, gap=1.0)
        found.append(edges_of(problem, problem.theta(fit.model) != 0)[upper])
    one, other = np.array(found[::2]), np.array(found[1::2])
    n_lost, n_found = (one & ~other).sum(), one.sum()
    assert n_lost <= stats.binom.isf(FALSE_ALARM, n_found, 0.05)
    assert n < 100_000  # so few that some could be lost
