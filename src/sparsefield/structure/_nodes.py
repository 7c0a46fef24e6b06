"""Regressions of all variables on their neighbours, and what they tell of every pair."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from sparsefield._deadline import check_time
from sparsefield._kernels._cholesky import invert
from sparsefield._kernels._node_regressions import regress, weigh_rows
from sparsefield._threads import one_for_products, run, share
from sparsefield._typing import Index, Values
from sparsefield.structure._bridges import find_links
from sparsefield.structure._design import Design, Variable

Pair = tuple[int, int]

# A normal prior keeps slopes finite where neighbours tell a variable without error: until a table tells more, it has a
# standard deviation of 4.5 in the parameters of contrasts, which are log-odds of two levels, and costs 2.5 nats at 10.
PRECISION = 0.05

# A regression ends when a step promises no more nats than this, over all rows, which it then gains but for a part of
# its square; with a pair more or less, a trial, when it promises a hundredth: prices of edges are some nats.
_TOLERANCE, _TRIAL, _MOST_STEPS = 1e-6, 1e-2, 60

_SECONDS = 2e-10  # that a row takes for a product of two columns, in one pass

_LEAST_LEFT = 1e-9  # of what a row tells of a pair: where neighbours tell all of it, score tests say nothing

_LEAST_TOLD = 1e-6  # of what rows and a prior tell of a slope: where rows tell nothing, nothing is divided by zero

# So many numbers are held at one time of what score tests are made of: 128 MiB.
_MOST_HELD = 2**24


@dataclass(frozen=True, eq=False)
class Regression:
    """One variable given its neighbours: a logistic regression on their features.

    Parameters
    ----------
    neighbours : ndarray of integers
        They, in ascending order.
    columns : ndarray of integers
        Where their columns are in the design.
    starts : ndarray of integers
        Where those of each begin among them, and where the last end.
    intercepts, slopes : ndarray of shape (n_levels,) and (d, k)
        The parameters: what columns make of the features of the variable.
    value : float
        The log-likelihood of all rows and the logarithm of the prior of the slopes, up to a constant.
    factor : ndarray of shape (m, m)
        The Cholesky factor of the curvature: of intercepts but the first, then of slopes.
    """

    neighbours: Index
    columns: Index
    starts: Index
    intercepts: Values
    slopes: Values
    value: float
    factor: Values

    @classmethod
    def alone(cls, variable: Variable) -> Regression:
        """Return the regression of a variable that has no neighbours, up to its likelihood."""
        none, d = np.zeros(0, dtype=np.int64), variable.features.shape[1]
        size = max(0, len(variable.log_odds) - 1)
        return cls(none, none, np.zeros(1, dtype=np.int64), variable.log_odds, np.zeros((d, 0)), 0.0, np.eye(size))

    def slopes_of(self, neighbour: int) -> Values:
        """Return the slopes of a neighbour, (d, its number of features); none where it is not one."""
        at = int(np.searchsorted(self.neighbours, neighbour))
        if at == len(self.neighbours) or self.neighbours[at] != neighbour:
            return self.slopes[:, :0]
        return self.slopes[:, self.starts[at] : self.starts[at + 1]]

    @cached_property
    def wald(self) -> Values:
        """Wald's statistic of each neighbour: the squared length of its slopes in their standard errors."""
        if not len(self.neighbours):
            return np.zeros(0)
        d, k = self.slopes.shape
        first = len(self.intercepts) - 1
        if d == 1 and k == len(self.neighbours):
            return np.asarray(self.slopes[0] ** 2 / np.diagonal(self._covariance)[first:])
        found = []
        for a, b in zip(self.starts[:-1], self.starts[1:], strict=True):
            own = (first + np.arange(d)[:, None] * k + np.arange(a, b)).ravel()
            slopes = self.slopes[:, a:b].ravel()
            found.append(slopes @ np.linalg.solve(self._covariance[np.ix_(own, own)], slopes))
        return np.array(found)

    def variances_of(self, neighbour: int) -> Values:
        """Return the variances of the slopes of a neighbour, with the prior, (d, its number of features)."""
        at = int(np.searchsorted(self.neighbours, neighbour))
        variances = np.diagonal(self._covariance)[len(self.intercepts) - 1 :].reshape(self.slopes.shape)
        return variances[:, self.starts[at] : self.starts[at + 1]]

    @cached_property
    def _covariance(self) -> Values:
        """The covariance of all parameters, with the prior."""
        covariance = np.empty_like(self.factor)
        invert(self.factor, covariance, len(self.factor))
        return covariance


