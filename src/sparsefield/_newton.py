"""The fast solver: a few proximal Newton steps, on draws whose covariance is the curvature."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.special import ndtri

from sparsefield._kernels._bytes import BLOCK
from sparsefield._kernels._descent import descend_moments
from sparsefield._missing import Completion
from sparsefield._moments import Moments
from sparsefield._problem import Matrix, Problem, choose_active, sum_once
from sparsefield._result import Fit, Status, StepInfo
from sparsefield._sample import Draws, EnumeratedStates, Sample
from sparsefield._schedule import Estimate, ExactMoments, Fixed, Increasing, Point, Sampler, Schedule, negligible_bias
from sparsefield._solver import check_limits, check_start, describe, is_small
from sparsefield.inference import OutOfReachError
from sparsefield.inference._blocks import check_request

_RARE = 4.0  # draws that show a statistic, fewer than which say little about it
_LEAST_SHARE = 0.3  # of the draws that must still count at the end of a step
_SHORTER = 0.7  # a step that goes too far is cut by this
_MOST_CUTS = 60
_ROUNDING = 1e-12  # of objectives, which are of the order of the number of variables
_MOST_ACTIVE = 8192  # parameters of a working set: 256 MiB of counts
_MOST_EPOCHS = 1000
_DRAWS_EACH = 4  # draws for each parameter of a working set, at least
_GROWTH = 4  # draws of an iteration, at most, as a multiple of the last one's
_MOST_DRAWS = 2**22
_ENOUGH = 0.9  # of the draws wanted, whose number moves a little with the support
_NOISE = 4.0  # a predicted decrease below this multiple of what noise alone costs ends a fit
_INNER_NOISE = 0.05  # the quadratic model is minimised to this share of the largest noise that a slope can have
_INNER_TOL = 1e-3  # and to this share of the largest violation
_MOST_CELLS = 2**29  # of draws that are held at one time, one bit each; further ones count for the moments only
_BATCHES = 10  # their seeds: uses from here on
_COMPLETING_SWEEPS = 5  # of the chains that fill holes, in an iteration; they go on from the last one
UNDECIDED = 0.99  # confidence with which each parameter that is not marked is zero, or not


@dataclass(frozen=True, eq=False)
class Curvature:
    """The curvature of the objective over a working set: a covariance of statistics.

    Parameters
    ----------
    first, second : ndarray of shape (w,)
        The slots whose product each statistic is.
    products : ndarray of shape (w, w)
        Sums of products of statistics over the draws.
    scale : float
        What makes means of these.
    n : int, optional
        The number of draws; None if it is exact.
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    products: NDArray[Any]
    scale: float
    n: int | None

    @property
    def means(self) -> Matrix:
        """Means of the statistics (w,), which are their own squares."""
        return np.asarray(self.scale * np.diagonal(self.products))

    @property
    def ridge(self) -> Matrix:
        """What the curvature of each parameter gets on top of its variance (w,).

        The covariance of w statistics over n draws is right to about sqrt(w / n) only: lean on the variances. A
        statistic that n draws show k times has a variance of k / n or so, and k could as well be four more.
        """
        if self.n is None:
            return np.full(len(self.first), 1e-12)
        variances = self.means * (1 - self.means)
        return np.asarray(variances * len(self.first) / self.n + np.maximum(0.0, _RARE / self.n - variances))

    def covariance(self, some: NDArray[np.int64]) -> Matrix:
        """Return the covariance of some of the statistics, with its ridge."""
        means = self.means[some]
        found = np.asarray(self.scale * self.products[np.ix_(some, some)] - np.outer(means, means))
        found[np.diag_indices(len(some))] += self.ridge[some]
        return found


@dataclass(frozen=True, eq=False)
class Move:
    """A Newton step: where it leads, and how far the draws carry.

    Parameters
    ----------
    whole : ndarray of shape (n_slots, n_slots)
        The whole step, laid out as in `Problem`.
    share : float
        The part of it that is made.
    predicted : float
        Decrease of the objective that the quadratic model promises for the whole step, and for what is outside the
        working set, each parameter by itself.
    decrease : float
        Decrease of the objective for the part made, by the reweighted draws.
    effective : float
        Share of the draws that still count at the end of the step.
    curvature : Curvature
        What the step was made with.
    """

    whole: Matrix
    share: float
    predicted: float
    decrease: float
    effective: float
    curvature: Curvature

    @property
    def made(self) -> Matrix:
        """The part of the step that is made."""
        return self.share * self.whole


