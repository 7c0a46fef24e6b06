"""Other ways to run the Gibbs sampler of a field with several levels: tuned numpy, and adabmDCA.

Each has the same interface: `one_sweep` makes as many updates of every chain as there are variables, `codes` are the
states (n_chains, n_variables).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sparsefield import PairwiseMRF
from sparsefield.inference import expand

_MOST_ENTRIES = 1024  # of a table of numpy; of 32, 256, 1024 and 4096 the fastest, or within 3% of it


class Sampler(Protocol):
    def one_sweep(self) -> Any: ...

    def sweep(self, n: int) -> None: ...

    def codes(self) -> NDArray[np.integer]: ...


def count_levels(model: PairwiseMRF) -> int:
    """Return the number of levels, which all variables have in common."""
    (n_levels,) = set(model.domain.n_levels.tolist())
    return int(n_levels)


class _NumpySampler:
    """What the two numpy samplers share: float32, nothing allocated in a sweep, levels drawn by inversion."""

    def __init__(self, model: PairwiseMRF, n_chains: int) -> None:
        self.source = np.random.SFC64(1)
        self.n_levels = count_levels(model)
        self.n_variables = model.domain.n_variables
        self.limit = np.empty(n_chains, dtype=np.float32)
        self.above = np.empty(n_chains, dtype=bool)

    def draw(self, weights: NDArray[np.float32], level: NDArray[Any]) -> None:
        """Draw levels in proportion to weights (K, n), which become their sums."""
        n, limit, above = len(self.limit), self.limit, self.above
        for k in range(1, self.n_levels):
            np.add(weights[k - 1], weights[k], out=weights[k])
        np.multiply(self.source.random_raw((n + 1) // 2).view(np.uint32)[:n], np.float32(2.0**-32), out=limit)
        np.multiply(limit, weights[-1], out=limit)
        level.fill(0)
        for k in range(self.n_levels - 1):
            np.less(weights[k], limit, out=above)
            np.add(level, above, out=level)

    def one_sweep(self) -> None:
        raise NotImplementedError

    def sweep(self, n: int) -> None:
        for _ in range(n):
            self.one_sweep()


class NumpyProduct(_NumpySampler):
    """Fields by one matrix product of all interactions of a variable and the one-hot states."""

    def __init__(self, model: PairwiseMRF, n_chains: int) -> None:
        super().__init__(model, n_chains)
        main, pair = expand(model)
        k = self.n_levels
        self.main = main.reshape(-1, k, 1).astype(np.float32)
        self.pair = pair.reshape(-1, k, len(main)).astype(np.float32)
        self.hot = np.zeros((len(main), n_chains), dtype=np.float32)
        self.hot[::k] = 1
        self.levels = np.arange(k, dtype=np.uint8)[:, None]
        self.weights = np.empty((k, n_chains), dtype=np.float32)
        self.level = np.empty(n_chains, dtype=np.uint8)

    def one_sweep(self) -> None:
        k, weights = self.n_levels, self.weights
        for i in range(self.n_variables):
            np.dot(self.pair[i], self.hot, out=weights)
            np.add(weights, self.main[i], out=weights)
            np.exp(weights, out=weights)
            self.draw(weights, self.level)
            np.equal(self.level, self.levels, out=self.hot[k * i : k * (i + 1)], casting="unsafe")

    def codes(self) -> NDArray[np.integer]:
        return np.asarray(self.hot.reshape(self.n_variables, self.n_levels, -1).argmax(axis=1).T)


class NumpyTables(_NumpySampler):
    """Weights as products of rows of tables, each for as many neighbours as have 1024 states; no exponential."""

    def __init__(self, model: PairwiseMRF, n_chains: int) -> None:
        super().__init__(model, n_chains)
        main, pair = expand(model)
        k, p = self.n_levels, self.n_variables
        size = max(1, int(np.log(_MOST_ENTRIES) / np.log(k)))
        blocks = pair.reshape(p, k, p, k)
        self.states = np.zeros((p, n_chains), dtype=np.intp)
        self.main = np.exp(main.reshape(p, k)).astype(np.float32)
        self.tables: list[list[tuple[NDArray[Any], NDArray[np.float32]]]] = []
        for i in range(p):
            neighbours = np.flatnonzero(blocks[i].any(axis=(0, 2)))
            groups = [neighbours[start : start + size] for start in range(0, len(neighbours), size)]
            self.tables.append([(own, self.tabulate(blocks[i][:, own])) for own in groups])
        self.index = np.empty(n_chains, dtype=np.intp)
        self.rows, self.total = (np.empty((n_chains, k), dtype=np.float32) for _ in range(2))
        self.weights = np.empty((k, n_chains), dtype=np.float32)

    @staticmethod
    def tabulate(block: NDArray[np.float64]) -> NDArray[np.float32]:
        """Return the weights of all levels (entries, K) for all states of some neighbours, (K, neighbours, K)."""
        k, n, _ = block.shape
        exponents = np.zeros((1, k))
        for j in range(n):
            exponents = (exponents[:, None, :] + block[:, j].T).reshape(-1, k)
        return np.exp(exponents).astype(np.float32)

    def one_sweep(self) -> None:
        states, index, rows, total = self.states, self.index, self.rows, self.total
        for i in range(self.n_variables):
            total[:] = self.main[i]
            for neighbours, table in self.tables[i]:
                index[:] = states[neighbours[0]]
                for j in neighbours[1:]:
                    np.multiply(index, self.n_levels, out=index)
                    np.add(index, states[j], out=index)
                np.take(table, index, axis=0, out=rows, mode="clip")
                np.multiply(total, rows, out=total)
            self.weights[:] = total.T
            self.draw(self.weights, states[i])

    def codes(self) -> NDArray[np.integer]:
        return self.states.T


class AdabmDca:
    """The Gibbs sampler of adabmDCA: a matrix product, and the same variable, chosen at random, for all chains."""

    def __init__(self, model: PairwiseMRF, n_chains: int) -> None:
        import torch
        from adabmDCA.sampling import prepare_sampler

        torch.set_num_threads(1)
        torch.manual_seed(1)
        main, pair = expand(model)
        p, k = model.domain.n_variables, count_levels(model)
        self.parameters = {
            "bias": torch.tensor(main.reshape(p, k), dtype=torch.float32),
            "coupling_matrix": torch.tensor(pair.reshape(p, k, p, k), dtype=torch.float32),
        }
        self.chains = torch.zeros((n_chains, p, k), dtype=torch.float32)
        self.chains[:, :, 0] = 1
        self._sample = prepare_sampler("gibbs", self.chains.device)

    def one_sweep(self) -> None:
        self.sweep(1)

    def sweep(self, n: int) -> None:
        self.chains = self._sample(self.chains, self.parameters, n)

    def codes(self) -> NDArray[np.integer]:
        return np.asarray(self.chains.argmax(dim=2).numpy())


NUMPY: dict[str, Callable[[PairwiseMRF, int], Sampler]] = {
    "numpy, matrix products": NumpyProduct,
    "numpy, tables": NumpyTables,
}
PEERS: dict[str, Callable[[PairwiseMRF, int], Sampler]] = {"adabmDCA": AdabmDca}
