"""The gap as a promise."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import sparsefield as sf
from sparsefield._seeds import Use
from sparsefield.data import Rows
from sparsefield.fits import Status
from sparsefield.gradients import BestDraws, ExactMoments, PerfectDraws, Simulation
from sparsefield.inference import MOST_ENTRIES, count_entries
from sparsefield.marks import fit_newton
from sparsefield.objective import Observed, Problem
from sparsefield.optimality import GAPS, Promise, _certified_solve, bound_gap
from sparsefield.optimality._certify import assess
from sparsefield.optimality._clt_bound import draws_for_targets, outside_quantile
from sparsefield.optimality._dual_point import choose_targets, count_targets
from sparsefield.optimality._fresh_draws import draw_fresh
from sparsefield.optimality._gap_bound import GapBound
from sparsefield.solvers._loop import Limits
from support.clock import Clock
from support.problems import make_problem, make_table, theta_of
from support.statistics_ import FALSE_ALARM


@pytest.mark.parametrize("gap", [0.02, 0.002])
def test_a_promised_gap_is_kept_and_known_to_be(gap):
    table = sf.datasets.make_field(8, seed=1).sample(500, method="perfect", seed=1)
    fit = sf.learn(table, 0.02, gap=gap, certify=True, solver=sf.Newton(schedule=BestDraws(max_states=0)), seed=1)
    problem = Problem.with_l1(sf.data.moments_of_table(table), table.domain, 0.02, penalize_main=False)
    assert bound_gap(problem, theta_of(fit)).bound <= fit.optimality.gap + 1e-9 <= gap + 1e-9
    assert "by enumeration" in fit.status.sentence


def test_the_status_names_the_central_limit_theorem_where_draws_certify():
    table = sf.datasets.make_field(24, degree=2, strength=(0.5, 1.0), seed=1).sample(1000, method="perfect", seed=1)
    assert count_entries(table.domain) > MOST_ENTRIES
    fit = sf.learn(table, 0.03, gap=0.02, certify=True, seed=1)
    assert fit.optimality.kind == "asymptotic"
    assert fit.optimality.gap <= 0.02
    assert "above its optimum, with confidence 0.99, by the central limit theorem." in fit.status.sentence


def test_a_gap_that_cannot_be_certified_is_said_to_be_none():
    table = sf.datasets.make_field(6, seed=1).sample(300, method="perfect", seed=1)
    codes = table.codes.copy()
    codes[::10, 0] = 255
    fit = sf.learn(sf.Table(table.domain, codes), 0.03, gap=0.01, certify=True, seed=1)
    # Nothing that a user could do would certify it: it is said, and is no warning.
    assert fit.status.code == "converged"
    assert "The gap asked for, 0.01, is not certified: missing values" in fit.status.sentence
    assert np.isfinite(fit.optimality.subgradient)


class Attempts:
    """Bounds in place of those of draws, one for each attempt, and steps in place of those of a solver.

    Parameters
    ----------
    bounds : sequence of float
        What is certified, attempt by attempt.
    estimates : sequence of float or None
        What the gap is found to be.
    better : ndarray, optional
        What is known to be better than the fit.
    kind : str
        How it is certified.
    """

    def __init__(self, bounds, estimates, better=None, kind="asymptotic"):
        self.bounds, self.estimates, self.better, self.kind = bounds, estimates, better, kind
        self.asked, self.solved, self.models = [], [], []

    def assess(self, _problem, model, _entropy, simulation, **asked):
        bound, estimate = (values[len(self.asked)] for values in (self.bounds, self.estimates))
        self.asked.append({"n_draws": simulation.n_chains, "seed": simulation.seed, **asked})
        self.models.append(model)
        sure = 1.0 if self.kind == "exact" else asked["confidence"]
        known = {"confidence": sure, "n_draws": simulation.n_chains, "better": self.better, "why": "no bound"}
        return GapBound(bound, self.kind, bound, estimate=estimate, subgradient=0.1, **known)

    def solve(self, start, gap, seed, n_left):
        self.solved.append((start, gap, seed, n_left))
        return replace(FIT, model=PROBLEM.model(np.eye(5) * len(self.solved)))

    def run(self, monkeypatch, gap, max_seconds=None, policy=GAPS):
        monkeypatch.setattr(_certified_solve, "assess", self.assess)
        limits = Limits(100, max_seconds=max_seconds)
        promise = Promise(PROBLEM, Rows(TABLE), gap, self.solve, Simulation(100, 7), limits, policy=policy)
        return promise.keep(FIT)


PROBLEM = make_problem(5)
TABLE = make_table(5, 100)  # whose entropy is asked for, and used by nobody here
FIT = fit_newton(PROBLEM, ExactMoments(), max_iter=2)


def test_each_attempt_has_its_share_of_the_risk_more_draws_and_a_seed_of_its_own(monkeypatch):
    tried = Attempts([0.2, 0.2, 0.2, 0.01], [0.06, 0.06, 0.06, 0.01])
    fit = tried.run(monkeypatch, 0.1)
    shares = [(1 - asked["confidence"]) / 0.01 for asked in tried.asked]
    assert shares == pytest.approx([1 / 2, 1 / 6, 1 / 12, 1 / 20])
    draws = [asked["n_draws"] for asked in tried.asked]
    assert draws == [50_000, 200_000, 800_000, 3_200_000]
    seeds = [asked["seed"] for asked in tried.asked] + [seed for _, _, seed, _ in tried.solved]
    assert len(set(seeds)) == len(seeds) == 4 + 3
    # What is said holds with the whole confidence, since shares of the risk add up to less than all of it.
    assert fit.optimality.confidence == 0.99
    assert fit.status.sentence.endswith(
        "Certified: it is at most 0.01 above its optimum, with confidence 0.99, by the central limit theorem."
    )


def test_draws_grow_to_a_limit(monkeypatch):
    # The first attempt has k / gap draws, for k parameters that are not zero.
    k = np.count_nonzero(np.triu(theta_of(FIT)))
    tried = Attempts([1.0] * 4, [0.0] * 4)
    tried.run(monkeypatch, k / 600_000)
    draws = [asked["n_draws"] for asked in tried.asked]
    # The quotient is rounded once more when it is cut to a whole number.
    assert draws[0] in (599_999, 600_000)
    assert draws[1:] == [4 * draws[0], 2**22, 2**22]


def test_a_policy_says_how_often_and_with_how_many_draws_it_is_tried(monkeypatch):
    tried = Attempts([1.0] * 2, [0.0] * 2)
    policy = replace(GAPS, most_attempts=2, fewest_draws=70_000, growth=3, confidence=0.95)
    fit = tried.run(monkeypatch, 0.1, policy=policy)
    assert [asked["n_draws"] for asked in tried.asked] == [70_000, 210_000]
    assert [(1 - asked["confidence"]) / 0.05 for asked in tried.asked] == pytest.approx([1 / 2, 1 / 6])
    assert fit.optimality.confidence == 0.95


def test_nothing_more_is_tried_where_no_draws_can_be_had(monkeypatch):
    tried = Attempts([np.inf], [None])
    found = GapBound(kind="proven", confidence=0.99, why="there are no draws")
    monkeypatch.setattr(tried, "assess", lambda *_, **asked: tried.asked.append(asked) or found)
    fit = tried.run(monkeypatch, 0.1)
    assert len(tried.asked) == 1
    assert fit.status.sentence.endswith("is not certified: there are no draws.")


@pytest.mark.parametrize("better", [None, np.eye(5)])
def test_further_steps_are_made_exactly_where_the_gap_seems_above_half_of_what_was_asked(monkeypatch, better):
    # Where nothing is known of the gap, steps are made too.
    tried = Attempts([0.2, 0.2, 0.2, 0.2], [0.049, 0.051, None, 1.0], better)
    fit = tried.run(monkeypatch, 0.1)
    # One third of the gap was for the fit; further steps have 1/4 and 1/16 of that.
    assert [gap for _, gap, _, _ in tried.solved] == pytest.approx([0.1 / 12, 0.1 / 48])
    starts = [theta_of(FIT), np.eye(5)] if better is None else [better, better]
    for (start, _, _, _), expected in zip(tried.solved, starts, strict=True):
        np.testing.assert_array_equal(start, expected)
    # What is judged is what the steps led to: nothing is made of the first attempt, nor of the last.
    for model, main in zip(tried.models, [FIT.model.main, FIT.model.main, np.ones(5), 2 * np.ones(5)], strict=True):
        np.testing.assert_array_equal(model.main, main)
    assert fit.model is tried.models[-1]
    n = len(FIT.steps)
    assert [step.iteration for step in fit.steps] == list(range(1, 3 * n + 1))


def test_draws_that_are_too_few_to_say_anything_are_no_reason_for_steps(monkeypatch):
    tried = Attempts([np.inf, 0.01], [None, 0.01])
    assert tried.run(monkeypatch, 0.1).model is FIT.model
    assert tried.solved == []
    assert [asked["n_draws"] for asked in tried.asked] == [50_000, 200_000]


@pytest.mark.parametrize("is_known", [True, False])
def test_batches_have_a_hundred_draws_for_each_statistic_that_they_leave_open(is_known):
    problem = make_problem(8, 0.02, penalize_main=False)
    theta = theta_of(fit_newton(problem, ExactMoments(), tol=1e-10))
    moments = problem.see(problem.model(theta).moments()) if is_known else None
    n = draws_for_targets(problem, theta, moments)
    gradient = problem.gradient(moments) if is_known else np.zeros_like(theta)
    z = outside_quantile(problem, 1 - GAPS.confidence)
    enough, fewer = (count_targets(problem, theta, gradient, z, k) for k in (n, (n - 1) / 2**0.01))
    assert 100 * enough <= n
    assert 100 * fewer > (n - 1) / 2**0.01
    assert enough >= np.count_nonzero(np.triu(theta))


def gradient_after(batch, move):
    """Return the gradient that the covariance of draws leads to."""
    x = batch.estimate.chains.codes().astype(float)
    along = x @ np.diagonal(move) + ((x @ np.triu(move, 1)) * x).sum(axis=1)
    return batch.gradient + (x.T * (along - along.mean())) @ x / batch.n


def test_batches_leave_open_what_their_draws_choose():
    table = sf.datasets.make_field(12, degree=3, strength=(1.0, 1.5), seed=1).sample(1000, method="perfect", seed=1)
    problem = Problem.with_l1(sf.data.moments_of_table(table), table.domain, 0.01, penalize_main=False)
    theta = theta_of(sf.learn(table, 0.01, seed=1))
    z = outside_quantile(problem, 0.01)
    n_fewer = 0
    for seed in range(12):
        batch = draw_fresh(problem, theta, Simulation(50_000, seed), Use.GAP)
        chosen = choose_targets(batch, z)
        # Draws choose by their own moments, at the end of their step. With those of the data, or the gradients where
        # the step begins, the count is only about the same: it is more or less by chance.
        drawn = Problem(Observed(batch.estimate.moments), problem.domain, problem.penalty)
        counted = count_targets(drawn, theta, gradient_after(batch, chosen.move), z, batch.n)
        # A regression on all parameters that are not zero, in place of main effects, leaves less open.
        assert np.count_nonzero(np.triu(theta)) <= chosen.n <= counted
        n_fewer += chosen.n < counted
    assert n_fewer > 0  # without that there was nothing for the regression to leave out


def test_an_exact_gap_that_is_too_large_needs_steps_and_no_draws(monkeypatch):
    # Draws do not bring a bound by enumeration down: half of the gap is no limit there.
    tried = Attempts([0.2, 0.05], [0.0, 0.0], kind="exact")
    fit = tried.run(monkeypatch, 0.1)
    assert (len(tried.asked), len(tried.solved)) == (2, 1)
    assert fit.optimality.confidence == 1.0


@pytest.mark.parametrize(
    ("bound", "why"), [(0.2, "it is certified to be at most 0.2"), (np.inf, "no bound")], ids=["above", "none"]
)
def test_four_attempts_without_success_are_a_refusal(monkeypatch, bound, why):
    tried = Attempts([bound] * 4, [0.0] * 4)
    fit = tried.run(monkeypatch, 0.1)
    assert (len(tried.asked), len(tried.solved)) == (4, 0)
    assert fit.status.code == "not_certified"
    assert fit.status.sentence == f"{FIT.status.sentence} The gap asked for, 0.1, is not certified: {why}."
    assert fit.optimality.gap == bound


@pytest.mark.parametrize(("max_seconds", "n_attempts"), [(0.0, 1), (2.0, 2), (9.0, 4)])
def test_no_further_attempt_is_begun_when_it_is_late(monkeypatch, max_seconds, n_attempts):
    clock = Clock(monkeypatch)
    tried = Attempts([0.2] * 4, [1.0] * 4)
    assess_at_once = tried.assess

    def take_a_second(*args, **asked):
        clock.advance(1.0)
        return assess_at_once(*args, **asked)

    tried.assess = take_a_second
    fit = tried.run(monkeypatch, 0.1, max_seconds)
    assert (len(tried.asked), len(tried.solved)) == (n_attempts, n_attempts - 1)
    assert fit.status.code == "not_certified"


def test_an_interrupt_of_further_steps_is_not_lost(monkeypatch):
    tried = Attempts([0.2] * 4, [1.0] * 4)
    tried.solve = lambda *_: replace(FIT, status=Status("interrupted", "Interrupted."))
    fit = tried.run(monkeypatch, 0.1)
    assert fit.status.code == "interrupted"
    assert fit.optimality.gap == 0.2  # what the first attempt found


# Few iterations of gradient steps leave gaps that need further steps; Newton steps end near a third of the gap, so that
# noise of the first attempt is what is above it.
@pytest.mark.parametrize(
    ("gap", "solver"),
    [(0.0002, sf.Newton(schedule=PerfectDraws())), (0.002, sf.Proximal(schedule=PerfectDraws(), max_iter=3))],
)
def test_gaps_that_need_several_attempts_hold(monkeypatch, gap, solver):
    n_fits, n_attempts, n_broken = 8, 0, 0

    def count(*args, **asked):
        nonlocal n_attempts
        n_attempts += 1
        return assess(*args, **asked, max_states=0)

    monkeypatch.setattr(_certified_solve, "assess", count)
    for seed in range(n_fits):
        table = sf.datasets.make_field(8, seed=seed).sample(500, method="perfect", seed=seed)
        fit = sf.learn(table, 0.02, gap=gap, certify=True, solver=solver, seed=seed)
        problem = Problem.with_l1(sf.data.moments_of_table(table), table.domain, 0.02, penalize_main=False)
        assert fit.optimality.kind == "asymptotic"
        assert fit.optimality.gap <= gap
        n_broken += bound_gap(problem, theta_of(fit)).lower > fit.optimality.gap
    assert n_broken <= stats.binom.isf(FALSE_ALARM, n_fits, 1 - GAPS.confidence)
    assert n_attempts > n_fits  # at least one of them needed a second one: without that nothing is tested here