def find_move(problem: Problem, sample: Sample, theta: Matrix, moments: Matrix) -> Move:
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
    """
    gradient = moments - problem.data.pair
    violation = problem.violation(theta, gradient)
    most = _MOST_ACTIVE if sample.n is None else min(_MOST_ACTIVE, max(1, sample.n // _DRAWS_EACH))
    active = choose_active(theta, violation, lambda some: bool(np.count_nonzero(np.triu(some)) <= most))
    a, b = np.nonzero(np.triu(active))
    curvature = Curvature(a, b, *sample.second_moments(a, b), sample.n)
    limit = _INNER_TOL * np.abs(violation[a, b]).max(initial=0.0)
    if sample.n is not None:
        limit = max(limit, _INNER_NOISE * 0.5 / np.sqrt(sample.n))
    moves, slopes = descend_moments(
        curvature.products,
        curvature.scale,
        curvature.means,
        theta[a, b],
        gradient[a, b],
        problem.penalty[a, b],
        curvature.ridge,
        _MOST_EPOCHS,
        limit,
    )
    whole = np.zeros_like(theta)
    whole[a, b] = whole[b, a] = moves
    by_penalty = problem.penalty_of(theta + whole) - problem.penalty_of(theta)
    predicted = -float(moves @ gradient[a, b] + moves @ slopes / 2 + by_penalty)
    # Where further draws than those at hand are behind the moments, they shift the mean of all that is reweighted.
    shift = float(moves @ (moments[a, b] - curvature.means))
    share, decrease, effective = _go(problem, sample, theta, whole, shift)
    # What is outside the working set would gain this, each parameter by itself.
    variances = np.maximum(moments * (1 - moments), 1e-12 if sample.n is None else _RARE / sample.n)
    missed = sum_once(np.where(active, 0.0, violation**2 / (2 * variances)))
    return Move(whole, share, predicted + missed, decrease, effective, curvature)


def _go(problem: Problem, sample: Sample, theta: Matrix, whole: Matrix, shift: float) -> tuple[float, float, float]:
    """Find the largest share of a step that keeps draws enough and lowers the reweighted objective."""
    values = sample.along(whole) + shift
    slope = sum_once(whole * problem.data.pair)
    start = problem.penalty_of(theta)
    share = 1.0
    for _ in range(_MOST_CUTS):
        log_mean, effective = sample.reweight(share * values)
        decrease = start + share * slope - log_mean - problem.penalty_of(theta + share * whole)
        if effective >= _LEAST_SHARE and decrease >= -_ROUNDING:
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
    n_draws: int = 1,
    max_iter: int = 50,
    tol: float = 1e-4,
    max_seconds: float | None = None,
    completion: Completion | None = None,
    watch: Callable[[StepInfo], None] | None = None,
) -> Fit:
    """Make Newton steps, with more draws from step to step, until what is left to gain is lost in their noise.

    Parameters
    ----------
    problem : Problem
        What is minimised.
    schedule : Schedule
        Where draws come from.
    sampler : Sampler, optional
        Draws to begin with, their seed, and threads.
    start : ndarray of shape (n_slots, n_slots), optional
        Parameters to start from, laid out as in `Problem`; zero unless given.
    gap : float
        How far above its optimum the objective may be, on average: the noise of n draws costs about
        nonzeros / (2 n), which chooses n, up to four million.
    n_draws : int
        Draws of the last step, at least.
    max_iter : int
        Steps at most.
    tol : float
        The fit has also converged when the norm of the smallest subgradient is at most this.
    max_seconds : float, optional
        Time after which no further step is begun.
    completion : Completion, optional
        Rows with holes: the data moments are then estimated anew in every iteration, given the model.
    watch : callable, optional
        Called with each StepInfo.
    """
    sampler = Sampler() if sampler is None else sampler
    check_limits(max_iter, tol, max_seconds)
    check_request(sampler.n_chains, sampler.seed)
    if not (isinstance(gap, Real) and gap > 0):
        raise ValueError(f"gap is {gap!r}: use a positive number.")
    theta = check_start(problem, start)
    clock = time.perf_counter()
    steps: list[StepInfo] = []
    n_now = _at_least(sampler.n_chains, theta)
    is_tracked = is_small(problem) and completion is None
    status = undecided = None
    try:
        while status is None:
            now, point = problem, Point(len(steps) + 1, theta, problem.model(theta), 1.0)
            if completion is not None:
                completion.sweep(point.model, _COMPLETING_SWEEPS, sampler.n_threads)
                now = replace(problem, data=completion.moments())
            estimate = _estimate(now, point, schedule, replace(sampler, n_chains=n_now))
            sample = _sample_of(schedule, estimate, point, sampler)
            found = find_move(now, sample, theta, estimate.moments.pair)
            info = _describe(now, point, estimate, found, time.perf_counter() - clock, is_filled=completion is not None)
            if is_tracked:
                info = replace(info, objective=problem.objective(theta))
            theta = theta + found.made
            steps.append(info)
            if watch is not None:
                watch(info)
            wanted = min(_MOST_DRAWS, max(n_draws, _wanted_draws(info.n_nonzero, gap)))
            status = _decide(steps, wanted, max_iter, tol, max_seconds)
            if status is not None and status.code in ("converged", "noise floor") and completion is None:
                undecided = _find_undecided(now, sample, theta, estimate, found)
            if found.share == 1:
                n_now = int(np.clip(wanted, n_now, _GROWTH * n_now))
            n_now = _at_least(n_now, theta)
    except KeyboardInterrupt:
        status = Status("interrupted", f"Interrupted after {len(steps)} iterations: this is what there was by then.")
    except OutOfReachError as error:
        if not steps:
            raise
        status = Status("not certified", f"Stopped after {len(steps)} iterations. {error}")
    # Holes are filled without certificate, which the trace says.
    is_certifying = completion is None and not isinstance(schedule, Fixed | Increasing)
    status = _with_advice(status, steps) if is_certifying else status
    return Fit(problem.model(theta), status, tuple(steps), undecided, problem.alpha, problem.penalize_main)


def _estimate(problem: Problem, point: Point, schedule: Schedule, sampler: Sampler) -> Estimate:
    """Return moments of many draws, of which no more than memory allows are kept for the curvature."""
    most = max(BLOCK, _MOST_CELLS // max(1, problem.domain.n_slots))
    first = schedule.estimate(problem, point, replace(sampler, n_chains=min(most, sampler.n_chains)))
    if first.n_chains in (0, sampler.n_chains):
        return first
    pair, n = first.n_chains * first.moments.pair, first.n_chains
    certificates, is_certified = [first.certificate], first.is_certified
    for batch in range(1, -(-sampler.n_chains // most)):
        some = replace(
            sampler, n_chains=min(most, sampler.n_chains - n), seed=sampler.seed_of(point.iteration, _BATCHES + batch)
        )
        found = schedule.estimate(problem, point, some)
        pair = pair + found.n_chains * found.moments.pair
        n += found.n_chains
        certificates.append(found.certificate)
        is_certified = is_certified and found.is_certified
    known = [bias for bias in certificates if bias is not None]
    return replace(
        first,
        moments=Moments(np.diagonal(pair) / n, pair / n, n),
        n_chains=n,
        certificate=max(known) if len(known) == len(certificates) else None,
        is_certified=is_certified,
    )


def _at_least(n_draws: int, theta: Matrix) -> int:
    """Return a number of draws that is enough for a covariance of what is not zero."""
    return max(n_draws, min(_MOST_DRAWS, 2 * _DRAWS_EACH * int(np.count_nonzero(np.triu(theta)))))


def _sample_of(schedule: Schedule, estimate: Estimate, point: Point, sampler: Sampler) -> Sample:
    if isinstance(schedule, ExactMoments):
        return EnumeratedStates(point.model)
    assert estimate.chains is not None
    return Draws(estimate.chains, sampler.n_threads)


def _wanted_draws(n_nonzero: int, gap: float) -> int:
    """Return the draws with which noise costs about the gap: nonzeros / (2 n) in the objective."""
    return int(min(np.ceil(max(1, n_nonzero) / (2 * gap)), _MOST_DRAWS))


def _describe(
    problem: Problem, point: Point, estimate: Estimate, found: Move, seconds: float, *, is_filled: bool
) -> StepInfo:
    violation = problem.violation(point.theta, problem.gradient(estimate.moments))
    theta = point.theta + found.made
    info = describe(point.iteration, estimate, violation, theta, found.share, seconds, is_filled=is_filled)
    return replace(info, predicted=found.predicted, decrease=found.decrease, effective=found.effective)


def _decide(steps: list[StepInfo], wanted: int, max_iter: int, tol: float, max_seconds: float | None) -> Status | None:
    """Say whether a fit is over, and why."""
    info = steps[-1]
    k = len(steps)
    assert info.predicted is not None
    if info.step_norm <= tol:
        return Status("converged", f"Converged in {k} iterations: the slope is down to {info.step_norm:.2g}.")
    if info.n_chains >= _ENOUGH * wanted and info.n_chains > 0 and info.step_size == 1:
        noise = info.n_nonzero / (2 * info.n_chains)
        if info.predicted <= _NOISE * max(noise, 1 / (2 * info.n_chains)):
            about = f"the objective is about {noise:.2g} above its optimum, which is what the noise of {info.n_chains} "
            if wanted == _MOST_DRAWS:
                return Status("noise floor", f"After {k} iterations {about}draws costs, and no more are made.")
            return Status(
                "converged", f"Converged in {k} iterations: {about}draws costs. A smaller gap makes more of them."
            )
    if k >= max_iter:
        return Status(
            "max_iter",
            f"Stopped after max_iter = {max_iter} iterations, the last of which gained {info.decrease:.2g}: "
            "raise max_iter to go on.",
        )
    if max_seconds is not None and info.seconds >= max_seconds:
        return Status("time", f"Stopped after {info.seconds:.1f} s and {k} iterations: raise max_seconds to go on.")
    return None


def _with_advice(status: Status, steps: list[StepInfo]) -> Status:
    """Say so where the last gradient is not certified."""
    if not steps or status.code == "interrupted" or steps[-1].is_certified:
        return status
    last = steps[-1]
    got = "" if last.certificate is None else f", bias at most {last.certificate:.3g}"
    return Status("not certified", f"{status.sentence} The last gradient is not certified ({last.reason}{got}).")


def _find_undecided(
    problem: Problem, sample: Sample, theta: Matrix, estimate: Estimate, found: Move
) -> NDArray[np.bool_] | None:
    """Mark the parameters that are zero, or not, only as far as one can tell from these draws.

    The step led from draws at its start to the optimum of the quadratic model, so that what it found is off by the
    noise of these draws alone. A parameter that is not zero has then a standard error, from the inverse of the
    covariance over all that are not zero; the slope of one that is zero has that of the mean of a statistic, less what
    main effects that are not zero explain of it. Those nearer to a change than the confidence allows are marked.
    """
    if sample.n is None or not estimate.is_certified:
        return np.zeros(theta.shape, dtype=bool) if sample.n is None else None
    a, b = found.curvature.first, found.curvature.second
    if found.share != 1 or np.count_nonzero(theta[a, b]) < np.count_nonzero(np.triu(theta)):
        return None  # what the step left where it was is off by more than these draws tell
    if estimate.certificate is None or estimate.certificate > negligible_bias(sample.n):
        return None  # and so is what Gibbs chains may be biased by
    z, n = float(ndtri((1 + UNDECIDED) / 2)), estimate.n_chains
    some = np.flatnonzero(theta[a, b])
    factor = cho_factor(found.curvature.covariance(some), overwrite_a=True)
    inverse = cho_solve(factor, np.eye(len(some)), overwrite_b=True)
    # Of parameters whose statistics are hardly ever seen nothing is known.
    errors = np.zeros_like(theta)
    is_seen = found.curvature.means[some] * sample.n >= _RARE
    values = np.where(is_seen, np.sqrt(np.diagonal(inverse) / n), np.inf)
    errors[a[some], b[some]] = errors[b[some], a[some]] = values
    slopes = problem.gradient(estimate.moments) + sample.project(sample.along(found.whole))
    noise = np.sqrt(np.maximum(_rest_variances(estimate.moments.pair, np.diagonal(theta) != 0), _RARE / n) / n)
    near_zero = np.abs(theta) < z * errors
    near_edge = np.abs(slopes) > problem.penalty - z * noise
    return np.where(theta != 0, near_zero, near_edge) & (problem.penalty > 0)


def _rest_variances(pair: Matrix, is_free: NDArray[np.bool_]) -> Matrix:
    """Return the variance of each statistic s_a s_b that is left by a regression on s_a and s_b, where these are free.

    Free parameters follow the noise of their own statistics, and the slopes of all others with them.
    """
    means = np.diagonal(pair)
    variances = means * (1 - means)
    left = pair * (1 - pair)
    first = pair * (1 - means)[:, None]  # covariance of s_a s_b with s_a; its transpose with s_b
    safe = np.maximum(variances, 1e-12)
    with_one = np.where(is_free[:, None], first**2 / safe[:, None], 0.0)
    between = pair - np.outer(means, means)
    determinant = np.maximum(np.outer(variances, variances) - between**2, 1e-12)
    with_both = (
        first**2 * variances[None, :] + first.T**2 * variances[:, None] - 2 * first * first.T * between
    ) / determinant
    explained = np.where(is_free[:, None] & is_free, with_both, with_one + with_one.T)
    np.fill_diagonal(explained, 0.0)
    return np.asarray(np.clip(left - explained, 0.0, 0.25))
