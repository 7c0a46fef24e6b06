"""From a table to an estimate, an interval, a p-value and a q-value for every pair."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import brentq
from scipy.stats import chi2, f, ncx2, norm, t

from sparsefield._deadline import check_time
from sparsefield._typing import Index, Mask, Values
from sparsefield.data import Domain, Rows, Table, TableError
from sparsefield.pairs._design_effects import Sample, compare_products, find_structured, moderate
from sparsefield.pairs._fits import PairFit, Watch, fit_pairs
from sparsefield.pairs._inference import Inference
from sparsefield.pairs._pair_rows import Kinds, PairRows
from sparsefield.pairs._rates import Rate, adjust, largest_discovery
from sparsefield.pairs._scores import Residuals, Scores, score_pairs
from sparsefield.pairs._unsettled import are_almost_empty, choose_fits, needs_profile
from sparsefield.structure import Design, chi_square_tail, find_neighbours

# A pair with more interactions has a curvature of hundreds of numbers squared for each choice of neighbours: three
# columns of 20 amino acids and 500 rows take more than a minute.
_MOST_INTERACTIONS = 128

_POWER = 0.8  # with which a detectable weight is found: a convention


@dataclass(frozen=True, eq=False)
class _Found:
    """What is known of each pair, in the order of `pairs`; arrays are filled as fits arrive."""

    estimate: Values
    error: Values
    low: Values
    high: Values
    root: Values
    own_root: Values
    scale: Values
    own_scale: Values
    effect: Values
    own_effect: Values
    ratio: Values
    own_ratio: Values
    number: Values
    own_number: Values
    square: Values
    curvature: Values
    noise: Values
    blocks: dict[int, tuple[Values, Values, Values]] = field(default_factory=dict, init=False)

    @classmethod
    def empty(cls, n: int) -> _Found:
        """Make room for n pairs."""
        starts = [np.nan] * 8 + [1.0] * 4 + [np.inf] * 3 + [0.0] * 2
        return cls(*(np.full(n, start) for start in starts))


def infer_table(
    table: Table,
    weights: Values | None = None,
    *,
    counts_rows: bool = False,
    clusters: Index | None = None,
    fdr: float = 0.1,
    rate: Rate = "bh",
    level: float = 0.95,
    n_threads: int | None = None,
    watch: Watch | None = None,
) -> Inference:
    """Find what a table tells of every pair of its variables; `sparsefield.infer` says how.

    Parameters
    ----------
    table : Table
        Observations, some of which may be missing.
    weights : ndarray of shape (n_rows,), optional
        Weights of a survey, whose scale does not matter; or how often each row counts.
    counts_rows : bool
        Whether weights are counts of equal rows.
    clusters : ndarray of shape (n_rows,), integers, optional
        Which rows belong together, numbered from zero.
    fdr, rate, level, n_threads, watch
        As for `sparsefield.infer`.
    """
    why = explain_untestable(table.domain)
    if why:
        raise TableError(why, "merge levels, say which order they have, or leave columns out")
    # Weights that are all the same say nothing, and neither do clusters of one row each.
    if weights is not None and not counts_rows and weights.min() == weights.max():
        weights = None
    if clusters is not None and len(np.unique(clusters)) == table.n_rows:
        clusters = None
    is_plain = clusters is None and (weights is None or counts_rows)
    own_rows = Rows(table, weights, counts_rows)
    n_effective, design = own_rows.n_effective, Design.of(table, own_rows.counts, gather=is_plain)
    rows = PairRows(design, find_neighbours(design, n_threads), Kinds.of(design))
    left = Residuals.of(rows)
    own, both = score_pairs(rows, left)
    pairs = np.column_stack(np.triu_indices(design.n_variables, 1)).astype(np.int64)
    degrees = design.degrees[pairs[:, 0], pairs[:, 1]]
    found = _Found.empty(len(pairs))
    _take_steps(found, rows, pairs, own, both)
    sample = None
    if not is_plain:
        groups = np.arange(len(design.counts)) if clusters is None else clusters
        sample = Sample(groups, design.counts if counts_rows else np.ones(len(groups)))
    chosen = choose_fits(rows, pairs, degrees, np.maximum(np.abs(found.root), np.abs(found.own_root)))
    z = float(norm.isf((1 - level) / 2))
    ends = np.where(needs_profile(rows, pairs[chosen]) & is_plain, z, 0.0)

    def use(k: int, fit: PairFit) -> None:
        """Keep what the fit of a pair says."""
        at = int(chosen[k])
        _take_fit(found, rows, at, int(pairs[at, 0]), int(pairs[at, 1]), fit)
        if sample is not None:
            _compare_moves(found, at, fit, sample)

    if sample is not None:
        _compare_residuals(found, rows, left, sample, pairs)
    fit_pairs(
        rows,
        pairs[chosen],
        use,
        z_ends=ends,
        is_rare=are_almost_empty(rows, pairs[chosen]),
        with_moves=sample is not None,
        n_threads=n_threads,
        watch=watch,
    )
    check_time()
    p_values, wide = _judge(found, rows, left, sample, pairs, degrees, level)
    is_known = degrees > 0
    cut = largest_discovery(np.where(is_known, p_values, 1.0), fdr, rate)
    _bound(found, degrees, wide, level)
    _hold_zero(found, (p_values > 1 - level) & np.isfinite(found.square))
    detectable = _find_detectable(found, degrees, cut)
    return Inference(
        domain=table.domain,
        pairs=pairs,
        estimate=found.estimate,
        error=found.error * np.sqrt(found.effect),
        low=found.low,
        high=found.high,
        p_value=np.where(is_known, p_values, np.nan),
        q_value=adjust(np.where(is_known, p_values, 1.0), rate),
        detectable=np.where(is_known, detectable, np.inf),
        degrees=degrees.astype(np.int64),
        fdr=fdr,
        rate=rate,
        level=level,
        n_rows=table.n_rows,
        n_effective=n_effective,
        design_effect=float(np.median(found.effect[is_known])) if is_known.any() else 1.0,
        n_clusters=None if clusters is None else int(clusters.max()) + 1,
        rows=rows,
        sample=sample,
    )


def explain_untestable(domain: Domain) -> str:
    """Say which pair has too many interactions to be fitted; an empty string where none has."""
    own = np.asarray(np.where(domain.is_ordered, 1, domain.n_levels - 1))
    if len(own) < 2:
        return ""
    first, second = np.argsort(-own, kind="stable")[:2].tolist()
    if own[first] * own[second] <= _MOST_INTERACTIONS:
        return ""
    names, levels = domain.names, domain.n_levels
    return (
        f"Columns {names[first]!r} and {names[second]!r} have {levels[first]} and {levels[second]} levels without an "
        f"order: how sure pairs are is found for up to {_MOST_INTERACTIONS} interactions, and these have "
        f"{own[first] * own[second]}"
    )


def _take_steps(found: _Found, rows: PairRows, pairs: Index, own: Scores, both: Scores) -> None:
    """Take one step from zero for every pair."""
    design, kinds = rows.design, rows.kinds
    starts, sizes = design.starts, design.sizes
    i, j = pairs.T
    single = (sizes[i] == 1) & (sizes[j] == 1)
    a, b = i[single], j[single]
    turn = np.array([own_turn[0, 0] if own_turn.size == 1 else np.nan for own_turn in kinds.turns])
    size = np.array([float(spread[0, 0]) if spread.size == 1 else np.nan for spread in kinds.spreads])
    scale = turn[a] * turn[b] * 4 * np.sqrt(size[a] * size[b])
    information = np.maximum(both.information[starts[a], starts[b]], both.least)
    own_information = np.maximum(own.information[starts[a], starts[b]], own.least)
    found.estimate[single] = scale * both.scores[starts[a], starts[b]] / information
    found.scale[single] = found.error[single] = np.abs(scale) / np.sqrt(information)
    found.own_scale[single] = np.abs(scale) / np.sqrt(own_information)
    found.root[single] = both.scores[starts[a], starts[b]] / np.sqrt(information)
    found.own_root[single] = own.scores[starts[a], starts[b]] / np.sqrt(own_information)
    for at in np.flatnonzero(sizes[i] * sizes[j] > 1).tolist():
        _take_block_step(found, rows, at, int(i[at]), int(j[at]), own, both)


def _take_block_step(found: _Found, rows: PairRows, at: int, i: int, j: int, own: Scores, both: Scores) -> None:
    """Take one step from zero for a pair that has several interactions."""
    score, covariance = both.of(j, i)  # blocks are kept with the larger number first
    own_score, own_covariance = own.of(j, i)
    turn = np.kron(rows.kinds.turns[j], rows.kinds.turns[i])
    inverse, own_inverse = np.linalg.pinv(covariance), np.linalg.pinv(own_covariance)
    theta = turn @ inverse @ score
    order = np.arange(len(theta)).reshape(rows.design.sizes[j], rows.design.sizes[i]).T.ravel()
    scaled, own_scaled = ((turn @ some @ turn.T)[np.ix_(order, order)] for some in (inverse, own_inverse))
    found.root[at] = np.sqrt(max(0.0, float(score @ inverse @ score)))
    found.own_root[at] = np.sqrt(max(0.0, float(own_score @ own_inverse @ own_score)))
    _keep(found, at, theta[order], scaled, own_scaled, rows.kinds.scale(i, j))


def _take_fit(found: _Found, rows: PairRows, at: int, i: int, j: int, fit: PairFit) -> None:
    """Keep the fit of a pair."""
    scale = rows.kinds.scale(i, j)
    found.root[at], found.own_root[at] = fit.both.root, fit.own.root
    found.effect[at], found.own_effect[at] = fit.both.effect, fit.own.effect
    found.square[at] = fit.own.square
    _keep(found, at, fit.both.theta, fit.both.covariance, fit.own.covariance, scale)
    if fit.ends is not None:
        found.low[at], found.high[at] = np.sqrt(scale[0, 0]) * np.array(fit.ends)


def _keep(found: _Found, at: int, theta: Values, covariance: Values, own_covariance: Values, scale: Values) -> None:
    """Keep interactions as a weight.

    That of several is the root of Theta' M Theta less what sampling adds to it in the mean, tr(M V).
    """
    r = len(theta)
    spread = scale @ covariance
    found.scale[at] = np.sqrt(float(np.trace(spread)) / r)
    found.own_scale[at] = np.sqrt(float(np.trace(scale @ own_covariance)) / r)
    if r == 1:
        found.estimate[at], found.error[at] = theta[0] * np.sqrt(scale[0, 0]), np.sqrt(spread[0, 0])
        return
    square = float(theta @ scale @ theta)
    found.estimate[at] = np.sqrt(max(0.0, square - np.trace(spread)))
    found.curvature[at] = float(theta @ spread @ scale @ theta) / max(square, 1e-300)
    found.noise[at] = float(np.trace(spread @ spread))
    found.error[at] = np.sqrt(found.curvature[at])
    found.blocks[at] = theta, covariance, scale


def _compare_residuals(found: _Found, rows: PairRows, left: Residuals, sample: Sample, pairs: Index) -> None:
    """Find by how much products of residuals vary more than by the model."""
    for i in range(rows.n_variables):
        check_time()
        mine = np.flatnonzero(pairs[:, 0] == i)
        if len(mine) and rows.design.sizes[i]:
            ratios, numbers = compare_products(rows, left, sample, i)
            found.ratio[mine] = found.own_ratio[mine] = ratios[pairs[mine, 1]]
            found.number[mine] = found.own_number[mine] = numbers[pairs[mine, 1]]


def _compare_moves(found: _Found, at: int, fit: PairFit, sample: Sample) -> None:
    """Find by how much a fit varies more than by the model."""
    for told, ratio, number in (
        (fit.both, found.ratio, found.number),
        (fit.own, found.own_ratio, found.own_number),
    ):
        assert told.moves is not None
        assert told.parts is not None
        whole = np.maximum(told.parts.sum(axis=1, keepdims=True), 1e-300)
        ratios, numbers = sample.compare((told.moves / np.sqrt(whole)).T, (told.parts / whole).T)
        ratio[at], number[at] = ratios.mean(), numbers.sum()


def _judge(
    found: _Found, rows: PairRows, left: Residuals, sample: Sample | None, pairs: Index, degrees: Values, level: float
) -> tuple[Values, Values]:
    """Return p-values, and how many standard errors intervals reach; put design effects where they belong."""
    tail, r = (1 - level) / 2, np.maximum(degrees, 1.0)
    if sample is None:
        return chi_square_tail(_join(found), r), np.full(len(pairs), norm.isf(tail))
    structured = find_structured(rows, left, sample)[pairs[:, 0], pairs[:, 1]]
    known = (degrees > 0) & (structured > 0)  # some row shows both
    effects, freedoms = [], []
    for ratio, number in ((found.ratio, found.number), (found.own_ratio, found.own_number)):
        effect, freedom = np.ones(len(pairs)), np.full(len(pairs), np.inf)
        more, freedom[known] = moderate(ratio[known] / structured[known], number[known])
        effect[known] = structured[known] * np.maximum(1.0, more)
        effects.append(effect)
        freedoms.append(freedom)
    found.effect[:] *= effects[0]
    found.own_effect[:] *= effects[1]
    p_values = f.sf(_join(found) / r, r, np.minimum(np.minimum(*freedoms), 1e6))
    return p_values, t.isf(tail, np.minimum(freedoms[0], 1e6))


def _join(found: _Found) -> Values:
    """Return the statistics by which pairs are tested: the squared mean of the roots of both tests, standardised.

    Own neighbours have more power; one of theirs that was missed moves that root at first order, and the other root by
    the product of two misses alone. The estimate of the former is efficient, so that the correlation of both roots is
    the ratio of their standard errors (Hausman 1978).
    """
    error, own_error = found.scale * np.sqrt(found.effect), found.own_scale * np.sqrt(found.own_effect)
    mean = found.root / np.sqrt(found.effect) + found.own_root / np.sqrt(found.own_effect)
    joined = mean**2 / (2 + 2 * np.minimum(own_error / error, 1.0))
    return np.asarray(np.minimum(joined, found.square / found.own_effect))


def _bound(found: _Found, degrees: Values, wide: Values, level: float) -> None:
    """Set the ends of the intervals that are not there yet.

    The squared weight of several interactions has the standard error (2 tr(MVMV) + 4 w^2 c)^(1/2), c being
    Theta' MVM Theta / Theta' M Theta: weights w are in the interval whose own standard error leads to the estimate. No
    weight is in it that is less than that of all interactions in their common confidence region: where M weighs levels
    that are rare, the first interval alone would reach to zero where it is clear that there is an edge.
    """
    error = found.error * np.sqrt(found.effect)
    left = np.isnan(found.low)
    one = left & (degrees == 1)
    found.low[one] = found.estimate[one] - wide[one] * error[one]
    found.high[one] = found.estimate[one] + wide[one] * error[one]
    more = left & (degrees > 1)
    square = found.estimate[more] ** 2
    c, noise = found.curvature[more] * found.effect[more], found.noise[more] * found.effect[more] ** 2
    z2 = wide[more] ** 2
    middle, half = square + 2 * z2 * c, np.sqrt(np.maximum(4 * z2 * c * (square + z2 * c) + 2 * z2 * noise, 0.0))
    found.low[more], found.high[more] = np.sqrt(np.maximum(middle - half, 0.0)), np.sqrt(middle + half)
    for at, (theta, covariance, scale) in found.blocks.items():
        radius = chi2.isf((1 - level) / 2, len(theta)) * found.effect[at]
        found.low[at] = min(found.high[at], max(found.low[at], _least_weight(theta, covariance, scale, radius)))


def _hold_zero(found: _Found, is_possible: Mask) -> None:
    """Let intervals of rare cells hold zero where tests do not exclude it: these are nearer to the truth there.

    Elsewhere both are right, each by itself: intervals that hold zero in both cases do so 96.1 times out of 100.
    """
    found.low[is_possible] = np.minimum(found.low[is_possible], 0.0)
    found.high[is_possible] = np.maximum(found.high[is_possible], 0.0)


def _least_weight(theta: Values, covariance: Values, scale: Values, radius: float) -> float:
    """Return the least root of x' M x among all x with (x - Theta)' V^-1 (x - Theta) <= radius."""
    root = np.linalg.cholesky(covariance + 1e-12 * np.trace(covariance) / len(theta) * np.eye(len(theta)))
    sizes, axes = np.linalg.eigh(root.T @ scale @ root)
    own = axes.T @ np.linalg.solve(root, theta)
    sizes = np.maximum(sizes, 0.0)
    if own @ own <= radius:
        return 0.0

    def excess(log_multiplier: float) -> float:
        """Return by how much the point with this multiplier is outside the region."""
        pull = np.exp(log_multiplier) * sizes
        return float(((own * pull / (1 + pull)) ** 2).sum() - radius)

    low, high = -50.0, 50.0
    if excess(high) <= 0:
        return 0.0
    multiplier = np.exp(brentq(excess, low, high))
    return float(np.sqrt((sizes * (own / (1 + multiplier * sizes)) ** 2).sum()))


def _find_detectable(found: _Found, degrees: Values, cut: float) -> Values:
    """Return the weight that would be found four times out of five, were the p-value that decides what it is here."""
    asked = np.zeros(len(degrees))
    for r in np.unique(degrees[degrees > 0]):
        asked[degrees == r] = _noncentrality(float(r), cut)
    error, own_error = found.scale * np.sqrt(found.effect), found.own_scale * np.sqrt(found.own_effect)
    standard = np.sqrt(2 + 2 * np.minimum(own_error / error, 1.0))
    return np.asarray(np.sqrt(asked) * standard / (1 / error + 1 / own_error))


def _noncentrality(degrees: float, cut: float) -> float:
    """Return the noncentrality with which a chi-square is above its quantile four times out of five."""
    if cut >= _POWER:  # it is, without any
        return 0.0
    quantile = float(chi2.isf(cut, degrees))
    return float(brentq(lambda x: ncx2.sf(quantile, degrees, x) - _POWER, 1e-9, 4 * quantile + 100))
