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
from sparsefield._schedule import TOO_FEW, Estimate, Point, Sampler, Schedule, Tay
from sparsefield.certificates import Disagreement
from sparsefield.certificates._certificate import norm
from sparsefield.inference import Chains, Gibbs, OutOfReachError

_STATES_TRACKED = 2**12  # fields up to this size have their objective computed in every iteration (0.3 ms)
_WINDOW = 40  # iterations over which the way made is compared with what noise alone would make
_CHAINS_LOOKED_AT = 1000  # for the estimate of the curvature
_COMPLETING_SWEEPS = 3  # of the chains that fill holes, in an iteration; they go on from the last one
_ROUGH_STEPS = 10  # power steps for a first estimate of it
_ROUGH_SWEEPS = 30  # of chains that are there for the curvature alone


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
        after = _follow_curvature(after, point, sampler)
    info = describe(
        k, estimate, step_map, theta, state.step_size, time.perf_counter() - start, is_filled=completion is not None
    )
    if completion is not None:
        filling = completion.noise(problem.data, step_map != 0)
        info = replace(info, noise_norm=float(np.hypot(info.noise_norm, filling)))
    if track:
        info = replace(info, objective=problem.objective(state.theta))
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
    check_limits(max_iter, tol, max_seconds)
    state = replace(begin(problem, sampler, step_size, start), completion=completion)
    # With holes the objective is not that of completed data.
    is_tracked = is_small(problem) and completion is None
    steps: list[StepInfo] = []
    ways: list[float] = []  # squared lengths of the ways made in windows of iterations
    anchor, total = state.theta, np.zeros_like(state.theta)
    clock = time.perf_counter()
    status = None
    try:
        while status is None:
            after, info = step(problem, state, schedule, sampler, track=is_tracked)
            info = replace(info, seconds=time.perf_counter() - clock)
            state = after
            total += state.theta
            steps.append(info)
            if len(steps) % _WINDOW == 0:
                ways.append(norm(state.theta - anchor) ** 2)
                anchor = state.theta
            if watch is not None:
                watch(info)
            status = _decide(steps, ways, max_iter, tol, max_seconds)
    except KeyboardInterrupt:
        status = Status("interrupted", f"Interrupted after {len(steps)} iterations: this is what there was by then.")
    except OutOfReachError as error:
        if not steps:
            raise
        status = Status("not certified", f"Stopped after {len(steps)} iterations. {error}")
    theta = total / max(1, len(steps)) if average else state.theta
    status = _with_advice(status, steps, state, schedule)
    return Fit(problem.model(theta), status, tuple(steps), alpha=problem.alpha, penalize_main=problem.penalize_main)


def describe(
    iteration: int,
    estimate: Estimate,
    slope: Matrix,
    theta: Matrix,
    step_size: float,
    seconds: float,
    *,
    is_filled: bool,
) -> StepInfo:
    """Make the row of the trace for a step to theta, whose step map or smallest subgradient is `slope`."""
    certificate, confidence, reason = estimate.certificate, estimate.confidence, estimate.reason
    if is_filled:
        # The chains that fill holes have no certificate, so neither has the gradient.
        certificate, confidence, reason = None, None, f"{reason}; holes are filled by chains without certificate"
    return StepInfo(
        iteration=iteration,
        n_sweeps=estimate.n_sweeps,
        n_chains=estimate.n_chains,
        certificate=certificate,
        confidence=confidence,
        is_certified=estimate.is_certified and not is_filled,
        step_norm=norm(slope),
        noise_norm=_noise(estimate, slope),
        step_size=step_size,
        objective=None,
        n_nonzero=int(np.count_nonzero(np.triu(theta))),
        seconds=seconds,
        reason=reason,
    )


def is_small(problem: Problem) -> bool:
    """Say whether the objective can be computed in every iteration."""
    return float(np.prod(problem.domain.n_levels.astype(float))) <= _STATES_TRACKED


def check_limits(max_iter: int, tol: float, max_seconds: float | None) -> None:
    """Refuse limits that make no sense."""
    if not isinstance(max_iter, int | np.integer) or max_iter < 1:
        raise ValueError(f"max_iter is {max_iter}: use a whole number from one on.")
    if not tol >= 0:
        raise ValueError(f"tol is {tol}: use a number from zero on.")
    if max_seconds is not None and not max_seconds >= 0:
        raise ValueError(f"max_seconds is {max_seconds}: use a number from zero on, or None for no limit.")


def check_step_size(step_size: float | str) -> None:
    """Refuse what is not the length of a step."""
    is_length = isinstance(step_size, int | float) and np.isfinite(step_size) and step_size > 0
    if step_size != "auto" and not is_length:
        raise ValueError(f"step_size is {step_size!r}: use a positive number or 'auto'.")


