"""The constants of the solvers, other values for them, and small problems whose optima are known to try them on.

Those of steps are fields of policies. Others are held by private modules, which are changed from outside here and
nowhere else but in tests.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from types import ModuleType
from typing import Generic, TypeVar

import numpy as np

import sparsefield as sf
from sparsefield import Table
from sparsefield._typing import Matrix
from sparsefield.datasets import make_field
from sparsefield.gradients import BestDraws, Drawn, ExactMoments, Schedule, Simulation, without_error
from sparsefield.inference import Cpu, Exact, Perfect
from sparsefield.marks import _group_marks, _parameter_marks, _reweighting, fit_newton
from sparsefield.model import as_theta, norm
from sparsefield.objective import COMPLETED, CompletedPolicy, Problem, _quadratic
from sparsefield.pseudolikelihood import solve_pseudo_likelihood
from sparsefield.solvers import (
    NEWTON,
    PROXIMAL,
    NewtonPolicy,
    ProximalPolicy,
    _edge_errors,
    _newton_step,
    find_move,
)

ALPHA, ASKED = 0.017, 0.001  # the paper's penalty, and the gap that is asked for
RARE_ALPHA, RARE_ASKED = 5e-4, 0.002  # where a pair is never seen
TABLES, RARE_TABLES, SEEDS = (1, 2, 3), range(8), (1, 2, 3, 4)
LONGEST = 2.0  # seconds of a fit: steps that run away would go on for minutes
KINDS = {
    "warm": "from the pseudo-likelihood",
    "cold": "from zero, with 200 draws",
    "exact": "exact curvature",
    "rare": "a pair is never seen",
}


P = TypeVar("P", NewtonPolicy, ProximalPolicy, CompletedPolicy)


@dataclass(frozen=True)
class Choice:
    """A constant: its name, the modules that hold it, and other values than the one in use."""

    name: str
    holders: tuple[ModuleType, ...]
    others: tuple[float, ...] = ()

    @property
    def in_use(self) -> float:
        return float(getattr(self.holders[0], self.name))

    @property
    def values(self) -> list[float]:
        return sorted([self.in_use, *self.others])

    @contextmanager
    def set_to(self, value: float) -> Iterator[NewtonPolicy]:
        """Give the constant another value for a while; the policy of Newton steps is the one in use."""
        kept = getattr(self.holders[0], self.name)
        try:
            for holder in self.holders:
                setattr(holder, self.name, type(kept)(value))
            yield NEWTON
        finally:
            for holder in self.holders:
                setattr(holder, self.name, kept)


@dataclass(frozen=True)
class PolicyChoice(Generic[P]):
    """A field of a policy: its name, and other values than the one in use."""

    policy: P
    name: str
    others: tuple[float, ...]

    @property
    def in_use(self) -> float:
        return float(getattr(self.policy, self.name))

    @property
    def values(self) -> list[float]:
        return sorted([self.in_use, *self.others])

    @contextmanager
    def set_to(self, value: float) -> Iterator[P]:
        """Return the policy with another value; nothing else has it."""
        yield replace(self.policy, **{self.name: type(getattr(self.policy, self.name))(value)})


STEPS: list[Choice | PolicyChoice[NewtonPolicy]] = [
    PolicyChoice(NEWTON, "least_share", (0.0, 0.03, 0.1, 0.6, 0.9)),
    PolicyChoice(NEWTON, "shorter", (0.5, 0.9)),
    PolicyChoice(NEWTON, "draws_each", (1, 16)),
    PolicyChoice(NEWTON, "growth", (2, 16)),
    PolicyChoice(NEWTON, "enough", (0.5, 1.0)),
    PolicyChoice(NEWTON, "noise", (1, 2, 4)),
    PolicyChoice(NEWTON, "near", (0.6, 1.1)),
    PolicyChoice(NEWTON, "cut", (0.1, 0.5)),
    PolicyChoice(NEWTON, "surely", (0.0, 4.0)),
    PolicyChoice(NEWTON, "inner_noise", (0.01, 0.5)),
    PolicyChoice(NEWTON, "inner_tol", (1e-4, 1e-2, 1e-1)),
    PolicyChoice(NEWTON, "most_epochs", (10, 100, 10_000)),
    Choice("RARE", (_quadratic, _newton_step, _reweighting), (0, 1, 16)),
]
CONFIDENCE = Choice("UNDECIDED", (_edge_errors, _group_marks, _parameter_marks), (0.9, 0.999))
COMPLETING = PolicyChoice(COMPLETED, "gibbs_sweeps", (1, 20))
WINDOW = PolicyChoice(PROXIMAL, "window", (10, 160))
POWER = [
    PolicyChoice(PROXIMAL, "rough_steps", (1, 3, 30)),
    PolicyChoice(PROXIMAL, "rough_sweeps", (1, 3, 100)),
    PolicyChoice(PROXIMAL, "n_chains", (100, 10_000)),
]
PSEUDO_FIELDS = {
    "inner_tol": (0.005, 0.5),
    "most_epochs": (5, 20, 500),
    "outer_tol": (0.01, 0.5),
}  # fields of its policy


def simulate(n_draws: int, seed: int) -> Simulation:
    """Return a simulation on one thread, so that processor times can be compared."""
    return Simulation(n_draws, seed, backend=Cpu(1))


@dataclass(frozen=True, eq=False)
class Trial:
    """A problem with its optimum, and how it is to be solved."""

    kind: str
    problem: Problem
    optimum: Matrix
    lowest: float
    start: Matrix
    n_draws: int = 2000
    asked: float = ASKED
    schedule: Schedule = field(default_factory=partial(BestDraws, max_states=0))

    def solve(self, seed: int, policy: NewtonPolicy = NEWTON) -> sf.Fit:
        options = {"start": self.start, "gap": self.asked, "max_seconds": LONGEST, "policy": policy}
        return fit_newton(self.problem, self.schedule, simulate(self.n_draws, seed), **options)  # type: ignore[arg-type]


def find_optimum(problem: Problem, theta: Matrix) -> Matrix:
    """Make Newton steps with exact gradients until the norm of the smallest subgradient is 1e-6; curvature is drawn."""
    policy = replace(NEWTON, inner_noise=0.0)
    for k in range(100):
        model = problem.model(theta)
        exact = without_error(model, Exact().moments(model))
        here = Drawn(problem, theta, exact, Perfect(100_000, seed=1000 + k).run(model).draws(), 100_000)
        if norm(problem.subgradient(theta, here.gradient)) <= 1e-6:
            return theta
        theta = theta + find_move(here, policy=policy).made
    raise RuntimeError("The optimum was not found in 100 steps.")


def make_table(p: int, seed: int) -> Table:
    """Draw 2000 rows of one of the paper's fields."""
    return make_field(p, seed=seed).sample(2000, method="perfect", seed=seed)


