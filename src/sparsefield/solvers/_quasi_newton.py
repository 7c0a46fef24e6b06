"""Fits of fields whose moments are exact: Newton steps whose curvature is that of a field nearby."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, cast

import numpy as np

from sparsefield._typing import Matrix
from sparsefield.certificates import Certificate
from sparsefield.data import Moments, count
from sparsefield.fits import Fit, NewtonStep, Status, StepInfo
from sparsefield.gradients import Estimate
from sparsefield.inference import Draws, Field, States
from sparsefield.model import count_once, norm, sum_once
from sparsefield.objective import Observed, Problem, Quadratic, describe_penalty
from sparsefield.solvers._loop import Limits, Watch, run, stalled
from sparsefield.solvers._newton_step import ROUNDING, Move, find_whole
from sparsefield.solvers._step_info import describe

# A step leaves of what it promised the square of the share by which the curvature that it took differs from that on its
# way. Where more than a quarter is left, the curvatures are half apart, and all states are held anew: with 2^20 of them
# that takes as long as four steps. In units of such steps, nine paths of 30 penalties (10, 14 and 16 variables; 500,
# 2000 and 20,000 rows) take 624, 621 and 632 with 0.1, 0.25 and 0.4, and 1510, 1348 and 1315 with relaxed fits.
_SLOW = 0.25

# Draws miss the curvature by more where states are rare, and are made anew where steps have not mended that. With 0.25,
# 0.5 and 0.9 six tables (20 to 100 variables, two and more levels) take 4.6, 4.2 and 4.4 s.
_SLOW_WITH_DRAWS = 0.5

# What is left may be twice what a step promises, as it is where the curvature is half of that nearby. Of 1440 fits of 8
# variables, relaxed or not, none left more than 0.81 of what it may, and the log-likelihood was off by 1.14 of that at
# most, 0.64 in 99 of 100 and 0.07 in the median.
_AT_LEAST = 2

# Of the steps since the states were held, so many correct the curvature. With none, 4, 8 and 12 the nine paths take
# 1115, 714, 655 and 638. Shorter ones change moments by as little as these are rounded.
_MOST_SECANTS = 12
_SHORTEST = 1e-9

# A step that led up, by the curvature itself, is cut to this share, twelve times at most, as other Newton steps are.
_CUT = 0.3
_MOST_CUTS = 12


class Sums(Protocol):
    """What knows the moments of fields exactly: a `Backend` that enumerates, or `SummedOut`."""

    def enumerate(self, field: Field) -> tuple[float, Moments]:
        """Return the logarithm of the normalising constant and the exact moments."""
        ...

    def states(self, field: Field) -> Draws:
        """Return all states, or draws whose covariance is about that of the field."""
        ...


class Rows(Protocol):
    """Rows some of whose values are missing, and what a field expects of these."""

    def expect(self, field: Field) -> tuple[float, Moments]:
        """Return the mean logarithm of the sum over what rows could be, and the moments that are expected."""
        ...


@dataclass(frozen=True, eq=False)
class ExactStand:
    """Parameters, and all states of a field nearby, whose covariance is about the curvature there.

    Parameters
    ----------
    theta : ndarray of shape (n_slots, n_slots)
        The parameters, laid out as in `Problem`.
    states : Draws
        All states of a field nearby, or draws of it.
    near : ndarray of shape (n_slots, n_slots)
        The parameters of that.
    log_normaliser : float, optional
        The logarithm of the normalising constant at theta, where it is known.
    moments : Moments, optional
        The exact moments at theta, where they are known.
    secants : tuple of (ndarray, ndarray, int)
        Steps that were made since the states were held, what they changed of the gradient, both of shape
        (n_slots, n_slots), and how many parameters they moved.
    rows : (float, Moments), optional
        What rows with missing values are expected to show at theta (`Rows.expect`), where there are some.
    """

    theta: Matrix
    states: Draws
    near: Matrix
    log_normaliser: float | None = None
    moments: Moments | None = None
    secants: tuple[tuple[Matrix, Matrix, int], ...] = ()
    rows: tuple[float, Moments] | None = None

    @property
    def is_near(self) -> bool:
        """Whether the states are those of theta itself."""
        return self.near is self.theta or np.array_equal(self.near, self.theta)


def follow(
    problem: Problem,
    sums: Sums,
    limits: Limits,
    start: ExactStand,
    enough: float,
    watch: Watch | None,
    rows: Rows | None = None,
) -> tuple[Fit, ExactStand]:
    """Make Newton steps from where another fit ended, with the curvature that it had; return where they end, too.

    Gradients and objectives are exact at every step, which takes a tenth of the time of a step that holds all states.
    Where a step leaves too much of what it promised, the states are those at its end from then on.

    Parameters
    ----------
    problem : Problem
        What is minimised; its data moments are the same for every model, or those of `rows`.
    sums : Sums
        What knows moments.
    limits : Limits
        When to end at the latest.
    start : ExactStand
        Where to start.
    enough : float
        The fit has converged when the next step promises half of this of the objective, and changes the log-likelihood
        by no more than this: that has no optimum here, and changes by more than the objective does. With 0, when the
        norm of the smallest subgradient is at most the tolerance of the limits.
    watch : callable, optional
        Called with each StepInfo.
    rows : Rows, optional
        Rows with missing values, whose moments are those that the field at hand expects.
    """
    method = _Following(problem, sums, limits, start, enough, rows)
    steps, status = run(method, limits, watch)
    fit = Fit(problem.model(method.stand.theta), status, steps, None, **describe_penalty(problem.penalty))
    return fit, method.stand


class _Following:
    """Newton steps with the curvature of a field nearby, each judged by the exact objective at its end."""

    def __init__(
        self, problem: Problem, sums: Sums, limits: Limits, start: ExactStand, enough: float, rows: Rows | None
    ) -> None:
        self._problem, self._sums, self._limits, self._enough, self._rows = problem, sums, limits, enough, rows
        self._n_made, self._n_cuts = 0, 0
        self._promised = np.inf  # by the last step
        self._move: Move | None = None
        self.stand = start

    def advance(self) -> StepInfo:
        """Go where the last step led, judge it there, and find the next one."""
        self._n_made += 1
        move, before = self._move, self.stand
        there = self._look(before if move is None else replace(before, theta=before.theta + move.made, moments=None))
        decrease = None if move is None else self._objective(before) - self._objective(there)
        if move is not None and decrease is not None and decrease < -ROUNDING:
            self._take_back(move)
            return self._describe(there, decrease, None)
        self.stand, self._n_cuts = self._remember(before, there), 0
        self._move = self._find_move()
        return self._describe(self.stand, decrease, self._move)

    def judge(self, steps: Sequence[StepInfo]) -> Status | None:
        """Say whether there is nothing left to gain."""
        k, left = len(steps), steps[-1].violation
        if self._n_cuts or self._move is None:
            return stalled(k) if self._n_cuts == _MOST_CUTS else None
        if not (self._is_enough(self._move) if self._enough else left <= self._limits.tol):
            return None
        said = f"the smallest subgradient is down to {left:.2g}"
        if self._enough:
            said = f"the objective is less than {self._enough:.2g} above its optimum, as its curvature has it"
        return Status("converged", f"Converged in {count(k, 'iteration')}: {said}, without simulation error.")

    def _remember(self, before: ExactStand, there: ExactStand) -> ExactStand:
        """Return where a step led, with what it changed of the gradient."""
        step = there.theta - before.theta
        if before.moments is None or there.moments is None or np.abs(step).max(initial=0.0) < _SHORTEST:
            return there
        secant = step, self._gradient(there) - self._gradient(before), count_once(step)
        return replace(there, secants=(*there.secants, secant)[-_MOST_SECANTS:])

    def _look(self, stand: ExactStand) -> ExactStand:
        """Find the moments of the field, unless they are known, and what rows are expected to show."""
        if stand.moments is not None:
            return stand
        model = self._problem.model(stand.theta)
        if stand.is_near and stand.states.n is None:
            known = cast(States, stand.states)
            log_normaliser, moments = known.log_normaliser, known.moments
        else:
            log_normaliser, moments = self._sums.enumerate(model)
        rows = None if self._rows is None else self._rows.expect(model)
        return replace(stand, log_normaliser=log_normaliser, moments=moments, rows=rows)

    def _find_move(self) -> Move:
        """Find the step that the curvature nearby suggests, or the curvature here where the last one left too much."""
        move, last = self._suggest(), self._promised
        slow = _SLOW if self.stand.states.n is None else _SLOW_WITH_DRAWS
        if move.predicted > slow * last and not self.stand.is_near and not self._is_enough(move):
            self._hold_states()
            move = self._suggest()
        self._promised = move.predicted
        return move

    def _suggest(self) -> Move:
        own, problem = self.stand, self._problem_of(self.stand)
        assert own.moments is not None  # since it was looked at
        draws, moments = problem.coordinates.draws(own.states), problem.see(own.moments)
        return find_whole(problem, draws, own.theta, moments, lambda near: _correct(near, own.secants))

    def _hold_states(self) -> None:
        """Hold all states here, in place of those nearby."""
        theta = self.stand.theta
        states = self._sums.states(self._problem.model(theta))
        self.stand = replace(self.stand, states=states, near=theta, secants=())

    def _take_back(self, move: Move) -> None:
        """Stay, and find another step by the curvature here; where that was it, make a shorter one."""
        if self.stand.is_near:
            self._n_cuts += 1
            self._move = replace(move, share=_CUT * move.share)
            return
        self._hold_states()
        self._move = self._suggest()

    def _is_enough(self, move: Move) -> bool:
        """Say whether a step promises next to nothing."""
        of_likelihood = sum_once(np.abs(move.whole * self._gradient(self.stand))) + move.curvature / 2
        return max(_AT_LEAST * move.predicted, of_likelihood) <= self._enough

    def _problem_of(self, stand: ExactStand) -> Problem:
        """Return the problem with the data moments at a stand."""
        return self._problem if stand.rows is None else self._problem.with_data(Observed(stand.rows[1]))

    def _gradient(self, stand: ExactStand) -> Matrix:
        assert stand.moments is not None  # since it was looked at
        problem = self._problem_of(stand)
        return problem.gradient(problem.see(stand.moments))

    def _objective(self, stand: ExactStand) -> float:
        assert stand.log_normaliser is not None  # since it was looked at
        told = sum_once(stand.theta * self._problem.target) if stand.rows is None else stand.rows[0]
        return stand.log_normaliser - told + self._problem.penalty.value(stand.theta)

    def _describe(self, stand: ExactStand, decrease: float | None, move: Move | None) -> NewtonStep:
        problem, theta = self._problem_of(stand), stand.theta
        assert stand.moments is not None  # since it was looked at
        exact = Certificate.exact(problem.model(theta))
        estimate = Estimate(stand.moments, 0, "enumeration", None, exact, is_certified=True, is_promised=True)
        violation = problem.violation(theta, problem.see(stand.moments))
        said = describe(self._n_made, estimate, problem, violation, theta)
        if move is None:
            said["reason"] += "; taken back, since the objective is no lower here"
        return NewtonStep(
            **said,
            objective=self._objective(stand),
            subgradient_norm=norm(violation),
            share=0.0 if move is None else move.share,
            predicted=None if move is None else move.predicted,
            decrease=decrease,
            effective=None if move is None else 1.0,
        )


def _correct(quadratic: Quadratic, secants: Iterable[tuple[Matrix, Matrix, int]]) -> Quadratic:
    """Return the curvature nearby, made to say of each of the last steps what it changed of the gradient (BFGS)."""
    a, b = quadratic.first, quadratic.second
    curvature = quadratic.centred()
    for whole_step, whole_change, n_moved in secants:
        step, change = whole_step[a, b], whole_change[a, b]
        if np.count_nonzero(step) < n_moved:  # what is zero again is not in the working set
            continue
        bent = curvature @ step
        along, changed = float(step @ bent), float(step @ change)
        if along > 0 and changed > 0:
            curvature += np.outer(change, change) / changed - np.outer(bent, bent) / along
    return Quadratic(a, b, curvature, 1.0, np.zeros(len(a)), None)  # that of centred statistics
