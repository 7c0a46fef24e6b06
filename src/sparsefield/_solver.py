"""The paper's algorithm: proximal gradient steps with estimated gradients."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from sparsefield._missing import Completion
from sparsefield._problem import Matrix, Problem
from sparsefield._result import Fit, Status, StepInfo
from sparsefield._schedule import Estimate, Point, Sampler, Schedule
from sparsefield.certificates import Disagreement
from sparsefield.certificates._certificate import norm
from sparsefield.inference import Chains

_STATES_TRACKED = 2**12  # fields up to this size have their objective computed in every iteration (0.3 ms)
_WINDOW = 30  # iterations over which steps are compared with noise
_CHAINS_LOOKED_AT = 1000  # for the estimate of the curvature
_COMPLETING_SWEEPS = 3  # of the chains that fill holes, in an iteration; they go on from the last one
_ROUGH_STEPS = 10  # power steps for a first estimate of it


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
    chains : Chains, optional
        Where the chains stand.
    disagreement : Disagreement, optional
        How far they can be from the model they were swept towards.
    completion : Completion, optional
        Rows with holes, and the chains that fill them; the data moments then depend on the parameters.
    """

    theta: Matrix
    step_size: float
    iteration: int = 0
    curvature: Matrix | None = None
    chains: Chains | None = None
    disagreement: Disagreement | None = None
    completion: Completion | None = None


def step(
    problem: Problem, state: State, schedule: Schedule, sampler: Sampler, *, track: bool = False
) -> tuple[State, StepInfo]:
    """Make one proximal step: GRAD, then the update (the paper's box SPG).

    Parameters
    ----------
    problem : Problem
        What is minimised.
    state : State
        Where; it is not changed.
    schedule : Schedule
        How the gradient is estimated.
    sampler : Sampler
        With which chains.
    track : bool
        Whether to compute the objective, by enumeration.
    """
    start = time.perf_counter()
    k = state.iteration + 1
    point = Point(k, state.theta, problem.model(state.theta), state.step_size, state.chains, state.disagreement)
    completion = None
    if state.completion is not None:
        completion = state.completion.copy()
        completion.sweep(point.model, _COMPLETING_SWEEPS, sampler.n_threads)
        problem = replace(problem, data=completion.moments())
    estimate = schedule.estimate(problem, point, sampler)
    gradient = problem.gradient(estimate.moments)
    theta = problem.update(state.theta, gradient, state.step_size)
    step_map = (state.theta - theta) / state.step_size
    after = State(theta, state.step_size, k, state.curvature, estimate.chains, estimate.disagreement, completion)
    if state.curvature is not None:
        after = _follow_curvature(after, estimate)
    info = StepInfo(
        iteration=k,
        n_sweeps=estimate.n_sweeps,
        n_chains=estimate.n_chains,
        certificate=estimate.certificate,
        is_certified=estimate.is_certified,
        step_norm=norm(step_map),
        noise_norm=_noise(estimate, step_map),
        step_size=state.step_size,
        objective=problem.objective(state.theta) if track else None,
        n_nonzero=int(np.count_nonzero(np.triu(theta))),
        seconds=time.perf_counter() - start,
        reason=estimate.reason,
    )
    return after, info


def solve(
    problem: Problem,
    schedule: Schedule,
    sampler: Sampler | None = None,
    *,
    step_size: float | Literal["auto"] = "auto",
    start: Matrix | None = None,
    max_iter: int = 300,
    tol: float = 1e-4,
    max_seconds: float | None = None,
    average: bool = False,
    completion: Completion | None = None,
    watch: Callable[[StepInfo], None] | None = None,
) -> Fit:
    """Make steps until there is nothing left to gain, or no more time.

    Parameters
    ----------
    problem : Problem
        What is minimised.
    schedule : Schedule
        How gradients are estimated.
    sampler : Sampler, optional
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
        Time after which no further step is begun.
    average : bool
        Whether to return the average of all iterates in place of the last one, for comparison.
    completion : Completion, optional
        Rows with holes: the data moments of the problem are then estimated anew in every iteration, given the model
        (stochastic EM).
    watch : callable, optional
        Called with each StepInfo.
    """
    sampler = Sampler() if sampler is None else sampler
    state = replace(_begin(problem, sampler, step_size, start), completion=completion)
    # With holes the objective is not that of completed data.
    n_states = float(np.prod(problem.domain.n_levels.astype(float)))
    is_tracked = n_states <= _STATES_TRACKED and completion is None
    steps: list[StepInfo] = []
    gains: list[float] = []
    total = np.zeros_like(state.theta)
    clock = time.perf_counter()
    last_map: Matrix | None = None
    status = None
    try:
        while status is None:
            after, info = step(problem, state, schedule, sampler, track=is_tracked)
            info = replace(info, seconds=time.perf_counter() - clock)
            step_map = (state.theta - after.theta) / state.step_size
            if last_map is not None:
                gains.append(norm_product(last_map, step_map))
            state, last_map = after, step_map
            total += state.theta
            steps.append(info)
            if watch is not None:
                watch(info)
            status = _decide(steps, gains, max_iter, tol, max_seconds)
    except KeyboardInterrupt:
        status = Status("interrupted", f"Interrupted after {len(steps)} iterations: this is what there was by then.")
    theta = total / max(1, len(steps)) if average else state.theta
    return Fit(problem.model(theta), _with_advice(status, steps, state), tuple(steps))


