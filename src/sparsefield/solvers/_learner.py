"""One table, learned with one penalty after the other."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sparsefield._deadline import OutOfTimeError, until
from sparsefield.data import (
    Table,
    Unseen,
    describe_rows,
    encode,
    find_unseen,
    moments_of_table,
    resolve_missing,
    take_counted,
    weighted_moments,
)
from sparsefield.fits import Fit, Status
from sparsefield.gradients import Simulation
from sparsefield.inference import Backend, make_backend
from sparsefield.model import Matrix, PairwiseMRF, as_theta, independent_theta
from sparsefield.objective import L1, Completed, DataTerm, Observed, Penalty, Problem
from sparsefield.solvers._duality import entropy_of
from sparsefield.solvers._fall import Stand
from sparsefield.solvers._gradient import solve
from sparsefield.solvers._loop import Limits, Watch
from sparsefield.solvers._newton import run_newton, solve_newton
from sparsefield.solvers._options import Options
from sparsefield.solvers._promise import OWN_SHARE, certify_slope, keep_gap, refuse
from sparsefield.solvers._pseudolikelihood import solve_pseudo_likelihood
from sparsefield.solvers._start import keep_if_lower


class Learner:
    """A table that is read and counted once, and learned with as many penalties as one likes.

    Parameters
    ----------
    data : Table, array, pandas or polars data frame, or path
        Observations, one row each; see `encode`.
    options : Options
        What is asked of each fit.
    sample_weight : array-like of shape (n_rows,), optional
        How often each row counts.

    Attributes
    ----------
    table, weights
        The rows that count, after missing values are filled or dropped, and how often each does.
    unseen : Unseen
        The levels that count as half a row, where main effects are free.
    data : DataTerm
        What the objective takes of the rows.
    stand : Stand or None
        Draws at the last fit that had no part in choosing it, where there are some.
    """

    def __init__(self, data: Any, options: Options, sample_weight: ArrayLike | None = None) -> None:
        table, weights = take_counted(data if isinstance(data, Table) else encode(data), sample_weight)
        self.table, self.weights = resolve_missing(table, options.missing, weights)
        self.options = options
        table, weights, domain = self.table, self.weights, self.table.domain
        is_penalised = options.penalize_main
        self.unseen = Unseen(domain, (), table.n_rows) if is_penalised else find_unseen(table, weights)
        backend = make_backend(options.backend, options.n_threads)
        self._simulation = Simulation(options.n_chains, options.seed, options.persists, backend)
        self.data = _data_term(table, weights, options, backend, self.unseen)
        self._facts = {**describe_rows(table, weights), **_versions()}
        self.stand: Stand | None = None

    def learn(
        self,
        alpha: float,
        *,
        penalty: Penalty | None = None,
        start: Matrix | Stand | None = None,
        began: float | None = None,
        watch: Watch | None = None,
    ) -> Fit:
        """Learn the table.

        Parameters
        ----------
        alpha : float
            Strength of the penalty.
        penalty : Penalty, optional
            A penalty of one's own in place of the L1 penalty, with an alpha of its own.
        start : ndarray of shape (n_slots, n_slots) or Stand, optional
            Where to start, or draws there; what the option `init` says unless given.
        began : float, optional
            When the fit began, by `time.perf_counter`; now unless given.
        watch : callable, optional
            Called with each StepInfo.
        """
        options, way = self.options, self.options.way
        limits = options.limits(
            is_slow=bool(self.table.n_missing.any()), began=time.perf_counter() if began is None else began
        )
        own = L1(self.table.domain, alpha, float(options.penalize_main)) if penalty is None else penalty
        problem = Problem(self.data, self.table.domain, own)
        start = self._find_start(problem, limits) if start is None else start
        theta = start.theta if isinstance(start, Stand) else start
        self.stand = None
        if options.solver == "newton":
            gap = options.largest_gap * (OWN_SHARE if options.certify else 1.0)
            found = run_newton(problem, way, self._simulation, limits, start, gap, options.agreement, watch)
            fit, self.stand = found
        else:
            common = _as_arguments(limits, theta, watch)
            fit = solve(problem, way, self._simulation, step_size=options.step_size, **common)
            fit = keep_if_lower(problem, fit, theta, self._simulation, limits)
        if options.certify and fit.status.code != "interrupted":
            fit = self._certify(fit, problem, limits, watch)
        status = replace(fit.status, sentence=f"{fit.status.sentence} {self.unseen}".rstrip())
        facts = {"alpha": own.alpha, "penalty": penalty, **options.settings(), **self._facts}
        return replace(fit, status=status, settings=facts)

    def _find_start(self, problem: Problem, limits: Limits) -> Matrix | None:
        """Return the parameters to start from: those of a model, of the pseudo-likelihood, or no interactions."""
        init, is_penalised = self.options.init, self.options.penalize_main
        if isinstance(init, PairwiseMRF):
            if init.domain != self.table.domain:
                raise ValueError(
                    "init is a model over other variables or levels than the table: fit it to the same columns."
                )
            return as_theta(init)
        empty = None if is_penalised else independent_theta(problem.domain, problem.data.moments.main)
        if init == "zero" or (init == "auto" and self.options.solver == "spg"):
            return empty
        found = solve_pseudo_likelihood(
            self.table.fill_first(),
            problem.penalty.alpha,
            penalize_main=is_penalised,
            weights=self.weights,
            max_seconds=limits.max_seconds,
            began=limits.began,
        )
        if found.status.code == "interrupted":
            raise KeyboardInterrupt
        return as_theta(found.model) if found.steps else empty  # there was no time for any

    def _certify(self, fit: Fit, problem: Problem, limits: Limits, watch: Watch | None) -> Fit:
        """Make the gap a promise: further steps, by Newton's way, and draws until it is certified."""
        if fit.penalty != "L1" or fit.penalize_main is None:
            raise ValueError("certify=True is for the L1 penalty, on all parameters or on interactions alone.")
        gap, simulation = self.options.largest_gap, self._simulation

        def go_on(start: Matrix, smaller: float, seed: int) -> Fit:
            other = replace(simulation, seed=seed)
            return solve_newton(problem, self.options.way, other, gap=smaller, **_as_arguments(limits, start, watch))

        try:
            with until(limits.end):
                if not problem.data.is_fixed:
                    return certify_slope(fit, self.table, self.weights, gap, simulation)
                entropy = entropy_of(self.table, self.weights)
                return keep_gap(problem, fit, entropy, gap, go_on, simulation=simulation, limits=limits, watch=watch)
        except OutOfTimeError:
            return replace(fit, status=refuse(fit, gap, "there was no time for it"))
        except KeyboardInterrupt:
            said = f"{fit.status.sentence} Interrupted while it was certified: the fit is whole."
            return replace(fit, status=Status("interrupted", said))


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


def _data_term(
    table: Table, weights: NDArray[np.float64] | None, options: Options, backend: Backend, unseen: Unseen
) -> DataTerm:
    if table.n_missing.any():
        return Completed(table, options.n_chains, options.seed, weights, backend, unseen, options.max_sweeps)
    return Observed(unseen.fill(moments_of_table(table) if weights is None else weighted_moments(table, weights)))


@cache
def _versions() -> dict[str, str]:
    return {name: version(name) for name in ("sparsefield", "numpy", "numba")}
