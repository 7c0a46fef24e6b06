"""From a table to a fit: the routine under the estimators, the path, resampling and the command line."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from typing import Any, Literal

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
from sparsefield.gradients import (
    BestDraws,
    CertificateKind,
    ExactMoments,
    Fixed,
    Increasing,
    PerfectDraws,
    Schedule,
    Simulation,
    Tay,
)
from sparsefield.inference import Backend, make_backend
from sparsefield.model import Matrix, PairwiseMRF, as_theta, independent_theta
from sparsefield.objective import L1, Completed, DataTerm, Observed, Penalty, Problem
from sparsefield.solvers._duality import entropy_of
from sparsefield.solvers._gradient import check_step_size, solve
from sparsefield.solvers._loop import Limits, Watch
from sparsefield.solvers._newton import check_gap, solve_newton
from sparsefield.solvers._promise import OWN_SHARE, certify_slope, keep_gap, refuse
from sparsefield.solvers._pseudolikelihood import solve_pseudo_likelihood
from sparsefield.solvers._start import keep_if_lower

MAX_ITER = {"newton": 50, "spg": 300}  # unless given: Newton steps are few, the paper's are many
_SLOWER = 4  # times as many iterations with missing values, of which each leaves the share of what is missing (EM)
_LARGEST_GAP = 0.05  # nats per row, whatever the number of rows
_AGREEMENT = 0.99  # of the edges of a fit, the share that one with another seed is to have too: a convention


def learn(
    data: Any,
    alpha: float = 0.05,
    *,
    solver: Literal["newton", "spg"] = "newton",
    schedule: str | int | Schedule = "auto",
    certificate: CertificateKind = "sharp",
    chains: Literal["restart", "persistent"] = "restart",
    n_chains: int = 2000,
    gap: float | Literal["auto"] = "auto",
    step_size: float | Literal["auto"] = "auto",
    penalize_main: bool = False,
    penalty: Penalty | None = None,
    max_iter: int | None = None,
    max_sweeps: int | None = None,
    max_seconds: float | None = None,
    tol: float = 1e-4,
    init: PairwiseMRF | Literal["auto", "pseudolikelihood", "zero"] = "auto",
    missing: Literal["model", "zero", "drop", "error"] = "model",
    certify: bool = False,
    sample_weight: ArrayLike | None = None,
    seed: int = 0,
    n_threads: int | None = None,
    backend: Backend | None = None,
    watch: Watch | None = None,
) -> Fit:
    """Learn a sparse Markov random field from a table, and return all that is known of the fit as one value.

    This is the routine under `SparseMRF`, whose options have the same names and are explained there.

    Parameters
    ----------
    data : Table, array, pandas or polars data frame, or path
        Observations, one row each; see `encode`.
    alpha : float
        Strength of the penalty.
    solver, schedule, certificate, chains, n_chains, gap, step_size, penalize_main, max_iter, max_sweeps, tol, init, \
