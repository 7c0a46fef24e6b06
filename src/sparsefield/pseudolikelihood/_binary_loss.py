"""The pseudo-likelihood of binary variables, in the interactions of some pairs of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsefield import _threads
from sparsefield._kernels._logistic import (
    PIECE,
    add_all_slopes,
    add_changes,
    add_curvatures,
    add_slopes,
    pack_rows,
    unpack_rows,
)
from sparsefield._typing import Floats, Index, Values
from sparsefield.data import Table, Unseen
from sparsefield.pseudolikelihood._policy import PSEUDO, PseudoPolicy

_KEY_BITS = 64  # of a row that is counted with those that are the same

# What the kernels do in a second on one core of a Zen 4 with AVX-512 (`make bench-pseudolikelihood` on a quiet machine
# says more). A cell is one value of one row.
_PRODUCTS, _CELLS = 2e10, 1e9
_GROUP = 64  # variables whose residuals are held at one time where all pairs are looked at: 256 KiB


@dataclass(frozen=True, eq=False)
class PairNeighbours:
    """Which pairs of p variables interact, seen from each of them.

    Attributes
    ----------
    first, second : ndarray of shape (m,)
        The variables of each pair, first < second.
    starts : ndarray of shape (p + 1,)
        Where the neighbours of each variable begin.
    others, pairs : ndarray of shape (2 m,)
        The neighbours, one variable after the other, and which pair each of them is.
    places : ndarray of shape (2, m)
        Where each pair is among the neighbours of its first and of its second variable.
    """

    first: Index
    second: Index
    starts: Index
    others: Index
    pairs: Index
    places: Index

    @classmethod
    def of_pairs(cls, n_variables: int, first: Index, second: Index) -> PairNeighbours:
        """Lay out some pairs."""
        m = len(first)
        owners, others = np.concatenate([first, second]), np.concatenate([second, first])
        order = np.lexsort((others, owners))
        places = np.empty(2 * m, dtype=np.int64)
        places[order] = np.arange(2 * m)
        starts = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=n_variables))]).astype(np.int64)
        return cls(first, second, starts, others[order], order % max(m, 1), places.reshape(2, m))

    @property
    def degrees(self) -> Index:
        """How many neighbours each variable has."""
        return np.diff(self.starts)


PairField = tuple[PairNeighbours, Values, Values]  # which pairs interact, main effects, and interactions


class BinaryPairLoss:
    """Half the mean negative pseudo-log-likelihood over main effects and interactions of pairs of binary variables.

    It is `PseudoLikelihoodLoss` for tables of two levels, where most interactions are zero. Every conditional is a
    logistic regression on the neighbours of its variable. The time is that of the pairs that are given, and of all
    pairs only where all are asked for (`all_slopes`).

    Parameters
    ----------
    table : Table
        Observations of binary variables without missing values.
    weights : ndarray of shape (n_rows,), optional
        How often each row counts; once unless given.
    unseen : Unseen
        Levels that no row shows, and that count as half a row.
    tol : float
        How small a gradient is to be told from zero, which decides between single and double precision.
    n_threads : int, optional
        Threads to use; results do not depend on it.
    policy : PseudoPolicy, optional
        Where single precision is enough, when rows are counted once, and how long a kernel may run.
    """

    def __init__(
        self,
        table: Table,
        weights: Values | None,
        unseen: Unseen,
        tol: float = 0.0,
        n_threads: int | None = None,
        policy: PseudoPolicy = PSEUDO,
    ) -> None:
        codes, counted = gather_distinct(np.ascontiguousarray(table.codes.T), weights, policy)
        self.n_variables = len(codes)
        self.dtype: type[np.floating[Any]] = np.float32 if tol >= policy.least_single else np.float64
        self._codes, self._weights = codes, (counted / counted.sum()).astype(self.dtype)
        self._kept, self._added = unseen.shares()
        self.is_alone = unseen.is_alone
        self._n_threads, self._wait = n_threads, policy.wait

    @cached_property
    def norms(self) -> Values:
        """The roots of the mean squares of columns, (p,)."""
        return np.sqrt([float(column.astype(self.dtype) @ self._weights) for column in self._codes])

    def evaluate(self, near: PairNeighbours, main: Values, values: Values) -> tuple[float, Values, Values]:
        """Return the loss, and its gradient in the main effects (p,) and in the interactions of pairs (m,)."""
        p = self.n_variables
        losses, mains, sums = np.zeros(p), np.zeros(p), np.zeros(len(near.others))
        field = self._as_field(near, main, values)
        work = 2 * len(near.others) / _PRODUCTS + p / _CELLS
        shares = self._share(np.arange(p), work)
        for rows in self._pieces(work):
            given = self._codes, self._weights, rows
            parts = [
                (*given, own, self._kept, self._added, *field, losses, mains, sums, self._zeros(PIECE))
                for own in shares
            ]
            _threads.run(add_slopes, parts)
        slopes = sums[near.places].sum(axis=0)
        return float(losses.sum()) / 2, mains / 2, slopes / 2

    def curvatures(
        self, near: PairNeighbours, main: Values, values: Values, is_active: NDArray[np.bool_]
    ) -> tuple[Floats, Index]:
        """Return the Hessian of each conditional, in its main effect and the interactions of active pairs (m,).

        Blocks come by rows, one after the other, with their starts; main effects are first in each.
        """
        sizes = count_active(near, is_active)
        active_starts = np.concatenate([[0], np.cumsum(sizes - 1)])
        active = near.others[is_active[near.pairs]]
        starts = np.concatenate([[0], np.cumsum(sizes**2)])
        blocks = np.empty(starts[-1], dtype=self.dtype)
        field = self._as_field(near, main, values)
        nodes = np.argsort(-sizes, kind="stable")  # so that threads end at about the same time
        work = float(starts[-1]) / 2 / _PRODUCTS + self.n_variables / _CELLS
        side = 4 * (int(sizes.max(initial=0)) // 4 + 1)
        n_calls = max(1, int(work * self._codes.shape[1] / self._wait))
        for k in range(n_calls):
            given = self._codes, self._weights
            parts = [
                (*given, own, *field, active_starts, active, starts, blocks, *self._make_room(side))
                for own in self._share(nodes[k::n_calls], work / n_calls)
            ]
            _threads.run(add_curvatures, parts)
        return blocks, starts

    def all_slopes(self, near: PairNeighbours, main: Values, values: Values) -> Floats:
        """Return the derivative of the loss of each conditional in the interactions with all others, (p, p).

        Twice the gradient in an interaction is the sum of two of them. The diagonal means nothing.
        """
        p = self.n_variables
        work = (p * p + len(near.others)) / _PRODUCTS + p / _CELLS
        n_shares = len(self._share(np.arange(p), work))
        group = min(_GROUP, 4 * -(-p // (4 * n_shares)))
        found = self._zeros(p + group, p)
        field = self._as_field(near, main, values)
        groups = np.arange(0, p, group)
        for rows in self._pieces(work):
            n_calls = max(1, int(work * (rows[1] - rows[0]) / self._wait))
            for k in range(n_calls):
                given = self._codes, self._weights, rows
                parts = [
                    (*given, own, self._kept, self._added, *field, found, self._zeros(group, PIECE))
                    for own in self._share(groups[k::n_calls], work / n_calls)
                ]
                _threads.run(add_all_slopes, parts)
        return found[:p]

    def changes(self, field: PairField, other: PairField) -> Values:
        """Return the root of the mean square by which the probabilities of each variable differ in two fields, (p,)."""
        found, ones = np.zeros(self.n_variables), np.ones(PIECE, dtype=self.dtype)
        both = self._as_field(*field), self._as_field(*other)
        work = sum(len(near.others) for near, _, _ in (field, other)) / _PRODUCTS + 2 * self.n_variables / _CELLS
        n_calls = max(1, int(work * self._codes.shape[1] / self._wait))
        for k in range(n_calls):
            given = self._codes, self._weights
            parts = [
                (*given, own, *both, found, self._zeros(PIECE), self._zeros(PIECE), ones)
                for own in self._share(np.arange(k, self.n_variables, n_calls), work / n_calls)
            ]
            _threads.run(add_changes, parts)
        return np.sqrt(found)

    def _zeros(self, *shape: int) -> Floats:
        return np.zeros(shape, dtype=self.dtype)

    def _make_room(self, side: int) -> tuple[Floats, Floats, Floats, Floats]:
        """Return the working memory of curvatures."""
        return self._zeros(PIECE), self._zeros(side, PIECE), self._zeros(side, PIECE), self._zeros(side, side)

    def _as_field(self, near: PairNeighbours, main: Values, values: Values) -> tuple[Floats, Index, Index, Floats]:
        """Return parameters as the kernels take them."""
        return main.astype(self.dtype), near.starts, near.others, values.astype(self.dtype)[near.pairs]

    def _share(self, nodes: Index, work: float) -> list[Index]:
        """Deal variables out to threads like cards, given the seconds that a row takes."""
        n = len(_threads.share(len(nodes), self._n_threads, work * self._codes.shape[1]))
        return [np.ascontiguousarray(nodes[k::n]) for k in range(n)]

    def _pieces(self, work: float) -> list[Index]:
        """Cut rows into pieces of about that time, given the seconds that a row takes."""
        n_rows = self._codes.shape[1]
        step = max(1, int(self._wait / work / PIECE)) * PIECE
        return [np.array([start, min(start + step, n_rows)]) for start in range(0, n_rows, step)]


def count_active(near: PairNeighbours, is_active: NDArray[np.bool_]) -> Index:
    """Count the parameters of the conditional of each variable: its main effect, and interactions that are active."""
    ends = np.concatenate([[0], np.cumsum(is_active[near.pairs])])
    return np.asarray(1 + np.diff(ends[near.starts]))


def gather_distinct(
    codes: NDArray[np.uint8], weights: Values | None, policy: PseudoPolicy = PSEUDO
) -> tuple[NDArray[np.uint8], Values]:
    """Return the distinct rows of columns of bits (p, n), and how often each counts, where that makes them fewer.

    Rows of more than 64 variables are left as they are.
    """
    p, n = codes.shape
    own = np.ones(n) if weights is None else weights
    counts: Values
    if p > _KEY_BITS:
        return codes, own
    keys = np.empty(n, dtype=np.uint64)
    pack_rows(codes, keys)
    if weights is None:
        keys.sort()
        is_first = np.concatenate([[True], keys[1:] != keys[:-1]])
        distinct = keys[is_first]
        counts = np.diff(np.append(np.flatnonzero(is_first), n)).astype(np.float64)
    else:
        distinct, of = np.unique(keys, return_inverse=True)
        counts = np.bincount(of, own).astype(np.float64)
    if len(distinct) > policy.most_distinct * n:
        return codes, own
    found = np.empty((p, len(distinct)), dtype=np.uint8)
    unpack_rows(distinct, found)
    return found, counts
