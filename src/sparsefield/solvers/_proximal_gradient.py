"""The paper's algorithm: proximal gradient steps with estimated gradients."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from sparsefield._rounding import at_most
from sparsefield._typing import Matrix
from sparsefield.certificates import Disagreement
from sparsefield.data import count
from sparsefield.fits import Fit, GradientStep, Status, StepInfo
from sparsefield.gradients import Drawn, Estimate, Point, ProximalStep, Schedule, Simulation
from sparsefield.inference import ChainStates
from sparsefield.model import norm, sum_once
from sparsefield.objective import RARE, DataTerm, Problem, describe_penalty, variances_of
from sparsefield.solvers._loop import Limits, Watch, run
from sparsefield.solvers._newton_policy import NEWTON
from sparsefield.solvers._newton_step import ROUNDING
from sparsefield.solvers._proximal_policy import PROXIMAL, ProximalPolicy
from sparsefield.solvers._step_info import check_start, describe, is_small
from sparsefield.solvers._step_size import follow_curvature, initial_curvature, rough_curvature


@dataclass(frozen=True, eq=False)
class State:
    """What the next step needs.

    Parameters
    ----------
    theta : ndarray of shape (n_slots, n_slots)
        The parameters, laid out as in `Problem`.
    step_size : float
        Length of the next step.
    iteration : int
        Steps made.
    curvature : ndarray of shape (n_slots, n_slots), optional
        The direction of largest curvature, where the step size follows it.
    chains : ChainStates, optional
        Where the chains stand.
    disagreement : Disagreement, optional
        How far they can be from the model they were swept towards.
    data : DataTerm, optional
        The data term as the last step left it; that of the problem unless given.
    before : ndarray of shape (n_slots, n_slots), optional
        The parameters before the last step.
    caution : float
        Which part of the longest safe step is made, where the step size follows the curvature.
    last_step : float, optional
        The norm of the last step map.
    """

    theta: Matrix
    step_size: float
    iteration: int = 0
    curvature: Matrix | None = None
    chains: ChainStates | None = None
    disagreement: Disagreement | None = None
    data: DataTerm | None = None
    before: Matrix | None = None
    caution: float = 1.0
    last_step: float | None = None


def step(
    problem: Problem,
    state: State,
    schedule: Schedule,
    simulation: Simulation,
    *,
    track: bool = False,
    policy: ProximalPolicy = PROXIMAL,
) -> tuple[State, GradientStep]:
    """Make one proximal step: GRAD, then the update (the paper's box SPG).

    Parameters
    ----------
    problem : Problem
        What is minimised.
    state : State
        Where; it is not changed.
    schedule : Schedule
        How the gradient is estimated.
    simulation : Simulation
        With which chains.
    track : bool
        Whether to compute the objective, by enumeration.
    policy : ProximalPolicy
        Tuning constants.
    """
    start = time.perf_counter()
    k = state.iteration + 1
    model = problem.model(state.theta)
    point = Point(k, state.theta, model, state.step_size, state.chains, state.disagreement, state.last_step)
    data = problem.data if state.data is None else state.data
    data = data.given(point.model, simulation.n_chains)
    problem = problem.with_data(data)
    estimate = schedule.estimate(problem, point, simulation)
    theta, step_map = ProximalStep(problem, state.theta, state.step_size).take(estimate.moments)
    is_taken_back = state.curvature is not None and _has_risen(problem, state, point, estimate, simulation, policy)
    if is_taken_back:
        assert state.before is not None
        theta = state.before + policy.cut * (state.theta - state.before)
    length = norm(step_map)
    after = State(
        theta, state.step_size, k, state.curvature, estimate.chains, estimate.disagreement, data, last_step=length
    )
    if state.curvature is not None:
        known = problem, state.curvature, estimate.chains, point, simulation
        curvature, step_size = follow_curvature(*known, policy=policy)
        caution = policy.cut * state.caution if is_taken_back else min(1.0, state.caution / policy.cut)
        before = state.before if is_taken_back else state.theta
        after = replace(after, curvature=curvature, step_size=caution * step_size, before=before, caution=caution)
    said = describe(k, estimate, problem, step_map, theta)
    if is_taken_back:
        said["reason"] += "; the last step is taken back, since the objective is higher here"
    said["seconds"] = time.perf_counter() - start
    objective = problem.objective(state.theta) if track else None
    return after, GradientStep(**said, objective=objective, step_map_norm=length, step_size=state.step_size)


def _has_risen(
    problem: Problem, state: State, point: Point, estimate: Estimate, simulation: Simulation, policy: ProximalPolicy
) -> bool:
    """Say whether the last step led up, by more than simulation error explains.

    By convexity the objective has risen by at most the slope at the end of the step. Where that is positive beyond its
    simulation error, the rise itself is measured. Where missing values are completed, the data are those at the start
    of the step (that is why EM rises). The standard deviation of a sum is at most the sum of those of its terms.
    """
    if state.before is None or (estimate.chains is None and estimate.states is None):
        return False
    step = state.theta - state.before
    before = problem if state.data is None else problem.with_data(state.data)
    known = sum_once(step * before.target) + problem.penalty.value(state.before) - problem.penalty.value(state.theta)
    moments, n = problem.see(estimate.moments), max(1, estimate.n_chains)
    slope = sum_once(step * moments.pair) - known
    variances = np.maximum(variances_of(moments), problem.coordinates.units * RARE / n)
    error = sum_once(np.abs(step) * np.sqrt(variances / n))
    if not estimate.is_exact and slope <= policy.standard_errors * error:
        return False
    decrease, variance = Drawn.at(problem, point, estimate, simulation, n).log_fall(step, NEWTON.least_share)
    return bool(known + decrease < -policy.standard_errors * np.sqrt(variance) - ROUNDING)


def begin(
    problem: Problem,
    simulation: Simulation,
    step_size: float | str,
    start: Matrix | None = None,
    *,
    policy: ProximalPolicy = PROXIMAL,
) -> State:
    """Return the state before the first step."""
    theta = check_start(problem, start)
    check_step_size(step_size)
    if step_size != "auto":
        return State(theta, float(step_size))
    curvature, longest = initial_curvature(problem, simulation, policy=policy)
    return State(theta, longest, curvature=curvature)


def solve(
    problem: Problem,
    schedule: Schedule,
    simulation: Simulation | None = None,
    *,
    step_size: float | Literal["auto"] = "auto",
    start: Matrix | None = None,
    max_iter: int = 300,
    tol: float = 1e-4,
    max_seconds: float | None = None,
    began: float | None = None,
    average: bool = False,
    watch: Watch | None = None,
    policy: ProximalPolicy = PROXIMAL,
) -> Fit:
    """Make steps until there is nothing left to gain, or no more time.

    Parameters
    ----------
    problem : Problem
        What is minimised. Where missing values are completed, the data moments are estimated anew in every iteration,
        given the model (stochastic EM).
    schedule : Schedule
        How gradients are estimated.
    simulation : Simulation, optional
        With which chains; 2000 of seed 0 unless given.
    step_size : float or "auto"
        Length of the steps; "auto" estimates 1 / L, L the largest curvature of the smooth part, and follows it.
    start : ndarray of shape (n_slots, n_slots), optional
        Parameters to start from, laid out as in `Problem`; zero unless given.
    max_iter : int
        Steps at most.
    tol : float
        The fit has converged when the norm of the step map is at most this.
    max_seconds : float, optional
        Time after which the fit ends.
    began : float, optional
        When the fit began, by `time.perf_counter`; now unless given.
    average : bool
        Whether to return the average of all iterates in place of the last one, for comparison.
    watch : callable, optional
        Called with each StepInfo.
    policy : ProximalPolicy
        Tuning constants.
    """
    simulation = Simulation() if simulation is None else simulation
    limits = Limits(max_iter, tol, max_seconds, began)
    first = begin(problem, simulation, step_size, start, policy=policy)
    method = _GradientSteps(problem, schedule, simulation, first, tol, policy)
    steps, status = run(method, limits, watch)
    theta = method.total / len(steps) if average and steps else method.state.theta
    return Fit(problem.model(theta), method.advise(status), steps, **describe_penalty(problem.penalty))


class _GradientSteps:
    """Proximal gradient steps, one after the other, and what tells when they lead nowhere any more."""

    def __init__(
        self,
        problem: Problem,
        schedule: Schedule,
        simulation: Simulation,
        state: State,
        tol: float,
        policy: ProximalPolicy,
    ) -> None:
        self._problem, self._schedule, self._simulation, self._tol = problem, schedule, simulation, tol
        self._policy, self._window = policy, policy.window
        self._is_tracked = is_small(problem)
        self.state, self.total = state, np.zeros_like(state.theta)
        self._steps: list[GradientStep] = []
        self._anchor = state.theta
        self._ways: list[float] = []  # squared lengths of the ways made in windows of iterations

    def advance(self) -> StepInfo:
        """Make one step."""
        how = self._schedule, self._simulation
        self.state, info = step(self._problem, self.state, *how, track=self._is_tracked, policy=self._policy)
        self.total += self.state.theta
        self._steps.append(info)
        if len(self._steps) % self._window == 0:
            self._ways.append(norm(self.state.theta - self._anchor) ** 2)
            self._anchor = self.state.theta
        return info

    def judge(self, steps: Sequence[StepInfo]) -> Status | None:
        """Say whether the step map vanished, or steps cannot be told from simulation error."""
        info = self._steps[-1]
        if info.step_map_norm <= self._tol:
            said = f"Converged in {count(len(steps), 'iteration')}: the step map is down to {info.step_map_norm:.2g}."
            return Status("converged", said)
        if len(steps) % self._window == 0 and self._is_at_floor():
            return Status(
                "simulation_error",
                f"After {len(steps)} iterations the fit is as near as the simulation error of {info.n_chains} chains "
                f"allows: in the last {2 * self._window} it went no further than that error alone would take it. More "
                "chains would lead further.",
            )
        return None

    def _is_at_floor(self) -> bool:
        """Say whether the last two windows made no more way than independent errors of the steps would, by half."""
        if len(self._ways) < 2 or self._steps[-1].simulation_error_norm == 0:
            return False
        for k, way in enumerate(self._ways[-2:]):
            end = len(self._steps) - (1 - k) * self._window
            own = self._steps[end - self._window : end]
            # The squared way of errors in d directions varies by sqrt(2 / d) of its mean: with 50 of them, half as much
            # again is 2.5 standard deviations.
            if way > 1.5 * sum((s.step_size * s.simulation_error_norm) ** 2 for s in own):
                return False
        return True

    def advise(self, status: Status) -> Status:
        """Replace a status by a more serious one that the trace shows, and say what its certificates depend on."""
        worst = self._find_worse(status) if self._steps else status
        conditions = dict.fromkeys(s.condition for s in self._steps[-self._window :] if s.condition)
        if not conditions:
            return worst
        said = f"{worst.sentence} Its certificates are approximations: they hold {' and '.join(conditions)}."
        return replace(worst, sentence=said)

    def _find_worse(self, status: Status) -> Status:
        if status.code == "interrupted":
            return status
        longest, used = self._longest_step(), self._steps[-1].step_size
        if used > longest:
            return Status(
                "step_too_long",
                f"The step size {used:.3g} is too long for the objective to fall: above {longest:.3g} it can rise. "
                "Use step_size='auto' or a smaller one.",
            )
        missed = [s for s in self._steps[-self._window :] if s.is_promised and not s.is_certified]
        if not missed:
            return status
        last = missed[-1]
        got = "" if last.certificate is None else f": the certificate got to {at_most(last.certificate)}"
        return Status(
            "not_certified",
            f"{status.sentence} {len(missed)} of the last gradients are not certified ({last.reason}){got}, "
            f"half the step map is {last.step_map_norm / 2:.3g}. {last.remedy}",
        )

    def _longest_step(self) -> float:
        """Return the longest step size with which the objective can fall all the time."""
        if self.state.curvature is not None:
            return np.inf  # it is followed
        if self.state.chains is None:
            # Exact objectives are rounded to about 1e-12: one that rises by 1e-9 does rise.
            objectives = np.array([s.objective for s in self._steps[-self._window :] if s.objective is not None])
            return self._steps[-1].step_size / 2 if np.any(np.diff(objectives) > 1e-9) else np.inf
        return 2 * rough_curvature(self._problem, self.state.chains, policy=self._policy)[1]


def check_step_size(step_size: float | str) -> None:
    """Refuse what is not the length of a step."""
    is_length = isinstance(step_size, int | float) and np.isfinite(step_size) and step_size > 0
    if step_size != "auto" and not is_length:
        raise ValueError(f"step_size is {step_size!r}: use a positive number or 'auto'.")
