"""Variables summed out one after the other (variable elimination), with what is asked of them on the way.

P(x) is a product of factors of two variables. To sum out a variable v, the factors that hold it are multiplied to one
table over v and its separator, the variables that are left of those beside it; the sum over v is a factor of the
separator. In logarithms the tables have the exponents of v given its separator (Koller and Friedman 2009, chapter 9).
In sparse graphs the tables are small, however many variables there are: those of a tree hold two of them.

Tables are arrays of shape (n, levels of v, levels of the separator ...), for n rows that share a graph and differ in
what their observed cells add.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsefield._typing import Codes, Values
from sparsefield.inference.elimination._cliques import Neighbours, Plan

Reduce = Callable[[Values], Values]


def log_sum(table: Values) -> Values:
    """Return the logarithm of the sum of exponentials over the second axis."""
    top = table.max(axis=1, keepdims=True)
    return np.asarray(np.log(np.exp(table - top).sum(axis=1)) + top[:, 0])


def log_max(table: Values) -> Values:
    """Return the largest exponent over the second axis."""
    return np.asarray(table.max(axis=1))


def _log_normalise(table: Values) -> Values:
    """Return the log-probabilities along the second axis."""
    return table - log_sum(table)[:, None]


class Eliminated:
    """Some variables of rows, summed out (or maximised over) in the order of a plan.

    Parameters
    ----------
    neighbours : Neighbours
        The graph, and the interactions.
    plan : Plan
        The order; all neighbours of its variables that are not part of it were observed.
    s : ndarray of shape (n, n_slots)
        The indicators of the observed cells of rows, zero where values are missing.
    reduce : callable
        `log_sum` or `log_max`.

    Attributes
    ----------
    tables : list of ndarray of shape (n, levels, levels of the separator ...)
        For each variable in the order, its exponents given its separator when all before it are summed out.
    total : ndarray of shape (n,)
        What is left: the log-partition function of the variables given the observed cells, or the largest exponent.
    """

    def __init__(self, neighbours: Neighbours, plan: Plan, s: Values, reduce: Reduce = log_sum) -> None:
        self._plan, self.tables = plan, []
        self.total = np.zeros(len(s))
        messages = _Messages(plan)
        for v, separator in zip(plan.order, plan.separators, strict=True):
            shape = (neighbours.n_levels[v], *(neighbours.n_levels[u] for u in separator))
            table = np.empty((len(s), *shape))
            table[:] = neighbours.exponents(v, s).reshape(len(s), shape[0], *(1 for _ in separator))
            for k, u in enumerate(separator):
                if u in neighbours.of[v]:
                    own = [1] * len(shape)
                    own[0], own[k + 1] = shape[0], shape[k + 1]
                    table += neighbours.interactions(v, u).reshape(own)
            for message in messages.to(v, separator):
                table += message
            self.tables.append(table)
            self.total += messages.send(separator, reduce(table))

    def laws(self) -> Iterator[tuple[int, tuple[int, ...], Values]]:
        """Return the joint law of each variable and its separator, the last of the order first.

        Given its separator a variable has the law of its table; the separator is part of what the first variable of it
        was summed out with, whose law is there before.
        """
        known: dict[int, Values] = {}
        separators = dict(zip(self._plan.order, self._plan.separators, strict=True))
        for v, separator, table in zip(
            self._plan.order[::-1], self._plan.separators[::-1], self.tables[::-1], strict=True
        ):
            law = np.exp(_log_normalise(table))
            if separator:
                above = (separator[0], *separators[separator[0]])
                others = tuple(k + 1 for k, u in enumerate(above) if u not in separator)
                law *= known[separator[0]].sum(axis=others)[:, None]
            known[v] = law
            yield v, separator, law

    def draw(self, uniforms: Values) -> Codes:
        """Draw the variables from their joint law, with a uniform number for each row and variable of the order.

        Where there is one row, it has as many draws as there are rows of numbers.
        """

        def choose(k: int, exponents: Values) -> NDArray[np.int64]:
            sums = np.exp(exponents - exponents.max(axis=1, keepdims=True)).cumsum(axis=1)
            # The first level whose cumulative weight is above the number: one without weight is never chosen.
            return np.asarray((sums <= uniforms[:, k : k + 1] * sums[:, -1:]).sum(axis=1))

        return self._look_back(choose, len(uniforms))

    def find_mode(self) -> Codes:
        """Return the most probable levels of the variables together, where tables were maximised over."""
        return self._look_back(lambda _, exponents: exponents.argmax(axis=1), len(self.total))

    def entropy(self) -> float:
        """Return the entropy of the variables, for the first row, in nats.

        The law is the product of those of each variable given its separator, so that entropies of these add up: each is
        averaged over its separator as that is summed out in turn.
        """
        total, messages = 0.0, _Messages(self._plan)
        for v, separator, table in zip(self._plan.order, self._plan.separators, self.tables, strict=True):
            logs = _log_normalise(table[:1])
            below = -logs
            for message in messages.to(v, separator):
                below += message
            total += float(np.sum(messages.send(separator, (np.exp(logs) * below).sum(axis=1))))
        return total

    def _look_back(self, choose: Callable[[int, Values], NDArray[np.int64]], n: int) -> Codes:
        """Choose the level of each variable given its separator, the last one of the order first."""
        order = self._plan.order
        rows = np.arange(n) if len(self.total) > 1 else np.zeros(n, dtype=np.int64)
        found, index = np.empty((n, len(order)), dtype=np.uint8), {v: k for k, v in enumerate(order)}
        for k in range(len(order) - 1, -1, -1):
            given: list[Any] = [found[:, index[u]] for u in self._plan.separators[k]]
            found[:, k] = choose(k, self.tables[k][rows, :, *given])
        return found


class _Messages:
    """Factors that summed out variables have left: each waits for the first variable of its separator."""

    def __init__(self, plan: Plan) -> None:
        self._waiting: dict[int, list[tuple[tuple[int, ...], Values]]] = {v: [] for v in plan.order}

    def send(self, separator: tuple[int, ...], values: Values) -> Values | float:
        """Keep a factor of a separator; return it where that is empty, and zero elsewhere."""
        if not separator:
            return values
        self._waiting[separator[0]].append((separator, values))
        return 0.0

    def to(self, v: int, separator: tuple[int, ...]) -> Iterator[Values]:
        """Return the factors that wait for a variable, in the shape of its table."""
        for own, values in self._waiting.pop(v):
            kept = set(own)
            yield values[:, :, *(slice(None) if u in kept else None for u in separator)]
