"""Draws from a field as a solver sees them: moments, curvature, and how far they speak for other parameters."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sparsefield._domain import Domain
from sparsefield._kernels._products import add_products, fill_products
from sparsefield._model import PairwiseMRF
from sparsefield._moments import Moments, count_packed
from sparsefield.inference import Chains

_BLOCKS_AT_ONCE = 64  # whose products are held at one time: 4 KB for each statistic
_ROWS_AT_ONCE = 8192
_MOST_STATES = 2**14  # that an exact sample holds side by side

Index = NDArray[np.int64]
Matrix = NDArray[np.float64]


class Sample(Protocol):
    """What a Newton step asks of the field at the current parameters."""

    n: int | None  # draws; None if exact

    def second_moments(self, a: Index, b: Index) -> tuple[NDArray[Any], float]:
        """Return sums of products of the statistics s_a s_b, (w, w), and the factor that makes means of them."""
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


class Draws:
    """Draws, exact or of Gibbs chains.

    Parameters
    ----------
    chains : Chains
        Chains that stand at the draws.
    n_threads : int, optional
        Threads to use.
    """

    def __init__(self, chains: Chains, n_threads: int | None = None) -> None:
        self.n: int | None = chains.n_chains
        self._chains, self._n_threads = chains, n_threads
        self._indicators = chains.indicators()

    def second_moments(self, a: Index, b: Index) -> tuple[NDArray[Any], float]:
        """Return counts of common ones of the statistics s_a s_b, and 1 / n."""
        n, size = self._chains.n_chains, len(a)
        counts = np.zeros((size, size), dtype=np.int32)
        n_lines = -(-size // 8) * 8  # as the counting wants them
        for start in range(0, len(self._indicators), _BLOCKS_AT_ONCE):
            part = self._indicators[start : start + _BLOCKS_AT_ONCE]
            products = np.zeros((len(part), n_lines, 16), dtype=np.uint32)
            fill_products(part, a, b, products)
            counts += count_packed(products, size, min(n - 512 * start, 512 * len(part)), self._n_threads)
        return counts, 1 / n

    def along(self, move: Matrix) -> Matrix:
        """Return the inner product of a move and the statistics of each draw."""
        a, b = np.nonzero(np.triu(move))
        total = np.zeros((len(self._indicators), 32, 16))
        add_products(self._indicators, a, b, move[a, b], total)
        return np.asarray(total.reshape(-1)[: self.n])

    def reweight(self, values: Matrix) -> tuple[float, float]:
        """Return log mean exp(values), and the effective share of the draws."""
        top = values.max()
        weights = np.exp(values - top)
        return float(top + np.log(weights.mean())), float(weights.mean() ** 2 / (weights**2).mean())

    def project(self, values: Matrix) -> Matrix:
        """Return the covariance of every statistic with values."""
        return _project(self._chains.codes(), self._chains.domain, (values - values.mean()) / len(values))


class EnumeratedStates:
    """All states of a small field, each with its probability: a sample without error."""

    n: int | None = None

    def __init__(self, model: PairwiseMRF) -> None:
        n_levels = model.domain.n_levels
        n_states = float(np.prod(n_levels.astype(float)))
        if n_states > _MOST_STATES:
            raise ValueError(
                f"The field has {n_states:.3g} states: exact Newton steps are for up to {_MOST_STATES}. "
                "Use draws (schedule='auto')."
            )
        self._domain = model.domain
        self._codes = np.indices(tuple(n_levels), dtype=np.uint8).reshape(len(n_levels), -1).T
        self._s = self._domain.indicators(self._codes)
        log_weights = -model.energy(self._codes)
        weights = np.exp(log_weights - log_weights.max())
        self._chances = weights / weights.sum()

    @property
    def moments(self) -> Moments:
        """The exact moments."""
        pair = (self._s.T * self._chances) @ self._s
        return Moments(np.diagonal(pair).copy(), pair, None)

    def second_moments(self, a: Index, b: Index) -> tuple[NDArray[Any], float]:
        """Return means of products of the statistics s_a s_b, and 1."""
        products = self._s[:, a] * self._s[:, b]
        return (products.T * self._chances) @ products, 1.0

    def along(self, move: Matrix) -> Matrix:
        """Return the inner product of a move and the statistics of each state."""
        main = np.diagonal(move)
        return np.asarray(((self._s @ move) * self._s).sum(axis=1) + self._s @ main) / 2

    def reweight(self, values: Matrix) -> tuple[float, float]:
        """Return log E exp(values), and one: every state keeps its say."""
        top = values.max()
        return float(top + np.log(self._chances @ np.exp(values - top))), 1.0

    def project(self, values: Matrix) -> Matrix:
        """Return the covariance of every statistic with values."""
        return _project(self._codes, self._domain, (values - self._chances @ values) * self._chances)


def _project(codes: NDArray[np.uint8], domain: Domain, weights: Matrix) -> Matrix:
    """Return the sum over rows of a weight times each statistic, laid out like `Moments.pair`."""
    total = np.zeros((domain.n_slots, domain.n_slots))
    for start in range(0, len(codes), _ROWS_AT_ONCE):
        s = domain.indicators(codes[start : start + _ROWS_AT_ONCE])
        total += (s.T * weights[start : start + len(s)]) @ s
    return (total + total.T) / 2
