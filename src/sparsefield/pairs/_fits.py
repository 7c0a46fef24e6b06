"""Fits of pairs, shared among threads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sparsefield._deadline import check_time
from sparsefield._kernels._pair_likelihood import list_states, maximise
from sparsefield._kernels._pair_rows import find_influence, gather, observe, take_hidden
from sparsefield._threads import available, one_for_products, run
from sparsefield._typing import Index, Mask, Values
from sparsefield.pairs._pair_rows import PairRows
from sparsefield.pairs._saddlepoint import find_square

Watch = Callable[[int, int], object]

_AT_A_TIME = 8  # pairs for each thread, between two looks at the clock and at whoever wants to know how far it is

_MOST_FUNCTIONS = 5  # of the base that are not zero in a state

# Ends of intervals are found to a hundredth of their distance in standard errors, and not beyond 40 of either unit.
_NEAR, _FAR, _MOST_TRIALS = 0.01, 40.0, 12

# What missing neighbours leave of the information: by its expectation it is above zero in every direction, and where
# few rows say so by chance, it is taken for a twentieth.
_LEAST_LEFT = 0.05


@dataclass(frozen=True, eq=False)
class Told:
    """What the likelihood of a pair says with one choice of neighbours.

    Parameters
    ----------
    theta : ndarray of shape (r,)
        The interactions.
    covariance : ndarray of shape (r, r)
        Their covariance.
    root : float
        The root of the penalised likelihood ratio statistic of Theta = 0, with the sign of Theta where that is a single
        number.
    square : float
        What the squared root is at most where cells are rare: by the law of the score (`find_square`).
    effect : float
        How much larger variances are because neighbours are missing; 1 where none is.
    moves, parts : ndarray of shape (r, n), or None
        By how much each row moves the interactions, and the variance by the model that it has a part in.
    is_whole : bool
        Whether steps came to their end.
    """

    theta: Values
    covariance: Values
    root: float
    square: float
    effect: float
    moves: Values | None
    parts: Values | None
    is_whole: bool


@dataclass(frozen=True, eq=False)
class PairFit:
    """What the likelihood of a pair says, given all other variables.

    Parameters
    ----------
    own : Told
        Where each variable has its own neighbours.
    both : Told
        Where each has the neighbours of both.
    ends : tuple of float, or None
        Where the penalised likelihood of the latter falls by as much as the level of an interval asks for.
    """

    own: Told
    both: Told
    ends: tuple[float, float] | None


def fit_pairs(
    rows: PairRows,
    pairs: Index,
    use: Callable[[int, PairFit], None],
    *,
    z_ends: Values,
    is_rare: Mask | None = None,
    with_moves: bool = False,
    n_threads: int | None = None,
    watch: Watch | None = None,
) -> None:
    """Fit pairs, and hand over what each says, in their order.

    Parameters
    ----------
    rows : PairRows
        The rows and the neighbours.
    pairs : ndarray of shape (n_pairs, 2)
        The variables.
    use : callable
        Called with the place of each pair and its fit, which is not kept here.
    z_ends : ndarray of shape (n_pairs,)
        How many standard errors the ends of its interval are away, to be found on the profile; 0 for none.
    is_rare : ndarray of shape (n_pairs,), bool, optional
        Whether cells are rare, so that the law of the score is to be known.
    with_moves : bool
        Whether to say by how much each row moves the interactions.
    n_threads : int, optional
        Threads to use; the result does not depend on it.
    watch : callable, optional
        Called with the number of pairs that are done, and that of all.
    """
    rows.prepare()  # once, and not in several threads
    rare = np.zeros(len(pairs), dtype=bool) if is_rare is None else is_rare

    def fit_part(part: range) -> list[PairFit]:
        return [
            _fit(rows, int(pairs[k, 0]), int(pairs[k, 1]), float(z_ends[k]), bool(rare[k]), with_moves) for k in part
        ]

    threads = n_threads or available()
    at_a_time = _AT_A_TIME * threads
    for first in range(0, len(pairs), at_a_time):
        check_time()
        here = range(first, min(len(pairs), first + at_a_time))
        # One after the other: neighbouring pairs take about as long.
        calls = [(here[t::threads],) for t in range(threads) if here[t::threads]]
        with one_for_products():
            done = run(fit_part, calls)
        for (part,), found in zip(calls, done, strict=True):
            for k, one in zip(part, found, strict=True):
                use(k, one)
        if watch is not None:
            watch(here.stop, len(pairs))


def _fit(rows: PairRows, i: int, j: int, z_ends: float, is_rare: bool, with_moves: bool) -> PairFit:
    """Fit a pair."""
    near, twins, starts = rows.near, rows.twins, rows.design.starts
    joint = near[i] | near[j]
    joint[[i, j]] = False
    around = np.flatnonzero(joint)
    pair = _Pair.of(rows, i, j, around)
    # The columns of neighbours, and in whose equation each is.
    whose = np.repeat(around, np.diff(starts)[around])
    columns = np.concatenate([np.zeros(0, dtype=np.int64), *(np.arange(starts[s], starts[s + 1]) for s in around)])
    keep, keep_other = near[i, whose] | twins[j, whose], near[j, whose] | twins[i, whose]
    intercepts, slopes = rows.regressions
    d, e = pair.features.shape[1], pair.others.shape[1]
    start = _Start(
        np.concatenate([intercepts[i, 1 : len(pair.features)], intercepts[j, 1 : len(pair.others)]]),
        slopes[i, :d, columns].T,
        slopes[j, :e, columns].T,
        slopes[i, :d, starts[j] : starts[j + 1]] @ rows.kinds.turns[j].T,
    )
    equations = _Equations(pair, keep, keep_other, start)
    own = equations.tell(is_rare, with_moves)
    if keep.all() and keep_other.all():
        both = own
    else:
        everything = np.ones(len(whose), dtype=bool)
        equations = _Equations(pair, everything, everything, equations.as_start())
        both = equations.tell(False, with_moves)
    z_ends *= np.sqrt(both.effect)
    ends = (equations.find_end(-1, z_ends), equations.find_end(1, z_ends)) if z_ends > 0 and d * e == 1 else None
    return PairFit(own, both, ends)


def _invert_left(left: Values, whole: Values) -> Values:
    """Invert what is left of an information; at least a share of the whole is, in every direction."""
    root = np.linalg.cholesky(whole)
    shares, axes = np.linalg.eigh(np.linalg.solve(root, np.linalg.solve(root, left).T))
    back = np.linalg.solve(root.T, axes)
    return np.asarray(back / np.maximum(shares, _LEAST_LEFT) @ back.T)


def _expect(intercepts: Values, slopes: Values, z: Values, features: Values) -> tuple[Values, Values]:
    """Return the probabilities of levels given neighbours, (n, n_levels), and features less their means."""
    exponents = np.concatenate([[0.0], intercepts]) + z @ slopes.T @ features.T
    shares = np.exp(exponents - exponents.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    return shares, features[None] - (shares @ features)[:, None]


@dataclass(frozen=True, eq=False)
class _Pair:
    """The rows of a pair: entries, which are rows or states of their missing neighbours; and patterns of neighbours."""

    features: Values
    others: Values
    is_plain: bool
    is_other_plain: bool
    index: Index
    value: Values
    z: Values
    row: Index
    pattern: Index
    count: Values
    states: Index
    n_rows: int

    @classmethod
    def of(cls, rows: PairRows, i: int, j: int, around: Index) -> _Pair:
        """Lay out the rows of a pair with these neighbours."""
        kinds, design = rows.kinds, rows.design
        features = kinds.features[i, : kinds.n_levels[i], : kinds.sizes[i]].copy()
        others = kinds.features[j, : kinds.n_levels[j], : kinds.sizes[j]].copy()
        n_states = len(features) * len(others)
        index = np.empty((n_states, _MOST_FUNCTIONS), dtype=np.int64)
        value = np.empty((n_states, _MOST_FUNCTIONS))
        plain = bool(kinds.is_plain[i]), bool(kinds.is_plain[j])
        list_states(features, others, *plain, index, value)
        z, row, pattern, count = gather(
            rows.codes, design.counts, i, j, around, kinds.n_levels, rows.filled, rows.features, rows.columns,
            design.starts, rows.links
        )  # fmt: skip
        states = rows.codes[i, row].astype(np.int64) * len(others) + rows.codes[j, row]
        return cls(features, others, *plain, index, value, z, row, pattern, count, states, len(design.counts))


@dataclass(frozen=True, eq=False)
class _Start:
    """Where a fit begins: intercepts, the slopes of all columns in both equations, and Theta, (d, e)."""

    intercepts: Values
    slopes: Values
    other_slopes: Values
    link: Values


class _Equations:
    """A pair with one choice of neighbours: `keep` says which columns are in the equation of each variable."""

    def __init__(self, pair: _Pair, keep: Mask, keep_other: Mask, start: _Start) -> None:
        self._pair, self._keep, self._keep_other = pair, keep, keep_other
        self._z = np.ascontiguousarray(pair.z[:, keep]), np.ascontiguousarray(pair.z[:, keep_other])
        d, e = pair.features.shape[1], pair.others.shape[1]
        self._own = len(pair.features), d, int(keep.sum()), pair.is_plain
        self._other = len(pair.others), e, int(keep_other.sum()), pair.is_other_plain
        self._r = d * e
        self._parameters = np.concatenate(
            [
                start.intercepts,
                start.slopes[:, keep].ravel(),
                start.other_slopes[:, keep_other].ravel(),
                start.link.ravel(),
            ]
        )
        size = len(self._parameters)
        self._observed, self._weights = np.empty(size), np.empty(len(pair.z))
        base = pair.index, pair.value
        observe(pair.states, pair.pattern, pair.count, *self._z, self._own, self._other, *base, self._observed,
                self._weights)  # fmt: skip
        self._curvature, self._inverse = np.empty((size, size)), np.empty((size, size))
        self._best, self._is_whole = self._climb(self._parameters, size, self._curvature, self._inverse)

    def _climb(self, parameters: Values, n_free: int, curvature: Values, inverse: Values) -> tuple[float, bool]:
        """Maximise the penalised likelihood over the first parameters."""
        pair = self._pair
        value, is_whole = maximise(
            self._weights, *self._z, self._own, self._other, pair.features, pair.others, pair.index, pair.value,
            self._observed, parameters, n_free, curvature, inverse
        )  # fmt: skip
        return float(value), bool(is_whole)

    def tell(self, is_rare: bool, with_moves: bool) -> Told:
        """Return what this choice of neighbours says."""
        r, size = self._r, len(self._parameters)
        theta, covariance = self._parameters[size - r :], self._inverse[size - r :, size - r :]
        value, is_whole, without = self._climb_at(-theta)
        root = np.sqrt(max(0.0, 2 * (self._best - value)))
        square = self._find_square(without) if is_rare else np.inf
        moves = parts = None
        pair = self._pair
        entries = pair.states, pair.row, pair.pattern, pair.count
        base = self._own, self._other, pair.index, pair.value, self._parameters
        effect = 1.0
        if (np.diff(pair.row) == 0).any():  # rows that lack neighbours have several entries, one after the other
            left = self._curvature.copy()
            take_hidden(*entries, *self._z, *base, left)
            hidden = _invert_left(np.tril(left) + np.tril(left, -1).T, self._curvature)[size - r :, size - r :]
            effect = max(1.0, float(np.trace(np.linalg.solve(covariance, hidden)) / r))
        if with_moves:
            moves, parts = np.zeros((r, pair.n_rows)), np.zeros((r, pair.n_rows))
            find_influence(*entries, *self._z, *base, self._inverse, moves, parts)
        signed = -root if r == 1 and theta[0] < 0 else root
        is_whole = self._is_whole and is_whole
        return Told(theta.copy(), covariance.copy(), float(signed), square, effect, moves, parts, is_whole)

    def _find_square(self, without: Values) -> float:
        """Return the square of the deviate that is as improbable as the score, by the fit without Theta.

        Scores of several interactions are taken along the step from zero that they ask for.
        """
        pair = self._pair
        n_u, d, k, _ = self._own
        n_v, e, m, _ = self._other
        first, second, slopes, other_slopes, _ = np.split(without, np.cumsum([n_u - 1, n_v - 1, d * k, e * m]))
        shares, residuals = _expect(first, slopes.reshape(d, k), self._z[0], pair.features)
        other_shares, other_residuals = _expect(second, other_slopes.reshape(e, m), self._z[1], pair.others)
        u, v = np.divmod(pair.states, n_v)
        seen, other_seen = residuals[pair.pattern, u], other_residuals[pair.pattern, v]
        score = ((seen * pair.count[:, None]).T @ other_seen).ravel()
        spread = np.einsum("n,na,nad,nac->ndc", self._weights, shares, residuals, residuals).reshape(-1, d * d)
        other_spread = np.einsum("nb,nbe,nbf->nef", other_shares, other_residuals, other_residuals).reshape(-1, e * e)
        covariance = (spread.T @ other_spread).reshape(d, d, e, e).transpose(0, 2, 1, 3).reshape(d * e, d * e)
        along = np.linalg.pinv(covariance) @ score
        products = np.einsum("nad,de,nbe->nab", residuals, along.reshape(d, e), other_residuals)
        return find_square(shares, other_shares, products, self._weights, float(score @ along))

    def as_start(self) -> _Start:
        """Return where this is, for a fit with more neighbours: their slopes begin at zero."""
        n_u, d, k, _ = self._own
        n_v, e, m, _ = self._other
        cuts = np.cumsum([n_u + n_v - 2, d * k, e * m])
        intercepts, slopes, other_slopes, link = np.split(self._parameters, cuts)
        more, other_more = np.zeros((d, len(self._keep))), np.zeros((e, len(self._keep)))
        more[:, self._keep], other_more[:, self._keep_other] = slopes.reshape(d, k), other_slopes.reshape(e, m)
        return _Start(intercepts, more, other_more, link.reshape(d, e))

    def _climb_at(self, shift: Values) -> tuple[float, bool, Values]:
        """Maximise over all but Theta, which moves from its estimate; others begin where they follow it.

        Returns the maximum, whether it was reached, and the parameters there.
        """
        r, size = self._r, len(self._parameters)
        columns = self._inverse[:, size - r :]
        trial = self._parameters + columns @ np.linalg.solve(columns[size - r :], shift)
        trial[size - r :] = self._parameters[size - r :] + shift
        return *self._climb(trial, size - r, np.empty((size, size)), np.empty((size, size))), trial

    def find_end(self, side: int, z_ends: float) -> float:
        """Return where the profile ends an interval: the root of its fall is nearly linear in Theta."""
        theta, error = float(self._parameters[-1]), float(np.sqrt(self._inverse[-1, -1]))
        low, low_root, high, high_root = 0.0, 0.0, np.inf, np.inf
        t = z_ends * error
        for _ in range(_MOST_TRIALS):
            value, _, _ = self._climb_at(np.array([side * t]))
            root = float(np.sqrt(max(2 * (self._best - value), 0.0)))
            if abs(root - z_ends) < _NEAR * z_ends or t >= _FAR * max(error, 1.0):
                break
            if root < z_ends:
                low, low_root = t, root
            else:
                high, high_root = t, root
            if np.isfinite(high):
                t = low + (high - low) * (z_ends - low_root) / (high_root - low_root)
            else:
                t *= min(max(z_ends / max(root, 0.1), 1.2), 2.5)
        return theta + side * t