def _begin(problem: Problem, sampler: Sampler, step_size: float | str, start: Matrix | None) -> State:
    size = problem.domain.n_slots
    theta = np.zeros((size, size)) if start is None else np.array(start, dtype=np.float64)
    if theta.shape != (size, size) or not np.array_equal(theta, theta.T):
        raise ValueError(f"start must be a symmetric matrix of shape {(size, size)}.")
    if step_size != "auto":
        if not (isinstance(step_size, int | float) and np.isfinite(step_size) and step_size > 0):
            raise ValueError(f"step_size is {step_size!r}: use a positive number or 'auto'.")
        return State(theta, float(step_size))
    # The curvature where the chains start, at independent uniform levels.
    chains = Chains(problem.domain, _CHAINS_LOOKED_AT, seed=sampler.seed_of(0))
    rough = State(theta, 1.0, curvature=np.ones((size, size)), chains=chains)
    for _ in range(_ROUGH_STEPS):
        rough = _power_step(rough)
    return replace(rough, chains=None)


def norm_product(first: Matrix, second: Matrix) -> float:
    """Return the inner product over the parameters, each once."""
    return float((np.vdot(first, second) + np.diagonal(first) @ np.diagonal(second)) / 2)


def _noise(estimate: Estimate, step_map: Matrix) -> float:
    """Return the expected norm of the sampling noise in those entries of the step map that are not thresholded away."""
    if estimate.n_chains == 0:
        return 0.0
    means = np.clip(estimate.moments.pair, 0.0, 1.0)
    return norm(np.sqrt(means * (1 - means) / estimate.n_chains) * (step_map != 0))


def _follow_curvature(state: State, estimate: Estimate) -> State:
    if estimate.chains is None:
        return state
    return _power_step(state)


def _power_step(state: State) -> State:
    """Improve the direction of largest curvature by a product with the covariance of the statistics over chains."""
    assert state.chains is not None
    assert state.curvature is not None
    s = state.chains.domain.indicators(state.chains.codes()[:_CHAINS_LOOKED_AT]).astype(np.float32)
    v = (state.curvature / max(norm(state.curvature), 1e-300)).astype(np.float32)
    # sum_{a <= b} v_ab s_a s_b for each chain, centred.
    along = (((s @ v) * s).sum(axis=1) + s @ np.diagonal(v)) / 2
    along -= along.mean()
    product = (s.T * along).astype(np.float64) @ s / len(s)
    # Chains that all stand at one state show no curvature; that of a single balanced variable is 1/4.
    return replace(state, curvature=product, step_size=1 / max(norm(product), 0.25))


def _decide(
    steps: list[StepInfo], gains: list[float], max_iter: int, tol: float, max_seconds: float | None
) -> Status | None:
    """Say whether a fit is over, and why."""
    info = steps[-1]
    if info.step_norm <= tol:
        return Status(
            "converged", f"Converged in {info.iteration} iterations: the step map is down to {info.step_norm:.2g}."
        )
    # Steps that are made of independent noise alone have inner products that are zero on average.
    if len(gains) >= _WINDOW and info.noise_norm > 0:
        recent = np.array(gains[-_WINDOW:])
        if recent.mean() <= recent.std(ddof=1) / np.sqrt(_WINDOW):
            return Status(
                "noise floor",
                f"After {info.iteration} iterations steps cannot be told from the noise of {info.n_chains} chains: "
                "more chains would lead further.",
            )
    if info.iteration >= max_iter:
        return Status(
            "max_iter",
            f"Stopped after max_iter = {max_iter} iterations, with a step map of norm {info.step_norm:.2g}: "
            "raise max_iter to go on.",
        )
    if max_seconds is not None and info.seconds >= max_seconds:
        return Status(
            "time", f"Stopped after {info.seconds:.1f} s and {info.iteration} iterations: raise max_seconds to go on."
        )
    return None


def _longest_step(steps: list[StepInfo], state: State) -> float:
    """Return the longest step size with which the objective can fall all the time: 2 / L at the last chains."""
    if state.chains is None:
        objectives = [s.objective for s in steps if s.objective is not None]
        return steps[-1].step_size / 2 if objectives and objectives[-1] > objectives[0] else np.inf
    state = replace(state, curvature=np.ones_like(state.theta))
    for _ in range(_ROUGH_STEPS):
        state = _power_step(state)
    return 2 * state.step_size


def _with_advice(status: Status, steps: list[StepInfo], state: State) -> Status:
    """Replace a status by a more serious one that the trace shows."""
    if not steps:
        return status
    longest = _longest_step(steps, state)
    if steps[-1].step_size > longest:
        return Status(
            "step too long",
            f"The step size {steps[-1].step_size:.3g} is too long: steps above {longest:.3g} make the objective rise. "
            "Use step_size='auto' or a smaller one.",
        )
    missed = [s for s in steps[-_WINDOW:] if s.certificate is not None and not s.is_certified]
    if missed and status.code != "interrupted":
        last = missed[-1]
        return Status(
            "not certified",
            f"{status.sentence} The last gradients are not certified ({last.reason}): the certificate got to "
            f"{last.certificate:.3g}, half the step map is {last.step_norm / 2:.3g}. Use certificate='coalescence', "
            "or schedule='perfect'.",
        )
    return status