def check_start(problem: Problem, start: Matrix | None) -> Matrix:
    """Return the parameters to start from, zero unless given."""
    size = problem.domain.n_slots
    theta = np.zeros((size, size)) if start is None else np.array(start, dtype=np.float64)
    if theta.shape != (size, size) or not np.array_equal(theta, theta.T):
        raise ValueError(f"start must be a symmetric matrix of shape {(size, size)}.")
    return theta


def begin(problem: Problem, sampler: Sampler, step_size: float | str, start: Matrix | None = None) -> State:
    """Return the state before the first step."""
    theta = check_start(problem, start)
    check_step_size(step_size)
    if step_size != "auto":
        return State(theta, float(step_size))
    # The curvature where the chains start, at independent uniform levels.
    chains = Chains(problem.domain, _CHAINS_LOOKED_AT, seed=sampler.seed_of(0))
    rough = State(theta, 1.0, curvature=np.ones_like(theta), chains=chains)
    for _ in range(_ROUGH_STEPS):
        rough = _power_step(rough)
    return replace(rough, chains=None)


def _noise(estimate: Estimate, step_map: Matrix) -> float:
    """Return the expected norm of the sampling noise in those entries of the step map that are not thresholded away."""
    if estimate.n_chains == 0:
        return 0.0
    means = np.clip(estimate.moments.pair, 0.0, 1.0)
    return norm(np.sqrt(means * (1 - means) / estimate.n_chains) * (step_map != 0))


def _follow_curvature(state: State, point: Point, sampler: Sampler) -> State:
    """Let the step size follow the curvature at the point, seen by its chains, or by some of its own if it has none."""
    if state.chains is not None:
        return _power_step(state)
    chains = Gibbs(_CHAINS_LOOKED_AT, _ROUGH_SWEEPS, sampler.seed_of(point.iteration)).run(point.model)
    return replace(_power_step(replace(state, chains=chains)), chains=None)


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


def _is_at_noise(steps: list[StepInfo], ways: list[float]) -> bool:
    """Say whether the last two windows made no more way than independent noise of the steps would, by half."""
    if len(ways) < 2 or steps[-1].noise_norm == 0:
        return False
    for k, way in enumerate(ways[-2:]):
        own = steps[len(steps) - (2 - k) * _WINDOW : len(steps) - (1 - k) * _WINDOW]
        if way > 1.5 * sum((s.step_size * s.noise_norm) ** 2 for s in own):
            return False
    return True


def _decide(
    steps: list[StepInfo], ways: list[float], max_iter: int, tol: float, max_seconds: float | None
) -> Status | None:
    """Say whether a fit is over, and why."""
    info = steps[-1]
    if info.step_norm <= tol:
        return Status(
            "converged", f"Converged in {info.iteration} iterations: the step map is down to {info.step_norm:.2g}."
        )
    if len(steps) % _WINDOW == 0 and _is_at_noise(steps, ways):
        return Status(
            "noise floor",
            f"After {info.iteration} iterations the fit is at the noise floor of {info.n_chains} chains: in the last "
            f"{2 * _WINDOW} it went no further than noise alone would take it. More chains would lead further.",
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
    """Return the longest step size with which the objective can fall all the time."""
    if state.curvature is not None:
        return np.inf  # it is followed
    if state.chains is None:
        objectives = np.array([s.objective for s in steps[-_WINDOW:] if s.objective is not None])
        return steps[-1].step_size / 2 if np.any(np.diff(objectives) > 1e-9) else np.inf
    state = replace(state, curvature=np.ones_like(state.theta))
    for _ in range(_ROUGH_STEPS):
        state = _power_step(state)
    return 2 * state.step_size


def _with_advice(status: Status, steps: list[StepInfo], state: State, schedule: Schedule) -> Status:
    """Replace a status by a more serious one that the trace shows."""
    if not steps:
        return status
    longest = _longest_step(steps, state)
    if steps[-1].step_size > longest:
        return Status(
            "step too long",
            f"The step size {steps[-1].step_size:.3g} is too long for the objective to fall: above {longest:.3g} it "
            "can rise. "
            "Use step_size='auto' or a smaller one.",
        )
    missed = [s for s in steps[-_WINDOW:] if s.certificate is not None and not s.is_certified]
    if missed and status.code != "interrupted":
        last = missed[-1]
        return Status(
            "not certified",
            f"{status.sentence} {len(missed)} of the last gradients are not certified ({last.reason}): the certificate "
            f"got to {last.certificate:.3g}, half the step map is {last.step_norm / 2:.3g}. "
            f"{_remedy(last, state, schedule)}",
        )
    return status


def _remedy(last: StepInfo, state: State, schedule: Schedule) -> str:
    if last.reason == TOO_FEW:
        return "Raise max_chains, or use certificates of the bias alone (schedule='tay')."
    has_levels = state.chains is not None and bool(np.any(state.chains.domain.n_levels > 2))
    if has_levels or (isinstance(schedule, Tay) and schedule.certificate == "coalescence"):
        return "Raise max_sweeps, or alpha: weaker interactions are certified sooner."
    return "Use certificate='coalescence', or schedule='perfect'."
