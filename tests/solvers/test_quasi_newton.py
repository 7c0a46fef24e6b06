"""Fits of enumerated fields one after the other, against exact optima: what they leave, and what they hold."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest

import sparsefield as sf
from sparsefield.fitting import Learner, Options
from sparsefield.gradients import Enumerated
from sparsefield.inference import Cpu
from sparsefield.objective import Problem, Support
from sparsefield.optimality import bound_gap
from sparsefield.solvers import NEWTON, Limits
from sparsefield.solvers._quasi_newton import follow
from sparsefield.tables import read_rows
from support.problems import make_table, theta_of


def make_levels():
    rng = np.random.default_rng(1)
    rows = rng.integers(0, 3, (400, 6))
    rows[:, 1] = np.where(rng.random(400) < 0.6, rows[:, 0], rows[:, 1])
    rows[:, 4] = rows[:, 4] > 0
    return sf.encode(rows)


TABLES = {
    "few rows": make_table(8, 300),
    "many rows": make_table(9, 20_000),
    "strong": sf.datasets.make_field(8, strength=(1.5, 2.5), seed=2).sample(800, n_sweeps=300, seed=1),
    "levels": make_levels(),
}


@dataclass(frozen=True)
class Counting(Cpu):
    """The processors, and how often they were asked for all states."""

    held: list[int] = field(default_factory=list)

    def states(self, model):
        self.held.append(1)
        return super().states(model)


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("penalize_main", [False, True])
def test_fits_of_a_path_leave_little_of_objective_and_likelihood(name, penalize_main):
    table = TABLES[name]
    n = table.n_rows
    found = sf.path(table, n_alphas=12, relax=True, penalty="l1", penalize_main=penalize_main)
    data = Learner(read_rows(table), Options(penalize_main=penalize_main)).data
    kinds = [(found.fits, found.likelihoods), (found.relaxed, found.relaxed_likelihoods)]
    for fits, likelihoods in kinds:
        for own, fit, known in zip(found.fits, fits, likelihoods, strict=True):
            assert fit.status.code == "converged"
            if fits is found.fits:
                problem = Problem.with_l1(data.moments, table.domain, fit.alpha, penalize_main)
            else:
                penalty = Support(table.domain, 1 / (2 * n), float(penalize_main), theta_of(own) != 0)
                problem = Problem(data, table.domain, penalty)
            bound = bound_gap(problem, theta_of(fit))
            assert bound.bound <= 1 / (4 * n)
            # What separate Newton steps lead to is optimal to rounding, and so is its log-likelihood.
            best = theta_of(fit) if bound.better is None else bound.better
            smooth = problem.objective(best) - problem.penalty.value(best)
            assert 2 * n * abs(known.value + smooth) <= 0.5


def test_states_are_held_for_few_fits_of_a_path():
    backend = Counting()
    found = sf.path(TABLES["few rows"], device=backend)
    n_steps = sum(len(fit.steps) for fit in found.fits)
    assert len(found) == 30
    assert 1 <= len(backend.held) <= 10
    assert n_steps > len(backend.held)


@pytest.mark.parametrize("name", ["few rows", "strong"])
def test_a_small_tolerance_asks_for_more(name):
    found = sf.path(TABLES[name], n_alphas=6, solver=sf.Newton(tol=1e-8))
    for fit in found.fits:
        assert fit.steps[-1].subgradient_norm <= 1e-8


@pytest.mark.parametrize("policy", [NEWTON, replace(NEWTON, most_secants=1), replace(NEWTON, slow=0.0)])
def test_steps_from_a_wrong_curvature_lead_to_the_optimum(policy):
    # The curvature of independent variables is far from that of a strong field, and its steps lead up at first.
    table, backend = TABLES["strong"], Cpu()
    problem = Problem.with_l1(sf.data.moments_of_table(table), table.domain, 0.005, penalize_main=False)
    far = 3 * theta_of(sf.learn(table, 0.005))
    near = np.zeros_like(far)
    start = Enumerated(problem, far, backend.states(problem.model(near)), near)
    fit, end = follow(problem, backend, Limits(100, 0.0), start, 1e-9, None, policy=policy)
    assert fit.status.code == "converged"
    assert any("taken back" in step.reason for step in fit.steps)
    kept = [step.objective for step in fit.steps if "taken back" not in step.reason]
    assert (np.diff(kept) <= 1e-12).all()
    assert bound_gap(problem, theta_of(fit)).bound <= 1e-9
    np.testing.assert_array_equal(end.theta, theta_of(fit))
    assert end.log_normaliser == pytest.approx(fit.model.log_partition().value, rel=1e-13)
    np.testing.assert_allclose(end.moments.pair, fit.model.moments().pair, atol=1e-13)
