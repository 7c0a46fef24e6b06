"""One table, learned with one penalty after the other."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np

from sparsefield._deadline import until
from sparsefield._seeds import Use, derive_seed
from sparsefield._typing import Matrix
from sparsefield.data import Rows, Table
from sparsefield.fits import Fit
from sparsefield.fitting._options import Options
from sparsefield.fitting._policy import FITTING, FitPolicy
from sparsefield.fitting._solvers import Newton
from sparsefield.gradients import Known, Simulation
from sparsefield.inference import make_backend
from sparsefield.marks import fit_newton, mark
from sparsefield.model import PairwiseMRF
from sparsefield.objective import (
    L1,
    Completed,
    DataTerm,
    Group,
    Observed,
    Penalty,
    Problem,
    Ridge,
    choose_penalty,
    describe_penalty,
    make_penalty,
)
from sparsefield.optimality import Promise, certify_slope
from sparsefield.pseudolikelihood import solve_pseudo_likelihood
from sparsefield.solvers import (
    Limits,
    NewtonEnd,
    follow,
    keep_if_lower,
    run_newton,
    solve,
    solve_summed,
)
from sparsefield.solvers import WatchSteps as Watch


class _Solved(NamedTuple):
    """A fit, and how it was made: by which penalty, from where, and how Newton steps ended, if any were made."""

    fit: Fit
    problem: Problem
    limits: Limits
    theta: Matrix | None
    end: NewtonEnd | None
    kind: Penalty | None
    is_begun: bool  # at a start of its own


class Learner:
    """Rows that are counted once, and learned with as many penalties as one likes.

    Parameters
    ----------
    rows : Rows
        The rows that count, which are counted once.
    options : Options
        What is asked of each fit.
    policy : FitPolicy
        Tuning constants.

    Attributes
    ----------
    table, weights
        Those of the rows.
    unseen : Unseen
        The levels that count as half a row, where main effects are free.
    data : DataTerm
        What the objective takes of the rows.
    known : Drawn, Enumerated or None
        Draws at the last fit that had no part in choosing it, or the enumerated states that led to it, where there are
        some.
    """

    def __init__(self, rows: Rows, options: Options, *, policy: FitPolicy = FITTING) -> None:
        self.rows, self.options, self._policy = rows, options, policy
        self.table, self.weights = rows.table, rows.weights
        backend, own = make_backend(options.device, options.n_threads, rows.table.domain), options.steps
        self._simulation = Simulation(own.n_chains, options.seed, own.persists, backend)  # of the last fit
        self._n_learned = 0
        self._take_rows(is_free=not options.penalize_main)
        self.known: Known | None = None

    def _take_rows(self, *, is_free: bool) -> None:
        """Take the rows as the objective does where main effects are free, or are not."""
        self._is_free = is_free
        self.unseen = self.rows.unseen(is_free=is_free)
        self.data = self._make_data(self._simulation.seed)

    def learn(
        self,
        alpha: float,
        *,
        penalty: Penalty | None = None,
        start: Matrix | Known | None = None,
        began: float | None = None,
        watch: Watch | None = None,
    ) -> Fit:
        """Learn the table: solve, mark what simulation error leaves open, and certify where that is asked for.

        Each fit has random numbers of its own; the first one has those that `learn` has.

        Parameters
        ----------
        alpha : float
            Strength of the penalty.
        penalty : Penalty, optional
            A penalty of one's own in place of the one that the options ask for, with an alpha of its own.
        start : ndarray of shape (n_slots, n_slots), Drawn or Enumerated, optional
            Where to start, or draws or enumerated states there; what the option `init` says unless given.
        began : float, optional
            When the fit began, by `time.perf_counter`; now unless given.
        watch : callable, optional
            Called with each StepInfo.
        """
        solved = self._solve(alpha, penalty, start, None, began, watch)
        fit = solved.fit if solved.end is None else mark(solved.end, solved.limits, policy=self._policy.marks)
        if self.options.certify and fit.status.code != "interrupted":
            fit = self._certify(fit, solved.problem, solved.limits, watch)
        return self._describe(fit, solved)

    def solve(
        self,
        alpha: float,
        *,
        penalty: Penalty | None = None,
        start: Matrix | Known | None = None,
        enough: float | None = None,
        began: float | None = None,
        watch: Watch | None = None,
    ) -> Fit:
        """Learn the table as `learn` does, without marks and certificate: one fit of many.

        With enumerated states to start from and `enough`, the fit ends when no more than this is left to gain of the
        objective and of the log-likelihood; with 0, as `tol` says (`follow`). Other Newton steps are made unless given.
        """
        solved = self._solve(alpha, penalty, start, enough, began, watch)
        return self._describe(solved.fit, solved)

    def _solve(
        self,
        alpha: float,
        penalty: Penalty | None,
        start: Matrix | Known | None,
        enough: float | None,
        began: float | None,
        watch: Watch | None,
    ) -> _Solved:
        """Minimise the objective."""
        options, policy = self.options, self._policy
        limits = options.limits(
            is_slow=bool(self.table.n_missing.any()), began=time.perf_counter() if began is None else began
        )
        own = self.make_penalty(alpha) if penalty is None else penalty
        if options.certify and make_penalty(self.table.domain, **describe_penalty(own)) is None:
            raise ValueError(
                "certify=True is for the L1 penalty and that of groups, on all parameters or on interactions alone, "
                "and for a support without it."
            )
        if isinstance(own, Ridge):
            limits = replace(limits, tol=min(limits.tol, policy.least_tol))
        self._turn_seeds()
        is_free = not options.penalize_main if own.frees_main is None else own.frees_main
        # Missing values are drawn anew for each fit; without any the rows are what they were.
        if is_free != self._is_free or (self._n_learned > 1 and self.rows.moments is None):
            self._take_rows(is_free=is_free)
        problem = Problem(self.data, self.table.domain, own)
        theta: Matrix | None
        known: Known | None = None
        if start is None:
            theta = self._find_start(problem, limits)
        elif isinstance(start, np.ndarray):
            theta = problem.coordinates.of_slots(start)
        else:
            theta, known = start.theta, start
        nearby = None if known is None else known.near(known.theta)
        self.known, end = None, None
        summed = None
        if isinstance(own, Ridge) and theta is not None and options.steps.sums_out:
            given = problem, self._simulation, limits, theta, watch
            summed = solve_summed(*given, policy=policy.newton, sums=policy.sums)
        if summed is not None:
            fit, self.known = summed
        elif isinstance(options.steps, Newton) and nearby is not None and enough is not None:
            sums = self._simulation.backend
            fit, self.known = follow(problem, sums, limits, nearby, enough, watch, policy=policy.newton)
        elif isinstance(options.steps, Newton):
            drawn, gap, agreement = None if known is None else known.drawn, self._find_gap(problem), options.agreement
            arguments = problem, options.steps.way, self._simulation, limits, theta, gap, agreement, watch
            end = run_newton(*arguments, known=drawn, policy=policy.newton)
            fit, self.known = end.fit(), end.known
        else:
            common = _as_arguments(limits, theta, watch)
            common |= {"step_size": options.steps.step_size, "policy": policy.proximal}
            fit = solve(problem, options.steps.way, self._simulation, **common)
            fresh = problem.with_data(self._make_data(self._simulation.seed_of(Use.ITERATION_ZERO, Use.COMPARED)))
            judges: dict[str, Any] = {"policy": policy.proximal, "newton": policy.newton}
            fit = keep_if_lower(fresh, fit, theta, self._simulation, limits, **judges)
        return _Solved(fit, problem, limits, theta, end, kind=penalty, is_begun=start is None)

    def _find_gap(self, problem: Problem) -> float:
        """Return how far above its optimum the objective may be."""
        options, own, policy = self.options, problem.penalty, self._policy
        # A gap that cannot be certified has no share to leave to that.
        gap = options.largest_gap * (policy.gaps.own_share if options.certify and problem.data.is_fixed else 1.0)
        if isinstance(own, Ridge) and options.gap == "auto":
            gap = min(gap, max(1, own.n_parameters) / (2 * policy.draws_each_row * self.unseen.n))
        return gap

    def _describe(self, fit: Fit, solved: _Solved) -> Fit:
        """Return a fit that says where it stood still, what was added to the rows, and what it was made with."""
        stood = self._say_stood(fit, solved.problem, solved.theta) if solved.is_begun else ""
        said = " ".join(filter(None, [fit.status.sentence, stood, str(self.unseen)]))
        status = replace(fit.status, sentence=said)
        kind = self.options.penalty if solved.kind is None else solved.kind
        alpha = solved.problem.penalty.alpha
        kept = {"alpha": alpha, **self.options.settings(), "penalty": kind, "seed": self._simulation.seed}
        return replace(fit, status=status, settings={**kept, **self.rows.facts, **_versions()})

    def _say_stood(self, fit: Fit, problem: Problem, theta: Matrix | None) -> str:
        """Say so where a fit with edges is what it started from, though that is no optimum of the likelihood."""
        if theta is None or not fit.model.n_edges or not np.array_equal(problem.theta(fit.model), theta):
            return ""
        is_own = isinstance(self.options.init, PairwiseMRF)
        what = "the model given" if is_own else "the estimate that maximises the pseudo-likelihood instead"
        return f"The fit is its start, {what}."

    def make_penalty(self, alpha: float) -> L1 | Group:
        """Return the penalty of a fit with this strength, of the kind that the options ask for."""
        options = self.options
        return choose_penalty(self.table.domain, alpha, options.penalty, penalize_main=options.penalize_main)

    def _turn_seeds(self) -> None:
        """Take random numbers that no fit has had, so that none judges what they chose."""
        if self._n_learned:
            self._simulation = replace(self._simulation, seed=derive_seed(self.options.seed, self._n_learned))
        self._n_learned += 1

    def _make_data(self, seed: int) -> DataTerm:
        """Return what the objective takes of the rows, with missing values drawn from a seed."""
        if self.rows.moments is not None:
            return Observed(self.unseen.fill(self.rows.moments))
        own, policy = self.options.steps, self._policy.completed
        how = self._simulation.backend, self.unseen, own.max_sweeps
        return Completed(self.table, own.n_chains, seed, self.weights, *how, policy=policy)

    def _find_start(self, problem: Problem, limits: Limits) -> Matrix | None:
        """Return the parameters to start from: those of a model, of the pseudo-likelihood, or no interactions."""
        init, is_penalised = self.options.init, not self._is_free
        if isinstance(init, PairwiseMRF):
            if init.domain != self.table.domain:
                raise ValueError(
                    "init is a model over other variables or levels than the table: fit it to the same columns."
                )
            return problem.theta(init)
        empty = (
            None if is_penalised else problem.theta(PairwiseMRF.independent(problem.domain, problem.data.moments.main))
        )
        if init == "zero" or (init == "auto" and not isinstance(self.options.steps, Newton)):
            return empty
        rows, alpha = self._rows_to_start(problem.penalty.alpha)
        found = solve_pseudo_likelihood(
            rows.fill_first(),
            alpha,
            penalty=self.options.penalty,
            penalize_main=is_penalised,
            weights=self.weights,
            max_seconds=limits.max_seconds,
            began=limits.began,
            moments=self.rows.moments if rows is self.table else None,
            n_threads=self.options.n_threads,
            policy=self._policy.pseudo,
        )
        if found.status.code == "interrupted":
            raise KeyboardInterrupt
        return problem.theta(found.model) if found.steps else empty  # there was no time for any

    def _rows_to_start(self, alpha: float) -> tuple[Table, float]:
        """Return the rows that a start is found from, and the penalty there.

        Where rows are not in memory, it is a sample of them, whose sampling error would make edges at a penalty far
        below it. In n rows of independent variables, the frequency of two levels together misses the product of their
        own by a standard error of 1 / (4 sqrt(n)) at most, and the largest of m such errors is about sqrt(2 log m) of
        it.
        """
        rows = self.table.sample
        if self.table.is_in_memory:
            return rows, alpha
        n_pairs = max(2.0, self.table.domain.n_slots**2 / 2)
        return rows, max(alpha, float(np.sqrt(2 * np.log(n_pairs) / rows.n_rows)) / 4)

    def _certify(self, fit: Fit, problem: Problem, limits: Limits, watch: Watch | None) -> Fit:
        """Make the gap a promise: further steps, by Newton's way, and draws until it is certified."""
        gap, simulation, policy = self.options.largest_gap, self._simulation, self._policy
        own, is_newton = self.options.steps, isinstance(self.options.steps, Newton)

        def go_on(start: Matrix, smaller: float, seed: int, n_left: int) -> Fit:
            way = own.way if is_newton else Newton(max_sweeps=own.max_sweeps).way
            arguments = _as_arguments(replace(limits, max_iter=n_left), start, watch)
            arguments |= {"agreement": self.options.agreement if is_newton else None}
            arguments |= {"policy": policy.newton, "marks": policy.marks}
            return fit_newton(problem, way, replace(simulation, seed=seed), gap=smaller, **arguments)

        if not is_newton:  # whose steps are others: these have a limit of their own
            limits = replace(limits, max_iter=len(fit.steps) + Newton.most_steps)
        with until(limits.end):
            if not problem.data.is_fixed:
                return certify_slope(fit, self.rows, gap, simulation, policy=policy.gaps)
            drawn = None if self.known is None else self.known.drawn
            promise = Promise(problem, self.rows, gap, go_on, simulation, limits, watch, policy.gaps)
            return promise.keep(fit, None if drawn is None else drawn.moments)


def _as_arguments(limits: Limits, start: Matrix | None, watch: Watch | None) -> dict[str, Any]:
    """Return what both solvers take alike."""
    return {
        "start": start,
        "max_iter": limits.max_iter,
        "tol": limits.tol,
        "max_seconds": limits.max_seconds,
        "began": limits.began,
        "watch": watch,
    }


@cache
def _versions() -> dict[str, str]:
    return {name: version(name) for name in ("sparsefield", "numpy", "numba")}