def make_exclusive_table(seed: int) -> Table:
    """Make 300 rows in which the first two of five columns are never both one."""
    rows = (np.random.default_rng(seed).random((300, 5)) < 0.4).astype(np.uint8)
    rows[(rows[:, 0] == 1) & (rows[:, 1] == 1), 1] = 0
    return sf.encode(rows)


def make_trials() -> list[Trial]:
    """Make fields of 10 and 20 variables, each warm and cold, and tables with a pair that is never seen."""
    trials = []
    for p in (10, 20):
        for seed in TABLES:
            table = make_table(p, seed)
            problem = Problem.with_l1(sf.data.moments_of_table(table), table.domain, ALPHA)
            start = as_theta(solve_pseudo_likelihood(table, ALPHA, penalize_main=True).model)
            optimum = find_optimum(problem, start)
            own = problem, optimum, problem.objective(optimum)
            zeros = np.zeros_like(start)
            trials += [Trial("warm", *own, start), Trial("cold", *own, zeros, n_draws=200)]
            if p == 10:
                trials.append(Trial("exact", *own, zeros, schedule=ExactMoments()))
    for seed in RARE_TABLES:
        table = make_exclusive_table(seed)
        problem = Problem.with_l1(sf.data.moments_of_table(table), table.domain, RARE_ALPHA)
        start = as_theta(solve_pseudo_likelihood(table, RARE_ALPHA, penalize_main=True).model)
        optimum = as_theta(fit_newton(problem, ExactMoments(), start=start, tol=1e-8, max_iter=500).model)
        trials.append(Trial("rare", problem, optimum, problem.objective(optimum), start, asked=RARE_ASKED))
    return trials
