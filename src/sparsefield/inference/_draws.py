"""Draws from a field as a solver sees them: curvature, and how far they speak for other parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sparsefield._kernels._products import add_products, fill_products
from sparsefield.data import Domain, Moments
from sparsefield.inference._counting import count_packed

_BLOCKS_AT_ONCE = 64  # whose products are held at one time: 4 KB for each statistic
_ROWS_AT_ONCE = 8192

Index = NDArray[np.int64]
Matrix = NDArray[np.float64]


class Draws(Protocol):
    """What a Newton step asks of the field at the current parameters."""

    n: int | None  # how many; None if they are all states, each with its probability

    def second_moments(self, a: Index, b: Index) -> tuple[NDArray[Any], float, Matrix]:
        """Return sums of products of the statistics s_a s_b, (w, w), what makes means of them, and their means (w,)."""
        ...

    def codes(self) -> NDArray[np.uint8] | None:
        """Return the codes of the draws, (n, n_variables); None if they are all states."""
        ...

    def along(self, move: Matrix) -> Matrix:
        """Return the inner product of a move, laid out like `Moments.pair`, and the statistics of each draw."""
        ...

    def reweight(self, values: Matrix) -> tuple[float, float]:
        """Return log E exp(values), and the share of the draws that still count when weighted by exp(values)."""
        ...

    def project(self, values: Matrix) -> Matrix:
        """Return the covariance of every statistic with values, laid out like `Moments.pair`."""
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


class ChainDraws:
    """The states of chains, exact draws or not.

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
        self.n: int | None = n
        self._domain, self._n, self._indicators, self._codes, self._n_threads = domain, n, indicators, codes, n_threads

    def codes(self) -> NDArray[np.uint8]:
        """Return the codes of the draws."""
        return self._codes()

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

    def along(self, move: Matrix) -> Matrix:
        """Return the inner product of a move and the statistics of each draw."""
        a, b = np.nonzero(np.triu(move))
        total = np.zeros((len(self._indicators), 32, 16))
        add_products(self._indicators, a, b, move[a, b], total)
        return np.asarray(total.reshape(-1)[: self._n])

    def reweight(self, values: Matrix) -> tuple[float, float]:
        """Return log mean exp(values), and the effective share of the draws."""
        top = values.max()
        weights = np.exp(values - top)
        return float(top + np.log(weights.mean())), float(weights.mean() ** 2 / (weights**2).mean())

    def project(self, values: Matrix) -> Matrix:
        """Return the covariance of every statistic with values."""
        return _project(self._codes(), self._domain, (values - values.mean()) / len(values))


def _project(codes: NDArray[np.uint8], domain: Domain, weights: Matrix) -> Matrix:
    """Return the sum over rows of a weight times each statistic, laid out like `Moments.pair`."""
    total = np.zeros((domain.n_slots, domain.n_slots))
    for start in range(0, len(codes), _ROWS_AT_ONCE):
        s = domain.indicators(codes[start : start + _ROWS_AT_ONCE])
        total += (s.T * weights[start : start + len(s)]) @ s
    return (total + total.T) / 2
