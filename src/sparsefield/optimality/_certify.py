"""How far a fit can be above the optimum: what `certify` says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sparsefield._seeds import Use
from sparsefield.certificates import check_confidence
from sparsefield.data import (
    CountedTable,
    Table,
    TableError,
    check_rows,
    find_unseen,
    resolve_missing,
    take_counted,
    weighted_moments,
)
from sparsefield.fits import Fit, Fitted, GapKind, Optimality, as_fit
from sparsefield.inference import (
    MOST_ENTRIES,
    Backend,
    DeviceName,
    OutOfReachError,
    check_seed,
    count_entries,
    make_backend,
)
from sparsefield.model import PairwiseMRF
from sparsefield.objective import (
    L1,
    Group,
    GroupSupport,
    Observed,
    Problem,
    Ridge,
    Support,
    expected_moments,
    make_penalty,
)
from sparsefield.optimality._entropy_bound import USES, Means, bound_by_entropy, entropy_of
from sparsefield.optimality._exact_gap import rounding
from sparsefield.optimality._gap import bound_gap
from sparsefield.optimality._gap_bound import GapBound
from sparsefield.solvers import WatchSteps as Watch
from sparsefield.tables import open_rows

# Of the risk this share goes to the errors of all moments and the bound by entropies; the rest to the decrement.
_ENTROPY = 0.05

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
    check_confidence(confidence)
    check_seed(seed)
    backend = make_backend(backend, n_threads, device)
    fit = as_fit(fit)
    if _penalty_of(fit) is None:
        raise ValueError(
            "This fit is not one of the likelihood with an L1 or a group penalty on all parameters or on interactions "
            "alone, nor one of a support without it, and certify knows no other."
        )
    if n_draws < 2:
        raise ValueError(f"n_draws is {n_draws}: use at least two.")
    table, weights = _read_table(fit, data, sample_weight)
    if table.domain.n_slots == 0:  # nothing to fit
        return replace(fit, optimality=Optimality(0.0, 0.0, 1.0, 0, kind="exact"))
    problem = problem_of(fit, table, weights, backend)
    ways: dict[str, Any] = {"confidence": confidence, "n_draws": n_draws, "seed": seed, "backend": backend}
    if table.n_missing.any():
        return replace(fit, optimality=assess_slope(problem, fit.model, **ways, max_states=max_states))
    optimality, _ = assess(problem, fit.model, entropy_of(table, weights), **ways, max_states=max_states, watch=watch)
    return replace(fit, optimality=optimality)


def problem_of(fit: Fit, table: Table, weights: NDArray[np.float64] | None, backend: Backend | None = None) -> Problem:
    """Return the problem that a fit solved, with what the model expects of missing values given the observed cells."""
    penalty = _penalty_of(fit)
    assert penalty is not None
    unseen = find_unseen(table, weights, is_free=bool(penalty.frees_main))
    if table.n_missing.any():
        ones = np.ones(table.n_rows)
        moments = expected_moments(fit.model, table, ones if weights is None else weights, backend)
    else:
        moments = weighted_moments(table, weights)
    return Problem(Observed(unseen.fill(moments)), table.domain, penalty)


def _penalty_of(fit: Fit) -> L1 | Group | Ridge | None:
    """Return the penalty of a fit, or None where it is not known."""
    return make_penalty(fit.model.domain, fit.alpha, fit.penalty, fit.penalize_main, fit.support)


def assess(
    problem: Problem,
    model: PairwiseMRF,
    entropy: float,
    *,
    confidence: float,
    n_draws: int,
    seed: int,
    backend: Backend,
    max_states: int = MOST_ENTRIES,
    watch: Watch | None = None,
) -> tuple[Optimality, GapBound | None]:
    """Bound how far the objective of a model is above its optimum; also say what is known of better ones.

    Parameters
    ----------
    problem : Problem
        Whose optimum it is; its data moments are those of a distribution with the given entropy at least.
    model : PairwiseMRF
        A model that does not depend on the draws made here.
    entropy : float
        That of the data.
    confidence, n_draws, seed, backend, max_states, watch
        As for `certify`.
    """
    theta = problem.theta(model)
    if count_entries(problem.domain) <= min(max_states, MOST_ENTRIES):
        found = bound_gap(problem, theta, backend=backend)
        return _state(problem, found, _largest_entry(problem, model, backend), found.bound, found.bound, 0), found
    share = _ENTROPY * (1 - confidence) / USES
    try:
        here = Means(problem, model, n_draws, seed, Use.HERE, share, backend)
    except OutOfReachError:
        return Optimality(np.inf, np.inf, confidence, 0, _OUT_OF_REACH), None
    # The data themselves are feasible only where the penalty is a norm.
    by_entropy, n_second = np.inf, 0
    if problem.penalty.bends is None:
        by_entropy, n_second = bound_by_entropy(problem, here, entropy, n_draws, seed, share, backend, watch)
    left = 1 - (1 - _ENTROPY) * (1 - confidence)
    found = bound_gap(problem, theta, n_draws=n_draws, confidence=left, seed=seed, backend=backend, max_states=0)
    gap, proven = min(found.bound, by_entropy), min(found.proven, by_entropy)
    said = _state(problem, found, _bound_entry(problem, here), gap, proven, n_draws + n_second + found.n_draws)
    return replace(said, confidence=confidence), found


def assess_slope(
    problem: Problem,
    model: PairwiseMRF,
    *,
    confidence: float,
    n_draws: int,
    seed: int,
    backend: Backend,
    max_states: int = MOST_ENTRIES,
) -> Optimality:
    """Bound the smallest subgradient alone: where the model fills missing values, there is no bound on the gap."""
    if count_entries(problem.domain) <= min(max_states, MOST_ENTRIES):
        return Optimality(np.inf, _largest_entry(problem, model, backend), 1.0, 0, _NOT_CONVEX, "exact")
    try:
        here = Means(problem, model, n_draws, seed, Use.HERE, (1 - confidence) / USES, backend)
    except OutOfReachError:
        return Optimality(np.inf, np.inf, confidence, 0, _OUT_OF_REACH)
    return Optimality(np.inf, _bound_entry(problem, here), confidence, n_draws, _NOT_CONVEX)


def _state(
    problem: Problem, found: GapBound, subgradient: float, gap: float, proven: float, n_draws: int
) -> Optimality:
    is_asymptotic = found.kind == "asymptotic" and gap < proven
    kind: GapKind = "exact" if found.kind == "exact" else "asymptotic" if is_asymptotic else "proven"
    return Optimality(
        gap=gap,
        subgradient=subgradient,
        confidence=found.confidence,
        n_draws=n_draws,
        note=found.why,
        kind=kind,
        proven=proven,
        lower=found.lower,
        estimate=found.estimate,
        n_parameters=problem.penalty.n_parameters
        if isinstance(problem.penalty, Support | GroupSupport | Ridge)
        else None,
    )


def _bound_entry(problem: Problem, here: Means) -> float:
    """Bound the largest entry of the smallest subgradient, from draws: by the largest norm of a group of them."""
    violation = problem.subgradient(here.theta, here.pair - problem.target)
    return float((problem.penalty.sizes(violation) + here.errors).max(initial=0.0))


def _largest_entry(problem: Problem, model: PairwiseMRF, backend: Backend) -> float:
    """Return the largest entry of the smallest subgradient, by enumeration."""
    theta = problem.theta(model)
    gradient = problem.gradient(problem.see(backend.enumerate(model)[1]))
    return float(np.abs(problem.subgradient(theta, gradient)).max(initial=0.0)) + rounding(problem, theta)


def _read_table(fit: Fit, data: Any, sample_weight: ArrayLike | None) -> tuple[Table, NDArray[np.float64] | None]:
    """Return the rows that count, in the codes of the fit, and their weights; refuse others than it was fitted to."""
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
        table, weights = resolve_missing(table, missing, weights)
    except TableError as error:  # its remedy is an option of fits
        raise TableError(error.problem, "give the table that the field was fitted to", column=error.column) from error
    check_rows(fit.settings, table, weights)
    return table, weights
