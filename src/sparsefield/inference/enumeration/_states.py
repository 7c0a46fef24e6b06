"""All states of a small field, each with its probability: draws without error."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsefield import _threads
from sparsefield._kernels._states import fill_low, fill_rows, look_up, sum_high, sum_low
from sparsefield._typing import Index, Matrix
from sparsefield.data import Domain, Moments
from sparsefield.inference._draws import pick_near
from sparsefield.inference._field import Field
from sparsefield.inference.enumeration._exact import say_states

# The table of all moments and the probabilities take 8 MB each then, and a Newton step about 20 ms on one thread.
MOST_ENTRIES = 2**20
_ROW = 4096  # states of a row: 32 KB, which stays in the second cache
_ROWS_AT_ONCE = 8  # whose weights are held beside the probabilities: memory that is asked for anew costs more than sums
_SECONDS = 2e-9  # what each of the loops takes for an entry: 1 to 2 ns on one core, with 2^20 of them

# The products of probabilities and weights that are too small for a double are each off by less than the least normal
# one. A sum of at least this for each of them is right to its last bit all the same.
_LEAST_SUM = float(np.finfo(np.float64).tiny / np.finfo(np.float64).eps)


class EnumeratedStates:
    """All states of a small field, each with its probability: draws without error.

    The probabilities are one array, with an axis for each variable. Where the sum over all levels of a variable takes
    the place of the level that has no parameters, for every variable, the entries are the probabilities of all sets of
    levels: the moments of all orders. A product of statistics is the indicator of such a set, and its mean is
    looked up. For two levels this is the superset-sum (zeta) transform, p 2^(p - 1) additions. A variable
    whose levels all have parameters gets one more level, of probability zero, whose place is free for the sum.

    Parameters
    ----------
    field : Field
        The field.
    n_threads : int, optional
        Threads to use; the result does not depend on it.
    """

    n: int | None = None

    def __init__(self, field: Field, n_threads: int | None = None) -> None:
        domain = field.domain
        n_entries = count_entries(domain)
        if n_entries > MOST_ENTRIES:
            also = ", and no level is without parameters" if domain.reference is None else ""
            raise ValueError(
                f"The field has {say_states(domain)} states{also}: exact Newton steps are for up to {MOST_ENTRIES} "
                "moments of all orders. Use draws (schedule='auto')."
            )
        self._domain, self._n_threads = domain, n_threads
        self._n_levels = _count_places(domain)
        self._totals = np.array(domain.n_levels if domain.reference is None else domain.reference, dtype=np.int64)
        self._n_low = _count_low(self._n_levels)
        n_columns = math.prod(self._n_levels[: self._n_low].tolist())
        self._shape = (n_entries // n_columns, n_columns)
        main, pair = self._expand(field.main, field.interactions)
        if domain.reference is None:
            main[np.cumsum(self._n_levels) - 1] = -np.inf  # no state has the spare level
        self._parameters = main, pair
        self._probabilities = self._fill(main, pair)
        self.log_normaliser = self._normalise(self._probabilities)
        self._table = self._sum_levels(self._probabilities.copy())

    @property
    def moments(self) -> Moments:
        """The exact moments."""
        return Moments.of_pairs(self._look_up_pairs(self._table), None)

    def second_moments(self, a: Index, b: Index) -> tuple[NDArray[Any], float, Matrix]:
        """Return means of products of the statistics s_a s_b, 1, and their means."""
        found = self._look_up(self._table, a, b)
        return found, 1.0, np.diagonal(found).copy()

    def near_moments(
        self, a: Index, b: Index, starts: Index, columns: NDArray[np.int32]
    ) -> tuple[NDArray[Any], float, Matrix]:
        """Return means of products of some pairs of the statistics s_a s_b, 1, and means of all statistics."""
        found, scale, means = self.second_moments(a, b)
        return pick_near(found, starts, columns), scale, means

    def codes(self) -> None:
        """Return nothing: these are all states."""
        return

    def along(self, move: Matrix) -> Matrix:
        """Return the inner product of a move and the statistics of each state."""
        main = np.diagonal(move)
        return self._fill(*self._expand(main, move - np.diag(main))).reshape(-1)

    def along_some(self, moves: Matrix, a: Index, b: Index) -> Matrix:
        """Return the same of a move of some statistics alone."""
        move = np.zeros((self._domain.n_slots, self._domain.n_slots))
        move[a, b] = move[b, a] = moves
        return self.along(move)

    def reweight(self, values: Matrix) -> tuple[float, float]:
        """Return log E exp(values), and one: every state still counts."""
        top = float(values.max())
        values, sums = values.reshape(self._shape), np.empty(self._shape[0])

        def add(first: int, last: int) -> None:
            for start in range(first, last, _ROWS_AT_ONCE):
                some = slice(start, min(start + _ROWS_AT_ONCE, last))
                weights = values[some] - top
                np.exp(weights, out=weights)
                weights *= self._probabilities[some]
                sums[some] = weights.sum(axis=1)

        self._share(add, self._shape[0])
        total = float(sums.sum())
        if total >= _LEAST_SUM * values.size:
            return top + math.log(total), 1.0
        weights = self._fill(*self._parameters)
        weights += values
        return self._normalise(weights) - self.log_normaliser, 1.0

    def project(self, values: Matrix) -> Matrix:
        """Return the covariance of every statistic with values."""
        values = values.reshape(self._shape)
        mean = (values * self._probabilities).sum(axis=1).sum()
        return self._look_up_pairs(self._sum_levels((values - mean) * self._probabilities))

    def project_roughly(self, values: Matrix, within: float | None = None) -> tuple[Matrix, float]:  # noqa: ARG002
        """Return the covariance of every statistic with values, without error."""
        return self.project(values), 0.0

    def project_onto(self, values: Matrix, a: Index, b: Index) -> Matrix:
        """Return the covariances of some statistics with values."""
        return np.asarray(self.project(values)[a, b])

    def _normalise(self, weights: Matrix) -> float:
        """Turn exponents into probabilities; return the logarithm of the normalising constant."""
        top, sums = float(weights.max()), np.empty(len(weights))

        def exponentiate(first: int, last: int) -> None:
            part = weights[first:last]
            part -= top
            np.exp(part, out=part)
            sums[first:last] = part.sum(axis=1)

        self._share(exponentiate, len(weights))
        total = float(sums.sum())
        weights /= total
        return top + math.log(total)

    def _expand(self, main: Matrix, pair: Matrix) -> tuple[Matrix, Matrix]:
        """Return parameters with an entry for every level; the spare level, if there is one, has those of the first."""
        domain, n_levels = self._domain, self._n_levels
        starts = np.cumsum(n_levels) - n_levels
        index = starts[domain.slot_variables] + domain.slot_levels
        size = int(n_levels.sum())
        mains, pairs = np.zeros(size), np.zeros((size, size))
        mains[index] = main
        pairs[np.ix_(index, index)] = pair
        if domain.reference is None:
            spare = starts + domain.n_levels
            mains[spare], pairs[spare] = mains[starts], pairs[starts]
            pairs[:, spare] = pairs[:, starts]
        return mains, pairs

    def _fill(self, main: Matrix, pair: Matrix) -> Matrix:
        """Return the exponents of all states."""
        found, low = np.empty(self._shape), np.empty(self._shape[1])
        fill_low(main, pair, self._n_levels[: self._n_low], low)
        own = (main, pair, self._n_levels, self._n_low, low, found)
        self._share(lambda first, last: fill_rows(first, last, *own), self._shape[0])
        return found

    def _sum_levels(self, table: Matrix) -> Matrix:
        """Put the sum over all levels of each variable in the place of one of them, variable after variable."""
        low, high = slice(self._n_low), slice(self._n_low, None)

        def sum_rows(first: int, last: int) -> None:
            sum_low(first, last, self._n_levels[low], self._totals[low], table)

        def sum_columns(first: int, last: int) -> None:
            sum_high(first, last, self._n_levels[high], self._totals[high], table)

        self._share(sum_rows, self._shape[0])
        self._share(sum_columns, self._shape[1])
        return table

    def _look_up_pairs(self, table: Matrix) -> Matrix:
        slots = np.arange(self._domain.n_slots)
        return self._look_up(table, slots, slots)

    def _look_up(self, table: Matrix, a: Index, b: Index) -> Matrix:
        """Return the entries of the products of statistics s_a s_b, (w, w)."""
        strides = np.cumprod(self._n_levels) // self._n_levels
        variables = self._domain.slot_variables
        steps = strides[variables] * (self._domain.slot_levels - self._totals[variables])
        found = np.empty((len(a), len(a)))
        look_up(table.reshape(-1), int(strides @ self._totals), steps, variables, a, b, found)
        return found

    def _share(self, function: Callable[[int, int], None], n_parts: int) -> None:
        """Call a function of the first part and of the one after the last, in a thread for each run of parts."""
        shares = _threads.share(n_parts, self._n_threads, _SECONDS * math.prod(self._shape))
        _threads.run(function, [(share.start, share.stop) for share in shares])


def count_entries(domain: Domain) -> int:
    """Count the moments of all orders: as many as states, with one more level where all levels have parameters."""
    return math.prod(_count_places(domain).tolist())


def _count_places(domain: Domain) -> Index:
    """Return the levels of each variable, and one more where none is without parameters."""
    return domain.n_levels + int(domain.reference is None)


def _count_low(n_levels: Index) -> int:
    """Count the variables whose states make a row."""
    return int(np.searchsorted(np.cumprod(n_levels), _ROW, side="right"))
