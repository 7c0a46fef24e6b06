"""Which variables of a field must be looked at together when some of them are summed out: components and cliques."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

import numpy as np
from numpy.typing import NDArray

from sparsefield.inference._field import Field
from sparsefield.inference.missing._enumerated_rows import MOST_STATES


@dataclass(frozen=True)
class EliminationPolicy:
    """How much summing out variables may take, and how good an order is looked for."""

    most_together: int = 2**24  # entries of all tables of a plan, which are held at one time: 128 MiB
    most_work: int = 2**32  # entries of the tables of all rows: one or two minutes, at 17 to 31 ns each (one core)
    entries_at_once: int = 2**22  # of the tables of some rows, 32 MB
    small: int = 2**16  # entries of a plan that is good enough: a sum over them takes about as long as another order
    n_trials: int = 0  # orders that may be tried where a plan is not


ELIMINATION = EliminationPolicy()


class Neighbours:
    """Who interacts with whom, and how.

    Parameters
    ----------
    field : Field
        The model.

    Attributes
    ----------
    of : list of sets of int
        The variables that interact with each variable.
    n_levels : list of int
        The levels of each variable.
    """

    def __init__(self, field: Field) -> None:
        domain = field.domain
        self._field, self.n_levels = field, domain.n_levels.tolist()
        self._cuts = np.searchsorted(domain.slot_variables, np.arange(domain.n_variables + 1)).tolist()
        self.of: list[set[int]] = [set() for _ in self.n_levels]
        for v in range(domain.n_variables):
            others = domain.slot_variables[field.interactions[self.slots(v)].any(axis=0)]
            self.of[v] = set(others.tolist())

    def slots(self, v: int) -> slice:
        """Return the slots of a variable, which follow each other."""
        return slice(self._cuts[v], self._cuts[v + 1])

    def interactions(self, v: int, u: int) -> NDArray[np.float64]:
        """Return the interactions of all levels of two variables."""
        levels = self._field.domain.slot_levels
        found = np.zeros((self.n_levels[v], self.n_levels[u]))
        rows, columns = self.slots(v), self.slots(u)
        found[np.ix_(levels[rows], levels[columns])] = self._field.interactions[rows, columns]
        return found

    def exponents(self, v: int, s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what main effects and observed cells, by their indicators (n, n_slots), add for each level."""
        own = self.slots(v)
        found = np.zeros((len(s), self.n_levels[v]))
        found[:, self._field.domain.slot_levels[own]] = self._field.main[own] + s @ self._field.interactions[own].T
        return found

    def components(self, variables: Iterable[int]) -> list[tuple[int, ...]]:
        """Return the connected components of the graph of some variables: given the others they are independent."""
        left, found = set(variables), []
        while left:
            found.append(self.component(left.pop(), left))
            left.difference_update(found[-1])
        return sorted(found)

    def component(self, start: int, variables: Iterable[int]) -> tuple[int, ...]:
        """Return the variables that a start is connected with over some variables, and itself."""
        left, reached = set(variables) - {start}, [start]
        for v in reached:  # which grows on the way
            new = self.of[v] & left
            left -= new
            reached.extend(sorted(new))
        return tuple(sorted(reached))


@dataclass(frozen=True)
class Plan:
    """In which order variables are summed out, and which tables that takes.

    Parameters
    ----------
    order : tuple of int
        The variables.
    separators : tuple of tuples of int
        For each of them those later in the order that a table must hold beside it when it is summed out.
    n_entries : int
        Entries of all tables together.
    """

    order: tuple[int, ...]
    separators: tuple[tuple[int, ...], ...]
    n_entries: int