@dataclass(frozen=True, eq=False)
class Evidence:
    """What rows tell of a pair, the mean of both of its ends: without a prior, were log-likelihoods quadratic.

    Parameters
    ----------
    ratio : float
        The likelihood ratio statistic: twice what an edge adds to the log-likelihood of either variable.
    square : float
        Its squared weight, in the parameters of contrasts.
    variance : float
        The sampling variance of a parameter of it, the mean of all.
    """

    ratio: float
    square: float
    variance: float


@dataclass(frozen=True, eq=False)
class _Filling:
    """What the neighbours of a variable say of it in the rows that lack it.

    Parameters
    ----------
    features : ndarray of shape (n_levels, d)
        Its features.
    intercepts : ndarray of shape (n_levels,)
        The exponents of its levels, without neighbours.
    parts : dict of ndarray of shape (n_missing, d)
        What each neighbour adds along the features.
    whole : ndarray of shape (n_missing, d)
        What all of them add.
    """

    features: Values
    intercepts: Values
    parts: dict[int, Values]
    whole: Values

    @classmethod
    def of(cls, design: Design, j: int, fit: Regression) -> _Filling:
        """Find what the regression of a variable says of the rows that lack it."""
        rows, starts = design.missing[j], design.starts
        parts = {
            int(m): design.columns[rows, starts[m] : starts[m + 1]] @ fit.slopes_of(int(m)).T for m in fit.neighbours
        }
        whole = sum(parts.values(), np.zeros((len(rows), len(fit.slopes))))
        return cls(design.variables[j].features, fit.intercepts, parts, whole)

    def expect(self, but: int) -> Values:
        """Return the means of the features given all neighbours but one, (n_missing, d).

        A regression of that one on what is expected without it is right to first order (regression calibration).
        """
        along = self.whole - self.parts.get(but, 0.0)
        exponents = self.intercepts + along @ self.features.T
        exponents = np.exp(exponents - exponents.max(axis=1, keepdims=True))
        return np.asarray(exponents @ self.features / exponents.sum(axis=1, keepdims=True))


