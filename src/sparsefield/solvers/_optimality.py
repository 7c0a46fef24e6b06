"""How far a fit can be above the optimum: a bound from fresh draws, by duality."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sparsefield.certificates import Disagreement, check_confidence, concentration
from sparsefield.data import (
    Table,
    check_rows,
    encode,
    moments_of_table,
    resolve_missing,
    take_counted,
    weighted_moments,
)
from sparsefield.fits import Fit, Optimality
from sparsefield.gradients import BestDraws, Simulation
from sparsefield.inference import Backend, ChainStates, OutOfReachError, make_backend
from sparsefield.model import Matrix, PairwiseMRF, as_theta, count_once, count_statistics, sum_once
from sparsefield.objective import L1, Problem, describe_penalty, expected_moments
from sparsefield.solvers._loop import Watch
from sparsefield.solvers._newton import solve_newton

_USES = 5  # bounds that must hold together, each with its share of the risk: errors and means here and there
_MOST_SWEEPS = 1000  # of Gibbs chains, where there are no exact draws
_MOST_MARGIN = 0.7  # of alpha, by which the penalty of the second fit may be smaller
_SMALL = 1e-3  # share of the simulation error that their bias may have
_OUT_OF_REACH = "there are neither exact draws nor a certificate for Gibbs chains at these parameters"


def certify(
    fit: Fit,
    data: Any,
    *,
    confidence: float = 0.99,
    n_draws: int = 200_000,
    seed: int = 0,
    sample_weight: ArrayLike | None = None,
    n_threads: int | None = None,
    backend: Backend | None = None,
    watch: Watch | None = None,
) -> Fit:
    """Bound how far the objective of a fit is above its optimum, from draws that the fit has not seen.

    Every distribution P whose moments are within alpha of those of the data has an entropy below the least objective
    (the problem is the dual of maximum entropy). So the gap of theta is at most g(theta) - H(P), for any such P. Here P
    is the field of a second fit, with a penalty a little below alpha, so that its moments are within alpha in spite of
    all noise; where they are not, it is mixed with as much of the data as it takes. All that is left to estimate
    are means over draws, at both fits, whose errors are bounded with the confidence asked for.

    Parameters
    ----------
    fit : Fit
        A fit of penalised likelihood (`SparseMRF(...).fit(data).fit_`).
    data : Table, array, pandas or polars data frame, or path
        What it was fitted to. Missing values are treated as the fit was told to. Where the model filled them, their
        expectations are found by enumeration (up to 20 missing values of two levels in a row), and the smallest
        subgradient alone is certified.
    confidence : float
        Probability with which the bound holds.
    n_draws : int
        Fresh draws at each of the two fits; the bound falls as their square root.
    seed : int
        Where the random numbers start; they are others than those of a fit with the same seed.
    sample_weight : array-like of shape (n_rows,), optional
        The weights that it was fitted with.
    n_threads : int, optional
        Threads to use; the result does not depend on it.
    backend : Backend, optional
        What makes the draws; this machine's processors unless given.
    watch : callable, optional
        Called with each StepInfo of the second fit.

    Returns
    -------
    Fit
        The same fit, with `optimality`: `gap`, `subgradient` and a sentence.

    Examples
    --------
    >>> import sparsefield as sf
    >>> table = sf.datasets.make_field(8, seed=1).sample(2000, method="perfect", seed=1)
    >>> fit = sf.SparseMRF(0.05, random_state=1).fit(table).fit_
    >>> certified = sf.certify(fit, table, seed=2)
    >>> certified.optimality.gap < 0.2
    True
    """
    check_confidence(confidence)
    if fit.alpha is None or fit.penalty != "L1" or fit.penalize_main is None:
        raise ValueError(
            "This fit is not one of the likelihood with an L1 penalty on all parameters or on interactions alone, and "
            "certify knows no other."
        )
    if n_draws < 2:
        raise ValueError(f"n_draws is {n_draws}: use at least two.")
    table, weights = _read_table(fit, data, sample_weight)
    if table.domain.n_slots == 0:  # nothing to fit
        return replace(fit, optimality=Optimality(0.0, 0.0, confidence, n_draws))
    backend = make_backend(backend, n_threads)
    is_filled = bool(table.n_missing.any())
    if is_filled:
        moments = expected_moments(fit.model, table, weights)
    else:
        moments = moments_of_table(table) if sample_weight is None else weighted_moments(table, weights)
    problem = Problem.with_l1(moments, table.domain, fit.alpha, fit.penalize_main)
    risk = (1 - confidence) / _USES
    try:
        here = _Means(fit.model, n_draws, seed, 1, risk, backend)
    except OutOfReachError:
        return replace(fit, optimality=Optimality(np.inf, np.inf, confidence, n_draws, _OUT_OF_REACH))
    violation = problem.subgradient(here.theta, here.pair - moments.pair)
    subgradient = float((np.abs(violation) + here.errors).max())
    if is_filled:
        note = "missing values that the model fills make the objective not convex"
        return replace(fit, optimality=Optimality(np.inf, subgradient, confidence, n_draws, note))
    entropy = _entropy(table, weights)
    others = [here, *_fit_tighter(problem, here, n_draws, seed, risk, backend, watch)]
    gap = min(_bound_gap(problem, here, there, entropy) for there in others)
    free = "all parameters" if fit.alpha == 0 else "" if fit.penalize_main else "main effects"
    note = f"{free} are free, so that alpha does not bound their optimum" if free else ""
    return replace(fit, optimality=Optimality(gap, subgradient, confidence, n_draws, note))


def _read_table(fit: Fit, data: Any, sample_weight: ArrayLike | None) -> tuple[Table, NDArray[np.float64]]:
    """Return the rows that count, in the codes of the fit, and their weights; refuse others than it was fitted to."""
    domain = fit.model.domain
    is_ready = isinstance(data, Table) and data.domain == domain
    table = data if is_ready else encode(data.to_frame() if isinstance(data, Table) else data, domain=domain)
    table, weights = take_counted(table, sample_weight)
    table, weights = resolve_missing(table, fit.settings.get("missing", "model"), weights)
    check_rows(fit.settings, table, weights)
    return table, np.ones(table.n_rows) if weights is None else weights


def _bound_gap(problem: Problem, here: _Means, there: _Means, entropy: float) -> float:
    """Bound g(here) - H(P) from above, P the field of `there` with as much of the data mixed in as it takes."""
    domain, data = problem.domain, problem.data.moments.pair
    # Free parameters are equalities, which only the data meet.
    excess = problem.penalty.dual_norm(np.abs(there.pair - data) + there.errors)
    mixed = max(0.0, 1 - problem.penalty.alpha / max(excess, 1e-300))
    largest = float(np.log(domain.n_levels).sum())
    gap = here.upper(here.theta - there.theta) + there.upper(there.theta) - sum_once(here.theta * data)
    return max(0.0, gap + problem.penalty.value(here.theta) + mixed * (largest - entropy))


class _Means:
    """Moments of a model from fresh draws, with bounds on their errors that hold together."""

    def __init__(self, model: PairwiseMRF, n: int, seed: int, use: int, risk: float, backend: Backend) -> None:
        self._risk, self._n, self.theta = risk, n, as_theta(model)
        chains, self._bias = _draw(model, n, Simulation(seed=seed).seed_of(0, use), backend)
        moments = chains.moments()
        self.pair = moments.pair
        self.errors = concentration(model, moments, confidence=1 - risk, kind="sharp").pair + self._bias
        self._draws = chains.draws()

    def upper(self, weights: Matrix) -> float:
        """Bound from above the expectation of the statistics times weights (Maurer and Pontil 2009, Theorem 4)."""
        values = self._draws.along(weights)
        width = sum_once(np.abs(weights))
        tail = np.log(2 / self._risk)
        noise = np.sqrt(2 * values.var(ddof=1) * tail / self._n) + 7 * width * tail / (3 * (self._n - 1))
        return float(values.mean() + noise + sum_once(np.abs(weights) * self._bias))


def _draw(model: PairwiseMRF, n: int, seed: int, backend: Backend) -> tuple[ChainStates, Matrix]:
    """Return draws and bounds on their biases: exact ones, or those of Gibbs chains that are swept long enough."""
    domain = model.domain
    try:
        chains, _ = backend.draw(model, n, seed=seed, max_sweeps=10_000)
        return chains, np.zeros((domain.n_slots, domain.n_slots))
    except OutOfReachError:
        far = Disagreement(model)
        ahead = far.next_biases(_MOST_SWEEPS)
        enough = np.flatnonzero(ahead <= _SMALL * np.sqrt(count_statistics(domain) / n))
        if len(enough) == 0:
            raise
        n_sweeps = int(enough[0]) + 1
        far.sweep(n_sweeps)
        chains = backend.chains(domain, n, seed=seed)
        chains.sweep(backend.prepare(model), n_sweeps)
        return chains, far.certificate().pair


def _fit_tighter(
    problem: Problem,
    here: _Means,
    n_draws: int,
    seed: int,
    risk: float,
    backend: Backend,
    watch: Watch | None,
) -> list[_Means]:
    """Return fresh means of a second fit with a smaller penalty, where there can be one."""
    # Twice the largest errors that means can have: once for these, and once for the noise of the second fit. The draws
    # here must have no say in it: the second fit may not depend on them.
    margin = 2 * float(np.sqrt(np.log(2 * count_statistics(problem.domain) / risk) / (2 * n_draws)))
    alpha, is_free = problem.penalty.alpha, not describe_penalty(problem.penalty)["penalize_main"]
    if margin >= _MOST_MARGIN * alpha or is_free:
        return []
    tighter = replace(problem, penalty=L1(problem.domain, alpha - margin))
    simulation = Simulation(max(1, n_draws // 4), Simulation(seed=seed).seed_of(0, 3), backend=backend)
    gap = max(1, count_once(here.theta)) / (2 * n_draws)
    second = solve_newton(tighter, BestDraws(), simulation, start=here.theta, gap=gap, max_iter=6, watch=watch)
    if second.status.code == "interrupted":
        raise KeyboardInterrupt
    try:
        return [_Means(second.model, n_draws, seed, 2, risk, backend)]
    except OutOfReachError:
        return []


def _entropy(table: Table, weights: NDArray[np.float64]) -> float:
    """Return the entropy of the weighted rows of a table."""
    _, index = np.unique(np.ascontiguousarray(table.codes), axis=0, return_inverse=True)
    shares = np.bincount(index.ravel(), weights) / weights.sum()
    shares = shares[shares > 0]
    return float(-(shares * np.log(shares)).sum())
