"""What people use in place of `sparsefield.infer`: intervals and edges of the same tables by other methods.

- Desparsified lasso (van de Geer, Buehlmann, Ritov and Dezeure 2014): each regression of a variable with an L1 penalty
  gets back what the penalty took, along what an L1 regression of one column on all others leaves of it.
- EBICglasso (Epskamp and Fried 2018): the graphical lasso of Pearson correlations, its penalty by EBIC with gamma 0.5.
- The errors of a refit: edges are those of IsingFit, and the inverse information of the refitted field is taken for the
  covariance, as if edges had been known.
- The bootstrap: quantiles of the weights of resamples, with an L1 penalty that EBIC chooses.
- The plain sandwich: the squared scores of rows or clusters, with nothing that makes up for how few there are.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.covariance import graphical_lasso
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso

import sparsefield as sf
from choice import refit
from fields_of_choice import make_rare
from fields_of_inference import (
    FIRST_SEED,
    MIDDLE,
    WEAK,
    Setting,
    draw_clusters,
    draw_weighted,
    draw_whole,
    make_random,
    make_seldom,
)
from nodewise import Regressions, fit_isingfit
from sparsefield._typing import Mask, Values
from sparsefield.pairs import Inference, adjust
from sparsefield.pairs._fits import PairFit, fit_pairs
from sparsefield.resampling import bootstrap
from sparsefield.selection import select

Row = dict[str, Any]

RATES = (0.05, 0.1)
Z = float(norm.isf(0.025))
OURS = "sf.infer"
# Rates at which our edges are counted, to be compared with those of others at the rate that these turn out to have.
GRID = tuple(np.geomspace(1e-4, 0.9, 80).round(6).tolist())

N_RESAMPLES, N_BOOTSTRAPS = 100, 10  # of a table, and tables of a setting
MOST_BOOTSTRAPPED = 12  # variables
N_DRAWS = 100_000  # for the information of a refitted field
N_PENALTIES, LEAST, GAMMA = 40, 0.01, 0.5  # of EBICglasso: the least as a share of the largest, as qgraph has it


@dataclass(frozen=True, eq=False)
class Told:
    """What a method says of all pairs.

    Parameters
    ----------
    low, high : ndarray of shape (n_pairs,), or None
        The ends of intervals.
    p_values : ndarray of shape (n_pairs,), or None
        Tests of no edge.
    edges : ndarray of shape (n_pairs,), or None
        Which pairs are edges, where that is not a matter of p-values.
    chosen : ndarray of shape (n_pairs,), or None
        Which pairs have intervals, where others are taken for zero.
    """

    low: Values | None = None
    high: Values | None = None
    p_values: Values | None = None
    edges: Mask | None = None
    chosen: Mask | None = None

    @classmethod
    def of_wald(cls, estimate: Values, error: Values) -> Told:
        """Make intervals and p-values of estimates and their errors."""
        return cls(estimate - Z * error, estimate + Z * error, 2 * norm.sf(np.abs(estimate) / error))

    @classmethod
    def of_inference(cls, found: Inference) -> Told:
        """Keep what is compared."""
        return cls(found.low, found.high, np.where(np.isnan(found.p_value), 1.0, found.p_value))


def by_bootstrap(table: sf.Table, seed: int) -> Told:
    """Resample rows; an interval that excludes zero is an edge."""
    alpha = select(table, seed=seed, n_threads=1).alpha
    found = bootstrap(table, alpha=alpha, n=N_RESAMPLES, seed=seed, n_threads=1)
    weights = np.zeros((N_RESAMPLES, table.domain.n_variables, table.domain.n_variables))
    weights[:, found.pairs[:, 0], found.pairs[:, 1]] = found.weights
    low, high = np.quantile(weights[:, *np.triu_indices(table.domain.n_variables, 1)], (0.025, 0.975), axis=0)
    return Told(low, high, edges=(low > 0) | (high < 0))


def by_refit(table: sf.Table, regressions: Regressions, seed: int) -> Told:
    """Refit the edges of IsingFit, and take the inverse information of the refitted field for the covariance.

    What is no edge is taken for zero: its interval has no length.
    """
    main, weights = refit(table, (regressions.intercepts, regressions.network("and")))
    p = len(main)
    first, second = np.triu_indices(p, 1)
    is_edge = weights[first, second] != 0
    model = sf.PairwiseMRF.binary(main, weights)
    draws = model.sample(N_DRAWS, method="perfect", seed=seed, n_threads=1).codes.astype(np.float64)
    statistics = np.hstack([draws, draws[:, first[is_edge]] * draws[:, second[is_edge]]])
    covariance = np.linalg.pinv(table.n_rows * np.cov(statistics.T))
    estimate, error = weights[first, second], np.full(len(first), 1e-12)
    error[is_edge] = np.sqrt(np.diagonal(covariance)[p:])
    told = Told.of_wald(estimate, error)
    assert told.p_values is not None
    return replace(told, p_values=np.where(is_edge, told.p_values, 1.0), chosen=is_edge)


def by_desparsified(codes: NDArray[np.uint8], regressions: Regressions) -> Told:
    """Take the penalty back, in both regressions of a pair; the estimate and its error are the means of both."""
    x = codes.astype(np.float64)
    n, p = x.shape
    estimates, errors = np.zeros((p, p)), np.zeros((p, p))
    for i in range(p):
        chance = 1 / (1 + np.exp(-regressions.intercepts[i] - x @ regressions.coefficients[i]))
        root = np.sqrt(np.maximum(chance * (1 - chance), 1e-6))
        residuals = (x[:, i] - chance) / root
        others = np.delete(np.arange(p), i)
        scaled = x[:, others] * root[:, None]
        scaled -= np.outer(root, root @ scaled / (root @ root))  # what the intercept leaves
        size = np.maximum(np.sqrt((scaled**2).mean(axis=0)), 1e-9)
        for at, j in enumerate(others):
            own, rest = scaled[:, at], np.delete(scaled / size, at, axis=1)
            fit = Lasso(alpha=size[at] * np.sqrt(np.log(p) / n), fit_intercept=False).fit(rest, own)
            left = own - rest @ fit.coef_
            scale = max(float(left @ own), 1e-9)
            estimates[i, j] = regressions.coefficients[i, j] + left @ residuals / scale
            errors[i, j] = max(np.sqrt(left @ left), 1e-9) / scale
    pairs = np.triu_indices(p, 1)
    return Told.of_wald(((estimates + estimates.T) / 2)[pairs], ((errors + errors.T) / 2)[pairs])


def by_glasso(codes: NDArray[np.uint8]) -> Told:
    """Estimate a Gaussian network of zeros and ones."""
    x = codes.astype(np.float64)
    n, p = x.shape
    correlations = np.corrcoef(x[:, x.std(axis=0) > 0].T)
    where = np.flatnonzero(x.std(axis=0) > 0)
    largest = np.abs(correlations - np.eye(len(where))).max()
    best, edges = np.inf, np.zeros((p, p), dtype=bool)
    for penalty in largest * np.geomspace(1, LEAST, N_PENALTIES):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            try:
                _, precision = graphical_lasso(correlations, penalty, max_iter=200)
            except FloatingPointError:
                break
        size = np.count_nonzero(np.triu(precision, 1))
        likelihood = n / 2 * (np.linalg.slogdet(precision)[1] - np.trace(correlations @ precision))
        ebic = -2 * likelihood + size * np.log(n) + 4 * GAMMA * size * np.log(len(where))
        if ebic < best:
            best = ebic
            edges[:] = False
            edges[np.ix_(where, where)] = precision != 0
    return Told(edges=edges[np.triu_indices(p, 1)])


def by_sandwich(found: Inference) -> Told:
    """Take the squared scores of rows or clusters for the variance of estimates."""
    sample, scale = found.sample, found.rows.kinds.scale
    assert sample is not None
    estimate, error = np.full(len(found.pairs), np.nan), np.full(len(found.pairs), np.nan)
    known = np.flatnonzero(found.degrees > 0)

    def use(k: int, fit: PairFit) -> None:
        """Keep the weight of a pair of single features."""
        assert fit.both.moves is not None
        at = int(known[k])
        size = float(scale(*found.pairs[at].tolist())[0, 0])
        estimate[at] = fit.both.theta[0] * np.sqrt(size)
        error[at] = np.sqrt((sample.sum(fit.both.moves.T) ** 2).sum() * size)

    fit_pairs(found.rows, found.pairs[known], use, z_ends=np.zeros(len(known)), with_moves=True, n_threads=1)
    told = Told.of_wald(estimate, error)
    assert told.p_values is not None
    return replace(told, p_values=np.where(found.degrees > 0, told.p_values, 1.0))


def compare(told: Told, truth: Values, is_known: Mask, seconds: float) -> Row:
    """Compare what a method says with the truth; intervals are those of pairs whose variables are not constant."""
    is_true = truth != 0
    row: Row = {"true": int(is_true.sum()), "seconds": seconds}
    if told.low is not None and told.high is not None:
        covers = (told.low <= truth) & (truth <= told.high)
        for kind, own in (("edges", is_true & is_known), ("zeros", ~is_true & is_known)):
            row |= {kind: int(own.sum()), f"{kind} covered": int(covers[own].sum())}
        if told.chosen is not None:
            row |= {"chosen": int(told.chosen.sum()), "chosen covered": int(covers[told.chosen].sum())}
    if told.p_values is not None:
        q = adjust(told.p_values)
        for rate in RATES:
            row |= {f"right {rate}": int((q <= rate)[is_true].sum()), f"false {rate}": int((q <= rate)[~is_true].sum())}
        row["p 0.01"] = int((told.p_values[~is_true] <= 0.01).sum())
    if told.edges is not None:
        row |= {"right": int(told.edges[is_true].sum()), "false": int(told.edges[~is_true].sum())}
    return row


def clock(make: Callable[[], Told]) -> tuple[Told, float]:
    """Return what a method says, and its seconds of the processor."""
    began = time.process_time()
    told = make()
    return told, time.process_time() - began


def measure_peers(setting: Setting, seed: int) -> Row:
    """Compare all methods on a table with two levels."""
    drawn = setting.draw(seed)
    table, truth = drawn.table, drawn.truth
    codes = np.ascontiguousarray(table.codes)
    varies = codes.min(axis=0) < codes.max(axis=0)
    first, second = np.triu_indices(codes.shape[1], 1)
    judge = partial(compare, truth=truth, is_known=varies[first] & varies[second])
    ours, seconds = clock(lambda: Told.of_inference(sf.infer(table, n_threads=1, progress=False)))
    methods = {OURS: judge(ours, seconds=seconds)}
    assert ours.p_values is not None
    q = adjust(ours.p_values)
    is_edge, is_true = q[None] <= np.array(GRID)[:, None], truth != 0
    began = time.process_time()
    regressions = fit_isingfit(codes)
    nodewise = time.process_time() - began
    for rule in ("and", "or"):
        told = Told(edges=regressions.network(rule)[first, second] != 0)
        methods[f"IsingFit {rule.upper()}"] = judge(told, seconds=nodewise)
    others: dict[str, Callable[[], Told]] = {
        "EBICglasso": lambda: by_glasso(codes),
        "errors of a refit": lambda: by_refit(table, regressions, seed),
        "desparsified lasso": lambda: by_desparsified(codes, regressions),
    }
    if codes.shape[1] <= MOST_BOOTSTRAPPED and seed < FIRST_SEED + N_BOOTSTRAPS:
        others["bootstrap"] = lambda: by_bootstrap(table, seed)
    for name, make in others.items():
        told, seconds = clock(make)
        methods[name] = judge(told, seconds=seconds)
    return {
        "methods": methods,
        "right": is_edge[:, is_true].sum(axis=1).tolist(),
        "false": is_edge[:, ~is_true].sum(axis=1).tolist(),
    }


def measure_sandwich(setting: Setting, seed: int) -> Row:
    """Compare design effects, the plain sandwich, and none of both, on a table with weights or clusters."""
    drawn = setting.draw(seed)
    began = time.process_time()
    found = sf.infer(drawn.table, sample_weight=drawn.weights, clusters=drawn.clusters, n_threads=1, progress=False)
    seconds = time.process_time() - began
    counts = None if drawn.weights is None else drawn.weights * len(drawn.weights) / drawn.weights.sum()
    named: dict[str, Callable[[], Told]] = {
        "plain sandwich": lambda: by_sandwich(found),
        "as independent rows": lambda: Told.of_inference(
            sf.infer(drawn.table, sample_weight=counts, frequency=True, n_threads=1, progress=False)
        ),
    }
    judge = partial(compare, truth=drawn.truth, is_known=np.isfinite(found.estimate))
    methods = {OURS: judge(Told.of_inference(found), seconds=seconds)}
    for name, make in named.items():
        told, seconds = clock(make)
        methods[name] = judge(told, seconds=seconds)
    return {"methods": methods}


PEER_SETTINGS = (
    *(
        Setting("peers", "random, 10", n, 24, partial(draw_whole, partial(make_random, 10, MIDDLE), n))
        for n in (250, 1000)
    ),
    Setting("peers", "rare, 12", 500, 24, partial(draw_whole, partial(make_rare, 12), 500)),
    Setting("peers", "rare, 12", 2000, 24, partial(draw_whole, partial(make_rare, 12), 2000)),
    *(
        Setting("peers", "random, 20", n, 12, partial(draw_whole, partial(make_random, 20, MIDDLE), n))
        for n in (250, 1000)
    ),
    Setting("peers", "weak, 30", 1000, 6, partial(draw_whole, partial(make_random, 30, WEAK), 1000)),
)
_TWO, _SELDOM = partial(make_random, 10, MIDDLE), partial(make_seldom, 10)
SANDWICH_SETTINGS = (
    Setting("weights", "random, 10, free weights", 500, 60, partial(draw_weighted, _TWO, 500, False)),
    Setting("weights", "5 to 25%, 10, free weights", 500, 60, partial(draw_weighted, _SELDOM, 500, False)),
    Setting("weights", "5 to 25%, 10, informative weights", 500, 60, partial(draw_weighted, _SELDOM, 500, True)),
    Setting("weights", "random, 10, 30 clusters of 10", 300, 60, partial(draw_clusters, _TWO, 300, 10)),
    Setting("weights", "5 to 25%, 10, 30 clusters of 10", 300, 60, partial(draw_clusters, _SELDOM, 300, 10)),
    Setting("weights", "random, 10, 30 clusters of 20", 600, 60, partial(draw_clusters, _TWO, 600, 20)),
)