class Nodes:
    """The regressions of all variables on their neighbours.

    Attributes
    ----------
    support : ndarray of shape (p, p), bool
        The edges.
    links : ndarray of shape (p, p), bool
        The pairs that alone join two parts of the graph, or would: bridges, and pairs of different components.
    components : ndarray of shape (p,), integers
        The component of the graph that each variable is in.
    scores : ndarray of shape (p, p)
        Rao's score statistic of each pair that is no edge, the mean of both ends: how much of a likelihood ratio an
        edge would have, to second order.
    """

    def __init__(self, design: Design, n_threads: int | None = None) -> None:
        self.design, self._n_threads, self._precision = design, n_threads, PRECISION
        p = design.n_variables
        self.fits: list[Regression] = []
        self.support = np.zeros((p, p), dtype=bool)
        self._sizes = design.sizes
        self._filled: list[_Filling | None] = []  # what missing neighbours are expected to be
        self._squares = design.columns**2 if design.is_plain else None
        none = np.zeros(0, dtype=np.int64)
        self.fits = [self._fit(i, none, None) for i in range(p)]
        # What is known of pairs: of each variable given its neighbours, and of links by themselves.
        self._trials: list[dict[int, Evidence]] = []
        self._link_trials: list[dict[int, Evidence]] = []
        self._forget()
        self._one_sided, self._given = np.zeros((p, p)), np.zeros((p, p))
        self.links, self.components = find_links(self.support)
        self._alone = np.zeros((p, p))
        self._score(range(p))
        self._alone = self._given.copy()
        self.scores = self._compose_scores()

    def fill(self) -> None:
        """Put what the regressions as they are now say of missing neighbours in their place, and fit all again."""
        self._filled = [
            _Filling.of(self.design, j, fit) if len(self.design.missing[j]) else None for j, fit in enumerate(self.fits)
        ]
        self._fit_again()

    def expect(self, variance: float) -> None:
        """Give slopes a normal prior of this variance, in the parameters of contrasts, and fit all again."""
        self._precision = 1 / variance
        self._fit_again()

    def _fit_again(self) -> None:
        """Fit all variables from where they are, and forget what was known of pairs."""
        self._forget()
        self.fits = self._share(self._fit, [(i, fit.neighbours, fit) for i, fit in enumerate(self.fits)])
        self._score(range(len(self.fits)))
        self.scores = self._compose_scores()

    def _forget(self) -> None:
        """Forget what was known of pairs."""
        self._trials = [{} for _ in self.fits]
        self._link_trials = [{} for _ in self.fits]

    def set_edges(self, pairs: Iterable[Pair], *, are_there: bool) -> None:
        """Make edges of pairs, or none, and fit their variables again."""
        support, changed = self.support.copy(), set()
        for i, j in pairs:
            support[i, j] = support[j, i] = are_there
            changed |= {i, j}
        variables = sorted(changed)
        fits = self._share(self._fit, [(i, np.flatnonzero(support[i]), self.fits[i]) for i in variables])
        for i, fit in zip(variables, fits, strict=True):
            self.fits[i], self._trials[i] = fit, {}
        self.support = support
        self.links, self.components = find_links(support)
        self._score(variables)
        self.scores = self._compose_scores()

    def walds(self) -> Values:
        """Return Wald's statistics of the edges, means of both ends; zero elsewhere.

        Of a link it is no more than the score statistic of its two variables by themselves.
        """
        found = np.zeros(self.support.shape)
        for i, fit in enumerate(self.fits):
            found[i, fit.neighbours] = fit.wald
        found = (found + found.T) / 2
        return np.where(self.links, np.minimum(found, self._alone), found)

    def look(self, pairs: Sequence[Pair]) -> list[Evidence]:
        """Return what the rows tell of pairs, each given all edges but its own.

        Without its edge, the two variables of a link are independent, and the likelihood ratio of the whole field is
        that of these two variables by themselves.
        """
        ends = [end for i, j in pairs for end in ((i, j), (j, i))]
        new = [(i, j) for i, j in dict.fromkeys(ends) if j not in self._known(i, j)]
        for (i, j), found in zip(new, self._share(self._try, new), strict=True):
            self._known(i, j)[j] = found
        both = [self._known(i, j)[j] for i, j in ends]
        return [
            Evidence(
                (first.ratio + second.ratio) / 2,
                (first.square + second.square) / 2,
                (first.variance + second.variance) / 2,
            )
            for first, second in zip(both[::2], both[1::2], strict=True)
        ]

    def is_known(self, i: int, j: int) -> bool:
        """Say whether a pair has been looked at since an edge of its variables came or went."""
        return j in self._known(i, j) and i in self._known(j, i)

    def _known(self, i: int, j: int) -> dict[int, Evidence]:
        """Return what is known of variable i, of the kind that counts for a pair."""
        return (self._link_trials if self.links[i, j] else self._trials)[i]

    def _try(self, i: int, j: int) -> Evidence:
        """Return what neighbour j tells of variable i.

        Let a weight be w where rows alone have their maximum, v their sampling variance and s that of the prior. With
        both the maximum is at r w, r = s / (s + v), the variance there is r v, and an edge adds r w^2 / 2v: what rows
        tell by themselves, divided by r once more.
        """
        here = self.fits[i]
        others = here.neighbours[here.neighbours != j]
        if self.links[i, j]:
            without, whole = self._fit(i, others[:0], None), self._fit(i, np.array([j]), None, _TRIAL)
        elif self.support[i, j]:
            without, whole = self._fit(i, others, here, _TRIAL), here
        else:
            without, whole = here, self._fit(i, np.sort(np.append(others, j)), here, _TRIAL)
        sizes = self._sizes_of_slopes(i, np.arange(*self.design.starts[j : j + 2]))
        variance = float((whole.variances_of(j) * sizes).mean())
        r = max(1 - self._precision * variance, _LEAST_TOLD)
        square = float((whole.slopes_of(j) ** 2 * sizes).sum())
        return Evidence(2 * (whole.value - without.value) / r, square / r**2, variance / r)

    def _share(self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Call a function for each of some variables, in threads where there is enough to do."""
        if not calls:
            return []
        width = max(len(self.fits[i].factor) if self.fits else 1 for i, *_ in calls) + 1
        parts = share(len(calls), self._n_threads, _SECONDS * len(calls) * len(self.design.columns) * width**2)
        found = run(lambda part: [function(*call) for call in calls[part]], [(part,) for part in parts])
        return [one for part in found for one in part]

    def _fit(self, i: int, neighbours: Index, start: Regression | None, tolerance: float = _TOLERANCE) -> Regression:
        """Regress a variable on neighbours, from where those that it had leave it."""
        check_time()
        own, columns = self.design.variables[i], self.design.columns_of(neighbours)
        starts = np.concatenate([[0], np.cumsum(self._sizes[neighbours])])
        d, k = own.features.shape[1], len(columns)
        slopes, intercepts = np.zeros((d, k)), own.log_odds.copy()
        if d == 0:
            return Regression(neighbours, columns, starts, intercepts, slopes, 0.0, np.zeros((0, 0)))
        if start is not None:
            intercepts, before = start.intercepts.copy(), np.zeros((d, self.design.columns.shape[1]))
            before[:, start.columns] = start.slopes
            slopes = np.ascontiguousarray(before[:, columns])
        size = len(intercepts) - 1 + d * k
        factor = np.zeros((size, size))
        precision = self._precision * self._sizes_of_slopes(i, columns)
        value, _ = regress(
            own.codes,
            own.counts,
            own.features,
            self._take(i, neighbours, columns),
            precision,
            intercepts,
            slopes,
            tolerance,
            _MOST_STEPS,
            factor,
        )
        return Regression(neighbours, columns, starts, intercepts, slopes, value, factor)

    def _sizes_of_slopes(self, i: int, columns: Index) -> Values:
        """Return the squared weights, in the parameters of contrasts, of slopes that are one, (d, k)."""
        precisions, starts = self.design.precisions, self.design.starts
        return precisions[starts[i] : starts[i + 1], None] * precisions[columns]

    def _take(self, i: int, neighbours: Index, at: Index) -> Values:
        """Return the columns of the neighbours of a variable, with what is expected of missing ones."""
        columns = np.take(self.design.columns, at, axis=1)
        if not self._filled:
            return columns
        ends = np.cumsum(self._sizes[neighbours])
        for j, end in zip(neighbours.tolist(), ends.tolist(), strict=True):
            filling = self._filled[j]
            if filling is not None:
                columns[self.design.missing[j], end - self._sizes[j] : end] = filling.expect(i)
        return columns

    def _score(self, changed: Sequence[int]) -> None:
        """Find the score statistics of pairs one of whose variables has other neighbours now."""
        part: list[int] = []
        n, held = len(self.design.columns), 0
        for i in changed:
            if not self._sizes[i]:
                continue
            own = n * (len(self.fits[i].factor) + 1) * int(self._sizes[i])
            if part and held + own > _MOST_HELD:
                self._score_part(part)
                part, held = [], 0
            part.append(i)
            held += own
        if part:
            self._score_part(part)
        rows = np.asarray(changed, dtype=np.int64)
        self._given[rows] = (self._one_sided[rows] + self._one_sided[:, rows].T) / 2
        self._given[:, rows] = self._given[rows].T

    def _compose_scores(self) -> Values:
        """Return the score statistics of pairs given all edges, and of links by themselves; zero for edges."""
        return np.where(self.support, 0.0, np.where(self.links, self._alone, self._given))

    def _score_part(self, part: Sequence[int]) -> None:
        """Find what all variables tell of some variables, given their neighbours."""
        weighed = self._share(self.weigh, [(i,) for i in part])
        z = self.design.columns
        with one_for_products():
            residuals = np.hstack([own for own, _, _ in weighed]).T @ z
            mixed = np.hstack([own.reshape(len(own), -1) for _, _, own in weighed]).T @ z
            plain = self._squares is not None
            spreads = np.hstack([own[:, :, 0] for _, own, _ in weighed]).T @ self._squares if plain else None
            at_residual, at_mixed = 0, 0
            for place, i in enumerate(part):
                fit, d = self.fits[i], int(self._sizes[i])
                m = len(fit.factor)
                own = mixed[at_mixed : at_mixed + m * d].reshape(m, -1)
                scores = residuals[at_residual : at_residual + d]
                at_residual, at_mixed = at_residual + d, at_mixed + m * d
                solved = solve_triangular(fit.factor, own, lower=True, check_finite=False).reshape(m, d, -1)
                if spreads is not None:
                    found = self._test_plain(scores[0], spreads[place], solved[:, 0])
                else:
                    found = self._test(scores, weighed[place][1], solved)
                found[fit.neighbours] = 0.0
                found[i] = 0.0
                self._one_sided[i] = found

    def weigh(self, i: int) -> tuple[Values, Values, Values]:
        """Return residuals, spreads and what they have in common with the parameters, row by row (`weigh_rows`)."""
        fit, own = self.fits[i], self.design.variables[i]
        n, d = len(own.codes), int(self._sizes[i])
        found = np.empty((n, d)), np.empty((n, d, d)), np.empty((n, len(fit.factor), d))
        columns = self._take(i, fit.neighbours, fit.columns)
        weigh_rows(own.codes, own.counts, own.features, columns, fit.intercepts, fit.slopes, *found)
        return found

    def _test_plain(self, scores: Values, spreads: Values, solved: Values) -> Values:
        """Return score statistics where every variable has a feature, or none."""
        left = spreads - (solved**2).sum(axis=0)
        found = np.zeros(self.design.n_variables)
        found[self._sizes > 0] = scores**2 / np.maximum(left, _LEAST_LEFT * self.design.n)
        return found

    def _test(self, scores: Values, spreads: Values, solved: Values) -> Values:
        """Return score statistics, of several features each."""
        z, d = self.design.columns, len(scores)
        found = np.zeros(self.design.n_variables)
        for j, (a, b) in enumerate(zip(self.design.starts[:-1], self.design.starts[1:], strict=True)):
            m = b - a
            if m == 0:
                continue
            block = np.empty((d, m, d, m))
            for u in range(d):
                for w in range(u + 1):
                    block[u, :, w] = (z[:, a:b] * spreads[:, u, w, None]).T @ z[:, a:b]
                    block[w, :, u] = block[u, :, w]
            part = solved[:, :, a:b].reshape(len(solved), d * m)
            left = block.reshape(d * m, d * m) - part.T @ part
            left[np.diag_indices(d * m)] += _LEAST_LEFT * self.design.n
            score = scores[:, a:b].ravel()
            found[j] = score @ np.linalg.solve(left, score)
        return found
