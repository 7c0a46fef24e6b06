"""How far a fit can be above the optimum: a bound from fresh draws, by duality."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sparsefield._missing import expected_moments
from sparsefield._model import PairwiseMRF
from sparsefield._moments import check_weights, moments_of_table, weighted_moments
from sparsefield._newton import solve_newton
from sparsefield._problem import Matrix, Problem, sum_once
from sparsefield._result import Fit, Optimality, StepInfo
from sparsefield._sample import Draws
from sparsefield._schedule import Sampler, best
from sparsefield._table import Table, encode
from sparsefield.certificates import Disagreement, concentration
from sparsefield.certificates._certificate import across_variables, count_statistics
from sparsefield.certificates._coalescence import check_confidence
from sparsefield.inference import Gibbs, OutOfReachError, Perfect

_USES = 5  # bounds that must hold together, each with its share of the risk: errors and means here and there
_MOST_SWEEPS = 1000  # of Gibbs chains, where there are no exact draws
_MOST_MARGIN = 0.7  # of alpha, by which the penalty of the second fit may be smaller
_SMALL = 1e-3  # share of the sampling error that their bias may have


def certify(
    fit: Fit,
    data: Any,
    *,
    confidence: float = 0.99,
    n_draws: int = 200_000,
    seed: int = 0,
    sample_weight: ArrayLike | None = None,
    n_threads: int | None = None,
    watch: Callable[[StepInfo], None] | None = None,
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
        What it was fitted to. Where the model filled holes, their expectations are found by enumeration (up to 20 holes
        of two levels in a row), and the slope alone is certified.
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
    watch : callable, optional
        Called with each StepInfo of the second fit.

    Returns
    -------
    Fit
        The same fit, with `optimality`: `gap`, `slope` and a sentence.

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
    if fit.alpha is None:
        raise ValueError("This fit is not one of penalised likelihood: there is no alpha to certify it with.")
    if n_draws < 2:
        raise ValueError(f"n_draws is {n_draws}: use at least two.")
    table, weights = _read_table(fit, data, sample_weight)
    if "data" in fit.settings and sample_weight is None and table.fingerprint() != fit.settings["data"]:
        raise ValueError(
            f"These are not the {fit.settings['n_rows']} rows that the field was fitted to (as it was told to take "
            "missing cells): give the same table."
        )
    if table.n_holes.any():
        moments = expected_moments(fit.model, table, weights)
    else:
        moments = moments_of_table(table) if sample_weight is None else weighted_moments(table, weights)
    problem = Problem(moments, table.domain, fit.alpha, fit.penalize_main)
    if table.domain.n_slots == 0:  # nothing to fit
        return replace(fit, optimality=Optimality(0.0, 0.0, confidence, n_draws))
    risk = (1 - confidence) / _USES
    here = _Means(fit.model, n_draws, seed, 1, risk, n_threads)
    if not here.is_certified:
        return replace(fit, optimality=Optimality(np.inf, np.inf, confidence, n_draws, here.why))
    slopes = problem.violation(here.theta, here.pair - moments.pair)
    slope = float((np.abs(slopes) + here.errors).max())
    if table.n_holes.any():
        note = "holes that the model fills make the objective not convex"
        return replace(fit, optimality=Optimality(np.inf, slope, confidence, n_draws, note))
    entropy = _entropy(table, weights)
    others = [here, *_fit_tighter(problem, here, n_draws, seed, risk, n_threads, watch)]
    gap = min(_bound_gap(problem, here, there, entropy) for there in others)
    free = "all parameters" if fit.alpha == 0 else "" if fit.penalize_main else "main effects"
    note = f"{free} are free, so that alpha does not bound their optimum" if free else ""
    return replace(fit, optimality=Optimality(gap, slope, confidence, n_draws, note))


def _read_table(fit: Fit, data: Any, sample_weight: ArrayLike | None) -> tuple[Table, NDArray[np.float64]]:
    """Return the rows that count, in the codes of the fit, and their weights."""
    domain = fit.model.domain
    is_ready = isinstance(data, Table) and data.domain == domain
    table = data if is_ready else encode(data.to_frame() if isinstance(data, Table) else data, domain=domain)
    weights = np.ones(table.n_rows) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    check_weights(weights, table.n_rows)
    if not weights.all():
        table, weights = Table(domain, np.asfortranarray(table.codes[weights > 0])), weights[weights > 0]
    return table, weights


def _bound_gap(problem: Problem, here: _Means, there: _Means, entropy: float) -> float:
    """Bound g(here) - H(P) from above, P the field of `there` with as much of the data mixed in as it takes."""
    domain = problem.domain
    is_parameter = across_variables(domain, 1.0) > 0
    excess = np.abs(there.pair - problem.data.pair) + there.errors
    if np.any(is_parameter & (problem.penalty == 0)):
        mixed = 1.0  # equalities, which only the data meet
    else:
        mixed = max(0.0, 1 - problem.alpha / float(np.max(excess, where=is_parameter, initial=1e-300)))
    largest = float(np.log(domain.n_levels).sum())
    gap = here.upper(here.theta - there.theta) + there.upper(there.theta) - sum_once(here.theta * problem.data.pair)
    return max(0.0, gap + problem.penalty_of(here.theta) + mixed * (largest - entropy))


class _Means:
    """Moments of a model from fresh draws, with bounds on their errors that hold together."""

    def __init__(self, model: PairwiseMRF, n: int, seed: int, use: int, risk: float, n_threads: int | None) -> None:
        seed = Sampler(seed=seed).seed_of(0, use)
        self.is_certified, self.why, self._risk, self._n = True, "", risk, n
        self.theta = model.interactions + np.diag(model.main)
        domain = model.domain
        bias = np.zeros((domain.n_slots, domain.n_slots))
        try:
            if np.any(domain.n_levels > 2):
                raise OutOfReachError("exact draws are for two levels so far")
            chains = Perfect(n, seed, max_sweeps=10_000, n_threads=n_threads).run(model)
        except OutOfReachError:
            far = Disagreement(model)
            ahead = far.next_biases(_MOST_SWEEPS)
            goal = _SMALL * np.sqrt(count_statistics(domain) / n)
            places = np.flatnonzero(ahead <= goal)
            if len(places) == 0:
                self.is_certified = False
                self.why = "there are neither exact draws nor a certificate for Gibbs chains at these parameters"
                return
            n_sweeps = int(places[0]) + 1
            far.sweep(n_sweeps)
            bias = far.certificate().pair
            chains = Gibbs(n, n_sweeps, seed, n_threads=n_threads).run(model)
        self._bias = bias
        moments = chains.moments(n_threads=n_threads)
        self.pair = moments.pair
        self.errors = concentration(model, moments, confidence=1 - risk, kind="sharp").pair + bias
        self._draws = Draws(chains, n_threads)

    def upper(self, weights: Matrix) -> float:
        """Bound from above the expectation of the statistics times weights (Maurer and Pontil 2009, Theorem 4)."""
        values = self._draws.along(weights)
        width = sum_once(np.abs(weights))
        tail = np.log(2 / self._risk)
        noise = np.sqrt(2 * values.var(ddof=1) * tail / self._n) + 7 * width * tail / (3 * (self._n - 1))
        return float(values.mean() + noise + sum_once(np.abs(weights) * self._bias))


def _fit_tighter(
    problem: Problem,
    here: _Means,
    n_draws: int,
    seed: int,
    risk: float,
    n_threads: int | None,
    watch: Callable[[StepInfo], None] | None,
) -> list[_Means]:
    """Return fresh means of a second fit with a smaller penalty, where there can be one."""
    # Twice the largest errors that means can have: once for these, and once for the noise of the second fit. The draws
    # here must have no say in it: the second fit may not depend on them.
    margin = 2 * float(np.sqrt(np.log(2 * count_statistics(problem.domain) / risk) / (2 * n_draws)))
    if margin >= _MOST_MARGIN * problem.alpha or not problem.penalize_main:
        return []
    tighter = replace(problem, alpha=problem.alpha - margin)
    sampler = Sampler(max(1, n_draws // 4), Sampler(seed=seed).seed_of(0, 3), n_threads=n_threads)
    gap = max(1, int(np.count_nonzero(np.triu(here.theta)))) / (2 * n_draws)
    second = solve_newton(tighter, best(), sampler, start=here.theta, gap=gap, max_iter=6, watch=watch)
    if second.status.code == "interrupted":
        raise KeyboardInterrupt
    there = _Means(second.model, n_draws, seed, 2, risk, n_threads)
    return [there] if there.is_certified else []


def _entropy(table: Table, weights: NDArray[np.float64]) -> float:
    """Return the entropy of the weighted rows of a table."""
    _, place = np.unique(np.ascontiguousarray(table.codes), axis=0, return_inverse=True)
    shares = np.bincount(place.ravel(), weights) / weights.sum()
    shares = shares[shares > 0]
    return float(-(shares * np.log(shares)).sum())
