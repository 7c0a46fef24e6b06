"""Stepwise search (forward and backward) for the edges that are worth their price: they come and go one by one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from sparsefield._deadline import OutOfTimeError
from sparsefield._typing import Index, Mask, Values
from sparsefield.structure._nodes import Nodes, Pair
from sparsefield.structure._prior import FIRST_GUESS, EdgePrior, learn_prior
from sparsefield.structure._regression import Evidence

# Wald's statistics are below likelihood ratios where weights are large, and elsewhere near them: edges are looked at
# where these are below their price, and once no pair is worth an edge any more, below twice that.
_SURELY = 2.0

_MOST_ROUNDS, _MOST_PRIORS = 500, 10

# Numbers that differ by less than this share are the same but for their rounding, which labels and columns change.
_SAME = 1e-7

# No weight is known better than to a hundredth: with that the log-odds of an edge change by less than their rounding.
_LEAST_VARIANCE = 1e-4


class Search:
    """The edges that are worth their price, given all others.

    Parameters
    ----------
    nodes : Nodes
        The regressions of all variables, whose edges are moved.
    price : float, optional
        What an edge costs for each of its parameters before a prior is known; that of the Bayesian information
        criterion, log n, unless given.
    """

    def __init__(self, nodes: Nodes, price: float | None = None) -> None:
        design = nodes.design
        self.nodes = nodes
        self.prior: EdgePrior | None = None
        self._degrees, self._variances = design.degrees, design.variances
        self._first_price = float(np.log(design.n)) if price is None else price
        self._is_pair = np.triu(design.degrees > 0, 1)
        # Ties go to variables that have more to do with all others, and then by their names: not by places or labels.
        self._share_in_all = nodes.scores.sum(axis=0)
        self._rank = np.argsort(np.argsort(np.array(design.domain.names), kind="stable"), kind="stable")

    def run(self) -> bool:
        """Search at the price of the Bayesian information criterion, and then at that which the edges found tell.

        The prior of weights is then that of the slopes too. It ends when edges stay the same. Where cells are missing,
        what is expected of them is found anew each time. Says whether it came to that, or time was up.
        """
        try:
            self.climb()
            for _ in range(_MOST_PRIORS):
                before = self.nodes.support
                if self.nodes.design.has_missing:
                    self.nodes.fill()
                self.prior = self._learn_prior()
                self.nodes.expect(self.prior.variance)
                self.climb()
                if np.array_equal(before, self.nodes.support):
                    break
        except OutOfTimeError:
            return False
        return True

    def _price(self, i: int, j: int, variance: float) -> float:
        """Return the price of an edge whose weight has this sampling variance."""
        return float(self._ask(self._degrees[i, j], np.asarray(variance)))

    def _ask(self, degrees: Values, variances: Values) -> Values:
        """Return the prices of edges with these sampling variances."""
        return degrees * self._first_price if self.prior is None else self.prior.prices(degrees, variances)

    def _margins(self, pairs: Sequence[Pair]) -> list[float]:
        """Return by how much pairs are worth more than their prices, by their likelihood ratios."""
        return [
            seen.ratio - self._price(i, j, self._variance(seen))
            for (i, j), seen in zip(pairs, self.nodes.look(pairs), strict=True)
        ]

    @staticmethod
    def _variance(seen: Evidence) -> float:
        """Return the sampling variance of a weight, as far as it can be known."""
        return max(seen.variance, _LEAST_VARIANCE)

    def _prices(self) -> Values:
        """Return the prices of all pairs, with the variances that they have where all variables are independent."""
        return self._ask(self._degrees, self._variances)

    def _lowest(self) -> Values:
        """Return the least prices that pairs can have, whatever their variances."""
        tiny = self._ask(self._degrees, np.full_like(self._degrees, _LEAST_VARIANCE))
        return np.minimum(self._prices(), tiny)

    def climb(self) -> None:
        """Add and drop edges until every one is worth its price, and no other pair is."""
        seen = {self.nodes.support.tobytes()}
        for _ in range(_MOST_ROUNDS):
            self._drop(1.0)
            more = self._find_more()
            if not more:
                if self._drop(_SURELY):
                    continue
                return
            self.nodes.set_edges(more, are_there=True)
            if self.nodes.support.tobytes() in seen:  # edges that come and go leave
                self.nodes.set_edges(more, are_there=False)
                return
            seen.add(self.nodes.support.tobytes())

    def _drop(self, surely: float) -> bool:
        """Drop edges, those worth least first, until all are worth their price; say whether any went.

        No two that share a variable go at one time, since one may be worth more without the other. Edges are not looked
        at whose Wald statistics are so many times their price.
        """
        has_dropped = False
        while True:
            unsure = self.nodes.support & self._is_pair & (self.nodes.walds() < surely * self._prices())
            pairs = [(i, j) for i, j in np.argwhere(unsure).tolist()]
            margins = self._margins(pairs)
            less = _take_apart([pairs[k] for k in self._sort(pairs, margins) if margins[k] < 0])
            if not less:
                return has_dropped
            self.nodes.set_edges(less, are_there=False)
            has_dropped = True

    def _find_more(self) -> list[Pair]:
        """Find pairs that are worth an edge, those worth most first.

        No two share a variable, and no two join the same parts of the graph, which one link does.
        """
        scores = self.nodes.scores
        lowest = self._lowest()
        pairs = np.argwhere(self._is_pair & ~self.nodes.support & (scores > lowest))
        i, j = pairs.T
        left = [(a, b) for a, b in pairs[self._sort(pairs, self._prices()[i, j] - scores[i, j])].tolist()]
        while True:
            left = [pair for pair in left if not self.nodes.is_known(*pair) or self._margins([pair])[0] > 0]
            some = _leave_links(_take_apart(left), self.nodes.links, self.nodes.components)
            margins = self._margins(some)
            found = [pair for pair, margin in zip(some, margins, strict=True) if margin > 0]
            if found or not some:
                return found

    def _sort(self, pairs: ArrayLike, values: ArrayLike) -> Index:
        """Return the order of pairs by their values; what is the same but for rounding is in an order of its own."""
        both = np.asarray(pairs, dtype=np.int64).reshape(-1, 2).T
        first, last = np.sort(self._rank[both], axis=0)
        return np.lexsort((last, first, _tie(-self._share_in_all[both].sum(axis=0)), _tie(np.asarray(values))))

    def _learn_prior(self) -> EdgePrior:
        """Find what all pairs tell of the number of edges, and of their weights."""
        statistics, variances = self.nodes.scores.copy(), self._variances.copy()
        squares = statistics * variances
        looked = self._is_pair & (self.nodes.support | (statistics > self._lowest()))
        pairs = [(i, j) for i, j in np.argwhere(looked).tolist()]
        for (i, j), seen in zip(pairs, self.nodes.look(pairs), strict=True):
            statistics[i, j], squares[i, j] = seen.ratio, seen.square
            variances[i, j] = self._variance(seen)
        own = self._is_pair
        start = FIRST_GUESS if self.prior is None else self.prior
        return learn_prior(squares[own], statistics[own], self._degrees[own], variances[own], start)


def _tie(values: Values) -> Index:
    """Return the ranks of values, of which those have the same that differ by rounding alone."""
    order = np.argsort(values, kind="stable")
    known = values[order]
    steps = np.diff(known, prepend=known[:1]) > _SAME * np.maximum(1.0, np.abs(known))
    ranks = np.empty(len(values), dtype=np.int64)
    ranks[order] = np.cumsum(steps)
    return ranks


def _take_apart(pairs: Sequence[Pair]) -> list[Pair]:
    """Return the first pairs, of which no two share a variable."""
    taken: set[int] = set()
    found = []
    for i, j in pairs:
        if i not in taken and j not in taken:
            found.append((i, j))
            taken |= {i, j}
    return found


def _leave_links(pairs: Sequence[Pair], links: Mask, components: Index) -> list[Pair]:
    """Return the pairs without links between parts that others before them join already (Kruskal 1956)."""
    part = components.copy()
    found = []
    for i, j in pairs:
        if links[i, j]:
            if part[i] == part[j]:
                continue
            part[part == part[j]] = part[i]
        found.append((i, j))
    return found