missing, certify
        As for `SparseMRF`.
    penalty : Penalty, optional
        A penalty of one's own in place of the L1 penalty. Its `alpha` counts, and not the one given here; a start is
        found with an L1 penalty of that strength, on main effects if `penalize_main`. Unless that is true, a level that
        no row shows counts as half a row.
    max_seconds : float, optional
        Time after which the fit ends, counted from the call: reading the table, finding a start and certifying count
        too. Newton steps make no more draws than there is time for.
    sample_weight : array-like of shape (n_rows,), optional
        How often each row counts.
    seed : int
        Where the random numbers start.
    n_threads : int, optional
        Threads to use; the result does not depend on it.
    backend : Backend, optional
        What makes chains and draws; this machine's processors unless given.
    watch : callable, optional
        Called with each StepInfo.

    Returns
    -------
    Fit
        The model, how the fit ended, one StepInfo per iteration, and the settings.

    Examples
    --------
    >>> import sparsefield as sf
    >>> table = sf.datasets.make_field(6, strength=(1.0, 1.5), seed=7).sample(5000, method="perfect", seed=1)
    >>> fit = sf.learn(table, 0.02, seed=1)
    >>> fit.status.code, sf.edge_table(fit).row(0)[:2]
    ('converged', ('x1', 'x5'))
    """
    clock = time.perf_counter()
    options = {name: value for name, value in locals().items() if name in _STORED}
    check_options(solver, certificate, chains, step_size, init)
    check_gap(_LARGEST_GAP if gap == "auto" else gap)
    way = make_schedule(schedule, solver, certificate, max_sweeps)
    limits = Limits(1 if max_iter is None else max_iter, tol, max_seconds, clock)
    table, weights = take_counted(data if isinstance(data, Table) else encode(data), sample_weight)
    table, weights = resolve_missing(table, missing, weights)
    if max_iter is None:
        limits = replace(limits, max_iter=_SLOWER * MAX_ITER[solver] if table.n_missing.any() else MAX_ITER[solver])
    backend = make_backend(backend, n_threads)
    penalty = L1(table.domain, alpha, float(penalize_main)) if penalty is None else penalty
    unseen = Unseen(table.domain, (), table.n_rows) if penalize_main else find_unseen(table, weights)
    problem = Problem(_data_term(table, weights, n_chains, seed, backend, unseen, max_sweeps), table.domain, penalty)
    facts = {"alpha": penalty.alpha, **describe_rows(table, weights), **_versions()}
    if not isinstance(schedule, str | int | np.integer):
        facts["schedule"] = repr(schedule)
    persists = chains == "persistent" or (_is_tay(schedule, solver) and certificate == "persistent")
    simulation = Simulation(n_chains, seed, persists, backend)
    start = _find_start(init, solver, problem, table, weights, penalize_main, limits)
    common: dict[str, Any] = {
        "start": start,
        "tol": tol,
        "max_iter": limits.max_iter,
        "max_seconds": max_seconds,
        "began": clock,
        "watch": watch,
    }
    wanted, agreement = (_LARGEST_GAP, _AGREEMENT) if gap == "auto" else (gap, None)
    if solver == "newton":
        own = OWN_SHARE * wanted if certify else wanted
        fit = solve_newton(problem, way, simulation, gap=own, agreement=agreement, **common)
    else:
        fit = solve(problem, way, simulation, step_size=step_size, **common)
        fit = keep_if_lower(problem, fit, start, simulation, limits)
    if certify and fit.status.code != "interrupted":
        fit = _certify(fit, problem, table, weights, wanted, way, simulation, limits, common)
    status = replace(fit.status, sentence=f"{fit.status.sentence} {unseen}".rstrip())
    return replace(fit, status=status, settings={**options, **facts})


def _certify(
    fit: Fit,
    problem: Problem,
    table: Table,
    weights: NDArray[np.float64] | None,
    gap: float,
    way: Schedule,
    simulation: Simulation,
    limits: Limits,
    common: dict[str, Any],
) -> Fit:
    """Make the gap a promise: further steps, by Newton's way, and draws until it is certified."""
    if fit.penalty != "L1" or fit.penalize_main is None:
        raise ValueError("certify=True is for the L1 penalty, on all parameters or on interactions alone.")

    def go_on(start: Matrix, smaller: float, seed: int) -> Fit:
        other = replace(simulation, seed=seed)
        return solve_newton(problem, way, other, **{**common, "start": start, "gap": smaller})

    try:
        with until(limits.end):
            if not problem.data.is_fixed:
                return certify_slope(fit, table, weights, gap, simulation)
            entropy, watch = entropy_of(table, weights), common["watch"]
            return keep_gap(problem, fit, entropy, gap, go_on, simulation=simulation, limits=limits, watch=watch)
    except OutOfTimeError:
        return replace(fit, status=refuse(fit, gap, "there was no time for it"))
    except KeyboardInterrupt:
        said = f"{fit.status.sentence} Interrupted while it was certified: the fit is whole."
        return replace(fit, status=Status("interrupted", said))


_STORED = (
    *("alpha", "solver", "schedule", "certificate", "chains", "n_chains", "gap", "step_size", "penalize_main"),
    *("penalty", "max_iter", "max_sweeps", "max_seconds", "tol", "init", "missing", "certify", "seed", "n_threads"),
    "backend",
)


