"""The paper's networks of 10 and 20 nodes: data, runs of each method, and the exact optimum."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

import sparsefield as sf
from sparsefield._typing import Matrix
from sparsefield.data import Table, moments_of_table
from sparsefield.datasets import make_field
from sparsefield.estimators import SparseMRF
from sparsefield.fits import Fit, GradientStep
from sparsefield.gradients import Drawn, Fixed, Increasing, Schedule, Simulation, Tay, without_error
from sparsefield.inference import EnumeratedStates
from sparsefield.model import PairwiseMRF, as_theta
from sparsefield.network import edge_auc
from sparsefield.objective import Problem
from sparsefield.solvers import begin, find_move, step

STEP_SIZE = 0.4
BURN_IN = 1000  # sweeps before a row of data is taken
EDGE_PROBABILITY, STRENGTH = 0.3, (1.0, 2.0)
_LATE = 0.1  # share of the iterations over which the AUC at the end is averaged
_MOST_POLISHES, TOLERANCE = 100, 1e-6  # of the optimum: steps, share of the penalty
_MOST_NEWTON = 50


@dataclass(frozen=True)
class Setting:
    """The paper's settings for one size of network, and how much of them to run.

    Parameters
    ----------
    n_variables, n_rows, n_chains : int
        The size of the network, of the data, and of the sampler.
    alphas : tuple of float
        Penalties; the first is that of the main text, the others are those of the supplement.
    n_many : int
        Sweeps of SPG that should be enough.
    n_trials, n_iter : int
        Fields and data sets to average over; iterations of each run.
    """

    n_variables: int
    n_rows: int
    n_chains: int
    alphas: tuple[float, ...]
    n_many: int
    n_trials: int = 10
    n_iter: int = 300

    @property
    def methods(self) -> dict[str, Schedule]:
        """The paper's methods."""
        return {
            "TAY": Tay("paper"),
            f"SPG, {self.n_many} sweeps": Fixed(self.n_many),
            "SPG, 1 sweep": Fixed(1),
            "SPG-Inc": Increasing(),
        }


SETTINGS = {
    10: Setting(10, 1000, 2000, (0.025, 0.02, 0.03), 30),
    20: Setting(20, 2000, 5000, (0.017, 0.015, 0.02), 60),
}
QUICK = {
    10: Setting(10, 1000, 2000, (0.025,), 30, n_trials=3, n_iter=60),
    20: Setting(20, 2000, 5000, (0.017,), 60, n_trials=2, n_iter=40),
}


@dataclass(frozen=True, eq=False)
class Run:
    """A run, iteration by iteration: seconds since its start, sweeps made in each, AUC after each.

    `is_certified` says which gradients were certified, and is None where the method has no certificates.
    """

    seconds: NDArray[np.float64]
    n_sweeps: NDArray[np.float64]
    is_certified: NDArray[np.bool_] | None
    auc: NDArray[np.float64]
    theta: Matrix  # at the end

    @property
    def end(self) -> float:
        """The AUC at the end, averaged over the last iterations."""
        return float(self.auc[-max(1, int(_LATE * len(self.auc))) :].mean())

    def first_above(self, goal: float) -> int | None:
        """Return the first iteration, from 0 on, whose AUC is at the goal."""
        reached = np.flatnonzero(self.auc >= goal)
        return int(reached[0]) if len(reached) else None


@dataclass(frozen=True, eq=False)
class Trial:
    """A field and a table of draws from it."""

    seed: int
    truth: PairwiseMRF
    table: Table

    def problem(self, alpha: float) -> Problem:
        """Return what is minimised."""
        return Problem.with_l1(moments_of_table(self.table), self.table.domain, alpha)

    def auc(self, theta: Matrix) -> float:
        """Return the AUC of the edges of some parameters."""
        return float(edge_auc(theta, self.truth))


