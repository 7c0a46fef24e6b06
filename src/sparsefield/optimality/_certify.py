"""How far a fit can be above the optimum: what `certify` says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparsefield._seeds import Use
from sparsefield.certificates import check_confidence
from sparsefield.data import CountedTable, Rows, Table, TableError, check_rows, resolve_missing, take_counted
from sparsefield.fits import Fit, Fitted, Optimality, as_fit
from sparsefield.gradients import Simulation
from sparsefield.inference import MOST_ENTRIES, Backend, Cpu, DeviceName, OutOfReachError, check_seed, make_backend
from sparsefield.model import PairwiseMRF
from sparsefield.objective import L1, Group, Observed, Problem, Ridge, expected_moments, make_penalty
from sparsefield.optimality._entropy_bound import USES, Means, bound_by_entropy, entropy_of
from sparsefield.optimality._exact_gap import can_enumerate, rounding
from sparsefield.optimality._gap import bound_gap
from sparsefield.optimality._gap_bound import GapBound
from sparsefield.optimality._policy import GAP_POLICY, GapPolicy
from sparsefield.solvers import WatchSteps as Watch
from sparsefield.tables import open_rows

_OUT_OF_REACH = "there are neither exact draws nor a certificate for Gibbs chains at these parameters"
_NOT_CONVEX = "missing values that the model fills make the objective not convex"


def certify(
    fit: Fit | Fitted,
    data: Any,
    *,
    confidence: float = 0.99,
    n_draws: int = 200_000,
    seed: int = 0,
    sample_weight: ArrayLike | None = None,
    n_threads: int | None = None,
    backend: Backend | None = None,
    device: DeviceName | None = None,
    watch: Watch | None = None,
    max_states: int = MOST_ENTRIES,
) -> Fit:
    """Bound how far the objective of a fit is above its optimum, from draws that the fit has not seen.

    Every distribution P whose moments are within alpha of those of the data (by the norm of a group, where parameters
    vanish in groups) has an entropy below the least objective: the problem is the dual of maximum entropy. So the gap
    of theta is at most g(theta) - H(P), for any such P. Small fields are enumerated, and the gap is exact. Elsewhere
    three such P are tried, and `optimality.kind` says which of them the gap is from. The field with a Newton step in
    its probabilities gives a bound that is close to the gap ("asymptotic": by the central limit theorem), and, where
    draws are many and parameters few, one that holds for every number of draws ("proven"). The field of a second fit,
    with a penalty a little below alpha, gives one that is always proven, and far from the gap; where main effects are
    free it is that of the data, which says next to nothing. `optimality.proven` is the smaller of these two.

    Parameters
    ----------
    fit : Fit or fitted estimator
        A fit of penalised likelihood (`SparseMRF(...).fit(data)`), or a relaxed one (`selection.relax`): its optimum is
        that of the parameters which it has, with all others at zero.
    data : Table, array, pandas or polars data frame, or path
        What it was fitted to, as it was given to the fit; other rows, and rows in another order, are refused. Of rows
        that were counted part by part (`count_data`) it is the counts that must be the same. Missing
        values are treated as the fit was told to. Where the model filled them, their expectations are found by
        enumeration (up to 20 missing values of two levels in a row), and the smallest subgradient alone is certified.
    confidence : float
        Probability with which all bounds hold together; of asymptotic ones, as draws become many.
    n_draws : int
        Fresh draws of each batch: of one for the subgradient, one at the second fit, two for the decrement, and of two
        more for each step where the fit is far from its optimum. With five times the draws that a fit ended with the
        asymptotic bound is about twice its gap, unless many parameters are near their penalties or statistics are
        rare: the note of what is refused says how many draws would do, where that is known.
    seed : int
        Where the random numbers start; they are others than those of a fit with the same seed.
    sample_weight : array-like of shape (n_rows,), optional
        The weights that it was fitted with; others are refused. Weights that are all equal are the same as none, unless
        a level that no row shows has half a row beside as many as they count.
    n_threads : int, optional
        Threads to use; the result does not depend on it.
    backend : Backend, optional
        What makes the draws; this machine's processors unless given.
    device : "cpu", "cuda" or "auto", optional
        As for `SparseMRF`; it need not be that of the fit.
    watch : callable, optional
        Called with each StepInfo of the second fit.
    max_states : int
        Fields with no more states are enumerated, which takes no draws.

    Returns
    -------
    Fit
        The same fit, with `optimality`: `gap`, its `kind`, `proven`, `subgradient` and a sentence.

    Examples
    --------
    >>> import sparsefield as sf
    >>> table = sf.datasets.make_field(8, seed=1).sample(2000, method="perfect", seed=1)
    >>> mrf = sf.SparseMRF(0.05, random_state=1).fit(table)
    >>> certified = sf.certify(mrf, table, seed=2)
    >>> certified.optimality.kind, certified.optimality.gap < 0.02
    ('exact', True)
    """
    backend = make_backend(backend, n_threads, device)
    fit = as_fit(fit)
    _check(fit, confidence, n_draws, seed)  # before a long table is read
    rows = _read_rows(fit, data, sample_weight)
    options: dict[str, Any] = {"confidence": confidence, "n_draws": n_draws, "seed": seed, "max_states": max_states}
    return certify_rows(fit, rows, backend=backend, watch=watch, **options)


def certify_rows(
    fit: Fit,
    rows: Rows,
    *,
    confidence: float = 0.99,
    n_draws: int = 200_000,
    seed: int = 0,
    backend: Backend | None = None,
    watch: Watch | None = None,
    max_states: int = MOST_ENTRIES,
    policy: GapPolicy = GAP_POLICY,
) -> Fit:
    """Bound how far the objective of a fit is above its optimum (duality gap), given the rows that it was fitted to.

    Parameters
    ----------
    fit : Fit
        A fit of penalised likelihood, or a relaxed one.
    rows : Rows
        The rows that count, in the codes of the fit, with missing values treated as the fit was told to; other rows are
        refused.
    confidence, n_draws, seed, backend, watch, max_states
        As for `certify`.
    policy : GapPolicy
        Tuning constants.
    """
    _check(fit, confidence, n_draws, seed)
    check_rows(fit.settings, rows.table, rows.weights)
    if rows.table.domain.n_slots == 0:  # nothing to fit
        return replace(fit, optimality=Optimality(0.0, 0.0, 1.0, 0, kind="exact"))
    simulation = Simulation(n_draws, seed, backend=Cpu() if backend is None else backend)
    problem = problem_of(fit, rows, simulation.backend)
    options: dict[str, Any] = {"confidence": confidence, "max_states": max_states, "policy": policy}
    if rows.table.n_missing.any():
        found = assess_slope(problem, fit.model, simulation, **options)
    else:
        found = assess(problem, fit.model, entropy_of(rows), simulation, watch=watch, **options)
    return replace(fit, optimality=found.as_optimality(problem))


def _check(fit: Fit, confidence: float, n_draws: int, seed: int) -> None:
    """Refuse what cannot be certified, and draws that are none."""
    check_confidence(confidence)
    check_seed(seed)
    if _penalty_of(fit) is None:
        raise ValueError(
            "This fit is not one of the likelihood with an L1 or a group penalty on all parameters or on interactions "
            "alone, nor one of a support without it, and certify knows no other."
        )
    if n_draws < 2:
        raise ValueError(f"n_draws is {n_draws}: use at least two.")


def _read_rows(fit: Fit, data: Any, sample_weight: ArrayLike | None) -> Rows:
    """Read the rows that count, in the codes of the fit, and do with missing values what the fit was told to."""
    domain = fit.model.domain
    missing = fit.settings.get("missing", "model")
    if not (isinstance(data, Table) and data.domain == domain):
        if isinstance(data, CountedTable):
            raise TableError(
                "These counts are of other variables or levels than those of the fit",
                "give count_data the domain of its model",
            )
        data = open_rows(data.to_frame() if isinstance(data, Table) else data, missing=missing, domain=domain)
    table, weights = take_counted(data, sample_weight)
    try:
        return Rows(*resolve_missing(table, missing, weights))
    except TableError as error:  # its remedy is an option of fits
        raise TableError(error.problem, "give the table that the field was fitted to", column=error.column) from error


def problem_of(fit: Fit, rows: Rows, backend: Backend | None = None) -> Problem:
    """Return the problem that a fit solved, with what the model expects of missing values given the observed cells."""
    penalty = _penalty_of(fit)
    assert penalty is not None
    moments, table, weights = rows.moments, rows.table, rows.weights
    if moments is None:
        moments = expected_moments(fit.model, table, np.ones(table.n_rows) if weights is None else weights, backend)
    unseen = rows.unseen(is_free=bool(penalty.frees_main))
    return Problem(Observed(unseen.fill(moments)), table.domain, penalty)


def _penalty_of(fit: Fit) -> L1 | Group | Ridge | None:
    """Return the penalty of a fit, or None where it is not known."""
    return make_penalty(fit.model.domain, fit.alpha, fit.penalty, fit.penalize_main, fit.support)


def assess(
    problem: Problem,
    model: PairwiseMRF,
    entropy: float,
    simulation: Simulation,
    *,
    confidence: float,
    max_states: int = MOST_ENTRIES,
    watch: Watch | None = None,
    policy: GapPolicy = GAP_POLICY,
) -> GapBound:
    """Bound how far the objective of a model is above its optimum, and its smallest subgradient.

    Parameters
    ----------
    problem : Problem
        Whose optimum it is; its data moments are those of a distribution with the given entropy at least.
    model : PairwiseMRF
        A model that does not depend on the draws made here.
    entropy : float
        That of the data.
    simulation : Simulation
        Draws of each batch, where random numbers start, and what makes the draws.
    confidence, max_states, watch
        As for `certify`.
    policy : GapPolicy
        Tuning constants.
    """
    theta, n_draws, backend = problem.theta(model), simulation.n_chains, simulation.backend
    if can_enumerate(problem, max_states):
        return replace(bound_gap(problem, theta, backend=backend), subgradient=_largest_entry(problem, model, backend))
    risk = policy.entropy * (1 - confidence) / USES
    try:
        here = Means(problem, model, simulation, Use.HERE, risk, policy=policy)
    except OutOfReachError:
        return GapBound(kind="proven", confidence=confidence, why=_OUT_OF_REACH)
    # The data themselves are feasible only where the penalty is a norm.
    by_entropy, n_second = np.inf, 0
    if problem.penalty.bends is None:
        by_entropy, n_second = bound_by_entropy(problem, here, entropy, simulation, risk, watch, policy=policy)
    left = 1 - (1 - policy.entropy) * (1 - confidence)
    options: dict[str, Any] = {"seed": simulation.seed, "backend": backend, "max_states": 0, "policy": policy}
    found = bound_gap(problem, theta, n_draws=n_draws, confidence=left, **options)
    return replace(
        found.or_proven(by_entropy),
        subgradient=_bound_entry(problem, here),
        confidence=confidence,
        n_draws=n_draws + n_second + found.n_draws,
    )


def assess_slope(
    problem: Problem,
    model: PairwiseMRF,
    simulation: Simulation,
    *,
    confidence: float,
    max_states: int = MOST_ENTRIES,
    policy: GapPolicy = GAP_POLICY,
) -> GapBound:
    """Bound the smallest subgradient alone: where the model fills missing values, there is no bound on the gap."""
    if can_enumerate(problem, max_states):
        entry = _largest_entry(problem, model, simulation.backend)
        return GapBound(kind="exact", subgradient=entry, why=_NOT_CONVEX)
    none = GapBound(kind="proven", confidence=confidence, why=_OUT_OF_REACH)
    try:
        here = Means(problem, model, simulation, Use.HERE, (1 - confidence) / USES, policy=policy)
    except OutOfReachError:
        return none
    return replace(none, subgradient=_bound_entry(problem, here), n_draws=simulation.n_chains, why=_NOT_CONVEX)


def _bound_entry(problem: Problem, here: Means) -> float:
    """Bound the largest entry of the smallest subgradient, from draws: by the largest norm of a group of them."""
    violation = problem.subgradient(here.theta, here.batch.gradient)
    return float((problem.penalty.sizes(violation) + here.errors).max(initial=0.0))


def _largest_entry(problem: Problem, model: PairwiseMRF, backend: Backend) -> float:
    """Return the largest entry of the smallest subgradient, by enumeration."""
    theta = problem.theta(model)
    gradient = problem.gradient(problem.see(backend.enumerate(model)[1]))
    return float(np.abs(problem.subgradient(theta, gradient)).max(initial=0.0)) + rounding(problem, theta)