def make_plan(
    neighbours: Neighbours,
    component: Sequence[int],
    last: int | None = None,
    *,
    policy: EliminationPolicy = ELIMINATION,
) -> Plan | None:
    """Choose an order in which to sum out variables: the next is always the one whose table is smallest.

    Where that takes many entries, orders may be tried in which the next is one that joins the fewest neighbours that
    are not joined yet (Rose 1973), with ties broken at random.

    Parameters
    ----------
    neighbours : Neighbours
        The graph.
    component : sequence of int
        The variables.
    last : int, optional
        One of them that is to be the last.
    policy : EliminationPolicy
        How large tables may be together, and how many other orders may be tried.

    Returns
    -------
    Plan or None
        None where a table would have more than 2^20 entries, or all of them together more than 2^24.
    """
    best = _order_by_size(_Graph(neighbours, component, policy), last)
    for seed in range(policy.n_trials if best is None or best.n_entries > policy.small else 0):
        found = _order_by_joins(_Graph(neighbours, component, policy), seed)
        if found is not None and (best is None or found.n_entries < best.n_entries):
            best = found
    return best


def _order_by_size(graph: _Graph, last: int | None) -> Plan | None:
    """Sum out the variable whose table is smallest, again and again."""
    sizes = {v: graph.size(v) for v in graph.beside}
    # The smallest first; what has changed since is there twice, and counts where it is up to date.
    heap = [(size, v) for v, size in sizes.items() if v != last]
    heapify(heap)
    while graph.beside:
        size, v = heappop(heap) if len(graph.beside) > 1 or last is None else (sizes[last], last)
        if v not in graph.beside or size != sizes[v]:
            continue
        if not graph.sum_out(v):
            return None
        for u in graph.cliques[-1]:
            sizes[u] = graph.size(u)
            if u != last:
                heappush(heap, (sizes[u], u))
    return graph.plan


def _order_by_joins(graph: _Graph, seed: int) -> Plan | None:
    """Sum out a variable that joins the fewest of its neighbours, again and again; of several the smallest."""
    ties = np.random.default_rng(seed).random(max(graph.beside) + 1).tolist()
    costs = {v: (graph.joins(v), graph.size(v), ties[v]) for v in graph.beside}
    while costs:
        v = min(costs, key=costs.__getitem__)
        del costs[v]
        if not graph.sum_out(v):
            return None
        own = graph.cliques[-1]
        for u in own.union(*(graph.beside[u] for u in own)):
            costs[u] = graph.joins(u), graph.size(u), ties[u]
    return graph.plan


class _Graph:
    """The variables that are left, and who is beside whom, while others are summed out."""

    def __init__(self, neighbours: Neighbours, component: Sequence[int], policy: EliminationPolicy) -> None:
        inside, self._n_levels, self._most = set(component), neighbours.n_levels, policy.most_together
        self.beside = {v: neighbours.of[v] & inside for v in component}
        self.order: list[int] = []
        self.cliques: list[set[int]] = []
        self._n_entries = 0

    def size(self, v: int) -> int:
        """Return how many entries the table of a variable has, should it be the next."""
        return int(math.prod(self._n_levels[u] for u in self.beside[v]) * self._n_levels[v])

    def joins(self, v: int) -> int:
        """Return how many pairs of its neighbours are not joined yet."""
        own = self.beside[v]
        return sum(len(own - self.beside[u]) - 1 for u in own) // 2

    def sum_out(self, v: int) -> bool:
        """Sum out a variable, whose neighbours are joined then; say whether tables are small enough."""
        size = self.size(v)
        self._n_entries += size
        own = self.beside.pop(v)
        for u in own:
            self.beside[u] = (self.beside[u] | own) - {u, v}
        self.order.append(v)
        self.cliques.append(own)
        return size <= MOST_STATES and self._n_entries <= self._most

    @property
    def plan(self) -> Plan:
        """The order in which all variables were summed out."""
        index = {v: k for k, v in enumerate(self.order)}
        separators = tuple(tuple(sorted(own, key=index.__getitem__)) for own in self.cliques)
        return Plan(tuple(self.order), separators, self._n_entries)


def split_by_reach(field: Field) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """Return the variables of the connected components that can be summed out, and the other components."""
    neighbours = Neighbours(field)
    components = neighbours.components(range(field.domain.n_variables))
    hard = [own for own in components if make_plan(neighbours, own) is None]
    easy = set(range(field.domain.n_variables)).difference(*hard)
    return tuple(sorted(easy)), hard