def make_trial(setting: Setting, seed: int) -> Trial:
    """Draw a field and data as the paper does."""
    truth = make_field(setting.n_variables, EDGE_PROBABILITY, STRENGTH, seed=seed)
    return Trial(seed, truth, truth.sample(setting.n_rows, n_sweeps=BURN_IN, seed=seed))


def follow(
    problem: Problem,
    schedule: Schedule,
    simulation: Simulation,
    n_iter: int,
    step_size: float | str = STEP_SIZE,
    start: Matrix | None = None,
) -> Iterator[tuple[Matrix, GradientStep, Matrix]]:
    """Make the paper's steps; yield the parameters before each, what it says, and those after it."""
    state = begin(problem, simulation, step_size, start)
    for _ in range(n_iter):
        after, info = step(problem, state, schedule, simulation)
        yield state.theta, info, after.theta
        state = after


def run_path(trial: Trial, alpha: float, schedule: Schedule, setting: Setting, *, persist: bool = False) -> Run:
    """Run a method of the paper's kind."""
    simulation = Simulation(setting.n_chains, trial.seed, persist)
    steps = list(follow(trial.problem(alpha), schedule, simulation, setting.n_iter))
    thetas = np.array([after for _, _, after in steps])
    has_certificates = any(info.certificate is not None for _, info, _ in steps)
    return Run(
        np.cumsum([info.seconds for _, info, _ in steps]),
        np.array([info.n_sweeps for _, info, _ in steps]),
        np.array([info.is_certified for _, info, _ in steps]) if has_certificates else None,
        edge_auc(thetas, trial.truth),
        thetas[-1],
    )


def run_newton(trial: Trial, alpha: float) -> Run:
    """Run the Newton solver, stopped after one step, two, and so on: each time what it costs to get there."""
    fits: list[SparseMRF] = []
    seconds = []
    while not fits or (fits[-1].status_.code not in ("converged", "simulation_error") and len(fits) < _MOST_NEWTON):
        clock = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            mrf = SparseMRF(
                alpha,
                penalize_main=True,
                solver=sf.Newton(max_iter=len(fits) + 1),
                random_state=trial.seed,
                progress=False,
            ).fit(trial.table)
        seconds.append(time.perf_counter() - clock)
        check_ended(mrf.fit_)
        fits.append(mrf)
    thetas = np.array([as_theta(mrf.model_) for mrf in fits])
    return Run(
        np.maximum.accumulate(seconds),
        np.array([mrf.trace_["n_sweeps"][-1] for mrf in fits]),
        np.array([bool(mrf.trace_["is_certified"][-1]) for mrf in fits]),
        edge_auc(thetas, trial.truth),
        thetas[-1],
    )


def find_optimum(problem: Problem) -> tuple[Matrix, float]:
    """Return the exact optimum, and the largest entry of its smallest subgradient, which should be zero.

    By Newton steps with all states, until that entry is below a small share of the penalty.
    """
    theta = np.zeros((problem.domain.n_slots,) * 2)
    for _ in range(_MOST_POLISHES):
        model = problem.model(theta)
        states = EnumeratedStates(model)
        here = Drawn(problem, theta, without_error(model, states.moments, states), states, 0)
        violation = float(np.abs(problem.subgradient(theta, here.gradient)).max())
        if violation <= TOLERANCE * problem.penalty.alpha:
            return theta, violation
        theta = theta + find_move(here).made
    raise RuntimeError(
        f"The optimum was not found in {_MOST_POLISHES} steps: the subgradient is still {violation:.2g}."
    )


def check_ended(fit: Fit) -> None:
    """Pass an interrupt on: solvers keep what they have and say so, which here would count as a result."""
    if fit.status.code == "interrupted":
        raise KeyboardInterrupt


def standard_error(values: NDArray[np.float64]) -> Any:
    """Return the standard error of the mean over trials, the first axis; NaN of a single one."""
    if len(values) < 2:
        return np.full(np.shape(values)[1:], np.nan)[()]
    return np.std(values, axis=0, ddof=1) / np.sqrt(len(values))