def check_options(solver: str, certificate: str, chains: str, step_size: float | str, init: Any) -> None:
    """Refuse options that make no sense, also where a fit would make no use of them."""
    if solver not in MAX_ITER:
        raise ValueError(f"solver is {solver!r}: use 'newton' or 'spg'.")
    if chains not in ("restart", "persistent"):
        raise ValueError(f"chains is {chains!r}: use 'restart' or 'persistent'.")
    Tay(certificate)  # type: ignore[arg-type]  # checks its own argument
    check_step_size(step_size)
    if not isinstance(init, PairwiseMRF) and init not in ("auto", "pseudolikelihood", "zero"):
        raise ValueError(f"init is {init!r}: use a model, 'auto', 'pseudolikelihood' or 'zero'.")


def make_schedule(
    schedule: str | int | Schedule, solver: str, certificate: CertificateKind, max_sweeps: int | None
) -> Schedule:
    """Return the schedule that a word or a number of sweeps names; a schedule stays what it is."""
    if isinstance(schedule, int | np.integer):
        return Fixed(int(schedule))
    if not isinstance(schedule, str):
        return schedule
    limit: dict[str, Any] = {} if max_sweeps is None else {"max_sweeps": max_sweeps}
    if schedule == "auto":
        schedule = "best" if solver == "newton" else "tay"
    known: dict[str, Callable[[], Schedule]] = {
        "best": lambda: BestDraws(**limit),
        "tay": lambda: Tay(certificate, **limit),
        "conservative": lambda: Tay(certificate, conservative=True, **limit),
        "perfect": lambda: PerfectDraws(**limit),
        "exact": ExactMoments,
        "increasing": Increasing,
    }
    if schedule not in known:
        raise ValueError(
            f"schedule is {schedule!r}: use 'auto', 'best', 'tay', 'conservative', 'perfect', 'exact', 'increasing', "
            "a number of sweeps, or a Schedule."
        )
    return known[schedule]()


def _is_tay(schedule: str | int | Schedule, solver: str) -> bool:
    """Say whether a word names TAY; the persistent certificate is then about chains that persist."""
    return isinstance(schedule, str) and (schedule == "tay" or (schedule == "auto" and solver == "spg"))


def _data_term(
    table: Table,
    weights: NDArray[np.float64] | None,
    n_chains: int,
    seed: int,
    backend: Backend,
    unseen: Unseen,
    max_sweeps: int | None,
) -> DataTerm:
    if table.n_missing.any():
        return Completed(table, n_chains, seed, weights, backend, unseen, max_sweeps)
    return Observed(unseen.fill(moments_of_table(table) if weights is None else weighted_moments(table, weights)))


def _find_start(
    init: Any,
    solver: str,
    problem: Problem,
    table: Table,
    weights: NDArray[np.float64] | None,
    penalize_main: bool,
    limits: Limits,
) -> Matrix | None:
    """Return the parameters to start from: those of a model, of the pseudo-likelihood, or no interactions."""
    if isinstance(init, PairwiseMRF):
        if init.domain != table.domain:
            raise ValueError(
                "init is a model over other variables or levels than the table: fit it to the same columns."
            )
        return as_theta(init)
    if init == "zero" or (init == "auto" and solver == "spg"):
        return None if penalize_main else independent_theta(problem.domain, problem.data.moments.main)
    found = solve_pseudo_likelihood(
        table.fill_first(),
        problem.penalty.alpha,
        penalize_main=penalize_main,
        weights=weights,
        max_seconds=limits.max_seconds,
        began=limits.began,
    )
    if found.status.code == "interrupted":
        raise KeyboardInterrupt
    if not found.steps:  # there was no time for any
        return None if penalize_main else independent_theta(problem.domain, problem.data.moments.main)
    return as_theta(found.model)


@cache
def _versions() -> dict[str, str]:
    return {name: version(name) for name in ("sparsefield", "numpy", "numba")}
