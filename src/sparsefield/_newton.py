"""The fast solver: proximal Newton steps on draws, a few of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.special import ndtri

from sparsefield._kernels._descent import descend_moments
from sparsefield._missing import Completion
from sparsefield._problem import Matrix, Problem, choose_active
from sparsefield._result import Fit, Status, StepInfo
from sparsefield._sample import Draws, EnumeratedStates, Sample
from sparsefield._schedule import Estimate, ExactMoments, Point, Sampler, Schedule
from sparsefield.certificates._certificate import norm

_LEAST_SHARE = 0.3  # of the draws that must still count at the end of a step
_SHORTER = 0.7  # a step that goes too far is cut by this
_MOST_CUTS = 40
_MOST_ACTIVE = 8192  # parameters of a working set: 256 MiB of counts
_MOST_EPOCHS = 1000
_GROWTH = 4  # draws of an iteration, at most, as a multiple of the last one's
_MOST_DRAWS = 2**22
_RIDGE = 1e-8
_DRAWS_EACH = 4  # draws for each parameter of a working set, at least
_COMPLETING_SWEEPS = 5
_NOISE = 4.0  # a predicted decrease below this multiple of what noise alone predicts ends a fit


@dataclass(frozen=True, eq=False)
class Move:
    """A Newton step: where it leads, and how far the draws carry.

    Parameters
    ----------
    move : ndarray of shape (n_slots, n_slots)
        The whole step, laid out as in `Problem`.
    share : float
        The part of it that is made.
    predicted : float
        Decrease of the objective that the quadratic model promises for the whole step.
    decrease : float
        Decrease of the objective for the part made, by the reweighted draws.
    effective : float
        Share of the draws that still count at the end of the step.
    """

    move: Matrix
    share: float
    predicted: float
    decrease: float
    effective: float


class Model(NamedTuple):
    """The quadratic model of an iteration, over its working set."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    counts: NDArray[np.generic]
    scale: float
    means: Matrix


def find_move(problem: Problem, sample: Sample, theta: Matrix, moments: Matrix, *, tol: float = 1e-3) -> Move:
    """Minimise the quadratic model of the objective, and go as far that way as the draws speak and the objective falls.

    Parameters
    ----------
    problem : Problem
        What is minimised.
    sample : Sample
        Draws at theta.
    theta : ndarray of shape (n_slots, n_slots)
        Where.
    moments : ndarray of shape (n_slots, n_slots)
        Moments at theta.
    tol : float
        How far the model is minimised, as a share of the largest violation.
    """
    gradient = moments - problem.data.pair
    violation = problem.violation(theta, gradient)
    model = _make_model(sample, theta, violation, moments)
    a, b = model.first, model.second
    # The covariance of w statistics over n draws is noisy to about sqrt(w / n) of their variances: lean on these.
    variances = model.scale * np.diagonal(model.counts) - model.means**2
    ridge = _RIDGE + variances * (0.0 if sample.n is None else len(a) / sample.n)
    limit = tol * np.abs(violation[a, b]).max(initial=0.0)
    moves, slopes = descend_moments(
        model.counts, model.scale, model.means, theta[a, b], gradient[a, b], problem.penalty[a, b], ridge, _MOST_EPOCHS, limit
    )
    move = np.zeros_like(theta)
    move[a, b] = move[b, a] = moves
    by_penalty = problem.penalty_of(theta + move) - problem.penalty_of(theta)
    predicted = -float(moves @ gradient[a, b] + moves @ slopes / 2 + by_penalty)
    share, decrease, effective = _go(problem, sample, theta, move)
    return Move(move, share, predicted, decrease, effective)


