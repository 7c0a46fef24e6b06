"""Regressions of all variables on their neighbours, and what they tell of every pair."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from sparsefield._deadline import check_time
from sparsefield._kernels._node_regressions import regress, weigh_rows
from sparsefield._threads import one_for_products, run, share
from sparsefield._typing import Index, Values
from sparsefield.structure._bridges import find_links
from sparsefield.structure._design import Design
from sparsefield.structure._regression import Evidence, Filling, Regression, Weighed

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

# So many numbers each thread holds of what score tests are made of, or those of one variable: 8 MiB.
_MOST_HELD = 2**20


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
        self._filled: list[Filling | None] = []  # what missing neighbours are expected to be
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
            Filling.of(self.design, j, fit) if len(self.design.missing[j]) else None for j, fit in enumerate(self.fits)
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
        self.share_parts(self._score_part, [i for i in changed if self._sizes[i]])
        rows = np.asarray(changed, dtype=np.int64)
        self._given[rows] = (self._one_sided[rows] + self._one_sided[:, rows].T) / 2
        self._given[:, rows] = self._given[rows].T

    def share_parts(self, function: Callable[[Sequence[int]], None], variables: Sequence[int]) -> None:
        """Call a function that explains columns with parts of some variables, in threads.

        Where parts end does not depend on threads, and so no product of matrices does.
        """
        n, width = self.design.columns.shape
        numbers = np.array([(n + width) * (len(self.fits[i].factor) + 1) * int(self._sizes[i]) for i in variables])
        place = (np.cumsum(numbers) - numbers) // _MOST_HELD
        parts = [[variables[k] for k in np.flatnonzero(place == at).tolist()] for at in np.unique(place)]
        groups = share(len(parts), self._n_threads, _SECONDS * float(numbers.sum()) * min(n, width))

        def work(group: slice) -> None:
            for part in parts[group]:
                check_time()
                function(part)

        with one_for_products():
            run(work, [(group,) for group in groups])

    def explain(self, part: Sequence[int], weighed: Sequence[Weighed], z: Values) -> list[Values]:
        """Return for some variables what the statistics of their regressions explain of columns, (size, d, ...)."""
        common = np.hstack([own.mixed.reshape(len(z), -1) for own in weighed]).T @ z
        ends = np.cumsum([len(self.fits[i].factor) * self._sizes[i] for i in part])
        found = []
        for i, own in zip(part, np.split(common, ends[:-1]), strict=True):
            factor = self.fits[i].factor
            solved = solve_triangular(factor, own.reshape(len(factor), -1), lower=True, check_finite=False)
            found.append(solved.reshape(len(factor), self._sizes[i], -1))
        return found

    def _compose_scores(self) -> Values:
        """Return the score statistics of pairs given all edges, and of links by themselves; zero for edges."""
        return np.where(self.support, 0.0, np.where(self.links, self._alone, self._given))

    def _score_part(self, part: Sequence[int]) -> None:
        """Find what all variables tell of some variables, given their neighbours."""
        weighed, z = [self.weigh(i) for i in part], self.design.columns
        scores = np.split(np.hstack([own.residuals for own in weighed]).T @ z, np.cumsum(self._sizes[list(part)])[:-1])
        solved = self.explain(part, weighed, z)
        spreads = [own.spreads for own in weighed]
        if self._squares is not None:
            spreads = list(np.hstack([own[:, :, 0] for own in spreads]).T @ self._squares)
        test = self._test if self._squares is None else self._test_plain
        for i, *seen in zip(part, scores, spreads, solved, strict=True):
            found = test(*seen)
            found[self.fits[i].neighbours] = 0.0
            found[i] = 0.0
            self._one_sided[i] = found

    def weigh(self, i: int) -> Weighed:
        """Return what a variable has in each row, given its neighbours (`weigh_rows`)."""
        fit, own = self.fits[i], self.design.variables[i]
        n, d = len(own.codes), int(self._sizes[i])
        found = Weighed(np.empty((n, d)), np.empty((n, d, d)), np.empty((n, len(fit.factor), d)))
        columns = self._take(i, fit.neighbours, fit.columns)
        weigh_rows(own.codes, own.counts, own.features, columns, fit.intercepts, fit.slopes, *found)
        return found

    def _test_plain(self, scores: Values, spreads: Values, solved: Values) -> Values:
        """Return score statistics where every variable has a feature, or none."""
        left = spreads - (solved[:, 0] ** 2).sum(axis=0)
        found = np.zeros(self.design.n_variables)
        found[self._sizes > 0] = scores[0] ** 2 / np.maximum(left, _LEAST_LEFT * self.design.n)
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
