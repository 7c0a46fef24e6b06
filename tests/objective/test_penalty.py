"""Penalties: what every one of them promises, shown on the L1 penalty and on those that a user may write."""

import numpy as np
import pytest
from scipy import optimize

import sparsefield as sf
from sparsefield.gradients import ExactMoments, Simulation, Tay
from sparsefield.inference import EnumeratedStates
from sparsefield.marks import fit_newton
from sparsefield.model import norm, sum_once
from sparsefield.objective import L1, Penalty, Problem, Quadratic, choose_active, describe_penalty
from sparsefield.solvers import solve
from support import exact_chains
from support.problems import make_problem, make_table, theta_of


class Plain(Penalty):
    """The L1 penalty again, with nothing but what a penalty must have."""

    def __init__(self, inner):
        self.inner, self.alpha = inner, inner.alpha
        self.value, self.prox = inner.value, inner.prox
        self.subgradient, self.dual_norm = inner.subgradient, inner.dual_norm

    def value(self, theta): ...
    def prox(self, theta, step_size): ...
    def subgradient(self, theta, gradient): ...
    def dual_norm(self, gradient): ...


class Pairs(Penalty):
    """A group penalty: the L2 norm of each pair of neighbouring parameters in the upper triangle; main effects free."""

    def __init__(self, domain, alpha):
        self.alpha, size = alpha, domain.n_slots
        first, second = np.triu_indices(size, 1)
        self.groups = np.full((size, size), -1) - np.arange(size)
        self.groups[first, second] = self.groups[second, first] = np.arange(len(first)) // 2
        self.index = first, second

    def norms(self, theta):
        by_group = np.zeros(-(-len(self.index[0]) // 2))
        np.add.at(by_group, self.groups[self.index], theta[self.index] ** 2)
        return np.sqrt(by_group)

    def value(self, theta):
        return self.alpha * self.norms(theta).sum()

    def spread(self, by_group, theta):
        out = np.ones_like(theta)
        out[self.index] = by_group[self.groups[self.index]]
        out[self.index[::-1]] = out[self.index]
        return out

    def prox(self, theta, step_size):
        sizes = np.maximum(self.norms(theta), 1e-300)
        return theta * self.spread(np.maximum(1 - step_size * self.alpha / sizes, 0.0), theta)

    def subgradient(self, theta, gradient):
        sizes, slopes = self.norms(theta), np.maximum(self.norms(gradient), 1e-300)
        inside = gradient + self.alpha * theta / np.maximum(self.spread(sizes, theta), 1e-300)
        outside = gradient * self.spread(np.maximum(1 - self.alpha / slopes, 0.0), theta)
        found = np.where(self.spread(sizes, theta) > 0, inside, outside)
        np.fill_diagonal(found, np.diagonal(gradient))
        return found

    def dual_norm(self, gradient):
        return np.inf if np.diagonal(gradient).any() else float(self.norms(gradient).max())


@pytest.fixture
def problem():
    return make_problem(6, 0.04, seed=2)


def some_theta(rng, size=6):
    theta = rng.normal(size=(size, size)) * (rng.random((size, size)) < 0.6)
    return np.triu(theta) + np.triu(theta, 1).T


@pytest.mark.parametrize("main", [0.0, 0.5, 1.0])
def test_the_prox_minimises_what_it_says(main):
    rng = np.random.default_rng(1)
    domain = sf.Domain.binary(4)
    for penalty in (L1(domain, 0.3, main), Pairs(domain, 0.3)):
        theta = some_theta(rng, 4)
        best = penalty.prox(theta, 0.7)

        def cost(other, theta=theta, penalty=penalty):
            return norm(other - theta) ** 2 / 2 + 0.7 * penalty.value(other)

        for _ in range(200):
            assert cost(best) <= cost(best + 1e-3 * some_theta(rng, 4)) + 1e-12


@pytest.mark.parametrize("penalize_main", [True, False])
def test_the_dual_norm_is_the_least_alpha_without_an_edge(penalize_main):
    table = make_table(5, 500)
    data = sf.data.moments_of_table(table)
    free = fit_newton(Problem.with_l1(data, table.domain, 10.0, penalize_main), ExactMoments(), tol=1e-12)
    start = Problem.with_l1(data, table.domain, 10.0, penalize_main)
    gradient = start.gradient(free.model.moments())
    if not penalize_main:
        assert start.penalty.dual_norm(gradient + np.eye(5)) == np.inf
        np.fill_diagonal(gradient, 0.0)  # zero but for rounding: main effects are fitted
    alpha = start.penalty.dual_norm(gradient)
    for factor, has_any in ((1.001, False), (0.999, True)):
        problem = Problem.with_l1(data, table.domain, factor * alpha, penalize_main)
        fit = fit_newton(problem, ExactMoments(), tol=1e-10)
        shown = theta_of(fit) if penalize_main else fit.model.interactions
        assert bool(shown.any()) is has_any


def test_the_general_descent_minimises_the_model_that_the_fast_one_does(problem):
    rng = np.random.default_rng(4)
    theta = 0.3 * some_theta(rng)
    states = EnumeratedStates(problem.model(theta))
    a, b = np.triu_indices(6)
    quadratic = Quadratic(a, b, *states.second_moments(a, b), None)
    gradient = problem.gradient(states.moments)
    fast, slow = (
        p.minimise(quadratic, theta, gradient, tol=1e-12, max_epochs=200_000)
        for p in (problem.penalty, Plain(problem.penalty))
    )
    for own, other in zip(fast, slow, strict=True):
        np.testing.assert_allclose(own, other, atol=1e-8)  # 1e-12 over the least curvature, 1e-3 here


@pytest.mark.parametrize("run", [fit_newton, solve])
def test_a_penalty_of_ones_own_leads_to_the_same_optimum(problem, run):
    own = Problem(problem.data, problem.domain, Plain(problem.penalty))
    _, lowest = exact_chains.penalised_optimum(problem.data.moments.pair, problem.penalty.weights)
    options = {"tol": 1e-7, "max_iter": 100} if run is fit_newton else {"tol": 1e-6, "max_iter": 20_000}
    fit = run(own, ExactMoments(), **options)
    assert fit.status.code == "converged"
    assert problem.objective(theta_of(fit)) == pytest.approx(lowest, abs=1e-8)
    assert (fit.alpha, fit.penalty, fit.penalize_main) == (0.04, "Plain", None)
    with pytest.raises(ValueError, match="certify knows no other"):
        sf.certify(fit, make_table())


def test_tay_asks_a_penalty_of_ones_own_no_more_than_it_has(problem):
    own = Problem(problem.data, problem.domain, Plain(problem.penalty))
    fits = [solve(p, Tay("sharp"), Simulation(2000, 1), step_size=0.4, max_iter=10) for p in (problem, own)]
    np.testing.assert_array_equal(theta_of(fits[0]), theta_of(fits[1]))


def test_groups_vanish_together_and_reach_their_optimum():
    table = make_table(5, 800, seed=3)
    data = sf.data.moments_of_table(table)
    penalty = Pairs(table.domain, 0.06)
    problem = Problem.with_l1(data, table.domain, 0.0)
    fit = sf.learn(table, penalty=penalty, solver=sf.Newton(schedule="exact", tol=1e-8, max_iter=200))
    assert fit.status.code == "converged"
    found = theta_of(fit)
    for group in range(5):
        members = found[penalty.index][penalty.groups[penalty.index] == group]
        assert members.all() or not members.any()
    assert not found[penalty.index].all()

    def cost(values):
        theta = np.zeros((5, 5))
        theta[np.triu_indices(5)] = values
        theta = theta + np.triu(theta, 1).T
        return problem.objective(theta) + penalty.value(theta)

    # The norm has kinks where groups vanish: a search that needs no gradients, from the fit and from nothing.
    here = cost(found[np.triu_indices(5)])
    for start in (found[np.triu_indices(5)], np.full(15, 0.1)):
        searched = optimize.minimize(cost, start, method="Powell", options={"ftol": 1e-12, "maxiter": 50})
        assert here <= searched.fun + 1e-7
    assert fit.undecided is not None  # exact moments leave nothing open
    assert not fit.undecided.any()


def test_a_working_set_takes_groups_whole():
    penalty = Pairs(sf.Domain.binary(6), 0.1)
    violation = np.zeros((6, 6))
    violation[0, 1] = violation[1, 0] = 1.0
    active = choose_active(np.zeros((6, 6)), violation, lambda _: True, penalty.groups)
    assert np.argwhere(np.triu(active)).tolist() == [[0, 1], [0, 2]]


def test_marks_need_a_penalty_that_is_a_sum_over_parameters(problem):
    own = Problem(problem.data, problem.domain, Plain(problem.penalty))
    fit = fit_newton(own, Tay("sharp"), Simulation(2000, 1), gap=0.01)
    assert fit.undecided is None


def test_main_effects_that_pay_a_part_are_certified_by_nobody():
    # Such a fit is of another problem than those that `certify` can make again from alpha.
    table = make_table(5, 500)

    class Other(L1):
        """An L1 penalty that asks something else of main effects."""

    for penalty in (L1(table.domain, 0.2, main=0.2), Other(table.domain, 0.2)):
        fit = sf.learn(table, penalty=penalty, seed=1)
        assert fit.penalty != "L1"
        assert fit.alpha == fit.settings["alpha"] == 0.2
        with pytest.raises(ValueError, match="certify knows no other"):
            sf.certify(fit, table)
    assert L1(table.domain, 0.2, main=0.2).dual_norm(np.eye(5)) == 5
    for main in (0.0, 1.0):
        facts = describe_penalty(L1(table.domain, 0.2, main))
        assert facts == {"alpha": 0.2, "penalty": "L1", "penalize_main": main == 1, "support": None}


def test_a_penalty_for_other_variables_is_refused():
    table = make_table(5, 500)
    other = sf.Domain.binary(tuple("abcde"))
    with pytest.raises(ValueError, match="made for other variables"):
        sf.learn(table, penalty=L1(other, 0.1))


def test_bad_penalties_are_refused():
    domain = sf.Domain.binary(3)
    for alpha in (-1.0, np.nan, np.inf, "0.1"):
        with pytest.raises(ValueError, match="alpha is"):
            L1(domain, alpha)
    with pytest.raises(ValueError, match="main is 2"):
        L1(domain, 0.1, 2)
    with pytest.raises(TypeError, match="abstract"):
        Penalty()
    assert sum_once(L1(domain, 0.5, 0.0).weights) == 1.5