def _make_model(sample: Sample, theta: Matrix, violation: Matrix, moments: Matrix) -> Model:
    most = _MOST_ACTIVE if sample.n is None else min(_MOST_ACTIVE, sample.n // _DRAWS_EACH)
    active = choose_active(theta, violation, lambda some: np.count_nonzero(np.triu(some)) <= most)
    a, b = np.nonzero(np.triu(active))
    counts, scale = sample.second_moments(a, b)
    return Model(a, b, counts, scale, moments[a, b])


def _go(problem: Problem, sample: Sample, theta: Matrix, move: Matrix) -> tuple[float, float, float]:
    """Return the largest share of a move that keeps draws enough and lowers the reweighted objective."""
    values = sample.along(move)
    slope = float(np.triu(move * problem.data.pair).sum())
    start = problem.penalty_of(theta)
    share = 1.0
    for _ in range(_MOST_CUTS):
        log_mean, effective = sample.reweight(share * values)
        decrease = start + share * slope - log_mean - problem.penalty_of(theta + share * move)
        if effective >= _LEAST_SHARE and decrease >= 0:
            return share, decrease, effective
        share *= _SHORTER
    return 0.0, 0.0, 1.0


def solve_newton(
    problem: Problem,
    schedule: Schedule,
    sampler: Sampler | None = None,
    *,
    start: Matrix | None = None,
    gap: float = 0.01,
    max_iter: int = 50,
    tol: float = 1e-4,
    max_seconds: float | None = None,
    completion: Completion | None = None,
    watch: Callable[[StepInfo], None] | None = None,
) -> Fit:
    """Make Newton steps, with more draws from step to step, until what is left to gain is lost in their noise."""
    sampler = Sampler() if sampler is None else sampler
    size = problem.domain.n_slots
    theta = np.zeros((size, size)) if start is None else np.array(start, dtype=np.float64)
    clock = time.perf_counter()
    steps: list[StepInfo] = []
    n_draws = max(sampler.n_chains, 2 * _DRAWS_EACH * int(np.count_nonzero(np.triu(theta))))
    status = None
    try:
        while status is None:
            k = len(steps) + 1
            point = Point(k, theta, problem.model(theta), 1.0)
            now = problem
            if completion is not None:
                completion.sweep(point.model, _COMPLETING_SWEEPS, sampler.n_threads)
                now = replace(problem, data=completion.moments())
            estimate = schedule.estimate(now, point, replace(sampler, n_chains=n_draws))
            sample = _sample_of(schedule, estimate, point, sampler)
            found = find_move(now, sample, theta, estimate.moments.pair)
            theta = theta + found.share * found.move
            steps.append(_describe(now, theta, estimate, found, k, time.perf_counter() - clock))
            if watch is not None:
                watch(steps[-1])
            wanted = _wanted_draws(steps[-1].n_nonzero, gap)
            status = _decide(steps, wanted, max_iter, tol, max_seconds)
            if found.share == 1:
                n_draws = int(np.clip(wanted, n_draws, _GROWTH * n_draws))
            n_draws = max(n_draws, 2 * _DRAWS_EACH * steps[-1].n_nonzero)
    except KeyboardInterrupt:
        status = Status("interrupted", f"Interrupted after {len(steps)} iterations: this is what there was by then.")
    return Fit(problem.model(theta), status, tuple(steps))


def _sample_of(schedule: Schedule, estimate: Estimate, point: Point, sampler: Sampler) -> Sample:
    if isinstance(schedule, ExactMoments):
        return EnumeratedStates(point.model)
    assert estimate.chains is not None
    return Draws(estimate.chains, sampler.n_threads)


def _wanted_draws(n_nonzero: int, gap: float) -> int:
    """Return the draws with which the noise costs about the gap: n_nonzero / (2 n) in the objective."""
    return int(np.clip(np.ceil(max(1, n_nonzero) / (2 * gap)), 1, _MOST_DRAWS))


def _describe(problem: Problem, theta: Matrix, estimate: Estimate, found: Move, k: int, seconds: float) -> StepInfo:
    violation = problem.violation(theta - found.share * found.move, problem.gradient(estimate.moments))
    means = np.clip(estimate.moments.pair, 0.0, 1.0)
    noise = 0.0 if estimate.n_chains == 0 else norm(np.sqrt(means * (1 - means) / estimate.n_chains) * (violation != 0))
    return StepInfo(
        iteration=k,
        n_sweeps=estimate.n_sweeps,
        n_chains=estimate.n_chains,
        certificate=estimate.certificate,
        confidence=estimate.confidence,
        is_certified=estimate.is_certified,
        step_norm=norm(violation),
        noise_norm=noise,
        step_size=found.share,
        objective=None,
        n_nonzero=int(np.count_nonzero(np.triu(theta))),
        seconds=seconds,
        reason=estimate.reason,
        predicted=found.predicted,
        decrease=found.decrease,
        effective=found.effective,
    )


def _decide(steps: list[StepInfo], wanted: int, max_iter: int, tol: float, max_seconds: float | None) -> Status | None:
    info = steps[-1]
    if info.step_norm <= tol:
        return Status("converged", f"Converged in {info.iteration} iterations: the slope is down to {info.step_norm:.2g}.")
    if info.n_chains and info.n_chains >= wanted and info.step_size == 1:
        noise = info.n_nonzero / (2 * info.n_chains)
        assert info.predicted is not None
        if info.predicted <= _NOISE * noise:
            return Status("converged", f"Converged in {info.iteration} iterations: about {noise:.2g} above the optimum.")
    if info.iteration >= max_iter:
        return Status("max_iter", f"Stopped after max_iter = {max_iter} iterations: raise max_iter to go on.")
    if max_seconds is not None and info.seconds >= max_seconds:
        return Status(
            "time", f"Stopped after {info.seconds:.1f} s and {info.iteration} iterations: raise max_seconds to go on."
        )
    return None
