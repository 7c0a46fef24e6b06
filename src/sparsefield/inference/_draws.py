"""Draws from a field as a solver sees them: curvature, and how far they speak for other parameters."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sparsefield import _threads
from sparsefield._kernels._products import add_pairs, add_products, fill_products, sum_pairs, sum_products
from sparsefield._typing import Index, Matrix
from sparsefield.data import Domain, Moments
from sparsefield.inference.chains._counting import count_near, count_packed, project_packed
from sparsefield.inference.chains._random_rounding import Rounded, round_randomly, round_values

_BLOCKS_AT_ONCE = 64  # whose products are held at one time: 4 KB for each statistic
ROWS_AT_ONCE = 8192  # whose products with weights are summed at one time

# So many products of two indicators over draws are added up as floats in a tenth of a second (23 a nanosecond, one core
# of a Zen 4). Beyond, values are rounded to numbers of a few bits first, where rough covariances will do.
_MOST_EXACT = 2**31

# Products of two indicators of a draw that are weighed in a second, on one core of a Zen 4 with AVX-512: 8e9 measured.
_PRODUCTS_A_SECOND = 8e9


class Draws(Protocol):
    """What a Newton step asks of the field at the current parameters."""

    n: int | None  # how many; None if they are all states, each with its probability

    def second_moments(self, a: Index, b: Index) -> tuple[NDArray[Any], float, Matrix]:
        """Return sums of products of the statistics s_a s_b, (w, w), what makes means of them, and their means (w,)."""
        ...

    def near_moments(
        self, a: Index, b: Index, starts: Index, columns: NDArray[np.int32]
    ) -> tuple[NDArray[Any], float, Matrix]:
        """Return the sums of products of some pairs of statistics alone, what makes means of them, and means (w,).

        The pairs are statistic c and columns[starts[c] : starts[c + 1]], in this order.
        """
        ...

    def codes(self) -> NDArray[np.uint8] | None:
        """Return the codes of the draws, (n, n_variables); None if they are all states."""
        ...

    def along(self, move: Matrix) -> Matrix:
        """Return the inner product of a move, laid out like `Moments.pair`, and the statistics of each draw."""
        ...

    def along_some(self, moves: Matrix, a: Index, b: Index) -> Matrix:
        """Return the same of a move of the statistics s_a s_b alone, (w,), which are in the order of (a, b)."""
        ...

    def reweight(self, values: Matrix) -> tuple[float, float]:
        """Return log E exp(values), and the share of the draws that still count when weighted by exp(values)."""
        ...

    def project(self, values: Matrix) -> Matrix:
        """Return the covariance of every statistic with values, laid out like `Moments.pair`."""
        ...

    def project_roughly(self, values: Matrix, within: float | None = None) -> tuple[Matrix, float]:
        """Return about the covariance of every statistic with values, and a bound on the error of each.

        With `within` rounding is random, to so few bits that errors are about as large as that, or smaller: the bound
        then holds for all of them but once in a million times.
        """
        ...

    def project_onto(self, values: Matrix, a: Index, b: Index) -> Matrix:
        """Return the covariances of the statistics s_a s_b with values, (w,)."""
        ...


class States(Draws, Protocol):
    """All states of a small field, each with its probability: draws without error."""

    @property
    def moments(self) -> Moments:
        """The exact moments."""
        ...

    @property
    def log_normaliser(self) -> float:
        """The logarithm of the normalising constant."""
        ...


class EqualDraws(ABC):
    """Draws that all count the same, wherever they are held.

    Parameters
    ----------
    domain : Domain
        The variables.
    n : int
        How many draws.
    codes : callable
        Returns their codes (n, n_variables).
    """

    def __init__(self, domain: Domain, n: int, codes: Callable[[], NDArray[np.uint8]]) -> None:
        self.n: int | None = n
        self._domain, self._n, self._codes = domain, n, codes

    def codes(self) -> NDArray[np.uint8]:
        """Return the codes of the draws."""
        return self._codes()

    def along(self, move: Matrix) -> Matrix:
        """Return the inner product of a move and the statistics of each draw."""
        a, b = _upper_entries(move)
        return self.along_some(move[a, b], a, b)

    @abstractmethod
    def along_some(self, moves: Matrix, a: Index, b: Index) -> Matrix:
        """Return the same of a move of some statistics alone."""

    def reweight(self, values: Matrix) -> tuple[float, float]:
        """Return log mean exp(values), and the effective share of the draws."""
        top = values.max()
        weights = np.exp(values - top)
        return float(top + np.log(weights.mean())), float(weights.mean() ** 2 / (weights**2).mean())


class ChainDraws(EqualDraws):
    """The states of chains on this machine, exact draws or not.

    Parameters
    ----------
    domain : Domain
        The variables.
    n : int
        How many draws.
    indicators : ndarray of shape (n_blocks, n_slots, 16)
        Their main statistics, packed as in `Chains.indicators`.
    codes : callable
        Returns their codes (n, n_variables).
    n_threads : int, optional
        Threads to use.
    """

    def __init__(
        self,
        domain: Domain,
        n: int,
        indicators: NDArray[np.uint32],
        codes: Callable[[], NDArray[np.uint8]],
        n_threads: int | None = None,
    ) -> None:
        super().__init__(domain, n, codes)
        self._indicators, self._n_threads = indicators, n_threads

    def second_moments(self, a: Index, b: Index) -> tuple[NDArray[Any], float, Matrix]:
        """Return counts of common ones of the statistics s_a s_b, 1 / n, and their means."""
        size = len(a)
        counts = np.zeros((size, size), dtype=np.int32)
        n_lines = -(-size // 8) * 8  # as the counting wants them
        for start in range(0, len(self._indicators), _BLOCKS_AT_ONCE):
            part = self._indicators[start : start + _BLOCKS_AT_ONCE]
            products = np.zeros((len(part), n_lines, 16), dtype=np.uint32)
            fill_products(part, a, b, products)
            counts += count_packed(products, size, min(self._n - 512 * start, 512 * len(part)), self._n_threads)
        return counts, 1 / self._n, np.asarray(1 / self._n * np.diagonal(counts))

    def near_moments(
        self, a: Index, b: Index, starts: Index, columns: NDArray[np.int32]
    ) -> tuple[NDArray[Any], float, Matrix]:
        """Return counts of common ones of some pairs of the statistics s_a s_b, 1 / n, and means of all statistics."""
        counts, ones = count_near(self._indicators, self._n, a, b, starts, columns, self._n_threads)
        return counts, 1 / self._n, np.asarray(1 / self._n * ones)

    def along_some(self, moves: Matrix, a: Index, b: Index) -> Matrix:
        """Return the same of a move of some statistics alone."""
        if has_levels(self._domain):
            return self._along_levels(moves, a, b)
        total = np.zeros((len(self._indicators), 16, 32))
        shares = _threads.share(len(total), self._n_threads, len(a) * self._n / _PRODUCTS_A_SECOND)
        _threads.run(add_products, [(self._indicators[own], a, b, moves, total[own]) for own in shares])
        return np.asarray(total.transpose(0, 2, 1).reshape(-1)[: self._n])

    def project(self, values: Matrix) -> Matrix:
        """Return the covariance of every statistic with values."""
        weights = (values - values.mean()) / len(values)
        return _project(self._codes(), self._domain, weights)

    def project_roughly(self, values: Matrix, within: float | None = None) -> tuple[Matrix, float]:
        """Return about the covariance of every statistic with values, and a bound on the error of each.

        Values are rounded to numbers of a few bits. The covariance of a statistic with what rounding leaves is at most
        the product of their standard deviations, and no indicator has one above 1/2. Where rounding is random, what it
        leaves has independent errors, and fewer bits will do (`round_randomly`).
        """
        rounded = round_many(values, self._domain, within)
        if rounded is None:
            return self.project(values), 0.0
        total = project_packed(self._indicators, rounded.numbers, self._domain.n_slots, self._n_threads)
        total *= rounded.unit / self._n
        return total, rounded.error

    def project_onto(self, values: Matrix, a: Index, b: Index) -> Matrix:
        """Return the covariances of the statistics s_a s_b with values."""
        weights = np.zeros(512 * len(self._indicators))
        weights[: self._n] = (values - values.mean()) / len(values)
        lanes, found = np.ascontiguousarray(weights.reshape(-1, 32, 16).transpose(0, 2, 1)), np.empty(len(a))
        shares = _threads.share(len(a), self._n_threads, len(a) * self._n / _PRODUCTS_A_SECOND)
        _threads.run(sum_products, [(self._indicators, a[own], b[own], lanes, found[own]) for own in shares])
        return found

    def _along_levels(self, moves: Matrix, a: Index, b: Index) -> Matrix:
        """Look the product up that a draw has for each pair of variables, instead of adding up those of all levels."""
        n_levels, variables, levels = self._domain.n_levels, self._domain.slot_variables, self._domain.slot_levels
        pairs, own = np.unique(len(n_levels) * variables[a] + variables[b], return_inverse=True)
        first, second = np.divmod(pairs, len(n_levels))
        widths = n_levels[second]
        ends = np.cumsum(n_levels[first] * widths)
        starts = ends - n_levels[first] * widths
        tables = np.zeros(ends[-1] if len(ends) else 0)
        tables[starts[own] + levels[a] * widths[own] + levels[b]] = moves
        total = np.zeros(self._n)
        add_pairs(self._rows, first, second, starts, widths, tables, total)
        return total

    @property
    def _rows(self) -> NDArray[np.uint8]:
        return np.ascontiguousarray(self._codes().T)


def has_levels(domain: Domain) -> bool:
    """Say whether a variable has more than two levels."""
    return bool(np.any(domain.n_levels > 2))


def round_many(values: Matrix, domain: Domain, within: float | None) -> Rounded | None:
    """Round the values of draws to a few bits; None where products with them as they are take less time."""
    if has_levels(domain) or len(values) * domain.n_slots**2 <= _MOST_EXACT:
        return None
    return round_values(values) if within is None else round_randomly(values, domain.n_slots**2, within)


def pick_near(products: Matrix, starts: Index, columns: NDArray[np.int32]) -> Matrix:
    """Return some entries of a matrix (w, w), those of row c in columns[starts[c] : starts[c + 1]]."""
    return np.asarray(products[np.repeat(np.arange(len(products)), np.diff(starts)), columns])


def _upper_entries(move: Matrix) -> tuple[Index, Index]:
    """Return where a move is not zero, on and above its diagonal."""
    a, b = np.divmod(np.flatnonzero(move != 0), move.shape[1])  # 14 times faster than np.nonzero of 1000 x 1000
    upper = a <= b
    return a[upper], b[upper]


def _project(codes: NDArray[np.uint8], domain: Domain, weights: Matrix) -> Matrix:
    """Return the sum over rows of a weight times each statistic, laid out like `Moments.pair`."""
    total = np.zeros((domain.n_slots, domain.n_slots))
    for start in range(0, len(codes), ROWS_AT_ONCE):
        rows = slice(start, start + ROWS_AT_ONCE)
        total += project_rows(codes[rows], domain, weights[rows])
    return (total + total.T) / 2


def project_rows(codes: NDArray[np.uint8], domain: Domain, weights: Matrix) -> Matrix:
    """Return the sum over up to 8192 rows of a weight times each statistic.

    Sums of more rows are sums of these, one after the other, whichever machine makes each.
    """
    if not has_levels(domain):
        s = domain.indicators(codes)
        return np.asarray((s.T * weights) @ s)
    n_levels = domain.n_levels
    total = np.zeros((n_levels.sum(), n_levels.sum()))
    sum_pairs(np.ascontiguousarray(codes.T), n_levels, weights, total)
    index = (np.cumsum(n_levels) - n_levels)[domain.slot_variables] + domain.slot_levels
    return np.asarray(total[np.ix_(index, index)])
